"""A last stage on fresh rows: how often it passes, what it costs, and what was expected of it.

Half of the rows train LightGBM and the last stage (on out-of-fold scores), the other half is
audited. Beside it: the model as it is, thresholds of groups (fairlearn), and the trivial mixture,
the model with a constant answer for the smallest random share that passes as often.

    FAIRAUDIT_DATA=<folder> python benchmarks/derived.py --tables compas,adult --splits 101-110
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

import fairaudit as fa

BOOSTING = {
    "n_estimators": 120,
    "learning_rate": 0.06,
    "num_leaves": 15,
    "min_child_samples": 40,
    "subsample": 0.8,
    "subsample_freq": 1,
    "verbose": -1,
    "n_jobs": 1,
    "random_state": 0,
}
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9)  # of the trivial mixture
COPIES = 199


def load(name: str) -> tuple[pd.DataFrame, Any, pd.DataFrame, bool]:
    """Features, outcome, attributes, and whether the outcome has classes."""
    if name == "acs":
        data = fa.datasets.fetch_acs_income("CO")
    else:
        fetch = {"crimes1": "communities", "crimes3": "communities"}.get(name, name)
        data = getattr(fa.datasets, f"fetch_{fetch}")()
    sensitive = data.sensitive.reset_index(drop=True)
    if name == "crimes1":
        sensitive = sensitive.iloc[:, :1]
    return data.X.reset_index(drop=True), np.asarray(data.y), sensitive, "crimes" not in name


def measure(score: Any, y: Any, sensitive: pd.DataFrame, classes: bool) -> list[float]:
    """Passed, loss, AUC (of numbers: correlation), Brier score (of numbers: none)."""
    copies = fa.Permutations(n=COPIES)
    test = fa.equalized_odds_test(score, y_true=y, sensitive=sensitive, permutations=copies)
    if not classes:
        return [test.p_value > 0.05, np.mean((score - y) ** 2), np.corrcoef(score, y)[0, 1], 0.0]
    wrong = np.mean((score >= 0.5) != y)
    return [test.p_value > 0.05, wrong, roc_auc_score(y, score), np.mean((score - y) ** 2)]


def run_split(name: str, split: int, strengths: list[float], **options: Any) -> dict[str, Any]:
    X, y, A, classes = load(name)
    order = np.random.default_rng(split).permutation(len(y))
    train, fresh = order[: len(y) // 2], order[len(y) // 2 :]
    X = X.assign(person=np.arange(len(X)))  # tells people apart whose features are equal
    rows = X.drop(columns="person")
    model = (LGBMClassifier if classes else LGBMRegressor)(**BOOSTING)
    how = {"method": "predict_proba"} if classes else {}
    scores = cross_val_predict(model, rows.iloc[train], y[train], cv=5, **how)
    model.fit(rows.iloc[train], y[train])
    own = (
        model.predict_proba(rows.iloc[fresh])[:, 1] if classes else model.predict(rows.iloc[fresh])
    )
    found = {"plain": measure(own, y[fresh], A.iloc[fresh], classes)}
    coin, center = np.random.default_rng(split).random(len(fresh)), float(y[train].mean())
    for share in SHARES:
        mixed = np.where(coin < share, center, own)
        found[f"mixture {share:g}"] = measure(mixed, y[fresh], A.iloc[fresh], classes)
    stages = {"derived": fa.DerivedPredictor(model, ids="person", **options)}
    if classes and all(A[column].nunique() < 20 for column in A):
        stages["thresholds"] = fa.ThresholdPredictor(model, ids="person")
    for kind, stage in stages.items():
        fitted = stage.fit_path(X.iloc[train], y[train], A.iloc[train], strengths, scores=scores)
        for strength, version in zip(strengths, fitted, strict=True):
            answer = version.predict_proba if classes else version.predict
            values = answer(X.iloc[fresh], A.iloc[fresh])
            found[f"{kind} {strength:g}"] = measure(
                values[:, 1] if classes else values, y[fresh], A.iloc[fresh], classes
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default="compas")
    parser.add_argument("--splits", default="101-110")
    parser.add_argument("--strengths", default="1,1.15")
    parser.add_argument("--levels", type=int)
    parser.add_argument("--shrink", type=float)
    args = parser.parse_args()
    low, high = map(int, args.splits.split("-"))
    strengths = [float(text) for text in args.strengths.split(",")]
    for name in args.tables.split(","):
        found: dict[str, list[Any]] = {}
        for split in range(low, high + 1):
            options = {"levels": args.levels, "shrink": args.shrink}
            for method, numbers in run_split(name, split, strengths, **options).items():
                found.setdefault(method, []).append(numbers)
        print(f"| {name} | passes | loss | AUC | Brier |")
        print("|---|---|---|---|---|")
        for method, rows in found.items():
            passed = int(sum(row[0] for row in rows))
            loss, auc, brier = np.mean([row[1:] for row in rows], axis=0)
            print(
                f"| {method} | {passed}/{len(rows)} | {loss:.4f} | {auc:.3f} | {brier:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
