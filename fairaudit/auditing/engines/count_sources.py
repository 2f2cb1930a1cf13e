"""Which engine counts what: the one that is named, or the first that takes the data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fairaudit.auditing.engines import ENGINES
from fairaudit.auditing.engines.counting import CountSource
from fairaudit.errors import InputError

__all__ = ["choose_engine", "is_database", "open_source"]


@contextmanager
def open_source(
    data: Any, table: str | None = None, *, engine: Any = None, memory: int | None = None
) -> Iterator[CountSource]:
    """A source of counts: a frame, a lazy table, one of Dask, a connection, or paths."""
    if isinstance(data, (str, os.PathLike)):
        data = [data]
    if isinstance(data, (list, tuple)):
        data = [os.fspath(path) for path in data]
    with choose_engine(data, engine).open(data, table, memory=memory) as source:
        yield source


def is_database(paths: Sequence[str]) -> bool:
    """Whether a file is a database, of which a table is to be named."""
    suffixes = [
        suffix for name in ENGINES.built_in for suffix in getattr(ENGINES.get(name), "suffixes", ())
    ]
    return any(path.lower().endswith(tuple(suffixes)) for path in paths)


def choose_engine(data: Any, engine: Any = None) -> Any:
    """An engine that counts."""
    if engine is not None:
        chosen = ENGINES.get(engine)
        if not hasattr(chosen, "open"):
            raise InputError(
                f"The engine {engine!r} does not count: it has no method 'open'.", argument="engine"
            )
        return chosen
    for name in ENGINES.built_in:
        known = ENGINES.get(name)
        if known.takes(data):
            return known
    raise InputError(
        f"A {type(data).__name__} cannot be counted. Pass a frame, a lazy table, one of Dask, a "
        "connection with 'table', or paths of files.",
        argument="table",
    )
