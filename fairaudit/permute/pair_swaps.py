"""Copies by one pairing: fixed pairs of rows exchange their attributes, each with its own odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fairaudit._types import Array, Index
from fairaudit.permute.copies import CopySampler, stream

__all__ = ["PairSwaps"]


class PairSwaps(CopySampler):
    """Rows i[p] and j[p] change places or stay, independently for every pair and every copy.

    Given the two attributes of a pair, in either order, and its two outcomes, a copy draws the
    order from its conditional law. The data are one more draw from it, so that data and copies are
    independent draws given the unordered pairs: exactly valid with true odds, and no hub is needed.

    Parameters
    ----------
    i, j : int arrays
        The pairs; every row stands in one pair at most, the others stay where they are. They may
        depend on the outcomes or on the attributes, not on both.
    log_odds : array or float
        Of exchanging a pair against leaving it as it is in the data; 0 exchanges freely.
    seed : int
    n : int
        Rows of the table.
    within_outcome : bool
        Whether both rows of every pair have the same outcome.

    Notes
    -----
    A statistic Σ_k e_k f(Ã_k) needs no copy: exchanging a pair adds (e_i − e_j)(f_j − f_i), so
    that a block of copies costs the product of `swaps` and these numbers.

    Examples
    --------
    >>> sampler = PairSwaps(np.array([0, 1]), np.array([3, 2]), [700.0, -700.0], seed=0, n=5)
    >>> sampler.block(range(2))
    array([[3, 1, 2, 0, 4],
           [3, 1, 2, 0, 4]])
    >>> sampler.swaps(range(1))
    array([[ True, False]])
    """

    def __init__(
        self,
        i: Index,
        j: Index,
        log_odds: Array | float,
        seed: int,
        *,
        n: int,
        within_outcome: bool = False,
    ) -> None:
        self.i, self.j = i, j
        self.n = n
        self.seed = seed
        self.within_outcome = within_outcome
        chance = expit(np.broadcast_to(log_odds, len(i)))
        self.chance = None if (chance == 0.5).all() else chance.astype(np.float32)

    def swaps(self, copies: range) -> NDArray[np.bool_]:
        """Which pairs are exchanged, one row per copy (len(copies) × pairs)."""
        pairs = len(self.i)
        result = np.empty((len(copies), pairs), dtype=np.bool_)
        uniform = np.empty(0 if self.chance is None else pairs, dtype=np.float32)
        for place, copy in enumerate(copies):
            rng = stream(self.seed, 1, copy)
            if self.chance is None:  # one random bit per pair
                bits = np.frombuffer(rng.bytes(-(-pairs // 8)), dtype=np.uint8)
                result[place] = np.unpackbits(bits, count=pairs)
            else:
                rng.random(out=uniform, dtype=np.float32)
                np.less(uniform, self.chance, out=result[place])
        return result

    def block(self, copies: range) -> Index:
        result = np.empty((len(copies), self.n), dtype=np.intp)
        result[:] = np.arange(self.n)
        apart = self.j - self.i
        for rows, swap in zip(result, self.swaps(copies), strict=True):
            change = apart * swap  # no branch on random bits
            rows[self.i] += change
            rows[self.j] -= change
        return result
