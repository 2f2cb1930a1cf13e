"""Disclosure control: small groups are masked, and what would give them away is masked or rounded.

The rule for all results: where anything is masked, a number that the groups shown alone give
stays as it is, and any other that people of masked groups enter is rounded by `coarse` to a step at
which so many people as the bound of the mask make no visible difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from fairaudit.auditing.findings import Capsule, Finding
from fairaudit.auditing.verdict import decide
from fairaudit.data.facts import ColumnFacts, Excluded, TableFacts
from fairaudit.errors import InputError
from fairaudit.evidence.disclosure import (
    coarse,
    coarse_interval,
    of_open_cells,
    round_means,
    step_of,
    suppress,
)
from fairaudit.evidence.measured import Cell, CellTable, MeasuredValue
from fairaudit.evidence.shown_kpc import CountedSizes, kpc_of_shown

if TYPE_CHECKING:
    from fairaudit.evidence.intervals.certificates import Certificate, GapTable
    from fairaudit.evidence.localization.claims import Localization
    from fairaudit.evidence.portrait.contrast import Group, Portrait
    from fairaudit.evidence.power.power_result import Calibration, Power
    from fairaudit.testing.trust import Trust

__all__ = ["mask_audit"]

#: A bound of a gap follows the smallest group, whose rate one person moves a lot.
_STEP_OF_BOUNDS = 0.05


class Audit(Protocol):
    """What is masked of an `AuditResult`, which has it done."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def alpha(self) -> float: ...

    @property
    def because(self) -> str: ...

    @property
    def calibration(self) -> Calibration | None: ...

    @property
    def capsule(self) -> Capsule: ...

    @property
    def cells(self) -> CellTable | None: ...

    @property
    def certificates(self) -> tuple[Certificate, ...]: ...

    @property
    def findings(self) -> tuple[Finding, ...]: ...

    @property
    def gaps(self) -> GapTable | None: ...

    @property
    def joint(self) -> Finding: ...

    @property
    def localisation(self) -> Localization | None: ...

    @property
    def masked(self) -> bool: ...

    @property
    def measures(self) -> tuple[MeasuredValue, ...]: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def null(self) -> tuple[float, ...]: ...

    @property
    def portrait(self) -> Portrait | None: ...

    @property
    def power(self) -> Power | None: ...

    @property
    def quality(self) -> Trust: ...

    @property
    def table(self) -> TableFacts: ...

    @property
    def tolerance(self) -> dict[str, float]: ...


Shown = TypeVar("Shown", bound=Audit)


def mask_audit(result: Shown, fewest: int) -> Shown:
    """See `AuditResult.suppressed`."""
    fewest = max(fewest, int(result.capsule.options.get("suppress", 0)))  # the strictest so far
    capsule = replace(result.capsule, options={**result.capsule.options, "suppress": fewest})
    groups = None if result.cells is None else suppress(result.cells, fewest)
    shown = replace(result, capsule=capsule, cells=groups)
    hidden = () if groups is None else tuple(group for group in groups.cells if group.masked)
    shown = replace(
        shown,
        table=_mask_columns(
            result.table, hidden, fewest, rounded=shown.masked and not result.masked
        ),
        power=None if result.power is None else _mask_power(result.power, shown, hidden, fewest),
        localisation=(
            None
            if result.localisation is None
            else result.localisation.suppressed(fewest, rounded=shown.masked)
        ),
        portrait=(
            None
            if result.portrait is None
            else result.portrait.suppressed(fewest, _list_hidden(groups))
        ),
    )
    return _round_numbers(result, shown, fewest) if shown.masked else shown


def _round_numbers(result: Shown, shown: Shown, fewest: int) -> Shown:
    """Everything that people of masked groups enter, rounded."""
    from fairaudit.evidence.intervals.gaps import gaps_of_shown
    from fairaudit.evidence.intervals.prediction_gaps import round_gaps

    step = step_of(fewest, result.table.people)
    groups, gaps = shown.cells, result.gaps
    unit = (gaps.unit or 1.0) if gaps is not None and gaps.of_predictions else 1.0
    certificates = tuple(
        certificate.coarse(
            step if certificate.measure == "kpc" else unit * max(step, _STEP_OF_BOUNDS)
        )
        for certificate in result.certificates
    )
    if gaps is not None and groups is not None and gaps.of_predictions:
        groups = round_means(groups, step * unit)
        gaps = round_gaps(gaps, groups, shown.table, fewest)
    elif gaps is not None and gaps.of_classes:
        gaps = None  # to all others, whom the table of groups does not have in full
    elif gaps is not None and groups is not None:
        gaps = gaps_of_shown(gaps, groups, result.capsule.seed)
    quality = replace(
        result.quality,
        moved=coarse(result.quality.moved, step) or 0.0,
        scores={name: round(score, 2) for name, score in result.quality.scores.items()},
    )
    calibration = result.calibration
    if calibration is not None:
        calibration = replace(calibration, shift=coarse(calibration.shift, 0.01) or 0.0)
    value, null = result.joint.value, result.null
    if not result.masked:  # else they are in deviations already
        value, null = _standardize_null(value, null)
    weighted = result.table.weights is not None
    counted = CountedSizes.of(result.cells, result.measures)
    measures = tuple(
        of_open_cells(measure, groups, step, weighted, counted=counted, again=result.masked)
        for measure in result.measures
    )
    findings = [_mask_finding(finding, step, counted, groups) for finding in result.findings]
    return replace(
        shown,
        because=_rewrite_reason(result, measures, certificates),
        cells=groups,
        measures=measures,
        findings=(replace(findings[0], value=value), *findings[1:]),
        gaps=gaps,
        certificates=certificates,
        calibration=calibration,
        quality=quality,
        null=null,
    )


def _mask_finding(
    finding: Finding, step: float, counted: CountedSizes, shown: CellTable | None
) -> Finding:
    """The p-values with the size of the groups shown, if counts give it, or a rounded one.

    None of one outcome, where few people decide it.
    """
    nothing = replace(finding, value=None, kpc=None, kpc_low=None, kpc_high=None, kpc_raw=None)
    if finding.outcome is not None:
        return nothing
    if shown is not None and counted.give(finding.attributes, finding.kpc):
        size = kpc_of_shown(shown, finding.attributes)
        return replace(nothing, kpc=size, kpc_raw=None if finding.kpc_raw is None else size)
    rounded = coarse_interval(finding.kpc, finding.kpc_low, finding.kpc_high, step)
    return replace(
        finding,
        value=None,
        kpc=rounded["value"],
        kpc_low=rounded["low"],
        kpc_high=rounded["high"],
        kpc_raw=coarse(finding.kpc_raw, step),
    )


def _rewrite_reason(
    result: Audit, measures: Sequence[MeasuredValue], certificates: Sequence[Certificate]
) -> str:
    """The sentence of the verdict with rounded sizes; any other sentence as it is."""

    def sentence(
        certificates: Sequence[Certificate], stated_measures: Sequence[MeasuredValue] | None
    ) -> str:
        return decide(
            result.joint,
            result.measures,
            result.table.outcome,
            alpha=result.alpha,
            tolerance=result.tolerance,
            certificates=certificates,
            calibration=result.calibration,
            planned=result.capsule.copies,
            stated_measures=stated_measures,
        )[1]

    before = result.measures if result.masked else None
    try:
        if sentence(result.certificates, before) == result.because:
            return sentence(certificates, measures)
    except InputError:  # a tolerance of a measure that is masked
        pass
    return result.because


def _standardize_null(
    value: float | None, null: Sequence[float]
) -> tuple[float | None, tuple[float, ...]]:
    """The statistic of data and copies in standard deviations of the copies, from their mean.

    Copies that reach the data still do, and no others.
    """
    from fairaudit.testing.p_value import reaches

    known = [copy for copy in null if copy is not None and math.isfinite(copy)]
    if len(known) < 2 or value is None:
        return None, ()
    mean = sum(known) / len(known)
    spread = math.sqrt(sum((copy - mean) ** 2 for copy in known) / (len(known) - 1))
    if spread == 0:
        return None, ()
    own = round((value - mean) / spread, 1) + 0.0
    copies = [(round((copy - mean) / spread, 2), reaches(copy, value)) for copy in known]
    return own, tuple(
        max(far, own) if reached else min(far, round(own - 0.01, 2)) for far, reached in copies
    )


def _list_hidden(table: CellTable | None) -> set[Group]:
    """The masked groups, and single levels of which nothing is shown."""
    if table is None:
        return set()
    hidden: set[Group] = {
        tuple(zip(table.attributes, group.levels, strict=True))
        for group in table.cells
        if group.masked
    }
    shown = [group.levels for group in table.cells if not group.masked]
    for place, name in enumerate(table.attributes) if hidden else ():
        seen = {levels[place] for levels in shown}
        hidden |= {
            ((name, group.levels[place]),)
            for group in table.cells
            if group.levels[place] not in seen
        }
    return hidden


def _mask_columns(
    table: TableFacts, hidden: Sequence[Cell], fewest: int, *, rounded: bool
) -> TableFacts:
    """Without counts of few missing values, or of those that make a masked group.

    `rounded`: without the exact values of those who have the lowest and the highest.
    """
    from fairaudit.data.missing_values import MISSING_LEVEL

    of_missing = any(MISSING_LEVEL in group.levels for group in hidden)

    def mask_column(facts: ColumnFacts) -> ColumnFacts:
        facts = facts.rounded() if rounded else facts
        masked = of_missing and MISSING_LEVEL in facts.levels
        few = facts.missing is not None and 0 < facts.missing < fewest
        return replace(facts, missing=None) if facts.missing and (few or masked) else facts

    def mask_exclusion(exclusion: Excluded) -> Excluded:
        few = exclusion.rows is not None and 0 < exclusion.rows < fewest
        return replace(exclusion, rows=None) if few else exclusion

    return replace(
        table,
        outcome=mask_column(table.outcome),
        attributes=tuple(map(mask_column, table.attributes)),
        excluded=tuple(map(mask_exclusion, table.excluded)),
    )


def _mask_power(power: Power, shown: Audit, hidden: Sequence[Cell], fewest: int) -> Power:
    """Without small groups; counts of groups that have masked ones inside are masked too."""
    names = () if shown.cells is None else shown.cells.attributes
    unsure = {
        f"{name} = {level}"
        for group in hidden
        for name, level in zip(names, group.levels, strict=True)
    }
    rows, step = shown.table.rows, step_of(fewest, shown.table.people)
    unit = None if shown.gaps is None else shown.gaps.unit
    violations = []
    for violation in power.detectable:
        if violation.rows is not None and violation.rows < fewest:
            continue
        if violation.rows is not None and (
            violation.group in unsure or 0 < rows - violation.rows < fewest
        ):
            violation = replace(violation, rows=None)
        gap = violation.prediction_gap
        if shown.masked:
            violation = replace(
                violation,
                shift=coarse(violation.shift, 0.01, up=True),
                tpr_gap=coarse(violation.tpr_gap, step, up=True),
                fpr_gap=coarse(violation.fpr_gap, step, up=True),
                kpc=coarse(violation.kpc, step, up=True),
                prediction_gap=None if unit is None else coarse(gap, unit * step, up=True),
            )
        violations.append(violation)
    return replace(power, detectable=tuple(violations))
