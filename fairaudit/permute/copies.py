"""Conditional copies of the attributes, or of the prediction, as blocks of row indices.

A copy is an array `rows` of length n: outcome row k gets the attributes of row `rows[k]`, or its
prediction, as the sampler's `moves` says. Every copy has its own random stream, keyed by its
number, so that copies do not depend on how they are batched or on which process draws them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column

__all__ = [
    "EXACT",
    "Copies",
    "CopyLaw",
    "CopySampler",
    "FittedCopies",
    "LimitedSampler",
    "gathered",
    "make_fitted_law",
    "remember",
    "stream",
]


_REMEMBERED = 199  # copies
_MOST_REMEMBERED = 1 << 24  # numbers of rows


def stream(seed: int, *key: int) -> np.random.Generator:
    """The random generator of one named purpose: independent for different keys."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def gathered(copies: Index, values: Array) -> Array:
    """Row r: the sum of values[k] over the outcome rows k that have the attributes of row r.

    Σ_k values[k] f(Ã_k) is then Σ_r gathered[r] f(A_r): features of A need not be moved. Copies ×
    rows give copies × columns × rows.
    """
    count, n = copies.shape
    rows, place = np.arange(n), np.empty(n, dtype=np.intp)
    columns, moved = np.ascontiguousarray(values.T), np.empty((count, values.shape[1], n))
    for number, copy in enumerate(copies):
        place[copy] = rows
        if not np.array_equal(place[copy], rows):  # some attributes occur twice
            return _add_up(copies, values)
        np.take(columns, place, axis=1, out=moved[number], mode="clip")
    return moved


def _add_up(copies: Index, values: Array) -> Array:
    """`gathered` of copies that are no permutations."""
    count, n = copies.shape
    places = (copies + n * np.arange(count)[:, None]).ravel()
    moved = np.empty((count, values.shape[1], n))
    for k, column in enumerate(values.T):
        moved[:, k] = np.bincount(places, np.tile(column, count), count * n).reshape(count, n)
    return moved


class CopySampler(ABC):
    """Draws conditional copies.

    Attributes
    ----------
    n : int
        Rows.
    within_outcome : bool
        Every copy keeps each outcome value's own attributes: (Y, Ã) is a reordering of (Y, A).
    near_outcome : bool
        Attributes are exchanged between neighbors in the outcome only.
    moves : {"attributes", "prediction"}
        What a copy gives to the outcomes; the other one stays with its row.
    steps : int
        Pairings between data and hub, and between hub and copy; 0 where there is no hub.
    """

    n: int
    within_outcome: bool
    near_outcome = False
    moves: str = "attributes"
    steps: int = 0

    @abstractmethod
    def block(self, copies: range) -> Index:
        """The copies of these numbers, one per row (len(copies) × n)."""

    def local(self, block: Index) -> Index:
        """What this sampler shows of a block drawn by the one it looks at: all of it."""
        return block

    def blocks(self, count: int, batch: int) -> Iterator[tuple[range, Index]]:
        """All copies 0 … count − 1 in blocks of at most `batch`."""
        for start in range(0, count, batch):
            numbers = range(start, min(start + batch, count))
            yield numbers, self.block(numbers)


class LimitedSampler(CopySampler):
    """Another sampler's copies on some of its rows, which exchange among themselves only."""

    def __init__(self, whole: CopySampler, rows: Index) -> None:
        self.whole, self.rows = whole, rows
        self.n = len(rows)
        self.within_outcome, self.near_outcome = whole.within_outcome, whole.near_outcome
        self.moves, self.steps = whole.moves, whole.steps
        self.place = np.full(whole.n, -1, dtype=np.intp)
        self.place[rows] = np.arange(self.n)

    def block(self, copies: range) -> Index:
        return self.local(self.whole.block(copies))

    def local(self, block: Index) -> Index:
        return self.place[block[:, self.rows]]


class RememberedSampler(CopySampler):
    """Another sampler's copies, of which the first are drawn once."""

    def __init__(self, whole: CopySampler, count: int) -> None:
        self.whole, self.n = whole, whole.n
        self.within_outcome, self.near_outcome = whole.within_outcome, whole.near_outcome
        self.moves, self.steps = whole.moves, whole.steps
        self.drawn = whole.block(range(count)).astype(np.int32)

    def block(self, copies: range) -> Index:
        if copies.stop > len(self.drawn):
            return self.whole.block(copies)
        return self.drawn[copies.start : copies.stop].astype(np.intp)


@dataclass(frozen=True, slots=True)
class CopyLaw:
    """The conditional law behind copies.

    Attributes
    ----------
    kind : {"exact", "resampled", "known", "fitted", "local", "prediction", "monotone"}
        Exact copies permute rows of equal outcome, local ones rows of neighboring outcomes;
        others rest on a density that was given (known) or estimated (fitted; of the outcome given
        the prediction: prediction), or draw rows of equal outcome with replacement. Monotone ones
        swap predictions within pairs.
    words : str
        The same for people.
    family : str
        Of a fitted density.
    fit : str
        On which rows it was fitted: ``"cross-fitted"``, ``"in sample"``, ``"given table"`` or
        ``"held-out sample"``.
    """

    kind: str
    words: str
    family: str = ""
    fit: str = ""

    @property
    def estimated(self) -> bool:
        """Whether the copies are only as good as a density that was fitted."""
        return self.kind in ("fitted", "prediction")


EXACT = CopyLaw("exact", "exact (within classes)")


def make_fitted_law(family: str, *, folds: int, given: bool) -> CopyLaw:
    """The law of a density of this family, fitted fold by fold or on a `given` table."""
    fit, how = "in sample", "fitted in sample"
    if given:
        fit, how = "given table", "fitted on the given table"
    elif folds > 1:
        fit, how = "cross-fitted", f"cross-fitted in {folds} folds"
    return CopyLaw("fitted", f"{family}, {how}", family, fit)


@dataclass(frozen=True, slots=True)
class FittedCopies:
    """A sampler and how it came about.

    Attributes
    ----------
    sampler : CopySampler
    law : CopyLaw
    scores : dict
        For ``"auto"``: the mean held-out log-likelihood of every family it tried.
    pit : array or None
        Probability integral transforms of all rows under the density that permutes them.
    reason : str
        Why this law was chosen, where another comes first.
    witness : FittedCopies, optional
        Copies by another law, for a second opinion.
    assumption : float or None
        p-value of what the law assumes of (Yhat, Y), where it assumes something.
    """

    sampler: CopySampler
    law: CopyLaw
    scores: dict[str, float] = field(default_factory=dict)
    pit: Array | None = None
    reason: str = ""
    witness: FittedCopies | None = None
    assumption: float | None = None

    @property
    def density(self) -> str:
        """What was fitted, in words."""
        return self.law.words

    def limited_to(self, rows: Index) -> FittedCopies:
        """The same copies on some rows; the density is judged on all rows as before."""
        return replace(self, sampler=LimitedSampler(self.sampler, rows))


def remember(fitted: FittedCopies) -> FittedCopies:
    """The same copies; the first of them are kept where they take little room."""
    if fitted.sampler.n * _REMEMBERED > _MOST_REMEMBERED:
        return fitted
    return replace(fitted, sampler=RememberedSampler(fitted.sampler, _REMEMBERED))


class Copies(Protocol):
    """A law of copies: ICP, CP, conditional randomization, local permutation, prediction side."""

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

        `prediction` (n × columns) is for laws that move the prediction; others do not look at it.
        """
        ...
