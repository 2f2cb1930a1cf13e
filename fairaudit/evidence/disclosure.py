"""Small groups are masked; numbers that would give them away are rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairaudit._types import Array
from fairaudit.data.groups import GroupTable, Labels, hidden_groups
from fairaudit.data.rates import RATES, RateTable, deo_of, smallest_to_largest, spread
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
    "shown_rates",
    "step_of",
    "suppress",
    "suppressed_measurements",
]


LEFT_OUT = "masked groups left out"


#: Numbers that derive from masked groups are multiples of one of these.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


#: Measures that the groups shown give by themselves.
_OF_GROUPS = ("deo", "equalized_odds_difference", "equalized_odds_ratio", "mean_error_difference")


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
    """Mask every group with fewer than `fewest` people, or with so few of one outcome.

    The rows of the whole table and of every outcome class are public, so others are masked with
    them: see `fairaudit.data.groups.hidden_groups`. Groups that were masked before have no counts
    and protect nobody else: the two tables may be compared.
    """
    counts = [
        [group.people or 0, *(estimate.people or 0 for estimate in group.estimates)]
        for group in table.cells
    ]
    hidden = hidden_groups(np.array(counts).T, fewest, before=table.masked)
    pairs = zip(table.cells, hidden, strict=True)
    return replace(table, cells=tuple(_mask(group) if hide else group for group, hide in pairs))


def _mask(group: Cell) -> Cell:
    nothing = Estimate(value=None, low=None, high=None, rows=None, people=None)
    return Cell(
        levels=group.levels,
        rows=None,
        people=None,
        estimates=tuple(nothing for _ in group.estimates),
        masked=True,
    )


def masked_groups(table: AuditTable, fewest: int) -> set[tuple[str, ...]]:
    """The groups of all categorical attributes that `suppress` masks in a table."""
    some = tuple(column for column in table.attributes if column.kind.is_categorical)
    if not some or fewest < 2:
        return set()
    outcome, labels = table.require_outcome(), Labels.none(len(table))
    if outcome.kind.is_categorical and table.positive is not None:
        actual = (outcome.levels == table.positive)[outcome.codes]
        labels = replace(labels, actual=actual, names=("", ""))
    groups = GroupTable.of(replace(table, attributes=some), labels)
    masked = groups.masked(fewest)
    return {name for name, hidden in zip(groups.names, masked, strict=True) if hidden}


def suppressed_measurements(
    measurements: Measurements, table: AuditTable, fewest: int
) -> Measurements:
    """The measures of a table by the same rule."""
    cells = None if measurements.cells is None else suppress(measurements.cells, fewest)
    unknown = cells is None and any(column.kind.is_categorical for column in table.attributes)
    if fewest < 2 or not (unknown or (cells is not None and cells.masked)):
        return measurements
    step = step_of(fewest, len(table) if table.ids is None else len(table.ids.levels))
    weighted = table.weights is not None
    values = tuple(of_open_cells(value, cells, step, weighted) for value in measurements.values)
    return replace(
        measurements, cells=cells, values=values, notes=_notes(measurements.notes, cells)
    )


def of_open_cells(
    measure: MeasuredValue, table: CellTable | None, step: float, weighted: bool
) -> MeasuredValue:
    """A measure of groups as far as the groups that are shown give it; any other, rounded.

    The largest gap is often that of a small group, whose rate (2 of 7, say) it would tell.
    """
    if measure.value is None:
        return measure
    if table is None or measure.key not in _OF_GROUPS:
        note = "" if measure.key == "kpc_r" else measure.note  # which has a difference
        note = note if ROUNDED in note else "; ".join(filter(None, [note, ROUNDED]))
        return replace(
            measure,
            value=coarse(measure.value, step),
            note=note,
            low=coarse(measure.low, step),
            high=coarse(measure.high, step),
            raw=coarse(measure.raw, step),
        )
    note = (
        measure.note
        if LEFT_OUT in measure.note
        else "; ".join(filter(None, [measure.note, LEFT_OUT]))
    )
    if measure.key == "mean_error_difference":
        value = float(spread(_shown_values(table, ("mean error",))[0]))
        return replace(measure, value=_or_none(value), note=note)
    rates = shown_rates(table)
    ratios = measure.key == "equalized_odds_ratio"
    gaps = [float((smallest_to_largest if ratios else spread)(own)) for own in rates.rate]
    known = [value for value in gaps if not math.isnan(value)]
    value = (min if ratios else max)(known, default=math.nan)
    if measure.key == "deo" and known:
        label = np.stack([1 - rates.rate, rates.rate], axis=-1)
        value = (
            math.nan if weighted else float(deo_of(np.nan_to_num(label * rates.size[..., None])))
        )
    return replace(measure, value=_or_none(value), note=note)


def shown_rates(table: CellTable) -> RateTable:
    """The rates of the groups that are not masked; every row counts once."""
    rows = [
        [group.estimates[table.columns.index(rate)].rows or 0 for group in _shown(table)]
        for rate in RATES
    ]
    size = np.array(rows, dtype=np.float64)
    levels = tuple(group.levels for group in _shown(table))
    return RateTable(levels=levels, rate=_shown_values(table, RATES), size=size, weight=size)


def _shown(table: CellTable) -> list[Cell]:
    return [group for group in table.cells if not group.masked]


def _shown_values(table: CellTable, columns: Sequence[str]) -> Array:
    """Columns × groups that are shown; NaN where a value is undefined."""
    places = [table.columns.index(column) for column in columns]
    values = [[group.estimates[place].value for group in _shown(table)] for place in places]
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


ROUNDED = "rounded, since groups are masked"


def _notes(notes: Sequence[str], cells: CellTable | None) -> tuple[str, ...]:
    """Without the one about groups that lack an outcome, unless a group that is shown does."""
    from fairaudit.evidence.measurements import UNDEFINED

    open_groups = () if cells is None else _shown(cells)
    lacking = any(estimate.rows == 0 for group in open_groups for estimate in group.estimates)
    return tuple(note for note in notes if lacking or note != UNDEFINED)
