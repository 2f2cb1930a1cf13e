"""Shards of tied rows: sums over cells, which add up to those of the whole table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.auditing.engines.schema import Schema
from fairaudit.auditing.engines.sources import PERSON, ROW, named
from fairaudit.auditing.engines.survey import joint_shape
from fairaudit.geometry.block_sums import CellFeatures, CellKPC, CellQuestion, CellSpace, add_sums
from fairaudit.geometry.kernels import FeatureMap, drawn_features, kernel_named, landmark_candidates
from fairaudit.permute.copies import stream

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CellJob", "answers", "digest_of", "features_of", "partial_sums"]

_CHUNK = 1 << 17
_FEATURES: Any = {"tolerance": 1e-8, "max_rank": 64}  # what is summed and sent must be small


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellJob:
    """What a shard needs to know: the same for all shards."""

    schema: Schema
    space: CellSpace
    keys: Index
    maps: CellFeatures
    seed: int


def features_of(schema: Schema, sample: pd.DataFrame, classes: Sequence[int]) -> CellFeatures:
    """Kernel features with the median bandwidth of a sample, for all rows and for classes.

    Where so few cannot be exact, they are those of rows drawn at random: the test then has another
    kernel, close to that one.
    """
    u = schema.prediction_matrix(sample)
    codes = sample[schema.outcome.name].to_numpy()

    def made(rows: Array) -> FeatureMap:
        kernel, _ = kernel_named("rbf", rows)
        exact = FeatureMap(kernel, landmark_candidates(rows), **_FEATURES)
        if exact.residual <= _FEATURES["tolerance"]:
            return exact
        return drawn_features(kernel, rows, **_FEATURES)

    levels = schema.outcome.levels
    assert levels is not None  # noqa: S101  for mypy: classes
    of_class = [made(u[codes == k]) if k in classes else None for k in range(len(levels))]
    return CellFeatures(made(u), of_class)


def partial_sums(frame: pd.DataFrame, job: CellJob, shard: int, copies: range) -> Array:
    """Sums over the cells for these copies of a shard; copy −1 stands for the data."""
    with named(f"Shard {shard}"):
        schema = job.schema
        frame = frame.sort_values(ROW, kind="stable")
        columns = (schema.outcome, *schema.attributes)
        shape = joint_shape(columns)
        assert shape is not None  # noqa: S101  for mypy
        key = np.ravel_multi_index([frame[one.name].to_numpy() for one in columns], shape)
        small = np.min_scalar_type(len(job.keys))
        cells = np.searchsorted(job.keys, key).astype(small)
        outcome = frame[schema.outcome.name].to_numpy()
        u = schema.prediction_matrix(frame)
        total = np.zeros((len(copies), len(job.space), job.maps.width))
        generators = [stream(job.seed, 7, shard, copy) if copy >= 0 else None for copy in copies]
        for code in np.unique(outcome):
            rows = np.flatnonzero(outcome == code)
            own = cells[rows]
            moved = np.stack([own if g is None else g.permutation(own) for g in generators])
            for at in range(0, len(rows), _CHUNK):
                some = slice(at, at + _CHUNK)
                add_sums(total, moved[:, some], job.maps(u[rows[some]], int(code)))
        return total


def answers(sums: Array, observed: Array, questions: Sequence[CellQuestion], job: CellJob) -> Array:
    """The statistic of every question (columns) on every copy (rows)."""
    result = np.empty((len(sums), len(questions)))
    for k, one in enumerate(questions):
        part = job.maps.part(one.of_class)
        alone = CellQuestion(job.space, (), one.of_class, one.knn)
        statistic = CellKPC(one, alone, observed[:, part])
        result[:, k] = [statistic.value(copy[:, part]) for copy in sums]
    return result


def digest_of(frame: pd.DataFrame, shard: int) -> tuple[str, int]:
    """SHA-256 of a shard's rows, and how many people they are."""
    with named(f"Shard {shard}"):
        frame = frame.sort_values(ROW, kind="stable")
        digest = hashlib.sha256()
        for name in sorted(frame.columns):
            digest.update(name.encode() + np.ascontiguousarray(frame[name].to_numpy()).tobytes())
        people = frame[PERSON].nunique() if PERSON in frame else len(frame)
        return digest.hexdigest(), int(people)
