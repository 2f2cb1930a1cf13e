"""Inverse conditional permutation for a table: which rows move, under which fitted density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairaudit.columns import Column
from fairaudit.density import density_named
from fairaudit.density.auto import Auto
from fairaudit.density.oracle import Oracle
from fairaudit.kernels import Array, Index
from fairaudit.permute.base import CopySampler, stream
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.folds import joined_pit, numbers_of, split_rows, units_by_size
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
        known = isinstance(density, Oracle)
        y, a, train_y, train_a = numbers_of(outcome, attributes, training, encoded=not known)
        whole = known or training is not None
        parts = split_rows(len(y), self.folds, units, seed, whole=whole)
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
            Fold(rows, fitted.pairs(y[rows], a[rows]), units_by_size(rows, units))
            for rows, fitted in zip(parts, fits, strict=True)
        ]
        name = density.name if known else f"{density.name}, {how}"
        sampler = ConditionalPermutation(folds, steps, seed)
        return FittedCopies(sampler, name, scores, joined_pit(folds, len(y)))
