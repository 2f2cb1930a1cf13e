"""How much a last stage leaves for the only reason that it was fitted to a sample of rows.

Laws that are equal on n rows differ on others. A stage that was fitted to n rows drawn from them
with replacement differs from the one that was fitted to all of them by as much as this one does
from the one that an endless sample would give: both have the variance of an estimate from n rows.
So what such draws bring back of the dependence says what new rows will see, whatever the stage has
smoothed. (Halves have the same variance, but the small groups of a table are joined in them: with
many groups they bring back several times too much.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["count_draws", "draw_people", "find_stage_error", "split_outcome"]

_FEWEST, _MOST = 6, 60  # draws
_TERMS = 200  # directions times draws: the fewer, the more a search takes the luckiest estimate
_PARTS = 10  # of a continuous outcome
_SMALL = 1e-6  # directions of the functions that vary less, as a share, are left out


def count_draws(functions: int) -> int:
    """How many draws tell enough, where the attributes have so many functions."""
    return int(np.clip(np.ceil(_TERMS / max(functions, 1)), _FEWEST, _MOST))


def draw_people(units: Index, functions: int, seed: int) -> list[Index]:
    """Rows of people who are drawn with replacement, as many as there are."""
    rng = np.random.default_rng([seed, 23])
    order = np.argsort(units, kind="stable")
    counts = np.bincount(units)
    ends = counts.cumsum()
    return [
        _list_rows(order, ends, counts, rng.integers(0, len(counts), len(counts)))
        for _ in range(count_draws(functions))
    ]


def _list_rows(order: Index, ends: Index, counts: Index, people: Index) -> Index:
    """The rows of these people, where those of person k end at place `ends[k]` of `order`."""
    own = counts[people]
    place = np.arange(own.sum()) - np.repeat(own.cumsum() - own, own)
    return np.asarray(order[np.repeat(ends[people] - own, own) + place])


def find_stage_error(
    whole: Array, drawn: Sequence[Array], values: Array, psi: Array, parts: Index
) -> float:
    """The variance of the dependence that is left, in that of the noise of as many rows.

    Parameters
    ----------
    whole : array
        Row × level: how likely every level is, by the stage of all rows.
    drawn : sequence of array
        The same by stages of rows that were drawn from these.
    values : array
        Level × class (or one number): what levels say.
    psi : array
        Functions of the attributes at the rows.
    parts : int array
        Classes, or ranges of a continuous outcome, of the rows.

    Notes
    -----
    The mean over directions of the attributes within parts of n δ² / σ²: δ is how far the
    expected answers of such a stage move along a direction, σ² the variance of a drawn answer.
    """
    found: list[float] = []
    for part in np.unique(parts):
        rows = np.flatnonzero(parts == part)
        directions = _find_directions(psi[rows])
        mean = whole[rows] @ values
        spread = (whole[rows] @ values**2).mean(axis=0) - mean.mean(axis=0) ** 2
        varying = spread > 1e-12
        if not directions.shape[1] or not varying.any():
            continue
        for other in drawn:
            moved = directions.T @ ((other[rows] - whole[rows]) @ values)[:, varying]
            found.append(float((moved**2 / spread[varying]).mean()))
    return float(np.mean(found)) if found else 0.0


def split_outcome(outcome: Array) -> Index:
    """Ranges of a continuous outcome with as many rows each."""
    edges = np.unique(np.quantile(outcome, np.linspace(0, 1, _PARTS + 1)[1:-1]))
    return np.asarray(np.searchsorted(edges, outcome))


def _find_directions(psi: Array) -> Array:
    """Orthonormal columns that the functions vary along."""
    left, size, _ = np.linalg.svd(psi - psi.mean(axis=0), full_matrices=False)
    return np.asarray(left[:, size > _SMALL * max(float(size[0]), 1e-12)])
