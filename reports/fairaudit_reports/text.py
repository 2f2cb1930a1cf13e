"""Plain text for terminals and logs: aligned tables, Markdown tables, JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairaudit.metrics._errors import CellErrors, GroupErrors
    from fairaudit.metrics._rates import CellRates, GroupRates, Rate

__all__ = [
    "Line",
    "Measurements",
    "cells_rows",
    "cells_table",
    "json_text",
    "markdown_table",
    "measures_rows",
    "table",
]

MOST_CELLS = 60


@dataclass(frozen=True, slots=True)
class Line:
    """One measured number.

    Attributes
    ----------
    name : str
    value : float or None
        None when the measure does not fit the table; `note` then says why.
    attributes : names of the attributes it was measured on
    note : str
    """

    name: str
    value: float | None
    attributes: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Measurements:
    """The numbers, the cells behind the rates, and what a reader must know about them."""

    lines: tuple[Line, ...]
    cells: GroupRates | GroupErrors | None
    notes: tuple[str, ...]


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> str:
    """Rows of cells as lines of left-aligned columns, two spaces apart.

    Examples
    --------
    >>> print(table([["numpy", "ok", "2.4.6"], ["R", "missing"]]))
    numpy  ok       2.4.6
    R      missing
    """
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
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def measures_rows(result: Measurements) -> list[list[str]]:
    """A header and one row per number.

    Examples
    --------
    >>> lines = (Line("KPC", 0.08576, ("race", "sex")), Line("CODEC", None, ("race",), "why"))
    >>> print(table(measures_rows(Measurements(lines, None, ()))))
    measure  value   attributes
    KPC      0.0858  race, sex
    CODEC    –       race        why
    """
    head = ["measure", "value", "attributes", ""]
    shown = ((x.name, _number(x.value), ", ".join(x.attributes), x.note) for x in result.lines)
    return [head, *(list(row) for row in shown)]


def cells_rows(result: GroupRates | GroupErrors) -> list[list[str]]:
    """A header and one row per group: its rates, or its errors, with 95 % intervals."""
    head = [*result.attributes, "rows"]
    rows = [[*map(str, cell.levels), str(cell.n), *_evidence(cell)] for cell in result.cells]
    if hasattr(result, "positive"):
        return [[*head, "selected", "TPR", "FPR"], *rows]
    return [[*head, "mean error", "median error"], *rows]


def cells_table(result: GroupRates | GroupErrors) -> str:
    """`cells_rows` as plain text; of very many groups the first, and how many are left."""
    rows = cells_rows(result)
    text = table(rows[: MOST_CELLS + 1])
    left = len(rows) - 1 - MOST_CELLS
    if left > 0:
        text += f"\n… and {left} more groups; --json lists them all"
    if result.unlisted:
        text += f"\n{result.unlisted} more combinations have no rows"
    return text


def _evidence(cell: CellRates | CellErrors) -> list[str]:
    from fairaudit.metrics._rates import CellRates

    if isinstance(cell, CellRates):
        return [_rate(cell.selection), _rate(cell.tpr), _rate(cell.fpr)]
    return [_with_interval(cell.mean, cell.low, cell.high), _number(cell.quantiles[2])]


def _rate(rate: Rate) -> str:
    return f"{_with_interval(rate.value, rate.low, rate.high)} of {rate.n}"


def _with_interval(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if math.isnan(low) else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.4f}"


def json_text(facts: Any) -> str:
    """JSON for programs; undefined numbers (NaN) become null.

    Examples
    --------
    >>> json_text({"value": float("nan")}).split()
    ['{', '"value":', 'null', '}']
    """
    import json

    return json.dumps(_plain(facts), indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # numpy's scalars
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
