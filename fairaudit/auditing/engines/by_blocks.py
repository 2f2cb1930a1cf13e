"""Shards of tied rows: sums over tied blocks, which add up to those of the whole table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.auditing.block_questions import place_questions
from fairaudit.auditing.engines.schema import Schema
from fairaudit.auditing.engines.sharded_answers import ShardedAnswer
from fairaudit.auditing.engines.sources import PERSON, ROW, name_errors
from fairaudit.auditing.engines.survey import Survey, count_levels, make_space
from fairaudit.geometry.block_sums import BlockSpace, ClassRows, RowColumns, SeenRows, sum_copies
from fairaudit.permute.copies import EXACT, stream
from fairaudit.testing.block_evaluation import evaluate_sums
from fairaudit.testing.diagnostics import CHECKED_COPIES, judge_copies
from fairaudit.testing.kpc_over_blocks import KPCOverBlocks
from fairaudit.testing.p_value import Null
from fairaudit.testing.statistic import OverBlocks, list_parts, statistic_named

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.engines.engine import Engine
    from fairaudit.auditing.questions import Question

__all__ = ["BlockJob", "answer_by_blocks", "hash_shard", "see_sample", "sum_blocks"]

_ROUND = 1 << 26  # bytes of sums of a shard that are held at once
_MOST_COPIES = 256  # drawn together


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BlockJob:
    """What a shard needs to know: the same for all shards."""

    schema: Schema
    space: BlockSpace
    keys: Index
    columns: RowColumns
    seed: int


def sum_blocks(frame: pd.DataFrame, shard: int, job: BlockJob, copies: range) -> Array:
    """Sums over the tied blocks for these copies of a shard; copy −1 stands for the data."""
    with name_errors(f"Shard {shard}"):
        schema, columns = job.schema, job.columns
        frame = frame.sort_values(ROW, kind="stable")
        blocks = _find_blocks(frame, schema, job.keys).astype(np.min_scalar_type(len(job.keys)))
        outcome = frame[schema.outcome.name].to_numpy()
        u = schema.prediction_matrix(frame)
        classes = []
        for code in np.unique(outcome):
            rows = np.flatnonzero(outcome == code)
            own = partial(_make_columns, columns, u[rows], int(code))
            classes.append(ClassRows(blocks[rows], own))
        generators = [stream(job.seed, 7, shard, copy) if copy >= 0 else None for copy in copies]
        return np.asarray(sum_copies(classes, columns, len(job.space), generators))


def _make_columns(columns: RowColumns, u: Array, code: int, rows: slice) -> Any:
    return columns(u[rows], code)


def _find_blocks(frame: pd.DataFrame, schema: Schema, keys: Index) -> Index:
    """The tied block of every row."""
    columns = (schema.outcome, *schema.attributes)
    shape = count_levels(columns)
    assert shape is not None  # noqa: S101  for mypy
    key = np.ravel_multi_index([frame[column.name].to_numpy() for column in columns], shape)
    return np.searchsorted(keys, key)


def see_sample(schema: Schema, sample: pd.DataFrame, keys: Index) -> SeenRows:
    """The rows that statistics are fitted on."""
    return SeenRows(
        prediction=schema.prediction_matrix(sample),
        codes=sample[schema.outcome.name].to_numpy(),
        blocks=_find_blocks(sample, schema, keys),
        whole=False,
    )


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
    seen = see_sample(schema, survey.sample, keys)
    answerable, asked = place_questions(questions, space, seen)
    seed = plan.permutations.seed
    statistics = statistic_named(plan.statistic)
    make_job = partial(BlockJob, schema=schema, space=space, keys=keys, seed=seed)
    form = statistics[0].over_blocks(asked, seen, seed=seed)  # type: ignore[attr-defined]
    size: Any = KPCOverBlocks(asked, [1] * len(asked), seen, centered=True)  # how large it is
    values = _draw_values(
        engine, pieces, make_job(columns=form.columns), form, range(-1, plan.permutations.n)
    )
    sizes = _draw_values(engine, pieces, make_job(columns=size.columns), size, range(-1, 0))
    weights = list_parts(statistics)[1]
    return [
        ShardedAnswer(
            question=question,
            null=Null(of_copies[0], of_copies[1:], weights),
            trust=judge_copies(EXACT, moved=blocks.moved(), distinct=CHECKED_COPIES),
            rows=blocks.n,
            kpc=float(kpc - of_kpc),
            kpc_raw=float(kpc),
        )
        for question, blocks, of_copies, ((kpc, of_kpc), *_) in zip(
            answerable, asked, values, sizes, strict=True
        )
    ]


def _draw_values(
    engine: Engine, pieces: Sequence[Any], job: BlockJob, form: OverBlocks, copies: range
) -> list[Array]:
    """Per question the statistics of copies, of which the first is the data (copy −1)."""
    width = max(1, job.columns.width)
    batch = max(1, min(_MOST_COPIES, _ROUND // (8 * len(job.space) * width)))
    bound, values = None, []
    for start in range(copies.start, copies.stop, batch):
        numbers = range(start, min(start + batch, copies.stop))
        sums = engine.sum(
            f"copies from {start + 1} of shard",
            partial(sum_blocks, job=job, copies=numbers),
            pieces,
            range(len(pieces)),
        )
        bound = bound or form.bind(sums[0])
        values.append(evaluate_sums(bound, sums))
    return [np.vstack(rounds) for rounds in zip(*values, strict=True)]


def hash_shard(frame: pd.DataFrame, shard: int) -> tuple[str, int]:
    """SHA-256 of a shard's rows, and how many people they are."""
    with name_errors(f"Shard {shard}"):
        frame = frame.sort_values(ROW, kind="stable")
        digest = hashlib.sha256()
        for name in sorted(frame.columns):
            digest.update(name.encode() + np.ascontiguousarray(frame[name].to_numpy()).tobytes())
        people = frame[PERSON].nunique() if PERSON in frame else len(frame)
        return digest.hexdigest(), int(people)
