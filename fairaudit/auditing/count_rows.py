"""The rows of an audit as counts: how many have which outcome, attributes and prediction."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.block_questions import place_questions
from fairaudit.auditing.capsule import hash_table
from fairaudit.auditing.examination import Absent, explain_sample
from fairaudit.auditing.questions import (
    Answer,
    Question,
    list_class_parts,
    list_questions,
    permutes_within_classes,
)
from fairaudit.auditing.table_rows import CopyStore, portray, show_certificates
from fairaudit.data.columns import column_facts
from fairaudit.data.counted_table import count_rows, draw_rows, merge_rows
from fairaudit.data.facts import TableFacts
from fairaudit.data.quantile_bins import describe_bins
from fairaudit.errors import InputError
from fairaudit.evidence.measured import MeasuredValue
from fairaudit.evidence.measurements import Measurements, add_groups
from fairaudit.testing.core import judge_questions
from fairaudit.testing.count_evaluation import CountedBlocks, CountEvaluation
from fairaudit.testing.kpc_over_blocks import KPCOverBlocks
from fairaudit.testing.statistic import statistic_named

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.checkpoint import Checkpoint
    from fairaudit.auditing.findings import Finding
    from fairaudit.data.preparation import Prepared
    from fairaudit.evidence.intervals.certificates import Certificate
    from fairaudit.evidence.localization.claims import Localization
    from fairaudit.evidence.portrait.contrast import Portrait
    from fairaudit.geometry.block_sums import CoarseBlocks
    from fairaudit.testing.permutation_result import TestResult

__all__ = ["MOST_ROWS", "CountRows", "explain_rows_needed"]

MOST_ROWS = 500_000  # that are looked at one by one; of more, counts
MOST_GROUPS = 50_000  # tied blocks
_DRAWN = 20_000  # rows of which the errors of KPC are estimated
_SHOWN = 50_000  # rows that pictures, comparisons of people and places are drawn from
_CODEC = Absent("CODEC", "it ranks all rows at once")
_POWER = Absent("the smallest detectable violation", "it plants violations in single rows")


def explain_rows_needed(table: Any, plan: Plan) -> InputError | None:
    """Why counts are not enough for this plan; None where they are."""
    statistics = statistic_named(plan.statistic)
    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        return InputError(
            f"The outcome {outcome.name!r} is {outcome.kind}; counts need classes. Audit the rows.",
            argument="outcome",
        )
    if table.weights is not None or table.ids is not None:
        role = "weights" if table.weights is not None else "ids"
        return InputError(f"Counts have no {role}. Audit the rows.", argument=role)
    if not permutes_within_classes(outcome, plan):
        return InputError(
            "Counts are permuted within classes. Leave out 'law' and 'density', or audit the rows.",
            argument=("law", "density"),
        )
    if len(statistics) > 1 or not hasattr(statistics[0], "over_blocks"):
        return InputError(
            f"Of more than {MOST_ROWS:,} rows counts have the statistics omnibus, kpc, correlation,"
            " features and scan. Choose one of them, or audit the rows.",
            argument="statistic",
        )
    if plan.calibrate or "kpc" in plan.certify:
        what = "Calibration" if plan.calibrate else "A certificate of KPC"
        return InputError(
            f"{what} needs rows, and these are more than {MOST_ROWS:,}. Leave it out.",
            argument="calibrate" if plan.calibrate else "certify",
        )
    return None


class CountRows:
    """A table of counts (`times`) beyond the number of rows that are looked at one by one.

    `binned` has the number of bins of each column that was cut into bins.
    """

    form, whole = "from counts", f"{MOST_ROWS:,} rows or fewer"

    def __init__(
        self,
        prepared: Prepared,
        plan: Plan,
        *,
        binned: Mapping[str, int] | None = None,
        checkpoint: Checkpoint | None = None,
        name: str = "audit",
        options: Mapping[str, Any] | None = None,
        started: float | None = None,
    ) -> None:
        self.started = time.process_time() if started is None else started
        self.plan, self.checkpoint, self.name = plan, checkpoint, name
        self.table = table = merge_rows(prepared.table)
        self.binned = dict(binned or {})
        self.warnings: Sequence[str] = prepared.notes
        self.options = {**(options or {}), "binned": self.binned}
        self.statistics = statistic_named(plan.statistic)
        reason = explain_rows_needed(table, plan)
        if reason is not None:
            raise reason
        table.require_varying_prediction()
        outcome, missing = table.require_outcome(), prepared.missing
        rows = count_rows(table)
        self.facts = TableFacts(
            rows=rows,
            people=rows,
            prediction=table.prediction.describe(),
            outcome=column_facts(outcome, missing.get(outcome.name, 0)),
            attributes=tuple(column_facts(c, missing.get(c.name, 0)) for c in table.attributes),
            features=prepared.features,
            excluded=prepared.excluded,
            weights=None,
            ids=None,
        )

    @property
    def layout(self) -> Sequence[str]:
        notes = [
            f"The audit is of counts: {len(self.table):,} combinations of outcome, attributes and "
            f"prediction stand for {self.facts.rows:,} rows. Copies are tables with the same sums, "
            "exactly as if rows had exchanged their attributes."
        ]
        notes += describe_bins(self.binned)
        if self._shown < self.facts.rows:
            notes.append(explain_sample(self._shown))
        return notes

    @property
    def unmeasured(self) -> Sequence[Absent]:
        return [_CODEC]

    @property
    def _shown(self) -> int:
        return min(_SHOWN, self.facts.rows)

    def digest(self) -> str:
        return hash_table(self.table)

    @cached_property
    def counted(self) -> CountedBlocks:
        blocks = CountedBlocks(self.table)
        if len(blocks.space) > MOST_GROUPS:
            raise InputError(
                f"There are {len(blocks.space):,} combinations of outcome and attributes; counts "
                f"have {MOST_GROUPS:,} at most. Name fewer attributes, or choose fewer 'bins'.",
                argument=("sensitive", "bins"),
            )
        return blocks

    @cached_property
    def _questions(self) -> tuple[list[Question], list[CoarseBlocks]]:
        outcome = self.table.require_outcome()
        parts = list_class_parts(outcome.name, list(outcome.levels))
        names = [column.name for column in self.table.attributes]
        questions = list_questions(names, parts, self.plan)
        return place_questions(questions, self.counted.space, self.counted.seen)

    @cached_property
    def _sizes(self) -> list[MeasuredValue]:
        """KPC for every question, less its mean over copies."""
        questions, blocks = self._questions
        form = KPCOverBlocks(blocks, [1] * len(blocks), self.counted.seen, centered=True)
        sums = self.counted.sum_data(form.columns)[0]
        drawn = draw_rows(self.table, _DRAWN, 0)
        values = []
        for question, own, evaluate in zip(questions, blocks, form.bind(sums), strict=True):
            raw, of_copies = (float(value) for value in evaluate(sums))
            low, high = self._limits(question, own, drawn, raw - of_copies)
            values.append(
                MeasuredValue(
                    key="kpc",
                    name="KPC",
                    value=raw - of_copies,
                    raw=raw,
                    low=low,
                    high=high,
                    attributes=question.attributes,
                )
            )
        return values

    def _limits(
        self, question: Question, blocks: CoarseBlocks, drawn: Any, value: float
    ) -> tuple[float | None, float | None]:
        from fairaudit.metrics._kpc_centered import limits_of

        if question.part is not None:
            drawn = drawn.take(question.part.rows(drawn.require_outcome()))
        kept = tuple(c for c in drawn.attributes if c.name in question.attributes)
        drawn = replace(drawn, attributes=kept)
        if len(drawn) < 2 or drawn.prediction.constant:
            return None, None
        return limits_of(drawn, value, blocks.n)

    def measures(self) -> Measurements:
        wanted = ("joint", "attribute")
        sizes = [
            size
            for question, size in zip(self._questions[0], self._sizes, strict=True)
            if question.family in wanted
        ]
        return add_groups(self.table, sizes, threshold=self.plan.threshold)

    def answers(self, sizes: Measurements, progress: Progress) -> list[Answer]:
        questions, blocks = self._questions
        permutations, seed = self.plan.permutations, self.plan.permutations.seed
        done = 0

        def count(copies: int) -> None:
            nonlocal done
            done += copies
            progress("copies of counts", done, permutations.n)

        progress("copies of counts", 0, permutations.n)
        seen = self.counted.seen
        form = self.statistics[0].over_blocks(blocks, seen, seed=seed)  # type: ignore[attr-defined]
        store = None if self.checkpoint is None else CopyStore(self.checkpoint, f"{self.name} 0")
        results = judge_questions(
            CountEvaluation(self.counted, blocks, form, permutations),
            [own.n for own in blocks],
            self.statistics,
            permutations,
            progress=count,
            store=store,
            among=[1 if q.family == "joint" else len(questions) - 1 for q in questions],
        )
        return [
            Answer(
                question=question,
                result=result,
                rows=own.n,
                size=size,
                seconds=sum(result.seconds.values()),
            )
            for question, own, result, size in zip(
                questions, blocks, results, self._sizes, strict=True
            )
        ]

    def certificates(self, sizes: Measurements) -> tuple[Certificate, ...]:
        return show_certificates(self.table, self.plan, sizes)

    def power(self, gate: TestResult, progress: Progress) -> Absent | None:
        return _POWER if self.plan.power else None

    def calibration(self, gate: TestResult, progress: Progress) -> None:
        """Refused by `explain_rows_needed`."""

    @cached_property
    def _drawn(self) -> Any:
        return draw_rows(self.table, self._shown, 1)

    def localization(self, gate: Finding, progress: Progress) -> Localization | None:
        if not self.plan.locate:
            return None
        from fairaudit.evidence.localization.locate import locate

        return locate(
            self._drawn,
            gate.p_value if gate.significant else None,
            alpha=self.plan.alpha,
            permutations=self.plan.permutations,
            choice=self.plan.choice_of_law,
            progress=progress,
        )

    def portrait(self, progress: Progress) -> Portrait:
        return portray(self._drawn, self.plan, progress)
