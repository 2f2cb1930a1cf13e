"""Shards whose rows are hardly tied: every shard is a small test, and their statistics are added.

The densities of a continuous outcome were fitted on a sample that is in no shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.auditing.engines.schema import Schema, SchemaColumn
from fairaudit.auditing.engines.sources import ROW, named
from fairaudit.auditing.questions import differs, range_cuts, rounds_of, size_of, with_threshold
from fairaudit.data.table import AuditTable
from fairaudit.density import density_named
from fairaudit.density.auto import Auto
from fairaudit.density.conditional_density import Fitted
from fairaudit.errors import InputError
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.copies import FittedCopies, stream
from fairaudit.permute.folds import joined_pit, split_rows
from fairaudit.permute.icp import ICP
from fairaudit.testing.evaluation import evaluation_of
from fairaudit.testing.statistic import statistic_named

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.audit_plan import Plan

__all__ = ["Prefit", "RowJob", "ShardAnswer", "prefit", "shard_answers"]

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

    name: str
    fitted: Fitted
    encoder: Encoder
    scores: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class RowJob:
    """What a shard needs to know: the same for all shards."""

    schema: Schema
    plan: Plan
    densities: Mapping[tuple[str, ...], Prefit]
    cuts: Array | None


def prefit(schema: Schema, sample: pd.DataFrame, plan: Plan) -> tuple[RowJob, AuditTable | None]:
    """Fit what must be fitted, for every set of attributes that is asked about."""
    outcome = schema.outcome
    density = density_named(plan.density, categorical=outcome.kind.is_categorical)
    if density is None:
        return RowJob(schema, plan, {}, None), None
    if outcome.kind.is_categorical:
        raise InputError(
            "Shards with a categorical outcome permute within classes. Leave 'density' out.",
            argument="density",
        )
    table = schema.table(sample)
    y = np.asarray(table.require_outcome().numeric)
    seed = int(stream(plan.permutations.seed, 4).integers(2**31))
    found: dict[tuple[str, ...], Prefit] = {}
    cuts = range_cuts(table)
    for one in rounds_of(table, plan, cuts):
        names = one.asked[0].attributes
        if names in found:
            continue
        encoder = Encoder.of([c for c in schema.attributes if c.name in names], sample)
        a = encoder(sample)
        scores: dict[str, float] = {}
        family = density
        if isinstance(density, Auto):
            parts = split_rows(len(y), plan.folds, None, plan.permutations.seed)
            splits = [(np.setdiff1d(np.arange(len(y)), rows), rows) for rows in parts]
            choice = density.choose(y, a, splits, seed)
            family, scores = choice.family, choice.scores
        how = f"{family.name}, fitted on {len(y):,} rows that are not tested"
        found[names] = Prefit(how, family.fit(y, a, seed), encoder, scores)
    return RowJob(schema, plan, found, cuts), table


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShardAnswer:
    """One question in one shard: the statistic of the data and of the copies."""

    family: str
    name: str
    attributes: tuple[str, ...]
    label: str | None
    rows: int
    values: Array  # the data first
    size: float | None
    copies_by: str
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
        answers = []
        for one in rounds_of(table, plan, job.cuts):
            asked = [each for each in one.asked if differs(each)]
            if not asked:
                continue
            prefit = job.densities.get(one.asked[0].attributes)
            fitted = _copies(
                frame,
                table,
                names=one.asked[0].attributes,
                prefit=prefit,
                plan=plan,
                strata=one.strata,
            )
            questions = [each.question for each in asked]
            evaluation = evaluation_of(questions, fitted, statistics, drawn)
            batch = evaluation.batch
            everything = range(len(asked))
            blocks = [
                evaluation.see(range(at, min(at + batch, drawn.n)), everything)
                for at in range(0, drawn.n, batch)
            ]
            for k, each in enumerate(asked):
                null = np.vstack([block[k] for block in blocks])
                values = np.vstack([evaluation.observed[k], null])
                pit = fitted.pit if each.family == "joint" else None
                moved, products = evaluation.looked(k)
                answers.append(
                    ShardAnswer(
                        family=each.family,
                        name=each.name,
                        attributes=each.attributes,
                        label=each.label,
                        rows=len(each.question.table),
                        values=values,
                        size=size_of(each.question.table),
                        copies_by=fitted.density,
                        moved=moved,
                        products=products,
                        pit=None if pit is None else pit[:_PIT_ROWS],
                    )
                )
        return answers


def _copies(
    frame: pd.DataFrame,
    table: AuditTable,
    names: tuple[str, ...],
    prefit: Prefit | None,
    plan: Plan,
    strata: Index | None,
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
    parts = [np.arange(len(y))]
    if strata is not None:
        parts = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    folds = [Fold(rows, prefit.fitted.pairs(y[rows], a[rows])) for rows in parts]
    sampler = ConditionalPermutation(folds, drawn.steps, drawn.seed)
    return FittedCopies(sampler, prefit.name, prefit.scores, joined_pit(folds, len(y)))
