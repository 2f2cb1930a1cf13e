"""Boosted remedies beside plain LightGBM: CPU of one model and of a path of seven, on Adult.

    FAIRAUDIT_DATA=<folder> python benchmarks/boosting.py

Both have the same rounds and trees, the 60 % of the rows for training, and one thread. Times are
CPU seconds, the smallest of three. A second table has loss, KPC and AUC against μ on the rows that
are left, for the tasks and splits that are asked for (--tasks compas,adult --splits 101,102).
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import lightgbm  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.datasets import (  # noqa: E402
    fetch_acs_income,
    fetch_adult,
    fetch_communities,
    fetch_compas,
)
from fairaudit.remedy.methods import MUS  # noqa: E402
from fairaudit.remedy.tradeoff import loss_of, scores_of  # noqa: E402

TASKS: dict[str, Callable[[], Any]] = {
    "compas": fetch_compas,
    "adult": fetch_adult,
    "acsincome": lambda: fetch_acs_income(states=("co",)),
    "crimes_one": lambda: fetch_communities(races="one"),
    "crimes_all": lambda: fetch_communities(races="all"),
}


def halves(data: Any, split: int, use_sensitive: bool) -> tuple[Any, Any]:
    X = np.asarray(data.X, dtype=float)
    if use_sensitive:
        X = np.hstack([X, pd.get_dummies(data.sensitive).to_numpy(float)])
    y, n = np.asarray(data.y), len(data.y)
    order = np.random.default_rng(split).permutation(n)
    parts = order[: int(0.6 * n)], order[int(0.6 * n) :]
    train, rest = ((X[rows], y[rows], data.sensitive.iloc[rows]) for rows in parts)
    return train, rest


def cpu(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def speed() -> None:
    (X, y, a), _ = halves(fetch_adult(), 101, False)
    base = fa.FairICPBoostingClassifier()
    plain = cpu(
        lambda: lightgbm.LGBMClassifier(
            n_estimators=base.rounds, learning_rate=base.learning_rate, n_jobs=1, verbose=-1
        ).fit(X, y)
    )
    print(f"Adult, {len(X):,} rows x {X.shape[1]} columns, {base.rounds} rounds: ", end="")
    print(f"plain LightGBM {plain:.2f} s")
    print("| | one model, s | times plain | path of seven, s |\n|---|---|---|---|")
    for name, options in (("one booster (default here)", {"folds": 0}), ("3 folds", {"folds": 3})):
        model = fa.FairICPBoostingClassifier(0.7, **options)
        one = cpu(lambda model=model: model.fit(X, y, sensitive_features=a))
        path = cpu(lambda model=model: model.fit_path(X, y, a, MUS))
        print(f"| {name} | {one:.2f} | {one / plain:.1f} | {path:.1f} |", flush=True)


def quality(tasks: list[str], splits: list[int], rival: bool) -> None:
    print("\n| task | model | " + " | ".join(f"μ = {mu:g}" for mu in MUS) + " |")
    print("|---|---|" + "---|" * len(MUS))
    for task in tasks:
        data = TASKS[task]()
        number = task.startswith("crimes")
        family = fa.FairICPBoostingRegressor if number else fa.FairICPBoostingClassifier
        network = fa.FairICPRegressor if number else fa.FairICPClassifier
        rows = [("boosting", family(), False), ("boosting, attributes used", family(), True)]
        rows += [("network", network(), False)] if rival else []
        for name, estimator, used in rows:
            seen = [_points(estimator, *halves(data, split, used)) for split in splits]
            means = np.mean(seen, axis=0)
            cells = [
                f"{loss:.3f}, {kpc:.4f}" + ("" if number else f", {auc:.3f}")
                for loss, kpc, auc in means
            ]
            print(f"| {task} | {name} | " + " | ".join(cells) + " |", flush=True)


def _points(estimator: Any, train: Any, rest: Any) -> list[tuple[float, float, float]]:
    """Loss, KPC and AUC of every μ."""
    from fairaudit.data.columns import columns_from

    X, y, a = rest
    (outcome,) = columns_from({"y": y}, argument="y", outcome=True)
    points = []
    for model in estimator.fit_path(*train, list(MUS)):
        scores = scores_of(model, X)
        kpc = float(fa.metrics.kpc_centered(scores, sensitive=a, y_true=y))
        two = outcome.kind.is_categorical and len(outcome.levels) == 2
        auc = roc_auc_score(outcome.codes, scores) if two else float("nan")
        points.append((loss_of(scores, outcome), kpc, auc))
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default="", help=f"of {','.join(TASKS)}")
    parser.add_argument("--splits", default="101,102")
    parser.add_argument("--network", action="store_true", help="FairICPClassifier beside it")
    args = parser.parse_args()
    if "FAIRAUDIT_DATA" not in os.environ:
        sys.exit("Set FAIRAUDIT_DATA to the folder of the data sets.")
    if args.tasks:
        splits = [int(split) for split in args.splits.split(",")]
        quality(args.tasks.split(","), splits, args.network)
    else:
        speed()


if __name__ == "__main__":
    main()
