"""How large the violation is: every measure that fits a table, and the cells behind the rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.data.columns import Column, level_text
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.measured import Cell, CellTable, Estimate, MeasuredValue

if TYPE_CHECKING:
    from fairaudit.metrics._errors import GroupErrors
    from fairaudit.metrics._rates import GroupRates
    from fairaudit.metrics.measure import Measure

__all__ = [
    "CAUTION",
    "UNDEFINED",
    "Measurements",
    "about_classes",
    "about_groups",
    "caution_about",
    "measure",
]

MOST_ROWS_FOR_R = 5_000
CAUTION = (
    "The measures are sizes, not a verdict: sampling alone moves each of them away from its "
    "value under equalized odds (0, and 1 for the ratio)."
)
#: The same where mean errors are among the numbers.
CAUTION_WITH_ERRORS = (
    "KPC and CODEC are sizes, not a verdict: sampling alone moves each of them away from its value "
    "under equalized odds (0). Mean errors say how well the prediction is calibrated in each "
    "group; they are no measure of equalized odds and need not be equal where it holds."
)

UNDEFINED = (
    "Some groups have no rows of one outcome class or of both; a rate without rows is undefined "
    "and no part of the measures."
)


@dataclass(frozen=True, slots=True)
class Measurements:
    """The numbers, the cells behind the rates, and what a reader must know about them."""

    values: tuple[MeasuredValue, ...]
    cells: CellTable | None
    notes: tuple[str, ...]


def measure(
    table: AuditTable, *, threshold: float | None = None, with_r: bool = False
) -> Measurements:
    """Every measure on a table; those that do not fit it say why.

    Parameters
    ----------
    table : AuditTable
        With an outcome.
    threshold : float, optional
        Turns scores into labels. Default: 0.5 if all scores lie in [0, 1].
    with_r : bool
        Also KPC by R's own package, where R, rpy2 and KPC are installed and rows are few enough.
    """
    from fairaudit.metrics._codec import codec_of_table

    outcome = table.require_outcome()
    table.require_varying_prediction()
    asked = [table.attributes]
    if len(table.attributes) > 1:
        asked += [(column,) for column in table.attributes]
    values = _kpc(table, asked)
    values.append(_value("codec", "CODEC", codec_of_table, table))
    if with_r:
        values += _by_r(table, values[0])
    groups = [column for column in table.attributes if column.kind.is_categorical]
    notes = about_groups(table.attributes, groups)
    if not groups:
        return Measurements(tuple(values), None, notes)
    if not outcome.kind.is_categorical and threshold is None:
        return _with_errors(table, groups, values, notes)
    return _with_rates(table, groups, threshold, values, notes)


def caution_about(values: Sequence[MeasuredValue]) -> str:
    """What a reader must know about these numbers."""
    of_errors = any(one.key == "mean_error_difference" for one in values)
    return CAUTION_WITH_ERRORS if of_errors else CAUTION


def _kpc(table: AuditTable, asked: Sequence[tuple[Column, ...]]) -> list[MeasuredValue]:
    """KPC of each set of attributes."""
    from fairaudit.metrics._kpc import kpc_of_table
    from fairaudit.metrics._kpc_cells import kpc_by_cells

    names = [tuple(column.name for column in some) for some in asked]
    sizes = None if table.weights is not None else kpc_by_cells(table, names)
    if sizes is not None and np.isfinite(sizes).all():
        return [
            MeasuredValue(key="kpc", name="KPC", value=float(size), attributes=name)
            for size, name in zip(sizes, names, strict=True)
        ]
    return [_value("kpc", "KPC", kpc_of_table, replace(table, attributes=some)) for some in asked]


def _value(
    key: str, name: str, function: Callable[[AuditTable], Measure], table: AuditTable
) -> MeasuredValue:
    """A measure of dependence, which does not weigh rows, or why it does not fit."""
    names = tuple(column.name for column in table.attributes)
    try:
        value = float(function(replace(table, weights=None)))
        return MeasuredValue(key=key, name=name, value=value, attributes=names)
    except InputError as reason:
        return MeasuredValue(key=key, name=name, value=None, attributes=names, note=str(reason))


def _by_r(table: AuditTable, native: MeasuredValue) -> list[MeasuredValue]:
    """KPC by R beside the native value; nothing where R cannot be used."""
    from importlib.util import find_spec

    import fairaudit as fa
    from fairaudit.errors import MissingDependencyError

    if len(table) > MOST_ROWS_FOR_R or native.value is None or find_spec("rpy2") is None:
        return []
    columns, outcome = table.prediction.columns, table.require_outcome()
    try:
        value = float(
            fa.metrics.kpc(columns, sensitive=table.attributes, y_true=outcome, backend="r")
        )
    except (InputError, MissingDependencyError):
        return []
    note = f"R's package; native − R = {native.value - value:+.4f} (R breaks ties at random)"
    return [
        MeasuredValue(
            key="kpc_r", name="KPC by R", value=value, attributes=native.attributes, note=note
        )
    ]


def about_groups(attributes: Sequence[Any], groups: Sequence[Any]) -> tuple[str, ...]:
    """Which of these columns (with a name and a kind) measures of groups do not see."""
    left = [column for column in attributes if column not in groups]
    if not left:
        return ()
    kinds = ", ".join(f"{column.name} ({column.kind})" for column in left)
    if not groups:
        return (f"No attribute is categorical, so there are no groups to compare: {kinds}.",)
    names = ", ".join(column.name for column in groups)
    return (f"Measures of groups need categories and use {names} only, without {kinds}.",)


def _with_errors(
    table: AuditTable, groups: list[Column], values: list[MeasuredValue], notes: tuple[str, ...]
) -> Measurements:
    """Add what is measured on the errors of a regression."""
    import fairaudit as fa

    try:
        errors = fa.metrics.group_errors(
            table.prediction.columns, sensitive=groups, y_true=table.outcome, weights=table.weights
        )
    except InputError as reason:
        return Measurements(tuple(values), None, (*notes, f"No errors by group: {reason}"))
    names = tuple(column.name for column in groups)
    name = "largest difference of mean errors"
    about = "calibration, not 0 under equalized odds"
    values.append(
        MeasuredValue(
            key="mean_error_difference", name=name, value=errors.value, attributes=names, note=about
        )
    )
    return Measurements(tuple(values), _error_cells(errors, table, groups), notes)


def _with_rates(
    table: AuditTable,
    groups: list[Column],
    threshold: float | None,
    values: list[MeasuredValue],
    notes: tuple[str, ...],
) -> Measurements:
    """Add what is measured on labels: DEO, equalized odds, and the rates of the cells."""
    from fairaudit.metrics._deo import _deo
    from fairaudit.metrics._odds import _difference, _ratio
    from fairaudit.metrics._rates import _group_rates

    some = replace(table, attributes=tuple(groups))
    cut = default_threshold(table) if threshold is None else threshold
    names = tuple(column.name for column in groups)
    label_note = f"labels: scores at or above {cut:g}" if cut is not None else ""
    try:
        rates = _group_rates(some, threshold=cut)
    except InputError as reason:
        if threshold is not None:  # the caller asked for it
            raise
        why = (
            "the scores do not lie in [0, 1]. Pass a threshold to turn them into labels."
            if cut is None and table.prediction.form == "scores" and table.positive is not None
            else reason
        )
        note = f"No DEO, equalized odds or rates by group: {why}"
        return Measurements(tuple(values), None, (*notes, note))
    of_table: tuple[tuple[str, str, Callable[..., Measure]], ...] = (
        ("deo", "DEO", _deo),
        ("equalized_odds_difference", "equalized-odds difference", _difference),
        ("equalized_odds_ratio", "equalized-odds ratio", _ratio),
    )
    for key, name, function in of_table:
        value = float(function(some, threshold=cut))
        values.append(
            MeasuredValue(key=key, name=name, value=value, attributes=names, note=label_note)
        )
    cells = _rate_cells(rates, table, groups, label_note)
    outcome = table.require_outcome()
    classes = len(outcome.levels) if outcome.kind.is_categorical else 0
    about = about_classes(outcome.name, classes, table.positive)
    notes = (*notes, *about, *_about_rates(rates))
    return Measurements(tuple(values), cells, notes)


def about_classes(name: str, classes: int, positive: Any) -> tuple[str, ...]:
    """What rates compare, where the outcome of this name has more than two classes."""
    if classes <= 2:
        return ()
    return (
        f"Rates, gaps, DEO and equalized odds compare {level_text(positive)} with the other "
        f"{classes - 1} classes of {name!r}; the tests and KPC use all classes.",
    )


def _about_rates(rates: GroupRates) -> tuple[str, ...]:
    if all(cell.tpr.defined and cell.fpr.defined for cell in rates.cells):
        return ()
    return (UNDEFINED,)


def _rate_cells(rates: GroupRates, table: AuditTable, groups: list[Column], note: str) -> CellTable:
    outcome = table.require_outcome()
    named = [_is_named(level, str(rates.positive), outcome) for level in outcome.levels]
    of_class = np.array(named)[outcome.codes]  # nobody, where all rows are of the other class
    counts = [_people(table, groups, rows) for rows in (None, of_class, ~of_class)]
    cells = []
    for cell in rates.cells:
        name = tuple(level_text(level) for level in cell.levels)
        estimates = tuple(
            Estimate(
                value=_or_none(r.value),
                low=_or_none(r.low),
                high=_or_none(r.high),
                rows=r.n,
                people=r.n if people is None else people.get(name, 0),
            )
            for r, people in zip((cell.selection, cell.tpr, cell.fpr), counts, strict=True)
        )
        cells.append(
            Cell(levels=name, rows=cell.n, people=estimates[0].people, estimates=estimates)
        )
    predicted = next(
        (level_text(level) for level, yes in zip(outcome.levels, named, strict=True) if yes),
        str(rates.positive),
    )
    about = f"TPR and FPR: share predicted {predicted} among those who are and are not"
    return CellTable(
        attributes=rates.attributes,
        columns=("selected", "TPR", "FPR"),
        cells=tuple(cells),
        unlisted=rates.unlisted,
        note="; ".join(filter(None, [note, about])),
    )


def _is_named(level: Any, name: str, outcome: Column) -> bool:
    """1, 1.0 and True are one class, however a reader of tables typed them."""
    names = {str(level), level_text(level)}
    return name in (names if outcome.numeric is None else names | {level_text(float(level))})


def _error_cells(errors: GroupErrors, table: AuditTable, groups: list[Column]) -> CellTable:
    counts = _people(table, groups, None)
    cells = []
    for cell in errors.cells:
        name = tuple(level_text(level) for level in cell.levels)
        people = cell.n if counts is None else counts.get(name, 0)
        mean = Estimate(
            value=_or_none(cell.mean),
            low=_or_none(cell.low),
            high=_or_none(cell.high),
            rows=cell.n,
            people=people,
        )
        middle = Estimate(
            value=_or_none(cell.quantiles[2]), low=None, high=None, rows=cell.n, people=people
        )
        cells.append(Cell(levels=name, rows=cell.n, people=people, estimates=(mean, middle)))
    note = "error: prediction − outcome, whose mean need not be 0 under equalized odds"
    columns = ("mean error", "median error")
    return CellTable(
        attributes=errors.attributes,
        columns=columns,
        cells=tuple(cells),
        unlisted=errors.unlisted,
        note=note,
    )


def _people(
    table: AuditTable, groups: list[Column], rows: NDArray[np.bool_] | None
) -> dict[tuple[str, ...], int] | None:
    """Different ids in every cell, among some rows; None where each row is a person."""
    if table.ids is None:
        return None
    codes = np.column_stack([table.ids.codes, *(column.codes for column in groups)])
    codes = codes if rows is None else codes[rows]
    cells, counts = np.unique(np.unique(codes, axis=0)[:, 1:], axis=0, return_counts=True)
    return {
        tuple(level_text(c.levels[code]) for c, code in zip(groups, cell, strict=True)): int(count)
        for cell, count in zip(cells, counts, strict=True)
    }


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
