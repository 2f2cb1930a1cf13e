"""Several audited models as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit_reports.text.aligned import rows_table
from fairaudit_reports.view.models_view import Compared, models_section

__all__ = ["render"]


def render(models: Sequence[Compared]) -> str:
    """One table, and what it rests on."""
    section = models_section(models)
    return "\n\n".join([rows_table(section), *section.lines]) + "\n"
