"""What conditional permutations share: the table as numbers, cross-fitting folds, units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, column_of
from fairaudit.data.encode import encode
from fairaudit.density.conditional_density import PairDensity
from fairaudit.errors import InputError
from fairaudit.permute.chain import Fold
from fairaudit.permute.copies import stream

__all__ = ["encode_table", "group_units", "join_pits", "split_by_stratum", "split_rows"]


def split_rows(
    n: int, folds: int, units: Index | None, seed: int, *, whole: bool = False
) -> list[Index]:
    """The rows of every fold; people stay together. `whole` and one fold give all rows.

    Examples
    --------
    >>> [len(rows) for rows in split_rows(20, 5, None, seed=0)]
    [4, 4, 4, 4, 4]
    """
    if folds < 1:
        raise InputError(f"The 'folds' parameter must be at least 1. Got {folds}.")
    if whole or folds == 1:
        return [np.arange(n)]
    unit = np.arange(n) if units is None else units
    count = int(unit.max()) + 1
    if count < 4 * folds:
        raise InputError(
            f"{count} rows are too few to cross-fit the density in {folds} folds. "
            "Pass more rows, fewer folds, or a table to fit on (density_data)."
        )
    fold = stream(seed, 5).permutation(count) % folds
    return [np.flatnonzero(fold[unit] == k) for k in range(folds)]


def split_by_stratum(rows: Index, strata: Index | None) -> list[Index]:
    """The rows of each stratum, which do not exchange with others."""
    if strata is None:
        return [rows]
    return [rows[strata[rows] == stratum] for stratum in np.unique(strata[rows])]


def encode_table(
    outcome: Column,
    attributes: Sequence[Column],
    training: tuple[Column, Sequence[Column]] | None = None,
    *,
    encoded: bool = True,
) -> tuple[Array, Array, Array, Array]:
    """Outcomes and attributes as numbers, here and in the training table, on one scale.

    Without `encoded` an attribute is one column: its numbers, or the codes of its levels.
    """
    extra = (None, [None] * len(attributes)) if training is None else training
    n = len(outcome)
    target = _stack_columns(outcome, extra[0])
    columns = [_stack_columns(c, e) for c, e in zip(attributes, extra[1], strict=True)]
    y = target.codes.astype(np.float64) if outcome.kind.is_categorical else _require_numbers(target)
    if encoded:
        a = encode(columns)
    else:
        a = np.column_stack([c.codes if c.numeric is None else c.numeric for c in columns])
    return y[:n], a[:n].astype(np.float64), y[n:], a[n:].astype(np.float64)


def _stack_columns(column: Column, extra: Column | None) -> Column:
    if extra is None:
        return column
    parts = [c.levels[c.codes] if c.numeric is None else c.numeric for c in (column, extra)]
    return column_of(column.name, np.concatenate(parts), kind=column.kind)


def _require_numbers(column: Column) -> Array:
    if column.numeric is None:
        raise InputError(f"The outcome {column.name!r} must be numeric to be continuous.")
    return column.numeric


def group_units(rows: Index, units: Index | None) -> list[Index] | None:
    """The units among these rows, in local numbers, one array per unit size."""
    if units is None:
        return None
    unit = units[rows]
    order = np.argsort(unit, kind="stable")
    starts = np.flatnonzero(np.diff(unit[order], prepend=-1))
    by_size: dict[int, list[Index]] = {}
    for members in np.split(order, starts[1:]):
        by_size.setdefault(len(members), []).append(members)
    return [np.array(members) for _, members in sorted(by_size.items())]


def join_pits(folds: list[Fold], y: Array, seed: int) -> Array | None:
    """Probability integral transforms of all rows, or None where a density has none.

    An outcome that several rows have stands for all numbers that are nearer to it than to its
    neighbors (it was rounded, or is an atom): a random one of their transforms is taken, which
    is uniform under a true density.
    """
    values = np.empty(len(y))
    distinct, place, count = np.unique(y, return_inverse=True, return_counts=True)
    tied = count[place] > 1
    middle = (distinct[1:] + distinct[:-1]) / 2
    if len(middle):
        first, last = 2 * distinct[0] - middle[0], 2 * distinct[-1] - middle[-1]
        edges = np.concatenate([[first], middle, [last]])
        lower, upper = edges[place], edges[place + 1]
    uniform = stream(seed, 9).random(len(y))
    for fold in folds:
        pairs: PairDensity = fold.pairs
        pit = pairs.pit()
        if pit is None:
            return None
        rows = fold.rows
        if len(middle) and tied[rows].any():
            low, high = pairs.cdf(lower[rows]), pairs.cdf(upper[rows])
            if low is not None and high is not None:
                pit = np.where(tied[rows], low + uniform[rows] * (high - low), pit)
        values[rows] = pit
    return values
