"""The groups of the page of an audit: a table with intervals, and a chart where it is legible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.interval_chart import Dot, intervals, scale_of_column
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.cover import level_labels, name_labels
from fairaudit_reports.view.groups_view import (
    count_decimals,
    counts_people,
    describe_left_out,
    describe_masking,
    describe_method,
    describe_span,
    list_numbers,
    select_open_cells,
)
from fairaudit_reports.view.numerals import typeset
from fairaudit_reports.view.sections import AUDIT
from fairaudit_reports.view.selection import select_cells
from fairaudit_reports.view.wording import capitalize, join_names, several

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.measured import Cell, CellTable, Estimate

__all__ = ["MOST_CELLS", "MOST_DRAWN", "groups_section", "masked_row"]

MOST_CELLS = 200  # of the table
MOST_DRAWN = 40  # in the chart


def groups_section(result: AuditResult) -> Markup:
    cells = result.cells
    if cells is None:
        reason = "There is no table of groups for this audit; the notes say why."
        return h.section("groups", AUDIT, [h.paragraph(reason)])
    rows, left = select_cells(cells, result.gaps, MOST_CELLS)
    note, more = describe_method(cells), describe_left_out(cells, left)
    return h.section(
        "groups",
        AUDIT,
        [
            h.paragraph(
                f"{several(len(cells.cells), 'group')} by "
                f"{join_names(name_labels(cells.attributes))}. Each interval is for one group "
                "alone; they are not adjusted for one another."
            ),
            h.paragraph(note, class_="quiet name") if note else None,
            h.paragraph(describe_masking(cells), class_="said") if cells.masked else None,
            _interval_figure(cells),
            _group_table(cells, rows),
            h.paragraph(more, class_="quiet") if more else None,
        ],
    )


def _group_table(cells: CellTable, shown: list[Cell]) -> Markup:
    people = counts_people(cells)
    columns = [
        *((name, "wide") for name in name_labels(cells.attributes)),
        ("Rows", "n"),
        *([("People", "n")] if people else []),
        *((name, "n") for name in cells.columns),
    ]
    digits = count_decimals(cells)
    rows = (_group(cell, cells, digits, people) for cell in shown)
    caption = f"{capitalize(join_names(cells.columns))} by group, with 95 % intervals"
    return h.table(caption, columns, [h.body(rows)], scrolls=True, sorts=True)


def masked_row(cells: CellTable, cell: Cell, width: int) -> Markup:
    """A group whose numbers are not shown."""
    hidden = tag("td", "masked", colspan=width, role="cell", class_="masked")
    return h.row(*h.level_heads(level_labels(cells.attributes, cell.levels)), hidden)


def _group(cell: Cell, cells: CellTable, digits: int, people: bool) -> Markup:
    if cell.masked:
        return masked_row(cells, cell, 1 + people + len(cells.columns))
    counts = [h.cell(_count(cell.rows), "Rows", "n")]
    if people:
        counts.append(h.cell(_count(cell.people), "People", "n"))
    rates = (
        _estimate(name, estimate, digits, cell)
        for name, estimate in zip(cells.columns, cell.estimates, strict=True)
    )
    levels = level_labels(cells.attributes, cell.levels)
    return h.row(*h.level_heads(levels), *counts, *rates)


def _count(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _estimate(name: str, estimate: Estimate, digits: int, cell: Cell) -> Markup:
    if estimate.value is None:
        return h.cell("–", name, "n")
    about = []
    if estimate.low is not None and estimate.high is not None:
        about.append(f"{typeset(estimate.low, digits)} to {typeset(estimate.high, digits)}")
    if estimate.rows is not None and estimate.rows != cell.rows:
        about.append(f"of {estimate.rows:,}")
    parts = join((tag("span", text, class_="whole") for text in about), ", ")
    value = join([typeset(estimate.value, digits), tag("small", parts) if about else None])
    return h.cell(value, name, "n")


def _interval_figure(cells: CellTable) -> Markup | None:
    """A panel for every rate, the groups in the same order in each."""
    drawn = select_open_cells(cells)
    if not drawn or len(drawn) > MOST_DRAWN:
        return None
    labels = [", ".join(level_labels(cells.attributes, cell.levels)) for cell in drawn]
    charts = []
    for k, name in enumerate(cells.columns):
        values = list_numbers(drawn, k)
        if not values:
            continue
        scale = scale_of_column(cells, k, values)
        estimates = [cell.estimates[k] for cell in drawn]
        dots = [
            Dot(label, estimate.value, estimate.low, estimate.high)
            for label, estimate in zip(labels, estimates, strict=True)
        ]
        span = describe_span([dot.value for dot in dots])
        description = f"{several(len(dots), 'group')}, {span}; the table has the numbers."
        charts.append(
            (name, intervals(dots, scale, title=f"{name} by group", description=description))
        )
    if not charts:
        return None
    masked = " Masked groups are not drawn." if cells.masked else ""
    caption = f"Dots are estimates, lines their 95 % intervals.{masked}"
    return tag("figure", h.panels(labels, charts), tag("figcaption", caption))
