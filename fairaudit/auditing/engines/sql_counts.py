"""Counts in SQL: DuckDB over files, any database with a connection.

Only GROUP BY, CASE, floor and comparisons are used; numbers that decide about bins are whole ones
or powers of two, so that every database finds the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Index
from fairaudit.auditing.engines.counting import Key, Numbers
from fairaudit.data.quantile_bins import Bins, Cells, Grid
from fairaudit.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIALECTS", "Dialect", "SQLSource", "explain_database", "make_relation", "write_sql"]

_LONGEST = 400  # letters of a database's own words


@dataclass(frozen=True, slots=True)
class Dialect:
    """What databases write differently.

    Parameters
    ----------
    quote : str
        Around names.
    double, integer : str
        The types of 64 bits, as CAST has them.
    not_a_number : str
        A condition on {x}; empty where there is no such number.
    """

    quote: str = '"'
    double: str = "DOUBLE PRECISION"
    integer: str = "BIGINT"
    not_a_number: str = ""

    def name(self, column: str) -> str:
        return f"{self.quote}{column.replace(self.quote, 2 * self.quote)}{self.quote}"

    def number(self, column: str) -> str:
        """A column as floating-point numbers, of which all are numbers or missing."""
        x = f"CAST({self.name(column)} AS {self.double})"
        if not self.not_a_number:
            return x
        return f"CASE WHEN NOT {self.not_a_number.format(x=x)} THEN {x} END"

    def cell(self, x: str, grid: Grid) -> str:
        scale = f"{2 ** abs(grid.power)}e0"
        places = f"floor({x} {'*' if grid.power >= 0 else '/'} {scale})"
        cell = f"2 * CAST({places} AS {self.integer})"
        if grid.threshold is None:
            return cell
        return f"{cell} + CASE WHEN {x} >= {_write_number(grid.threshold)} THEN 1 ELSE 0 END"


#: By the names that `fairaudit counts --sql --dialect` takes.
DIALECTS = {
    "ansi": Dialect(),
    "bigquery": Dialect(quote="`", double="FLOAT64", not_a_number="IS_NAN({x})"),
    "mysql": Dialect(quote="`", double="DOUBLE", integer="SIGNED"),
    "postgres": Dialect(not_a_number="{x} = 'NaN'"),
    "snowflake": Dialect(not_a_number="{x} = 'NaN'"),
    "spark": Dialect(quote="`", double="DOUBLE", not_a_number="isnan({x})"),
}


class SQLSource:
    """A table that a database counts.

    Parameters
    ----------
    query : callable
        SQL → a frame.
    relation : str
        The table in SQL: a name, a function of files, or a query in parentheses.
    dialect : Dialect
    name : str
        What messages call the table; files have names of their own in them.
    """

    def __init__(
        self,
        query: Callable[[str], pd.DataFrame],
        relation: str,
        dialect: Dialect | None = None,
        *,
        name: str = "",
    ) -> None:
        self.ask, self.relation, self.name = query, relation, name
        self.dialect = dialect or Dialect()

    def query(self, sql: str) -> pd.DataFrame:
        """The answer; errors of the database become one line."""
        with explain_database(self.name):
            return self.ask(sql)

    def columns(self) -> list[str]:
        nothing = self.query(f"SELECT * FROM {self.relation} WHERE 1 = 0")  # noqa: S608  as named
        return [str(column) for column in nothing.columns]

    def summarize(self, names: Sequence[str]) -> tuple[int, dict[str, Numbers]]:
        rows, own = self._summarize({name: self.dialect.name(name) for name in names})
        again = {
            name: self.dialect.number(name)
            for name, numbers in own.items()
            if numbers.high is not None and np.isnan(numbers.high)
        }
        if again:
            own |= self._summarize(again)[1]
        return rows, own

    def _summarize(self, columns: dict[str, str]) -> tuple[int, dict[str, Numbers]]:
        asked = ["count(*) AS r"]
        for k, column in enumerate(columns.values()):
            asked += [f"min({column}) AS a{k}", f"max({column}) AS b{k}"]
        sql = f"SELECT {', '.join(asked)} FROM {self.relation}"  # noqa: S608  names are quoted
        found = self.query(sql).iloc[0]
        own = {name: _read_range(found[f"a{k}"], found[f"b{k}"]) for k, name in enumerate(columns)}
        return int(found["r"]), own

    def count_cells(self, name: str, grid: Grid, within: Index | None) -> Cells:
        x = self.dialect.number(name)
        condition = "x IS NOT NULL"
        if within is not None:
            inside = ", ".join(str(key) for key in within.tolist())
            condition += f" AND {self.dialect.cell('x', grid.coarser())} IN ({inside})"
        numbers = f"(SELECT {x} AS x FROM {self.relation}) AS t"  # noqa: S608  names are quoted
        place = self.dialect.cell("x", grid)
        cells = f"(SELECT x, {place} AS g FROM {numbers} WHERE {condition}) AS u"  # noqa: S608
        asked = "g, count(*) AS n, min(x) AS a, max(x) AS b"
        frame = self.query(f"SELECT {asked} FROM {cells} GROUP BY g")  # noqa: S608
        order = np.argsort(frame["g"].to_numpy(dtype=np.intp))
        columns = [frame[k].to_numpy()[order] for k in ("g", "n", "a", "b")]
        return Cells(
            columns[0].astype(np.intp),
            columns[1].astype(np.intp),
            columns[2].astype(np.float64),
            columns[3].astype(np.float64),
        )

    def count(self, keys: Sequence[Key], count: str, most: int) -> pd.DataFrame:
        sql = write_sql(keys, self.relation, self.dialect, count)
        return self.query(f"{sql}\nLIMIT {most + 1}")


@contextmanager
def explain_database(name: str) -> Iterator[None]:
    """Errors of a database become one line; files have their names in them."""
    try:
        yield
    except (InputError, MissingDependencyError, MemoryError):
        raise
    except Exception as error:  # every database has errors of its own
        words = str(error).partition("\nLINE ")[0].partition("The search space used was")[0]
        why = " ".join(words.split()).rstrip(".")  # without the query, and what DuckDB tried
        what = f"The counts of {name} were not made" if name else "The files cannot be counted"
        raise InputError(f"{what}: {why[:_LONGEST]}. Nothing was concluded.") from error


def make_relation(table: str | None) -> str:
    """A table of a database by its name, or a query."""
    if table is None:
        raise InputError("A database needs the name of a table: pass 'table'.", argument="table")
    query = " ".join(table.split()).lower()
    return f"({table}) AS q" if query.startswith(("select ", "with ")) else table


def _read_range(low: Any, high: Any) -> Numbers:
    numbers = (int, float, np.integer, np.floating)
    text = [v for v in (low, high) if isinstance(v, (str, bool, np.bool_, bytes)) or v is None]
    if text or not all(isinstance(v, numbers) or hasattr(v, "as_tuple") for v in (low, high)):
        return Numbers(None, None, False)
    whole = all(isinstance(value, (int, np.integer)) for value in (low, high))
    return Numbers(float(low), float(high), whole)


def _write_number(value: float) -> str:
    """As a floating-point number: a decimal one would be compared as such."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def write_sql(
    keys: Sequence[Key],
    relation: str,
    dialect: Dialect | None = None,
    count: str = "n",
    *,
    named: bool = False,
) -> str:
    """The query that counts; `named`: bins by the numbers that stand for them, for people."""
    dialect = dialect or Dialect()
    cells, places = [], []
    for k, key in enumerate(keys):
        if key.bins is None:
            cells.append(f"{dialect.name(key.name)} AS k{k}")
            places.append(f"t.k{k}")
            continue
        cells.append(f"{dialect.cell(dialect.number(key.name), key.bins.grid)} AS k{k}")
        values = [_write_number(v) if named else str(j) for j, v in enumerate(key.bins.values)]
        tree = _write_tree(f"t.k{k}", key.bins, values, 0, len(key.bins))
        places.append(f"CASE WHEN t.k{k} IS NOT NULL THEN {tree} END AS k{k}")
    columns = [f"u.k{k}" for k in range(len(keys))]
    chosen = [
        f"{column} AS {dialect.name(key.name)}" for column, key in zip(columns, keys, strict=True)
    ]
    return (
        f"SELECT\n  {_list(chosen, 2)},\n  count(*) AS {dialect.name(count)}\n"
        f"FROM (\n  SELECT\n    {_list(places, 4)}\n"
        f"  FROM (\n    SELECT\n      {_list(cells, 6)}\n    FROM {relation}\n  ) t\n) u\n"
        f"GROUP BY {', '.join(columns)}"
    )


def _list(parts: Sequence[str], indent: int) -> str:
    return f",\n{' ' * indent}".join(parts)


def _write_tree(cell: str, bins: Bins, places: Sequence[str], start: int, stop: int) -> str:
    """The bin of a cell, by halving."""
    if stop - start == 1:
        return places[start]
    middle = (start + stop) // 2
    below = _write_tree(cell, bins, places, start, middle)
    above = _write_tree(cell, bins, places, middle, stop)
    return f"CASE WHEN {cell} < {int(bins.edges[middle])} THEN {below} ELSE {above} END"
