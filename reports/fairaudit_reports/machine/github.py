"""Annotations of a GitHub workflow: lines that its runner turns into marks on the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit.auditing.findings import Verdict
from fairaudit_reports.view.audit_view import describe_finding, name_question
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.comparison.comparison_result import Comparison

__all__ = ["render", "render_comparison", "workflow_line"]

MOST = 10  # GitHub shows no more per step
LEVELS = {
    Verdict.VIOLATION: "error",
    Verdict.NO_VIOLATION: "notice",
    Verdict.EQUIVALENT: "notice",
    Verdict.INCONCLUSIVE: "warning",
}
_COMPARED = {"not less fair": "notice", "less fair": "error", "inconclusive": "warning"}


def render(result: AuditResult) -> str:
    """The verdict, and of a violation the findings behind it as warnings; at most ten lines."""
    verdict = result.verdict
    because = clean(" ".join([*describe_statements(result), result.because]), LONGEST_NOTE)
    lines = [workflow_line(LEVELS[verdict], f"Equalized odds: {verdict.value}", because)]
    behind = [finding for finding in result.findings[1:] if finding.significant]
    if verdict is Verdict.VIOLATION:
        most = MOST - 1 if len(behind) < MOST else MOST - 2
        for finding in behind[:most]:
            title = f"Equalized odds: {name_question(finding)}"
            lines.append(workflow_line("warning", title, describe_finding(finding, result)))
        if len(behind) > most:
            left = f"{len(behind) - most} more significant findings; see the report."
            lines.append(workflow_line("warning", "Equalized odds: more findings", left))
    return "\n".join(lines) + "\n"


def render_comparison(result: Comparison) -> str:
    """The verdict about the candidate."""
    verdict = result.verdict.value
    title = f"Fairness of the candidate: {verdict}"
    return workflow_line(_COMPARED[verdict], title, clean(result.because, LONGEST_NOTE)) + "\n"


def workflow_line(level: str, title: str, message: str) -> str:
    """A workflow command.

    Examples
    --------
    >>> workflow_line("error", "a: b, c", "100 %: yes, no")
    '::error title=a%3A b%2C c::100 %25: yes, no'
    """
    name = _escaped(clean(title, 120)).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
