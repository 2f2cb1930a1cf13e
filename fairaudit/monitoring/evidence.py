"""From statistics of data and copies to e-values, and from e-values to evidence over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit._types import Array
from fairaudit.monitoring.rules import CURRENT, Rules

__all__ = ["Evidence", "find_boost", "log_e_values", "start_weight"]

_DECAY = 1.5
#: So that rounding leaves no evidence just below the alarm; the guarantee is that of the bound.
_ABOVE = 1 + 1e-9


def log_e_values(pools: Array, tilts: Sequence[float]) -> Array:
    r"""Logarithms of e-values: what every member of a pool would have if it were the data.

    Parameters
    ----------
    pools : array of shape (statistics, K + 1)
        Statistics of the data, which come first, and of the copies; exchangeable under the null
        hypothesis.
    tilts : sequence of float

    Returns
    -------
    array of shape (statistics · tilts, K + 1)

    Notes
    -----
    With z the statistics of data (:math:`z_0`) and copies, standardized all together,

    .. math:: e_\lambda = \frac{\exp(\lambda z_0)}{\frac{1}{K+1}\sum_{k=0}^K \exp(\lambda z_k)}.

    The denominator does not change when data and copies change places, so that exchangeability
    gives :math:`E[e_\lambda] = 1` exactly, for any statistic and any number of copies.

    Examples
    --------
    >>> log_e_values(np.array([[3.0, 0.0, 1.0, 2.0]]), tilts=[1.0])[:, 0].round(2)
    array([0.89])
    """
    from scipy.special import logsumexp

    with np.errstate(invalid="ignore"):
        spread = pools.std(axis=1, keepdims=True)
        largest = np.maximum(1.0, np.abs(pools).max(axis=1, keepdims=True))
        telling = np.isfinite(spread) & (spread > 1e-12 * largest)
        z = (pools - pools.mean(axis=1, keepdims=True)) / np.where(telling, spread, 1.0)
    z = np.where(telling, z, 0.0)  # copies that do not differ say nothing
    tilted = (z[:, None, :] * np.asarray(tilts)[:, None]).reshape(-1, pools.shape[1])
    return np.asarray(tilted - logsumexp(tilted, axis=1, keepdims=True) + np.log(tilted.shape[1]))


def start_weight(number: int, rules: Rules = CURRENT) -> float:
    """The share of the stake that is first bet on batch `number` (1, 2, …); all add up to 1."""
    from scipy.special import zeta

    total = float(zeta(_DECAY, 1 + rules.offset))
    share = (1 - rules.first) * (number + rules.offset) ** -_DECAY / total
    return float(share + rules.first * (number == 1))


def find_boost(members: Array, before: float, most: float) -> float:
    r"""The factor c with :math:`\frac{1}{K+1}\sum_k \min(c W_k, most) = before`.

    Parameters
    ----------
    members : array
        The wealth :math:`W_k` that data and copies would lead to; positive, about `before` on
        average.
    before, most : float

    Examples
    --------
    >>> find_boost(np.array([40.0, 4.0, 2.0, 2.0]), before=12.0, most=20.0)
    3.5
    """
    ordered = np.sort(members)[::-1]
    below = np.cumsum(ordered[::-1])[::-1]  # sum of all but the j largest
    cut = np.arange(len(ordered))
    factors = (len(ordered) * before - cut * most) / below
    fits = factors * ordered <= most * (1 + 1e-12)
    return float(factors[int(np.argmax(fits))]) if fits.any() else 1.0


class Evidence:
    r"""The wealth of a gambler who bets against equalized odds, batch by batch.

    The stake of 1 is spread over the batch with which a violation may begin and over the
    strategies (a statistic with a tilt each). A part that waits neither wins nor loses; one that
    bets is multiplied by the e-value of its strategy with every batch. The sum is a non-negative
    martingale under the null hypothesis that begins at 1, so by Ville's inequality it reaches
    1/alpha with a probability of at most alpha, ever.

    Parameters
    ----------
    weights : array
        The share of every strategy.
    alpha : float
    rules : Rules

    Attributes
    ----------
    log_wealth : float
    alarmed : bool
        Whether it has reached 1/alpha.

    Notes
    -----
    Evidence beyond 1/alpha is of no use for the alarm. What data and copies would lead to is known
    before one asks which of them is the data: :math:`W_0, \dots, W_K`, on average the wealth W
    before the batch. So they are cut off at 1/alpha and all multiplied by the c for which
    the average is W again (Fischer and Ramdas 2024 call it avoiding overshoot). It stays a
    martingale, is at most 1/alpha up to the alarm, and therefore sounds the alarm with a
    probability of exactly alpha times the stake that was lost or won.

    Examples
    --------
    >>> evidence = Evidence(np.ones(1))
    >>> for _ in range(3):
    ...     evidence.add(np.log([10.0]))
    >>> round(float(np.exp(evidence.log_wealth)), 1), evidence.start()
    (247.9, 1)
    """

    def __init__(self, weights: Array, alpha: float = 0.05, rules: Rules = CURRENT) -> None:
        self.rules, self.alpha = rules, alpha
        self.history: list[Array] = []
        self.log_wealth = 0.0
        self.alarmed = False
        self._log_weights = np.log(np.asarray(weights) / np.sum(weights))
        self._log_betting = np.full(len(self._log_weights), -np.inf)
        self._waiting = 1.0
        self._log_boosts = 0.0

    def boost(self, pool: Array) -> float:
        """Logarithm of the factor c, given the e-values of data and copies (one column each)."""
        from scipy.special import logsumexp

        if not self.rules.capped or self.alarmed:
            return 0.0
        betting, left = self._place_bets()
        members = np.logaddexp(logsumexp(betting[:, None] + pool, axis=0), _log(left))
        found = find_boost(
            np.exp(members + self._log_boosts), float(np.exp(self.log_wealth)), _ABOVE / self.alpha
        )
        # what is cut off is the evidence of this batch itself
        own = float(members[0]) + self._log_boosts + np.log(found)
        return float(np.log(found) - max(0.0, own - np.log(_ABOVE / self.alpha)))

    def add(self, log_e: Array, boost: float = 0.0) -> None:
        """One more batch: the e-values of the data, and the boost."""
        from scipy.special import logsumexp

        betting, self._waiting = self._place_bets()
        self._log_betting = betting + log_e
        self.history.append(np.asarray(log_e))
        self._log_boosts += boost
        together = [*self._log_betting, _log(self._waiting)]
        self.log_wealth = float(logsumexp(together)) + self._log_boosts
        self.alarmed = self.alarmed or self.log_wealth >= -np.log(self.alpha)

    def _place_bets(self) -> tuple[Array, float]:
        """The logarithm of what is bet on the next batch, and what waits; boosts aside."""
        share = start_weight(len(self.history) + 1, self.rules)
        betting = np.logaddexp(self._log_betting, np.log(share) + self._log_weights)
        return betting, max(self._waiting - share, 0.0)

    def start(self) -> int:
        """The batch with which the evidence most likely began: the part that has won most."""
        from scipy.special import logsumexp

        won = np.cumsum(np.array(self.history)[::-1], axis=0)[::-1]
        shares = [np.log(start_weight(number + 1, self.rules)) for number in range(len(won))]
        return int(np.argmax(logsumexp(won + self._log_weights, axis=1) + shares)) + 1


def _log(amount: float) -> float:
    return float(np.log(amount)) if amount > 0 else -np.inf
