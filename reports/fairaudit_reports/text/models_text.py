"""Several audited models as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import rows_table
from fairaudit_reports.view.models_view import build_models_section

if TYPE_CHECKING:
    from fairaudit.comparison.audited_models import AuditedModels

__all__ = ["render"]


def render(result: AuditedModels) -> str:
    """One table, and what it rests on."""
    section = build_models_section(result)
    return "\n\n".join([rows_table(section), *section.lines]) + "\n"
