"""The law `monotone`: predictions change places within pairs that are ordered by the outcome.

PairSwap (Hore, Soloff, Barber and Samworth, arXiv 2501.06133). Valid in finite samples, without any
density, if the prediction never falls (in distribution) when the outcome rises, and only with
statistics that respect the order (`ordered = True`); docs/laws/monotone.md has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.errors import InputError
from fairaudit.permute.copies import CopyLaw, CopySampler, FittedCopies, LimitedSampler, stream
from fairaudit.permute.pair_effect import learn_effect
from fairaudit.permute.pairing import match_rows

__all__ = [
    "EFFECT_STREAM",
    "MONOTONE",
    "Monotone",
    "PairSwap",
    "Pairs",
    "check_monotone",
    "get_pairs",
]

MONOTONE = CopyLaw("monotone", "swaps within pairs ordered by the outcome")

#: Random features of what is learnt on the held-out rows: the same for pairs and statistic.
EFFECT_STREAM = 41

_MOST_HELD_OUT = 20_000
_LEVELS = 4  # of halving the range of the outcome in the check


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pairs:
    """Pairs of rows, and the rows that are in no pair and were held out to learn from.

    Attributes
    ----------
    low, high : int arrays
        A pair each: the row that should not have the larger prediction, and the other.
    held : int array
        In random order.
    names : tuple of str
        The attributes by which rows were paired. The pairs are for questions about all of these:
        with others left out, the ones that are left out favor the lower rows.
    decreasing : bool
        The lower row is the one with the larger outcome.
    """

    low: Index
    high: Index
    held: Index
    names: tuple[str, ...]
    decreasing: bool = False

    def limit(self, place: Index) -> Pairs:
        """The pairs whose rows have a place ≥ 0, and the held-out rows that have one."""
        low, high, held = place[self.low], place[self.high], place[self.held]
        both = (low >= 0) & (high >= 0)
        return replace(self, low=low[both], high=high[both], held=held[held >= 0])


class PairSwap(CopySampler):
    """Every pair changes its two predictions with probability one half."""

    within_outcome = False
    moves = "prediction"

    def __init__(self, pairs: Pairs, n: int, seed: int) -> None:
        self.pairs, self.n, self.seed = pairs, n, seed

    def block(self, copies: range) -> Index:
        result = np.tile(np.arange(self.n), (len(copies), 1))
        low, high = self.pairs.low, self.pairs.high
        for place, copy in enumerate(copies):
            swapped = stream(self.seed, 1, copy).random(len(low)) < 0.5
            result[place, low[swapped]] = high[swapped]
            result[place, high[swapped]] = low[swapped]
        return result


def get_pairs(sampler: CopySampler) -> Pairs | None:
    """The pairs of a sampler of this law, in the numbers of the rows that it shows."""
    if isinstance(sampler, LimitedSampler):
        pairs = get_pairs(sampler.whole)
        return None if pairs is None else pairs.limit(sampler.place)
    return sampler.pairs if isinstance(sampler, PairSwap) else None


@dataclass(frozen=True, slots=True)
class Monotone:
    """Settings of the law `monotone`.

    Parameters
    ----------
    decreasing : bool
        The prediction falls when the outcome rises (scores of an error, of a risk turned around).
        To be known beforehand: a sign that is read off the data voids the guarantee.
    share : float
        Of the rows that are held out, at random, to learn how the attributes move the prediction;
        at most 20,000 of them. Pairs and weights of the other rows follow it.
    block : int
        Rows in the order of the outcome among which partners are looked for.
    """

    decreasing: bool = False
    share: float = 1 / 3
    block: int = 16

    def prepare(
        self,
        outcome: Column,
        attributes: Sequence[Column],
        *,
        steps: int,
        seed: int,
        units: Index | None = None,
        training: tuple[Column, Sequence[Column]] | None = None,
        strata: Index | None = None,
        prediction: Array | None = None,
    ) -> FittedCopies:
        """Hold out rows, learn on them, pair the others, and check what is assumed.

        No density is fitted: `steps` and `training` are not used. Rows of different `strata` are
        not paired.
        """
        y, x = _require_order(outcome, units, prediction)
        y = -y if self.decreasing else y
        order = stream(seed, 40).permutation(len(y))
        held, tested = np.split(order, [min(int(self.share * len(y)), _MOST_HELD_OUT)])
        effect = learn_effect(x, y, encode(attributes), held, stream(seed, EFFECT_STREAM))
        low, high = match_rows(
            y, tested, effect.gain, rng=stream(seed, 42), strata=strata, block=self.block
        ).T
        names = tuple(column.name for column in attributes)
        pairs = Pairs(low=low, high=high, held=held, names=names, decreasing=self.decreasing)
        sampler = PairSwap(pairs, len(y), seed)
        return FittedCopies(sampler, MONOTONE, assumption=check_monotone(x, y, seed=seed))


def _require_order(
    outcome: Column, units: Index | None, prediction: Array | None
) -> tuple[Array, Array]:
    """Outcome and prediction as numbers, where the law can be proven; the refusal otherwise."""
    if outcome.kind.is_categorical or outcome.numeric is None:
        raise InputError(
            f"The law 'monotone' is for outcomes that are numbers, and {outcome.name!r} has "
            "classes. Choose the law 'exact', which needs no assumption there."
        )
    if units is not None and len(np.unique(units)) < len(units):
        raise InputError(
            "The law 'monotone' is proven for rows that are independent, not for people with "
            "several rows. Keep one row of each person, or choose another law."
        )
    if prediction is None:
        raise InputError("The law 'monotone' needs the prediction.")
    if prediction.shape[1] != 1:
        raise InputError(
            "The law 'monotone' needs a prediction of one number per row. Got "
            f"{prediction.shape[1]} columns."
        )
    return np.asarray(outcome.numeric, dtype=np.float64), prediction[:, 0]


def check_monotone(prediction: Array, outcome: Array, *, seed: int) -> float:
    """p-value that the prediction does not fall (in distribution) when the outcome rises.

    The rows in the order of the outcome are cut into 1, 2, 4 and 8 pieces, and again half a piece
    later. Rows in the lower half of a piece are paired with those in its upper half. If the
    prediction does not fall, the lower row has the larger one with probability at most one half in
    each of these disjoint pairs, ties left out, so that a binomial tail is a valid p-value of the
    piece; the smallest, times the number of pieces, is one of all.

    Examples
    --------
    >>> y, noise = np.random.default_rng(0).normal(size=(2, 400))
    >>> check_monotone(np.cos(y) + 0.1 * noise, y, seed=0) < 0.01
    True
    >>> check_monotone(y + noise, y, seed=0) > 0.05
    True
    """
    order = np.lexsort((stream(seed, 44).random(len(outcome)), outcome))
    ranked = prediction[order]
    against, decided = [], []
    for depth in range(_LEVELS):
        edges = np.linspace(0, len(ranked), 2 ** (depth + 1) + 1).astype(int)
        for start, end in zip(edges[:-2], edges[2:], strict=True):
            half = (end - start) // 2
            lower, upper = ranked[start : start + half], ranked[end - half : end]
            against.append(int((lower > upper).sum()))
            decided.append(int((lower != upper).sum()))
    from scipy.stats import binom

    tails = binom.sf(np.array(against) - 1, np.array(decided), 0.5)
    return float(min(1.0, len(tails) * tails.min()))
