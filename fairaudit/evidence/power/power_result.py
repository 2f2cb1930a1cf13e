"""What is said about power."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from fairaudit._words import in_figure
from fairaudit.results import Result

if TYPE_CHECKING:
    from fairaudit.data.table import AuditTable

__all__ = [
    "FEWEST_PILOT_ROWS",
    "WEIGHTS_LEFT_OUT",
    "Calibration",
    "Detectable",
    "GroupPlan",
    "Power",
    "PowerPoint",
    "SamplePlan",
    "describe_weights",
]

FEWEST_PILOT_ROWS = 100  # that a plan can be made from
#: How the effect of a plan for certificates starts; the measures follow.
CERTIFY = "certify "
#: How the effect of a plan for the width of intervals starts.
WIDTH = "width "
#: Of a plan for the test, where the pilot has weights.
WEIGHTS_LEFT_OUT = (
    "The test counts every row once, whatever its weight, and so does this plan: the violation "
    "that is planned for is one of rows, not of weights."
)
_WEIGHTS_USED = (
    "Weights enter: rows to come are taken to weigh what rows of the same outcome, group and "
    "prediction weigh in the pilot."
)


def describe_weights(table: AuditTable) -> tuple[str, ...]:
    """A note of a plan for intervals or bounds, which rest on weights where there are any."""
    return () if table.weights is None else (_WEIGHTS_USED,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The smallest violation against or for one group that the audit would have found.

    Attributes
    ----------
    group : str
        ``"sex = f"``, ``"age > 43"``; compared with all others.
    rows : int or None
        In the group. None if masked.
    shift : float or None
        Difference of mean scores among rows with the same outcome, in their standard deviation;
        scores are put on the normal scale by their ranks, as the test does. None: not even
        the largest violation that was planted.
    tpr_gap, fpr_gap : float or None
        What that means for labels, where there are any.
    kpc : float or None
        What it means for KPC.
    prediction_gap : float or None
        What it means for predictions given a continuous outcome, in its units.
    """

    group: str
    rows: int | None
    shift: float | None
    tpr_gap: float | None
    fpr_gap: float | None
    kpc: float | None
    prediction_gap: float | None = None


@dataclass(frozen=True, slots=True)
class Power:
    """What the audit could have found.

    Attributes
    ----------
    power : float
        Share of such tables in which the joint test would have rejected.
    planted : int
        Tables with a planted violation that were tested.
    detectable : tuple of Detectable
    """

    power: float
    planted: int
    detectable: tuple[Detectable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the test says about predictions whose truth is known.

    Attributes
    ----------
    p_values : tuple of float
        Of the placebos: uniform on 1/40, …, 1 if the copies are right.
    uniform : float
        p-value of the one-sided Kolmogorov–Smirnov test that they are not too small.
    alarms : float
        Share of placebos with p ≤ alpha.
    group : str
        In which the violation was planted.
    shift : float
        Its size: mean scores given the outcome, in standard deviations on the normal scale.
    found : float
        Share of planted violations that the joint test finds.
    because : str
        Why the audit cannot be believed; empty if it can.
    """

    p_values: tuple[float, ...]
    uniform: float
    alarms: float
    group: str
    shift: float
    found: float
    because: str

    @property
    def passed(self) -> bool:
        return not self.because


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """Power at one number of rows: the share found among `tables`, and the fitted curve."""

    rows: int
    found: float
    tables: int
    fitted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """Rows that it takes to see the effect in one group.

    Attributes
    ----------
    group : str
    share : float or None
        Of the pilot's rows. None if masked.
    rows : int or None
        In total; None: more than were tried.
    rows_of_group, rows_by_outcome : int, tuple of (outcome, int)
        What this means for the group.
    curve : tuple of PowerPoint
    """

    group: str
    share: float | None
    rows: int | None
    rows_of_group: int | None
    rows_by_outcome: tuple[tuple[str, int], ...]
    curve: tuple[PowerPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan(Result):
    """How many rows an audit needs.

    Attributes
    ----------
    effect : str
        ``"tpr_gap"``, ``"fpr_gap"``, ``"score_shift"``, ``"kpc"``, ``"prediction_gap"``; or
        ``"certify …"``, ``"width …"``.
    size, power, alpha : float
    goal : str
        In words.
    groups : tuple of GroupPlan
    pilot_rows, most_rows : int
    statistic : str
    seconds : float
        CPU.
    """

    effect: str
    size: float
    power: float
    alpha: float
    goal: str
    groups: tuple[GroupPlan, ...]
    pilot_rows: int
    most_rows: int
    statistic: str
    seconds: float
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})

    schema: ClassVar[str] = "fairaudit/plan/1"
    plural: ClassVar[str] = "plans"
    derived: ClassVar[tuple[str, ...]] = ("rows",)

    @property
    def certifies(self) -> bool:
        """Whether the rows are to show that a measure is small, not to find a violation."""
        return self.effect.startswith(CERTIFY)

    @property
    def narrows(self) -> bool:
        """Whether the rows are to make intervals narrow, not to find a violation."""
        return self.effect.startswith(WIDTH)

    @property
    def rows(self) -> int | None:
        """For the group that needs most; None: more than were tried."""
        needed = [plan.rows for plan in self.groups]
        return None if None in needed else max(n for n in needed if n is not None)

    def suppressed(self, fewest: int) -> SamplePlan:
        """The same with shares of the pilot's groups rounded, and those of small groups masked."""
        from fairaudit.evidence.disclosure import coarse, step_of

        if fewest < 2:
            return self
        step = step_of(fewest, self.pilot_rows)

        def hidden(plan: GroupPlan) -> GroupPlan:
            people = (plan.share or 0.0) * self.pilot_rows
            if people < fewest or 0 < round(self.pilot_rows - people) < fewest:
                return replace(plan, share=None, rows_of_group=None, rows_by_outcome=())
            share = coarse(plan.share, step) or 0.0
            if plan.rows is None:
                return replace(plan, share=share)
            rows = round(plan.rows * share)
            of_outcomes = _round_by_outcome(plan, rows, step_of(fewest, people))
            return replace(plan, share=share, rows_of_group=rows, rows_by_outcome=of_outcomes)

        return replace(self, groups=tuple(map(hidden, self.groups)))

    def plot(self, ax: Any = None) -> Any:
        """Power against rows, one line per group; returns the Axes."""
        import matplotlib.pyplot as plt

        ax = ax or plt.subplots()[1]
        for plan in self.groups:
            n = [point.rows for point in plan.curve]
            (line,) = ax.plot(
                n, [point.fitted for point in plan.curve], label=in_figure(plan.group)
            )
            ax.plot(n, [point.found for point in plan.curve], "o", color=line.get_color())
        ax.axhline(self.power, color="0.6", linestyle=":")
        ax.set(
            xscale="log", xlabel="rows", ylabel="power", ylim=(0, 1.02), title=in_figure(self.goal)
        )
        ax.legend()
        return ax


def _round_by_outcome(plan: GroupPlan, rows: int, step: float) -> tuple[tuple[str, int], ...]:
    """The group's rows by outcome, in rounded shares of them; none where one share rounds to 0."""
    from fairaudit.evidence.disclosure import coarse

    total = sum(count for _, count in plan.rows_by_outcome)
    shares = [coarse(count / max(total, 1), step) or 0.0 for _, count in plan.rows_by_outcome]
    if min(shares, default=0.0) <= 0.0:
        return ()
    return tuple(
        (name, round(rows * share / sum(shares)))
        for (name, _), share in zip(plan.rows_by_outcome, shares, strict=True)
    )


@dataclass(frozen=True, slots=True)
class CarriedPower:
    """What the test of one model makes of the violation that another has on the same rows.

    Attributes
    ----------
    power : float
        Chance that the test rejects where the new model has the old one's violation.
    share : float or None
        The smallest share of the rows in which that violation would have to be left, so that
        the test sees it with 80 % power; None: not even if it is left in all.
    kpc : float or None
        What this share means for KPC, centered by copies as reports have it.
    """

    power: float
    share: float | None
    kpc: float | None
