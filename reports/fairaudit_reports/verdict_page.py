"""A page that begins with a verdict: what the reports of monitors and comparisons share."""

from __future__ import annotations

from collections.abc import Iterable

from fairaudit_reports import html_parts as h
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.svg import icon

__all__ = ["banner", "facts", "notes", "page", "section"]

TONES = {"violation": "violation", "no violation found": "none", "inconclusive": "open"}


def page(
    title: str,
    about: str,
    tone: str,
    version: str,
    created: str,
    limit: str,
    *inside: str | None,
    style: str = "",
) -> str:
    """One HTML document in the look of the audit's report; `tone` is the verdict whose it has."""
    left = join([tag("strong", "fairaudit"), f" {about}"])
    brand = h.paragraph(tag("span", left), tag("span", f"version {version}"), class_="brand")
    day, time = h.when(created)
    footer = tag(
        "footer",
        h.paragraph(limit, class_="limit"),
        h.paragraph(f"fairaudit {version}, {day} {time}".rstrip()),
    )
    body = tag("body", tag("header", brand), tag("main", *inside), footer, class_=TONES[tone])
    return f"<!DOCTYPE html>\n{tag('html', h.head(title, version, style), body, lang='en')}\n"


def banner(tone: str, verdict: str, because: str) -> Markup:
    """The verdict and its sentence."""
    words = tag("div", h.paragraph("Verdict", class_="kicker"), tag("h1", verdict, id="verdict"))
    return tag(
        "div", icon(tone), words, h.paragraph(because, class_="because name"), class_="banner"
    )


def facts(items: Iterable[tuple[str, str, str]]) -> Markup:
    """Names, what they are, and a small line below."""
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", text, tag("small", below) if below else None))
            for name, text, below in items
        ),
        class_="facts",
    )


def section(key: str, title: str, *inside: str | None) -> Markup:
    head = tag("h2", title, id=f"{key}-title")
    return tag("section", head, join(inside), id=key, aria_labelledby=f"{key}-title")


def notes(some: Iterable[str]) -> Markup | None:
    """The section of notes, if there are any."""
    items = [tag("li", note) for note in some]
    return section("notes", "Notes", tag("ul", *items, class_="name")) if items else None
