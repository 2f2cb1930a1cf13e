"""How large the violation is: every measure that fits a table, and the groups behind the rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairaudit.data.columns import Column, level_text
from fairaudit.data.groups import Groups, GroupTable, Labels
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.measured import GIVEN_OUTCOME, Cell, CellTable, Estimate, MeasuredValue
from fairaudit.metrics._prediction_gap import FittedGaps, GapFits, half_widths

__all__ = [
    "CAUTION",
    "Measurements",
    "about_classes",
    "about_groups",
    "add_groups",
    "caution_about",
    "measure",
    "measure_labels",
    "measure_sizes",
    "tabulate_rates",
]

MOST_ROWS_FOR_R = 5_000
MOST_CLASSES = 20  # whose confusion is measured
#: Whose rows and people (0: all, 1 and 2: of an outcome), and (value, low, high) of every group.
_Numbers = tuple[int, list[tuple[float, float, float]]]
CAUTION = (
    "The measures are sizes, not a verdict: sampling alone moves each of them away from its "
    "value under equalized odds (0, and 1 for the ratio)."
)
#: The same where mean errors are among the numbers.
CAUTION_WITH_ERRORS = (
    "KPC, CODEC and the prediction gap are sizes, not a verdict: sampling alone moves each of them "
    "away from its value under equalized odds (0). Mean errors say how well the prediction is "
    "calibrated in each group; they are no measure of equalized odds and need not be equal where "
    "it holds."
)
ONE_ROW_EACH = (
    "KPC and CODEC are of one row of each person, drawn at random: rows of one person would be one "
    "another's neighbors."
)


@dataclass(frozen=True, slots=True)
class Measurements:
    """The numbers, the groups behind the rates, and what a reader must know about them.

    `groups` are counted by outcome and label; None where there are no rates. `fits` are the gaps of
    predictions given a continuous outcome; None where there are none. `predicted` count, for each
    of several classes, who is predicted to be of it, where no class is positive.
    """

    values: tuple[MeasuredValue, ...]
    cells: CellTable | None
    notes: tuple[str, ...]
    groups: GroupTable | None = field(default=None, repr=False, compare=False)
    fits: GapFits | None = field(default=None, repr=False, compare=False)
    predicted: tuple[GroupTable, ...] = field(default=(), repr=False, compare=False)


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
    table.require_varying_prediction()
    people = table.keep_one_row_each()  # a person's own rows are neighbors
    attribute_sets = [people.attributes]
    if len(table.attributes) > 1:
        attribute_sets += [(column,) for column in people.attributes]
    values = [*measure_sizes(people, attribute_sets), _codec(people)]
    if with_r:
        values += _by_r(people, values[0])
    notes = (ONE_ROW_EACH,) if len(people) < len(table) else ()
    return add_groups(table, values, threshold=threshold, notes=notes)


def add_groups(
    table: AuditTable,
    values: list[MeasuredValue],
    *,
    threshold: float | None,
    notes: tuple[str, ...] = (),
) -> Measurements:
    """What is measured on groups, beside these values; the table may be one of counts."""
    groups = tuple(column for column in table.attributes if column.kind.is_categorical)
    notes = (*about_groups(table.attributes, groups), *notes)
    if not groups:
        return Measurements(tuple(values), None, notes)
    grouped = replace(table, attributes=groups)
    if not table.require_outcome().kind.is_categorical and threshold is None:
        return _with_errors(grouped, values, notes)
    return _with_rates(grouped, threshold, values, notes)


def caution_about(values: Sequence[MeasuredValue]) -> str:
    """What a reader must know about these numbers."""
    of_errors = any(value.key == "mean_error_difference" for value in values)
    return CAUTION_WITH_ERRORS if of_errors else CAUTION


def measure_sizes(
    table: AuditTable, attribute_sets: Sequence[tuple[Column, ...]]
) -> list[MeasuredValue]:
    """KPC of each set of attributes, less its mean over copies; weights do not enter."""
    from fairaudit.metrics._kpc_blocks import kpc_by_blocks
    from fairaudit.metrics._kpc_centered import kpc_centered_of_table, limits_of

    table = replace(table, weights=None)
    names = [tuple(column.name for column in some) for some in attribute_sets]
    together = kpc_by_blocks(table, names)
    results = []
    for k, name in enumerate(names):
        own = replace(table, attributes=attribute_sets[k])
        named: dict[str, Any] = {"key": "kpc", "name": "KPC", "attributes": name}
        if together is not None and np.isfinite(together[k]).all():
            raw, of_copies = together[k]
            low, high = limits_of(own, raw - of_copies)
            results.append(
                MeasuredValue(value=raw - of_copies, raw=raw, low=low, high=high, **named)
            )
            continue
        try:
            size = kpc_centered_of_table(own)
        except InputError as reason:
            results.append(MeasuredValue(value=None, note=str(reason), **named))
            continue
        results.append(
            MeasuredValue(value=size.value, raw=size.raw, low=size.low, high=size.high, **named)
        )
    return results


def _codec(table: AuditTable) -> MeasuredValue:
    """A measure without a weighted form, or why it does not fit."""
    from fairaudit.metrics._codec import codec_of_table

    value, note = None, ""
    try:
        value = float(codec_of_table(replace(table, weights=None)))
    except InputError as reason:
        note = str(reason)
    names = tuple(column.name for column in table.attributes)
    return MeasuredValue(key="codec", name="CODEC", value=value, attributes=names, note=note)


def _by_r(table: AuditTable, native: MeasuredValue) -> list[MeasuredValue]:
    """KPC by R beside the native value; nothing where R cannot be used."""
    from importlib.util import find_spec

    from fairaudit.errors import MissingDependencyError
    from fairaudit.metrics._kpc import kpc_of_table

    if len(table) > MOST_ROWS_FOR_R or native.raw is None or find_spec("rpy2") is None:
        return []
    try:
        value = float(kpc_of_table(replace(table, weights=None), backend="r"))
    except (InputError, MissingDependencyError):
        return []
    note = f"R's package; native KPC − R = {native.raw - value:+.4f} (R breaks ties at random)"
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
    table: AuditTable, values: list[MeasuredValue], notes: tuple[str, ...]
) -> Measurements:
    """Add what is measured on the predictions and errors of a regression."""
    from fairaudit.metrics._errors import errors_of_groups

    groups = Groups.of(table.attributes)
    try:
        errors = errors_of_groups(table, groups)
    except InputError as reason:
        return Measurements(tuple(values), None, (*notes, f"No errors by group: {reason}"))
    fits, why = _fit_gaps(table)
    values.append(
        MeasuredValue(
            key="prediction_gap",
            name="largest prediction gap",
            value=None if fits is None else fits.whole.largest,
            attributes=groups.attributes,
            note=why,
        )
    )
    values.append(
        MeasuredValue(
            key="mean_error_difference",
            name="largest difference of mean errors",
            value=errors.value,
            attributes=groups.attributes,
            note="calibration, not 0 under equalized odds",
        )
    )
    ids = None if table.ids is None else table.ids.codes
    counted = groups.count(Labels.none(len(table)), ids=ids)
    columns = {
        "mean error": (0, [(own.mean, own.low, own.high) for own in errors.cells]),
        "median error": (0, [(own.quantiles[2], np.nan, np.nan) for own in errors.cells]),
    }
    note = "error: prediction − outcome, whose mean need not be 0 under equalized odds"
    if fits is not None:
        columns = {GIVEN_OUTCOME: (0, _means_given_outcome(fits.whole, groups)), **columns}
        note = (
            f"{GIVEN_OUTCOME}: the group's mean prediction at the outcomes of all people, equal "
            f"for all groups under equalized odds; {note}"
        )
    return Measurements(tuple(values), _tabulate(counted, columns, note), notes, fits=fits)


def _fit_gaps(table: AuditTable) -> tuple[GapFits | None, str]:
    """The gaps of the groups given a continuous outcome, or why there are none."""
    try:
        return GapFits.of(table), "given the outcome, in its units"
    except InputError as reason:
        return None, str(reason)


def _means_given_outcome(fit: FittedGaps, groups: Groups) -> list[tuple[float, float, float]]:
    """Of every group, with the interval of its distance from the common mean."""
    means = {}
    for levels, gap, far in zip(fit.levels, fit.gap, half_widths(fit), strict=True):
        mean = fit.common + gap
        means[levels] = (mean, mean - far, mean + far)
    return [means.get(levels, (np.nan,) * 3) for levels in groups.levels]


def _with_rates(
    table: AuditTable, threshold: float | None, values: list[MeasuredValue], notes: tuple[str, ...]
) -> Measurements:
    """Add what is measured on labels: DEO, equalized odds, and the rates of the groups."""
    from fairaudit.metrics._labels import label_groups

    cut = default_threshold(table) if threshold is None else threshold
    try:
        groups = label_groups(table, threshold=cut)
    except InputError as reason:
        if threshold is not None:  # the caller asked for it
            raise
        why = (
            "the scores do not lie in [0, 1]. Pass a threshold to turn them into labels."
            if cut is None and table.prediction.form == "scores" and table.positive is not None
            else reason
        )
        found = _with_classes(table, values, notes)
        what = "rates by group" if found.cells is None else "gaps of one class"
        note = f"No DEO, equalized odds or {what}: {why}"
        return replace(found, notes=(*notes, note))
    levels = table.require_outcome().levels
    predicted = next((level for level in levels if level == table.positive), table.positive)
    note = f"labels: scores at or above {cut:g}" if cut is not None else ""
    cells = tabulate_rates(groups, level_text(predicted), note)
    outcome = table.require_outcome()
    classes = len(outcome.levels) if outcome.kind.is_categorical else 0
    every = _with_classes(table, [*values, *measure_labels(groups, note)], ())
    return Measurements(
        every.values, cells, (*notes, *about_classes(outcome.name, classes, table.positive)), groups
    )


def _with_classes(
    table: AuditTable, values: list[MeasuredValue], notes: tuple[str, ...]
) -> Measurements:
    """Add what is measured on more than two classes together, where they are predicted."""
    from fairaudit.metrics._confusion import confusion_gap, count_predicted
    from fairaudit.metrics._rates import rates_of_outcome

    outcome = table.require_outcome()
    if not outcome.kind.is_categorical or not 2 < len(outcome.levels) <= MOST_CLASSES:
        return Measurements(tuple(values), None, notes)
    try:
        counted = count_predicted(table)
    except InputError:
        return Measurements(tuple(values), None, notes)
    names = tuple(level_text(level) for level in outcome.levels)
    value, largest = confusion_gap(counted, names)
    about = "" if largest is None else f"share predicted {largest[1]} among {largest[0]}"
    size = MeasuredValue(
        key="confusion_gap",
        name="largest gap of all classes",
        value=_or_none(value),
        attributes=counted[0].attributes,
        note=about,
    )
    columns = {
        f"TPR {name}": (1 + y, [(r.value, r.low, r.high) for r in rates_of_outcome(groups, y)])
        for y, (name, groups) in enumerate(zip(names, counted, strict=True))
    }
    note = "TPR of a class: share predicted to be of it among those who are"
    cells = _tabulate(counted[0], columns, note)
    return Measurements((*values, size), cells, notes, predicted=tuple(counted))


def measure_labels(groups: GroupTable, note: str) -> list[MeasuredValue]:
    """DEO and equalized odds of groups that have been counted."""
    from fairaudit.metrics._odds import odds_difference_of_groups, odds_ratio_of_groups

    difference, ratio = odds_difference_of_groups(groups), odds_ratio_of_groups(groups)
    return [
        MeasuredValue(key=key, name=name, value=value, attributes=groups.attributes, note=note)
        for key, name, value in (
            ("deo", "DEO", groups.deo()),
            ("equalized_odds_difference", "equalized-odds difference", difference.value),
            ("equalized_odds_ratio", "equalized-odds ratio", ratio.value),
        )
    ]


def about_classes(name: str, classes: int, positive: Any) -> tuple[str, ...]:
    """What rates compare, where the outcome of this name has more than two classes."""
    if classes <= 2:
        return ()
    return (
        f"Rates, gaps, DEO and equalized odds compare {level_text(positive)} with the other "
        f"{classes - 1} classes of {name!r}; the tests and KPC use all classes. The FPR mixes "
        "those classes: where groups have other shares of them, it may differ between groups "
        "although equalized odds of all classes holds.",
    )


def tabulate_rates(groups: GroupTable, predicted: str, note: str) -> CellTable:
    """Selection rate, TPR and FPR of groups that have been counted."""
    from fairaudit.metrics._rates import rates_of_groups

    columns = {
        name: (counts, [(rate.value, rate.low, rate.high) for rate in rates])
        for name, counts, rates in zip(
            ("selected", "TPR", "FPR"), (0, 2, 1), rates_of_groups(groups), strict=True
        )
    }
    among = f"among those who are {predicted}, and among all others"
    about = f"TPR and FPR: share predicted {predicted} {among}"
    return _tabulate(groups, columns, "; ".join(filter(None, [note, about])))


def _tabulate(groups: GroupTable, columns: Mapping[str, _Numbers], note: str) -> CellTable:
    """Numbers of every group, with the rows and people behind them."""
    rows, people = groups.rows().T.tolist(), groups.persons().T.tolist()
    cells = (
        Cell(
            levels=name,
            rows=rows[k][0],
            people=people[k][0],
            estimates=tuple(
                Estimate(
                    value=_or_none(numbers[k][0]),
                    low=_or_none(numbers[k][1]),
                    high=_or_none(numbers[k][2]),
                    rows=rows[k][of],
                    people=people[k][of],
                )
                for of, numbers in columns.values()
            ),
        )
        for k, name in enumerate(groups.names)
    )
    return CellTable(
        attributes=groups.attributes,
        columns=tuple(columns),
        cells=tuple(cells),
        unlisted=groups.unlisted,
        note=note,
    )


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
