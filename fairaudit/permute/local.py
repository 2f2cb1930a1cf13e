"""Local permutation: attributes move among people whose outcomes are neighbors.

Kim, Neykov, Balakrishnan and Wasserman (2022), Local permutation tests for conditional
independence, Annals of Statistics 50(6). Nothing is fitted to the law of the attributes. Blocks
are drawn once; data and copies are exchangeable given the blocks as far as rows of a block are,
that is, as far as their outcomes are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.errors import InputError
from fairaudit.geometry.outcome_smoother import OutcomeSmoother
from fairaudit.permute.copies import CopyLaw, CopySampler, FittedCopies, stream
from fairaudit.permute.folds import encode_table

__all__ = ["Local", "NearOutcome"]

SMALLEST, LARGEST = 2, 16
_WINDOWS_PER_BLOCK = 4  # the narrowest window of an attribute holds so many blocks on each side
MANY_PEOPLE = 10_000  # from here on blocks shift in groups
_GROUPS = 512
_WIDEST = 3.0  # medians of the blocks' widths: rows of wider blocks exchange with fewer others


@dataclass(frozen=True, slots=True)
class Local:
    """Settings of local permutation.

    Parameters
    ----------
    size : int, optional
        Rows of a block. By default as many as the attributes allow: a quarter of the rows on each
        side over which, by leave-one-out error, their means run along lines; 2 to 16.
    shared : bool, optional
        Whether blocks shift in groups; by default where there are more than 10,000 people.
    """

    size: int | None = None
    shared: bool | None = None

    name = "local"

    def __post_init__(self) -> None:
        if self.size is not None and self.size < SMALLEST:
            raise InputError(f"The 'size' of blocks must be at least 2. Got {self.size}.")

    def prepare(
        self,
        outcome: Column,
        attributes: Sequence[Column],
        *,
        steps: int | None = None,
        seed: int,
        units: Index | None = None,
        training: tuple[Column, Sequence[Column]] | None = None,
        strata: Index | None = None,
        prediction: Array | None = None,
    ) -> FittedCopies:
        """Form the blocks and return the sampler; other arguments are for other laws."""
        if outcome.kind.is_categorical or outcome.numeric is None:
            raise InputError(
                "The law 'local' is for a continuous outcome. Classes have the law 'exact'.",
                argument="law",
            )
        y, a, _, _ = encode_table(outcome, attributes)
        size = self.size or _choose_size(y, a)
        people = _People(y, units, strata, stream(seed, 8))
        shared = len(people.size) > MANY_PEOPLE if self.shared is None else self.shared
        sampler = NearOutcome(people, size, seed, shared=shared)
        words = f"local (blocks of {size} neighbors in the outcome)"
        return FittedCopies(sampler, CopyLaw("local", words))


def _choose_size(y: Array, a: Array) -> int:
    """Bias against power: blocks are small beside the stretch where attributes run straight."""
    narrowest = int(OutcomeSmoother(y).fit(lambda rows: a[rows]).windows.min())
    size = 1 << int(np.log2(max(1, narrowest // _WINDOWS_PER_BLOCK)))
    return min(max(size, SMALLEST), LARGEST)


class _People:
    """Rows that move together, in the order in which they are neighbors.

    Attributes
    ----------
    rows : int array
        All rows, person by person; those of a person by outcome.
    first, size : int array
        Where a person's rows begin, and how many there are.
    outcome : array
        The mean of each person.
    run : int array
        People of different runs (strata, numbers of rows) do not exchange.
    """

    def __init__(
        self, y: Array, units: Index | None, strata: Index | None, rng: np.random.Generator
    ) -> None:
        n = len(y)
        unit = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1]
        count = int(unit.max()) + 1
        size = np.bincount(unit)
        mean = np.bincount(unit, y) / size
        stratum = np.zeros(count, dtype=np.intp)
        if strata is not None:
            stratum[unit] = strata
        order = np.lexsort((rng.random(count), mean, size, stratum))
        place = np.empty(count, dtype=np.intp)
        place[order] = np.arange(count)
        self.rows = np.lexsort((y, place[unit]))
        self.size, self.outcome = size[order], mean[order]
        self.first = np.cumsum(self.size) - self.size
        change = np.diff(stratum[order], prepend=-1) + np.abs(np.diff(self.size, prepend=0))
        self.run = np.cumsum(change != 0) - 1


class NearOutcome(CopySampler):
    """Within every block, people shift by a number of places that is drawn for each copy.

    Shifts in a circle, in an order within the block that is drawn once, are a group that takes
    everybody to every place equally often: as valid as all permutations of the block, and quicker.
    Of very many people, some hundred blocks shift by the same number of places, which is a smaller
    group with the same property. What copies do to sums over rows is then known from what each of
    at most 16 shifts does to each of about 500 groups of blocks (`list_groups`).

    Attributes
    ----------
    size : int
        People of a block, at most; ties aside.
    group : int array
        Of every block.
    turns : int array
        Per group the number of different shifts, which is the size of its blocks.
    shared : bool
        Whether groups have several blocks.
    """

    within_outcome = False
    near_outcome = True
    size: int

    def __init__(self, people: _People, size: int, seed: int, *, shared: bool) -> None:
        self.n, self.seed, self.size, self.shared = len(people.rows), seed, size, shared
        block = _form_blocks(people, size, stream(seed, 9), split_ties=self.shared)
        shuffled = np.lexsort((stream(seed, 10).random(len(block)), block))
        self.of_place = block[shuffled]
        self.count = np.bincount(block)
        self.first = np.cumsum(self.count) - self.count
        self.start = self.first[self.of_place]
        self.place = np.arange(len(block)) - self.start
        self.people, self.shuffled = people, shuffled
        self.group = np.arange(len(self.count))
        if self.shared:
            self.group = _group_blocks(self.count, people.size[self.first])
        self.turns = np.zeros(int(self.group.max()) + 1, dtype=np.intp)
        self.turns[self.group] = self.count

    def draw_shifts(self, copy: int) -> Index:
        """How far the blocks of each group shift."""
        drawn = stream(self.seed, 1, copy).random(len(self.turns))
        return np.minimum((drawn * self.turns).astype(np.intp), self.turns - 1)

    def list_groups(self) -> list[Index]:
        """Rows of each group: blocks × places × rows of a person.

        Shifted by s, outcomes at place k have the attributes at place k + s, in a circle.
        """
        people = self.people
        by_group = np.argsort(self.group, kind="stable")
        groups = []
        for blocks in np.split(by_group, np.cumsum(np.bincount(self.group))[:-1]):
            places = self.first[blocks, None] + np.arange(self.count[blocks[0]])
            persons = self.shuffled[places]
            own = np.arange(people.size[persons[0, 0]])
            groups.append(people.rows[people.first[persons][..., None] + own])
        return groups

    def block(self, copies: range) -> Index:
        result = np.empty((len(copies), self.n), dtype=np.intp)
        people, several = self.people, self.people.size.max(initial=1) > 1
        own = np.arange(len(people.rows))
        for number, copy in enumerate(copies):
            shift = self.draw_shifts(copy)[self.group]
            place = self.place + shift[self.of_place]
            around = self.count[self.of_place]
            place -= around * (place >= around)
            partner = np.empty_like(place)
            partner[self.shuffled] = self.shuffled[self.start + place]
            moved = partner
            if several:  # all rows of a person move, the first to the first
                moved = own + np.repeat(people.first[partner] - people.first, people.size)
            result[number, people.rows] = people.rows[moved]
        return result

    @property
    def movable(self) -> float:
        """Share of the rows that have somebody to change places with."""
        several = self.count[self.of_place] > 1
        return float(self.people.size[self.shuffled][several].sum() / self.n)


def _group_blocks(count: Index, rows: Index) -> Index:
    """About `_GROUPS` groups of blocks of as many people, each of whom has as many rows."""
    order = np.lexsort((np.arange(len(count)), count, rows))
    kind = np.cumsum(
        (np.diff(count[order], prepend=0) != 0) | (np.diff(rows[order], prepend=0) != 0)
    )
    place = np.arange(len(order)) - np.searchsorted(kind, kind)
    part = place // (1 + len(order) // _GROUPS)
    group = np.empty(len(order), dtype=np.intp)
    group[order] = np.cumsum((np.diff(kind, prepend=0) != 0) | (np.diff(part, prepend=0) != 0)) - 1
    return group


def _form_blocks(
    people: _People, size: int, rng: np.random.Generator, *, split_ties: bool
) -> Index:
    """The block of every person: equal outcomes, or `size` neighbors, fewer where they are far.

    People of equal outcomes, which are in random order, are one block, or several of 16.
    """
    y, run = people.outcome, people.run
    tie = np.cumsum((np.diff(y, prepend=np.nan) != 0) | (np.diff(run, prepend=-1) != 0)) - 1
    large = np.bincount(tie)[tie] >= size
    segment = np.cumsum(
        (np.diff(run, prepend=-1) != 0)
        | (np.diff(large, prepend=False) != 0)
        | (large & (np.diff(tie, prepend=-1) != 0))
    )
    first = np.searchsorted(segment, segment)
    place = np.arange(len(y)) - first
    block = np.where(large, place // LARGEST * split_ties, (place + rng.integers(size)) // size)
    block = np.cumsum((np.diff(segment, prepend=-1) != 0) | (np.diff(block, prepend=-1) != 0)) - 1
    widest = _WIDEST * _median_width(y, block, large)
    while (wide := _find_widths(y, block) > widest).any():
        start = _find_starts(block)
        half = (np.arange(len(y)) - start[block]) * 2 >= np.bincount(block)[block]
        new = 2 * block + (half & wide[block])
        block = np.cumsum(np.diff(new, prepend=-1) != 0) - 1
    return block


def _find_starts(block: Index) -> Index:
    return np.flatnonzero(np.diff(block, prepend=-1))


def _find_widths(y: Array, block: Index) -> Array:
    start = _find_starts(block)
    end = np.append(start[1:], len(y)) - 1
    return np.asarray(y[end] - y[start])


def _median_width(y: Array, block: Index, large: NDArray[np.bool_]) -> float:
    """Of blocks of neighbors; infinite where there are none."""
    start = _find_starts(block)
    widths = _find_widths(y, block)[~large[start]]
    widths = widths[widths > 0]
    return float(np.median(widths)) if len(widths) else np.inf
