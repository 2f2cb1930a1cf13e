"""Disclosure control: small cells are masked, and what would give them away is masked or rounded.

The rule for all results: where anything is masked, a number that the groups shown alone give
stays as it is, and any other that people of masked groups enter is rounded by `coarse` to a step at
which so many people as the bound of the mask make no visible difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairaudit.errors import InputError
from fairaudit.result import (
    AuditResult,
    Cell,
    CellTable,
    ColumnFacts,
    Estimate,
    Excluded,
    Finding,
    MeasuredValue,
    TableFacts,
)

if TYPE_CHECKING:
    from fairaudit.equivalence.result import Certificate
    from fairaudit.measurements import Measurements
    from fairaudit.power.result import Power
    from fairaudit.table import AuditTable

__all__ = [
    "coarse",
    "coarse_loss",
    "masked_groups",
    "of_open_cells",
    "step_of",
    "suppress",
    "suppressed_audit",
    "suppressed_measurements",
]

LEFT_OUT = "masked groups left out"
ROUNDED = "rounded, since groups are masked"
#: Numbers that derive from masked groups are multiples of one of these.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
#: A bound of a gap follows the smallest group, whose rate one person moves a lot.
_STEP_OF_BOUNDS = 0.05
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
    nothing = Estimate(None, None, None, None, None)
    return Cell(cell.levels, None, None, tuple(nothing for _ in cell.estimates), masked=True)


def masked_groups(table: AuditTable, fewest: int) -> set[tuple[str, ...]]:
    """The groups of all categorical attributes that `suppress` masks in a table."""
    import numpy as np

    from fairaudit.columns import level_text
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
        Cell(tuple(level_text(level) for level in levels), int(own[0]), int(own[0]),
             tuple(Estimate(None, None, None, int(count), int(count)) for count in own))
        for levels, own in zip(groups.levels, np.column_stack(counts), strict=True)
    )  # fmt: skip
    names = tuple(column.name for column in some)
    hidden = suppress(CellTable(names, ("",) * len(chosen), cells, 0), fewest)
    return {cell.levels for cell in hidden.cells if cell.masked}


def suppressed_audit(result: AuditResult, fewest: int) -> AuditResult:
    """See `AuditResult.suppressed`."""
    fewest = max(fewest, int(result.capsule.options.get("suppress", 0)))  # the strictest so far
    capsule = replace(result.capsule, options={**result.capsule.options, "suppress": fewest})
    cells = None if result.cells is None else suppress(result.cells, fewest)
    shown = replace(result, capsule=capsule, cells=cells)
    hidden = () if cells is None else tuple(cell for cell in cells.cells if cell.masked)
    shown = replace(
        shown,
        table=_counts_of_columns(result.table, hidden, fewest),
        power=None if result.power is None else _power(result.power, shown, hidden, fewest),
        localisation=(
            None if result.localisation is None
            else result.localisation.suppressed(fewest, rounded=shown.masked)
        ),
    )  # fmt: skip
    return _rounded(result, shown, fewest) if shown.masked else shown


def _rounded(result: AuditResult, shown: AuditResult, fewest: int) -> AuditResult:
    """Everything that people of masked groups enter, rounded."""
    from fairaudit.equivalence.gaps import gaps_of_shown

    step = step_of(fewest, result.table.people)
    cells, gaps = shown.cells, result.gaps
    certificates = tuple(
        one.coarse(step if one.measure == "kpc" else max(step, _STEP_OF_BOUNDS))
        for one in result.certificates
    )
    if gaps is not None and cells is not None:
        gaps = gaps_of_shown(gaps, cells, result.capsule.seed)
    quality = replace(
        result.quality,
        moved=coarse(result.quality.moved, step) or 0.0,
        scores={name: round(score, 2) for name, score in result.quality.scores.items()},
    )
    value, null = result.joint.value, result.null
    if not result.masked:  # else they are in deviations already
        value, null = _in_deviations(value, null)
    weighted = result.table.weights is not None
    measures = tuple(of_open_cells(one, cells, step, weighted) for one in result.measures)
    findings = [_finding(one, step) for one in result.findings]
    return replace(
        shown,
        because=_because(result, measures, certificates),
        measures=measures,
        findings=(replace(findings[0], value=value), *findings[1:]),
        gaps=gaps, certificates=certificates, quality=quality, null=null,
        notes=_notes(result.notes, cells),
    )  # fmt: skip


def _finding(finding: Finding, step: float) -> Finding:
    """The p-values with a rounded size; none of one outcome, where few people decide it."""
    kpc = None if finding.outcome is not None else coarse(finding.kpc, step)
    return replace(finding, value=None, kpc=kpc)


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


def _notes(notes: Sequence[str], cells: CellTable | None) -> tuple[str, ...]:
    """Without the one about groups that lack an outcome, unless a group that is shown does."""
    from fairaudit.measurements import UNDEFINED

    shown = () if cells is None else (cell for cell in cells.cells if not cell.masked)
    seen = any(estimate.rows == 0 for cell in shown for estimate in cell.estimates)
    return tuple(note for note in notes if seen or note != UNDEFINED)


def _because(
    result: AuditResult, measures: Sequence[MeasuredValue], certificates: Sequence[Certificate]
) -> str:
    """The sentence of the verdict with rounded sizes; any other sentence as it is."""
    from fairaudit.verdict import decide

    def sentence(certificates: Sequence[Certificate], told: Sequence[MeasuredValue] | None) -> str:
        return decide(
            result.joint, result.measures, result.table.outcome, alpha=result.alpha,
            tolerance=result.tolerance, certificates=certificates,
            calibration=result.calibration, planned=result.capsule.copies, told=told,
        )[1]  # fmt: skip

    before = result.measures if result.masked else None
    try:
        if sentence(result.certificates, before) == result.because:
            return sentence(certificates, measures)
    except InputError:  # a tolerance of a measure that is masked
        pass
    return result.because


def _in_deviations(
    value: float | None, null: Sequence[float]
) -> tuple[float | None, tuple[float, ...]]:
    """The statistic of data and copies in standard deviations of the copies, from their mean.

    Copies that reach the data still do, and no others.
    """
    known = [one for one in null if one is not None and math.isfinite(one)]
    if len(known) < 2 or value is None:
        return None, ()
    mean = sum(known) / len(known)
    spread = math.sqrt(sum((one - mean) ** 2 for one in known) / (len(known) - 1))
    if spread == 0:
        return None, ()
    own = round((value - mean) / spread, 1) + 0.0
    copies = [(round((one - mean) / spread, 2), one >= value - 1e-12) for one in known]
    return own, tuple(
        max(far, own) if reached else min(far, round(own - 0.01, 2)) for far, reached in copies
    )


def _counts_of_columns(table: TableFacts, hidden: Sequence[Cell], fewest: int) -> TableFacts:
    """Without counts of few missing values, or of those that make a masked group."""
    from fairaudit.missing import MISSING_LEVEL

    of_missing = any(MISSING_LEVEL in cell.levels for cell in hidden)

    def column(one: ColumnFacts) -> ColumnFacts:
        masked = of_missing and MISSING_LEVEL in one.levels
        few = one.missing is not None and 0 < one.missing < fewest
        return replace(one, missing=None) if one.missing and (few or masked) else one

    def excluded(one: Excluded) -> Excluded:
        return replace(one, rows=None) if one.rows is not None and 0 < one.rows < fewest else one

    return replace(
        table, outcome=column(table.outcome), attributes=tuple(map(column, table.attributes)),
        excluded=tuple(map(excluded, table.excluded)),
    )  # fmt: skip


def _power(power: Power, shown: AuditResult, hidden: Sequence[Cell], fewest: int) -> Power:
    """Without small groups; counts of groups that have masked ones inside are masked too."""
    names = () if shown.cells is None else shown.cells.attributes
    unsure = {
        f"{name} = {level}" for cell in hidden
        for name, level in zip(names, cell.levels, strict=True)
    }  # fmt: skip
    rows, step = shown.table.rows, step_of(fewest, shown.table.people)
    found = []
    for one in power.detectable:
        if one.rows is not None and one.rows < fewest:
            continue
        if one.rows is not None and (one.group in unsure or 0 < rows - one.rows < fewest):
            one = replace(one, rows=None)
        if shown.masked:
            one = replace(
                one, shift=coarse(one.shift, 0.01, up=True),
                tpr_gap=coarse(one.tpr_gap, step, up=True),
                fpr_gap=coarse(one.fpr_gap, step, up=True), kpc=coarse(one.kpc, step, up=True),
            )  # fmt: skip
        found.append(one)
    return replace(power, detectable=tuple(found))


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
            for cell in table.cells if not cell.masked and cell.estimates[place].rows
        ]  # fmt: skip
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
