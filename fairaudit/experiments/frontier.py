"""Two methods beside each other: the loss where their curves reach the same KPC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Curves",
    "Difference",
    "curves",
    "frontier_at",
    "loss_difference",
    "loss_error",
    "reaches",
]

_BOOTSTRAPS = 200

#: run → points (loss, KPC) of a method's curve
Curves = dict[Any, Array]


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


def curves(rows: pd.DataFrame, *, run: str, parameter: str) -> Curves:
    """One method's curves; runs that lack a point are left out."""
    table = rows.pivot_table(index=run, columns=parameter, values=["loss", "kpc"], sort=False)
    points = np.stack([table[name].to_numpy() for name in ("loss", "kpc")], axis=2)
    whole = ~np.isnan(points).any(axis=(1, 2))
    return dict(zip(table.index[whole], points[whole], strict=True))


def loss_error(curves: Curves, limit: float) -> float:
    """Standard error of the loss at this KPC, by drawing runs with replacement.

    KPC varies too, and moves the point along the curve: the spread of the loss alone says less.
    """
    points = np.array(list(curves.values()))
    return _spread([_loss_at(points[some], limit) for some in _draw_rows(len(points))])


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two losses, with its standard error and the number of runs that both have."""

    loss: float
    error: float
    runs: int

    @property
    def known(self) -> bool:
        return self.loss == self.loss

    def __str__(self) -> str:
        return f"{self.loss:+.3f}" + ("" if self.error != self.error else f" ± {self.error:.3f}")


def loss_difference(ours: Curves, theirs: Curves, limit: float) -> Difference:
    """Our loss minus theirs at this KPC; NaN if one of us does not get there in common runs.

    The runs drawn with replacement are the same for both: the error is that of the difference.
    """
    common = sorted(set(ours) & set(theirs))
    if not common:
        return Difference(float("nan"), float("nan"), 0)
    first, second = (np.array([curve[k] for k in common]) for curve in (ours, theirs))
    every = [np.arange(len(common)), *_draw_rows(len(common))]
    apart, *others = [_loss_at(first[k], limit) - _loss_at(second[k], limit) for k in every]
    return Difference(apart, _spread(others), len(common))


def reaches(curves: Curves, limit: float) -> bool:
    """Whether the mean curve of all runs gets down to this KPC."""
    return bool(curves) and not np.isnan(_loss_at(np.array(list(curves.values())), limit))


def _loss_at(points: Array, limit: float) -> float:
    """Where the frontier of the mean curve meets this KPC; NaN where it does not."""
    met = frontier_at(points.mean(axis=0), limit)
    return float("nan") if met is None else float(met[0])


def _draw_rows(n: int) -> Index:
    return np.random.default_rng(0).integers(0, n, (_BOOTSTRAPS, n))


def _spread(values: list[float]) -> float:
    """Their standard deviation; NaN where too many are missing."""
    known = [value for value in values if value == value]
    return float(np.std(known)) if len(known) >= 0.9 * len(values) else float("nan")
