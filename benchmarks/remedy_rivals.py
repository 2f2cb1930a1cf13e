"""Rivals at the passing point: what do other repairs cost that pass a fresh audit as often?

    FAIRAUDIT_DATA=<folder> python benchmarks/remedy_rivals.py --splits 5 --save rivals.jsonl
    ... --tasks compas,adult --methods thresholds,reduction --first 101

The splits are those of remedy_pass.py. Every rival trains on 70 % of the rows that the remedy is
given there (which keeps 30 % for its own audit) and is tested on the same fresh rows, for every
value of its parameter. Thresholds and the derived predictor stand on the boosting of the remedy,
reduction on LightGBM; HGR, FDL, FairICP and the adversary are networks. `--save` keeps what is
finished.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from remedy_pass import PASSES, TASKS  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.data.columns import columns_from  # noqa: E402
from fairaudit.remedy.methods import METHODS, Training  # noqa: E402
from fairaudit.remedy.model_path import train_path  # noqa: E402
from fairaudit.remedy.price import quality_of  # noqa: E402
from fairaudit.remedy.tradeoff import loss_of, scores_of  # noqa: E402

RIVALS = ("thresholds", "derived", "reduction", "hgr", "fdl", "fairicp", "gerryfair", "adversary")
STRENGTHS = (1.0, 1.1, 1.2, 1.3)
WEIGHTS = (0.3, 1.0, 3.0, 10.0)  # of the adversary


class Split:
    """Rows to train on and fresh rows, as numbers."""

    def __init__(self, task: str, split: int) -> None:
        frame, outcome, self.names = TASKS[task]()
        order = np.random.default_rng(123 * split).permutation(len(frame))
        cut = len(frame) - max(int(0.412 * len(frame)), min(2_000, len(frame) // 2))
        places = order[: int(0.7 * cut)], order[cut:]
        X = frame.drop(columns=[outcome, *self.names])
        X = pd.get_dummies(X).astype(float)
        X.columns = [f"x{k}" for k in range(X.shape[1])]
        self.X, self.fresh_X = (X.iloc[rows].reset_index(drop=True) for rows in places)
        self.A, self.fresh_A = (frame[self.names].iloc[rows] for rows in places)
        (column,) = columns_from({outcome: frame[outcome]}, argument="outcome", outcome=True)
        self.classes = column.kind.is_categorical
        values = column.codes if self.classes else np.asarray(column.numeric)
        self.y, self.truth = values[places[0]], column.take(places[1])
        self.seed = split

    def measure(self, scores: Any) -> dict[str, float]:
        constant = bool((scores == scores[0]).all())
        few = fa.Permutations(n=199, seed=self.seed)
        p = 1.0
        if not constant:
            p = fa.equalized_odds_test(
                scores, y_true=self.truth, sensitive=self.fresh_A, permutations=few
            ).p_value
        ranking = quality_of(scores, self.truth).ranking
        return {"p": p, "loss": loss_of(scores, self.truth), "ranking": ranking}


def fit_boosting(split: Split, attributes: dict[str, Any]) -> tuple[Any, Any]:
    """Plain boosting of the remedy, and its out-of-fold scores."""
    folds = np.random.default_rng(split.seed).permutation(len(split.y)) % 4

    def fit(rows: Any) -> Any:
        some = {name: column[rows] for name, column in attributes.items()}
        model = fa.FairICPBoostingClassifier(0.0)
        return model.fit(split.X.iloc[rows], split.y[rows], sensitive_features=some)

    scores = np.empty(len(split.y))
    for fold in range(4):
        model = fit(np.flatnonzero(folds != fold))
        scores[folds == fold] = model.predict_proba(split.X[folds == fold])[:, 1]
    return fit(np.arange(len(split.y))), scores


def run_rival(name: str, split: Split) -> Iterator[tuple[float, Any]]:
    """Values of its parameter, and scores of the fresh rows."""
    attributes = {name: split.A[name].to_numpy() for name in split.names}
    if name in ("thresholds", "derived"):
        model, scores = fit_boosting(split, attributes)
        family = fa.ThresholdPredictor if name == "thresholds" else fa.DerivedPredictor
        rows = split.X.assign(person=np.arange(len(split.X)))
        fresh = split.fresh_X.assign(person=len(rows) + np.arange(len(split.fresh_X)))
        stage = family(model, ids="person").fit(rows, split.y, attributes, scores=scores)
        asked = {name: split.fresh_A[name].to_numpy() for name in split.names}
        for strength in STRENGTHS:
            told = stage.at_strength(strength).predict_proba(fresh, sensitive_features=asked)
            yield strength, told[:, 1]
    elif name == "adversary":
        yield from run_adversary(split)
    else:
        method = METHODS.get(name)
        if name == "reduction":
            from lightgbm import LGBMClassifier

            small = LGBMClassifier(n_estimators=50, num_leaves=15, n_jobs=1, verbose=-1)
            method = replace(method, options={"estimator": small})
        path = train_path(
            method,
            method.grid,
            X=split.X if name == "reduction" else split.X.to_numpy(),
            y=split.y,
            attributes=attributes,
            training=Training(seed=0),
            classes=split.classes,
        )
        fresh = split.fresh_X if name == "reduction" else split.fresh_X.to_numpy()
        for value, model in zip(path.values, path.models, strict=True):
            yield value, scores_of(model, fresh)


def run_adversary(split: Split) -> Iterator[tuple[float, Any]]:
    from fairlearn.adversarial import AdversarialFairnessClassifier
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(split.X)
    groups = split.A.astype(str).agg("|".join, axis=1).to_numpy()
    for weight in WEIGHTS:
        model = AdversarialFairnessClassifier(
            backend="torch",
            predictor_model=[50, "leaky_relu"],
            adversary_model=[8, "leaky_relu"],
            constraints="equalized_odds",
            alpha=weight,
            epochs=30,
            batch_size=256,
            random_state=0,
        )
        model.fit(scaler.transform(split.X), split.y, sensitive_features=groups)
        told = model.predict(scaler.transform(split.fresh_X))  # it has no scores
        yield weight, np.asarray(told).astype(float).ravel()


def print_table(runs: list[dict[str, Any]]) -> None:
    print(
        "| task | rival | value | splits | pass | loss | ranking |\n|---|---|---|---|---|---|---|"
    )
    frame = pd.DataFrame([run for run in runs if "p" in run])
    for key, part in frame.groupby(["task", "rival", "value"], sort=False):
        passed = int((part["p"] > PASSES).sum())
        means = f"{part['loss'].mean():.3f} | {part['ranking'].mean():.3f}"
        print(f"| {key[0]} | {key[1]} | {key[2]:g} | {len(part)} | {passed} | {means} |")
    for run in runs:
        if "failed" in run:
            print(f"{run['task']}, {run['rival']}, split {run['split']}: {run['failed']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default="compas")
    parser.add_argument("--methods", default=",".join(RIVALS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--save", default="rivals.jsonl")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    store = Path(args.save)
    runs = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    done = {(run["task"], run["split"], run["rival"]) for run in runs}
    for number in range(args.first, args.first + args.splits):
        for task in args.tasks.split(","):
            split = Split(task, number)
            for name in args.methods.split(","):
                if (task, number, name) in done:
                    continue
                start = {"task": task, "split": number, "rival": name}
                try:
                    found = [
                        {**start, "value": float(value), **split.measure(scores)}
                        for value, scores in run_rival(name, split)
                    ]
                except Exception as error:  # a rival that cannot take these rows is a result
                    found = [{**start, "failed": f"{type(error).__name__}: {error}"[:200]}]
                runs += found
                with store.open("a") as file:
                    file.writelines(json.dumps(run) + "\n" for run in found)
    print_table(runs)


if __name__ == "__main__":
    main()
