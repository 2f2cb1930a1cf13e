"""What is said of a monitor: its batches and what its evidence guarantees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairaudit._words import figures
from fairaudit_reports.view.numerals import p_text
from fairaudit_reports.view.sections import Row, Section
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitoredBatch, MonitorResult

__all__ = [
    "MOST_LISTED",
    "build_batches_section",
    "describe_earlier",
    "describe_guarantee",
    "format_alarm",
    "list_attributes",
]

MOST_LISTED = 30  # batches in text and Markdown; of more the last


def format_alarm(result: MonitorResult) -> str:
    """The evidence that sounds the alarm."""
    return f"{1 / result.alpha:.4g}"


def describe_guarantee(result: MonitorResult) -> str:
    return (
        f"If equalized odds holds in every batch, the probability that the evidence ever reaches "
        f"{format_alarm(result)} is at most {result.alpha:g}: look and stop whenever you like."
    )


def describe_earlier(left: int) -> str:
    """Batches that text and Markdown do not list."""
    return f"{left:,} earlier batches are not listed; the JSON report has all."


def list_attributes(result: MonitorResult) -> list[str]:
    """The names of the sensitive attributes."""
    return [name for name in result.settings["kinds"] if name != result.settings["outcome"]]


def build_batches_section(result: MonitorResult, most: int) -> tuple[Section, int]:
    """One row per batch, and how many earlier ones are left out."""
    left = max(0, len(result.batches) - most)
    batches = result.batches[left:]
    gaps = any(batch.gap is not None for batch in batches)
    head = ["batch", "name", "rows", *(["gap, at most"] if gaps else [])]
    head += ["p alone", "times", "evidence"]
    section = Section(
        title="Batches",
        head=head,
        rows=[_build_batch_row(batch, result, gaps) for batch in batches],
        right=frozenset(range(2, len(head))),
    )
    return section, left


def _format_gap(batch: MonitoredBatch) -> str:
    """``0.31, 0.52``: the gap of predictions given the outcome, and its upper bound."""
    if batch.gap is None:
        return "–"
    most = "–" if batch.gap_at_most is None else figures(batch.gap_at_most, 3)
    return f"{figures(batch.gap, 3)}, {most}"


def _build_batch_row(batch: MonitoredBatch, result: MonitorResult, gaps: bool) -> Row:
    from fairaudit.monitoring.monitoring_result import evidence_text

    evidence = evidence_text(batch.log10_evidence)
    if batch.number == result.alarm:
        evidence += "  alarm"
    elif batch.unusable:
        evidence += "  not used"
    return [
        str(batch.number),
        clean(batch.name, 40),
        f"{batch.rows:,}",
        *([_format_gap(batch)] if gaps else []),
        p_text(batch.p_value),
        evidence_text(math.log10(batch.e_value)),
        evidence,
    ]
