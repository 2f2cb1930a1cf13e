"""What an audit returns: a frozen record that every report, gate and re-run starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar

from fairaudit.auditing.findings import Capsule, Finding, Verdict
from fairaudit.auditing.statements import Statement, choose_statements
from fairaudit.data.facts import TableFacts
from fairaudit.errors import InputError
from fairaudit.evidence.intervals.certificates import Certificate, GapTable
from fairaudit.evidence.localization.claims import Localization
from fairaudit.evidence.measured import CellTable, MeasuredValue
from fairaudit.evidence.portrait.contrast import Portrait
from fairaudit.evidence.power.power_result import Calibration, Power
from fairaudit.results import SUPPRESS, Result
from fairaudit.testing.trust import Trust

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AuditResult"]


@dataclass(frozen=True, slots=True)
class AuditResult(Result):
    """Verdict and evidence.

    Attributes
    ----------
    verdict : Verdict
    because : str
        The verdict in one sentence for people.
    alpha : float
    adjust : str
        ``"holm"`` or ``"fdr_bh"``, among the questions behind the gate.
    tolerance : dict
        Sizes up to which a significant effect is a note.
    table : TableFacts
    findings : tuple of Finding
        The gate first.
    measures : tuple of MeasuredValue
    cells : CellTable or None
    quality : Trust
    null : tuple of float
        The gate's statistic on every copy; in standard deviations where groups are masked.
    notes : tuple of str
        What a reader must know.
    capsule : Capsule
    seconds : float
        CPU of the whole audit.
    gaps : GapTable or None
        Simultaneous intervals for the gaps of all groups in rates, or in predictions given a
        continuous outcome; None where there are none.
    certificates : tuple of Certificate
        One per tolerance that was to be certified.
    power : Power or None
        The smallest violation that the joint test could have found; None: not computed.
    calibration : Calibration or None
        What the test says about placebos and planted violations; None: not asked for.
    localisation : Localization or None
        Where the violation sits; None: not asked for.
    portrait : Portrait or None
        Comparisons of people with the same outcome, and what pictures are drawn from.
    """

    verdict: Verdict
    because: str
    alpha: float
    adjust: str
    tolerance: dict[str, float]
    table: TableFacts
    findings: tuple[Finding, ...]
    measures: tuple[MeasuredValue, ...]
    cells: CellTable | None
    quality: Trust
    null: tuple[float, ...] = field(repr=False)
    notes: tuple[str, ...]
    capsule: Capsule = field(repr=False)
    seconds: float
    gaps: GapTable | None = None
    certificates: tuple[Certificate, ...] = ()
    power: Power | None = None
    calibration: Calibration | None = None
    localisation: Localization | None = None
    portrait: Portrait | None = None

    schema: ClassVar[str] = "fairaudit/audit/1"
    plural: ClassVar[str] = "audits"
    derived: ClassVar[tuple[str, ...]] = ("statements",)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Who is treated differently given the same outcome, and by how much: up to three facts."""
        levels = self.table.outcome.levels
        positive = str(self.capsule.options.get("positive") or (levels[-1] if levels else ""))
        return choose_statements(
            self.verdict,
            self.findings,
            classes=sorted(levels, key=lambda level: level == positive),
            alpha=self.alpha,
            gaps=self.gaps,
            cells=self.cells,
            portrait=self.portrait,
            place=self.localisation,
        )

    @classmethod
    def fields_of(cls, record: Mapping[str, Any]) -> Mapping[str, Any]:
        if record.get("findings") == []:
            raise InputError("The record is damaged: it has no findings. Write it again.")
        return record

    @property
    def joint(self) -> Finding:
        """The gate: all attributes together."""
        return self.findings[0]

    @property
    def p_value(self) -> float | None:
        """Of the gate."""
        return self.joint.p_value

    def to_frame(self, what: str = "findings") -> pd.DataFrame:
        """A part of the result as a tidy table.

        Parameters
        ----------
        what : str
            ``"findings"`` (one row per question), ``"statements"`` (one per fact of the first
            sentences), ``"measures"``, ``"groups"`` (a row per group and rate), ``"gaps"``,
            ``"ranges"`` (gaps of predictions over the outcome), ``"claims"`` and ``"curves"``
            (where the violation sits), ``"power"``, ``"certificates"``, ``"scores"`` and
            ``"predictions"`` (in bins, by group and outcome), ``"null"`` (a row per copy).

        Notes
        -----
        Nothing is masked here; ``result.suppressed(10).to_frame(…)`` shows no group of fewer
        than 10 people. pandas writes the tables: ``.to_csv``, ``.to_parquet``, ``.to_excel``.
        """
        from fairaudit.auditing.result_frames import make_frame

        return make_frame(self, what)

    @property
    def groups(self) -> pd.DataFrame:
        """Rates, or predictions and errors, of all groups: ``to_frame("groups")``."""
        return self.to_frame("groups")

    @property
    def curves(self) -> pd.DataFrame:
        """Mean scores over attributes of numbers: ``to_frame("curves")``."""
        return self.to_frame("curves")

    @property
    def masked(self) -> bool:
        """Whether groups are masked. What they enter is rounded then.

        Where there is no table of groups, nobody can tell that none of them is small.
        """
        if int(self.capsule.options.get("suppress", 0)) < 2:
            return False
        if self.cells is None:
            return any(column.levels for column in self.table.attributes)
        return self.cells.masked > 0

    def suppressed(self, fewest: int) -> AuditResult:
        """The same result with groups of fewer than `fewest` people masked.

        Lest they give the others away, gaps and equalized odds are then those of the groups that
        stay, everything else that people of masked groups enter is rounded (see `step_of` in
        `fairaudit.auditing.suppression`), and the statistics of data and copies are in standard
        deviations of the copies.
        """
        from fairaudit.auditing.suppression import mask_audit

        if fewest < 0:
            raise InputError(f"'suppress' must be 0 or more. Got {fewest}.", argument="suppress")
        return mask_audit(self, fewest)

    def plot(self, what: str = "null", ax: Any = None, **options: Any) -> Any:
        """A figure; returns the Axes (several where every rate has a panel).

        Parameters
        ----------
        what : str
            ``"null"`` (the copies' statistics with that of the data), ``"gaps"`` (``rate=``),
            ``"groups"`` (``measure=``), ``"scores"`` (given the outcome; ``attribute=``,
            ``outcome=``), ``"curves"`` (``attribute=``), ``"power"``.
        ax : matplotlib Axes, optional
            To draw on; by default a figure of its own.
        """
        from fairaudit.auditing.result_figures import draw

        if not isinstance(what, str):  # plot(ax), as before there were several
            what, ax = "null", what
        return draw(self, what, ax, **options)

    def __repr__(self) -> str:
        """What matters, in a few lines; the whole has 80,000 characters."""
        names = ", ".join(column.name for column in self.table.attributes)
        facts = f"{self.table.rows:,} rows; outcome {self.table.outcome.name}; sensitive {names}"
        parts = ".findings, .measures, .groups, .statements, .to_frame(…)"
        lines = (
            f"<AuditResult: {self.because}",
            f"{facts}; {len(self.findings)} questions.",
            f".summary() is the whole text, .save('report.html') a page; parts: {parts}>",
        )
        return "\n".join(fill(line, 96, subsequent_indent="  ") for line in lines)

    def _repr_html_(self) -> str:
        """For notebooks, which are shared: masked; in a frame, so that styles do not leak."""
        from html import escape

        page = escape(self.suppressed(SUPPRESS).render("html"), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'
