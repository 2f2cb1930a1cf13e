"""A plan of rows, and missing attributes, as PDF; these results do not say when they were made."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from fairaudit_reports.html.plan_page import CAPTION, draw_power
from fairaudit_reports.pdf.typesetting import Document, picture, provenance_part, typeset_document
from fairaudit_reports.view.incomplete_view import LONGEST_SENTENCE, TITLE
from fairaudit_reports.view.plan_view import build_plan_section
from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.evidence.incompleteness.incompleteness_result import IncompleteResult
    from fairaudit.evidence.power.power_result import SamplePlan

__all__ = ["render_incomplete", "render_plan"]

MOST_SENTENCES = 6  # on the first page


def render_plan(plan: SamplePlan) -> bytes:
    part, own = build_plan_section(plan), version("fairaudit-icp")
    rows = f"More than {plan.most_rows:,}" if plan.rows is None else f"{plan.rows:,}"
    labels, chart = draw_power(plan)
    curves = picture(CAPTION, chart, "no violation found")
    power = {"title": "Power and rows", "labels": labels, "items": [curves], "wide": True}
    by_group = Section(
        title="Rows by group", head=part.head, rows=part.rows, right=part.right, lines=part.lines
    )
    return typeset_document(
        Document(
            title=part.title,
            kicker="Rows that the audit needs",
            verdict=rows,
            tone="no violation found",
            sentences=[part.title],
            because="",
            limit="A plan holds for people like those of the pilot.",
            facts=[
                ("Pilot", f"{plan.pilot_rows:,} rows"),
                ("Power", f"{plan.power:g}"),
                ("Level", f"{plan.alpha:g}"),
            ],
            pictures=[power],
            parts=[(by_group, []), *provenance_part(own)],
            version=own,
            created=None,
        )
    )


def render_incomplete(result: IncompleteResult) -> bytes:
    own = version("fairaudit-icp")
    sentences = [clean(line, LONGEST_SENTENCE) for line in result.sentences()]
    rest = Section(title="More", lines=tuple(sentences[MOST_SENTENCES:]), bullets=True)
    notes = Section(title="Notes", lines=tuple(result.notes), bullets=True)
    return typeset_document(
        Document(
            title=TITLE,
            kicker="What the verdict rests on",
            verdict=TITLE,
            tone="inconclusive",
            sentences=sentences[:MOST_SENTENCES],
            because="",
            limit="What is missing cannot be known: other assumptions give other answers.",
            facts=[],
            parts=[
                *((section, []) for section in (rest, notes) if section.lines),
                *provenance_part(own),
            ],
            version=own,
            created=None,
        )
    )
