"""Shards of tied rows: sums over tied blocks, which add up to those of the whole table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.auditing.engines.schema import Schema
from fairaudit.auditing.engines.sharded_answers import ShardedAnswer
from fairaudit.auditing.engines.sources import PERSON, ROW, name_errors
from fairaudit.auditing.engines.survey import Survey, count_levels, make_space
from fairaudit.geometry.block_sums import (
    BlockFeatures,
    BlockKPC,
    BlockQuestion,
    BlockSpace,
    add_sums,
)
from fairaudit.geometry.kernels import FeatureMap, drawn_features, kernel_named, landmark_candidates
from fairaudit.permute.copies import EXACT, stream
from fairaudit.testing.diagnostics import CHECKED_COPIES, judge_copies
from fairaudit.testing.neighbor_statistics import default_knn
from fairaudit.testing.p_value import Null
from fairaudit.testing.statistic import statistic_named

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.engines.engine import Engine
    from fairaudit.auditing.questions import Question

__all__ = ["BlockJob", "answer_by_blocks", "hash_shard", "make_features", "sum_blocks"]

_CHUNK = 1 << 17
_ROUND = 1 << 26  # bytes of sums of a shard that are held at once
_FEATURES: Any = {"tolerance": 1e-8, "max_rank": 64}  # what is summed and sent must be small


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BlockJob:
    """What a shard needs to know: the same for all shards."""

    schema: Schema
    space: BlockSpace
    keys: Index
    maps: BlockFeatures
    seed: int


def make_features(schema: Schema, sample: pd.DataFrame, classes: Sequence[int]) -> BlockFeatures:
    """Kernel features with the median bandwidth of a sample, for all rows and for classes.

    Where so few cannot be exact, they are those of rows drawn at random: the test then has another
    kernel, close to that one.
    """
    u = schema.prediction_matrix(sample)
    codes = sample[schema.outcome.name].to_numpy()

    def make_map(rows: Array) -> FeatureMap:
        kernel, _ = kernel_named("rbf", rows)
        exact = FeatureMap(kernel, landmark_candidates(rows), **_FEATURES)
        if exact.residual <= _FEATURES["tolerance"]:
            return exact
        return drawn_features(kernel, rows, **_FEATURES)

    levels = schema.outcome.levels
    assert levels is not None  # noqa: S101  for mypy: classes
    of_class = [make_map(u[codes == k]) if k in classes else None for k in range(len(levels))]
    return BlockFeatures(make_map(u), of_class)


def sum_blocks(frame: pd.DataFrame, shard: int, job: BlockJob, copies: range) -> Array:
    """Sums over the tied blocks for these copies of a shard; copy −1 stands for the data."""
    with name_errors(f"Shard {shard}"):
        schema = job.schema
        frame = frame.sort_values(ROW, kind="stable")
        columns = (schema.outcome, *schema.attributes)
        shape = count_levels(columns)
        assert shape is not None  # noqa: S101  for mypy
        key = np.ravel_multi_index([frame[column.name].to_numpy() for column in columns], shape)
        small = np.min_scalar_type(len(job.keys))
        blocks = np.searchsorted(job.keys, key).astype(small)
        outcome = frame[schema.outcome.name].to_numpy()
        u = schema.prediction_matrix(frame)
        total = np.zeros((len(copies), len(job.space), job.maps.width))
        generators = [stream(job.seed, 7, shard, copy) if copy >= 0 else None for copy in copies]
        for code in np.unique(outcome):
            rows = np.flatnonzero(outcome == code)
            own = blocks[rows]
            moved = np.stack([own if g is None else g.permutation(own) for g in generators])
            for at in range(0, len(rows), _CHUNK):
                some = slice(at, at + _CHUNK)
                add_sums(total, moved[:, some], job.maps(u[rows[some]], int(code)))
        return total


def _compute_values(
    sums: Array, observed: Array, questions: Sequence[BlockQuestion], job: BlockJob
) -> Array:
    """The statistic of every question (columns) on every copy (rows)."""
    result = np.empty((len(sums), len(questions)))
    for k, question in enumerate(questions):
        part = job.maps.part(question.of_class)
        alone = BlockQuestion(job.space, (), question.of_class, question.knn)
        statistic = BlockKPC(question, alone, observed[:, part])
        result[:, k] = [statistic.value(copy[:, part]) for copy in sums]
    return result


def answer_by_blocks(
    engine: Engine,
    pieces: Sequence[Any],
    schema: Schema,
    survey: Survey,
    questions: Sequence[Question],
    plan: Plan,
) -> list[ShardedAnswer]:
    """All questions, from sums over the tied blocks of all shards."""
    space, keys = make_space(survey.blocks, (schema.outcome, *schema.attributes))
    given = getattr(statistic_named(plan.statistic)[0], "knn", None)
    answerable, block_questions = [], []
    for question in questions:
        block_question = _make_block_question(question, space, given, schema, survey)
        if block_question is not None:
            answerable.append(question)
            block_questions.append(block_question)
    classes = [block.of_class for block in block_questions if block.of_class is not None]
    maps = make_features(schema, survey.sample, classes)
    job = BlockJob(schema=schema, space=space, keys=keys, maps=maps, seed=plan.permutations.seed)
    observed, values = _gather_sums(engine, pieces, job, block_questions, plan.permutations.n)
    answers = []
    for k, (question, block) in enumerate(zip(answerable, block_questions, strict=True)):
        nearest = BlockQuestion(space, question.attributes, block.of_class, 1)
        trust = judge_copies(EXACT, moved=block.moved(), distinct=CHECKED_COPIES)
        answers.append(
            ShardedAnswer(
                question=question,
                null=Null(values[0, [k]], values[1:, [k]]),
                trust=trust,
                rows=block.n,
                kpc=float(_compute_values(observed[None], observed, [nearest], job)[0, 0]),
            )
        )
    return answers


def _gather_sums(
    engine: Engine, pieces: Sequence[Any], job: BlockJob, questions: list[BlockQuestion], total: int
) -> tuple[Array, Array]:
    """The sums of the data, and the statistics of data and copies."""
    batch = max(1, _ROUND // (8 * len(job.space) * job.maps.width))
    values = []
    observed: Array | None = None
    for start in range(-1, total, batch):  # copy -1 is the data
        copies = range(start, min(start + batch, total))
        sums = engine.sum(
            f"copies from {start + 1} of shard",
            partial(sum_blocks, job=job, copies=copies),
            pieces,
            range(len(pieces)),
        )
        observed = sums[0] if observed is None else observed
        values.append(_compute_values(sums, observed, questions, job))
    assert observed is not None  # noqa: S101  for mypy: the first round has it
    return observed, np.vstack(values)


def _make_block_question(
    question: Question, space: BlockSpace, knn: int | None, schema: Schema, survey: Survey
) -> BlockQuestion | None:
    """The question over tied blocks; None where nothing varies in its class."""
    names = question.attributes
    if question.part is None:
        return BlockQuestion(space, names, None, knn or default_knn(survey.rows))
    (of_class,) = np.flatnonzero(space.outcome.levels == question.part.level).tolist()
    inside = space.outcome.codes == of_class
    attributes_vary = any(len(np.unique(c.codes[inside])) > 1 for c in space.attributes)
    predicted = schema.prediction_matrix(survey.sample)
    predicted = predicted[survey.sample[schema.outcome.name].to_numpy() == of_class]
    if not attributes_vary or not len(predicted) or np.ptp(predicted, axis=0).max() == 0:
        return None
    rows = int(space.counts[inside].sum())
    return BlockQuestion(space, names, of_class, knn or default_knn(rows))


def hash_shard(frame: pd.DataFrame, shard: int) -> tuple[str, int]:
    """SHA-256 of a shard's rows, and how many people they are."""
    with name_errors(f"Shard {shard}"):
        frame = frame.sort_values(ROW, kind="stable")
        digest = hashlib.sha256()
        for name in sorted(frame.columns):
            digest.update(name.encode() + np.ascontiguousarray(frame[name].to_numpy()).tobytes())
        people = frame[PERSON].nunique() if PERSON in frame else len(frame)
        return digest.hexdigest(), int(people)
