"""A monitor's evidence as one HTML page, with the plot over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import page as p
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.cover_parts import provenance_section
from fairaudit_reports.html.evidence_chart import STYLE, evidence_chart
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.html.repeat_section import settings_text
from fairaudit_reports.view.cover import name_labels
from fairaudit_reports.view.monitor_view import (
    build_batches_section,
    describe_guarantee,
    format_alarm,
    list_attributes,
)
from fairaudit_reports.view.sections import MONITOR
from fairaudit_reports.view.wording import join_names

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["render"]

LIMIT = "Evidence may stay low because the batches are small; that is no evidence of fairness."
MOST = 400


def render(result: MonitorResult) -> str:
    """The report as one HTML document."""
    verdict = result.verdict.value
    names = join_names(name_labels(list_attributes(result)))
    frame = p.Frame(
        title=f"{verdict}: equalized odds of {names} over time – fairaudit",
        about="monitor of equalized odds",
        version=result.version,
        created=result.batches[-1].when,
        limit=LIMIT,
        tone=p.TONES[verdict],
        style=STYLE,
    )
    inside = [
        p.banner(verdict, verdict, result.because),
        _facts(result),
        _plot(result),
        _batches(result),
        h.notes_section(MONITOR, result.notes) if result.notes else None,
        _state(result),
        provenance_section(result.version),
    ]
    return p.page(frame, inside)


def _facts(result: MonitorResult) -> Markup:
    alarm = f"batch {result.alarm}" if result.alarm else "none so far"
    since = f"batch {result.since}" if result.since else "–"
    return h.facts(
        [
            ("Evidence now", _evidence_now(result), f"alarm at {format_alarm(result)}"),
            ("Batches", f"{len(result.batches):,}", ""),
            ("Rows", f"{sum(batch.rows for batch in result.batches):,}", ""),
            ("Alarm", alarm, ""),
            ("Since", since, "an estimate" if result.since else ""),
            ("Sensitive attributes", ", ".join(name_labels(result.settings["sensitive"])), ""),
        ]
    )


def _evidence_now(result: MonitorResult) -> str:
    from fairaudit.monitoring.monitoring_result import evidence_text

    return evidence_text(result.batches[-1].log10_evidence)


def _plot(result: MonitorResult) -> Markup:
    description = (
        f"It starts at 1 and is {_evidence_now(result)} after batch {result.batches[-1].number}; "
        f"the alarm sounds at {format_alarm(result)}."
    )
    shaded = " Shaded: since when, most likely." if result.since else ""
    figure = tag(
        "figure",
        evidence_chart(
            result, title="Evidence against equalized odds over time", description=description
        ),
        tag("figcaption", f"Evidence after every batch, on a logarithmic scale.{shaded}"),
    )
    return h.section("evidence", MONITOR, [figure, h.paragraph(describe_guarantee(result))])


def _batches(result: MonitorResult) -> Markup:
    part, left = build_batches_section(result, MOST)
    caption = "All batches" if not left else "The last batches"
    unusable = [
        f"Batch {batch.number} added no evidence: {batch.unusable}."
        for batch in result.batches
        if batch.unusable
    ]
    return h.section(
        "batches",
        MONITOR,
        [
            h.paragraph(
                "Each batch multiplies the evidence. The p-values are those of each batch "
                "alone; looking for a small one among many is what the evidence avoids."
            ),
            h.section_table(caption, part, [h.heading(name) for name in part.head or []]),
            h.paragraph(f"{left:,} earlier batches are not listed.") if left else None,
            h.bullets(unusable) if unusable else None,
        ],
    )


def _state(result: MonitorResult) -> Markup:
    plain = {name: value for name, value in result.settings.items() if name != "schema"}
    return h.section(
        "state",
        MONITOR,
        [
            h.paragraph(
                "Every line of the state holds a hash of itself and of the lines before. "
                "This is the last one; a state with another history has a different one."
            ),
            h.paragraph(tag("span", result.head, class_="hash")),
            tag("h3", "Settings"),
            h.code_block(settings_text(plain)),
        ],
    )
