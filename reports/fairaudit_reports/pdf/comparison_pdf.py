"""A candidate beside production, and several audited models, as PDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html.comparison_page import LIKE, LIMIT, STYLE, draw_differences
from fairaudit_reports.html.remedy_style import LIMIT as LIMIT_OF_AUDITS
from fairaudit_reports.pdf.typesetting import (
    Document,
    Part,
    picture,
    provenance_part,
    source_facts,
    typeset_document,
)
from fairaudit_reports.view.comparison_view import (
    build_differences_section,
    build_groups_section,
    describe_comparison,
)
from fairaudit_reports.view.cover import name_label
from fairaudit_reports.view.models_view import build_models_section, list_sources
from fairaudit_reports.view.numerals import percent, typeset
from fairaudit_reports.view.sections import Section, build_facts_section
from fairaudit_reports.view.wording import join_names, several

if TYPE_CHECKING:
    from fairaudit.comparison.audited_models import AuditedModels
    from fairaudit.comparison.comparison_result import Comparison

__all__ = ["render", "render_models"]

MOST = 120  # groups


def render(result: Comparison) -> bytes:
    verdict, first = result.verdict.value, result.differences[0]
    groups, left = build_groups_section(result, MOST)
    more = (f"{several(left, 'more group')}: see the JSON record.",) if left else ()
    notes = (describe_comparison(result), *result.notes)
    production, candidate = result.models
    repeat = build_facts_section(
        "How to repeat it",
        [
            ("Created", result.created),
            *source_facts([("Production", production), ("Candidate", candidate)]),
            *source_facts([("Data", source) for source in result.data]),
        ],
    )
    parts: list[Part] = [
        (build_differences_section(result), []),
        (groups, []),
        (Section(title="Notes", lines=(*more, *notes), bullets=True), []),
        (repeat, [result.command or ""]),
    ]
    caption = (
        "Candidate minus production, with intervals; to the right is less fair. Dashed: the "
        "margin of the measure that decides."
    )
    chart = picture(caption, draw_differences(result), LIKE[verdict], style=STYLE)
    return typeset_document(
        Document(
            title=f"A candidate beside production: {verdict}",
            kicker="Fairness of the candidate beside production",
            verdict=verdict,
            tone=LIKE[verdict],
            sentences=[result.because],
            because="",
            limit=LIMIT,
            facts=[
                ("Measure", first.name),
                ("Production", typeset(first.baseline)),
                ("Candidate", typeset(first.candidate)),
                (f"Change at most ({percent(1 - result.alpha)})", typeset(result.at_most)),
                ("Margin", typeset(result.margin)),
                ("Rows", f"{result.rows:,}"),
            ],
            pictures=[{"title": "What changes", "labels": [], "items": [chart]}],
            parts=parts,
            version=result.version,
            created=result.created,
        )
    )


def render_models(result: AuditedModels) -> bytes:
    audit, part = result.models[0].audit, build_models_section(result)
    names = join_names([name_label(column.name) for column in audit.table.attributes])
    verdicts = [model.audit.verdict.value for model in result.models]
    violating = verdicts.count("violation")
    some = f"{violating} of {several(len(verdicts), 'model')}"
    repeat = provenance_part(audit.capsule.version, list_sources(result))
    return typeset_document(
        Document(
            title=f"Equalized odds of {names}, {several(len(verdicts), 'model')}",
            kicker=f"Equalized odds of {names}",
            verdict=several(len(verdicts), "model") + " compared",
            tone="violation" if violating else "no violation found",
            sentences=[f"A violation was found in {some}."],
            because="",
            limit=LIMIT_OF_AUDITS,
            facts=[("Rows", f"{audit.table.rows:,}"), ("Sensitive attributes", names)],
            parts=[(part, []), *repeat],
            version=audit.capsule.version,
            created=audit.capsule.created,
        )
    )
