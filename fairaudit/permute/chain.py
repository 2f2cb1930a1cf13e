"""The pairwise sampler: random pairs of rows exchange their outcomes with the right odds.

Exchangeable copies for any number of steps (Berrett et al. 2020): walk the pairings backwards from
the data to a hub, then forwards from the hub independently for every copy. The pairings are shared
by all copies, so that one step over a block of copies is one vectorized expression; given the
pairings each step is reversible, hence data and copies are exchangeable given the hub.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fairaudit._types import Array, Index
from fairaudit.density.conditional_density import PairDensity
from fairaudit.permute.copies import CopySampler, stream

_STEPS_AT_ONCE = 10  # for which random numbers are held
_MOST_STEPS = 50
_EXCHANGES = 5  # that a row should make on its way to the hub, and again on the way to a copy
_TRIAL_PAIRINGS = 4

__all__ = ["ConditionalPermutation", "Fold", "Pairing", "count_steps"]


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """Disjoint pairs: order[k] against order[half + k] for k < half; the others stay.

    `size` consecutive rows make a unit, which moves as a whole.
    """

    order: Index
    half: int
    size: int = 1

    @property
    def draws(self) -> int:
        """Random numbers that a step takes."""
        return self.half // self.size


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

    def pairing(self, rng: np.random.Generator) -> Pairing:
        """Disjoint random pairs."""
        n = len(self.rows)
        if self.units is None:
            return Pairing(rng.permutation(n), n // 2)
        weights = [members.size * (len(members) > 1) for members in self.units]
        if sum(weights) == 0:
            return Pairing(np.arange(n), 0)
        kind = rng.choice(len(self.units), p=np.array(weights) / sum(weights))
        members = self.units[kind]
        order = members[rng.permutation(len(members))].ravel()
        size = members.shape[1]
        others = np.setdiff1d(np.arange(n), order)
        return Pairing(np.concatenate([order, others]), len(members) // 2 * size, size)

    def walk(self, state: Index, pairings: Sequence[Pairing], uniforms: Sequence[Array]) -> Index:
        """One step for every pairing.

        `state` holds the outcome row of every attribute row, one line per copy; `uniforms` one
        column per unit pair and one line per copy.
        """
        place = np.arange(len(self.rows))  # where in the state each attribute row stands
        state, other = state.copy(), np.empty_like(state)
        for pairing, uniform in zip(pairings, uniforms, strict=True):
            np.take(state, place[pairing.order], axis=1, out=other, mode="clip")
            place[pairing.order] = np.arange(len(place))
            state, other = other, state
            self._step(state, pairing, uniform)
        return np.take(state, place, axis=1, out=other, mode="clip")

    def _step(self, state: Index, pairing: Pairing, uniform: Array) -> None:
        """Exchange outcomes within the pairs, in place, with their conditional odds.

        The state is in the order of the pairing.
        """
        half, size = pairing.half, pairing.size
        i, j = pairing.order[:half], pairing.order[half : 2 * half]
        at_i, at_j = state[:, :half], state[:, half : 2 * half]
        odds = self.pairs.swap_log_odds(i, j, at_i, at_j)
        if size > 1:
            odds = odds.reshape(len(state), -1, size).sum(axis=2)
        # swap with probability 1 / (1 + exp(-odds)): where uniform · (1 + exp(-odds)) < 1
        np.negative(odds, out=odds)
        np.minimum(odds, 80.0, out=odds)
        np.exp(odds, out=odds)
        odds += 1.0
        odds *= uniform
        swap = odds < 1.0
        if size > 1:
            swap = np.repeat(swap, size, axis=1)
        change = at_j - at_i
        change *= swap
        at_i += change
        at_j -= change

    def acceptance(self, rng: np.random.Generator) -> Array:
        """Probabilities of pairs of the data to exchange their outcomes, for random pairings."""
        chances = []
        for _ in range(_TRIAL_PAIRINGS):
            pairing = self.pairing(rng)
            i, j = pairing.order[: pairing.half], pairing.order[pairing.half : 2 * pairing.half]
            odds = self.pairs.swap_log_odds(i, j, i[None], j[None])
            chances.append(expit(odds.reshape(-1, pairing.size).sum(axis=1)))
        return np.concatenate(chances)


def count_steps(acceptance: float) -> int:
    """Pairings for which a row makes five exchanges on average; at most 50.

    `acceptance` is the mean probability that a pair exchanges. Fewer exchanges leave copies that
    resemble the data, which costs power, not validity.

    Examples
    --------
    >>> count_steps(0.5), count_steps(0.2), count_steps(0.0)
    (10, 25, 50)
    """
    return min(_MOST_STEPS, math.ceil(_EXCHANGES / max(acceptance, 1e-9)))


class ConditionalPermutation(CopySampler):
    """Copies by the pairwise sampler, fold by fold.

    Parameters
    ----------
    folds : list of Fold
        Together they hold every row once.
    steps : int or None
        Pairings between the data and the hub, and between the hub and each copy. None takes as
        many as the data need (`count_steps`), which looks at attributes and outcomes only.
    seed : int
    inverse : bool
        True for ICP: the walk gives outcomes to attribute rows and is inverted at the end.
        False for CP: `pairs` is q(a|y) with the roles exchanged, and the walk gives attributes to
        outcome rows.

    """

    within_outcome = False

    def __init__(
        self, folds: list[Fold], steps: int | None, seed: int, *, inverse: bool = True
    ) -> None:
        self.folds = folds
        self.n = sum(len(fold.rows) for fold in folds)
        self.seed = seed
        self.inverse = inverse
        if steps is None:
            chances = [fold.acceptance(stream(seed, 8, k)) for k, fold in enumerate(folds)]
            joined = np.concatenate(chances)
            steps = count_steps(float(joined.mean())) if len(joined) else 1
        self.steps = steps
        self.pairings = []
        self.hubs = []
        for number, fold in enumerate(folds):
            rng = stream(seed, 0, number)
            pairings = [fold.pairing(rng) for _ in range(steps)]
            state = np.arange(len(fold.rows))[None]
            for some in _split_steps(pairings[::-1]):
                state = fold.walk(state, some, _draw_uniforms([rng], some))
            self.pairings.append(pairings)
            self.hubs.append(state)

    def block(self, copies: range) -> Index:
        streams = [stream(self.seed, 1, copy) for copy in copies]
        result = np.empty((len(copies), self.n), dtype=np.intp)
        for fold, pairings, hub in zip(self.folds, self.pairings, self.hubs, strict=True):
            state = np.tile(hub, (len(copies), 1))
            for some in _split_steps(pairings):
                state = fold.walk(state, some, _draw_uniforms(streams, some))
            local = _invert_lines(state) if self.inverse else state
            result[:, fold.rows] = fold.rows[local]
        return result


def _split_steps(pairings: list[Pairing]) -> Iterator[list[Pairing]]:
    for first in range(0, len(pairings), _STEPS_AT_ONCE):
        yield pairings[first : first + _STEPS_AT_ONCE]


def _draw_uniforms(
    streams: Sequence[np.random.Generator], pairings: Sequence[Pairing]
) -> list[Array]:
    """For every pairing one line per stream; a stream gives its numbers at once."""
    ends = np.cumsum([pairing.draws for pairing in pairings])
    uniform = np.empty((len(streams), int(ends[-1])), dtype=np.float32)
    for line, rng in zip(uniform, streams, strict=True):
        rng.random(out=line, dtype=np.float32)
    uniform += np.float32(2**-25)  # never zero: what has no density does not happen
    return np.split(uniform, ends[:-1], axis=1)


def _invert_lines(state: Index) -> Index:
    """The inverse permutation of every line."""
    inverse = np.empty_like(state)
    np.put_along_axis(inverse, state, np.arange(state.shape[1])[None], axis=1)
    return inverse
