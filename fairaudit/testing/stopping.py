"""When drawing copies may stop, and the p-value and interval of a test that stopped.

A boundary is laid down before the first copy. Under H0 the data are one more copy, so of t copies
the next one reaches them with probability (1 + r)/(t + 2), where r have: an urn, whatever the
statistic. That is the law of the point where drawing stops, and the p-value of a point is the
probability of all that are at least as extreme: exact, whichever boundary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.testing.p_value import Boundary, Null, PValue, reaches

__all__ = ["AfterReached", "OnceSettled", "Tally"]

_GAP = 6  # copies more or fewer than expected that settle it: see benchmarks/stopping.py
_SLOPE = 0.95  # of the level: below 1, or the last copies could not use all of the level
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class AfterReached:
    """Stop at the `count`-th copy that reaches the data (Besag and Clifford 1991)."""

    count: int
    n: int

    def find_stop(self, reached: Index, drawn: int) -> int | None:
        return _find_first(reached >= self.count)

    def p_value(self, reached: int, drawn: int) -> float:
        if drawn < self.n:
            return reached / drawn
        return PValue(reached, drawn).value

    def interval(self, reached: int, drawn: int) -> tuple[float, float]:
        return PValue(reached, drawn).interval


@dataclass(frozen=True, slots=True)
class OnceSettled:
    """Stop once six copies more, or six fewer, reach the data than a p-value at the level gives.

    Parallel lines around the expected number (Wald), so that both sides stop. Lines and n decide
    the law of the stopping point; early stops below come first in its order, then what all n
    copies gave by their number, then stops above, the latest first.

    Attributes
    ----------
    n : int
        Copies at most.
    low, high : float
        p-values below `low` are settled, and those above `high`; between them all copies count.
    """

    n: int
    low: float
    high: float

    def limits(self, drawn: Any) -> tuple[Any, Any]:
        """The most copies that settle p below, and the fewest that settle it above."""
        below = np.floor(_SLOPE * self.low * drawn - _GAP + _ROUNDING).astype(int)
        above = np.ceil(_SLOPE * self.high * drawn + _GAP - _ROUNDING).astype(int)
        return below, above

    def find_stop(self, reached: Index, drawn: int) -> int | None:
        below, above = self.limits(drawn + np.arange(1, len(reached) + 1))
        return _find_first((reached <= below) | (reached >= above))

    def p_value(self, reached: int, drawn: int) -> float:
        points = _find_points(self)
        return float(points.as_extreme[points.at(reached, drawn)])

    def interval(self, reached: int, drawn: int) -> tuple[float, float]:
        points = _find_points(self)
        at = points.at(reached, drawn)
        low = 0.0 if at == 0 else points.solve(slice(at, None), 0.025)
        high = 1.0 if at == len(points.drawn) - 1 else points.solve(slice(at + 1), 0.025)
        return low, high


class _Points:
    """Where drawing can stop, the most extreme first, and how likely that is under H0."""

    def __init__(self, drawn: Index, reached: Index, chance: Array) -> None:
        self.drawn, self.reached, self.chance = drawn, reached, chance
        self.as_extreme = np.minimum(np.cumsum(chance), 1.0)
        self.numbers = {point: k for k, point in enumerate(zip(drawn, reached, strict=True))}

    def at(self, reached: int, drawn: int) -> int:
        return self.numbers[drawn, reached]

    def given(self, p: float) -> Array:
        """How likely each point is where a copy reaches the data with probability p."""
        from scipy.special import betaln, xlog1py, xlogy

        missed = self.drawn - self.reached
        path = xlogy(self.reached, p) + xlog1py(missed, -p)  # an urn has the mean over all p
        return np.asarray(self.chance * np.exp(path - betaln(self.reached + 1, missed + 1)))

    def solve(self, some: slice, share: float) -> float:
        """The p with which drawing stops at these points with this probability."""
        from scipy.optimize import brentq

        return float(brentq(lambda p: self.given(p)[some].sum() - share, 0.0, 1.0, xtol=1e-12))


@lru_cache(maxsize=32)
def _find_points(boundary: OnceSettled) -> _Points:
    """Walk through all numbers of copies that reach the data, copy by copy."""
    below, above = boundary.limits(np.arange(boundary.n + 1))
    reached = np.arange(min(int(above[-1]), boundary.n) + 1)
    chance = np.zeros(len(reached))
    chance[0] = 1.0
    low: list[tuple[int, int, float]] = []
    high: list[tuple[int, int, float]] = []
    for drawn in range(1, boundary.n + 1):
        hit = chance * (1 + reached) / (drawn + 1)
        chance -= hit
        chance[1:] += hit[:-1]
        for stops, limit in ((low, below[drawn]), (high, above[drawn])):
            if 0 <= limit < len(reached) and chance[limit] > 0:
                stops.append((drawn, int(limit), float(chance[limit])))
                chance[limit] = 0.0
    end = [(boundary.n, int(r), float(chance[r])) for r in np.flatnonzero(chance > 0)]
    points = [*low, *end, *reversed(high)]
    columns = [np.array(column) for column in zip(*points, strict=True)]
    return _Points(*columns)


class Tally:
    """How far drawing has come for one question.

    With several statistics the first `held_out` copies only tell how rare a value of each
    statistic is. The others and the data, which are exchangeable given these, are counted.
    """

    def __init__(
        self,
        observed: Array,
        boundary: Boundary,
        held_out: int,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.observed, self.boundary, self.held_out = observed, boundary, held_out
        self.weights = weights
        self.parts: list[Array] = []
        self.drawn, self.reached = -held_out, 0
        self.calibration: Array | None = None
        self.stopped = False

    @property
    def values(self) -> Array:
        """One row per copy, up to the one at which drawing stopped."""
        return np.vstack(self.parts)

    def add(self, values: Array) -> None:
        """The statistics of the next copies."""
        self.parts.append(values)
        before, self.drawn = self.drawn, self.drawn + len(values)
        if self.drawn <= 0:
            return
        if before <= 0 < self.held_out:
            self.parts = [self.values]
            self.calibration = self.parts[0][: self.held_out]
        counted = values[max(-before, 0) :]
        value, copies = Null(self.observed, counted, self.weights).combined(self.calibration)
        hits = self.reached + np.cumsum(reaches(copies, value))
        self.reached = int(hits[-1])
        last = self.boundary.find_stop(hits, max(before, 0))
        if last is not None:
            self.stopped = True
            self.parts[-1] = self.parts[-1][: len(self.parts[-1]) - len(counted) + last + 1]


def _find_first(true: Any) -> int | None:
    return int(np.argmax(true)) if np.any(true) else None
