"""Small groups are masked; numbers that would give them away are rounded."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairaudit._types import Array
from fairaudit.data.columns import level_text
from fairaudit.data.groups import Groups, GroupTable, Labels, hidden_groups
from fairaudit.data.rates import RATES, RateTable, deo_of, smallest_to_largest, spread
from fairaudit.evidence.measured import GIVEN_OUTCOME, Cell, CellTable, Estimate, MeasuredValue
from fairaudit.evidence.shown_kpc import CountedSizes, kpc_of_shown

if TYPE_CHECKING:
    from fairaudit.data.table import AuditTable
    from fairaudit.evidence.measurements import Measurements

__all__ = [
    "LEFT_OUT",
    "ROUNDED",
    "coarse",
    "coarse_interval",
    "coarse_loss",
    "masked_groups",
    "of_open_cells",
    "round_means",
    "shown_rates",
    "step_of",
    "suppress",
    "suppressed_measurements",
    "without_groups",
]


LEFT_OUT = "masked groups left out"
ROUNDED = "rounded, since groups are masked"


#: Numbers that derive from masked groups are multiples of one of these.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


#: Measures that the groups shown give by themselves.
_OF_GROUPS = (
    "deo",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "mean_error_difference",
    "prediction_gap",
)
#: The differences of a column of numbers.
_SPREADS = {"mean_error_difference": "mean error", "prediction_gap": GIVEN_OUTCOME}


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


def coarse_interval(
    value: float | None, low: float | None, high: float | None, step: float
) -> dict[str, float | None]:
    """An estimate to the nearest multiple of the step, and its limits outwards.

    Examples
    --------
    >>> coarse_interval(0.34, -0.02, 0.71, 0.1)
    {'value': 0.3, 'low': -0.1, 'high': 0.8}
    """
    below = None if low is None else coarse(-low, step, up=True)
    return {
        "value": coarse(value, step),
        "low": None if below is None else 0.0 - below,
        "high": coarse(high, step, up=True),
    }


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


def round_means(table: CellTable, step: float) -> CellTable:
    """The means given the outcome, which people of masked groups enter, to a step."""
    if GIVEN_OUTCOME not in table.columns or not table.masked or not step:
        return table
    place = table.columns.index(GIVEN_OUTCOME)

    def rounded(group: Cell) -> Cell:
        own = group.estimates[place]
        limits = coarse_interval(own.value, own.low, own.high, step)
        mean = Estimate(**limits, rows=own.rows, people=own.people)
        return replace(
            group, estimates=(*group.estimates[:place], mean, *group.estimates[place + 1 :])
        )

    return replace(table, cells=tuple(map(rounded, table.cells)))


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


def without_groups(table: AuditTable, masked: Collection[tuple[str, ...]]) -> AuditTable:
    """The rows of all other groups."""
    if not masked:
        return table
    groups = Groups.of([column for column in table.attributes if column.kind.is_categorical])
    names = [tuple(map(level_text, levels)) for levels in groups.levels]
    shown = np.array([name not in masked for name in names])
    return table.take(np.flatnonzero(shown[groups.of_row]))


def suppressed_measurements(
    measurements: Measurements, table: AuditTable, fewest: int
) -> Measurements:
    """The measures of a table by the same rule."""
    cells = None if measurements.cells is None else suppress(measurements.cells, fewest)
    unknown = cells is None and any(column.kind.is_categorical for column in table.attributes)
    if fewest < 2 or not (unknown or (cells is not None and cells.masked)):
        return measurements
    step = step_of(fewest, len(table) if table.ids is None else len(table.ids.levels))
    if cells is not None and measurements.fits is not None:
        cells = round_means(cells, step * measurements.fits.unit)
    weighted = table.weights is not None
    counted = CountedSizes.of(measurements.cells, measurements.values)
    values = tuple(
        of_open_cells(value, cells, step, weighted, counted=counted)
        for value in measurements.values
    )
    return replace(measurements, cells=cells, values=values)


def of_open_cells(
    measure: MeasuredValue,
    table: CellTable | None,
    step: float,
    weighted: bool,
    *,
    counted: CountedSizes | None = None,
    again: bool = False,
) -> MeasuredValue:
    """A measure of groups as far as the groups that are shown give it; any other, rounded.

    The largest gap is often that of a small group, whose rate (2 of 7, say) it would tell. What
    was done is noted, unless it is done `again`. `counted` tells which sizes follow from the
    counts of all groups.
    """
    if measure.value is None:
        return measure
    if measure.key == "confusion_gap":  # the cells do not have all of its shares
        return replace(measure, value=None, note="masked, since groups are")
    by_counts = counted is not None and counted.give(measure.attributes, measure.value)
    if table is not None and by_counts and measure.key not in _OF_GROUPS:
        value = kpc_of_shown(table, measure.attributes)
        note = measure.note if again else "; ".join(filter(None, [measure.note, LEFT_OUT]))
        raw = None if measure.raw is None else value
        return replace(measure, value=value, low=None, high=None, raw=raw, note=note)
    if table is None or measure.key not in _OF_GROUPS:
        note = "" if measure.key == "kpc_r" else measure.note  # which has a difference
        note = measure.note if again else "; ".join(filter(None, [note, ROUNDED]))
        rounded = coarse_interval(measure.value, measure.low, measure.high, step)
        return replace(
            measure,
            value=rounded["value"],
            note=note,
            low=rounded["low"],
            high=rounded["high"],
            raw=coarse(measure.raw, step),
        )
    note = measure.note if again else "; ".join(filter(None, [measure.note, LEFT_OUT]))
    if measure.key in _SPREADS:
        value = float(spread(_shown_values(table, (_SPREADS[measure.key],))[0]))
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
