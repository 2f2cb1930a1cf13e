"""Disclosure control: small cells are masked, and others so that no total gives them away."""

from __future__ import annotations

from dataclasses import replace

from fairaudit.result import Cell, CellTable, Estimate, MeasuredValue

__all__ = ["of_open_cells", "suppress"]

LEFT_OUT = "masked groups left out"
_ROUNDED = ("deo",)  # a sum over all cells: its many digits would tell the small counts


def suppress(table: CellTable, fewest: int) -> CellTable:
    """Mask every cell with fewer than `fewest` people, or with so few of one outcome.

    Cells without people stay. The rows of the whole table and of every outcome class are public,
    so a single masked cell could be computed from the rest: the smallest open cells are masked
    too, until at least two are, with at least `fewest` people together in each column. Cells that
    were masked before have no counts and protect nobody else: the two tables may be compared.
    """
    before = sum(cell.masked for cell in table.cells)
    masked = {k for k, cell in enumerate(table.cells) if _small(cell, fewest)}
    if masked or before == 1:
        rest = [k for k, cell in enumerate(table.cells) if k not in masked and cell.rows]
        for k in sorted(rest, key=lambda k: (table.cells[k].people, k)):
            if len(masked) > 1 and _hidden(table, masked) >= fewest:
                break
            masked.add(k)
    cells = tuple(_mask(cell) if k in masked else cell for k, cell in enumerate(table.cells))
    return replace(table, cells=cells)


def _counts(cell: Cell) -> list[int]:
    return [cell.people or 0, *(estimate.people or 0 for estimate in cell.estimates)]


def _small(cell: Cell, fewest: int) -> bool:
    return any(0 < count < fewest for count in _counts(cell))


def _hidden(table: CellTable, masked: set[int]) -> int:
    """People in the masked cells, in the column that has the fewest (but some)."""
    columns = zip(*(_counts(table.cells[k]) for k in masked), strict=True)
    return min(total for total in map(sum, columns) if total > 0)


def _mask(cell: Cell) -> Cell:
    nothing = Estimate(None, None, None, None, None)
    return Cell(cell.levels, None, None, tuple(nothing for _ in cell.estimates), masked=True)


def of_open_cells(measure: MeasuredValue, table: CellTable) -> MeasuredValue:
    """A measure of groups as far as the cells that are shown give it.

    The largest gap is often that of a small cell, whose rate (2 of 7, say) it would tell.
    """
    if not table.masked or measure.value is None:
        return measure
    if measure.key in _ROUNDED:
        return replace(measure, value=round(measure.value, 2))
    columns = {
        "equalized_odds_difference": ("TPR", "FPR"),
        "equalized_odds_ratio": ("TPR", "FPR"),
        "mean_error_difference": ("mean error",),
    }.get(measure.key)
    if columns is None:
        return measure
    spreads = [_extremes(table, table.columns.index(name)) for name in columns]
    found = [pair for pair in spreads if pair is not None]
    value = None
    if measure.key == "equalized_odds_ratio":
        value = min((low / high for low, high in found if high > 0), default=None)
    elif found:
        value = max(high - low for low, high in found)
    notes = [part for part in measure.note.split("; ") if part and part != LEFT_OUT]
    return replace(measure, value=value, note="; ".join([*notes, LEFT_OUT]))


def _extremes(table: CellTable, column: int) -> tuple[float, float] | None:
    """Smallest and largest estimate of the cells that are shown, if there are two."""
    values = [cell.estimates[column].value for cell in table.cells if not cell.masked]
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if len(known) > 1 else None
