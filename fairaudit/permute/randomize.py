"""Conditional randomization: attributes drawn anew from q(a|y), not rearranged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.density.inverse import inverse_named
from fairaudit.errors import InputError
from fairaudit.permute.copies import CopyLaw, FittedCopies, stream
from fairaudit.permute.folds import encode_table, split_rows
from fairaudit.permute.within import WithinOutcome

__all__ = ["ConditionalRandomization", "Resampled", "ResampledWithinOutcome"]


class ResampledWithinOutcome(WithinOutcome):
    """Rows (or whole units) drawn with replacement within each outcome class.

    Draws from the empirical q(a|y) of the table itself. The copies are no permutations: counts
    change from copy to copy, and validity is asymptotic where `WithinOutcome` is exact.
    """

    within_outcome = False

    def block(self, copies: range) -> Index:
        result = np.empty((len(copies), self.n), dtype=np.intp)
        for place, copy in enumerate(copies):
            rng = stream(self.seed, 1, copy)
            for members in self.strata:
                result[place, members] = members[rng.integers(len(members), size=len(members))]
        return result


@dataclass(frozen=True, slots=True)
class ConditionalRandomization:
    """Settings of conditional randomization, as FDL (Romano et al. 2020) uses it.

    Parameters
    ----------
    density : str or density
        q(a|y), as for `fairaudit.permute.cp.CP`.
    folds : int
        Cross-fitting, as for CP.

    Examples
    --------
    >>> from fairaudit.data.columns import columns_from
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=60)
    >>> outcome, = columns_from(y, argument="y_true", outcome=True)
    >>> attributes = columns_from(y[:, None] + rng.normal(size=(60, 2)), argument="sensitive")
    >>> ConditionalRandomization().fit(outcome, attributes, seed=0).draw(3).shape
    (60, 2)
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
        """Copies as rows, for a categorical outcome; the arguments are those of `ICP.prepare`."""
        if not outcome.kind.is_categorical or self.density not in ("auto", "frequencies"):
            raise InputError(
                "Conditional randomization gives rows of the table only for a categorical outcome "
                "with density='frequencies'. Choose another law for this outcome; for new "
                "attributes use fit(...).draw(number)."
            )
        sampler = ResampledWithinOutcome(outcome.codes, seed, units)
        return FittedCopies(sampler, CopyLaw("resampled", "rows resampled within classes"))

    def fit(
        self,
        outcome: Column,
        attributes: Sequence[Column],
        *,
        seed: int,
        training: tuple[Column, Sequence[Column]] | None = None,
    ) -> Resampled:
        """Fit q(a|y), fold by fold unless there is a training table."""
        density = inverse_named(self.density, categorical=outcome.kind.is_categorical)
        y, a, train_y, train_a = encode_table(outcome, attributes, training)
        fit_seed = int(stream(seed, 4).integers(2**31))
        parts = split_rows(len(y), self.folds, None, seed, whole=training is not None)
        fits = []
        for rows in parts:
            others = np.setdiff1d(np.arange(len(y)), rows) if len(parts) > 1 else rows
            source = (train_y, train_a) if training is not None else (y[others], a[others])
            fits.append(density.fit(*source, fit_seed))
        return Resampled(y=y, width=a.shape[1], parts=parts, fits=fits, seed=seed)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Resampled:
    """Fitted conditional randomization: draws encoded attributes for the rows of a table."""

    y: Array
    width: int
    parts: list[Index]
    fits: list[Any]
    seed: int

    def draw(self, number: int) -> Array:
        """Copy of this number, n × d; the same number gives the same copy."""
        rng = stream(self.seed, 1, number)
        attributes = np.empty((len(self.y), self.width))
        for rows, fitted in zip(self.parts, self.fits, strict=True):
            attributes[rows] = fitted.sample(self.y[rows], rng)
        return attributes
