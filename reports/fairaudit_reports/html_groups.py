"""The groups of the HTML report: a table with intervals, and a chart where it stays legible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.selection import shown_cells
from fairaudit_reports.svg import Dot, Scale, intervals, number

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.measured import Cell, CellTable, Estimate

__all__ = ["MOST_CELLS", "MOST_DRAWN", "digits_of", "groups"]

MOST_CELLS = 200  # of the table
MOST_DRAWN = 40  # in the chart


def groups(result: AuditResult) -> Markup:
    cells = result.cells
    if cells is None:
        return h.section(
            "groups", h.paragraph("There is no table of groups for this audit; the notes say why.")
        )
    shown, left = shown_cells(cells, result.gaps, MOST_CELLS)
    people = any(cell.people != cell.rows for cell in cells.cells)
    columns = [
        *((name, "wide") for name in cells.attributes),
        ("Rows", "n"),
        *([("People", "n")] if people else []),
        *((name, "n") for name in cells.columns),
    ]
    digits = digits_of(cells)
    rows = (_group(cell, cells, digits, people) for cell in shown)
    caption = f"{_capital(cells.columns)} by group, with 95 % intervals"
    return h.section(
        "groups",
        h.paragraph(
            f"{h.several(len(cells.cells), 'group')} by {h.names(cells.attributes)}. "
            "Intervals are of one group each and not adjusted for each other."
        ),
        h.paragraph(_sentence(cells.note), class_="quiet name") if cells.note else None,
        _masking(cells),
        _interval_figure(cells),
        h.table(caption, columns, [h.body(rows)], scrolls=True),
        _left_out(cells, left),
    )


def _capital(words: Sequence[str]) -> str:
    text = h.names(words)
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _is_rate(cells: CellTable) -> bool:
    return not any("error" in name for name in cells.columns)


def _known(cells: CellTable) -> list[float]:
    values = (
        value
        for cell in cells.cells
        for one in cell.estimates
        for value in (one.value, one.low, one.high)
    )
    return [value for value in values if value is not None and math.isfinite(value)]


def digits_of(cells: CellTable | None) -> int:
    """Decimals: three for rates; three figures of the largest error."""
    if cells is None:
        return 3
    largest = max((abs(value) for value in _known(cells)), default=0.0)
    if _is_rate(cells) or largest == 0:
        return 3
    return min(9, max(0, 2 - math.floor(math.log10(largest))))


def _group(cell: Cell, cells: CellTable, digits: int, people: bool) -> Markup:
    heads = [
        tag("th", level, scope="row", role="rowheader", class_="wide") for level in cell.levels
    ]
    width = 1 + people + len(cells.columns)
    if cell.masked:
        return h.row(*heads, tag("td", "masked", colspan=width, role="cell", class_="masked"))
    counts = [h.cell(_count(cell.rows), "Rows", "n")]
    if people:
        counts.append(h.cell(_count(cell.people), "People", "n"))
    rates = zip(cells.columns, cell.estimates, strict=True)
    return h.row(*heads, *counts, *(_estimate(name, one, digits, cell) for name, one in rates))


def _count(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _estimate(name: str, one: Estimate, digits: int, cell: Cell) -> Markup:
    if one.value is None:
        return h.cell("–", name, "n")
    about = []
    if one.low is not None and one.high is not None:
        about.append(f"{h.fixed(one.low, digits)} to {h.fixed(one.high, digits)}")
    if one.rows is not None and one.rows != cell.rows:
        about.append(f"of {one.rows:,}")
    parts = join((tag("span", text, class_="whole") for text in about), ", ")
    value = join([h.fixed(one.value, digits), tag("small", parts) if about else None])
    return h.cell(value, name, "n")


def _masking(cells: CellTable) -> Markup | None:
    if not cells.masked:
        return None
    return h.paragraph(
        f"{cells.masked:,} of {h.several(len(cells.cells), 'group')} "
        f"{'is' if cells.masked == 1 else 'are'} masked. They have too few people, or too few "
        "with one of the outcomes, to be shown without pointing at someone; others are hidden "
        "with them so that no total gives the small ones away; gaps are those of the groups "
        "shown, and other sizes are rounded. Masking hides numbers from this report only: every "
        "row took part in the test.",
        class_="said",
    )


def _left_out(cells: CellTable, more: int) -> Markup | None:
    told = []
    if more > 0:
        told.append(f"{h.several(more, 'more group')} not shown; the JSON record lists them all.")
    if cells.unlisted:
        told.append(f"{h.several(cells.unlisted, 'further combination')} of levels without rows.")
    return h.paragraph(" ".join(told), class_="quiet") if told else None


def _interval_figure(cells: CellTable) -> Markup | None:
    """A panel for every rate, the groups in the same order in each."""
    open_ = [cell for cell in cells.cells if not cell.masked]
    values = _known(cells)
    if not open_ or not values or len(open_) > MOST_DRAWN:
        return None
    scale = Scale(0.0, 1.0) if _is_rate(cells) else _around(values)
    labels = [", ".join(cell.levels) for cell in open_]
    panels = []
    for k, name in enumerate(cells.columns):
        dots = [
            Dot(label, one.value, one.low, one.high)
            for label, one in zip(labels, (cell.estimates[k] for cell in open_), strict=True)
        ]
        known = [dot.value for dot in dots if dot.value is not None]
        span = f"from {number(min(known))} to {number(max(known))}" if known else "undefined"
        chart = intervals(
            dots,
            scale,
            title=f"{name} by group",
            description=f"{h.several(len(dots), 'group')}, {span}; the table has the numbers.",
        )
        panels.append(tag("div", h.paragraph(name), chart))
    side = tag("ul", *(tag("li", label) for label in labels), class_="labels", aria_hidden="true")
    masked = " Masked groups are not drawn." if cells.masked else ""
    return tag(
        "figure",
        tag("div", side, *panels, class_="panels", style=f"--panels:{len(panels)}"),
        tag("figcaption", f"Dots are estimates, lines their 95 % intervals.{masked}"),
    )


def _around(values: Sequence[float]) -> Scale:
    low, high = min(0.0, *values), max(0.0, *values)
    return Scale(low, high) if high > low else Scale(-1.0, 1.0)
