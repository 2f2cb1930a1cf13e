"""A monitor's evidence as PDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit.monitoring.monitoring_result import evidence_text
from fairaudit_reports.html.evidence_chart import STYLE, evidence_chart
from fairaudit_reports.html.monitor_page import LIMIT
from fairaudit_reports.pdf.typesetting import (
    Document,
    Part,
    picture,
    provenance_part,
    typeset_document,
)
from fairaudit_reports.view.cover import name_labels
from fairaudit_reports.view.monitor_view import (
    build_batches_section,
    describe_earlier,
    describe_guarantee,
    format_alarm,
)
from fairaudit_reports.view.sections import Section, build_facts_section
from fairaudit_reports.view.wording import join_names

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["render"]

MOST = 120  # batches


def render(result: MonitorResult) -> bytes:
    verdict, now = result.verdict.value, evidence_text(result.batches[-1].log10_evidence)
    names = join_names(name_labels(result.settings["sensitive"]))
    batches, left = build_batches_section(result, MOST)
    lines = (*result.notes, *([describe_earlier(left)] if left else []))
    settings = [
        (name, _describe(value)) for name, value in result.settings.items() if name != "schema"
    ]
    parts: list[Part] = [
        (batches, []),
        *([(Section(title="Notes", lines=lines, bullets=True), [])] if lines else []),
        (build_facts_section("The state", [("Hash of its last line", result.head), *settings]), []),
        *provenance_part(result.version),
    ]
    chart = picture(
        describe_guarantee(result),
        evidence_chart(result, title="Evidence over time", description=f"Now {now}."),
        verdict,
        style=STYLE,
    )
    return typeset_document(
        Document(
            title=f"Equalized odds of {names} over time: {verdict}",
            kicker="Equalized odds over time: verdict",
            verdict=verdict,
            tone=verdict,
            sentences=[result.because],
            because="",
            limit=LIMIT,
            facts=[
                ("Evidence now", f"{now}, alarm at {format_alarm(result)}"),
                ("Batches", f"{len(result.batches):,}"),
                ("Rows", f"{sum(batch.rows for batch in result.batches):,}"),
                ("Alarm", f"batch {result.alarm}" if result.alarm else "none so far"),
                ("Since", f"batch {result.since}, an estimate" if result.since else "–"),
                ("Sensitive attributes", names),
            ],
            pictures=[{"title": "Evidence over time", "labels": [], "items": [chart]}],
            parts=parts,
            version=result.version,
            created=result.batches[-1].when,
        )
    )


def _describe(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_describe(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_describe, value))
    return "–" if value is None else str(value)
