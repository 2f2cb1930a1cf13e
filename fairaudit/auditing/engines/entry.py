"""From files, frames and Dask's tables to the audit in shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.engines.engines import DaskEngine, Engine, LocalEngine, dask_engine
from fairaudit.auditing.engines.sharded import audit_shards
from fairaudit.auditing.engines.sources import FramePartition, ModelFile, partitions_of
from fairaudit.data.facts import Source
from fairaudit.data.reading.files import file_names
from fairaudit.data.reading.parquet import sha256_of
from fairaudit.errors import InputError

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.data.roles import Roles
    from fairaudit.models import Predictor

__all__ = ["ENGINES", "audit_files", "audit_table_in_shards", "sources_of"]

ENGINES = ("local", "dask")


def audit_files(
    paths: Sequence[str],
    roles: Roles,
    plan: Plan,
    *,
    engine: str = "local",
    scheduler: str | None = None,
    shards: int | None = None,
    predictor: Predictor | None = None,
    trust: tuple[str, ...] = (),
    command: str | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit Parquet files in shards, in this process or through Dask."""
    partitions, columns = partitions_of(paths)
    model = None
    if predictor is not None:
        model = ModelFile(_absolute(str(predictor.source)), trust, predictor.sha256)
    with _engine(engine, scheduler, plan) as running:
        names = file_names(paths)
        places = [_absolute(name) for name in names]
        data = tuple(running.gather(running.map("hash of file", _source, names, places)))
        result = audit_shards(
            partitions,
            columns,
            roles,
            plan,
            running,
            shards=shards,
            predictor=predictor,
            model=model,
            data=data,
            command=command,
            progress=progress,
        )
    notes = () if predictor is None else predictor.notes
    return replace(result, notes=(*result.notes, *notes))


def audit_table_in_shards(
    table: Any,
    roles: Roles,
    plan: Plan,
    *,
    engine: str = "local",
    scheduler: str | None = None,
    shards: int | None = None,
    predictor: Predictor | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit a frame, or a table of Dask, in shards."""
    columns = [str(name) for name in table.columns]
    with _engine(engine, scheduler, plan) as running:
        if not hasattr(table, "to_delayed"):
            parts: list[Any] = [FramePartition("of the table", 0, table)]
        elif isinstance(running, DaskEngine):
            parts = _of_dask(table, running)
        else:
            raise InputError("A table of Dask needs engine='dask'.")
        return audit_shards(
            parts,
            columns,
            roles,
            plan,
            running,
            shards=shards,
            predictor=predictor,
            model=predictor,
            progress=progress,
        )


def _of_dask(table: Any, engine: DaskEngine) -> list[Any]:
    """The partitions as futures, each with the number of its first row."""
    frames = engine.client.compute(list(table.to_delayed()))
    sizes = engine.gather(engine.map("rows of partition", len, frames))
    first, numbers = 0, []
    for size in sizes:
        numbers.append(first)
        first += size
    names = [f"{k} of the table" for k in range(len(frames))]
    return engine.map("frame of partition", FramePartition, names, numbers, frames)


@contextmanager
def _engine(name: str, scheduler: str | None, plan: Plan) -> Iterator[Engine]:
    if name not in ENGINES:
        raise InputError(f"The 'engine' must be one of {', '.join(ENGINES)}. Got {name!r}.")
    if name == "local":
        if scheduler is not None:
            raise InputError("A scheduler goes with engine='dask' only.")
        yield LocalEngine()
        return
    drawn = plan.permutations
    with dask_engine(scheduler, drawn.n_jobs, drawn.memory) as engine:
        yield engine


def _absolute(source: str) -> str:
    import os

    return os.path.abspath(source) if os.path.exists(source) else source


def sources_of(paths: Sequence[str]) -> tuple[Source, ...]:
    """The files with their hashes."""
    return tuple(_source(name, name) for name in file_names(paths))


def _source(name: str, place: str) -> Source:
    try:
        with open(place, "rb") as file:
            return Source(name, "table", sha256_of(file))
    except OSError as error:
        raise InputError(f"The file {name!r} cannot be read: {error.strerror}.") from None
