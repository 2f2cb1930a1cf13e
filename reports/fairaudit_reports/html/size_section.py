"""How large the dependence is: every measure, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.cover import name_labels
from fairaudit_reports.view.evidence_view import MEANINGS
from fairaudit_reports.view.groups_view import count_decimals
from fairaudit_reports.view.numerals import describe_measure, number, typeset
from fairaudit_reports.view.sections import AUDIT

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.measured import MeasuredValue

__all__ = ["size_section"]

_IN_UNITS = ("mean_error_difference", "prediction_gap")  # of the outcome


def size_section(result: AuditResult) -> Markup:
    limits = ", ".join(f"{name} up to {number(x)}" for name, x in result.tolerance.items())
    tolerated = f"Declared tolerable before the audit: {limits}."
    return h.section(
        "size",
        AUDIT,
        [
            h.paragraph(
                "How large the dependence is. These are estimates, not tests: sampling alone "
                "moves each of them."
            ),
            h.paragraph(tolerated) if limits else None,
            _measures(result),
        ],
    )


def _measures(result: AuditResult) -> Markup:
    if not result.measures:
        return h.paragraph("No measure fits this table.", class_="said")
    seen: set[str] = set()
    rows = []
    for measure in result.measures:
        meaning = None if measure.key in seen else MEANINGS.get(measure.key)
        digits = count_decimals(result.cells) if measure.key in _IN_UNITS else 3
        rows.append(_measure(measure, meaning, digits))
        seen.add(measure.key)
    columns = [("Measure", None), ("Value", "n"), ("Attributes", None), ("Note", None)]
    return h.table("Measures of the dependence", columns, [h.body(rows)])


def _measure(measure: MeasuredValue, meaning: str | None, digits: int) -> Markup:
    return h.row(
        h.row_head(measure.name, tag("small", meaning) if meaning else None),
        h.cell(typeset(measure.value, digits), "Value", "n"),
        h.cell(", ".join(name_labels(measure.attributes)), "Attributes", "name"),
        h.cell(describe_measure(measure, typeset) or None, "Note", "name"),
    )
