"""A plan of rows as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.markdown import markdown_parts as m
from fairaudit_reports.view.plan_view import build_plan_section

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import SamplePlan

__all__ = ["render"]


def render(plan: SamplePlan) -> str:
    """The answer, the rows by group, and what they rest on."""
    section = build_plan_section(plan)
    table = m.rows_table(section)
    return m.join_parts([f"## {section.title}", table, *section.lines]) + "\n"
