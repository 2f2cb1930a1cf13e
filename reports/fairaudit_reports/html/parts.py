"""What pages are made of: sections, tables, lists, facts, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.wording import capitalize

if TYPE_CHECKING:
    from fairaudit.data.facts import Source
    from fairaudit_reports.view.sections import Row, Section

__all__ = [
    "body",
    "bullets",
    "cell",
    "code_block",
    "command_block",
    "contents",
    "facts",
    "figure_key",
    "hash_text",
    "heading",
    "level_heads",
    "listing",
    "notes_section",
    "panels",
    "paragraph",
    "row",
    "row_head",
    "section",
    "section_table",
    "source_text",
    "table",
]


def section(key: str, titles: dict[str, str], inside: Iterable[str | None]) -> Markup:
    """A part of the page with its title."""
    head = tag("h2", titles[key], id=f"{key}-title")
    return tag("section", head, join(inside), id=key, aria_labelledby=f"{key}-title")


def contents(titles: dict[str, str]) -> Markup:
    """Links to the sections."""
    links = (tag("li", tag("a", title, href=f"#{key}")) for key, title in titles.items())
    return tag("nav", tag("ul", *links), aria_label="Sections")


def paragraph(*inside: str | None, class_: str | None = None) -> Markup:
    return tag("p", *inside, class_=class_)


def bullets(items: Iterable[str], class_: str | None = None) -> Markup:
    return tag("ul", *(tag("li", item) for item in items), class_=class_)


def notes_section(titles: dict[str, str], notes: Sequence[str]) -> Markup:
    """The notes; that there are none is said too."""
    inside = bullets(notes, "name") if notes else paragraph("There are none.")
    return section("notes", titles, [inside])


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


def listing(items: Iterable[tuple[str, str | None]]) -> Markup:
    """Terms and what is said of them; those without are left out."""
    rows = (join([tag("dt", name), tag("dd", text)]) for name, text in items if text is not None)
    return tag("dl", join(rows), class_="list")


def code_block(text: str) -> Markup:
    return tag("pre", tag("code", text))


def command_block(command: str) -> Markup:
    """A command that was run."""
    lead = "The command that was run, from the folder that its paths are relative to:"
    return join([paragraph(lead), code_block(quiet(command))])


def source_text(source: Source) -> Markup:
    """A file or another source, and its hash."""
    named = f"{source.path} ({source.kind})" if source.path else source.kind
    return join([tag("span", named), tag("br"), hash_text(source.sha256)])


def hash_text(digest: str | None) -> Markup:
    return tag("span", f"SHA-256 {digest}" if digest else "no hash", class_="hash")


def cell(text: str | None, label: str, class_: str | None = None) -> Markup:
    return tag("td", text, role="cell", data_label=label, class_=class_)


def table(
    caption: str,
    columns: Sequence[tuple[str, str | None]],
    bodies: Iterable[str],
    *,
    scrolls: bool = False,
    sorts: bool = False,
) -> Markup:
    """A table in a box of its own; on a phone every row becomes a card.

    One that `sorts` has a script that sorts and filters its rows, and is complete without it.

    A box that may have to be scrolled is reached by keyboard and has a name. The roles are
    spelled out because rows that are stacked lose them in some browsers.
    """
    heads = (
        tag("th", name, scope="col", role="columnheader", class_=kind) for name, kind in columns
    )
    inside = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads, role="row"), role="rowgroup"),
        join(bodies),
        role="table",
        class_="stack sortable" if sorts else "stack",
    )
    if not scrolls:
        return tag("div", inside, class_="box")
    return tag("div", inside, class_="box", role="region", tabindex=0, aria_label=caption)


def section_table(caption: str, part: Section, head: Row | None = None) -> Markup:
    """The rows of a section; the first cell of each is its head. `head` replaces the titles."""
    names = head or part.head or []
    kinds = ["n" if k in part.right else None for k in range(len(names))]
    rows = (
        row(
            row_head(cells[0]),
            *(
                cell(text, name, kind)
                for text, name, kind in zip(cells[1:], names[1:], kinds[1:], strict=True)
            ),
        )
        for cells in part.rows
    )
    return table(caption, list(zip(names, kinds, strict=True)), [body(rows)])


def heading(name: str) -> str:
    """The title of a column on a page; a p-value has a small letter."""
    return name if name == "p" or name.startswith("p ") else capitalize(name)


def body(rows: Iterable[str]) -> Markup:
    return tag("tbody", *rows, role="rowgroup")


def row(*cells: str) -> Markup:
    return tag("tr", *cells, role="row")


def row_head(*inside: str | None) -> Markup:
    return tag("th", *inside, scope="row", role="rowheader", class_="name")


def level_heads(levels: Iterable[str]) -> list[Markup]:
    """The levels of a group, as heads of its row."""
    return [tag("th", level, scope="row", role="rowheader", class_="wide") for level in levels]


def figure_key(keys: Iterable[tuple[str, str]]) -> Markup:
    """What the marks of a figure are: classes and words."""
    items = (tag("li", tag("i", class_=kind or None), text) for kind, text in keys)
    return tag("ul", *items, class_="key")


def panels(labels: Sequence[str], charts: Sequence[tuple[str, Markup]]) -> Markup:
    """Charts with their titles side by side, the labels of their common rows on the left."""
    side = tag("ul", *(tag("li", label) for label in labels), class_="labels", aria_hidden="true")
    figures = (tag("div", paragraph(title), chart) for title, chart in charts)
    return tag("div", side, *figures, class_="panels", style=f"--panels:{len(charts)}")
