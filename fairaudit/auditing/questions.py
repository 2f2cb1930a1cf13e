"""The questions of an audit, asked of shared copies, and their answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index, Progress
from fairaudit.auditing.audit_result import Finding
from fairaudit.data.columns import level_text
from fairaudit.data.roles import unknown_column
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.permute.copies import FittedCopies
from fairaudit.permute.icp import ICP
from fairaudit.testing.core import Question, run_tests
from fairaudit.testing.multiplicity import adjusted
from fairaudit.testing.permutation_result import TestResult
from fairaudit.testing.statistic import Statistic, statistic_named

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.checkpoint import Checkpoint
    from fairaudit.evidence.power.power_result import Calibration, Power

__all__ = ["differs", "find", "judged", "range_cuts", "rounds_of", "size_of", "with_threshold"]

RANGES = 3  # of a continuous outcome
MOST_ROWS_FOR_POWER = 100_000  # beyond, planting violations would take longer than the audit


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with its place in the audit; `label` names an outcome class or range."""

    family: str
    attributes: tuple[str, ...]
    label: str | None
    question: Question

    @property
    def name(self) -> str:
        return self.label if self.label is not None else ", ".join(self.attributes)


@dataclass(frozen=True, slots=True)
class _Round:
    """Questions that share their copies; `strata` are ranges of the outcome that stay apart."""

    asked: list[_Asked]
    strata: Index | None = None


@dataclass(frozen=True, slots=True)
class Checks:
    """What was learnt about the joint test from predictions whose truth is known."""

    power: Power | None = None
    calibration: Calibration | None = None


class _Blocks:
    """The copies of one round in the file of a run that can be resumed."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self.checkpoint, self.name = checkpoint, name

    def get(self, numbers: range) -> list[Array] | None:
        values = self.checkpoint.get(self._key(numbers))
        return None if values is None else [np.array(one, dtype=np.float64) for one in values]

    def put(self, numbers: range, values: list[Array]) -> None:
        self.checkpoint.put(self._key(numbers), [one.tolist() for one in values])

    def _key(self, numbers: range) -> str:
        return f"{self.name} copies {numbers.start}-{numbers.stop}"


def find(
    table: AuditTable,
    plan: Plan,
    hear: Progress,
    checkpoint: Checkpoint | None = None,
    name: str = "audit",
    sizes: Mapping[tuple[str, ...], float | None] | None = None,
) -> tuple[tuple[Finding, ...], TestResult, Checks]:
    """Every finding, the gate first; the whole test behind the gate; what was checked of it.

    `sizes` are KPC of sets of attributes that have been measured already.
    """
    statistics = [with_threshold(one, table, plan) for one in statistic_named(plan.statistic)]
    rounds = rounds_of(table, plan)
    total = len(rounds) * plan.permutations.n
    findings: list[Finding] = []
    gate: TestResult | None = None
    checks = Checks()
    for number, one in enumerate(rounds):
        what = "outcome ranges" if one.strata is not None else f"copies of {one.asked[0].name}"
        done = number * plan.permutations.n
        hear(what, done, total)

        def count(copies: int, what: str = what) -> None:
            nonlocal done
            done += copies
            hear(what, done, total)

        asked = [each for each in one.asked if each.family == "joint" or differs(each)]
        if not asked:  # in no range of the outcome is there anything to compare
            continue
        start = time.process_time()
        fitted = _copies(_with(table, one.asked[0].attributes), plan, one.strata)
        spent = time.process_time() - start
        questions = [each.question for each in asked]
        kept = None if checkpoint is None else _Blocks(checkpoint, f"{name} {number}")
        results = run_tests(
            questions,
            fitted,
            statistics=statistics,
            permutations=plan.permutations,
            progress=count,
            kept=kept,
        )
        if gate is None:
            gate = results[0]
            checks = _checks(
                table, plan, fitted=fitted, statistics=statistics, gate=gate, hear=hear
            )
        for each, result in zip(asked, results, strict=True):
            findings.append(_finding(each, result, spent, sizes or {}))
            spent = 0.0
    assert gate is not None  # noqa: S101  for mypy: the first round asks the joint question
    return judged(findings, plan), gate, checks


def _checks(
    table: AuditTable,
    plan: Plan,
    fitted: FittedCopies,
    statistics: list[Statistic],
    gate: TestResult,
    hear: Progress,
) -> Checks:
    """What the joint test could have found, and what it says about known predictions."""
    drawn = plan.permutations
    given: dict[str, Any] = {"alpha": plan.alpha, "seed": drawn.seed, "threshold": plan.threshold}
    power = calibration = None
    stated = len(table) <= MOST_ROWS_FOR_POWER and drawn.stop_after is None
    if plan.power and stated and gate.inconclusive is None:
        from fairaudit.evidence.power.detect import smallest_detectable

        hear("planted violations", 0, 1)
        power = smallest_detectable(table, fitted, statistics, gate.null, **given, first=drawn.n)
        hear("planted violations", 1, 1)
    if plan.calibrate:
        from fairaudit.evidence.placebo import calibrate

        calibration = calibrate(
            table, fitted, statistics, gate, **given, first=drawn.n + 1_000_000, hear=hear
        )
    return Checks(power, calibration)


def with_threshold(statistic: Statistic, table: AuditTable, plan: Plan) -> Statistic:
    """A statistic of labels takes the threshold that the rates take."""
    missing = getattr(statistic, "threshold", 0.0) is None
    if not missing or table.prediction.form == "labels":
        return statistic
    cut = default_threshold(table) if plan.threshold is None else plan.threshold
    return replace(statistic, threshold=cut)  # type: ignore[type-var]


def rounds_of(table: AuditTable, plan: Plan, cuts: Array | None = None) -> list[_Round]:
    """What is asked, and of which copies; `cuts` divide a continuous outcome into ranges."""
    outcome, names = table.require_outcome(), tuple(c.name for c in table.attributes)
    asked = [_Asked("joint", names, None, Question(table))]
    if len(names) > 1:
        asked += [_of_attributes("attribute", table, (name,)) for name in names]
    pairs: set[frozenset[str]] = set()
    for pair in plan.pairs:
        _check_pair(pair, names)
        if len(names) > 2 and frozenset(pair) not in pairs:  # (b, a) is (a, b)
            pairs.add(frozenset(pair))
            asked.append(_of_attributes("pair", table, pair))
    if outcome.kind.is_categorical and plan.density in ("auto", "exact"):
        # within classes: the copies serve all questions
        classes = _classes(table) if len(outcome.levels) > 1 else []
        return [_Round([*asked, *_of_parts(table, names, classes)])]
    # a fitted density answers for the attributes that it was fitted on
    rounds = [_Round([one]) for one in asked]
    if not outcome.kind.is_categorical and table.ids is None:
        parts = _ranges(table, range_cuts(table) if cuts is None else cuts)
        strata = np.empty(len(table), dtype=np.intp)
        for number, (_, rows) in enumerate(parts):
            strata[rows] = number
        rounds.append(_Round(_of_parts(table, names, parts), strata))
    return rounds


def _of_attributes(family: str, table: AuditTable, names: tuple[str, ...]) -> _Asked:
    return _Asked(family, names, None, Question(_with(table, names)))


def _of_parts(
    table: AuditTable, names: tuple[str, ...], parts: list[tuple[str, Index]]
) -> list[_Asked]:
    return [
        _Asked("outcome", names, label, Question(table.take(rows), rows=rows))
        for label, rows in parts
    ]


def differs(asked: _Asked) -> bool:
    """Some attribute and the prediction vary in these rows."""
    table = asked.question.table
    varies = any(len(column.levels) > 1 for column in table.attributes)
    return varies and not table.prediction.constant


def _copies(table: AuditTable, plan: Plan, strata: Index | None) -> FittedCopies:
    # too few rows to cross-fit are too few to conclude from: the test will say so
    folds = plan.folds if len(table) >= 4 * plan.folds else 1
    return ICP(plan.density, folds).prepare(
        table.require_outcome(),
        table.attributes,
        steps=plan.permutations.steps,
        seed=plan.permutations.seed,
        units=None if table.ids is None else table.ids.codes,
        strata=strata,
    )


def _with(table: AuditTable, names: Sequence[str]) -> AuditTable:
    return replace(table, attributes=tuple(c for c in table.attributes if c.name in names))


def _check_pair(pair: tuple[str, str], names: Sequence[str]) -> None:
    for name in pair:
        if name not in names:
            raise InputError(unknown_column(name, list(names)))
    if pair[0] == pair[1]:
        raise InputError(f"The pair {pair[0]!r}, {pair[1]!r} names one attribute twice.")


def _classes(table: AuditTable) -> list[tuple[str, Index]]:
    outcome = table.require_outcome()
    return [
        (f"{outcome.name} = {level_text(level)}", np.flatnonzero(outcome.codes == code))
        for code, level in enumerate(outcome.levels)
    ]


def range_cuts(table: AuditTable) -> Array:
    """Where the lower, middle and upper third of the outcome meet."""
    values = np.asarray(table.require_outcome().numeric)
    return np.unique(np.quantile(values, np.arange(1, RANGES) / RANGES))


def _ranges(table: AuditTable, cuts: Array) -> list[tuple[str, Index]]:
    """Rows in the ranges of the outcome."""
    outcome = table.require_outcome()
    values = np.asarray(outcome.numeric)
    place = np.searchsorted(cuts, values, side="left")
    edges = [f"{cut:.4g}" for cut in cuts]
    labels = [
        f"{outcome.name} ≤ {edges[0]}",
        *(f"{a} < {outcome.name} ≤ {b}" for a, b in pairwise(edges)),
        f"{outcome.name} > {edges[-1]}",
    ]
    parts = [(label, np.flatnonzero(place == k)) for k, label in enumerate(labels)]
    return [(label, rows) for label, rows in parts if len(rows)]


def size_of(table: AuditTable) -> float | None:
    from fairaudit.metrics._kpc import kpc_of_table
    from fairaudit.metrics._kpc_cells import kpc_by_cells

    by_cells = kpc_by_cells(table, [[column.name for column in table.attributes]])
    if by_cells is not None and np.isfinite(by_cells[0]):
        return by_cells[0]
    try:
        return float(kpc_of_table(replace(table, weights=None)))
    except InputError:
        return None


def _finding(
    asked: _Asked,
    result: TestResult,
    fit_seconds: float,
    sizes: Mapping[tuple[str, ...], float | None],
) -> Finding:
    start = time.process_time()
    table = asked.question.table
    known = asked.label is None and asked.attributes in sizes
    size = sizes[asked.attributes] if known else size_of(table)
    return Finding(
        family=asked.family,
        name=asked.name,
        attributes=asked.attributes,
        outcome=asked.label,
        rows=len(table),
        statistic=result.name,
        value=float(result.statistic) if np.isfinite(result.statistic) else None,
        p_value=float(result.p_value) if np.isfinite(result.p_value) else None,
        p_interval=result.interval,
        p_adjusted=None,
        significant=False,
        kpc=size,
        copies=len(result.null),
        copies_by=result.density,
        inconclusive=result.inconclusive,
        seconds=sum(result.seconds.values()) + fit_seconds + time.process_time() - start,
    )


def judged(findings: list[Finding], plan: Plan) -> tuple[Finding, ...]:
    """Adjust the p-values behind the gate, and say which are significant."""
    gate, *behind = findings
    passed = gate.inconclusive is None and gate.p_value is not None and gate.p_value <= plan.alpha
    tested = [k for k, one in enumerate(behind) if one.p_value is not None]
    corrected = adjusted([behind[k].p_value or 0.0 for k in tested], plan.adjust)
    for k, p in zip(tested, corrected, strict=True):
        found = passed and behind[k].inconclusive is None and p <= plan.alpha
        behind[k] = replace(behind[k], p_adjusted=p, significant=found)
    return (replace(gate, significant=passed), *behind)
