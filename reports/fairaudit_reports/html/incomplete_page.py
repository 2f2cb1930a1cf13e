"""Missing and uncertain attributes as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import tag
from fairaudit_reports.html.page import document
from fairaudit_reports.view.incomplete_view import TITLE

if TYPE_CHECKING:
    from fairaudit.evidence.incompleteness.incompleteness_result import IncompleteResult

__all__ = ["render"]


def render(result: IncompleteResult) -> str:
    """A list of sentences, and the notes."""
    from importlib.metadata import version

    inside = [
        tag("h1", TITLE),
        h.bullets(result.sentences(), "name"),
        *(h.paragraph(note, class_="quiet") for note in result.notes),
    ]
    body = tag("body", tag("main", *inside))
    return document(f"{TITLE} – fairaudit", version("fairaudit-icp"), body)
