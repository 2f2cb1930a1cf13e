"""What an audit returns: a frozen record that every report, gate and re-run starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.findings import Capsule, Finding, Verdict
from fairaudit.data.facts import ColumnFacts, Excluded, Source, TableFacts
from fairaudit.errors import InputError
from fairaudit.evidence.intervals.certificates import Certificate, Gap, GapTable
from fairaudit.evidence.localization.claims import Localisation, localisation_from
from fairaudit.evidence.measured import Cell, CellTable, Estimate, MeasuredValue
from fairaudit.evidence.power.power_result import Calibration, Detectable, Power
from fairaudit.results import _plain, format_of, known_format, report_formats
from fairaudit.testing.trust import Trust

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCHEMA", "AuditResult", "Capsule", "Finding", "Verdict"]

#: Name and version of the JSON form; the number grows when a field changes its meaning.
SCHEMA = "fairaudit/audit/1"
#: Groups of fewer people are masked unless the caller says otherwise.
SUPPRESS = 10


@dataclass(frozen=True, slots=True)
class AuditResult:
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
        Simultaneous intervals for the gaps of all groups; None where there are no rates.
    certificates : tuple of Certificate
        One per tolerance that was to be certified.
    power : Power or None
        The smallest violation that the joint test could have found; None: not computed.
    calibration : Calibration or None
        What the test says about placebos and planted violations; None: not asked for.
    localisation : Localisation or None
        Where the violation sits; None: not asked for.
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
    localisation: Localisation | None = None

    @property
    def joint(self) -> Finding:
        """The gate: all attributes together."""
        return self.findings[0]

    @property
    def p_value(self) -> float | None:
        """Of the gate."""
        return self.joint.p_value

    def summary(self) -> str:
        """The verdict and the findings, as plain text."""
        return self.render("txt")

    def to_frame(self) -> pd.DataFrame:
        """One row per finding."""
        import pandas as pd

        frame = pd.DataFrame([asdict(finding) for finding in self.findings])
        low, high = zip(*frame.pop("p_interval"), strict=True)
        frame["attributes"] = [", ".join(names) for names in frame["attributes"]]
        frame.insert(frame.columns.get_loc("p_value") + 1, "p_low", low)
        frame.insert(frame.columns.get_loc("p_low") + 1, "p_high", high)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; undefined numbers are None."""
        return {"schema": SCHEMA, **_plain(asdict(self))}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> AuditResult:
        """The inverse of `to_dict`."""
        if not isinstance(record, Mapping) or record.get("schema") != SCHEMA:
            found = record.get("schema") if isinstance(record, Mapping) else None
            raise InputError(
                f"This is not an audit record of the form {SCHEMA!r} (its schema is {found!r}). "
                "Pass a JSON report of `fairaudit test`."
            )
        try:
            return _audit_from(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"The audit record is damaged ({type(error).__name__}: {error}). "
                "Write it again: a JSON report of `fairaudit test`."
            ) from None

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
        """The same result with cells of fewer than `fewest` people masked.

        Lest they give the others away, gaps and equalized odds are then those of the cells that
        stay, everything else that people of masked cells enter is rounded (see `step_of` in
        `fairaudit.auditing.suppression`), and the statistics of data and copies are in standard
        deviations of the copies.
        """
        from fairaudit.auditing.suppression import suppressed_audit

        if fewest < 0:
            raise InputError(f"The 'suppress' option must be 0 or more. Got {fewest}.")
        return suppressed_audit(self, fewest)

    def plot(self, ax: Any = None) -> Any:
        """Histogram of the copies' statistics with the observed value; returns the Axes."""
        from fairaudit.testing.permutation_result import plot_null

        joint = self.joint
        return plot_null(self.null, joint.value, joint.p_value, joint.statistic, ax)

    def render(self, form: str) -> str:
        """The result in one of the installed report formats (``"html"``, ``"md"``, …)."""
        return report_formats()[known_format(form)].load()(self)

    def save(self, path: str | Path, *, suppress: int = SUPPRESS) -> Path:
        """Write a report; the extension of `path` names the format.

        Cells of fewer than `suppress` people are masked; 0 shows all.
        """
        from fairaudit.data.reading.write import write_text

        target = Path(path)
        form = known_format(format_of(target))
        write_text(target, self.suppressed(suppress).render(form))
        return target

    def _repr_html_(self) -> str:
        """For notebooks, which are shared: masked; in a frame, so that styles do not leak."""
        from html import escape

        page = escape(self.suppressed(SUPPRESS).render("html"), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'


def _made(cls: type, record: Mapping[str, Any], **parts: Any) -> Any:
    """An instance from a mapping; lists become tuples, `parts` replace what is nested."""
    names = {one.name for one in fields(cls)}
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in record.items()
        if name in names
    }
    return cls(**(values | parts))


def _audit_from(record: Mapping[str, Any]) -> AuditResult:
    table, capsule, cells = record["table"], record["capsule"], record["cells"]
    gaps, power = record.get("gaps"), record.get("power")
    calibration = record.get("calibration")
    return _made(
        AuditResult,
        record,
        verdict=Verdict(record["verdict"]),
        table=_made(
            TableFacts,
            table,
            outcome=_made(ColumnFacts, table["outcome"]),
            attributes=tuple(_made(ColumnFacts, one) for one in table["attributes"]),
            excluded=tuple(_made(Excluded, one) for one in table["excluded"]),
        ),
        findings=tuple(_made(Finding, one) for one in record["findings"]),
        measures=tuple(_made(MeasuredValue, one) for one in record["measures"]),
        cells=None
        if cells is None
        else _made(
            CellTable,
            cells,
            cells=tuple(
                _made(Cell, one, estimates=tuple(_made(Estimate, e) for e in one["estimates"]))
                for one in cells["cells"]
            ),
        ),
        quality=_made(Trust, record["quality"]),
        capsule=_made(
            Capsule,
            capsule,
            model=None if capsule["model"] is None else _made(Source, capsule["model"]),
            data=tuple(_made(Source, one) for one in capsule["data"]),
        ),
        gaps=None
        if gaps is None
        else _made(GapTable, gaps, gaps=tuple(_made(Gap, one) for one in gaps["gaps"])),
        certificates=tuple(_made(Certificate, one) for one in record.get("certificates", ())),
        power=None
        if power is None
        else _made(
            Power, power, detectable=tuple(_made(Detectable, one) for one in power["detectable"])
        ),
        calibration=None if calibration is None else _made(Calibration, calibration),
        localisation=localisation_from(record.get("localisation")),
    )
