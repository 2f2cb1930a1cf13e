"""A plan of rows as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit.results import now
from fairaudit_reports.html import page as p
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.cover_parts import provenance_section
from fairaudit_reports.html.markup import tag
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
    frame = p.Frame(
        title=f"{part.title} – fairaudit",
        about="plan of rows",
        version=version("fairaudit-icp"),
        created=now(),
        limit="A plan holds for people like those of the pilot.",
        tone="none",
    )
    inside = [
        tag("h1", "Rows that the audit needs"),
        h.paragraph(part.title, class_="lead"),
        tag("figure", power_curves(plan), tag("figcaption", caption)),
        h.section_table("Rows by group", part),
        *(h.paragraph(line, class_="quiet") for line in part.lines),
        provenance_section(frame.version),
    ]
    return p.page(frame, inside)
