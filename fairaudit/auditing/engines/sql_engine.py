"""Counts by any database that Python has a connection to, and by SQLite for its files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.engines.counting import CountSource
from fairaudit.auditing.engines.engine import CountEngine
from fairaudit.auditing.engines.sql_counts import DIALECTS, Dialect, SQLSource, make_relation
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SQLEngine"]

#: Modules of drivers → their dialects.
_DRIVERS = {
    "MySQLdb": "mysql",
    "databricks": "spark",
    "google.cloud.bigquery": "bigquery",
    "mysql": "mysql",
    "pg8000": "postgres",
    "psycopg": "postgres",
    "psycopg2": "postgres",
    "pymysql": "mysql",
    "snowflake": "snowflake",
}


class SQLEngine(CountEngine):
    """A connection of Python's database interface, or a file of SQLite.

    Parameters
    ----------
    dialect : Dialect or str, optional
        One of `DIALECTS`, or what a database writes differently; by default what is known of
        the driver.
    """

    name = "sql"
    suffixes = (".sqlite", ".sqlite3")

    def __init__(self, dialect: Dialect | str | None = None) -> None:
        if isinstance(dialect, str) and dialect not in DIALECTS:
            raise InputError(
                f"The 'dialect' parameter must be one of {', '.join(DIALECTS)}, or a Dialect. "
                f"Got {dialect!r} instead.",
                argument="dialect",
            )
        self.dialect = DIALECTS[dialect] if isinstance(dialect, str) else dialect

    def takes(self, data: Any) -> bool:
        if isinstance(data, list):
            return any(path.lower().endswith(self.suffixes) for path in data)
        return hasattr(data, "cursor")

    @contextmanager
    def open(
        self, data: Any, table: str | None = None, *, memory: int | None = None
    ) -> Iterator[CountSource]:
        if hasattr(data, "cursor"):
            yield self._count(data, table)
            return
        if not isinstance(data, list) or len(data) != 1:
            raise InputError(
                "SQL counts one connection, or one file of SQLite.", argument=("data", "engine")
            )
        relation = make_relation(table)
        with closing(_open_file(data[0])) as connection:
            connection.execute("BEGIN")  # all queries see the table as it is now
            yield self._count(connection, relation)

    def _count(self, connection: Any, table: str | None) -> SQLSource:
        if type(connection).__module__.startswith("sqlite3"):
            _add_floor(connection)
        relation = make_relation(table)
        dialect = self.dialect or _find_dialect(connection)
        return SQLSource(lambda sql: _fetch(connection, sql), relation, dialect, name=str(table))


def _find_dialect(connection: Any) -> Dialect:
    """By the driver that made the connection."""
    driver = type(connection).__module__
    known = (name for start, name in _DRIVERS.items() if f"{driver}.".startswith(f"{start}."))
    return DIALECTS[next(known, "ansi")]


def _open_file(path: str) -> Any:
    import sqlite3

    if not os.path.isfile(path):
        raise InputError(
            f"There is no file {path!r}. Check the path given as 'data'.", argument="data"
        )
    return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)


def _add_floor(connection: Any) -> None:
    """SQLite has it only if it was compiled with mathematics."""
    connection.create_function(
        "floor", 1, lambda x: None if x is None else math.floor(x), deterministic=True
    )


def _fetch(connection: Any, sql: str) -> pd.DataFrame:
    import pandas as pd

    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return pd.DataFrame.from_records(cursor.fetchall(), columns=names)
