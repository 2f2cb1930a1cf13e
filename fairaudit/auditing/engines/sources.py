"""Partitions: the pieces in which a table is read, each with the number of its first row."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.auditing.engines.row_hashes import keys_of
from fairaudit.data.facts import Excluded
from fairaudit.data.reading.files import file_names, is_parquet
from fairaudit.data.reading.parquet import arrow, read_parquet, unreadable
from fairaudit.data.roles import Roles, needed_columns, selected_rows
from fairaudit.errors import FairAuditError, InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.models import Predictor

__all__ = [
    "KEY",
    "PERSON",
    "ROW",
    "FramePartition",
    "ModelFile",
    "Narrow",
    "Partition",
    "named",
    "narrow",
    "partitions_of",
    "resolved",
]

#: Columns that are added; no column of a table is called so.
KEY, ROW, PERSON, PREDICTION = "\0key", "\0row", "\0person", "\0prediction"
_ROWS = 1 << 20  # of a partition, about


@dataclass(frozen=True, slots=True)
class Partition:
    """Some row groups of a Parquet file."""

    path: str
    groups: tuple[int, ...]
    first: int
    rows: int

    @property
    def name(self) -> str:
        return f"{self.path!r}, row groups {self.groups[0]} to {self.groups[-1]}"

    def read(self, roles: Roles, predictor: Predictor | None) -> pd.DataFrame:
        return read_parquet(
            repr(self.path),
            self.path,
            lambda names: needed_columns(names, roles, predictor),
            self.groups,
        )


@dataclass(frozen=True, slots=True, eq=False)
class FramePartition:
    """A table in memory."""

    name: str
    first: int
    frame: Any

    def read(self, roles: Roles, predictor: Predictor | None) -> pd.DataFrame:
        return self.frame


def partitions_of(paths: Sequence[str]) -> tuple[list[Partition], list[str]]:
    """The partitions of Parquet files, and the names of their columns."""
    pa = arrow("Parquet")
    found: list[Partition] = []
    columns: list[str] = []
    first = 0
    for name in file_names(paths):
        if not is_parquet(name):
            raise InputError(
                f"{name!r} is not a Parquet file. Shards are read from Parquet: write it as that."
            )
        try:
            file = pa.parquet.ParquetFile(os.path.abspath(name))
            sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
            names = list(file.schema_arrow.names)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(repr(name), "Parquet", error) from None
        if columns and set(columns) != set(names):
            differ = ", ".join(sorted(set(columns) ^ set(names)))
            raise InputError(f"{name!r} has other columns than the files before it: {differ}.")
        columns = columns or names
        group: list[int] = []
        rows = 0
        for number, size in enumerate(sizes):
            group.append(number)
            rows += size
            if rows >= _ROWS or number == len(sizes) - 1:
                found.append(Partition(os.path.abspath(name), tuple(group), first, rows))
                first, group, rows = first + rows, [], 0
    if first == 0:
        raise InputError("The files have a header and no rows. Pass at least two rows.")
    return found, columns


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model that every worker loads for itself, through the same allow-list."""

    source: str
    trust: tuple[str, ...]
    sha256: str | None


@lru_cache(maxsize=2)
def loaded(model: ModelFile) -> Predictor:
    from fairaudit.models import load_model

    predictor = load_model(model.source, trust=model.trust)
    if predictor.sha256 != model.sha256:
        raise InputError(
            f"The model file {model.source!r} is not the same here as where the audit was started."
        )
    return predictor


@contextmanager
def named(what: str) -> Iterator[None]:
    """Errors of a partition or shard say which one it is."""
    try:
        yield
    except FairAuditError as error:
        raise InputError(f"{what}: {error}") from None
    except MemoryError:
        raise InputError(
            f"{what}: out of memory. Give workers more memory, or use more shards (--shards)."
        ) from None
    except Exception as error:
        text = " ".join(str(error).split())
        raise InputError(f"{what}: {type(error).__name__}: {text}") from error


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Narrow:
    """Of a partition only what the audit looks at.

    `frame` has the columns of the predictions, of the outcome and of the attributes, and a key
    for every row; `classes` are those of the model, where it names them.
    """

    name: str
    frame: pd.DataFrame
    predictions: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    classes: tuple[Any, ...] | None = None


def narrow(
    partition: Partition | FramePartition, roles: Roles, model: ModelFile | Predictor | None
) -> Narrow:
    """Read a partition and score its rows.

    The roles must be resolved: names without kinds, and the outcome named.
    """
    import pandas as pd

    name = partition.name
    with named(f"Partition {name}"):
        predictor = loaded(model) if isinstance(model, ModelFile) else model
        frame = partition.read(roles, predictor)
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        frame.index = pd.RangeIndex(partition.first, partition.first + len(frame))
        assert roles.outcome is not None  # noqa: S101  for mypy: resolved
        columns = list(frame.columns)
        excluded: list[Excluded] = []
        if len(frame) and roles.where is not None:
            try:
                frame, excluded = selected_rows(frame, roles.where)
            except InputError as error:
                if not str(error).startswith("No row"):
                    raise
                excluded = [Excluded(len(frame), f"not {roles.where}")]
                frame = frame[:0]
        classes = None
        if predictor is None:
            predicted = frame[list(roles.predictions)]
        else:
            others = [one for one in (roles.ids,) if one is not None]
            features = predictor.columns(
                columns, outcome=roles.outcome, sensitive=roles.sensitive, other=others
            )
            on = "scores" if roles.threshold is not None else roles.on
            predicted = frame[[]]
            if len(frame):
                predicted, classes = predictor.answers(frame[features], on=on)
        rows = np.asarray(frame.index, dtype=np.int64)
        used = frame[[roles.outcome, *roles.sensitive]].reset_index(drop=True)
        for k, column in enumerate(predicted.columns):
            used[f"{PREDICTION}{k}"] = predicted[column].to_numpy()
        used[KEY] = keys_of(rows, None if roles.ids is None else frame[roles.ids])
        used[ROW] = rows
        return Narrow(
            name=name,
            frame=used,
            predictions=tuple(map(str, predicted.columns)),
            excluded=tuple(excluded),
            classes=None if classes is None else tuple(classes),
        )


def resolved(
    roles: Roles, columns: Sequence[str], predictor: Predictor | None
) -> tuple[Roles, dict[str, str]]:
    """The roles with plain names and a named outcome, and the kinds that were given with names."""
    from fairaudit.data.roles import outcome_name, picked, require_column

    kinds: dict[str, str] = {}
    sensitive = picked(roles.sensitive, columns, kinds, "--sensitive")
    predictions = picked(roles.predictions, columns, kinds, "--predictions")
    if roles.ids is not None:
        require_column(roles.ids, columns)
    taken = [*sensitive, *predictions, *([roles.ids] if roles.ids else [])]
    outcome = outcome_name(roles.outcome, columns, taken, predictor, kinds)
    if outcome in taken:
        raise InputError(f"Column {outcome!r} is given two roles. Give it one of the two.")
    plain = replace(
        roles, sensitive=tuple(sensitive), predictions=tuple(predictions), outcome=outcome
    )
    return plain, kinds
