"""What is said of missing and uncertain attributes: text, Markdown, HTML."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.markdown import escape
from fairaudit_reports.markup import tag
from fairaudit_reports.terminal import clean

if TYPE_CHECKING:
    from fairaudit.evidence.incompleteness.incompleteness_result import IncompleteResult

__all__ = ["render_html", "render_markdown", "render_text"]

TITLE = "Missing and uncertain attributes"
LONGEST, WIDTH = 2_000, 96


def render_text(result: IncompleteResult) -> str:
    lines = [f"- {one}" for one in result.sentences()] + [f"- Note: {one}" for one in result.notes]
    wrapped = (
        textwrap.fill(clean(line, LONGEST), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for line in lines
    )
    return "\n".join(wrapped) + "\n"


def render_markdown(result: IncompleteResult) -> str:
    lines = [f"- {escape(clean(one, LONGEST))}" for one in (*result.sentences(), *result.notes)]
    return "\n".join([f"## {TITLE}", "", *lines]) + "\n"


def render_html(result: IncompleteResult) -> str:
    from importlib.metadata import version

    said = tag("ul", *(tag("li", one) for one in result.sentences()), class_="name")
    notes = [h.paragraph(one, class_="quiet") for one in result.notes]
    main = tag("main", tag("h1", TITLE), said, *notes)
    head = h.head(f"{TITLE} – fairaudit", version("fairaudit-icp"))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', main), lang='en')}\n"
