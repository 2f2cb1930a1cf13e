"""From the statistics of the data and of its copies to a p-value; the only place for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["Boundary", "Null", "PValue", "p_values", "reaches"]

_ROUNDING = 1e-12
_TAIL = 0.1  # of the copies that calibrate a combination: what is rarer is extrapolated


def _find_bound(observed: Any) -> Any:
    """Where copies begin to be as large as the data, up to rounding."""
    with np.errstate(invalid="ignore"):  # nothing reaches what is infinite
        return observed - _ROUNDING * np.maximum(1.0, np.abs(observed))


def reaches(values: Any, observed: float) -> Any:
    """Copies at least as large as the data, up to rounding."""
    return values >= _find_bound(observed)


class Boundary(Protocol):
    """When drawing stops, laid down before the first copy; see `fairaudit.testing.stopping`."""

    def find_stop(self, reached: Index, drawn: int) -> int | None:
        """The first of the next copies to stop at; `reached` counts on from `drawn` copies."""
        ...

    def p_value(self, reached: int, drawn: int) -> float: ...

    def interval(self, reached: int, drawn: int) -> tuple[float, float]: ...


@dataclass(frozen=True, slots=True)
class PValue:
    """Copies that reach the data, among those drawn: all, or up to a boundary.

    Examples
    --------
    >>> PValue(reached=4, drawn=99).value
    0.05
    """

    reached: int
    drawn: int
    boundary: Boundary | None = None

    @classmethod
    def of(cls, observed: float, copies: Array, *, boundary: Boundary | None = None) -> PValue:
        return cls(int(reaches(copies, observed).sum()), len(copies), boundary)

    @property
    def value(self) -> float:
        if self.boundary is not None:
            return self.boundary.p_value(self.reached, self.drawn)
        return (1 + self.reached) / (self.drawn + 1)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Monte-Carlo interval (Clopper–Pearson; over the stopping points of a boundary)."""
        if self.boundary is not None:
            return self.boundary.interval(self.reached, self.drawn)
        from scipy.stats import beta

        reached, missed = self.reached, self.drawn - self.reached
        low = 0.0 if reached == 0 else float(beta.ppf(0.025, reached, missed + 1))
        high = 1.0 if missed == 0 else float(beta.ppf(0.975, reached + 1, missed))
        return low, high


def p_values(observed: Array, copies: Array) -> Array:
    """p-values of many observed values by the same copies, which are sorted."""
    reached = len(copies) - np.searchsorted(copies, _find_bound(observed))
    return np.asarray((1 + reached) / (len(copies) + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Null:
    """The statistics of the data and of its copies.

    Attributes
    ----------
    observed : array
        One value per statistic.
    copies : array
        One row per copy, one column per statistic.
    """

    observed: Array
    copies: Array

    @classmethod
    def mean(cls, shards: Sequence[Null], rows: Sequence[int]) -> Null:
        """Copies of all shards, taken together by their numbers; means weighted by rows."""
        total = sum(rows)
        observed = np.zeros_like(shards[0].observed)
        copies = np.zeros_like(shards[0].copies)
        for null, count in zip(shards, rows, strict=True):
            observed += null.observed * (count / total)
            copies += null.copies * (count / total)
        return cls(observed, copies)

    @property
    def drawn(self) -> int:
        return len(self.copies)

    def of_each(self, names: Sequence[str]) -> dict[str, float]:
        """The p-value of every statistic by itself."""
        return {
            name: PValue.of(self.observed[k], self.copies[:, k]).value
            for k, name in enumerate(names)
        }

    def combined(self, calibration: Array | None = None) -> tuple[float, Array]:
        """The statistic, or of several −log10 of their smallest p; of data and every copy alike.

        Ranks are those among data and copies; with a `calibration`, values of further copies, those
        among these alone.
        """
        if len(self.observed) == 1:
            return float(self.observed[0]), self.copies[:, 0]
        from scipy.stats import rankdata

        together = np.vstack([self.observed, self.copies])
        if calibration is None:
            p = rankdata(-together, method="max", axis=0) / len(together)
            smallest = -np.log10(p.min(axis=1))
        else:
            columns = zip(together.T, calibration.T, strict=True)
            smallest = np.max([_measure_rarity(values, own) for values, own in columns], axis=0)
        return float(smallest[0]), smallest[1:]

    def p_value(self) -> float:
        """Of the statistic, or of several together."""
        value, copies = self.combined()
        return PValue.of(value, copies).value


def _measure_rarity(values: Array, copies: Array) -> Array:
    """−log10 of the share of these copies that reach a value; beyond, with an exponential tail."""
    ordered, count = np.sort(copies), len(copies)
    top = max(1, round(_TAIL * count))
    start = ordered[-top - 1]
    reached = count - np.searchsorted(ordered, np.minimum(_find_bound(values), start))
    with np.errstate(invalid="ignore"):  # infinite values are beyond all others, and alike
        mean = float(np.mean(ordered[-top:] - start))
    excess = np.maximum(values - start, 0.0) / mean if 0 < mean < np.inf else 0.0
    return np.asarray(excess / np.log(10) - np.log10((1 + reached) / (1 + count)))
