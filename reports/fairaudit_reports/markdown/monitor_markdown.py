"""A monitor's evidence as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.markdown import markdown_parts as m
from fairaudit_reports.view.monitor_view import (
    MOST_LISTED,
    build_batches_section,
    describe_earlier,
    describe_guarantee,
)
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["render"]


def render(result: MonitorResult) -> str:
    """For a file, a step's summary or a comment."""
    section, left = build_batches_section(result, MOST_LISTED)
    parts = [
        f"## Equalized odds over time: {result.verdict.value.upper()}",
        m.escape(clean(result.because, LONGEST_NOTE)),
        m.rows_table(section),
        describe_earlier(left) if left else "",
        describe_guarantee(result),
        *(f"- {m.escape(clean(note, LONGEST_NOTE))}" for note in result.notes),
        f"State: `{result.head}`",
    ]
    return m.join_parts(parts) + "\n"
