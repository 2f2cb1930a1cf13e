"""The pairwise sampler: random pairs of rows exchange their outcomes with the right odds.

Exchangeable copies for any number of steps (Berrett et al. 2020): walk the pairings backwards from
the data to a hub, then forwards from the hub independently for every copy. The pairings are shared
by all copies, so that one step over a block of copies is one vectorized expression; given the
pairings each step is reversible, hence data and copies are exchangeable given the hub.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.density.conditional_density import PairDensity
from fairaudit.permute.copies import CopySampler, stream

State = NDArray[Any]  # int32: outcome rows by attribute row, one column per copy

_STEPS_AT_ONCE = 10  # for which random numbers are held

__all__ = ["ConditionalPermutation", "Fold"]


class Fold:
    """Rows that are permuted among themselves under one density.

    Parameters
    ----------
    rows : int array
        Their numbers in the table.
    pairs : PairDensity
        Bound to these rows, in this order.
    units : list of int arrays, optional
        Units by size: each array is units × rows (local numbers) that move together.
    """

    def __init__(self, rows: Index, pairs: PairDensity, units: list[Index] | None = None) -> None:
        self.rows = rows
        self.pairs = pairs
        self.units = units

    def pairing(self, rng: np.random.Generator) -> tuple[Index, Index, int]:
        """Disjoint random pairs: rows i against rows j, and how many rows make a unit."""
        if self.units is None:
            order = rng.permutation(len(self.rows))
            half = len(order) // 2
            return order[:half], order[half : 2 * half], 1
        weights = [members.size * (len(members) > 1) for members in self.units]
        if sum(weights) == 0:
            empty = np.empty(0, dtype=np.intp)
            return empty, empty, 1
        kind = rng.choice(len(self.units), p=np.array(weights) / sum(weights))
        members = self.units[kind]
        order = rng.permutation(len(members))
        half = len(order) // 2
        return (
            members[order[:half]].ravel(),
            members[order[half : 2 * half]].ravel(),
            members.shape[1],
        )

    def step(self, state: State, i: Index, j: Index, size: int, uniform: Array) -> None:
        """Exchange outcomes between the paired rows, in place, with their conditional odds.

        `state` has one column per copy; `uniform` one row per pair and one column per copy.
        """
        at_i, at_j = state[i], state[j]
        odds = self.pairs.swap_log_odds(i[:, None], j[:, None], at_i, at_j)
        if size > 1:
            odds = odds.reshape(-1, size, state.shape[1]).sum(axis=1)
        # swap with probability 1 / (1 + exp(-odds)): where uniform · (1 + exp(-odds)) < 1
        np.negative(odds, out=odds)
        np.minimum(odds, 700.0, out=odds)
        np.exp(odds, out=odds)
        odds += 1.0
        odds *= uniform
        swap = odds < 1.0
        if size > 1:
            swap = np.repeat(swap, size, axis=0)
        change = at_j - at_i
        change *= swap
        at_i += change
        at_j -= change
        state[i], state[j] = at_i, at_j


class ConditionalPermutation(CopySampler):
    """Copies by the pairwise sampler, fold by fold.

    Parameters
    ----------
    folds : list of Fold
        Together they hold every row once.
    steps : int
        Pairings between the data and the hub, and between the hub and each copy.
    seed : int
    inverse : bool
        True for ICP: the walk gives outcomes to attribute rows and is inverted at the end.
        False for CP: `pairs` is q(a|y) with the roles exchanged, and the walk gives attributes to
        outcome rows.
    """

    within_outcome = False

    def __init__(self, folds: list[Fold], steps: int, seed: int, *, inverse: bool = True) -> None:
        self.folds = folds
        self.n = sum(len(fold.rows) for fold in folds)
        self.seed = seed
        self.inverse = inverse
        self.pairings = []
        self.hubs = []
        for number, fold in enumerate(folds):
            rng = stream(seed, 0, number)
            pairings = [fold.pairing(rng) for _ in range(steps)]
            state = np.arange(len(fold.rows), dtype=np.int32)[:, None].copy()
            for i, j, size in reversed(pairings):
                fold.step(state, i, j, size, rng.random((len(i) // size, 1)))
            self.pairings.append(pairings)
            self.hubs.append(state[:, 0])

    def block(self, copies: range) -> Index:
        streams = [stream(self.seed, 1, copy) for copy in copies]
        result = np.empty((len(copies), self.n), dtype=np.intp)
        for fold, pairings, hub in zip(self.folds, self.pairings, self.hubs, strict=True):
            state = np.tile(hub[:, None], (1, len(copies)))
            for first in range(0, len(pairings), _STEPS_AT_ONCE):
                some = pairings[first : first + _STEPS_AT_ONCE]
                ends = np.cumsum([0, *(len(i) // size for i, _, size in some)])
                uniform = np.empty((len(copies), ends[-1]))
                for place, rng in enumerate(streams):
                    rng.random(out=uniform[place])
                for (i, j, size), at, end in zip(some, ends, ends[1:], strict=False):
                    fold.step(state, i, j, size, np.ascontiguousarray(uniform[:, at:end].T))
            local = _invert_columns(state) if self.inverse else state
            result[:, fold.rows] = fold.rows[local.T]
        return result


def _invert_columns(state: State) -> State:
    """The inverse permutation of every column."""
    inverse = np.empty_like(state)
    np.put_along_axis(inverse, state, np.arange(len(state))[:, None], axis=0)
    return inverse
