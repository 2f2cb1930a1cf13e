"""From statistics of data and copies to e-values, and from e-values to evidence over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit._types import Array

__all__ = ["TILTS", "Evidence", "log_e_values", "start_weight"]

#: How much is bet on a statistic that stands this many standard deviations above its copies.
TILTS = (0.5, 1.0, 2.0, 4.0)
#: A violation may begin with any batch; the n-th has this power of n as its share of the stake.
_DECAY = 1.5
_TOTAL = 2.612375348685488  # ζ(1.5)


def log_e_values(observed: float, copies: Array, tilts: Sequence[float] = TILTS) -> Array:
    r"""Logarithms of e-values, one per tilt, of one statistic.

    Parameters
    ----------
    observed : float
        The statistic of the data.
    copies : array
        The same of the copies, exchangeable with the data under the null hypothesis.
    tilts : sequence of float

    Notes
    -----
    With z the statistics of data (:math:`z_0`) and copies, standardized all together,

    .. math:: e_\lambda = \frac{\exp(\lambda z_0)}{\frac{1}{K+1}\sum_{k=0}^K \exp(\lambda z_k)}.

    The denominator does not change when data and copies change places, so that exchangeability
    gives :math:`E[e_\lambda] = 1` exactly, for any statistic and any number of copies.

    Examples
    --------
    >>> log_e_values(3.0, np.array([0.0, 1.0, 2.0]), tilts=[1.0]).round(2)
    array([0.89])
    """
    from scipy.special import logsumexp

    pool = np.concatenate([[observed], copies])
    spread = pool.std()
    if not np.isfinite(spread) or spread <= 1e-12 * max(1.0, float(np.abs(pool).max())):
        return np.zeros(len(tilts))  # copies that do not differ say nothing
    z = (pool - pool.mean()) / spread
    z = np.asarray(tilts)[:, None] * z
    return np.asarray(z[:, 0] - logsumexp(z, axis=1) + np.log(len(pool)))


def start_weight(number: int) -> float:
    """The share of the stake that is first bet on batch `number` (1, 2, …); all add up to 1."""
    return float(number**-_DECAY / _TOTAL)


class Evidence:
    r"""The wealth of a gambler who bets against equalized odds, batch by batch.

    The stake of 1 is spread over the batch with which a violation may begin and over the
    strategies (a statistic with a tilt each). A part that waits neither wins nor loses; one that
    bets is multiplied by the e-value of its strategy with every batch. The sum is a non-negative
    martingale under the null hypothesis that begins at 1, so by Ville's inequality it reaches
    1/alpha with a probability of at most alpha, ever.

    Parameters
    ----------
    strategies : int

    Attributes
    ----------
    log_wealth : float

    Examples
    --------
    >>> evidence = Evidence(1)
    >>> for _ in range(3):
    ...     evidence.add(np.log([10.0]))
    >>> round(float(np.exp(evidence.log_wealth)), 1)
    397.5
    >>> evidence.start()
    1
    """

    def __init__(self, strategies: int) -> None:
        self.strategies = strategies
        self.history: list[Array] = []
        self.log_wealth = 0.0
        self._log_betting = np.full(strategies, -np.inf)
        self._waiting = 1.0

    def add(self, log_e: Array) -> None:
        """One more batch."""
        from scipy.special import logsumexp

        share = start_weight(len(self.history) + 1)
        joined = np.logaddexp(self._log_betting, np.log(share / self.strategies))
        self._log_betting = joined + log_e
        self._waiting = max(self._waiting - share, 0.0)
        self.history.append(np.asarray(log_e))
        waiting = np.log(self._waiting) if self._waiting > 0 else -np.inf
        self.log_wealth = float(logsumexp([*self._log_betting, waiting]))

    def start(self) -> int:
        """The batch with which the evidence most likely began: the part that has won most."""
        from scipy.special import logsumexp

        won = np.cumsum(np.array(self.history)[::-1], axis=0)[::-1]
        shares = [np.log(start_weight(number + 1)) for number in range(len(won))]
        return int(np.argmax(logsumexp(won, axis=1) + shares)) + 1
