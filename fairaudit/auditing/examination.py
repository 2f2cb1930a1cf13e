"""What the orchestrator asks of rows, wherever they are: in memory, or in shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.auditing.findings import Finding
    from fairaudit.auditing.questions import Answer
    from fairaudit.data.facts import TableFacts
    from fairaudit.evidence.intervals.certificates import Certificate
    from fairaudit.evidence.localization.claims import Localization
    from fairaudit.evidence.measurements import Measurements
    from fairaudit.evidence.portrait.contrast import Portrait
    from fairaudit.evidence.power.power_result import Calibration, Power
    from fairaudit.testing.permutation_result import TestResult

__all__ = ["Absent", "Rows", "explain_sample"]


@dataclass(frozen=True, slots=True)
class Absent:
    """A piece of evidence that these rows cannot give, and why."""

    what: str
    why: str


class Rows(Protocol):
    """Rows that an audit examines. A piece of evidence is a value, or `Absent` with its reason.

    None is evidence that was not asked for, or that says nothing about such a table.

    Attributes
    ----------
    started : float
        CPU seconds of this process when the audit began.
    facts : TableFacts
    warnings : sequence of str
        What a reader must know before the findings.
    layout : sequence of str
        How these rows were permuted, where that is not plain.
    unmeasured : sequence of Absent
        Measures that these rows do not have.
    options : mapping
        What the record keeps beside the settings.
    form, whole : str
        Of what rows are, and what would have all that is absent, in a sentence.
    """

    started: float
    facts: TableFacts
    form: str
    whole: str

    @property
    def warnings(self) -> Sequence[str]: ...

    @property
    def layout(self) -> Sequence[str]: ...

    @property
    def unmeasured(self) -> Sequence[Absent]: ...

    @property
    def options(self) -> Mapping[str, Any]: ...

    def measures(self) -> Measurements:
        """Sizes of the dependence, and the groups behind the rates."""
        ...

    def answers(self, sizes: Measurements, progress: Progress) -> list[Answer]:
        """To all questions, the gate first."""
        ...

    def certificates(self, sizes: Measurements) -> tuple[Certificate, ...]:
        """What was to be shown."""
        ...

    def power(self, gate: TestResult, progress: Progress) -> Power | Absent | None:
        """The smallest violation that the gate could have found."""
        ...

    def calibration(self, gate: TestResult, progress: Progress) -> Calibration | None:
        """What the gate says about predictions whose truth is known."""
        ...

    def localization(self, gate: Finding, progress: Progress) -> Localization | Absent | None:
        """Where the violation sits."""
        ...

    def portrait(self, progress: Progress) -> Portrait | Absent | None:
        """Who is treated differently given the same outcome, and what pictures need."""
        ...

    def digest(self) -> str:
        """SHA-256 of what entered the tests."""
        ...


def explain_sample(rows: int) -> str:
    """Why the first sentences and the pictures of a large table are less sharp than the test."""
    return (
        f"Who is treated differently, and pictures, are of {rows:,} rows drawn at random; "
        "p-values, KPC, rates and gaps are of all rows."
    )
