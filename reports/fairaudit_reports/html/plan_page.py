"""A plan of rows as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import tag
from fairaudit_reports.html.page import document
from fairaudit_reports.html.power_curves import power_curves
from fairaudit_reports.view.plan_view import build_plan_section

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import SamplePlan

__all__ = ["render"]


def render(plan: SamplePlan) -> str:
    """The answer, its curves and its table."""
    from importlib.metadata import version

    part = build_plan_section(plan)
    caption = (
        "Dots are shares found in simulated tables, lines fitted to them; the dotted line is the "
        "wanted power."
    )
    inside = [
        tag("h1", "Rows that the audit needs"),
        h.paragraph(part.title, class_="lead"),
        tag("figure", power_curves(plan), tag("figcaption", caption)),
        h.section_table("Rows by group", part),
        *(h.paragraph(line, class_="quiet") for line in part.lines),
    ]
    body = tag("body", tag("main", *inside), class_="none")
    return document(f"{part.title} – fairaudit", version("fairaudit-icp"), body)
