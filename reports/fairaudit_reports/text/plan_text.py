"""A plan of rows as plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import WIDTH, rows_table
from fairaudit_reports.view.plan_view import build_plan_section
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import SamplePlan

__all__ = ["render"]


def render(plan: SamplePlan) -> str:
    """Plain text of at most 96 columns."""
    section = build_plan_section(plan)
    title, *about = (
        textwrap.fill(clean(line, LONGEST_NOTE), WIDTH) for line in (section.title, *section.lines)
    )
    return "\n\n".join([title, rows_table(section), *about]) + "\n"
