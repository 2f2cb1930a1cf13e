"""A monitor's evidence as one HTML page, with the plot over time."""

from __future__ import annotations

import json

from fairaudit.monitoring.monitoring_result import MonitorResult, evidence_text
from fairaudit_reports import html_parts as h
from fairaudit_reports import verdict_page as v
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.monitor_text import batch_rows, guarantee
from fairaudit_reports.svg_evidence import STYLE, evidence_chart

__all__ = ["render"]

LIMIT = "Evidence may stay low because the batches are small; that is no evidence of fairness."
MOST = 400


def render(result: MonitorResult) -> str:
    """The report as one HTML document."""
    verdict = result.verdict.value
    names = h.names([one.partition(":")[0] for one in result.settings["sensitive"]])
    return v.page(
        f"{verdict}: equalized odds of {names} over time – fairaudit",
        "monitor of equalized odds",
        verdict,
        result.version,
        result.batches[-1].when,
        LIMIT,
        v.banner(verdict, verdict, result.because),
        _facts(result),
        _plot(result),
        _batches(result),
        v.notes(result.notes),
        _state(result),
        style=STYLE,
    )


def _facts(result: MonitorResult) -> Markup:
    last = result.batches[-1]
    return v.facts(
        [
            (
                "Evidence now",
                evidence_text(last.log10_evidence),
                f"alarm at {1 / result.alpha:.4g}",
            ),
            ("Batches", f"{len(result.batches):,}", ""),
            ("Rows", f"{sum(batch.rows for batch in result.batches):,}", ""),
            ("Alarm", f"batch {result.alarm}" if result.alarm else "none so far", ""),
            (
                "Since",
                f"batch {result.since}" if result.since else "–",
                "an estimate" if result.since else "",
            ),
            ("Sensitive attributes", ", ".join(result.settings["sensitive"]), ""),
        ]
    )


def _plot(result: MonitorResult) -> Markup:
    last = result.batches[-1]
    told = (
        f"It starts at 1 and is {evidence_text(last.log10_evidence)} after batch "
        f"{last.number}; the alarm sounds at {1 / result.alpha:.4g}."
    )
    shaded = " Shaded: since when, most likely." if result.since else ""
    figure = tag(
        "figure",
        evidence_chart(result, title="Evidence against equalized odds over time", description=told),
        tag("figcaption", f"Evidence after every batch, on a logarithmic scale.{shaded}"),
    )
    return v.section("evidence", "Evidence over time", figure, h.paragraph(guarantee(result)))


def _batches(result: MonitorResult) -> Markup:
    head, rows, left = batch_rows(result, MOST)
    head = ["Batch", "Name", "Rows", "p alone", "Times", "Evidence"]
    kinds = [None, None, "n", "n", "n", "n"]
    body = (
        h.row(
            h.row_head(row[0]),
            *(
                h.cell(text, name, kind)
                for text, name, kind in zip(row[1:], head[1:], kinds[1:], strict=True)
            ),
        )
        for row in rows
    )
    more = h.paragraph(f"{left:,} earlier batches are not listed.") if left else None
    unusable = [
        f"Batch {batch.number} added no evidence: {batch.unusable}."
        for batch in result.batches
        if batch.unusable
    ]
    return v.section(
        "batches",
        "Batches",
        h.paragraph(
            "Each batch multiplies the evidence. The p-values are those of each batch "
            "alone; looking for a small one among many is what the evidence avoids."
        ),
        h.table(
            "All batches" if not left else "The last batches",
            list(zip(head, kinds, strict=True)),
            [h.body(body)],
        ),
        more,
        tag("ul", *(tag("li", text) for text in unusable)) if unusable else None,
    )


def _state(result: MonitorResult) -> Markup:
    plain = {name: value for name, value in result.settings.items() if name != "schema"}
    options = "\n".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()
    )
    return v.section(
        "state",
        "The state",
        h.paragraph(
            "Every line of the state holds a hash of itself and of the lines before. "
            "This is the last one; a state that begins otherwise is another one."
        ),
        h.paragraph(tag("span", result.head, class_="hash")),
        join([tag("h3", "Settings"), tag("pre", tag("code", options))]),
    )
