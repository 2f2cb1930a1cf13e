"""What is said about gaps and bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Certificate", "Gap", "GapTable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The rate of one group minus that of all others with the same outcome.

    Attributes
    ----------
    levels : tuple of str
        The group.
    rate : str
        ``"TPR"`` or ``"FPR"``.
    value, low, high : float or None
        None if masked.
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
    """

    attributes: tuple[str, ...]
    confidence: float
    critical: float
    gaps: tuple[Gap, ...]
    apart: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Whether a measure is shown to lie within a tolerance.

    Attributes
    ----------
    measure : str
        ``"deo"``, ``"tpr_gap"``, ``"fpr_gap"``, ``"equalized_odds_difference"`` or ``"kpc"``.
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
