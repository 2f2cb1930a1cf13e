"""One pass over the coded rows: tied blocks with counts, a sample, and the rates of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Index
from fairaudit.auditing.engines.row_hashes import in_sample
from fairaudit.auditing.engines.schema import Schema, SchemaColumn
from fairaudit.auditing.engines.sources import KEY, ROW
from fairaudit.data.columns import Column, level_text
from fairaudit.data.groups import Groups, GroupTable, Labels
from fairaudit.geometry.block_sums import BlockSpace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Survey", "count_levels", "join_surveys", "make_space", "survey_rows"]

_MOST_COMBINATIONS = 2**40  # of levels; keys of blocks stay whole numbers


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Of some rows: how many, the sizes of their tied blocks, labels by group, and a sample."""

    rows: int
    blocks: dict[int, int]
    rates: GroupTable | None
    sample: pd.DataFrame


def count_levels(columns: Sequence[SchemaColumn]) -> tuple[int, ...] | None:
    """Numbers of levels, where all are listed and their combinations can be numbered."""
    sizes = [len(column.levels) for column in columns if column.levels is not None]
    if len(sizes) < len(columns) or float(np.prod([float(s) for s in sizes])) > _MOST_COMBINATIONS:
        return None
    return tuple(sizes)


def survey_rows(frame: pd.DataFrame, schema: Schema, share: float, cut: float | None) -> Survey:
    """Look at the coded rows of a partition."""
    sample = frame[in_sample(frame[KEY].to_numpy(), share)]
    columns = (schema.outcome, *schema.attributes)
    return Survey(
        len(frame), _count_blocks(frame, columns), _count_labels(frame, schema, cut), sample
    )


def _count_labels(frame: pd.DataFrame, schema: Schema, cut: float | None) -> GroupTable | None:
    """Labels by outcome and group; None where there are none."""
    outcome = schema.outcome
    some = [column for column in schema.attributes if column.kind.is_categorical]
    if not some or not outcome.kind.is_categorical or count_levels((outcome, *some)) is None:
        return None
    label = make_labels(frame, schema, cut)
    if label is None or outcome.levels is None or len(frame) == 0:
        return None
    groups = Groups.of([_make_column(column, frame[column.name].to_numpy()) for column in some])
    actual = (outcome.levels == schema.positive)[frame[outcome.name].to_numpy()]
    return groups.count(Labels(label, actual, ("", level_text(schema.positive))))


def make_labels(frame: pd.DataFrame, schema: Schema, cut: float | None) -> NDArray[Any] | None:
    """1 where the positive class is predicted; None where there are no such labels."""
    positive, first = schema.positive, schema.predictions[0]
    if positive is None:
        return None
    if schema.form == "labels":
        chosen = np.array([level == positive for level in schema.class_levels], dtype=np.int64)
        return chosen[frame[first.name].to_numpy()]
    if positive not in schema.class_levels:
        return None
    place = schema.class_levels.index(positive)
    values = schema.prediction_matrix(frame)
    if values.shape[1] > 2 and cut is None:
        return (values.argmax(axis=1) == place).astype(np.int64)
    if cut is None:
        return None
    score = values[:, place] if schema.mirror is None else schema.mirror - values[:, 0]
    return (score >= cut).astype(np.int64)


def _count_blocks(frame: pd.DataFrame, columns: Sequence[SchemaColumn]) -> dict[int, int]:
    shape = count_levels(columns)
    if shape is None or len(frame) == 0:
        return {}
    key = np.ravel_multi_index([frame[column.name].to_numpy() for column in columns], shape)
    keys, counts = np.unique(key, return_counts=True)
    return dict(zip(keys.tolist(), counts.tolist(), strict=True))


def join_surveys(parts: Sequence[Survey]) -> Survey:
    """The surveys of all partitions as one; the sample in the order of the rows."""
    import pandas as pd

    blocks: dict[int, int] = {}
    for part in parts:
        for key, count in part.blocks.items():
            blocks[key] = blocks.get(key, 0) + count
    counted = [part.rates for part in parts if part.rates is not None]
    rates = reduce(add, counted) if counted else None
    sample = pd.concat([part.sample for part in parts], ignore_index=True)
    sample = sample.sort_values(ROW, kind="stable", ignore_index=True)
    return Survey(sum(part.rows for part in parts), blocks, rates, sample)


def make_space(blocks: dict[int, int], columns: Sequence[SchemaColumn]) -> tuple[BlockSpace, Index]:
    """The tied blocks as a space, and their keys in the same (sorted) order."""
    shape = count_levels(columns)
    assert shape is not None  # noqa: S101  for mypy: there are blocks
    keys = np.array(sorted(blocks), dtype=np.int64)
    codes = np.unravel_index(keys, shape)
    space_columns = [
        _make_column(column, code) for column, code in zip(columns, codes, strict=True)
    ]
    counts = np.array([blocks[key] for key in keys.tolist()], dtype=np.intp)
    return BlockSpace(space_columns[0], tuple(space_columns[1:]), counts), keys


def _make_column(column: SchemaColumn, codes: Any) -> Column:
    levels = column.levels
    assert levels is not None  # noqa: S101  for mypy: there are blocks
    numeric = None if column.text else levels[codes].astype(np.float64)
    return Column(
        name=column.name,
        kind=column.kind,
        codes=codes.astype(np.intp),
        levels=levels,
        numeric=numeric,
    )
