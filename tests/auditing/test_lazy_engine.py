"""Lazy tables are counted where they are, and audited from their counts.

Spark and Ibis are not part of `dev`: `nox -s lazy` installs them and runs this file.
"""

from __future__ import annotations

import shutil
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.engines.lazy_engine import LazyEngine
from fairaudit.extend import check_count_engine

NAMES = {"predictions": "score", "outcome": "y", "sensitive": "sex,age"}
FEW = fa.Permutations(n=19)


def make_rows(n: int = 1200) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    y, sex, age = rng.integers(0, 2, n), rng.choice(["f", "m"], n), rng.integers(20, 40, n)
    score = 1 / (1 + np.exp(-(y + (sex == "f") + rng.normal(size=n))))
    return pd.DataFrame({"y": y, "sex": sex, "age": age, "score": score})


def test_lazy_tables_are_audited_as_the_counts_of_their_rows(tmp_path: Path) -> None:
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    frame = make_rows()
    frame.to_parquet(tmp_path / "rows.parquet")
    own = fa.audit(counts=fa.counts(frame, **NAMES), permutations=FEW, **NAMES)
    with warnings.catch_warnings(), duckdb.connect() as connection:
        warnings.simplefilter("error")  # Polars warns where a lazy table is asked too much
        for table in (
            polars.scan_parquet(tmp_path / "rows.parquet"),
            connection.read_parquet(str(tmp_path / "rows.parquet")).filter("age < 99"),
        ):
            result = fa.audit(table, permutations=FEW, **NAMES)
            assert result.findings[0].p_value == own.findings[0].p_value
            assert result.capsule.table_sha256 == own.capsule.table_sha256
            assert result.capsule.options["counted"] is True


def test_what_lazy_tables_cannot_do_is_one_line() -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.from_pandas(make_rows()).lazy()
    with pytest.raises(fa.InputError, match="Leave the model out"):
        fa.audit(lambda x: x, lazy, outcome="y", sensitive="sex")
    with pytest.raises(fa.InputError, match="sexx"):
        fa.audit(lazy, **{**NAMES, "sensitive": "sexx"})
    with pytest.raises(fa.InputError, match="this one is continuous"):
        fa.audit(lazy, predictions="y", outcome="score", sensitive="sex")
    with pytest.raises(fa.InputError, match="is a lazy table: its rows are elsewhere"):
        fa.AuditTable.from_frame(lazy, **NAMES)
    broken = lazy.with_columns(polars.col("sex").cast(polars.Int64).alias("age"))
    with pytest.raises(fa.InputError, match="of the lazy table were not made") as caught:
        fa.audit(broken, **NAMES)
    assert "\n" not in str(caught.value)


def test_a_connection_is_told_what_to_do() -> None:
    with sqlite3.connect(":memory:") as connection, pytest.raises(fa.InputError) as caught:
        fa.audit(connection, **NAMES)
    assert "table='loans'" in str(caught.value)


def test_ibis(tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis", reason="ibis is not installed: nox -s lazy")
    databases = {"duckdb": ibis.duckdb.connect(), "sqlite": ibis.sqlite.connect()}
    for database in databases.values():
        check_count_engine(LazyEngine(), lambda rows, own=database: own.create_table("rows", rows))
        database.disconnect()


def test_spark(tmp_path: Path) -> None:
    spark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: nox -s lazy")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    session = (
        spark.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(tmp_path))
        .getOrCreate()
    )

    def write(rows: pd.DataFrame) -> Any:
        rows.to_parquet(tmp_path / "rows.parquet")
        return session.read.parquet(str(tmp_path / "rows.parquet")).repartition(3)

    try:
        check_count_engine(LazyEngine(), write)
        frame = make_rows()
        own = fa.audit(counts=fa.counts(frame, **NAMES), permutations=FEW, **NAMES)
        result = fa.audit(write(frame), permutations=FEW, **NAMES)
        assert result.findings[0].p_value == own.findings[0].p_value
        assert result.capsule.table_sha256 == own.capsule.table_sha256
    finally:
        session.stop()
