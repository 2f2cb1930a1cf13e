"""Several audited models as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit_reports.markdown import markdown_parts as m
from fairaudit_reports.view.models_view import Compared, models_section

__all__ = ["render"]


def render(models: Sequence[Compared]) -> str:
    """One table, and what it rests on."""
    section = models_section(models)
    table = m.rows_table(section)
    return m.join_parts([table, *map(m.escape, section.lines)]) + "\n"
