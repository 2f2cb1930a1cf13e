"""Decay of networks and rounds of boosting for table 1: every method has the same four tries.

On splits that the table does not use. KPC has ten neighbors here: it varies less between splits
than with one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.experiments.frontier import frontier_at
from fairaudit.experiments.paper import TABLE1
from fairaudit.experiments.real import METHODS, TASKS, UNTUNED, halves, methods, trained
from fairaudit.experiments.runner import Unit
from fairaudit.remedy.tradeoff import loss_of, scores_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["page", "tuning_rows", "units"]

SMALL = ("crimes_one", "crimes_all", "compas")
DECAYS, ROUNDS = (1e-4, 1e-3, 1e-2, 1e-1), (10, 20, 40, 80)
FIRST_SPLIT = 101
_NEIGHBORS = 10


def units(runs: int) -> list[Unit]:
    """The small data sets; Adult and ACSIncome are run as they come, untuned."""
    return [
        (task, method, strength, FIRST_SPLIT + run)
        for run in range(runs)
        for task in SMALL
        for method in methods(task)
        for strength in (ROUNDS if UNTUNED[method] >= 1 else DECAYS)
    ]


def tuning_rows(task: str, method: str, strength: float, split: int) -> list[dict[str, Any]]:
    """Loss and KPC of every point of the curve with this decay, or with these rounds."""
    data, how = TASKS[task].load(), methods(task, strength={method: strength})[method]
    train, test = halves(len(data.y), split)
    models, _ = trained(how, data, train)
    (outcome,) = columns_from({"y": data.y[test]}, argument="y", outcome=True)
    attributes = columns_from(data.sensitive.iloc[test], argument="sensitive")
    rows = []
    for value, model in zip(how.values, models, strict=True):
        score = scores_of(model, data.X.iloc[test])
        kpc = (
            0.0
            if np.ptp(score) == 0
            else fa.metrics.kpc(
                score,
                sensitive=attributes,
                y_true=outcome,
                knn=_NEIGHBORS,
                encode=TASKS[task].encode,
            )
        )
        rows.append(
            {
                "task": task,
                "method": method,
                "strength": strength,
                "split": split,
                "value": value,
                "loss": loss_of(score, outcome),
                "kpc": float(kpc),
            }
        )
    return rows


def page(frame: pd.DataFrame) -> list[str]:
    """Loss where the mean curve meets the paper's KPC, or the smallest KPC; the best is bold."""
    tried = range(1, len(DECAYS) + 1)
    lines = [
        "| task | method | " + " | ".join(f"try {k}" for k in tried) + " | splits |",
        "|---" * (3 + len(DECAYS)) + "|",
    ]
    for (task, method), some in frame.groupby(["task", "method"], sort=False):
        tries = []
        for strength, rows in some.groupby("strength"):
            points = rows.groupby("value")[["loss", "kpc"]].mean().to_numpy()
            met = frontier_at(points, TABLE1[str(task)]["fairicp"][2])
            worth = (0, met[0]) if met is not None else (1, points[:, 1].min())
            text = f"{worth[1]:.3f}" if met is not None else f"KPC {worth[1]:.3f}"
            tries.append((worth, f"{strength:g}: {text}"))
        best = min(tries)
        cells = " | ".join(
            f"**{attempt[1]}**" if attempt is best else attempt[1] for attempt in tries
        )
        lines.append(
            f"| {TASKS[str(task)].title} | {METHODS[str(method)]} | {cells} | "
            f"{some['split'].nunique()} |"
        )
    return lines
