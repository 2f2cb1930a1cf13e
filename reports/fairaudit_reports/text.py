"""Plain text for terminals and logs: aligned tables, Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit_reports.selection import shown_cells

if TYPE_CHECKING:
    from fairaudit.evidence.measured import Cell, CellTable, Estimate, MeasuredValue

__all__ = ["cells_table", "estimate_text", "markdown_table", "measures_rows", "number", "table"]

MOST_CELLS = 60


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> str:
    """Rows of cells as lines of left-aligned columns, two spaces apart.

    Examples
    --------
    >>> print(table([["numpy", "ok", "2.4.6"], ["R", "missing"]]))
    numpy  ok       2.4.6
    R      missing
    """
    rows = [[" ".join(quiet(cell).split()) for cell in row] for row in rows]
    widths: list[int] = []
    for row in rows:
        widths += [0] * (len(row) - len(widths))
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], len(cell))
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        for row in rows
    )
    return "\n".join((indent + line).rstrip() for line in lines)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, the first being the header, as a Markdown table.

    Examples
    --------
    >>> print(markdown_table([["measure", "value"], ["KPC", "0.0858"]]))
    | measure | value |
    |---|---|
    | KPC | 0.0858 |
    """
    escaped = [[quiet(cell).replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def measures_rows(measures: Sequence[MeasuredValue]) -> list[list[str]]:
    """A header and one row per number.

    Examples
    --------
    >>> from fairaudit.auditing.audit_result import MeasuredValue
    >>> some = [
    ...     MeasuredValue(key="kpc", name="KPC", value=0.08576, attributes=("race", "sex")),
    ...     MeasuredValue(key="codec", name="CODEC", value=None, attributes=("race",), note="why"),
    ... ]
    >>> print(table(measures_rows(some)))
    measure  value   attributes
    KPC      0.0858  race, sex
    CODEC    –       race        why
    """
    head = ["measure", "value", "attributes", ""]
    shown = ((x.name, number(x.value), ", ".join(x.attributes), x.note) for x in measures)
    return [head, *(list(row) for row in shown)]


def cells_table(cells: CellTable) -> str:
    """The rates of the groups, or their errors, with 95 % intervals; of very many the largest."""
    shown, left = shown_cells(cells, None, MOST_CELLS)
    head = [*cells.attributes, "rows", *cells.columns]
    text = table([head, *([*cell.levels, *_evidence(cell)] for cell in shown)])
    if left > 0:
        text += f"\n… and {left} more groups; --json lists them all"
    if cells.masked:
        groups = "1 group is" if cells.masked == 1 else f"{cells.masked} groups are"
        text += f"\n{groups} masked, to protect groups of few people; what they enter is rounded"
    if cells.unlisted:
        text += f"\n{cells.unlisted} more combinations have no rows"
    return text


def _evidence(cell: Cell) -> list[str]:
    if cell.masked:
        return ["masked"] * (1 + len(cell.estimates))
    return [str(cell.rows), *(estimate_text(one, cell.rows) for one in cell.estimates)]


def estimate_text(estimate: Estimate, cell_rows: int | None = None) -> str:
    """``0.512 [0.463, 0.561] of 403``; the rows are left out where they are the cell's."""
    if estimate.value is None:
        return "–"
    text = f"{estimate.value:.3f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return text if estimate.rows == cell_rows else f"{text} of {estimate.rows}"


def number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.4f}"
