"""Missing and uncertain attributes as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit.results import now
from fairaudit_reports.html import page as p
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.cover_parts import provenance_section
from fairaudit_reports.html.markup import tag
from fairaudit_reports.view.incomplete_view import TITLE

if TYPE_CHECKING:
    from fairaudit.evidence.incompleteness.incompleteness_result import IncompleteResult

__all__ = ["render"]


def render(result: IncompleteResult) -> str:
    """A list of sentences, and the notes."""
    from importlib.metadata import version

    frame = p.Frame(
        title=f"{TITLE} – fairaudit",
        about="missing and uncertain attributes",
        version=version("fairaudit-icp"),
        created=now(),
        limit="What is missing cannot be known: other assumptions give other answers.",
        tone="open",
    )
    inside = [
        tag("h1", TITLE),
        h.bullets(result.sentences(), "name"),
        *(h.paragraph(note, class_="quiet") for note in result.notes),
        provenance_section(frame.version),
    ]
    return p.page(frame, inside)
