"""A candidate beside production as a comment on a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.markdown import markdown_parts as m
from fairaudit_reports.view.comparison_view import (
    build_differences_section,
    build_groups_section,
    describe_comparison,
)
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.comparison.comparison_result import Comparison

__all__ = ["render"]

MOST = 40  # groups
_MARKS = {"not less fair": "✅", "less fair": "❌", "inconclusive": "❔"}


def render(result: Comparison) -> str:
    """A comment on a change."""
    groups, left = build_groups_section(result, MOST)
    more = f"{left} more groups are in the HTML and JSON reports." if left else ""
    verdict = result.verdict.value
    parts = [
        f"## {_MARKS[verdict]} Fairness of the candidate: {verdict.capitalize()}",
        m.escape(clean(result.because, LONGEST_NOTE)),
        m.rows_table(build_differences_section(result)),
        m.folded(f"Groups ({len(result.cells)})", [m.rows_table(groups), more]),
        m.escape(describe_comparison(result)),
        "\n".join(f"- {m.escape(clean(note, LONGEST_NOTE))}" for note in result.notes),
        m.code_block(result.command) if result.command else "",
    ]
    return m.join_parts(parts) + "\n"
