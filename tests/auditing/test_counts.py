"""Audits of counts: the same as of rows, and the same wherever rows are counted."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing import run
from fairaudit.auditing.engines import count_sources, counting
from fairaudit.auditing.engines.engine import CountEngine
from fairaudit.auditing.engines.local_engine import LocalEngine
from fairaudit.auditing.engines.sql_engine import SQLEngine
from fairaudit.data.counted_table import bin_columns, merge_rows
from fairaudit.data.quantile_bins import Cells, Grid, choose_bins

NAMES = {"predictions": "score", "outcome": "y", "sensitive": "race,sex,age"}
FEW = fa.Permutations(n=99)


def make_rows(n: int = 6000, effect: float = 0.3, digits: int | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    y = (rng.random(n) < 0.4).astype(int)
    race = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    sex, age = rng.integers(0, 2, n), rng.integers(20, 40, n)
    score = 1 / (1 + np.exp(-(y - 0.5 + effect * sex + rng.normal(size=n))))
    score = score if digits is None else score.round(digits)
    return pd.DataFrame({"y": y, "race": race, "sex": sex, "age": age, "score": score})


@pytest.fixture
def counted_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits of counts begin at few rows."""
    monkeypatch.setattr(run, "MOST_ROWS", 1000)


def numbers_of(result: fa.AuditResult) -> list[object]:
    findings = [
        (f.name, f.value, f.p_value, f.kpc, f.kpc_low, f.kpc_high, f.rows) for f in result.findings
    ]
    return [*findings, [(m.key, m.value) for m in result.measures], result.capsule.table_sha256]


def test_rows_and_counts_say_the_same(counted_early: None, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = make_rows(digits=2)
    counted = fa.counts(frame, **NAMES)
    assert counted["n"].sum() == len(frame) and counted.attrs["binned"] == {}
    of_counts = fa.audit(counts=counted, permutations=FEW, **NAMES)
    shuffled = counted.sample(frac=1, random_state=0)
    assert numbers_of(fa.audit(counts=shuffled, permutations=FEW, **NAMES)) == numbers_of(of_counts)
    # rows that are counted in memory
    assert numbers_of(fa.audit(frame, permutations=FEW, **NAMES)) == numbers_of(of_counts)
    # rows one by one: other copies, the same sizes and the same verdict
    monkeypatch.setattr(run, "MOST_ROWS", 10**6)
    of_rows = fa.audit(frame, permutations=FEW, **NAMES)
    assert of_rows.verdict == of_counts.verdict == "violation"
    for own, other in zip(of_rows.findings, of_counts.findings, strict=True):
        assert own.name == other.name and own.rows == other.rows
        assert own.kpc == pytest.approx(other.kpc, abs=1e-9)
        assert abs(own.p_value - other.p_value) < 0.15
    rows = {m.key: m.value for m in of_rows.measures if len(m.attributes) != 1}
    counts = {m.key: m.value for m in of_counts.measures if len(m.attributes) != 1}
    for key, value in counts.items():
        assert value == pytest.approx(rows[key], abs=1e-9), key
    assert of_rows.gaps == of_counts.gaps


def test_an_engine_that_counts_audits(counted_early: None) -> None:
    class Elsewhere(CountEngine):
        name = "elsewhere"

        def takes(self, data: object) -> bool:
            return False

        def open(self, data: object, table: str | None = None, *, memory: int | None = None):  # type: ignore[no-untyped-def]
            return LocalEngine().open(data, table, memory=memory)

    frame, few = make_rows(1500, digits=1), fa.Permutations(n=19)
    own = fa.audit(frame, engine=Elsewhere(), permutations=few, **NAMES)
    assert numbers_of(own) == numbers_of(fa.audit(frame, permutations=few, **NAMES))
    assert own.capsule.options["counted"] is True
    with pytest.raises(fa.InputError, match="Leave the model out"):
        fa.audit(lambda x: x, frame, engine=Elsewhere(), outcome="y", sensitive="sex")
    with pytest.raises(fa.InputError, match="does not count"):
        fa.counts(frame, engine=Shardy(), **NAMES)


class Shardy:
    """An engine of shards alone."""

    map = gather = staticmethod(lambda *given: [])


def test_small_counts_are_looked_at_row_by_row() -> None:
    frame = make_rows(2000, digits=2)
    result = fa.audit(counts=fa.counts(frame, **NAMES), permutations=FEW, **NAMES)
    assert result.power is not None and result.table.rows == 2000
    assert any(measure.key == "codec" for measure in result.measures)


def test_without_a_violation_counts_find_none(counted_early: None) -> None:
    counted = fa.counts(make_rows(effect=0.0), **NAMES)
    result = fa.audit(counts=counted, permutations=FEW, **NAMES)
    assert result.verdict == "no violation found"
    assert any("Cut into bins: score" in note for note in result.notes)


def test_certificates_and_pairs_from_counts(counted_early: None) -> None:
    counted = fa.counts(make_rows(digits=1), **NAMES)
    some = {**NAMES, "sensitive": "race,sex"}
    result = fa.audit(
        counts=counted, permutations=FEW, certify={"equalized_odds_difference": 0.3}, **some
    )
    assert result.certificates[0].upper is not None and result.gaps is not None
    with pytest.raises(fa.InputError, match="certificate of KPC"):
        fa.audit(counts=counted, permutations=FEW, certify={"kpc": 0.3}, **some)


def test_early_stopping_and_processes_change_no_copy(counted_early: None) -> None:
    counted = fa.counts(make_rows(effect=0.05, digits=1), **NAMES)
    once = fa.audit(counts=counted, permutations=fa.Permutations(n=70), **NAMES)
    twice = fa.audit(counts=counted, permutations=fa.Permutations(n=70, n_jobs=2), **NAMES)
    assert numbers_of(once) == numbers_of(twice) and once.null == twice.null
    more = fa.audit(counts=counted, permutations=fa.Permutations(n=150), **NAMES)
    parts = "omnibus"
    assert more.findings[0].statistic == parts
    stopped = fa.audit(counts=counted, permutations=fa.Permutations.auto(0.05), **NAMES)
    assert stopped.verdict == more.verdict


def sources(frame: pd.DataFrame, folder: Path) -> dict[str, tuple[object, str | None]]:
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    pa, dask = pytest.importorskip("pyarrow"), pytest.importorskip("dask.dataframe")
    (folder / "one").mkdir()
    (folder / "three").mkdir()
    frame.to_parquet(folder / "one" / "all.parquet")
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(folder / "three" / f"{k}.parquet", row_group_size=700)
    frame.to_csv(folder / "rows.csv", index=False)
    light = sqlite3.connect(folder / "rows.sqlite")
    frame.to_sql("loans", light, index=False)
    light.commit()
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", frame)
        connection.execute("CREATE TABLE loans AS SELECT * FROM given")
    return {
        "pandas": (frame, None),
        "polars": (polars.from_pandas(frame), None),
        "lazy polars": (polars.from_pandas(frame).lazy(), None),
        "pyarrow": (pa.Table.from_pandas(frame), None),
        "one file": (str(folder / "one" / "all.parquet"), None),
        "three files": (str(folder / "three"), None),
        "csv": (str(folder / "rows.csv"), None),
        "sqlite": (light, "loans"),
        "sqlite file": (str(folder / "rows.sqlite"), "loans"),
        "duckdb file": (str(folder / "rows.duckdb"), "SELECT * FROM loans"),
        "dask": (dask.from_pandas(frame, npartitions=4), None),
    }


def test_the_same_bytes_from_every_source(tmp_path: Path, counted_early: None) -> None:
    frame = make_rows(4000)
    frame["income"] = np.exp(2 * np.random.default_rng(0).normal(size=len(frame)))
    frame.loc[[3, 17], "race"] = None
    names = {**NAMES, "sensitive": "race,sex,income", "threshold": 0.3}
    counted = {}
    for name, (data, table) in sources(frame, tmp_path).items():
        counted[name] = fa.counts(data, table=table, **names)
        assert counted[name].attrs["binned"] == {"income": 72, "score": 264}
        pd.testing.assert_frame_equal(
            counted[name], counted["pandas"], check_dtype=False, check_exact=True, obj=name
        )
    again = fa.audit(counts=counted["sqlite"], permutations=FEW, **names)
    of_rows = fa.audit(frame, permutations=FEW, **names)
    assert numbers_of(again)[:-1] == numbers_of(of_rows)[:-1]
    assert [a.missing for a in again.table.attributes] == [2, 0, 0]


@pytest.mark.parametrize("law", ["normal", "rare", "rounded", "skewed", "shifted", "atom"])
def test_bins_are_of_equal_size_and_respect_the_threshold(law: str) -> None:
    rng = np.random.default_rng(1)
    x = {
        "normal": rng.normal(size=50_000),
        "rare": rng.beta(0.3, 15, 50_000),
        "rounded": rng.random(50_000).round(2),
        "skewed": np.exp(3 * rng.normal(size=50_000)),
        "shifted": rng.random(50_000) + 1e9,
        "atom": np.where(rng.random(50_000) < 0.4, 0.0, rng.random(50_000)),
    }[law]
    cut = float(np.quantile(x, 0.7))

    def count(grid: Grid, within: object) -> Cells:
        some = x if within is None else x[np.isin(grid.coarser().find_cells(x), within)]
        return Cells.of(some, grid)

    bins = choose_bins(count, float(x.min()), float(x.max()), bins=64, threshold=cut)
    if law == "rounded":
        assert bins is None
        return
    assert bins is not None
    place = bins.place(x)
    sizes = np.bincount(place, minlength=len(bins))
    equal = [k for k in range(len(bins)) if len(np.unique(x[place == k])) > 1]
    assert sizes.min() > 0 and sizes[equal].max() < 1.6 * len(x) / 64
    assert ((bins.values >= cut)[place] == (x >= cut)).all()
    assert (np.diff(bins.values) > 0).all()


def test_rows_that_are_equal_are_merged() -> None:
    table = fa.AuditTable.of([0.1, 0.9, 0.1], {"sex": ["f", "m", "f"]}, [0, 1, 0])
    merged = merge_rows(table)
    assert merged.times.tolist() == [2, 1]
    same, binned = bin_columns(table, 8, None)
    assert binned == {} and same.prediction.columns[0] is table.prediction.columns[0]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1, -2, 3], "whole numbers of 0 or more"),
        ([1, 2.5, 3], "whole numbers of 0 or more"),
        ([0, 0, 0], "all 0"),
        (["few", "3", "4"], "whole numbers of 0 or more"),
        ([1, None, 3], "missing"),
    ],
)
def test_counts_that_are_none_are_refused(column: list[object], message: str) -> None:
    frame = pd.DataFrame({"p": [0, 1, 0], "y": [0, 1, 1], "sex": list("fmf"), "n": column})
    with pytest.raises(fa.InputError, match=message):
        fa.audit(counts=frame, predictions="p", outcome="y", sensitive="sex")


def test_counts_are_not_taken_for_people() -> None:
    rows = pd.DataFrame({"p": [0, 1, 1, 0], "y": [0, 1, 1, 0], "sex": list("ffmf")})
    names = {"predictions": "p", "outcome": "y", "sensitive": "sex"}
    with pytest.raises(fa.InputError, match="table of counts"):
        fa.audit(fa.counts(rows, **names), count="n", **names)


def test_counts_are_audited_alone() -> None:
    frame = pd.DataFrame({"p": [0, 1, 0], "y": [0, 1, 1], "sex": list("fmf"), "n": [5, 5, 5]})
    with pytest.raises(fa.InputError, match="no weights"):
        fa.audit(counts=frame, predictions="p", outcome="y", sensitive="sex", weights="n")
    with pytest.raises(fa.InputError, match="audited alone"):
        fa.audit(frame, counts=frame, predictions="p", outcome="y", sensitive="sex")


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    frame = make_rows(2000)
    for k in range(3):
        frame.to_parquet(tmp_path / f"{k}.parquet")
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(fa.InputError, match=r"1\.parquet.*Nothing was concluded") as caught:
        fa.counts(str(tmp_path), **NAMES)
    assert "\n" not in str(caught.value)


def test_a_damaged_page_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    make_rows(20_000).to_parquet(tmp_path / "0.parquet", compression="zstd")
    data = bytearray((tmp_path / "0.parquet").read_bytes())
    data[4:400] = b"\xff" * 396
    (tmp_path / "0.parquet").write_bytes(bytes(data))
    with pytest.raises(fa.InputError, match="cannot be counted"):
        fa.counts(str(tmp_path / "0.parquet"), **NAMES)


def test_a_table_that_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    light = sqlite3.connect(":memory:")
    make_rows(500).to_sql("loans", light, index=False)
    choose = counting.choose_keys

    def choose_while_a_row_is_lost(*args: object, **given: object) -> object:
        found = choose(*args, **given)  # type: ignore[arg-type]
        light.execute("DELETE FROM loans WHERE rowid = 7")
        return found

    monkeypatch.setattr(counting, "choose_keys", choose_while_a_row_is_lost)
    with pytest.raises(fa.InputError, match="changed while it was counted: 500 rows at first, 499"):
        fa.counts(light, table="loans", **NAMES)


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    path = tmp_path / "rows.parquet"
    make_rows(500).to_parquet(path)
    with (
        pytest.raises(fa.InputError, match="changed while it was read"),
        count_sources.open_source(str(path)) as source,
    ):
        source.summarize(["y"])
        make_rows(600).to_parquet(path)


def test_a_connection_that_drops_is_one_line() -> None:
    class Dropping(sqlite3.Connection):
        left = 2

        def cursor(self, *args: object) -> sqlite3.Cursor:  # type: ignore[override]
            Dropping.left -= 1
            if Dropping.left < 0:
                raise sqlite3.OperationalError("server closed the connection\nunexpectedly")
            return super().cursor()

    light = sqlite3.connect(":memory:")
    make_rows(500).to_sql("loans", light, index=False)
    dropping = sqlite3.connect(":memory:", factory=Dropping)
    light.backup(dropping)
    with pytest.raises(fa.InputError, match="server closed the connection unexpectedly") as caught:
        fa.counts(dropping, table="loans", **NAMES)
    assert "Nothing was concluded" in str(caught.value) and "\n" not in str(caught.value)


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_COMBINATIONS", 50)
    with pytest.raises(fa.InputError, match="more than 50 combinations"):
        fa.counts(make_rows(500), **NAMES)


def test_databases_are_asked_in_their_dialect() -> None:
    asked = []

    class Cursor:
        description: tuple[tuple[str], ...] = (("y",), ("r",))

        def execute(self, sql: str) -> None:
            asked.append(sql)

        def fetchall(self) -> list[object]:
            raise RuntimeError("enough")

        def close(self) -> None: ...

    for driver in ("pymysql.connections", "google.cloud.bigquery.dbapi.connection", "psycopg"):
        own = type("Connection", (), {"__module__": driver, "cursor": lambda self: Cursor()})()
        with count_sources.open_source(own, "loans") as source, pytest.raises(fa.InputError):
            source.count_cells("p", Grid(3), None)
    mysql, bigquery, postgres = asked
    assert "CAST(`p` AS DOUBLE)" in mysql and "AS SIGNED" in mysql
    assert "IS_NAN(CAST(`p` AS FLOAT64))" in bigquery
    assert """CAST("p" AS DOUBLE PRECISION) = 'NaN'""" in postgres
    with pytest.raises(fa.InputError, match="must be one of ansi, bigquery"):
        SQLEngine("sybase")


def test_columns_called_as_parts_of_the_query_are(tmp_path: Path) -> None:
    frame = make_rows(1500)
    names = {"predictions": "k0", "outcome": "k2", "sensitive": "k1,t"}
    frame = frame.rename(columns={"score": "k0", "y": "k2", "race": "k1", "sex": "t"})
    light = sqlite3.connect(":memory:")
    frame.to_sql("u", light, index=False)
    own = fa.counts(light, table="u", **names)
    pd.testing.assert_frame_equal(own, fa.counts(frame, **names), check_dtype=False)


def test_an_infinite_score_is_named() -> None:
    frame = make_rows(500)
    frame.loc[4, "score"] = np.inf
    with pytest.raises(fa.InputError, match="'score' has an infinite value"):
        fa.counts(frame, **NAMES)
