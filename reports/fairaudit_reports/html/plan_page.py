"""A plan of rows as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit.results import now
from fairaudit_reports.html import page as p
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.cover_parts import provenance_section
from fairaudit_reports.html.line_chart import Line, legend, line_chart, span_of
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.plan_view import build_plan_section

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import SamplePlan

__all__ = ["CAPTION", "draw_power", "render"]

CAPTION = (
    "How often the audit finds it, over its rows: lines are fitted to the share of simulated "
    "tables in which it did."
)
_MOST_LINES = 5  # beside that of the wanted power


def render(plan: SamplePlan) -> str:
    """The answer, its curves and its table."""
    from importlib.metadata import version

    part = build_plan_section(plan)
    labels, chart = draw_power(plan)
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
        tag("figure", legend(labels), chart, tag("figcaption", CAPTION)),
        h.section_table("Rows by group", part),
        *(h.paragraph(line, class_="quiet") for line in part.lines),
        provenance_section(frame.version),
    ]
    return p.page(frame, inside)


def draw_power(plan: SamplePlan) -> tuple[list[str], Markup]:
    """Labels and lines of the groups that need most rows, and the wanted power."""
    most = plan.most_rows + 1
    needy = sorted(plan.groups, key=lambda group: -(group.rows or most))[:_MOST_LINES]
    lines = [
        Line(
            label=group.group,
            x=[point.rows for point in group.curve],
            y=[point.found if point.fitted is None else point.fitted for point in group.curve],
        )
        for group in needy
    ]
    rows = span_of([x for line in lines for x in line.x])
    lines.append(Line(label=f"wanted: {plan.power:g}", x=list(rows), y=[plan.power] * 2))
    chart = line_chart(
        lines, across=rows, upwards=(0.0, 1.0), title="Power over rows", about_y="share found"
    )
    return [line.label for line in lines], chart
