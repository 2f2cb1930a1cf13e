"""From files, frames and Dask tables to the audit on an engine."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.descriptions import described
from fairaudit.auditing.engines import ENGINES
from fairaudit.auditing.engines.engine import Engine
from fairaudit.auditing.engines.shard_rows import (
    ROWS_BY_ROWS,
    ShardRows,
    adds_shifts,
    check_settings,
    explain_no_shards,
    survey_partitions,
)
from fairaudit.auditing.engines.sources import (
    FramePartition,
    ModelFile,
    Partition,
    count_parquet_rows,
    list_partitions,
    name_errors,
    watch_files,
)
from fairaudit.auditing.run import run_audit
from fairaudit.auditing.table_rows import TableRows
from fairaudit.data.facts import Source
from fairaudit.data.preparation import prepare_resolved
from fairaudit.data.reading.files import STDIN, file_names, is_parquet
from fairaudit.data.reading.parquet import sha256_of
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.examination import Rows
    from fairaudit.data.roles import ResolvedRoles, Roles
    from fairaudit.models import Predictor

__all__ = ["audit_files", "audit_table_in_shards", "files_are_dealt", "hash_files"]

MOST_ROWS_AT_ONCE = 10_000_000  # of a continuous outcome; of more, shards


def audit_files(
    paths: Sequence[str],
    roles: Roles,
    plan: Plan,
    *,
    engine: str | Engine = "local",
    scheduler: str | None = None,
    shards: int | None = None,
    predictor: Predictor | None = None,
    trust: tuple[str, ...] = (),
    command: str | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit Parquet files on an engine."""
    partitions, columns = list_partitions(paths, plan.permutations.memory)
    model = None
    if predictor is not None:
        model = ModelFile(
            source=_make_absolute(str(predictor.source)),
            trust=trust,
            sha256=predictor.sha256,
            sandbox=predictor.sandbox,
        )
    names = file_names(paths)
    with watch_files(names), _start_engine(engine, scheduler, plan) as running:
        places = [_make_absolute(name) for name in names]
        data = tuple(running.gather(running.map("hash of file", _hash_file, names, places)))
        result = _audit_partitions(
            running,
            partitions,
            columns,
            roles,
            plan,
            rows=sum(partition.rows for partition in partitions),
            shards=shards,
            predictor=predictor,
            model=model,
            data=data,
            command=command,
            progress=progress,
        )
    notes = () if predictor is None else predictor.notes
    return replace(result, notes=(*result.notes, *notes))


def files_are_dealt(paths: Sequence[str], roles: Roles, plan: Plan) -> bool:
    """Whether a continuous outcome has so many rows that they are tested in shards unless told."""
    names = file_names(paths)
    if STDIN in names or not all(map(is_parquet, names)):
        return False
    fit = adds_shifts(plan) and explain_no_shards(roles, plan) is None
    return fit and count_parquet_rows(names) > MOST_ROWS_AT_ONCE


def audit_table_in_shards(
    table: Any,
    roles: Roles,
    plan: Plan,
    *,
    engine: str | Engine = "local",
    scheduler: str | None = None,
    shards: int | None = None,
    predictor: Predictor | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit a frame, or a Dask table, on an engine."""
    columns = [str(name) for name in table.columns]
    with _start_engine(engine, scheduler, plan) as running:
        partitions: list[Any] = [FramePartition("of the table", 0, table)]
        rows = 0
        if hasattr(table, "to_delayed"):
            partitions, rows = _split_dask_table(table, running)
        return _audit_partitions(
            running,
            partitions,
            columns,
            roles,
            plan,
            rows=rows or len(table),
            shards=shards,
            predictor=predictor,
            model=predictor,
            progress=progress,
        )


def _audit_partitions(
    engine: Engine,
    partitions: Sequence[Partition | FramePartition],
    columns: Sequence[str],
    roles: Roles,
    plan: Plan,
    *,
    rows: int,
    shards: int | None,
    predictor: Predictor | None,
    model: ModelFile | Predictor | None,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit a table that is read in partitions: in shards, or gathered where one is enough."""
    started = time.process_time()
    progress = progress or (lambda what, done, total: None)
    examination: Rows | None = None
    if shards != 1 and (shards is not None or rows > ROWS_BY_ROWS):
        check_settings(roles, plan)
        surveyed = survey_partitions(
            engine,
            partitions,
            columns,
            roles,
            plan,
            predictor=predictor,
            model=model,
            progress=progress,
        )
        number = surveyed.shards(shards)
        if number > 1:
            examination = ShardRows(
                engine,
                surveyed,
                number,
                roles,
                plan,
                predictor=predictor,
                started=started,
                progress=progress,
            )
    if examination is None:
        resolved = roles.resolve(columns, predictor)
        prepared = prepare_resolved(_gather_rows(engine, partitions, resolved), resolved, predictor)
        options = {"shards": 1, "engine": described(engine)}
        examination = TableRows(prepared, plan, roles=roles, options=options)
    source = None
    if predictor is not None:
        source = Source(predictor.source, predictor.kind, predictor.sha256)
    return run_audit(
        examination, plan, roles=roles, model=source, data=data, command=command, progress=progress
    )


def _gather_rows(
    engine: Engine, partitions: Sequence[Partition | FramePartition], roles: ResolvedRoles
) -> pd.DataFrame:
    """All rows as one frame, with the columns that the audit needs."""
    import pandas as pd

    count = len(partitions)
    frames = engine.gather(
        engine.map("rows of partition", _read_partition, partitions, [roles] * count)
    )
    return frames[0] if count == 1 else pd.concat(frames, ignore_index=True)


def _read_partition(partition: Partition | FramePartition, roles: ResolvedRoles) -> pd.DataFrame:
    with name_errors(f"Partition {partition.name}"):
        frame = partition.read(roles)
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        needed, _ = roles.needed(list(frame.columns))
        return frame[[column for column in frame.columns if column in needed]]


def _split_dask_table(table: Any, engine: Engine) -> tuple[list[Any], int]:
    """The partitions as futures, each with the number of its first row; and all rows."""
    if not hasattr(engine, "frames_of"):
        raise InputError("A Dask table needs engine='dask'.")
    frames = engine.frames_of(table)
    sizes = engine.gather(engine.map("rows of partition", len, frames))
    first, numbers = 0, []
    for size in sizes:
        numbers.append(first)
        first += size
    names = [f"{k} of the table" for k in range(len(frames))]
    return engine.map("frame of partition", FramePartition, names, numbers, frames), first


@contextmanager
def _start_engine(given: str | Engine, scheduler: str | None, plan: Plan) -> Iterator[Engine]:
    """The engine of a name or an object, ready to compute."""
    engine = ENGINES.get(given)
    if scheduler is not None:
        if not hasattr(engine, "scheduler"):
            raise InputError(
                "'scheduler' goes with 'engine' dask only.", argument=("scheduler", "engine")
            )
        engine = copy.copy(engine)
        engine.scheduler = scheduler
    if not isinstance(engine, Engine):  # has the methods, and nothing to start
        yield engine
        return
    permutations = plan.permutations
    with engine.running(workers=permutations.n_jobs, memory=permutations.memory) as running:
        yield running


def _make_absolute(source: str) -> str:
    import os

    return os.path.abspath(source) if os.path.exists(source) else source


def hash_files(paths: Sequence[str]) -> tuple[Source, ...]:
    """The files with their hashes."""
    return tuple(_hash_file(name, name) for name in file_names(paths))


def _hash_file(name: str, place: str) -> Source:
    try:
        with open(place, "rb") as file:
            return Source(name, "table", sha256_of(file))
    except OSError as error:
        raise InputError(f"The file {name!r} cannot be read: {error.strerror}.") from None
