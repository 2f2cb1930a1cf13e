"""Missing and uncertain attributes as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import wrap_line
from fairaudit_reports.view.incomplete_view import LONGEST_SENTENCE
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.evidence.incompleteness.incompleteness_result import IncompleteResult

__all__ = ["render"]


def render(result: IncompleteResult) -> str:
    """Sentences of at most 96 columns."""
    lines = [*result.sentences(), *(f"Note: {note}" for note in result.notes)]
    wrapped = (wrap_line(clean(line, LONGEST_SENTENCE), mark="- ", indent="") for line in lines)
    return "\n".join(line for lines in wrapped for line in lines) + "\n"
