"""Pairs of rows near in the outcome, the lower one with the larger prediction if models are unfair.

Who is paired with whom depends on outcome, attributes and what was learnt on other rows, never on
the predictions of the rows that are paired: that is what the law `monotone` rests on. O(n log n)
time and O(n) memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["match_rows"]

#: Lower rows, upper rows → what pairing them is worth; at least 0.
Gain = Callable[[Index, Index], Array]

_BLOCK = 16
_SWEEPS = 3
_CHUNK = 1 << 12  # blocks of rows that are matched at once


def match_rows(
    outcome: Array,
    rows: Index,
    gain: Gain,
    *,
    rng: np.random.Generator,
    strata: Index | None = None,
    block: int = _BLOCK,
) -> Index:
    """Disjoint pairs of `rows` (pairs × 2), the row with the lower outcome first.

    Rows are sorted by the outcome, cut into blocks of `block` neighbors, and paired within a block
    such that the gain is large in total: starting from neighbors, two pairs exchange partners where
    that helps, in three sweeps. `block=2` pairs neighbors. Rows of different `strata` are not
    paired. Ties in the outcome are put in random order, because the order of the rows in the table
    may know the prediction; of two tied rows the one comes first that gains more. An odd row is
    left out.
    """
    if len(rows) < 2:
        return np.empty((0, 2), dtype=np.intp)
    group = np.zeros(len(rows), dtype=np.intp) if strata is None else strata[rows]
    order = np.lexsort((rng.random(len(rows)), outcome[rows], group))
    starts = np.flatnonzero(np.diff(group[order]) != 0) + 1
    by_size: dict[int, list[Index]] = {}
    for part in np.split(rows[order], starts):
        whole = len(part) // block * block
        by_size.setdefault(block, []).append(part[:whole])
        rest = (len(part) - whole) // 2 * 2
        by_size.setdefault(rest, []).append(part[whole : whole + rest])
    pairs = [np.empty((0, 2), dtype=np.intp)]
    for size, parts in sorted(by_size.items()):
        blocks = np.concatenate(parts).reshape(-1, size) if size else np.empty((0, 2), np.intp)
        for start in range(0, len(blocks), _CHUNK):
            pairs.append(_match_blocks(blocks[start : start + _CHUNK], gain, outcome))
    low, high = np.concatenate(pairs).T
    turned = (outcome[low] == outcome[high]) & (gain(high, low) > gain(low, high))
    return np.column_stack([np.where(turned, high, low), np.where(turned, low, high)])


def _match_blocks(blocks: Index, gain: Gain, outcome: Array) -> Index:
    """Pairs within every row of `blocks`, whose entries are in the order of the outcome."""
    count, size = blocks.shape
    place = np.tile(np.arange(size), (count, 1))
    if size > 2:
        low, high = np.triu_indices(size, 1)
        worth = np.zeros((count, size, size))
        lower, upper = blocks[:, low], blocks[:, high]
        turned = np.where(outcome[lower] == outcome[upper], gain(upper, lower), 0.0)
        worth[:, low, high] = np.maximum(gain(lower, upper), turned)
        worth += worth.transpose(0, 2, 1)
        for _ in range(_SWEEPS):
            for first in range(0, size, 2):
                for second in range(first + 2, size, 2):
                    _exchange(place, worth, first, (second, second + 1))
                    _exchange(place, worth, first, (second + 1, second))
    ordered = np.sort(place.reshape(count, -1, 2), axis=2)  # the lower outcome first
    return np.take_along_axis(blocks[:, None, :], ordered, axis=2).reshape(-1, 2)


def _exchange(place: Index, worth: Array, first: int, others: tuple[int, int]) -> None:
    """Give `first` the first of `others` as partner, and its own partner to the second of them.

    In the blocks where that is worth more.
    """
    taken, left = others
    every = np.arange(len(place))
    a, b, c, d = (place[:, at] for at in (first, first + 1, taken, left))
    now = worth[every, a, b] + worth[every, c, d]
    better = worth[every, a, c] + worth[every, b, d] > now + 1e-12
    place[better, first + 1], place[better, taken] = c[better], b[better]
