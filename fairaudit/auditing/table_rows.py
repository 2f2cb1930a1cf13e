"""The rows of an audit as one table in memory."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index, Progress
from fairaudit.auditing.capsule import hash_table
from fairaudit.auditing.questions import (
    Answer,
    Part,
    Question,
    find_range_cuts,
    list_class_parts,
    list_questions,
    list_range_parts,
    number_parts,
    permutes_within_classes,
    split_rounds,
)
from fairaudit.data.columns import column_facts, level_text
from fairaudit.data.facts import TableFacts
from fairaudit.data.quantile_bins import describe_bins
from fairaudit.data.threshold import default_threshold
from fairaudit.evidence.localization.beyond import costs_little
from fairaudit.evidence.measurements import Measurements, measure, measure_sizes
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.testing.choice_of_law import prepare_copies
from fairaudit.testing.core import Scope, run_tests
from fairaudit.testing.rate_statistics import set_threshold
from fairaudit.testing.statistic import Statistic, statistic_named

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.checkpoint import Checkpoint
    from fairaudit.auditing.examination import Absent
    from fairaudit.auditing.findings import Finding
    from fairaudit.data.preparation import Prepared
    from fairaudit.data.roles import Roles
    from fairaudit.data.table import AuditTable
    from fairaudit.evidence.intervals.certificates import Certificate
    from fairaudit.evidence.localization.claims import Localization
    from fairaudit.evidence.measured import MeasuredValue
    from fairaudit.evidence.portrait.contrast import Portrait
    from fairaudit.evidence.power.power_result import Calibration, Power
    from fairaudit.permute.copies import FittedCopies
    from fairaudit.testing.permutation_result import TestResult

__all__ = [
    "CopyStore",
    "TableRows",
    "make_scope",
    "measure_size",
    "portray",
    "show_certificates",
    "varies",
]

MOST_ROWS_FOR_POWER = 100_000  # beyond, planting violations would take longer than the audit


class TableRows:
    """A checked table; `name` is that of its parts in a checkpoint."""

    unmeasured: Sequence[Absent] = ()
    form, whole = "from rows", "in one piece"

    def __init__(
        self,
        prepared: Prepared,
        plan: Plan,
        *,
        roles: Roles | None = None,
        checkpoint: Checkpoint | None = None,
        name: str = "audit",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.started = time.process_time()
        self.plan, self.checkpoint, self.name = plan, checkpoint, name
        self.table = table = prepared.table
        self.warnings: Sequence[str] = prepared.notes
        self.options = dict(options or {})
        if roles is None and table.positive is not None:
            self.options["positive"] = level_text(table.positive)
        outcome, missing = table.require_outcome(), prepared.missing
        self.facts = TableFacts(
            rows=len(table),
            people=len(table) if table.ids is None else len(table.ids.levels),
            prediction=table.prediction.describe(),
            outcome=column_facts(outcome, missing.get(outcome.name, 0)),
            attributes=tuple(column_facts(c, missing.get(c.name, 0)) for c in table.attributes),
            features=prepared.features,
            excluded=prepared.excluded,
            weights=None if table.weights is None else prepared.weights or "weights",
            ids=None if table.ids is None else table.ids.name,
        )
        self.statistics: list[Statistic] = []
        self.behind = 0  # questions behind the gate, which are adjusted for one another
        self.gate_copies: FittedCopies | None = None

    @property
    def layout(self) -> list[str]:
        notes = describe_bins(self.options.get("binned", {}))
        if self.facts.weights is not None:
            notes.append(
                "Weights enter rates, errors and gaps; the tests and KPC count every row once"
                f"{_describe_weights(self.table)}."
            )
        if self.facts.people < self.facts.rows:
            notes.append("People have several rows: whole people were permuted.")
        copies = self.gate_copies
        if self.plan.power and copies is not None and copies.sampler.moves != "attributes":
            notes.append(
                "Not computed: the smallest detectable violation. Violations are planted by moving "
                f"attributes, and the law {copies.law.kind!r} moves the prediction; the laws icp "
                "and local have it."
            )
        return notes

    def digest(self) -> str:
        return hash_table(self.table)

    def measures(self) -> Measurements:
        return measure(self.table, threshold=self.plan.threshold, with_r=self.plan.with_r)

    def answers(self, sizes: Measurements, progress: Progress) -> list[Answer]:
        table, plan = self.table, self.plan
        self.statistics = [
            set_threshold(statistic, table, plan.threshold)
            for statistic in statistic_named(plan.choice_of_law.suit(plan.statistic))
        ]
        names = [column.name for column in table.attributes]
        within = permutes_within_classes(table.require_outcome(), plan)
        all_questions = list_questions(names, self._parts(within), plan)
        shared = within or plan.choice_of_law.fits_nothing(table)
        rounds = split_rounds(all_questions, shared=shared)
        known = {measure.attributes: measure for measure in sizes.values if measure.key == "kpc"}
        self.behind = len(all_questions) - 1
        answers = self._round(0, rounds[0], len(rounds), known, progress)
        if self._follows_gate and len(rounds) > 1:
            rounds = [rounds[0], [question for others in rounds[1:] for question in others]]
        for number, questions in enumerate(rounds[1:], 1):
            answers += self._round(number, questions, len(rounds), known, progress)
        return answers

    @property
    def _follows_gate(self) -> bool:
        """Whether no density could be trusted for the gate: what is behind it then fits none.

        Local copies are drawn by the outcome, and serve all attributes.
        """
        copies, choice = self.gate_copies, self.plan.choice_of_law
        return choice.law == "auto" and copies is not None and copies.law.kind == "local"

    def _parts(self, within_classes: bool) -> list[Part]:
        outcome = self.table.require_outcome()
        if within_classes:
            return list_class_parts(outcome.name, list(outcome.levels))
        if outcome.kind.is_categorical or self.table.ids is not None:
            return []
        parts = list_range_parts(outcome.name, find_range_cuts(np.asarray(outcome.numeric)))
        return [part for part in parts if len(part.rows(outcome))]

    def _round(
        self,
        number: int,
        questions: Sequence[Question],
        rounds: int,
        known: Mapping[tuple[str, ...], MeasuredValue],
        progress: Progress,
    ) -> list[Answer]:
        """Ask the questions that share their copies."""
        permutations = self.plan.permutations
        parts = [question for question in questions if question.part is not None]
        what = (
            "outcome ranges" if len(parts) == len(questions) else f"copies of {questions[0].name}"
        )
        done = number * permutations.n
        progress(what, done, rounds * permutations.n)

        def count(copies: int) -> None:
            nonlocal done
            done += copies
            progress(what, done, rounds * permutations.n)

        scopes = [(question, make_scope(question, self.table)) for question in questions]
        scopes = [(q, s) for q, s in scopes if q.family == "joint" or varies(s.table)]
        if not scopes:  # in no range of the outcome is there anything to compare
            return []
        start = time.process_time()
        strata = number_parts(questions, self.table.require_outcome())
        fitted = self._copies(questions[0].attributes, strata)
        spent = time.process_time() - start
        store = None
        if self.checkpoint is not None:
            store = CopyStore(self.checkpoint, f"{self.name} {number}")
        results = run_tests(
            [scope for _, scope in scopes],
            fitted,
            statistics=self.statistics,
            permutations=permutations,
            progress=count,
            store=store,
            among=[1 if question.family == "joint" else self.behind for question, _ in scopes],
        )
        self.gate_copies = self.gate_copies or fitted
        answers = []
        for (question, scope), result in zip(scopes, results, strict=True):
            start = time.process_time()
            whole = question.part is None and question.attributes in known
            size = known[question.attributes] if whole else measure_size(scope.table)
            spent += sum(result.seconds.values()) + time.process_time() - start
            answers.append(
                Answer(
                    question=question,
                    result=result,
                    rows=len(scope.table),
                    size=size,
                    seconds=spent,
                )
            )
            spent = 0.0
        return answers

    def _copies(self, names: Sequence[str], strata: Index | None) -> FittedCopies:
        choice, permutations = self.plan.choice_of_law, self.plan.permutations
        gate = self.gate_copies
        if gate is not None and self._follows_gate:
            local = replace(choice, law="local")
            fitted = prepare_copies(self.table, local, permutations, strata=strata)
            return replace(fitted, reason=gate.reason)
        table = _keep_attributes(self.table, names)
        return prepare_copies(table, choice, permutations, strata=strata)

    def certificates(self, sizes: Measurements) -> tuple[Certificate, ...]:
        return show_certificates(self.table, self.plan, sizes)

    def power(self, gate: TestResult, progress: Progress) -> Power | None:
        plan, permutations, fitted = self.plan, self.plan.permutations, self.gate_copies
        stated = len(self.table) <= MOST_ROWS_FOR_POWER and not permutations.stops_early
        if not plan.power or not stated or gate.inconclusive is not None or fitted is None:
            return None
        from fairaudit.evidence.power.detect import smallest_detectable

        return smallest_detectable(
            self.table,
            fitted,
            self.statistics,
            gate.null,
            alpha=plan.alpha,
            seed=permutations.seed,
            threshold=plan.threshold,
            first=permutations.n,
            progress=progress,
        )

    def calibration(self, gate: TestResult, progress: Progress) -> Calibration | None:
        plan, permutations, fitted = self.plan, self.plan.permutations, self.gate_copies
        if not plan.calibrate or fitted is None:
            return None
        from fairaudit.evidence.placebo import calibrate

        return calibrate(
            self.table,
            fitted,
            self.statistics,
            gate,
            alpha=plan.alpha,
            seed=permutations.seed,
            threshold=plan.threshold,
            first=permutations.n + 1_000_000,
            prepare=lambda table: prepare_copies(table, plan.choice_of_law, permutations),
            progress=progress,
        )

    def localization(self, gate: Finding, progress: Progress) -> Localization | None:
        plan = self.plan
        wanted = plan.locate
        if wanted is None:
            wanted = gate.significant and costs_little(self.table, plan.permutations)
        if not wanted:
            return None
        from fairaudit.evidence.localization.locate import locate

        return locate(
            self.table,
            gate.p_value if gate.significant else None,
            alpha=plan.alpha,
            permutations=plan.permutations,
            choice=plan.choice_of_law,
            progress=progress,
        )

    def portrait(self, progress: Progress) -> Portrait:
        return portray(self.table, self.plan, progress)


def portray(table: AuditTable, plan: Plan, progress: Progress) -> Portrait:
    """Who is treated differently in a table, and what pictures need."""
    from fairaudit.evidence.portrait.draw import draw_portrait

    progress("who and how much", 0, 1)
    portrait = draw_portrait(
        table,
        alpha=plan.alpha,
        seed=plan.permutations.seed,
        threshold=plan.threshold,
        curves=not plan.locate,  # which has them by groups too
    )
    progress("who and how much", 1, 1)
    return portrait


def show_certificates(
    table: AuditTable, plan: Plan, sizes: Measurements
) -> tuple[Certificate, ...]:
    """What was to be shown, of rows or of counts."""
    if not plan.certify:
        return ()
    from fairaudit.evidence.intervals.certify import certificates

    cut = default_threshold(table) if plan.threshold is None else plan.threshold
    return certificates(
        table, plan.certify, alpha=plan.alpha, threshold=cut, groups=sizes.groups, fits=sizes.fits
    )


class CopyStore:
    """The copies of one round in the file of a run that can be resumed."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self.checkpoint, self.name = checkpoint, name

    def get(self, numbers: range) -> list[Array] | None:
        values = self.checkpoint.get(self._key(numbers))
        return None if values is None else [np.array(block, dtype=np.float64) for block in values]

    def put(self, numbers: range, values: list[Array]) -> None:
        self.checkpoint.put(self._key(numbers), [block.tolist() for block in values])

    def _key(self, numbers: range) -> str:
        return f"{self.name} copies {numbers.start}-{numbers.stop}"


def _describe_weights(table: AuditTable) -> str:
    """Whether the unweighted test answers the weighted question too: rows that are tied tell."""
    blocks = find_tied_blocks((table.require_outcome(), *table.attributes), len(table))
    tied = blocks.counts[blocks.of_row] > 1
    if table.weights is None:
        return ""
    if tied.mean() < 0.5:
        return (
            ", which answers the weighted question too if the weights depend on outcome and "
            "attributes only; too few rows are equal in these to tell"
        )
    same = np.isclose(table.weights, table.weights[blocks.first][blocks.of_row]).all()
    if same:
        return (
            ", which answers the weighted question too, because the weights depend on outcome and "
            "attributes only"
        )
    return (
        "; the weights vary among rows of equal outcome and attributes, so that the weighted "
        "question may have another answer"
    )


def make_scope(question: Question, table: AuditTable) -> Scope:
    """The rows and attributes of the table that a question is about."""
    if question.part is not None:
        rows = question.part.rows(table.require_outcome())
        return Scope(table.take(rows), rows=rows)
    return Scope(
        table if question.family == "joint" else _keep_attributes(table, question.attributes)
    )


def varies(table: AuditTable) -> bool:
    """Whether some attribute and the prediction vary, so that they can go together."""
    several = any(len(column.levels) > 1 for column in table.attributes)
    return several and not table.prediction.constant


def measure_size(table: AuditTable) -> MeasuredValue:
    """The size of the dependence on all attributes of a table."""
    people = table.keep_one_row_each()
    (size,) = measure_sizes(people, [people.attributes])
    return size


def _keep_attributes(table: AuditTable, names: Sequence[str]) -> AuditTable:
    return replace(table, attributes=tuple(c for c in table.attributes if c.name in names))
