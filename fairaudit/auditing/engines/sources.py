"""Partitions: the pieces in which a table is read, each with the number of its first row."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.auditing.engines.row_hashes import make_keys
from fairaudit.data.facts import Excluded
from fairaudit.data.reading.files import file_names, is_parquet
from fairaudit.data.reading.parquet import arrow, read_parquet, unreadable
from fairaudit.data.roles import ResolvedRoles
from fairaudit.data.row_filter import rows_where
from fairaudit.errors import FairAuditError, InputError, retold
from fairaudit.models.answers import Meaning

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.models import Predictor
    from fairaudit.models.sandbox import Limits

__all__ = [
    "KEY",
    "PERSON",
    "ROW",
    "FramePartition",
    "ModelFile",
    "Narrow",
    "Partition",
    "count_parquet_rows",
    "list_partitions",
    "name_errors",
    "narrow_partition",
    "watch_files",
]

#: Columns that are added; no column of a table is called so.
KEY, ROW, PERSON, PREDICTION = "\0key", "\0row", "\0person", "\0prediction"
_FEWEST, _ROWS = 1 << 16, 1 << 20  # of a partition, about
_BYTES = 1 << 10  # of a row while it is read, scored and coded, about


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

    def read(self, roles: ResolvedRoles) -> pd.DataFrame:
        return read_parquet(repr(self.path), self.path, roles.needed, self.groups)


@dataclass(frozen=True, slots=True, eq=False)
class FramePartition:
    """A table in memory."""

    name: str
    first: int
    frame: Any

    def read(self, roles: ResolvedRoles) -> pd.DataFrame:
        return self.frame


def list_partitions(
    paths: Sequence[str], memory: int | None = None
) -> tuple[list[Partition], list[str]]:
    """The partitions of Parquet files, and the names of their columns.

    They have fewer rows where there is less `memory` (bytes); row groups are not divided.
    """
    pa = arrow("Parquet")
    most = _ROWS if memory is None else min(max(memory // _BYTES, _FEWEST), _ROWS)
    partitions: list[Partition] = []
    columns: list[str] = []
    first = 0
    for name in file_names(paths):
        if not is_parquet(name):
            raise InputError(
                f"{name!r} is not a Parquet file. Shards are read from Parquet: convert it first."
            )
        try:
            file = pa.parquet.ParquetFile(os.path.abspath(name))
            sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
            names = list(file.schema_arrow.names)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(repr(name), "Parquet", error) from None
        if columns and set(columns) != set(names):
            differ = ", ".join(sorted(set(columns) ^ set(names)))
            raise InputError(f"{name!r} has different columns from the files before it: {differ}.")
        columns = columns or names
        group: list[int] = []
        rows = 0
        for number, size in enumerate(sizes):
            group.append(number)
            rows += size
            if rows >= most or number == len(sizes) - 1:
                partitions.append(Partition(os.path.abspath(name), tuple(group), first, rows))
                first, group, rows = first + rows, [], 0
    if first == 0:
        raise InputError("The files have a header and no rows. Pass at least two rows.")
    return partitions, columns


def count_parquet_rows(names: Sequence[str]) -> int:
    """By what the files say of themselves; 0 where one cannot be read, which its reader tells."""
    pa = arrow("Parquet")
    try:
        return sum(pa.parquet.read_metadata(name).num_rows for name in names)
    except (pa.ArrowException, OSError):
        return 0


@contextmanager
def watch_files(names: Sequence[str]) -> Iterator[None]:
    """Files that change meanwhile are an error."""
    states = [_state(name) for name in names]
    yield
    for name, state in zip(names, states, strict=True):
        if _state(name) != state:
            raise InputError(
                f"The file {name!r} changed while it was read. Wait until it is written, then "
                "repeat."
            )


def _state(name: str) -> tuple[int, ...]:
    try:
        status = os.stat(name)
    except OSError as error:
        raise InputError(f"The file {name!r} cannot be read: {error.strerror}.") from None
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model that every worker loads for itself, by the same allow-list into the same sandbox."""

    source: str
    trust: tuple[str, ...]
    sha256: str | None
    sandbox: bool | Limits


@lru_cache(maxsize=2)
def load_once(model: ModelFile) -> Predictor:
    from fairaudit.models import load_model

    predictor = load_model(model.source, trust=model.trust, sandbox=model.sandbox)
    if predictor.sha256 != model.sha256:
        raise InputError(
            f"The model file {model.source!r} differs from the one that the audit started with."
        )
    return predictor


@contextmanager
def name_errors(what: str) -> Iterator[None]:
    """Errors of a partition or shard say which one it is."""
    try:
        yield
    except FairAuditError as error:
        raise retold(error, f"{what}: {error}") from None
    except MemoryError:
        raise InputError(
            f"{what}: out of memory. Give workers more memory, or use more 'shards'.",
            argument="shards",
        ) from None
    except Exception as error:
        text = " ".join(str(error).split())
        raise InputError(f"{what}: {type(error).__name__}: {text}") from error


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Narrow:
    """Of a partition only what the audit looks at.

    `frame` has the columns of the predictions, of the outcome and of the attributes, and a key
    for every row; `classes` are those of the model, where it names them, and `meaning` is what
    its predictions are.
    """

    name: str
    frame: pd.DataFrame
    predictions: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    classes: tuple[Any, ...] | None = None
    meaning: Meaning = Meaning.UNKNOWN


def narrow_partition(
    partition: Partition | FramePartition, roles: ResolvedRoles, model: ModelFile | Predictor | None
) -> Narrow:
    """Read a partition and score its rows."""
    import pandas as pd

    name = partition.name
    with name_errors(f"Partition {name}"):
        predictor = load_once(model) if isinstance(model, ModelFile) else model
        given_roles = roles.request
        frame = partition.read(roles)
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        frame.index = pd.RangeIndex(partition.first, partition.first + len(frame))
        excluded: list[Excluded] = []
        if len(frame) and given_roles.where is not None:
            mask = rows_where(frame, given_roles.where)
            if not mask.all():
                excluded = [Excluded(int((~mask).sum()), f"not {given_roles.where}")]
            frame = frame[mask]
        answer = None
        predicted = frame[list(roles.predictions)]
        if predictor is not None and len(frame):
            answer = predictor.answer(frame[list(roles.features)], on=given_roles.asked_of_model)
            predicted = answer.table
        rows = np.asarray(frame.index, dtype=np.int64)
        used = frame[[*roles.columns["outcome"], *roles.sensitive]].reset_index(drop=True)
        for k, column in enumerate(predicted.columns):
            used[f"{PREDICTION}{k}"] = predicted[column].to_numpy()
        used[KEY] = make_keys(rows, None if roles.ids is None else frame[roles.ids])
        used[ROW] = rows
        return Narrow(
            name=name,
            frame=used,
            predictions=tuple(map(str, predicted.columns)),
            excluded=tuple(excluded),
            classes=None if answer is None or answer.classes is None else tuple(answer.classes),
            meaning=Meaning.UNKNOWN if answer is None else answer.meaning,
        )
