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
from fairaudit.auditing.engines.sources import ROW, named
from fairaudit.auditing.questions import Question, rounds_of
from fairaudit.auditing.table_rows import scope_of, size_of, varies, with_threshold
from fairaudit.data.table import AuditTable
from fairaudit.density import density_named
from fairaudit.density.auto import Auto
from fairaudit.density.conditional_density import Fitted
from fairaudit.errors import InputError
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.copies import EXACT, CopyLaw, FittedCopies, stream
from fairaudit.permute.folds import joined_pit, split_rows
from fairaudit.permute.icp import ICP
from fairaudit.testing.diagnostics import CHECKED_COPIES, exchangeable, pit_check, trust_in
from fairaudit.testing.evaluation import Scope, evaluation_of
from fairaudit.testing.p_value import Null
from fairaudit.testing.statistic import statistic_named

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.engines.engine import Engine
    from fairaudit.auditing.engines.survey import Survey

__all__ = ["HELD_OUT", "Prefit", "RowJob", "ShardAnswer", "answer_by_rows", "prefit"]

#: How a density is fitted for shards: on rows that are in none of them.
HELD_OUT = "held-out sample"
_PIT_ROWS = 2_000  # of each shard


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Attributes as numbers, on the scale of the sample in every shard."""

    columns: tuple[SchemaColumn, ...]
    centre: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def of(cls, columns: Sequence[SchemaColumn], sample: pd.DataFrame) -> Encoder:
        numbers = [_numbers(one, sample) for one in columns]
        centre = tuple(float(x.mean()) for x in numbers)
        return cls(tuple(columns), centre, tuple(float(x.std()) or 1.0 for x in numbers))

    def __call__(self, frame: pd.DataFrame) -> Array:
        parts = []
        for column, centre, spread in zip(self.columns, self.centre, self.spread, strict=True):
            if not column.kind.is_categorical or column.levels is None:
                parts.append(((_numbers(column, frame) - centre) / spread)[:, None])
            elif len(column.levels) <= 2:
                parts.append(frame[column.name].to_numpy().astype(np.float64)[:, None])
            else:
                parts.append(np.eye(len(column.levels))[frame[column.name].to_numpy()] * 0.5**0.5)
        return np.hstack(parts)


def _numbers(column: SchemaColumn, frame: pd.DataFrame) -> Array:
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


def prefit(
    schema: Schema, sample: pd.DataFrame, questions: Sequence[Question], plan: Plan
) -> RowJob:
    """Fit what must be fitted on the sample, for every set of attributes that is asked about."""
    categorical = schema.outcome.kind.is_categorical
    density = density_named(plan.density, categorical=categorical)
    if density is None:
        return RowJob(schema, plan, questions, {})
    if categorical:
        raise InputError(
            "Shards with a categorical outcome permute within classes. Leave 'density' out.",
            argument="density",
        )
    y = np.asarray(schema.table(sample).require_outcome().numeric)
    seed = int(stream(plan.permutations.seed, 4).integers(2**31))
    found: dict[tuple[str, ...], Prefit] = {}
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
        found[names] = Prefit(law, family.fit(y, a, seed), encoder, scores)
    return RowJob(schema, plan, questions, found)


def answer_by_rows(
    engine: Engine,
    pieces: Sequence[Any],
    schema: Schema,
    seen: Survey,
    questions: Sequence[Question],
    plan: Plan,
) -> list[ShardedAnswer]:
    """All questions shard by shard; statistics are means over shards, weighted by rows."""
    job = prefit(schema, seen.sample, questions, plan)
    count = len(pieces)
    of_shards = engine.gather(
        engine.map("copies of shard", shard_answers, pieces, [job] * count, range(count))
    )
    together: dict[int, list[ShardAnswer]] = {}
    for answers in of_shards:
        for answer in answers:
            together.setdefault(answer.number, []).append(answer)
    if 0 not in together:  # the gate
        raise InputError(
            "In no shard do both attributes and prediction vary. Use fewer 'shards', or one piece.",
            argument="shards",
        )
    return [
        _joined(questions[number], answers, job) for number, answers in sorted(together.items())
    ]


def _joined(question: Question, shards: list[ShardAnswer], job: RowJob) -> ShardedAnswer:
    """One question over all shards that could answer it."""
    rows = sum(answer.rows for answer in shards)
    sizes = [(answer.size, answer.rows) for answer in shards if answer.size is not None]
    size = sum(s * r for s, r in sizes) / sum(r for _, r in sizes) if sizes else None
    check = pit = None
    first = shards[0].products
    if first is not None:
        products = np.zeros_like(first)
        for answer in shards:  # a shard without one of the levels has fewer: it is left out
            if answer.products is not None and answer.products.shape == products.shape:
                products += answer.products * answer.rows
        check = exchangeable(products)
        pits = [answer.pit for answer in shards if answer.pit is not None]
        pit = pit_check(np.concatenate(pits)) if pits else None
    fitted = job.densities.get(question.attributes)
    trust = trust_in(
        EXACT if fitted is None else fitted.law,
        moved=sum(answer.moved * answer.rows for answer in shards) / rows,
        distinct=CHECKED_COPIES,
        check=check,
        pit=pit,
        scores={} if fitted is None else fitted.scores,
    )
    null = Null.mean([answer.null for answer in shards], [answer.rows for answer in shards])
    return ShardedAnswer(question=question, null=null, trust=trust, rows=rows, kpc=size)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShardAnswer:
    """One question (by its number) in one shard."""

    number: int
    rows: int
    null: Null
    size: float | None
    moved: float
    products: Array | None
    pit: Array | None


def shard_answers(frame: pd.DataFrame, job: RowJob, shard: int) -> list[ShardAnswer]:
    """All questions on the rows of a shard."""
    with named(f"Shard {shard}"):
        frame = frame.sort_values(ROW, kind="stable", ignore_index=True)
        seed = int(stream(job.plan.permutations.seed, 7, shard).integers(2**62))
        drawn = replace(job.plan.permutations, seed=seed, n_jobs=1)
        plan = replace(job.plan, permutations=drawn)
        table = job.schema.table(frame)
        statistics = [with_threshold(s, table, plan) for s in statistic_named(plan.statistic)]
        number = {question: k for k, question in enumerate(job.questions)}
        answers = []
        for asked in rounds_of(job.questions, within_classes=not job.densities):
            scopes = _scopes(asked, table)
            if not scopes:
                continue
            fitted = _copies(frame, table, asked, job.densities.get(asked[0].attributes), plan)
            evaluation = evaluation_of([s for _, s in scopes], fitted, statistics, drawn)
            batch, everything = evaluation.batch, range(len(scopes))
            blocks = [
                evaluation.see(range(at, min(at + batch, drawn.n)), everything)
                for at in range(0, drawn.n, batch)
            ]
            for k, (question, scope) in enumerate(scopes):
                moved, products = evaluation.looked(k)
                pit = fitted.pit if question.family == "joint" else None
                answers.append(
                    ShardAnswer(
                        number=number[question],
                        rows=len(scope.table),
                        null=Null(
                            evaluation.observed[k], np.vstack([block[k] for block in blocks])
                        ),
                        size=size_of(scope.table),
                        moved=moved,
                        products=products,
                        pit=None if pit is None else pit[:_PIT_ROWS],
                    )
                )
        return answers


def _scopes(asked: Sequence[Question], table: AuditTable) -> list[tuple[Question, Scope]]:
    """The questions that these rows can answer."""
    outcome = table.require_outcome()
    there = [q for q in asked if q.part is None or len(q.part.rows(outcome))]
    scopes = [(question, scope_of(question, table)) for question in there]
    return [(question, scope) for question, scope in scopes if varies(scope.table)]


def _copies(
    frame: pd.DataFrame,
    table: AuditTable,
    asked: Sequence[Question],
    prefit: Prefit | None,
    plan: Plan,
) -> FittedCopies:
    drawn, outcome = plan.permutations, table.require_outcome()
    units = None if table.ids is None else table.ids.codes
    if prefit is None:
        return ICP("exact").prepare(
            outcome, table.attributes, steps=drawn.steps, seed=drawn.seed, units=units
        )
    if units is not None:
        raise InputError("People with several rows need an outcome of classes in shards.")
    y, a = np.asarray(outcome.numeric), prefit.encoder(frame)
    ranges = [question.part.rows(outcome) for question in asked if question.part is not None]
    parts = [rows for rows in ranges if len(rows)] or [np.arange(len(y))]
    folds = [Fold(rows, prefit.fitted.pairs(y[rows], a[rows])) for rows in parts]
    sampler = ConditionalPermutation(folds, drawn.steps, drawn.seed)
    return FittedCopies(sampler, prefit.law, prefit.scores, joined_pit(folds, len(y)))
