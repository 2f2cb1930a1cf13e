"""Shards whose rows are hardly tied: every shard is a small test, and their statistics are added.

The densities of a continuous outcome were fitted on a sample that is in no shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array
from fairaudit.auditing.engines.schema import Schema, SchemaColumn
from fairaudit.auditing.engines.sharded_answers import ShardedAnswer
from fairaudit.auditing.engines.sources import ROW, name_errors
from fairaudit.auditing.questions import Question, number_parts, split_rounds
from fairaudit.auditing.table_rows import make_scope, measure_size, varies
from fairaudit.data.table import AuditTable
from fairaudit.density import density_named
from fairaudit.density.auto import Auto
from fairaudit.density.conditional_density import Density, Fitted
from fairaudit.errors import InputError
from fairaudit.evidence.measured import MeasuredValue
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.copies import CopyLaw, FittedCopies, stream
from fairaudit.permute.folds import join_pits, split_rows
from fairaudit.permute.icp import ICP
from fairaudit.permute.local import Local
from fairaudit.testing.diagnostics import (
    CHECKED_COPIES,
    check_exchangeable,
    check_pit,
    judge_copies,
)
from fairaudit.testing.evaluation import Scope, make_evaluation
from fairaudit.testing.p_value import Null
from fairaudit.testing.rate_statistics import set_threshold
from fairaudit.testing.statistic import list_parts, statistic_named

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.engines.engine import Engine
    from fairaudit.auditing.engines.survey import Survey

__all__ = [
    "HELD_OUT",
    "WITHIN_SHARDS",
    "Encoder",
    "Prefit",
    "RowJob",
    "ShardAnswer",
    "answer_by_rows",
    "choose_density",
    "fit_densities",
    "make_scopes",
    "prepare_local",
    "refuse_no_answer",
]

#: How a density is fitted for shards: on rows that are in none of them.
HELD_OUT = "held-out sample"
#: Local copies, whose blocks may differ between shards.
WITHIN_SHARDS = "local (blocks of neighbors in the outcome, within shards)"
_PIT_ROWS = 2_000  # of each shard


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Attributes as numbers, on the scale of the sample in every shard."""

    columns: tuple[SchemaColumn, ...]
    center: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def of(cls, columns: Sequence[SchemaColumn], sample: pd.DataFrame) -> Encoder:
        numbers = [_read_numbers(column, sample) for column in columns]
        center = tuple(float(x.mean()) for x in numbers)
        return cls(tuple(columns), center, tuple(float(x.std()) or 1.0 for x in numbers))

    def __call__(self, frame: pd.DataFrame) -> Array:
        parts = []
        for column, center, spread in zip(self.columns, self.center, self.spread, strict=True):
            if not column.kind.is_categorical or column.levels is None:
                parts.append(((_read_numbers(column, frame) - center) / spread)[:, None])
            elif len(column.levels) <= 2:
                parts.append(frame[column.name].to_numpy().astype(np.float64)[:, None])
            else:
                parts.append(np.eye(len(column.levels))[frame[column.name].to_numpy()] * 0.5**0.5)
        return np.hstack(parts)


def _read_numbers(column: SchemaColumn, frame: pd.DataFrame) -> Array:
    values = frame[column.name].to_numpy()
    if column.levels is not None and not column.text:
        values = column.levels[values]
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Prefit:
    """q(y | some attributes), fitted on the sample."""

    law: CopyLaw
    fitted: Fitted
    encoder: Encoder
    scores: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class RowJob:
    """What a shard needs to know: the same for all shards."""

    schema: Schema
    plan: Plan
    questions: Sequence[Question]
    densities: Mapping[tuple[str, ...], Prefit]


def choose_density(plan: Plan, *, categorical: bool) -> Density | None:
    """The density that is fitted for shards; None where rows move without one."""
    exact = plan.law == "exact"
    if exact or plan.choice_of_law.is_local_in_shards(categorical=categorical):
        return None
    return density_named(plan.density, categorical=categorical)


def fit_densities(
    schema: Schema, sample: pd.DataFrame, questions: Sequence[Question], plan: Plan
) -> RowJob:
    """Fit what must be fitted on the sample, for every set of attributes that is asked about."""
    categorical = schema.outcome.kind.is_categorical
    density = choose_density(plan, categorical=categorical)
    if density is None:
        return RowJob(schema, plan, questions, {})
    if categorical:
        raise InputError(
            "Shards with a categorical outcome permute within classes. Leave 'density' out.",
            argument="density",
        )
    y = np.asarray(schema.table(sample).require_outcome().numeric)
    seed = int(stream(plan.permutations.seed, 4).integers(2**31))
    densities: dict[tuple[str, ...], Prefit] = {}
    for names in dict.fromkeys(question.attributes for question in questions):
        encoder = Encoder.of([c for c in schema.attributes if c.name in names], sample)
        a = encoder(sample)
        scores: dict[str, float] = {}
        family = density
        if isinstance(density, Auto):
            parts = split_rows(len(y), plan.folds, None, plan.permutations.seed)
            splits = [(np.setdiff1d(np.arange(len(y)), rows), rows) for rows in parts]
            choice = density.choose(y, a, splits, seed)
            family, scores = choice.family, choice.scores
        words = f"{family.name}, fitted on {len(y):,} rows that are not tested"
        law = CopyLaw("fitted", words, family.name, HELD_OUT)
        densities[names] = Prefit(law, family.fit(y, a, seed), encoder, scores)
    return RowJob(schema, plan, questions, densities)


def answer_by_rows(
    engine: Engine,
    pieces: Sequence[Any],
    schema: Schema,
    survey: Survey,
    questions: Sequence[Question],
    plan: Plan,
) -> list[ShardedAnswer]:
    """All questions shard by shard; statistics are means over shards, weighted by rows."""
    job = fit_densities(schema, survey.sample, questions, plan)
    count = len(pieces)
    of_shards = engine.gather(
        engine.map("copies of shard", answer_shard, pieces, [job] * count, range(count))
    )
    together: dict[int, list[ShardAnswer]] = {}
    for answers in of_shards:
        for answer in answers:
            together.setdefault(answer.number, []).append(answer)
    refuse_no_answer(together)
    return [
        _join_shards(questions[number], answers, job)
        for number, answers in sorted(together.items())
    ]


def refuse_no_answer(answers: Mapping[int, Any]) -> None:
    """The gate comes first; without it there is no audit."""
    if 0 not in answers:
        raise InputError(
            "In no shard do both attributes and prediction vary. Use fewer 'shards', or one piece.",
            argument="shards",
        )


def _join_shards(question: Question, shards: list[ShardAnswer], job: RowJob) -> ShardedAnswer:
    """One question over all shards that could answer it."""
    rows = sum(answer.rows for answer in shards)
    sizes = [answer for answer in shards if None not in (answer.size.value, answer.size.raw)]
    size, raw = (
        np.average(
            [(answer.size.value, answer.size.raw) for answer in sizes],
            0,
            [answer.rows for answer in sizes],
        ).tolist()
        if sizes
        else (None, None)
    )
    check = pit = None
    first = shards[0].products
    if first is not None:
        products = np.zeros_like(first)
        for answer in shards:  # a shard without one of the levels has fewer: it is left out
            if answer.products is not None and answer.products.shape == products.shape:
                products += answer.products * answer.rows
        check = check_exchangeable(products)
        pits = [answer.pit for answer in shards if answer.pit is not None]
        pit = check_pit(np.concatenate(pits)) if pits else None
    fitted = job.densities.get(question.attributes)
    trust = judge_copies(
        shards[0].law if fitted is None else fitted.law,
        moved=sum(answer.moved * answer.rows for answer in shards) / rows,
        distinct=CHECKED_COPIES,
        check=check,
        pit=pit,
        scores={} if fitted is None else fitted.scores,
        reason=shards[0].reason,
    )
    null = Null.mean([answer.null for answer in shards], [answer.rows for answer in shards])
    return ShardedAnswer(
        question=question, null=null, trust=trust, rows=rows, kpc=size, kpc_raw=raw
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShardAnswer:
    """One question (by its number) in one shard."""

    number: int
    rows: int
    null: Null
    law: CopyLaw
    reason: str
    size: MeasuredValue
    moved: float
    products: Array | None
    pit: Array | None


def answer_shard(frame: pd.DataFrame, job: RowJob, shard: int) -> list[ShardAnswer]:
    """All questions on the rows of a shard."""
    with name_errors(f"Shard {shard}"):
        frame = frame.sort_values(ROW, kind="stable", ignore_index=True)
        seed = int(stream(job.plan.permutations.seed, 7, shard).integers(2**62))
        permutations = replace(job.plan.permutations, seed=seed, n_jobs=1)
        plan = replace(job.plan, permutations=permutations)
        table = job.schema.table(frame)
        statistics = [
            set_threshold(statistic, table, plan.threshold)
            for statistic in statistic_named(plan.statistic)
        ]
        number = {question: k for k, question in enumerate(job.questions)}
        answers = []
        for questions in split_rounds(job.questions, shared=not job.densities):
            scopes = make_scopes(questions, table)
            if not scopes:
                continue
            fitted = _prepare_copies(
                frame, table, questions, job.densities.get(questions[0].attributes), plan
            )
            evaluation = make_evaluation([s for _, s in scopes], fitted, statistics, permutations)
            batch, everything = evaluation.batch, range(len(scopes))
            blocks = [
                evaluation.see(range(at, min(at + batch, permutations.n)), everything)
                for at in range(0, permutations.n, batch)
            ]
            for k, (question, scope) in enumerate(scopes):
                moved, products = evaluation.summarize_check(k)
                pit = fitted.pit if question.family == "joint" else None
                answers.append(
                    ShardAnswer(
                        number=number[question],
                        rows=len(scope.table),
                        null=Null(
                            evaluation.observed[k],
                            np.vstack([block[k] for block in blocks]),
                            list_parts(statistics)[1],
                        ),
                        law=fitted.law,
                        reason=fitted.reason,
                        size=measure_size(scope.table),
                        moved=moved,
                        products=products,
                        pit=None if pit is None else pit[:_PIT_ROWS],
                    )
                )
        return answers


def make_scopes(questions: Sequence[Question], table: AuditTable) -> list[tuple[Question, Scope]]:
    """The questions that these rows can answer."""
    outcome = table.require_outcome()
    there = [q for q in questions if q.part is None or len(q.part.rows(outcome))]
    scopes = [(question, make_scope(question, table)) for question in there]
    return [(question, scope) for question, scope in scopes if varies(scope.table)]


def prepare_local(
    table: AuditTable, questions: Sequence[Question], plan: Plan, seed: int
) -> FittedCopies:
    """Copies that exchange neighbors in the outcome, in groups of blocks."""
    outcome, law = table.require_outcome(), plan.law
    law = replace(law if isinstance(law, Local) else Local(), shared=True)
    fitted = law.prepare(
        outcome,
        table.attributes,
        seed=seed,
        units=None if table.ids is None else table.ids.codes,
        strata=number_parts(questions, outcome),
    )
    named = replace(fitted.law, words=WITHIN_SHARDS)
    return replace(fitted, law=named, reason=plan.choice_of_law.explain_shards())


def _prepare_copies(
    frame: pd.DataFrame,
    table: AuditTable,
    questions: Sequence[Question],
    prefit: Prefit | None,
    plan: Plan,
) -> FittedCopies:
    permutations, outcome = plan.permutations, table.require_outcome()
    units = None if table.ids is None else table.ids.codes
    categorical = outcome.kind.is_categorical
    if prefit is None and plan.choice_of_law.is_local_in_shards(categorical=categorical):
        return prepare_local(table, questions, plan, permutations.seed)
    if prefit is None:
        return ICP("exact").prepare(
            outcome, table.attributes, steps=permutations.steps, seed=permutations.seed, units=units
        )
    if units is not None:
        raise InputError(
            "In shards, people with several rows and a continuous outcome have the law 'local'. "
            "Leave out 'density' and 'law'.",
            argument=("density", "law"),
        )
    y, a = np.asarray(outcome.numeric), prefit.encoder(frame)
    ranges = [question.part.rows(outcome) for question in questions if question.part is not None]
    parts = [rows for rows in ranges if len(rows)] or [np.arange(len(y))]
    folds = [Fold(rows, prefit.fitted.pairs(y[rows], a[rows])) for rows in parts]
    sampler = ConditionalPermutation(folds, permutations.steps, permutations.seed)
    return FittedCopies(sampler, prefit.law, prefit.scores, join_pits(folds, y, permutations.seed))
