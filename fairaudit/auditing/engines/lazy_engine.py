"""Counts of lazy tables where they lie: Spark, Polars, relations of DuckDB, Ibis for warehouses.

Narwhals says the same expressions to all of them; numbers that decide about bins are whole ones or
powers of two, as in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Index
from fairaudit.auditing.engines.counting import CountSource, Key, Numbers
from fairaudit.auditing.engines.engine import CountEngine
from fairaudit.auditing.engines.sql_counts import explain_database
from fairaudit.data.quantile_bins import Bins, Cells, Grid
from fairaudit.data.reading.frames import as_pandas, is_lazy
from fairaudit.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LazyEngine"]


class LazyEngine(CountEngine):
    """Tables of Spark and Ibis, lazy ones of Polars, relations of DuckDB; only counts leave."""

    name = "lazy"
    counted = "lazy tables (Spark, Ibis, lazy Polars, relations of DuckDB)"

    def takes(self, data: Any) -> bool:
        return is_lazy(data)

    @contextmanager
    def open(
        self, data: Any, table: str | None = None, *, memory: int | None = None
    ) -> Iterator[CountSource]:
        self.refuse_others(data)
        yield LazySource(data)


class LazySource:
    """What is asked of a lazy table.

    Parameters
    ----------
    table : object
        Whatever narwhals calls lazy.
    """

    def __init__(self, table: Any) -> None:
        import narwhals as nw

        if not hasattr(nw.Expr, "floor"):
            raise MissingDependencyError("Lazy tables need narwhals: pip install 'narwhals>=2.15'")
        self.nw, self.table = nw, nw.from_native(table)
        with explain_database("the lazy table"):
            self.schema = self.table.collect_schema()
        self.has_nan = _has_nan(self.table)

    def columns(self) -> list[str]:
        return list(self.schema.names())

    def summarize(self, names: Sequence[str]) -> tuple[int, dict[str, Numbers]]:
        nw = self.nw
        numbers = [name for name in names if self.schema[name].is_numeric()]
        asked = [nw.len().alias("r")]
        for k, name in enumerate(numbers):
            asked += [self._read(name).min().alias(f"a{k}"), self._read(name).max().alias(f"b{k}")]
        found = self._ask(self.table.select(*asked)).iloc[0]
        own = dict.fromkeys(names, Numbers(None, None, False))
        for k, name in enumerate(numbers):
            low, high = found[f"a{k}"], found[f"b{k}"]
            if low == low and low is not None:
                own[name] = Numbers(float(low), float(high), self.schema[name].is_integer())
        return int(found["r"]), own

    def count_cells(self, name: str, grid: Grid, within: Index | None) -> Cells:
        nw = self.nw
        rows = self.table.select(x=self._read_float(name)).filter(~nw.col("x").is_null())
        if within is not None:
            coarse = self._find_cell(nw.col("x"), grid.coarser())
            rows = rows.filter(coarse.is_in([int(key) for key in within]))
        x = nw.col("x")
        cells = rows.with_columns(g=self._find_cell(x, grid)).group_by("g")
        frame = self._ask(cells.agg(n=nw.len(), a=x.min(), b=x.max())).sort_values("g")
        return Cells(
            frame["g"].to_numpy(np.intp),
            frame["n"].to_numpy(np.intp),
            frame["a"].to_numpy(np.float64),
            frame["b"].to_numpy(np.float64),
        )

    def count(self, keys: Sequence[Key], count: str, most: int) -> pd.DataFrame:
        columns = []
        for key in keys:
            place = self._read(key.name) if key.bins is None else self._place(key.name, key.bins)
            columns.append(place.alias(key.name))
        rows = self.table.select(*columns).group_by([key.name for key in keys])
        return self._ask(rows.agg(self.nw.len().alias(count)).head(most + 1))

    def _read(self, name: str) -> Any:
        """A column in which numbers are numbers or missing."""
        nw, column = self.nw, self.nw.col(name)
        if not (self.has_nan and self.schema[name].is_float()):
            return column
        return nw.when(~column.is_nan()).then(column)

    def _read_float(self, name: str) -> Any:
        return self._read(name).cast(self.nw.Float64)

    def _find_cell(self, x: Any, grid: Grid) -> Any:
        nw = self.nw
        cell = (x * 2.0**grid.power).floor().cast(nw.Int64) * 2
        if grid.threshold is None:
            return cell
        reached = nw.when(x >= grid.threshold).then(nw.lit(1)).otherwise(nw.lit(0))
        return cell + reached

    def _place(self, name: str, bins: Bins) -> Any:
        """The bin of every number, by halving."""
        nw, x = self.nw, self._read_float(name)
        cell = self._find_cell(x, bins.grid)

        def choose(start: int, stop: int) -> Any:
            if stop - start == 1:
                return nw.lit(start)
            middle = (start + stop) // 2
            below = nw.when(cell < int(bins.edges[middle])).then(choose(start, middle))
            return below.otherwise(choose(middle, stop))

        return nw.when(~x.is_null()).then(choose(0, len(bins)))

    def _ask(self, rows: Any) -> pd.DataFrame:
        more = {"engine": "streaming"} if rows.implementation.is_polars() else {}
        with explain_database("the lazy table"):
            return as_pandas(rows.collect(**more))


def _has_nan(table: Any) -> bool:
    """Some databases behind Ibis have no number that is none, and no word for it."""
    if not table.implementation.is_ibis():
        return True
    import ibis

    return bool(table.to_native().get_backend().has_operation(ibis.expr.operations.IsNan))
