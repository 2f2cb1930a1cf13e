"""What is said about gaps and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

__all__ = ["PREDICTION", "Certificate", "Gap", "GapInRange", "GapTable"]

#: What `Gap.rate` is where the outcome is continuous.
PREDICTION = "prediction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The rate of one group minus that of all others with the same outcome.

    Attributes
    ----------
    levels : tuple of str
        The group.
    rate : str
        ``"TPR"`` or ``"FPR"``; of all classes ``"outcome → predicted"``; where the outcome is
        continuous ``"prediction"``, of which means are compared.
    value, low, high : float or None
        None if masked; the limits also where too few people are behind the gap of predictions.
    size, weight : float or None
        Rows that the group's rate is worth, and the sum of their weights. None if masked.
    """

    levels: tuple[str, ...]
    rate: str
    value: float | None
    low: float | None
    high: float | None
    size: float | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapInRange:
    """A gap of predictions among people whose outcome lies in a range.

    Attributes
    ----------
    levels : tuple of str
        The group.
    start, stop : float
        The smallest and the largest outcome in the range, to four figures.
    people : int
        Rows in the range, of all groups.
    value, low, high, size : float or None
        As of `Gap`.
    """

    levels: tuple[str, ...]
    start: float
    stop: float
    people: int
    value: float | None
    low: float | None
    high: float | None
    size: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapTable:
    """Simultaneous intervals: with this confidence *all* of them hold.

    Attributes
    ----------
    attributes : tuple of str
    confidence : float
    critical : float
        The critical value in the place of 1.96.
    gaps : tuple of Gap
        Masked groups take no part in the gaps of the others.
    apart : bool
        Nobody is in two of these groups, or has both outcomes.
    curve : tuple of GapInRange
        Of predictions, over the outcome; these intervals hold together by themselves.
    curve_critical : float
    of_classes : bool
        Of all shares of the confusion of several classes.
    unit : float
        Of predictions: what gaps of masked tables are rounded in.
    """

    attributes: tuple[str, ...]
    confidence: float
    critical: float
    gaps: tuple[Gap, ...]
    apart: bool = True
    curve: tuple[GapInRange, ...] = ()
    curve_critical: float = math.nan
    unit: float = 0.0
    of_classes: bool = False

    @property
    def of_predictions(self) -> bool:
        """Of a continuous outcome, in its units; else of rates."""
        return any(gap.rate == PREDICTION for gap in self.gaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Whether a measure is shown to lie within a tolerance.

    Attributes
    ----------
    measure : str
        ``"deo"``, ``"tpr_gap"``, ``"fpr_gap"``, ``"equalized_odds_difference"``,
        ``"confusion_gap"`` or ``"kpc"``; of a continuous outcome ``"prediction_gap"`` or
        ``"prediction_gap_in_ranges"``.
    limit : float
        The tolerance that was declared.
    value : float or None
        The estimate; None if masked or undefined.
    upper : float or None
        The measure is at most this large with probability `confidence`. None: no bound.
    confidence : float
    note : str
        What the bound rests on, or why there is none.
    """

    measure: str
    limit: float
    value: float | None
    upper: float | None
    confidence: float
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.upper is not None and self.upper <= self.limit

    def coarse(self, step: float) -> Certificate:
        """Without what would tell the rate of a small group: the bound, rounded up to a step."""
        from fairaudit.evidence.disclosure import coarse

        if self.upper is None:
            why = "no bound: some group has too few rows"
            return replace(self, value=None, note=self.note if self.measure == "kpc" else why)
        upper = coarse(self.upper, step, up=True)
        if self.holds and upper is not None:
            upper = min(upper, self.limit)
        return replace(self, value=None, upper=upper)
