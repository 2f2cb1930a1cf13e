"""Audits of tables that one machine never holds at once: in shards, or from counts.

The engines by name; a new one is a file here and a line in this table. They deal rows to shards
(`map`), or count rows where they lie (`open`). Of those that count, the first that takes the data
does so unless one is named.
"""

from __future__ import annotations

from fairaudit._registry import Named, Registry

__all__ = ["ENGINES"]

ENGINES = Registry(
    kind="engine",
    method=("map", "open"),
    group="fairaudit.engines",
    built_in={
        "local": Named("fairaudit.auditing.engines.local_engine:LocalEngine"),
        "dask": Named("fairaudit.auditing.engines.dask_engine:DaskEngine"),
        "duckdb": Named("fairaudit.auditing.engines.duckdb_engine:DuckDBEngine"),
        "sql": Named("fairaudit.auditing.engines.sql_engine:SQLEngine"),
        "lazy": Named("fairaudit.auditing.engines.lazy_engine:LazyEngine"),
    },
)
