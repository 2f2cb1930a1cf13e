"""The paper's data sets: one method on one random split, every point of its trade-off curve."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import fairaudit as fa
from fairaudit.columns import columns_from
from fairaudit.datasets import (
    Dataset,
    fetch_acs_income,
    fetch_adult,
    fetch_communities,
    fetch_compas,
)
from fairaudit.kernels import Array
from fairaudit.remedy.tradeoff import evaluate, mixture, scores_of
from fairaudit.testing.neighbour_statistics import KPCStatistic

__all__ = ["METHODS", "TASKS", "Method", "Task", "frontier_at", "methods", "split_rows"]

TRAIN = 0.6
COPIES = 99
BOOSTING: dict[str, Any] = {"max_iter": 40, "max_leaf_nodes": 8, "early_stopping": False}
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


def methods(task: str, predictor: str = "mlp") -> dict[str, Method]:
    """The methods that can be used for this task, with the paper's grids.

    FairICP with the kernel objective has its defaults; for Crimes, with 122 features on 1,196
    rows, its decay was tuned once on all splits, as the paper tunes. The game has
    the paper's batches and rates. GerryFair and Reduction have gradient boosting in place of the
    paper's network; their linear versions are the paper's.
    """
    regression = TASKS[task].regression
    kind = "Regressor" if regression else "Classifier"
    shared: dict[str, Any] = {"predictor": predictor}
    game = shared | {
        "objective": "adversarial", "loss": "cross_entropy", "learning_rate": 1e-3,
        "batch_size": 64 if regression else 256, "weight_decay": 1e-4,
        "epochs": 20 if task in ("adult", "acsincome") else 100,
    }  # fmt: skip
    icp, fdl, hgr = (getattr(fa, f"{name}{kind}") for name in ("FairICP", "FDL", "HGR"))
    tuned = {"weight_decay": 0.1} if regression else {}
    found = {
        "kernel": (icp(**shared, **tuned), "mu", MUS),
        "kernel-ce": (icp(loss="cross_entropy", **shared), "mu", MUS),
        "adversarial": (icp(**game), "mu", MUS),
        "hgr": (hgr(**shared), "lam",
                (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0) if regression
                else (0.0, 0.0375, 0.075, 0.125, 0.25, 0.5, 1.0, 1.5)),
        "fdl": (fdl(**game), "mu", MUS),
    }  # fmt: skip
    if task != "compas":  # shows what the loss does where it matters
        del found["kernel-ce"]
    if not regression:
        found |= _games(predictor)
        if predictor == "mlp":
            found["corrected"] = (CorrectedBoosting(), "mu", MUS)
    if task == "acsincome":  # reduction: categorical attributes only
        del found["reduction"]
    return {name: Method(METHODS[name], *parts) for name, parts in found.items()}


class CorrectedBoosting(BaseEstimator):
    """Gradient boosting on one half of the rows, and its correction on the other."""

    def fit_path(self, X: Any, y: Array, sensitive_features: Any, mus: Any) -> list[Any]:
        from sklearn.ensemble import HistGradientBoostingClassifier

        half = len(y) // 2
        model = HistGradientBoostingClassifier(**BOOSTING).fit(X.iloc[:half], y[:half])
        corrected = fa.ICPPostProcessor(model, options={"steps": 200})
        found: list[Any] = corrected.fit_path(
            X.iloc[half:], y[half:], sensitive_features.iloc[half:], mus
        )
        return found


def _games(predictor: str) -> dict[str, tuple[Any, str, tuple[float, ...]]]:
    """The two methods that mix classifiers."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    costs = rule = None
    if predictor == "mlp":
        small = {"max_iter": 40, "max_leaf_nodes": 8, "early_stopping": False}
        costs, rule = (
            HistGradientBoostingRegressor(**small),
            HistGradientBoostingClassifier(**small),
        )
    rounds = 500 if costs is None else 50
    return {
        "gerryfair": (fa.GerryFairClassifier(estimator=costs, rounds=rounds), "gamma",
                      (0.001, 0.005, 0.01, 0.03)),
        "reduction": (fa.ReductionClassifier(estimator=rule), "difference_bound",
                      (0.005, 0.02, 0.05, 0.1, 0.2)),
    }  # fmt: skip


def split_rows(task: str, method: str, predictor: str, split: int) -> list[dict[str, Any]]:
    """Every point of one method's curve on one 60/40 split, measured on the 40 %."""
    data, how = TASKS[task].load(), methods(task, predictor)[method]
    order = np.random.default_rng(123 * split).permutation(len(data.y))
    train, test = np.split(order, [int(TRAIN * len(data.y))])
    models, seconds = _trained(how, data, train)
    (outcome,) = columns_from({"y": data.y[test]}, argument="y", outcome=True)
    attributes = columns_from(data.sensitive.iloc[test], argument="sensitive")
    held, encode = data.X.iloc[test], TASKS[task].encode

    def row(name: str, value: float, scores: Array) -> dict[str, Any]:
        found = evaluate(scores, outcome, attributes, encode=encode)
        return {
            "task": task, "method": name, "split": split, "value": value, **found,
            **_tested(scores, outcome, attributes, encode, split),
            "seconds": seconds / len(models),
        }  # fmt: skip

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
        rows += [shared | {"value" if k == "share" else k: v for k, v in one.items()}
                 for one in line.to_dict("records")]  # fmt: skip
    return rows


def _trained(how: Method, data: Dataset, rows: Any) -> tuple[list[Any], float]:
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
                clone(estimator).set_params(**{how.parameter: value})
                .fit(x, y, sensitive_features=a)
                for value in how.values
            ]  # fmt: skip
    return models, time.process_time() - start


def _tested(scores: Array, outcome: Any, attributes: Any, encode: str, seed: int) -> dict[str, Any]:
    """KPC with random ties as R has it, and p by our statistic and by the paper's."""
    if np.ptp(scores) == 0:
        return {"kpc_random": 0.0, "p_value": 1.0, "p_paper": 1.0}
    paper = KPCStatistic(knn=1, ties="random", how=encode)
    drawn = fa.Permutations(n=COPIES, seed=seed)
    test = fa.equalized_odds_test(scores, outcome, attributes, statistic="kpc", permutations=drawn)
    again = fa.equalized_odds_test(scores, outcome, attributes, statistic=paper, permutations=drawn)
    random = fa.metrics.kpc(scores, attributes, outcome, ties="random", encode=encode, seed=seed)
    return {"kpc_random": float(random), "p_value": test.p_value, "p_paper": again.p_value}


def frontier_at(points: Array, limit: float) -> Array | None:
    """Where the frontier of points (loss, KPC, …) reaches this KPC, linear between points."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    frontier = points[points[:, 1] <= np.minimum.accumulate(points[:, 1])]
    if frontier[-1, 1] > limit:
        return None
    k = int(np.argmax(frontier[:, 1] <= limit))
    if k == 0:
        return np.asarray(frontier[0])
    above, below = frontier[k - 1], frontier[k]
    share = (above[1] - limit) / (above[1] - below[1])
    return np.asarray(above + share * (below - above))
