"""A candidate beside production as plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import WIDTH, rows_table
from fairaudit_reports.view.comparison_view import (
    build_differences_section,
    build_groups_section,
    describe_comparison,
)
from fairaudit_reports.view.wording import LONGEST_NOTE, clean, raise_start

if TYPE_CHECKING:
    from fairaudit.comparison.comparison_result import Comparison

__all__ = ["render"]

MOST = 40  # groups


def render(result: Comparison) -> str:
    """Plain text of at most 96 columns."""
    groups, left = build_groups_section(result, MOST)
    parts = [
        textwrap.fill(raise_start(result.because), WIDTH),
        rows_table(build_differences_section(result)),
        rows_table(groups) + (f"\n… and {left} more" if left else "") if result.cells else "",
        textwrap.fill(describe_comparison(result), WIDTH),
        "\n".join(
            textwrap.fill(f"note: {clean(note, LONGEST_NOTE)}", WIDTH) for note in result.notes
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
