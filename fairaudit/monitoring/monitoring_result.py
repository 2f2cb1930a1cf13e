"""What a monitor says: the evidence after every batch, and whether it is enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from fairaudit.auditing.findings import Verdict
from fairaudit.results import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MonitorResult", "MonitoredBatch", "evidence_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredBatch:
    """One batch.

    Attributes
    ----------
    number : int
        1, 2, …
    when : str
        When it was added; UTC, ISO 8601.
    label : str
        What the caller calls it; the name of the file unless given.
    rows : int
    e_value : float
        By how much this batch multiplied the evidence.
    log10_evidence : float
        Of the evidence after this batch.
    p_value : float or None
        Of the ordinary test on this batch alone; not to be compared with alpha again and again.
    unusable : str or None
        Why the batch added no evidence.
    gap, gap_at_most : float or None
        Of a continuous outcome, in its units: the largest prediction gap of this batch among groups
        of 10 or more people, and what it is at most with probability 1 − alpha in this batch alone.
    """

    number: int
    when: str
    label: str
    rows: int
    e_value: float
    log10_evidence: float
    p_value: float | None
    unusable: str | None
    gap: float | None = None
    gap_at_most: float | None = None

    @property
    def name(self) -> str:
        """Its label, or when it was added."""
        return self.label or self.when


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorResult(Result):
    """The state of a monitor.

    Attributes
    ----------
    verdict : Verdict
        ``violation`` from the first alarm on; ``inconclusive`` where the last batch could not be
        used; otherwise ``no violation found``.
    because : str
    alpha : float
        The alarm sounds at evidence of 1/alpha.
    alarm : int or None
        The batch after which the evidence first reached 1/alpha.
    since : int or None
        After an alarm: the batch with which the violation most likely began (an estimate).
    batches : tuple of MonitoredBatch
    settings : dict
        With which the state was begun.
    notes : tuple of str
    head : str
        Hash of the last line of the state, which stands for all of it.
    version : str
        Of fairaudit.
    """

    verdict: Verdict
    because: str
    alpha: float
    alarm: int | None
    since: int | None
    batches: tuple[MonitoredBatch, ...]
    settings: dict[str, Any] = field(repr=False)
    notes: tuple[str, ...]
    head: str
    version: str

    schema: ClassVar[str] = "fairaudit/monitoring/1"
    plural: ClassVar[str] = "monitors"
    derived: ClassVar[tuple[str, ...]] = ("evidence",)

    @property
    def evidence(self) -> float:
        """After the last batch; 1 is none, 1/alpha sounds the alarm."""
        return float(10 ** min(self.batches[-1].log10_evidence, 300.0))

    def suppressed(self, fewest: int) -> MonitorResult:
        """The same with evidence and gaps to three digits, unless nothing is to be masked.

        They are of all people, and nobody can tell from a state that no group is small.
        """
        if fewest < 2:
            return self
        return replace(self, batches=tuple(map(_round_batch, self.batches)))

    def to_frame(self) -> pd.DataFrame:
        """One row per batch."""
        import pandas as pd

        return pd.DataFrame([asdict(batch) for batch in self.batches])

    def plot(self, ax: Any = None) -> Any:
        """The evidence after every batch, with the alarm line; returns the Axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.gca()
        numbers = [0, *(batch.number for batch in self.batches)]
        ax.plot(numbers, [1.0, *(10**batch.log10_evidence for batch in self.batches)], marker="o")
        ax.axhline(1 / self.alpha, linestyle="--", color="0.4")
        ax.set(yscale="log", xlabel="batch", ylabel="evidence (e-value)")
        return ax


def _round_batch(batch: MonitoredBatch) -> MonitoredBatch:
    def three(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.3g}")

    return replace(
        batch,
        e_value=float(f"{batch.e_value:.3g}"),
        log10_evidence=round(batch.log10_evidence, 3),
        gap=three(batch.gap),
        gap_at_most=three(batch.gap_at_most),
    )


def evidence_text(log10: float) -> str:
    """An e-value for people.

    Examples
    --------
    >>> evidence_text(-0.1), evidence_text(1.5), evidence_text(3.3), evidence_text(12.3)
    ('0.794', '31.6', '1,995', '2 × 10¹²')
    """
    if log10 >= 4:
        power = int(log10)
        digits = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{min(10 ** (log10 - power), 9.4):.0f} × 10{digits}"
    return f"{10**log10:,.0f}" if log10 >= 2 else f"{10**log10:.3g}"
