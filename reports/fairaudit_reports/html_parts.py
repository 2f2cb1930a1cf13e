"""What the sections of the HTML report are made of: numbers as text, tables, lists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fairaudit_reports.markup import Markup, join, tag

__all__ = [
    "SECTIONS",
    "body",
    "capital",
    "cell",
    "chance",
    "fixed",
    "head",
    "listing",
    "names",
    "paragraph",
    "percent",
    "row",
    "row_head",
    "section",
    "several",
    "table",
    "when",
]

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

SECTIONS = {
    "audited": "What was audited",
    "evidence": "Evidence",
    "where": "Where",
    "size": "Size",
    "groups": "Groups",
    "gaps": "Gaps, and what is shown",
    "power": "What could have been found",
    "belief": "Can the p-value be believed?",
    "notes": "Notes",
    "repeat": "How to repeat it",
}


def head(title: str, version: str, more_style: str = "") -> Markup:
    """The head of a page that stands alone: its style, no script, no outside request."""
    from importlib.resources import files

    style = files("fairaudit_reports").joinpath("page.css").read_text(encoding="utf-8")
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"fairaudit {version}"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", Markup("\n" + style + more_style)),
    )


def chance(value: float | None) -> str:
    """Three significant digits, never an exponent."""
    if value is None:
        return "–"
    if 0 < value < 1e-6:
        return "< 0.000001"
    return f"{float(f'{value:.3g}'):.9f}".rstrip("0").rstrip(".")


def fixed(value: float | None, digits: int = 3) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}f}"
    return (text if float(text.replace(",", "")) else text.lstrip("-")).replace("-", "−")


def percent(value: float) -> str:
    text = f"{100 * value:.1f}"
    return f"{text.removesuffix('.0')} %"


def several(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def names(some: Sequence[str]) -> str:
    from fairaudit._words import as_words

    return as_words(some) if some else "–"


def when(created: str) -> tuple[str, str]:
    """Day and time of an ISO date; the text itself where it is none."""
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(created.replace("Z", "+00:00"))
    except ValueError:
        return created, ""
    zone = " UTC" if moment.utcoffset() is not None and not moment.utcoffset() else ""
    return f"{moment.day} {moment:%b %Y}", f"{moment:%H:%M}{zone}"


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def section(key: str, *inside: str | None) -> Markup:
    head = tag("h2", SECTIONS[key], id=f"{key}-title")
    return tag("section", head, join(inside), id=key, aria_labelledby=f"{key}-title")


def paragraph(*inside: str | None, class_: str | None = None) -> Markup:
    return tag("p", *inside, class_=class_)


def listing(items: Iterable[tuple[str, str | None]]) -> Markup:
    """Terms and what is said of them; those without are left out."""
    rows = (join([tag("dt", name), tag("dd", text)]) for name, text in items if text is not None)
    return tag("dl", join(rows), class_="list")


def cell(text: str | None, label: str, class_: str | None = None) -> Markup:
    return tag("td", text, role="cell", data_label=label, class_=class_)


def table(
    caption: str,
    columns: Sequence[tuple[str, str | None]],
    bodies: Iterable[str],
    *,
    scrolls: bool = False,
) -> Markup:
    """A table in a box of its own; on a phone every row becomes a card.

    A box that may have to be scrolled is reached by keyboard and has a name. The roles are
    spelled out because rows that are stacked lose them in some browsers.
    """
    heads = (
        tag("th", name, scope="col", role="columnheader", class_=kind) for name, kind in columns
    )
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads, role="row"), role="rowgroup"),
        join(bodies),
        role="table",
        class_="stack",
    )
    if not scrolls:
        return tag("div", table, class_="box")
    return tag("div", table, class_="box", role="region", tabindex=0, aria_label=caption)


def body(rows: Iterable[str]) -> Markup:
    return tag("tbody", *rows, role="rowgroup")


def row(*cells: str) -> Markup:
    return tag("tr", *cells, role="row")


def row_head(*inside: str | None) -> Markup:
    return tag("th", *inside, scope="row", role="rowheader", class_="name")
