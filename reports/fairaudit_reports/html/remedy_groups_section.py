"""The groups of a remedy's page: rates before and after, drawn and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.groups_section import MOST_CELLS, MOST_DRAWN, masked_row
from fairaudit_reports.html.interval_chart import Dot, changes, scale_of_column
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.cover import level_labels, name_labels
from fairaudit_reports.view.groups_view import (
    count_decimals,
    describe_method,
    describe_span,
    list_numbers,
)
from fairaudit_reports.view.numerals import typeset
from fairaudit_reports.view.wording import capitalize, join_names, several

if TYPE_CHECKING:
    from fairaudit.evidence.measured import Cell, CellTable
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["groups_part"]

Pairs = Sequence[tuple["Cell", "Cell"]]


def groups_part(result: RemedyResult) -> Markup:
    """The rates of every group, drawn and as a table."""
    before, after = result.before.cells, result.after.cells
    if before is None or after is None or before.columns != after.columns:
        return h.paragraph(
            "There is no table of groups for both models; the notes of the audits say why."
        )
    cell_of = {cell.levels: cell for cell in before.cells}
    pairs = [(cell_of[cell.levels], cell) for cell in after.cells if cell.levels in cell_of]
    note = describe_method(after)
    masked = (
        f"{after.masked:,} of {len(after.cells):,} groups are masked: they are small, or protect "
        "small ones."
    )
    return join(
        [
            h.paragraph(
                f"{several(len(after.cells), 'group')} by "
                f"{join_names(name_labels(after.attributes))}. Gaps "
                "between groups are also sampling noise: the test above judges them, not the eye."
            ),
            h.paragraph(note, class_="quiet name") if note else None,
            h.paragraph(masked, class_="said") if after.masked else None,
            _figure(pairs, after),
            _table(pairs, after),
        ]
    )


def _figure(pairs: Pairs, cells: CellTable) -> Markup | None:
    open_pairs = [pair for pair in pairs if not (pair[0].masked or pair[1].masked)]
    if not open_pairs or len(open_pairs) > MOST_DRAWN:
        return None
    drawn = [cell for pair in open_pairs for cell in pair]
    labels = [", ".join(level_labels(cells.attributes, cell.levels)) for _, cell in open_pairs]
    charts = []
    for k, name in enumerate(cells.columns):
        values = list_numbers(drawn, k)
        if not values:
            continue
        scale = scale_of_column(cells, k, values)
        old, new = (
            [_dot(label, pair[side], k) for label, pair in zip(labels, open_pairs, strict=True)]
            for side in (0, 1)
        )
        spans = [describe_span([dot.value for dot in dots]) for dots in (old, new)]
        description = f"{several(len(labels), 'group')}; before {spans[0]}, after {spans[1]}."
        title = f"{name} by group, before and after"
        charts.append((name, changes(old, new, scale, title=title, description=description)))
    if not charts:
        return None
    keys = [("k-ring", "before"), ("k-dot", "after"), ("k-reach", "95 % interval after")]
    return tag("figure", h.figure_key(keys), h.panels(labels, charts))


def _dot(label: str, cell: Cell, column: int) -> Dot:
    estimate = cell.estimates[column]
    return Dot(label, estimate.value, estimate.low, estimate.high)


def _table(pairs: Pairs, cells: CellTable) -> Markup:
    digits = count_decimals(cells)
    columns = [
        *((name, "wide") for name in name_labels(cells.attributes)),
        ("Rows", "n"),
        *((f"{name}, {when}", "n") for name in cells.columns for when in ("before", "after")),
    ]
    rows = (_pair_row(old, new, cells, digits) for old, new in pairs[:MOST_CELLS])
    caption = f"{capitalize(join_names(cells.columns))} by group, before and after"
    return h.table(caption, columns, [h.body(rows)], scrolls=True)


def _pair_row(old: Cell, new: Cell, cells: CellTable, digits: int) -> Markup:
    if old.masked or new.masked:
        return masked_row(cells, new, 1 + 2 * len(cells.columns))
    rates = [
        h.cell(typeset(cell.estimates[k].value, digits), f"{name}, {when}", "n")
        for k, name in enumerate(cells.columns)
        for cell, when in ((old, "before"), (new, "after"))
    ]
    count = "–" if new.rows is None else f"{new.rows:,}"
    levels = level_labels(cells.attributes, new.levels)
    return h.row(*h.level_heads(levels), h.cell(count, "Rows", "n"), *rates)
