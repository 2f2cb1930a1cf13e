"""Inverse conditional permutation for a table: which rows move, under which fitted density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairaudit.attributes import encode
from fairaudit.columns import Column, column_of
from fairaudit.density import density_named
from fairaudit.density.auto import Auto
from fairaudit.density.base import PairDensity
from fairaudit.density.oracle import Oracle
from fairaudit.errors import InputError
from fairaudit.kernels import Array, Index
from fairaudit.permute.base import CopySampler, stream
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.within import WithinOutcome

__all__ = ["ICP", "FittedCopies"]


@dataclass(frozen=True, slots=True)
class FittedCopies:
    """A sampler and how it came about.

    Attributes
    ----------
    sampler : CopySampler
    density : str
        What was fitted, in words.
    scores : dict
        For ``"auto"``: the mean held-out log-likelihood of every family it tried.
    pit : array or None
        Probability integral transforms of all rows under the density that permutes them.
    """

    sampler: CopySampler
    density: str
    scores: dict[str, float] = field(default_factory=dict)
    pit: Array | None = None


@dataclass(frozen=True, slots=True)
class ICP:
    """Settings of inverse conditional permutation.

    Parameters
    ----------
    density : str, density or callable
        See `fairaudit.density.density_named`.
    folds : int
        Cross-fitting: the density of each fold is fitted on the others. 1 fits in sample.
    """

    density: Any = "auto"
    folds: int = 5

    def prepare(
        self,
        outcome: Column,
        attributes: Sequence[Column],
        *,
        steps: int,
        seed: int,
        units: Index | None = None,
        training: tuple[Column, Sequence[Column]] | None = None,
    ) -> FittedCopies:
        """Fit what must be fitted and return the sampler.

        `training` is a separate table (outcome, attributes) to fit the density on; `units` are
        numbers of people whose rows move together.
        """
        density = density_named(self.density, categorical=outcome.kind.is_categorical)
        if density is None:
            return FittedCopies(WithinOutcome(outcome.codes, seed, units), "exact (within classes)")
        y, a, train_y, train_a = _numbers(outcome, attributes, training, density)
        parts = self._split(density, len(y), units, seed, training is not None)
        fit_seed = int(stream(seed, 4).integers(2**31))
        scores: dict[str, float] = {}
        if training is not None:
            fits = [density.fit(train_y, train_a, fit_seed)]
            how = "fitted on the given table"
        else:
            everything = np.arange(len(y))
            splits = [
                (np.setdiff1d(everything, rows) if len(parts) > 1 else rows, rows) for rows in parts
            ]
            how = f"cross-fitted in {len(parts)} folds" if len(parts) > 1 else "fitted in sample"
            if isinstance(density, Auto):
                choice = density.choose(y, a, splits, fit_seed)
                density, fits, scores = choice.family, choice.fits, choice.scores
            else:
                fits = [density.fit(y[fit_rows], a[fit_rows], fit_seed) for fit_rows, _ in splits]
        folds = [
            Fold(rows, fitted.pairs(y[rows], a[rows]), _units_by_size(rows, units))
            for rows, fitted in zip(parts, fits, strict=True)
        ]
        name = density.name if isinstance(density, Oracle) else f"{density.name}, {how}"
        sampler = ConditionalPermutation(folds, steps, seed)
        return FittedCopies(sampler, name, scores, _joined_pit(folds, len(y)))

    def _split(
        self, density: Any, n: int, units: Index | None, seed: int, whole: bool
    ) -> list[Index]:
        if self.folds < 1:
            raise InputError(f"The 'folds' parameter must be at least 1. Got {self.folds}.")
        if whole or self.folds == 1 or isinstance(density, Oracle):
            return [np.arange(n)]
        unit = np.arange(n) if units is None else units
        count = int(unit.max()) + 1
        if count < 4 * self.folds:
            raise InputError(
                f"{count} rows are too few to cross-fit the density in {self.folds} folds. "
                "Pass more rows, fewer folds, or a table to fit on (density_data)."
            )
        fold = stream(seed, 5).permutation(count) % self.folds
        return [np.flatnonzero(fold[unit] == k) for k in range(self.folds)]


def _numbers(
    outcome: Column,
    attributes: Sequence[Column],
    training: tuple[Column, Sequence[Column]] | None,
    density: Any,
) -> tuple[Array, Array, Array, Array]:
    """Outcomes and attributes as numbers, here and in the training table, on one scale."""
    extra = (None, [None] * len(attributes)) if training is None else training
    n = len(outcome)
    target = _stacked(outcome, extra[0])
    columns = [_stacked(c, e) for c, e in zip(attributes, extra[1], strict=True)]
    y = target.codes.astype(np.float64) if outcome.kind.is_categorical else _numeric(target)
    if isinstance(density, Oracle):
        a = np.column_stack([c.codes if c.numeric is None else c.numeric for c in columns])
    else:
        a = encode(columns)
    return y[:n], a[:n].astype(np.float64), y[n:], a[n:].astype(np.float64)


def _stacked(column: Column, extra: Column | None) -> Column:
    if extra is None:
        return column
    parts = [c.levels[c.codes] if c.numeric is None else c.numeric for c in (column, extra)]
    return column_of(column.name, np.concatenate(parts), kind=column.kind)


def _numeric(column: Column) -> Array:
    if column.numeric is None:
        raise InputError(f"The outcome {column.name!r} must be numbers to be continuous.")
    return column.numeric


def _units_by_size(rows: Index, units: Index | None) -> list[Index] | None:
    if units is None:
        return None
    unit = units[rows]
    order = np.argsort(unit, kind="stable")
    starts = np.flatnonzero(np.diff(unit[order], prepend=-1))
    by_size: dict[int, list[Index]] = {}
    for members in np.split(order, starts[1:]):
        by_size.setdefault(len(members), []).append(members)
    return [np.array(members) for _, members in sorted(by_size.items())]


def _joined_pit(folds: list[Fold], n: int) -> Array | None:
    values = np.empty(n)
    for fold in folds:
        pairs: PairDensity = fold.pairs
        pit = pairs.pit()
        if pit is None:
            return None
        values[fold.rows] = pit
    return values
