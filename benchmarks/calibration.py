"""What the losses and the calibration of FairICPClassifier do to its probabilities.

    FAIRAUDIT_DATA=<folder> python benchmarks/calibration.py [task] [first split] [last split]

Every split has 60 % of the rows for training and 40 % for the numbers: expected calibration error
(ten bins of equal width), Brier score, AUC, share misclassified at 0.5 and centered KPC, means over
the splits. `isotonic` is a map fitted on the validation rows, for comparison.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.experiments.real import TASKS, halves
from fairaudit.remedy.tradeoff import evaluate

MUS = [0.0, 0.5, 0.7, 0.9]
BINS = 10


def expected_calibration_error(chance: Any, y: Any) -> float:
    place = np.minimum((chance * BINS).astype(int), BINS - 1)
    parts = [place == k for k in range(BINS) if (place == k).any()]
    return float(sum(abs(chance[p].mean() - y[p].mean()) * p.mean() for p in parts))


def variants(model: Any, X: Any, y: Any, held: Any, split: int) -> dict[str, Any]:
    """Probabilities of the held rows: as they are by default, plain, and by an isotonic map."""
    found = {"calibrated": model.predict_proba(held)[:, 1]}
    model.calibration_ = None
    found["plain"] = model.predict_proba(held)[:, 1]
    order = np.random.default_rng(split).permutation(len(X))
    valid = order[: round(model.validation_fraction * len(X))]
    least = 1 / (len(valid) + 2)
    steps = IsotonicRegression(out_of_bounds="clip", y_min=least, y_max=1 - least)
    steps.fit(model.predict_proba(X.iloc[valid])[:, 1], y[valid])
    found["isotonic"] = steps.predict(found["plain"])
    return found


def split_rows(task: str, split: int) -> list[dict[str, Any]]:
    data = TASKS[task].load()
    train, test = halves(len(data.y), split)
    X, A, held = data.X.iloc[train], data.sensitive.iloc[train], data.X.iloc[test]
    codes = (data.y == np.unique(data.y)[1]).astype(float)
    (outcome,) = columns_from({"y": data.y[test]}, argument="y", outcome=True)
    attributes = columns_from(data.sensitive.iloc[test], argument="sensitive")
    rows = []
    for loss in ("error", "cross_entropy"):
        estimator = fa.FairICPClassifier(loss=loss, random_state=split)
        for model in estimator.fit_path(X, data.y[train], A, MUS):
            for name, chance in variants(model, X, codes[train], held, split).items():
                measures = {
                    "ece": expected_calibration_error(chance, codes[test]),
                    "brier": np.mean((chance - codes[test]) ** 2),
                    "auc": roc_auc_score(codes[test], chance),
                    "error": np.mean((chance >= 0.5) != codes[test]),
                    "kpc": evaluate(chance, outcome, attributes)["kpc"],
                }
                rows.append({"mu": model.mu, "loss": loss, "scores": name} | measures)
    return rows


if __name__ == "__main__":
    task = sys.argv[1] if len(sys.argv) > 1 else "compas"
    first, last = (int(word) for word in sys.argv[2:4]) if len(sys.argv) > 3 else (111, 115)
    table = pd.DataFrame([row for k in range(first, last + 1) for row in split_rows(task, k)])
    print(table.groupby(["mu", "loss", "scores"]).mean().round(4).to_string())
