"""Shards with a continuous outcome, without a fitted density.

Attributes move among neighbors in the outcome within each shard, in groups of blocks. Of every copy
a shard returns sums over its rows, with functions of the attributes that all shards share: added
up they give the statistic of the whole table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array
from fairaudit.auditing.engines.by_rows import (
    WITHIN_SHARDS,
    Encoder,
    make_scopes,
    prepare_local,
    refuse_no_answer,
)
from fairaudit.auditing.engines.schema import Schema
from fairaudit.auditing.engines.sharded_answers import ShardedAnswer
from fairaudit.auditing.engines.sources import ROW, name_errors
from fairaudit.auditing.questions import Question
from fairaudit.auditing.table_rows import measure_size
from fairaudit.permute.copies import CopyLaw, stream
from fairaudit.permute.local import NearOutcome
from fairaudit.testing.attribute_functions import show_rows
from fairaudit.testing.diagnostics import CHECKED_COPIES, judge_copies
from fairaudit.testing.omnibus_shifts import SeenAttributes, ShiftedProducts
from fairaudit.testing.p_value import Null
from fairaudit.testing.shift_evaluation import find_moved, limit_groups
from fairaudit.testing.statistic import list_parts, statistic_named

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.engines.engine import Engine
    from fairaudit.auditing.engines.survey import Survey

__all__ = ["QuestionSums", "ShardSums", "ShiftJob", "answer_by_shifts", "sum_shifts"]


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What the functions of a question are drawn on, the same in all shards."""

    encoder: Encoder
    rows: Array
    total: int


@dataclass(frozen=True, slots=True, eq=False)
class ShiftJob:
    """What a shard needs to know: the same for all shards."""

    schema: Schema
    plan: Plan
    questions: Sequence[Question]
    shown: Sequence[Shown]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QuestionSums:
    """One question: sums of the data and of all copies; sizes and what moves, times rows."""

    products: ShiftedProducts
    rows: int
    moved: float
    kpc: float
    kpc_raw: float
    measured: int

    def __add__(self, other: QuestionSums) -> QuestionSums:
        return QuestionSums(
            products=self.products + other.products,
            rows=self.rows + other.rows,
            moved=self.moved + other.moved,
            kpc=self.kpc + other.kpc,
            kpc_raw=self.kpc_raw + other.kpc_raw,
            measured=self.measured + other.measured,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ShardSums:
    """By the numbers of the questions that rows could answer."""

    questions: Mapping[int, QuestionSums]

    def copy(self) -> ShardSums:
        """Itself: nothing in it is changed."""
        return self

    def __add__(self, other: ShardSums) -> ShardSums:
        together = dict(self.questions)
        for number, sums in other.questions.items():
            together[number] = together[number] + sums if number in together else sums
        return ShardSums(together)


def answer_by_shifts(
    engine: Engine,
    pieces: Sequence[Any],
    schema: Schema,
    survey: Survey,
    questions: Sequence[Question],
    plan: Plan,
) -> list[ShardedAnswer]:
    """All questions, from sums over the rows of all shards."""
    shown = [_show(question, schema, survey, plan) for question in questions]
    job, count = ShiftJob(schema, plan, questions, shown), len(pieces)
    sums = engine.sum("copies of shard", sum_shifts, pieces, [job] * count, range(count))
    refuse_no_answer(sums.questions)
    weights = list_parts(statistic_named(plan.statistic))[1]
    law = CopyLaw("local", WITHIN_SHARDS)
    answers = []
    for number, found in sorted(sums.questions.items()):
        values = found.products.evaluate()
        answers.append(
            ShardedAnswer(
                question=questions[number],
                null=Null(values[0], values[1:], weights),
                trust=judge_copies(
                    law,
                    moved=found.moved / found.rows,
                    distinct=CHECKED_COPIES,
                    reason=plan.choice_of_law.explain_shards(),
                ),
                rows=found.rows,
                kpc=found.kpc / found.measured if found.measured else None,
                kpc_raw=found.kpc_raw / found.measured if found.measured else None,
            )
        )
    return answers


def _show(question: Question, schema: Schema, survey: Survey, plan: Plan) -> Shown:
    """The attributes of the question in a sample."""
    columns = [c for c in schema.attributes if c.name in question.attributes]
    columns.sort(key=lambda column: column.name)
    sample, total = survey.sample, survey.rows
    encoder = Encoder.of(columns, sample)
    a = encoder(sample)
    if question.part is not None:
        own = question.part.rows(schema.table(sample).require_outcome())
        a, total = a[own], total * len(own) // max(len(sample), 1)
    return Shown(encoder, a[show_rows(len(a), stream(plan.permutations.seed, 2, 1))], total)


def sum_shifts(frame: pd.DataFrame, job: ShiftJob, shard: int) -> ShardSums:
    """All questions on the rows of a shard."""
    with name_errors(f"Shard {shard}"):
        frame = frame.sort_values(ROW, kind="stable", ignore_index=True)
        permutations = job.plan.permutations
        table = job.schema.table(frame)
        (statistic,) = statistic_named(job.plan.statistic)
        seed = int(stream(permutations.seed, 7, shard).integers(2**62))
        sampler = prepare_local(table, job.questions, job.plan, seed).sampler
        assert isinstance(sampler, NearOutcome)  # noqa: S101  for mypy: local copies
        everything = sampler.list_groups()
        shifts = np.zeros((permutations.n + 1, len(everything)), dtype=np.intp)  # data first
        for copy in range(permutations.n):
            shifts[copy + 1] = sampler.draw_shifts(copy)
        number = {question: k for k, question in enumerate(job.questions)}
        found = {}
        for question, scope in make_scopes(job.questions, table):
            shown = job.shown[number[question]]
            numbers = shown.encoder(frame)
            own = numbers if scope.rows is None else numbers[scope.rows]
            groups = limit_groups(everything, scope.rows, len(table))
            bound = statistic.over_shifts(  # type: ignore[attr-defined]
                scope.table,
                groups,
                seed=permutations.seed,
                seen=SeenAttributes(own, shown.rows, shown.total),
            )
            size, rows = measure_size(scope.table), len(scope.table)
            known = size.value is not None and size.raw is not None
            found[number[question]] = QuestionSums(
                products=bound.see(shifts),
                rows=rows,
                moved=find_moved(scope, groups)[0] * rows,
                kpc=(size.value or 0.0) * rows,
                kpc_raw=(size.raw or 0.0) * rows,
                measured=rows if known else 0,
            )
        return ShardSums(found)
