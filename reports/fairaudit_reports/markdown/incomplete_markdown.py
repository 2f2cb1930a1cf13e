"""Missing and uncertain attributes as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.markdown.markdown_parts import escape
from fairaudit_reports.view.incomplete_view import LONGEST_SENTENCE, TITLE
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.evidence.incompleteness.incompleteness_result import IncompleteResult

__all__ = ["render"]


def render(result: IncompleteResult) -> str:
    """A list of sentences."""
    lines = (clean(line, LONGEST_SENTENCE) for line in (*result.sentences(), *result.notes))
    return "\n".join([f"## {TITLE}", "", *(f"- {escape(line)}" for line in lines)]) + "\n"
