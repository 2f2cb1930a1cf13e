"""Measures and groups without a test, as the command `metrics` prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import aligned_table
from fairaudit_reports.view.groups_view import LACKING, describe_hidden
from fairaudit_reports.view.numerals import describe_measure
from fairaudit_reports.view.selection import select_cells

if TYPE_CHECKING:
    from fairaudit.evidence.measured import Cell, CellTable, Estimate, MeasuredValue

__all__ = ["format_counted_estimate", "groups_table", "measures_table"]

MOST_CELLS = 60


def measures_table(measures: Sequence[MeasuredValue]) -> str:
    """A header and one row per number.

    Examples
    --------
    >>> from fairaudit.evidence.measured import MeasuredValue
    >>> print(measures_table([
    ...     MeasuredValue(key="kpc", name="KPC", value=0.08576, attributes=("race", "sex")),
    ...     MeasuredValue(key="codec", name="CODEC", value=None, attributes=("race",), note="why"),
    ... ]))
    measure  value   attributes
    KPC      0.0858  race, sex
    CODEC    –       race        why
    """
    rows = [
        [
            measure.name,
            _format_four_decimals(measure.value),
            ", ".join(measure.attributes),
            describe_measure(measure),
        ]
        for measure in measures
    ]
    return aligned_table([["measure", "value", "attributes", ""], *rows])


def groups_table(table: CellTable) -> str:
    """The rates of the groups, or their errors, with 95 % intervals; of very many the largest."""
    cells, left = select_cells(table, None, MOST_CELLS)
    head = [*table.attributes, "rows", *table.columns]
    text = aligned_table([head, *([*cell.levels, *_format_cell(cell)] for cell in cells)])
    if left > 0:
        text += f"\n… and {left} more groups; --json lists them all"
    if table.masked:
        text += f"\n{describe_hidden(table, 'masked')}"
    if table.lacks_rates:
        text += f"\n{LACKING}"
    if table.unlisted:
        text += f"\n{table.unlisted} more combinations have no rows"
    return text


def _format_cell(cell: Cell) -> list[str]:
    if cell.masked:
        return ["masked"] * (1 + len(cell.estimates))
    return [str(cell.rows), *(format_counted_estimate(rate, cell.rows) for rate in cell.estimates)]


def format_counted_estimate(estimate: Estimate, cell_rows: int | None = None) -> str:
    """``0.512 [0.463, 0.561] of 403``; the rows are left out where they are the cell's."""
    if estimate.value is None:
        return "–"
    text = f"{estimate.value:.3f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return text if estimate.rows == cell_rows else f"{text} of {estimate.rows}"


def _format_four_decimals(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.4f}"
