"""Rivals at the passing point: what do other repairs cost that pass a fresh audit as often?

    FAIRAUDIT_DATA=<folder> python benchmarks/remedy_rivals.py --splits 5 --save rivals.jsonl
    ... --tasks compas,adult --methods thresholds,reduction --first 101

The splits are those of remedy_pass.py. Every rival trains on 70 % of the rows that the remedy is
given there (which keeps 30 % for its own audit) and is tested on the same fresh rows, for every
value of its parameter. Thresholds and the derived predictor stand on the boosting of the remedy,
reduction on LightGBM; HGR, FDL, FairICP and the adversary are networks. `--save` keeps what is
finished. `--beside pass.jsonl` sets the runs of remedy_pass.py beside them, on the splits that both
have: each rival at the value that passes most often there, and of these the smallest loss.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from dataclasses import replace  # noqa: E402
from functools import cache  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from remedy_pass import PASSES, TASKS, split_rows  # noqa: E402
from saved_runs import SavedRuns, add_splits, list_splits  # noqa: E402

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
        given, fresh = split_rows(len(frame), split)
        places = given[: int(0.7 * len(given))], fresh
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


def run_values(split: Split, task: str, number: int, name: str) -> list[dict[str, Any]]:
    """Every value of a rival on fresh rows; one that cannot take these rows is a result."""
    start = {"task": task, "split": number, "rival": name}
    try:
        return [
            {**start, "value": float(value), **split.measure(scores)}
            for value, scores in run_rival(name, split)
        ]
    except Exception as error:
        return [{**start, "failed": f"{type(error).__name__}: {error}"[:200]}]


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


def print_beside(runs: list[dict[str, Any]], path: str) -> None:
    """The search against every rival, split by split; less than 0: the search loses less."""
    searched = [run for run in SavedRuns(path, ()).records if run["outcome"] != "no repair found"]
    heads = "attributes known|rival|value|splits|rival passes|search passes|rival|search|difference"
    print(f"| task | {heads.replace('|', ' | ')} |\n|{'---|' * 10}")
    frame = pd.DataFrame([run for run in runs if "p" in run])
    for (task, use), part in pd.DataFrame(searched).groupby(["task", "use_sensitive"]):
        own = pd.DataFrame(part["after"].tolist(), index=part["split"])
        for rival, told in frame[frame["task"] == task].groupby("rival", sort=False):
            common = told[told["split"].isin(own.index)].assign(passed=lambda t: t["p"] > PASSES)
            if common.empty:
                continue
            values = common.groupby("value").agg({"passed": "mean", "loss": "mean"})
            value = values.sort_values(["passed", "loss"], ascending=[False, True]).index[0]
            best = common[common["value"] == value].set_index("split")
            mine = own.loc[best.index]
            gaps = mine["loss"] - best["loss"]
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            cells = [
                task,
                "yes" if use else "no",
                rival,
                f"{value:g}",
                str(len(best)),
                str(int(best["passed"].sum())),
                str(int((mine["p"] > PASSES).sum())),
                f"{best['loss'].mean():.3f}",
                f"{mine['loss'].mean():.3f}",
                f"{gaps.mean():+.3f} ± {error:.3f}",
            ]
            print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_splits(parser, tasks="compas", splits=5, save="rivals.jsonl")
    parser.add_argument("--methods", default=",".join(RIVALS))
    parser.add_argument("--beside", help="runs of remedy_pass.py")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    runs, known = SavedRuns(args.save, ("task", "split", "rival")), cache(Split)
    for task, number in list_splits(args):
        for name in args.methods.split(","):
            key = task, number, name
            runs.add(key, lambda key=key: run_values(known(*key[:2]), *key))
    print_table(runs.records)
    if args.beside:
        print_beside(runs.records, args.beside)


if __name__ == "__main__":
    main()
