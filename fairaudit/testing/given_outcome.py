"""What the outcome explains of columns, and functions along it: for classes and for numbers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.geometry.outcome_smoother import OutcomeSmoother
from fairaudit.geometry.ranks_and_moments import rank_values

__all__ = [
    "GivenNumbers",
    "GivenOutcome",
    "Scale",
    "look_at_numbers",
    "look_at_outcome",
    "standardize",
]

_DEGREES = 3  # of polynomials in the rank of the outcome, along which an effect may change
_FARTHEST = 3.0  # standard deviations of the outcome that the basis sees


class GivenOutcome(Protocol):
    """The outcome as what is conditioned on.

    Attributes
    ----------
    along : array
        Functions of the outcome, of mean square 1, along which an effect may change; no column
        where the outcome has one value.
    basis : array
        Orthonormal functions of the outcome (their squares add up to 1) that explain most of what
        it can explain of the attributes.
    """

    along: Array
    basis: Array

    def remove(self, columns: Array) -> Array:
        """The columns without what the outcome explains of them."""
        ...

    def find_stretches(self, count: int) -> Index:
        """The class of every row, or its place among `count` stretches of about equal size."""
        ...


def look_at_outcome(outcome: Column) -> GivenOutcome:
    """By class means, or by local lines along a continuous outcome."""
    if outcome.kind.is_categorical:
        return _Classes(outcome)
    return look_at_numbers(outcome)


def look_at_numbers(outcome: Column) -> GivenNumbers:
    """By local lines along a continuous outcome."""
    return GivenNumbers(encode((outcome,))[:, 0])


class _Classes:
    def __init__(self, outcome: Column) -> None:
        present, self.codes = np.unique(outcome.codes, return_inverse=True)
        self.counts = np.bincount(self.codes).astype(np.float64)
        members = np.eye(len(present))[self.codes]
        share = self.counts / len(self.codes)
        self.along = members / np.sqrt(share) if len(present) > 1 else members[:, :0]
        self.basis = members / np.sqrt(self.counts)

    def remove(self, columns: Array) -> Array:
        if not columns.shape[1]:  # the outcome explains all of the prediction
            return columns
        sums = np.column_stack([np.bincount(self.codes, column) for column in columns.T])
        return columns - (sums / self.counts[:, None])[self.codes]

    def find_stretches(self, count: int) -> Index:
        return np.asarray(self.codes)


class GivenNumbers:
    """A continuous outcome as what is conditioned on."""

    def __init__(self, outcome: Array) -> None:
        self.smoother = OutcomeSmoother(outcome)
        legendre = np.polynomial.legendre
        self.place = place = 2 * (rank_values(outcome) - 0.5) / len(outcome) - 1
        scale = np.sqrt(2 * np.arange(_DEGREES + 1) + 1)
        functions = legendre.legvander(place, _DEGREES) * scale
        self.along = np.asarray(functions, dtype=np.float64)[:, 1:]
        within = np.clip(outcome, -_FARTHEST, _FARTHEST) / _FARTHEST
        self.basis = np.linalg.qr(legendre.legvander(within, _DEGREES))[0]

    def remove(self, columns: Array) -> Array:
        return self.smoother.remove(columns).residuals

    def find_stretches(self, count: int) -> Index:
        return np.minimum((self.place + 1) / 2 * count, count - 1).astype(np.intp)


class Scale:
    """Mean 0 and variance 1 on some rows, and the same for others.

    Columns that do not vary are left out. Rows may stand for several (`times`).
    """

    def __init__(self, columns: Array, times: Index | None = None) -> None:
        if times is None:
            mean, spread = columns.mean(axis=0), columns.std(axis=0)
        else:
            mean = np.average(columns, axis=0, weights=times)
            spread = np.sqrt(np.average((columns - mean) ** 2, axis=0, weights=times))
        self.varying = spread > 1e-12
        self.mean, self.spread = mean[self.varying], spread[self.varying]

    def __call__(self, columns: Array) -> Array:
        return np.asarray((columns[:, self.varying] - self.mean) / self.spread)


def standardize(columns: Array) -> Array:
    """Mean 0 and variance 1; columns that do not vary are left out."""
    return Scale(columns)(columns)
