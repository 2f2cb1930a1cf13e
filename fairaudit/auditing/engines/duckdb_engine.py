"""Counts by DuckDB, inside this process: files larger than memory, and its own databases."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fairaudit.auditing.engines.counting import CountSource
from fairaudit.auditing.engines.engine import CountEngine
from fairaudit.auditing.engines.sources import watch_files
from fairaudit.auditing.engines.sql_counts import Dialect, SQLSource, make_relation
from fairaudit.data.reading.files import STDIN, file_names, is_parquet
from fairaudit.errors import InputError, MissingDependencyError

__all__ = ["DuckDBEngine", "copy_files", "has_duckdb", "read_files", "start_duckdb"]

_DIALECT = Dialect(not_a_number="isnan({x})")
_MEMORY = 1 << 29  # unless told; it spills to disk beyond
_KINDS = "['BOOLEAN', 'BIGINT', 'DOUBLE', 'VARCHAR']"  # dates stay text, as they do in memory
#: As the reader of CSV in memory has it.
_MISSING = (
    "",
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)


def has_duckdb() -> bool:
    from importlib.util import find_spec

    return find_spec("duckdb") is not None


class DuckDBEngine(CountEngine):
    """Files, a database of DuckDB (`table` names what is counted), or a connection to one."""

    name = "duckdb"
    suffixes = (".duckdb", ".ddb")

    def takes(self, data: Any) -> bool:
        others = (".sqlite", ".sqlite3")
        files = isinstance(data, list) and not any(p.lower().endswith(others) for p in data)
        return files or _is_connection(data)

    @contextmanager
    def open(
        self, data: Any, table: str | None = None, *, memory: int | None = None
    ) -> Iterator[CountSource]:
        if _is_connection(data):
            yield _make_source(data, make_relation(table), str(table))
            return
        if not isinstance(data, list):
            raise InputError(
                f"DuckDB counts files and its own tables. Got a {type(data).__name__}.",
                argument="engine",
            )
        if any(path.lower().endswith(self.suffixes) for path in data):
            if len(data) > 1:
                raise InputError("A database file is counted alone.", argument="data")
            relation = make_relation(table)
            with start_duckdb(memory, data[0]) as connection:
                yield _make_source(connection, relation, str(table))
            return
        if table is not None:
            raise InputError(
                f"{data[0]!r} is no database of DuckDB. Leave 'table' or 'engine' out.",
                argument=("table", "engine"),
            )
        names = file_names(data)
        with watch_files(names), start_duckdb(memory) as connection:
            yield _make_source(connection, read_files(names), "")


def _make_source(connection: Any, relation: str, name: str) -> SQLSource:
    return SQLSource(lambda sql: connection.execute(sql).df(), relation, _DIALECT, name=name)


def _is_connection(data: Any) -> bool:
    ours = type(data).__module__.partition(".")[0] in ("duckdb", "_duckdb")
    return ours and hasattr(data, "cursor")  # a relation has none


def read_files(names: Sequence[str]) -> str:
    """The files in DuckDB's words."""
    if STDIN in names:
        raise InputError("Standard input cannot be counted. Pass files.", argument="data")
    listed = "[" + ", ".join(_text(_literal(name)) for name in names) + "]"
    plain = "hive_partitioning = false"  # names of folders are no columns
    if all(is_parquet(name) for name in names):
        return f"read_parquet({listed}, {plain})"
    marks = "[" + ", ".join(_text(mark) for mark in _MISSING) + "]"
    told = f"header = true, sample_size = -1, nullstr = {marks}, auto_type_candidates = {_KINDS}"
    return f"read_csv({listed}, {plain}, {told})"


def _literal(name: str) -> str:
    """This file, and neither those that its name is a pattern of nor an address that it looks like.

    There may be a folder called ``https:``.
    """
    return re.sub(r"([*?\[])", r"[\1]", os.path.abspath(name))


def copy_files(
    connection: Any, names: Sequence[str], columns: Sequence[str] | None, path: str
) -> None:
    """Some columns of files (default: all) as one Parquet file."""
    chosen = "*" if columns is None else ", ".join(map(_DIALECT.name, columns))
    SQLSource(lambda sql: connection.execute(sql).df(), "", _DIALECT).query(
        f"COPY (SELECT {chosen} FROM {read_files(names)}) TO {_text(path)} (FORMAT parquet)"  # noqa: S608
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@contextmanager
def start_duckdb(memory: int | None, path: str = ":memory:") -> Iterator[Any]:
    """A connection that takes so much memory, and spills into a folder that is removed."""
    duckdb = _import_duckdb()
    if path != ":memory:" and not os.path.isfile(path):
        raise InputError(
            f"There is no file {path!r}. Check the path given as 'data'.", argument="data"
        )
    with tempfile.TemporaryDirectory(prefix="fairaudit-") as spill:
        try:
            # a file, though it is called md:x.duckdb: DuckDB would fetch an extension, or log in
            place = path if path == ":memory:" else os.path.abspath(path)
            connection = duckdb.connect(place, read_only=path != ":memory:")
        except duckdb.Error as error:
            why = " ".join(str(error).split()).rstrip(".")
            raise InputError(f"The database {path!r} cannot be opened: {why}.") from None
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
