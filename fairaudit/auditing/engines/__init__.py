"""Audits in shards: exact partial sums over partitions that one machine never holds at once.

The engines by name; a new one is a file here and a line in this table.
"""

from __future__ import annotations

from fairaudit._registry import Named, Registry

__all__ = ["COUNTING", "ENGINES"]

#: Engines that count rows instead of dealing them to shards; they take files.
COUNTING = ("duckdb",)

ENGINES = Registry(
    kind="engine",
    method="map",
    group="fairaudit.engines",
    built_in={
        "local": Named("fairaudit.auditing.engines.local_engine:LocalEngine"),
        "dask": Named("fairaudit.auditing.engines.dask_engine:DaskEngine"),
    },
)
