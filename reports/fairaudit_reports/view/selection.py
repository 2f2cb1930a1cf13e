"""Which groups and gaps are shown where not all fit: the largest groups and the largest gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from fairaudit.evidence.intervals.certificates import Gap, GapTable
    from fairaudit.evidence.measured import Cell, CellTable

__all__ = ["select_cells", "select_gaps", "take_some_of_each"]

T = TypeVar("T")


def take_some_of_each(first: Sequence[T], second: Sequence[T], most: int) -> list[T]:
    """The heads of two orders of the same things, taken in turn, each thing once.

    Examples
    --------
    >>> take_some_of_each("abcdef", "fedcba", 4)
    ['a', 'f', 'b', 'e']
    """
    selection: dict[T, None] = {}
    for pair in zip(first, second, strict=True):
        for thing in pair:
            if len(selection) < most:
                selection[thing] = None
    return list(selection)


def select_cells(table: CellTable, gaps: GapTable | None, most: int) -> tuple[list[Cell], int]:
    """Cells in the order of the table, and how many with numbers are left out.

    Where not all fit: those with most people and those with the largest gaps; masked ones, which
    have no numbers, only in room that is left.
    """
    if len(table.cells) <= most:
        return list(table.cells), 0
    open_ = [k for k, cell in enumerate(table.cells) if not cell.masked]
    widest = _find_widest_gaps(gaps)
    by_people = sorted(open_, key=lambda k: -(table.cells[k].people or 0))
    by_gap = sorted(open_, key=lambda k: -widest.get(table.cells[k].levels, 0.0))
    open_places = take_some_of_each(by_people, by_gap if widest else by_people, most)
    masked = [k for k, cell in enumerate(table.cells) if cell.masked]
    places = sorted([*open_places, *masked[: most - len(open_places)]])
    return [table.cells[k] for k in places], len(open_) - len(open_places)


def _find_widest_gaps(gaps: GapTable | None) -> dict[tuple[str, ...], float]:
    """The largest gap of every group that has one."""
    widest: dict[tuple[str, ...], float] = {}
    for gap in () if gaps is None else gaps.gaps:
        if gap.value is not None:
            widest[gap.levels] = max(widest.get(gap.levels, 0.0), abs(gap.value))
    return widest


def select_gaps(table: GapTable, cells: CellTable | None, most: int) -> tuple[list[Gap], int, int]:
    """Gaps, the widest first; how many others have numbers; and how many are masked.

    Where not all fit: the widest, and those of the groups with most people.
    """
    people = {cell.levels: cell.people or 0 for cell in _list_cells(cells)}
    open_ = [k for k, gap in enumerate(table.gaps) if gap.value is not None]
    by_gap = sorted(open_, key=lambda k: -abs(table.gaps[k].value or 0.0))
    by_people = sorted(open_, key=lambda k: -people.get(table.gaps[k].levels, 0))
    places = set(take_some_of_each(by_gap, by_people, most))
    gaps = [table.gaps[k] for k in by_gap if k in places]
    return gaps, len(open_) - len(gaps), len(table.gaps) - len(open_)


def _list_cells(table: CellTable | None) -> Iterable[Cell]:
    return () if table is None else table.cells
