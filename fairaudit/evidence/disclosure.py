"""Small groups are masked; numbers that would give them away are rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairaudit.evidence.measured import Cell, CellTable, Estimate, MeasuredValue

if TYPE_CHECKING:
    from fairaudit.data.table import AuditTable
    from fairaudit.evidence.measurements import Measurements

__all__ = [
    "LEFT_OUT",
    "ROUNDED",
    "coarse",
    "coarse_loss",
    "masked_groups",
    "of_open_cells",
    "step_of",
    "suppress",
    "suppressed_measurements",
]


LEFT_OUT = "masked groups left out"


#: Numbers that derive from masked groups are multiples of one of these.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


#: Measures that the groups shown give by themselves, and the columns behind them.
_OF_GROUPS = {
    "deo": ("TPR", "FPR"),
    "equalized_odds_difference": ("TPR", "FPR"),
    "equalized_odds_ratio": ("TPR", "FPR"),
    "mean_error_difference": ("mean error",),
}


def step_of(fewest: int, people: float) -> float:
    """What numbers about so many people are rounded to where anything is masked.

    One person moves a share of them by 1 / people, and KPC by a few times that: a step is as wide
    as what twice `fewest` persons do to a share.

    Examples
    --------
    >>> step_of(10, 5000), step_of(10, 400), step_of(10, 60)
    (0.01, 0.05, 0.5)
    """
    wanted = 2 * fewest / max(people, 1)
    return next((step for step in _STEPS if step >= wanted), _STEPS[-1])


def coarse(value: float | None, step: float, *, up: bool = False) -> float | None:
    """The nearest multiple of the step, or the next above.

    Examples
    --------
    >>> coarse(0.0337, 0.01), coarse(-0.0031, 0.01), coarse(0.337, 0.05), coarse(None, 0.01)
    (0.03, 0.0, 0.35, None)
    >>> coarse(0.0337, 0.01, up=True)
    0.04
    """
    if value is None or not math.isfinite(value):
        return value
    times = math.ceil(value / step - 1e-9) if up else round(value / step)
    return round(times * step, 10) + 0.0


def coarse_loss(loss: float | None, step: float) -> float | None:
    """A share of misclassified people to the step, another loss to two significant digits."""
    if loss is None or 0 <= loss <= 1:
        return coarse(loss, step)
    return float(f"{loss:.2g}")


def suppress(table: CellTable, fewest: int) -> CellTable:
    """Mask every cell with fewer than `fewest` people, or with so few of one outcome.

    Cells without people stay. The rows of the whole table and of every outcome class are public,
    so a single masked cell could be computed from the rest: the smallest open cells are masked
    too, until at least two are, with so many people together in each column that each of them
    could have `fewest` different counts. Cells that were masked before have no counts and protect
    nobody else: the two tables may be compared.
    """
    before = sum(cell.masked for cell in table.cells)
    masked = {k for k, cell in enumerate(table.cells) if _small(cell, fewest)}
    if masked or before == 1:
        rest = [k for k, cell in enumerate(table.cells) if k not in masked and cell.rows]
        for k in sorted(rest, key=lambda k: (table.cells[k].people, k)):
            if len(masked) > 1 and _hidden(table, masked) >= 2 * fewest - 2:
                break
            masked.add(k)
    cells = tuple(_mask(cell) if k in masked else cell for k, cell in enumerate(table.cells))
    return replace(table, cells=cells)


def _counts(cell: Cell) -> list[int]:
    return [cell.people or 0, *(estimate.people or 0 for estimate in cell.estimates)]


def _small(cell: Cell, fewest: int) -> bool:
    return any(0 < count < fewest for count in _counts(cell))


def _hidden(table: CellTable, masked: set[int]) -> int:
    """People in the masked cells, in the column that has the fewest of those with any."""
    everybody = map(sum, zip(*map(_counts, table.cells), strict=True))
    columns = map(sum, zip(*(_counts(table.cells[k]) for k in masked), strict=True))
    return min(total for total, people in zip(columns, everybody, strict=True) if people > 0)


def _mask(cell: Cell) -> Cell:
    nothing = Estimate(value=None, low=None, high=None, rows=None, people=None)
    return Cell(
        levels=cell.levels,
        rows=None,
        people=None,
        estimates=tuple(nothing for _ in cell.estimates),
        masked=True,
    )


def masked_groups(table: AuditTable, fewest: int) -> set[tuple[str, ...]]:
    """The groups of all categorical attributes that `suppress` masks in a table."""
    import numpy as np

    from fairaudit.data.columns import level_text
    from fairaudit.metrics._labels import groups_of

    some = tuple(column for column in table.attributes if column.kind.is_categorical)
    if not some or fewest < 2:
        return set()
    groups, outcome = groups_of(replace(table, attributes=some)), table.require_outcome()
    two = outcome.kind.is_categorical and len(outcome.levels) == 2
    chosen = [slice(None), *((outcome.codes == 1, outcome.codes == 0) if two else ())]
    unit = np.arange(len(table)) if table.ids is None else table.ids.codes
    counts = []
    for rows in chosen:
        pairs = np.unique(np.stack([groups.of_row[rows], unit[rows]]), axis=1)
        counts.append(np.bincount(pairs[0], minlength=len(groups)))
    cells = tuple(
        Cell(
            levels=tuple(level_text(level) for level in levels),
            rows=int(own[0]),
            people=int(own[0]),
            estimates=tuple(
                Estimate(value=None, low=None, high=None, rows=int(count), people=int(count))
                for count in own
            ),
        )
        for levels, own in zip(groups.levels, np.column_stack(counts), strict=True)
    )
    names = tuple(column.name for column in some)
    hidden = suppress(
        CellTable(attributes=names, columns=("",) * len(chosen), cells=cells, unlisted=0), fewest
    )
    return {cell.levels for cell in hidden.cells if cell.masked}


def suppressed_measurements(found: Measurements, table: AuditTable, fewest: int) -> Measurements:
    """The measures of a table by the same rule."""
    cells = None if found.cells is None else suppress(found.cells, fewest)
    unknown = cells is None and any(column.kind.is_categorical for column in table.attributes)
    if fewest < 2 or not (unknown or (cells is not None and cells.masked)):
        return found
    step = step_of(fewest, len(table) if table.ids is None else len(table.ids.levels))
    weighted = table.weights is not None
    values = tuple(of_open_cells(one, cells, step, weighted) for one in found.values)
    return replace(found, cells=cells, values=values, notes=_notes(found.notes, cells))


def of_open_cells(
    measure: MeasuredValue, table: CellTable | None, step: float, weighted: bool
) -> MeasuredValue:
    """A measure of groups as far as the cells that are shown give it; any other, rounded.

    The largest gap is often that of a small cell, whose rate (2 of 7, say) it would tell.
    """
    if measure.value is None:
        return measure
    if table is None or measure.key not in _OF_GROUPS:
        note = "" if measure.key == "kpc_r" else measure.note  # which has a difference
        note = note if ROUNDED in note else "; ".join(filter(None, [note, ROUNDED]))
        return replace(measure, value=coarse(measure.value, step), note=note)
    columns = _OF_GROUPS[measure.key]
    note = (
        measure.note
        if LEFT_OUT in measure.note
        else "; ".join(filter(None, [measure.note, LEFT_OUT]))
    )
    if measure.key == "deo":
        return replace(measure, value=None if weighted else _deo(table), note=note)
    spreads = [_extremes(table, table.columns.index(name)) for name in columns]
    found = [pair for pair in spreads if pair is not None]
    value = None
    if measure.key == "equalized_odds_ratio":
        value = min((low / high for low, high in found if high > 0), default=None)
    elif found:
        value = max(high - low for low, high in found)
    return replace(measure, value=value, note=note)


def _deo(table: CellTable) -> float | None:
    """Of the cells that are shown: the sum of distances to the rate of all of them."""
    total, several = 0.0, False
    for column in ("TPR", "FPR"):
        place = table.columns.index(column)
        found = [
            (cell.estimates[place].value or 0.0, cell.estimates[place].rows or 0)
            for cell in table.cells
            if not cell.masked and cell.estimates[place].rows
        ]
        if len(found) > 1:
            overall = sum(rate * rows for rate, rows in found) / sum(rows for _, rows in found)
            total += sum(abs(rate - overall) for rate, _ in found)
            several = True
    return total if several else None


def _extremes(table: CellTable, column: int) -> tuple[float, float] | None:
    """Smallest and largest estimate of the cells that are shown, if there are two."""
    values = [cell.estimates[column].value for cell in table.cells if not cell.masked]
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if len(known) > 1 else None


ROUNDED = "rounded, since groups are masked"


def _notes(notes: Sequence[str], cells: CellTable | None) -> tuple[str, ...]:
    """Without the one about groups that lack an outcome, unless a group that is shown does."""
    from fairaudit.evidence.measurements import UNDEFINED

    shown = () if cells is None else (cell for cell in cells.cells if not cell.masked)
    seen = any(estimate.rows == 0 for cell in shown for estimate in cell.estimates)
    return tuple(note for note in notes if seen or note != UNDEFINED)
