"""Counts by Spark, on its cluster."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.engines.counting import CountSource
from fairaudit.auditing.engines.engine import CountEngine
from fairaudit.auditing.engines.sql_counts import Dialect, SQLSource

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SparkEngine"]

_DIALECT = Dialect(quote="`", not_a_number="isnan({x})")


class SparkEngine(CountEngine):
    """A table of Spark; only counts leave the cluster."""

    name = "spark"
    counted = "tables of Spark"

    def takes(self, data: Any) -> bool:
        return hasattr(data, "createOrReplaceTempView")

    @contextmanager
    def open(
        self, data: Any, table: str | None = None, *, memory: int | None = None
    ) -> Iterator[CountSource]:
        self.refuse_others(data)
        view, session = f"fairaudit_{uuid.uuid4().hex}", data.sparkSession

        def query(sql: str) -> pd.DataFrame:
            import pandas as pd

            found = session.sql(sql)
            return pd.DataFrame.from_records([*map(tuple, found.collect())], columns=found.columns)

        data.createOrReplaceTempView(view)
        try:
            yield SQLSource(query, view, _DIALECT, name="the table of Spark")
        finally:
            session.catalog.dropTempView(view)
