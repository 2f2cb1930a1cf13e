"""A monitor's evidence as plain text."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import WIDTH, aligned_table
from fairaudit_reports.view.monitor_view import (
    MOST_LISTED,
    build_batches_section,
    describe_earlier,
    describe_guarantee,
)
from fairaudit_reports.view.wording import LONGEST_NOTE, clean, raise_start

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitoredBatch, MonitorResult

__all__ = ["render"]


def render(result: MonitorResult) -> str:
    """Plain text of at most 96 columns."""
    section, left = build_batches_section(result, MOST_LISTED)
    pairs = zip(section.rows, result.batches[left:], strict=True)
    rows = [[*row, _draw_bar(batch, result)] for row, batch in pairs]
    parts = [
        textwrap.fill(raise_start(result.because), WIDTH),
        aligned_table([[*(section.head or []), ""], *rows]),
        *([describe_earlier(left)] if left else []),
        textwrap.fill(describe_guarantee(result), WIDTH),
        *(textwrap.fill(f"note: {clean(note, LONGEST_NOTE)}", WIDTH) for note in result.notes),
    ]
    return "\n\n".join(parts) + "\n"


def _draw_bar(batch: MonitoredBatch, result: MonitorResult) -> str:
    """How far the evidence is on its way to the alarm."""
    share = batch.log10_evidence / -math.log10(result.alpha)
    return "█" * round(12 * min(max(share, 0.0), 1.0))
