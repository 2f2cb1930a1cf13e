"""Inverse conditional permutation for a table: which rows move, under which fitted density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.density import density_named
from fairaudit.density.auto import Auto, Choice
from fairaudit.density.oracle import Oracle
from fairaudit.errors import InputError
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.copies import (
    EXACT,
    CopyLaw,
    CopySampler,
    FittedCopies,
    make_fitted_law,
    stream,
)
from fairaudit.permute.folds import (
    encode_table,
    group_units,
    join_pits,
    split_by_stratum,
    split_rows,
)
from fairaudit.permute.pair_swaps import PairSwaps
from fairaudit.permute.within import WithinOutcome

__all__ = ["ICP", "MANY_ROWS"]

#: More rows than these exchange within one pairing, unless a number of steps is asked for.
MANY_ROWS = 50_000


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
        steps: int | None,
        seed: int,
        units: Index | None = None,
        training: tuple[Column, Sequence[Column]] | None = None,
        strata: Index | None = None,
        prediction: Array | None = None,
    ) -> FittedCopies:
        """Fit what must be fitted and return the sampler.

        `training` is a separate table (outcome, attributes) to fit the density on; `units` are
        numbers of people whose rows move together. Without `steps` the chain takes as many as
        the data need, and tables of more than `MANY_ROWS` rows exchange within one pairing.
        Rows of different `strata` (ranges of the
        outcome) do not exchange: the law of Y given A within a range is q(y|a) up to a factor
        of a alone, which cancels in every exchange.
        """
        density = density_named(self.density, categorical=outcome.kind.is_categorical)
        if density is None:
            return FittedCopies(WithinOutcome(outcome.codes, seed, units), EXACT)
        known = isinstance(density, Oracle)
        y, a, train_y, train_a = encode_table(outcome, attributes, training, encoded=not known)
        parts = split_rows(len(y), self.folds, units, seed, whole=known or training is not None)
        fit_seed = int(stream(seed, 4).integers(2**31))
        if training is not None:
            choice = Choice(density, [density.fit(train_y, train_a, fit_seed)], {})
        else:
            choice = _cross_fit(density, y, a, parts, fit_seed)
        folds = [
            Fold(rows, fitted.pairs(y[rows], a[rows]), group_units(rows, units))
            for part, fitted in zip(parts, choice.fits, strict=True)
            for rows in split_by_stratum(part, strata)
        ]
        _check_densities(folds)
        law = CopyLaw("known", density.name)
        if not known:
            law = make_fitted_law(choice.family.name, folds=len(parts), given=training is not None)
        sampler: CopySampler
        if steps is None and units is None and len(y) > MANY_ROWS:
            sampler = _pair_neighbors(folds, y, seed)
        else:
            sampler = ConditionalPermutation(folds, steps, seed)
        return FittedCopies(sampler, law, choice.scores, join_pits(folds, y, seed))


def _pair_neighbors(folds: Sequence[Fold], y: Array, seed: int) -> PairSwaps:
    """One pairing, of neighbors in the order of the outcome, with the odds of their density.

    Their outcomes are nearly equal, so that errors of the density nearly cancel: with very many
    rows even small ones would show in exchanges of any two rows.
    """
    first, second, log_odds = [], [], []
    for number, fold in enumerate(folds):
        shuffled = stream(seed, 8, number).permutation(len(fold.rows))
        order = shuffled[np.argsort(y[fold.rows][shuffled], kind="stable")]  # ties at random
        half = len(order) // 2
        i, j = order[: 2 * half : 2], order[1 : 2 * half : 2]
        first.append(fold.rows[i])
        second.append(fold.rows[j])
        log_odds.append(fold.pairs.swap_log_odds(i, j, i, j))
    i, j = np.concatenate(first), np.concatenate(second)
    return PairSwaps(i, j, np.concatenate(log_odds), seed, n=len(y))


def _check_densities(folds: Sequence[Fold]) -> None:
    """A density that is no number at the data themselves would make rows stay where they are."""
    for fold in folds:
        own = np.arange(len(fold.rows))
        wrong = ~np.isfinite(fold.pairs.log_density(own, own))
        if wrong.any():
            raise InputError(
                f"The density of the outcome is NaN or infinite at {int(wrong.sum())} rows, the "
                f"first row {fold.rows[wrong][0]}. Choose another density, or rescale the columns."
            )


def _cross_fit(density: Any, y: Array, a: Array, parts: list[Index], seed: int) -> Choice:
    """Fit on the other parts for every part (in sample if there is only one)."""
    everything = np.arange(len(y))
    splits = [(np.setdiff1d(everything, rows) if len(parts) > 1 else rows, rows) for rows in parts]
    if isinstance(density, Auto):
        return density.choose(y, a, splits, seed)
    return Choice(density, [density.fit(y[rows], a[rows], seed) for rows, _ in splits], {})
