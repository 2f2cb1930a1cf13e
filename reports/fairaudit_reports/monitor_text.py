"""A monitor's evidence as plain text and as Markdown."""

from __future__ import annotations

import math
import textwrap

from fairaudit.monitoring.monitoring_result import MonitoredBatch, MonitorResult, evidence_text
from fairaudit_reports.markdown import escape
from fairaudit_reports.terminal import WIDTH, clean, p_text
from fairaudit_reports.text import markdown_table, table

__all__ = ["GUARANTEE", "batch_rows", "markdown", "render"]

MOST = 30  # batches that are listed; of more the last
GUARANTEE = (
    "If equalized odds holds in every batch, the evidence ever reaches {enough} with a probability "
    "of at most {alpha:g}: look and stop whenever you like."
)


def render(result: MonitorResult) -> str:
    """Plain text of at most 96 columns."""
    head, rows, left = batch_rows(result, MOST)
    marked = [
        [*row, _bar(batch, result)] for row, batch in zip(rows, result.batches[left:], strict=True)
    ]
    mark, _, because = clean(result.because, 1600).partition(": ")
    parts = [
        textwrap.fill(f"{mark.upper()}: {because}", WIDTH),
        table([[*head, ""], *marked]) + _more(left),
        textwrap.fill(guarantee(result), WIDTH),
    ]
    parts += [textwrap.fill(f"note: {clean(note, 1600)}", WIDTH) for note in result.notes]
    return "\n\n".join(parts) + "\n"


def markdown(result: MonitorResult) -> str:
    """For a file, a step's summary or a comment."""
    head, rows, left = batch_rows(result, MOST)
    cells = [[escape(cell).replace("\\|", "|") for cell in row] for row in rows]
    parts = [
        f"## Equalized odds over time: {result.verdict.value.upper()}",
        escape(clean(result.because, 1600)),
        markdown_table([head, *cells]) + _more(left),
        guarantee(result),
        *(f"- {escape(clean(note, 1600))}" for note in result.notes),
        f"State: `{result.head}`",
    ]
    return "\n\n".join(parts) + "\n"


def guarantee(result: MonitorResult) -> str:
    return GUARANTEE.format(enough=f"{1 / result.alpha:.4g}", alpha=result.alpha)


def batch_rows(
    result: MonitorResult, most: int | None = None
) -> tuple[list[str], list[list[str]], int]:
    """A head, one row per batch, and how many earlier ones are left out."""
    left = max(0, len(result.batches) - most) if most else 0
    head = ["batch", "name", "rows", "p alone", "times", "evidence"]
    return head, [_row(batch, result) for batch in result.batches[left:]], left


def _row(batch: MonitoredBatch, result: MonitorResult) -> list[str]:
    evidence = evidence_text(batch.log10_evidence)
    if batch.number == result.alarm:
        evidence += "  alarm"
    elif batch.unusable:
        evidence += "  not used"
    return [
        str(batch.number),
        clean(batch.name, 40),
        f"{batch.rows:,}",
        p_text(batch.p_value),
        evidence_text(math.log10(batch.e_value)),
        evidence,
    ]


def _bar(batch: MonitoredBatch, result: MonitorResult) -> str:
    """How far the evidence is on its way to the alarm."""
    share = batch.log10_evidence / -math.log10(result.alpha)
    return "█" * round(12 * min(max(share, 0.0), 1.0))


def _more(left: int) -> str:
    return f"\n\n{left:,} earlier batches are not listed; the JSON report has all." if left else ""
