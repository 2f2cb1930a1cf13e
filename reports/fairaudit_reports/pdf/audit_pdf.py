"""An audit as PDF: an executive summary on the first page, then pictures and all numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fairaudit_reports.html.audit_page import LIMIT
from fairaudit_reports.html.first_figure import list_first_pictures
from fairaudit_reports.html.histogram import histogram
from fairaudit_reports.html.scores_section import list_score_pictures
from fairaudit_reports.pdf.typesetting import (
    Document,
    Part,
    Pictures,
    picture,
    typeset_document,
    typeset_page,
)
from fairaudit_reports.view.audit_view import (
    build_audited_section,
    build_measures_section,
    build_notes_section,
    build_questions_section,
)
from fairaudit_reports.view.cover import name_label, name_labels
from fairaudit_reports.view.evidence_view import describe_observed, list_finite_copies
from fairaudit_reports.view.gaps_view import (
    build_certificates_section,
    build_curve_section,
    build_gaps_section,
)
from fairaudit_reports.view.groups_view import build_groups_section
from fairaudit_reports.view.next_steps_view import list_next_steps
from fairaudit_reports.view.numerals import number, p_decimal, typeset
from fairaudit_reports.view.place_view import build_place_section
from fairaudit_reports.view.power_view import build_power_section
from fairaudit_reports.view.sections import Section, build_facts_section
from fairaudit_reports.view.selection import select_cells
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.trust_view import build_copies_section
from fairaudit_reports.view.wording import LONGEST_NOTE

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["render", "render_page"]

MOST_CELLS = 60


def render(result: AuditResult) -> bytes:
    """The bytes of a tagged PDF, the same for the same result."""
    return typeset_document(_document(result))


def render_page(result: AuditResult) -> bytes:
    """The first page as a picture."""
    return typeset_page(_document(result))


def _document(result: AuditResult) -> Document:
    verdict, names = result.verdict.value, ", ".join(name_labels(result.joint.attributes))
    return Document(
        title=f"Equalized odds of {names}: {verdict}",
        kicker="Equalized odds: verdict",
        verdict=verdict,
        tone=verdict,
        sentences=describe_statements(result),
        because=result.because,
        limit="" if verdict == "equivalent within tolerance" else LIMIT,
        facts=_list_facts(result),
        beside=[picture("", svg, verdict, alt=title) for title, svg in list_first_pictures(result)],
        pictures=_list_pictures(result),
        parts=_list_parts(result),
        version=result.capsule.version,
        created=result.capsule.created,
    )


def _list_facts(result: AuditResult) -> list[tuple[str, str]]:
    return [
        ("Rows", f"{result.table.rows:,}"),
        ("Sensitive attributes", ", ".join(name_label(c.name) for c in result.table.attributes)),
        ("Outcome", name_label(result.table.outcome.name)),
        ("p-value", p_decimal(result.p_value)),
        ("Size (KPC)", typeset(result.joint.kpc)),
        ("Level", number(result.alpha)),
    ]


def _list_pictures(result: AuditResult) -> list[Pictures]:
    groups: list[Pictures] = []
    before = ""
    for title, labels, pictures in list_score_pictures(result):
        items = [picture(caption, svg, result.verdict.value) for caption, svg in pictures]
        groups.append({"title": "" if title == before else title, "labels": labels, "items": items})
        before = title
    null = list_finite_copies(result)
    if null:
        caption = describe_observed(null, result.joint.value)
        chart = histogram(
            null, result.joint.value, title="The statistic on copies", description=caption
        )
        groups.append(
            {
                "title": "The test",
                "labels": [],
                "items": [picture(caption, chart, result.verdict.value)],
            }
        )
    return groups


def _list_parts(result: AuditResult) -> list[Part]:
    steps = list_next_steps(result)
    parts: list[tuple[Section | None, list[str]]] = [
        (Section(title=f"Next: {step.title}", lines=(step.text,)), [step.command or ""])
        for step in steps
    ]
    questions, _ = build_questions_section(result, 60)
    sections: list[Section | None] = [
        build_certificates_section(result),
        build_gaps_section(result, 2 * MOST_CELLS),
        build_curve_section(result, MOST_CELLS),
        _build_groups(result),
        build_audited_section(result),
        questions,
        build_place_section(result.localisation, LONGEST_NOTE),
        build_measures_section(result),
        build_power_section(result.power),
        build_copies_section(result),
        build_notes_section(result, LONGEST_NOTE),
    ]
    capsule = result.capsule
    facts = [
        ("Created", capsule.created),
        ("Seed", f"{capsule.seed}; {capsule.copies:,} copies"),
        ("Audited columns", f"SHA-256 {capsule.table_sha256}"),
        *(
            (source.path or source.kind, f"SHA-256 {source.sha256}")
            for source in (*([capsule.model] if capsule.model else []), *capsule.data)
        ),
    ]
    repeat = build_facts_section("How to repeat it", facts)
    parts += [(section, []) for section in sections]
    parts.append((repeat, [capsule.command or "", capsule.verify or ""]))
    return [(part, commands) for part, commands in parts if part is not None]


def _build_groups(result: AuditResult) -> Section | None:
    if result.cells is None:
        return None
    cells, left = select_cells(result.cells, result.gaps, MOST_CELLS)
    section = build_groups_section(result.cells, cells, left=left, elsewhere="see the JSON record")
    return replace(section, title="Groups")
