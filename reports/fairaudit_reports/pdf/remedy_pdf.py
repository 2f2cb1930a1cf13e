"""A remedy as PDF: the outcome, the answers, before and after, the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html.histogram import histogram
from fairaudit_reports.html.remedy_curve_section import draw_curve
from fairaudit_reports.html.remedy_style import LIMIT, STYLE
from fairaudit_reports.pdf.typesetting import (
    Document,
    Part,
    Pictures,
    picture,
    source_facts,
    typeset_document,
)
from fairaudit_reports.view.cover import name_label
from fairaudit_reports.view.evidence_view import describe_observed, list_finite_copies
from fairaudit_reports.view.groups_view import build_groups_section
from fairaudit_reports.view.numerals import number, p_decimal
from fairaudit_reports.view.remedy_answer_view import list_answers, title_advice
from fairaudit_reports.view.remedy_sections import build_changes_section, build_models_section
from fairaudit_reports.view.remedy_view import list_audits, list_models, list_notes
from fairaudit_reports.view.sections import Section, build_facts_section
from fairaudit_reports.view.selection import select_cells
from fairaudit_reports.view.wording import capitalize

if TYPE_CHECKING:
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["render"]

MOST_CELLS = 40


def render(result: RemedyResult) -> bytes:
    table, rows = result.after.table, result.rows
    names = ", ".join(name_label(column.name) for column in table.attributes)
    outcome, capsule = str(result.outcome), result.after.capsule
    audits = [f"{when}: {audit.verdict.value}" for when, _, audit in list_audits(result)]
    return typeset_document(
        Document(
            title=f"{capitalize(outcome)}: equalized odds of {names}",
            kicker="Outcome of the repair",
            verdict=outcome,
            tone=str(result.verdict),
            sentences=[result.headline],
            because=f"{'; '.join(audits)}.",
            limit=LIMIT,
            facts=[
                ("Audited rows", f"{rows['audit']:,}, used for nothing else"),
                ("Rows to train", f"{rows['train']:,}"),
                ("Sensitive attributes", names),
                ("Outcome", name_label(table.outcome.name)),
                ("Method", f"{result.method}, {result.symbol} = {result.mu:g}"),
                ("Level", number(result.after.alpha)),
            ],
            pictures=_list_pictures(result),
            parts=_list_parts(result),
            version=capsule.version,
            created=capsule.created,
        )
    )


def _list_pictures(result: RemedyResult) -> list[Pictures]:
    caption = (
        "Lower is more accurate. KPC is 0 under equalized odds. Ring: the chosen model. Dashed: "
        "plain training mixed with a constant, which anyone can have."
    )
    curve = picture(
        caption, draw_curve(result, list_models(result)), "no violation found", style=STYLE
    )
    nulls = []
    for when, _, audit in list_audits(result):
        copies = list_finite_copies(audit)
        if copies:
            said = describe_observed(copies, audit.joint.value)
            chart = histogram(copies, audit.joint.value, title=when, description=said)
            text = f"{when}: p = {p_decimal(audit.joint.p_value)}. {said}"
            nulls.append(picture(text, chart, audit.verdict.value))
    groups: list[Pictures] = [
        {"title": "The trade-off", "labels": [], "items": [curve], "wide": True}
    ]
    return groups + ([{"title": "The tests", "labels": [], "items": nulls}] if nulls else [])


def _list_parts(result: RemedyResult) -> list[Part]:
    title, capsule = title_advice(result), result.after.capsule
    sections = [
        build_facts_section("What came of it", list_answers(result)),
        *([Section(title=title, lines=tuple(result.advice), bullets=True)] if title else []),
        build_changes_section(result),
        build_models_section(result),
        *_build_groups(result),
        Section(title="Notes", lines=tuple(list_notes(result)), bullets=True),
    ]
    repeat = build_facts_section(
        "How to repeat it",
        [
            ("Created", capsule.created),
            ("Seed", f"{result.seed}; {capsule.copies:,} copies in both audits"),
            *source_facts([("New model", result.saved)]),
            *source_facts([("Data", source) for source in capsule.data]),
        ],
    )
    shown = [section for section in sections if section.rows or section.lines]
    return [*((section, []) for section in shown), (repeat, [result.command or ""])]


def _build_groups(result: RemedyResult) -> list[Section]:
    found = []
    for when, _, audit in list_audits(result):
        if audit.cells is not None:
            cells, left = select_cells(audit.cells, audit.gaps, MOST_CELLS)
            where = "see the JSON record"
            section = build_groups_section(audit.cells, cells, left=left, elsewhere=where)
            found.append(
                Section(
                    title=f"Groups, {when.lower()}",
                    head=section.head,
                    rows=section.rows,
                    right=section.right,
                    lines=section.lines,
                )
            )
    return found
