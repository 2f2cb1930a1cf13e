"""What can be counted: files by DuckDB, frames, connections to databases, tables of Spark."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.engines.counting import CountSource
from fairaudit.auditing.engines.frame_counts import FrameSource
from fairaudit.auditing.engines.sql_counts import Dialect, SQLSource
from fairaudit.data.reading.files import STDIN, file_names, is_parquet
from fairaudit.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DATABASES", "has_duckdb", "open_files", "open_source"]

#: Files that are databases, and what opens them.
DATABASES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_DUCKDB = Dialect(not_a_number="isnan({x})")
_SPARK = Dialect(quote="`", not_a_number="isnan({x})")
_LONGEST = 400  # letters of a database's own words
_MEMORY = 1 << 29  # of DuckDB, unless told; it spills to disk beyond
#: As the reader of CSV in memory has it.
_MISSING = (
    "",
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)


def has_duckdb() -> bool:
    from importlib.util import find_spec

    return find_spec("duckdb") is not None


@contextmanager
def open_source(
    data: Any, table: str | None = None, *, memory: int | None = None
) -> Iterator[CountSource]:
    """A source of counts: a frame, a table of Dask or Spark, a connection, or paths."""
    if isinstance(data, (str, os.PathLike)):
        data = [os.fspath(data)]
    if isinstance(data, (list, tuple)):
        with open_files(data, table, memory=memory) as source:
            yield source
    elif hasattr(data, "createOrReplaceTempView"):
        yield _open_spark(data)
    elif hasattr(data, "columns"):
        yield FrameSource(data)
    elif hasattr(data, "cursor") or hasattr(data, "execute"):
        yield _open_connection(data, table)
    else:
        raise InputError(
            f"A {type(data).__name__} cannot be counted. Pass a frame, a table of Dask or Spark, a "
            "connection with 'table', or paths of files.",
            argument="table",
        )


@contextmanager
def open_files(
    paths: Sequence[str], table: str | None = None, *, memory: int | None = None
) -> Iterator[CountSource]:
    """Files of Parquet or CSV, or a database file with the name of a table."""
    kinds = {DATABASES.get(os.path.splitext(str(path))[1].lower()) for path in paths}
    if kinds != {None}:
        if len(paths) > 1 or table is None:
            raise InputError(
                "A database file is counted alone, with the name of its table in 'table'.",
                argument="table",
            )
        with _open_database(str(paths[0]), kinds.pop() or "") as connection:
            yield _open_connection(connection, table)
        return
    names = file_names(paths)
    if STDIN in names:
        raise InputError("Standard input cannot be counted. Pass files.", argument="data")
    states = [_state(name) for name in names]
    with _start_duckdb(memory) as connection:
        yield _make_source(lambda sql: connection.execute(sql).df(), _read(names), _DUCKDB, "")
    for name, state in zip(names, states, strict=True):
        if _state(name) != state:
            raise InputError(
                f"The file {name!r} changed while it was counted. Wait until it is written, then "
                "repeat."
            )


def _state(name: str) -> tuple[int, ...]:
    try:
        status = os.stat(name)
    except OSError as error:
        raise InputError(f"The file {name!r} cannot be read: {error.strerror}.") from None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read(names: Sequence[str]) -> str:
    """The files in DuckDB's words."""
    listed = "[" + ", ".join(_text(name) for name in names) + "]"
    if all(is_parquet(name) for name in names):
        return f"read_parquet({listed})"
    marks = "[" + ", ".join(_text(mark) for mark in _MISSING) + "]"
    return f"read_csv({listed}, header = true, sample_size = -1, nullstr = {marks})"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@contextmanager
def _start_duckdb(memory: int | None, path: str = ":memory:") -> Iterator[Any]:
    duckdb = _import_duckdb()
    with tempfile.TemporaryDirectory(prefix="fairaudit-") as spill:
        connection = duckdb.connect(path, read_only=path != ":memory:")
        try:
            limit = (memory or _MEMORY) // 2**20
            connection.execute(f"SET memory_limit = '{max(limit, 64)}MiB'")
            connection.execute(f"SET temp_directory = {_text(spill)}")
            connection.execute("SET preserve_insertion_order = false")
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET autoinstall_known_extensions = false")
            if path != ":memory:":  # its views are queries, which may read and write files
                connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection
        finally:
            connection.close()


def _import_duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError("Counting files needs DuckDB: pip install duckdb") from None
    return duckdb


@contextmanager
def _open_database(path: str, kind: str) -> Iterator[Any]:
    if not os.path.isfile(path):
        raise InputError(
            f"There is no file {path!r}. Check the path given as 'data'.", argument="data"
        )
    if kind == "duckdb":
        with _start_duckdb(None, path) as connection:
            yield connection
        return
    import sqlite3
    from pathlib import Path

    opened = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
    try:
        yield opened
    finally:
        opened.close()


def _open_connection(connection: Any, table: str | None) -> SQLSource:
    """Any connection of Python's database interface, and DuckDB's."""
    if table is None:
        raise InputError("A connection needs the name of a table: pass 'table'.", argument="table")
    query = " ".join(table.split())
    relation = f"({table}) AS q" if query.lower().startswith(("select ", "with ")) else table
    duck = type(connection).__module__.partition(".")[0] in ("duckdb", "_duckdb")
    if duck:
        return _make_source(lambda sql: connection.execute(sql).df(), relation, _DUCKDB, table)
    if type(connection).__module__.startswith("sqlite3"):
        _add_floor(connection)
    return _make_source(lambda sql: _fetch(connection, sql), relation, Dialect(), table)


def _add_floor(connection: Any) -> None:
    """SQLite has it only if it was compiled with mathematics."""
    import math

    connection.create_function(
        "floor", 1, lambda x: None if x is None else math.floor(x), deterministic=True
    )


def _fetch(connection: Any, sql: str) -> pd.DataFrame:
    import pandas as pd

    cursor = connection.cursor()
    try:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return pd.DataFrame.from_records(cursor.fetchall(), columns=names)
    finally:
        cursor.close()


def _open_spark(frame: Any) -> SQLSource:
    import uuid

    name = f"fairaudit_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    session = frame.sparkSession

    def query(sql: str) -> pd.DataFrame:
        import pandas as pd

        found = session.sql(sql)
        rows = [tuple(row) for row in found.collect()]
        return pd.DataFrame.from_records(rows, columns=found.columns)

    return _make_source(query, name, _SPARK, "the table of Spark")


def _make_source(
    query: Callable[[str], pd.DataFrame], relation: str, dialect: Dialect, name: str
) -> SQLSource:
    """A source whose errors are one line."""

    def ask(sql: str) -> pd.DataFrame:
        try:
            return query(sql)
        except (InputError, MissingDependencyError, MemoryError):
            raise
        except Exception as error:  # every database has errors of its own
            raise InputError(_explain(error, name)) from error

    nothing = ask(f"SELECT * FROM {relation} LIMIT 0")  # noqa: S608  what the user named
    names = [str(column) for column in nothing.columns]
    return SQLSource(ask, relation, names, dialect)


def _explain(error: Exception, name: str) -> str:
    why = " ".join(str(error).partition("\nLINE ")[0].split()).rstrip(".")  # no query in a message
    what = f"The counts of {name} were not made" if name else "The files cannot be counted"
    return f"{what}: {why[:_LONGEST]}. Nothing was concluded."
