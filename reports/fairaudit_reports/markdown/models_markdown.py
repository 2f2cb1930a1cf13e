"""Several audited models as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.markdown import markdown_parts as m
from fairaudit_reports.view.models_view import build_models_section

if TYPE_CHECKING:
    from fairaudit.comparison.audited_models import AuditedModels

__all__ = ["render"]


def render(result: AuditedModels) -> str:
    """One table, and what it rests on."""
    section = build_models_section(result)
    table = m.rows_table(section)
    return m.join_parts([table, *map(m.escape, section.lines)]) + "\n"
