"""The paper's data sets: one method on one random split, every point of its trade-off curve."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import fairaudit as fa
from fairaudit._types import Array
from fairaudit.data.columns import columns_from
from fairaudit.datasets import (
    Dataset,
    fetch_acs_income,
    fetch_adult,
    fetch_communities,
    fetch_compas,
)
from fairaudit.remedy.tradeoff import evaluate, mixture, scores_of
from fairaudit.testing.neighbor_statistics import KPCStatistic

__all__ = [
    "METHODS",
    "TASKS",
    "UNTUNED",
    "Method",
    "Task",
    "halves",
    "methods",
    "split_rows",
    "trained",
]

TRAIN = 0.6
COPIES = 99
MUS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Task:
    """A data set, and what is measured on it."""

    title: str
    load: Callable[[], Dataset]
    regression: bool = False

    @property
    def encode(self) -> str:
        """Distances between attributes: raw as in the paper; binary ones are the same either way.

        The age in ACSIncome is standardized, for otherwise years would drown sex and race.
        """
        return "raw" if self.regression else "standard"


TASKS = {
    "crimes_one": Task("Crimes (one race)", lambda: fetch_communities(races="one"), True),
    "crimes_all": Task("Crimes (all races)", lambda: fetch_communities(races="all"), True),
    "acsincome": Task("ACSIncome", lambda: fetch_acs_income(states=("co", "ne"))),
    "adult": Task("Adult", fetch_adult),
    "compas": Task("COMPAS", fetch_compas),
}


@dataclass(frozen=True, slots=True)
class Method:
    """An estimator and the values of its trade-off parameter."""

    title: str
    estimator: Any
    parameter: str
    values: tuple[float, ...]


#: name → title; which of them a task has, says `methods`
METHODS = {
    "kernel": "FairICP (kernel)",
    "kernel-ce": "FairICP (kernel, cross-entropy)",
    "adversarial": "FairICP (adversarial)",
    "hgr": "HGR",
    "fdl": "FDL",
    "corrected": "FairICP, correction of boosting",
    "gerryfair": "GerryFair",
    "reduction": "Reduction",
}


TESTED = 20  # splits with p-values, which take most of the time; the others have loss and KPC
#: Decay of networks and rounds of boosting where nothing was tuned
UNTUNED = {
    "kernel": 1e-2,
    "kernel-ce": 1e-2,
    "adversarial": 1e-4,
    "hgr": 0.0,
    "fdl": 1e-4,
    "corrected": 40,
    "gerryfair": 40,
    "reduction": 40,
}
#: The same as found by `fairaudit reproduce tuning`, for networks and boosting
TUNED: dict[str, dict[str, float]] = {
    "crimes_one": {"kernel": 0.1, "adversarial": 0.1, "hgr": 0.1, "fdl": 0.1},
    "crimes_all": {"kernel": 0.1, "adversarial": 0.1, "hgr": 0.1, "fdl": 1e-3},
    "compas": {
        "kernel": 1e-3,
        "kernel-ce": 1e-3,
        "adversarial": 1e-3,
        "hgr": 0.1,
        "fdl": 1e-2,
        "corrected": 80,
        "gerryfair": 10,
        "reduction": 80,
    },
}


def methods(
    task: str, predictor: str = "mlp", strength: Mapping[str, float] | None = None
) -> dict[str, Method]:
    """The methods that can be used for this task, with the paper's grids.

    `strength` is the decay of each network and the rounds of boosting; by default as tuned with
    networks. The game has the paper's batches and rates; with linear models the largest of its
    rates, without which they are not trained at μ = 0. GerryFair and Reduction have gradient
    boosting in place of the paper's network; their linear versions are the paper's.
    """
    regression = TASKS[task].regression
    kind = "Regressor" if regression else "Classifier"
    tuned = UNTUNED | TUNED.get(task, {}) | dict(strength or {})
    shared: dict[str, Any] = {"predictor": predictor}
    game = shared | {
        "objective": "adversarial",
        "loss": "cross_entropy",
        "learning_rate": 1e-3 if predictor == "mlp" else 1e-2,
        "batch_size": 64 if regression else 256,
        "epochs": 20 if task in ("adult", "acsincome") else 100,
    }
    icp, fdl, hgr = (getattr(fa, f"{name}{kind}") for name in ("FairICP", "FDL", "HGR"))
    game["calibrate"] = False  # scores as the paper's, which are not calibrated
    kernel = shared | {"calibrate": False}
    networks = {
        "kernel": (icp(**kernel), "mu", MUS),
        "kernel-ce": (icp(loss="cross_entropy", **kernel), "mu", MUS),
        "adversarial": (icp(**game), "mu", MUS),
        "hgr": (
            hgr(**shared),
            "lam",
            (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
            if regression
            else (0.0, 0.0375, 0.075, 0.125, 0.25, 0.5, 1.0, 1.5),
        ),
        "fdl": (fdl(**game), "mu", MUS),
    }
    for name, (estimator, *_) in networks.items():
        estimator.set_params(weight_decay=tuned[name])
    if task != "compas":  # shows what the loss does where it matters
        del networks["kernel-ce"]
    families = networks if regression else networks | _boosted(task, predictor, tuned)
    return {name: Method(METHODS[name], *parts) for name, parts in families.items()}


class CorrectedBoosting(BaseEstimator):
    """Gradient boosting on one half of the rows, and its correction on the other."""

    def __init__(self, max_iter: int = 40) -> None:
        self.max_iter = max_iter

    def fit_path(self, X: Any, y: Array, sensitive_features: Any, mus: Any) -> list[Any]:
        half = len(y) // 2
        model = _boosting("Classifier", self.max_iter).fit(X.iloc[:half], y[:half])
        corrected = fa.ICPPostProcessor(model, options={"steps": 200, "calibrate": False})
        models: list[Any] = corrected.fit_path(
            X.iloc[half:], y[half:], sensitive_features.iloc[half:], mus
        )
        return models


def _boosting(kind: str, rounds: float) -> Any:
    from sklearn import ensemble

    return getattr(ensemble, f"HistGradientBoosting{kind}")(
        max_iter=int(rounds), max_leaf_nodes=8, early_stopping=False
    )


def _boosted(
    task: str, predictor: str, tuned: Mapping[str, float]
) -> dict[str, tuple[Any, str, tuple[float, ...]]]:
    """The two methods that mix classifiers, and the correction of one."""
    network = predictor == "mlp"
    costs = _boosting("Regressor", tuned["gerryfair"]) if network else None
    rule = _boosting("Classifier", tuned["reduction"]) if network else None
    families: dict[str, tuple[Any, str, tuple[float, ...]]] = {
        "gerryfair": (
            fa.GerryFairClassifier(estimator=costs, rounds=50 if network else 500),
            "gamma",
            (0.001, 0.005, 0.01, 0.03),
        )
    }
    if task != "acsincome":  # categorical attributes only
        families["reduction"] = (
            fa.ReductionClassifier(estimator=rule),
            "difference_bound",
            (0.005, 0.02, 0.05, 0.1, 0.2),
        )
    if network:
        families["corrected"] = (CorrectedBoosting(int(tuned["corrected"])), "mu", MUS)
    return families


def split_rows(task: str, method: str, predictor: str, split: int) -> list[dict[str, Any]]:
    """Every point of one method's curve on one 60/40 split, measured on the 40 %."""
    data, how = TASKS[task].load(), methods(task, predictor)[method]
    train, test = halves(len(data.y), split)
    models, seconds = trained(how, data, train)
    (outcome,) = columns_from({"y": data.y[test]}, argument="y", outcome=True)
    attributes = columns_from(data.sensitive.iloc[test], argument="sensitive")
    held, encode = data.X.iloc[test], TASKS[task].encode

    def row(name: str, value: float, scores: Array) -> dict[str, Any]:
        measures = evaluate(scores, outcome, attributes, encode=encode)
        return {
            "task": task,
            "method": name,
            "split": split,
            "value": value,
            **measures,
            **(_test(scores, outcome, attributes, encode, split) if split <= TESTED else {}),
            "seconds": seconds / len(models),
        }

    rows = [
        row(method, value, scores_of(model, held))
        for value, model in zip(how.values, models, strict=True)
    ]
    if hasattr(models[0], "weights_") or hasattr(models[0], "n_rounds_"):  # a randomized rule
        rows += [
            row(f"{method}, drawn", value, model.predict(held, random_state=split).astype(float))
            for value, model in zip(how.values, models, strict=True)
        ]
    if method == "kernel":
        line = mixture(scores_of(models[0], held), outcome, attributes, split, encode)
        shared = {"task": task, "method": "mixture", "split": split}
        rows += [
            shared | {"value" if k == "share" else k: v for k, v in record.items()}
            for record in line.to_dict("records")
        ]
    return rows


def halves(n: int, split: int) -> list[Any]:
    """Rows to train on and rows to measure on."""
    order = np.random.default_rng(123 * split).permutation(n)
    return np.split(order, [int(TRAIN * n)])


def trained(how: Method, data: Dataset, rows: Any) -> tuple[list[Any], float]:
    """Models of the whole curve, and the CPU seconds that they took."""
    from sklearn.base import clone

    x, y, a = data.X.iloc[rows], data.y[rows], data.sensitive.iloc[rows]
    estimator, start = clone(how.estimator), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rules that do not converge: their points show it
        if hasattr(estimator, "fit_path"):
            models = list(estimator.fit_path(x, y, a, how.values))
        else:
            models = [
                clone(estimator)
                .set_params(**{how.parameter: value})
                .fit(x, y, sensitive_features=a)
                for value in how.values
            ]
    return models, time.process_time() - start


def _test(scores: Array, outcome: Any, attributes: Any, encode: str, seed: int) -> dict[str, Any]:
    """KPC with random ties as R has it, and p by our statistic and by the paper's."""
    if np.ptp(scores) == 0:
        return {"kpc_random": 0.0, "p_value": 1.0, "p_paper": 1.0}
    paper = KPCStatistic(knn=1, ties="random", how=encode)
    test, again = (
        fa.equalized_odds_test(
            scores,
            y_true=outcome,
            sensitive=attributes,
            statistic=statistic,
            law="icp",
            permutations=fa.Permutations(n=COPIES, seed=seed),
        )
        for statistic in ("kpc", paper)
    )
    random = fa.metrics.kpc(
        scores, sensitive=attributes, y_true=outcome, ties="random", encode=encode, seed=seed
    )
    return {"kpc_random": float(random), "p_value": test.p_value, "p_paper": again.p_value}
