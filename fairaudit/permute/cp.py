"""Conditional permutation (CP) of Berrett et al.: ICP's rival, weighted by q(a|y)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.density.inverse import inverse_named
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.copies import FittedCopies, make_fitted_law, stream
from fairaudit.permute.folds import encode_table, group_units, split_by_stratum, split_rows

__all__ = ["CP"]


@dataclass(frozen=True, slots=True)
class CP:
    """Settings of conditional permutation.

    Parameters
    ----------
    density : str or density
        q(a|y): ``"auto"`` (``"frequencies"`` for a categorical outcome, ``"glasso"`` for a
        continuous one), ``"empirical"``, ``"maf"``, or an object of `fairaudit.density.inverse`.
    folds : int
        Cross-fitting: the density of each fold is fitted on the others. 1 fits in sample.

    Notes
    -----
    Permutations have probability ∝ ∏ q(A_{π(i)} | Y_i). With the true densities this is the law
    of ICP; with estimated ones the density of many attributes is the harder one.

    References
    ----------
    Berrett, Wang, Barber, Samworth (2020). The conditional permutation test. JRSS B 82(1).

    Examples
    --------
    >>> from fairaudit.data.columns import columns_from
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=60)
    >>> outcome, = columns_from(y, argument="y_true", outcome=True)
    >>> attributes = columns_from(y[:, None] + rng.normal(size=(60, 2)), argument="sensitive")
    >>> copies = CP().prepare(outcome, attributes, steps=20, seed=0)
    >>> copies.density
    'gaussian attributes (glasso), cross-fitted in 5 folds'
    >>> copies.sampler.block(range(3)).shape
    (3, 60)
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
        """Fit q(a|y) and return the sampler; the arguments are those of `ICP.prepare`."""
        density = inverse_named(self.density, categorical=outcome.kind.is_categorical)
        y, a, train_y, train_a = encode_table(outcome, attributes, training)
        fit_seed = int(stream(seed, 4).integers(2**31))
        parts = split_rows(len(y), self.folds, units, seed, whole=training is not None)
        folds = []
        for rows in parts:
            if training is not None:
                fitted = density.fit(train_y, train_a, fit_seed)
            else:
                others = np.setdiff1d(np.arange(len(y)), rows) if len(parts) > 1 else rows
                fitted = density.fit(y[others], a[others], fit_seed)
            folds += [
                Fold(some, fitted.pairs(y[some], a[some]), group_units(some, units))
                for some in split_by_stratum(rows, strata)
            ]
        sampler = ConditionalPermutation(folds, steps, seed, inverse=False)
        law = make_fitted_law(density.name, folds=len(parts), given=training is not None)
        return FittedCopies(sampler, law)
