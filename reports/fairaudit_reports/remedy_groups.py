"""The groups of a remedy's report: rates before and after, drawn and as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.html_groups import MOST_CELLS, MOST_DRAWN, digits_of
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.svg import Dot, Scale, changes, number

if TYPE_CHECKING:
    from fairaudit.evidence.measured import Cell, CellTable
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["groups"]


def groups(result: RemedyResult) -> Markup:
    """The rates of every group, drawn and as a table."""
    before, after = result.before.cells, result.after.cells
    if before is None or after is None or before.columns != after.columns:
        return h.paragraph(
            "There is no table of groups for both models; the notes of the audits say why."
        )
    pairs = _pairs(before, after)
    return join(
        [
            h.paragraph(
                f"{h.several(len(after.cells), 'group')} by {h.names(after.attributes)}. Gaps "
                "between "
                "groups are also sampling noise: the test above judges them, not the eye."
            ),
            h.paragraph(h.capital(after.note.rstrip(".")) + ".", class_="quiet name")
            if after.note
            else None,
            h.paragraph(
                f"{after.masked:,} of {len(after.cells):,} groups are masked: they are small, or "
                "protect small ones.",
                class_="said",
            )
            if after.masked
            else None,
            _drawn(pairs, after),
            _pair_table(pairs, after),
        ]
    )


def _pairs(before: CellTable, after: CellTable) -> list[tuple[Cell, Cell]]:
    known = {cell.levels: cell for cell in before.cells}
    return [(known[cell.levels], cell) for cell in after.cells if cell.levels in known]


def _drawn(pairs: list[tuple[Cell, Cell]], cells: CellTable) -> Markup | None:
    shown = [pair for pair in pairs if not (pair[0].masked or pair[1].masked)]
    values = [
        value
        for pair in shown
        for cell in pair
        for one in cell.estimates
        for value in (one.value, one.low, one.high)
        if value is not None and math.isfinite(value)
    ]
    if not shown or not values or len(shown) > MOST_DRAWN:
        return None
    rates = not any("error" in name for name in cells.columns)
    low, high = (0.0, 1.0) if rates else (min(0.0, *values), max(0.0, *values))
    scale = Scale(low, high) if high > low else Scale(-1.0, 1.0)
    labels = [", ".join(cell.levels) for _, cell in shown]
    panels = []
    for k, name in enumerate(cells.columns):
        both = [
            [_dot(label, pair[side], k) for label, pair in zip(labels, shown, strict=True)]
            for side in (0, 1)
        ]
        spans = [_span(dots) for dots in both]
        chart = changes(
            both[0],
            both[1],
            scale,
            title=f"{name} by group, before and after",
            description=f"{h.several(len(labels), 'group')}; before {spans[0]}, after {spans[1]}.",
        )
        panels.append(tag("div", h.paragraph(name), chart))
    side = tag("ul", *(tag("li", label) for label in labels), class_="labels", aria_hidden="true")
    keys = [("k-ring", "before"), ("k-dot", "after"), ("k-reach", "95 % interval after")]
    return tag(
        "figure",
        tag("ul", *(tag("li", tag("i", class_=kind), text) for kind, text in keys), class_="key"),
        tag("div", side, *panels, class_="panels", style=f"--panels:{len(panels)}"),
    )


def _dot(label: str, cell: Cell, column: int) -> Dot:
    one = cell.estimates[column]
    return Dot(label, one.value, one.low, one.high)


def _span(dots: list[Dot]) -> str:
    known = [dot.value for dot in dots if dot.value is not None]
    return f"from {number(min(known))} to {number(max(known))}" if known else "undefined"


def _pair_table(pairs: list[tuple[Cell, Cell]], cells: CellTable) -> Markup:
    digits = digits_of(cells)
    columns = [
        *((name, "wide") for name in cells.attributes),
        ("Rows", "n"),
        *((f"{name}, {when}", "n") for name in cells.columns for when in ("before", "after")),
    ]
    rows = (_pair_row(old, new, cells, digits) for old, new in pairs[:MOST_CELLS])
    caption = f"{h.capital(h.names(cells.columns))} by group, before and after"
    return h.table(caption, columns, [h.body(rows)], scrolls=True)


def _pair_row(old: Cell, new: Cell, cells: CellTable, digits: int) -> Markup:
    heads = [tag("th", level, scope="row", role="rowheader", class_="wide") for level in new.levels]
    if old.masked or new.masked:
        width = 1 + 2 * len(cells.columns)
        return h.row(*heads, tag("td", "masked", colspan=width, role="cell", class_="masked"))
    rates = [
        h.cell(h.fixed(cell.estimates[k].value, digits), f"{name}, {when}", "n")
        for k, name in enumerate(cells.columns)
        for cell, when in ((old, "before"), (new, "after"))
    ]
    count = "–" if new.rows is None else f"{new.rows:,}"
    return h.row(*heads, h.cell(count, "Rows", "n"), *rates)
