"""Disclosure control: small cells are masked, and others so that no total gives them away."""

from __future__ import annotations

from dataclasses import replace

from fairaudit.result import Cell, CellTable, Estimate

__all__ = ["suppress"]


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
    return [cell.people or 0, *(estimate.rows or 0 for estimate in cell.estimates)]


def _small(cell: Cell, fewest: int) -> bool:
    return any(0 < count < fewest for count in _counts(cell))


def _hidden(table: CellTable, masked: set[int]) -> int:
    """People in the masked cells, in the column that has the fewest (but some)."""
    columns = zip(*(_counts(table.cells[k]) for k in masked), strict=True)
    return min(total for total in map(sum, columns) if total > 0)


def _mask(cell: Cell) -> Cell:
    nothing = Estimate(None, None, None, None)
    return Cell(cell.levels, None, None, tuple(nothing for _ in cell.estimates), masked=True)
