"""`fairaudit counts`, `test --counts`, and files that are counted."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairaudit.auditing import run
from fairaudit.auditing.engines import counted_audit
from fairaudit_cli.main import main

pytest.importorskip("duckdb")
COLUMNS = ["--predictions", "score", "--outcome", "y", "--sensitive", "race,sex"]
FEW = ["--permutations", "49", "--no-power"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    n = 3000
    y, sex = rng.integers(0, 2, n), rng.choice(["f", "m"], n)
    score = 1 / (1 + np.exp(-(y + 0.5 * (sex == "m") + rng.normal(size=n))))
    frame = pd.DataFrame(
        {"y": y, "race": rng.choice(list("abc"), n), "sex": sex, "score": score, "other": 1.5}
    )
    Path("rows").mkdir()
    frame[:1000].to_parquet("rows/0.parquet")
    frame[1000:].to_parquet("rows/1.parquet")
    frame.to_csv("rows.csv", index=False)
    with sqlite3.connect("rows.sqlite") as connection:
        frame.to_sql("loans", connection, index=False)
    return tmp_path


def read(name: str) -> dict[str, object]:
    record: dict[str, object] = json.loads(Path(name).read_text())
    return record


def findings(name: str) -> list[tuple[object, ...]]:
    return [
        (f["name"], f["value"], f["p_value"], f["kpc"])
        for f in read(name)["findings"]  # type: ignore[attr-defined]
    ]


def test_counts_are_written_audited_and_verified(folder: Path, capsys: object) -> None:
    assert main(["counts", "--data", "rows", *COLUMNS, "--out", "counts.csv"]) == 0
    counts = pd.read_csv("counts.csv")
    assert counts["n"].sum() == 3000 and list(counts.columns) == ["y", "race", "sex", "score", "n"]
    command = ["test", "--data", "counts.csv", "--counts", "n", *COLUMNS, *FEW]
    assert main([*command, "--report", "audit.json"]) == 1
    assert main(["verify", "audit.json", "--data", "counts.csv"]) == 0
    assert read("audit.json")["table"]["rows"] == 3000  # type: ignore[index]


def test_files_are_counted_and_verified(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MOST_ROWS", 1000)
    for name, data in (("one", "rows"), ("two", "rows.csv"), ("three", "rows.sqlite")):
        command = ["test", "--data", data, *COLUMNS, *FEW, "--engine", "duckdb"]
        command += ["--table", "loans"] if data == "rows.sqlite" else []
        assert main([*command, "--report", f"{name}.json", "--report", f"{name}.html"]) == 1
    assert findings("one.json") == findings("two.json") == findings("three.json")
    assert any("Cut into bins: score (73)" in n for n in read("one.json")["notes"])  # type: ignore[attr-defined]
    assert main(["verify", "one.json", "--data", "rows"]) == 0
    assert main(["verify", "three.json", "--data", "rows.sqlite", "--table", "loans"]) == 0
    assert main(["verify", "one.json", "--data", "rows.csv"]) == 1
    # by themselves, where rows are many; the same numbers as in memory
    monkeypatch.setattr(counted_audit, "MOST_ROWS", 1000)
    assert main(["test", "--data", "rows", *COLUMNS, *FEW, "--report", "four.json"]) == 1
    assert read("four.json")["capsule"]["options"]["counted"] is True  # type: ignore[index]
    monkeypatch.setattr(counted_audit, "has_duckdb", lambda: False)
    assert main(["test", "--data", "rows", *COLUMNS, *FEW, "--report", "five.json"]) == 1
    assert "counted" not in read("five.json")["capsule"]["options"]  # type: ignore[index]
    assert findings("one.json") == findings("four.json") == findings("five.json")
    whole = [read(name)["capsule"]["table_sha256"] for name in ("four.json", "five.json")]  # type: ignore[index]
    assert whole[0] == whole[1]


def test_the_query_is_printed_and_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["counts", "--data", "rows", *COLUMNS, "--sql", "--table", "loans"]) == 0
    query = capsys.readouterr().out
    with sqlite3.connect("rows.sqlite") as connection:
        connection.create_function("floor", 1, np.floor)
        found = pd.read_sql_query(query.rstrip().rstrip(";"), connection)
    assert main(["counts", "--data", "rows", *COLUMNS, "--out", "counts.csv"]) == 0
    counts = pd.read_csv("counts.csv")
    found = found.sort_values(["y", "race", "sex", "score"], ignore_index=True)
    pd.testing.assert_frame_equal(found, counts, check_exact=True)


def test_masked_counts_are_not_audited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    masked = ["--suppress", "10", "--out", "masked.csv"]
    assert main(["counts", "--data", "rows", *COLUMNS, *masked]) == 0
    counts = pd.read_csv("masked.csv")
    assert counts["n"].isna().any() and counts["n"].min() >= 10
    assert main(["test", "--data", "masked.csv", "--counts", "n", *COLUMNS, *FEW]) == 2
    assert "'n' has" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--engine", "duckdb", "--weights", "other"], "weights"),
        (["--engine", "duckdb", "--where", "other > 1"], "where"),
        (["--engine", "duckdb", "--resume", "file"], "--resume"),
        (["--counts", "other", "--shards", "2"], "--counts"),
    ],
)
def test_what_counts_have_not(
    folder: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", "--data", "rows", *COLUMNS, *FEW, *more]) == 2
    assert message in capsys.readouterr().err


def test_a_continuous_outcome_is_not_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ["--predictions", "score", "--outcome", "y2", "--sensitive", "sex"]
    frame = pd.read_parquet("rows/0.parquet")
    frame.assign(y2=np.arange(1000) / 7).to_parquet("numbers.parquet")
    assert main(["test", "--data", "numbers.parquet", *columns, "--engine", "duckdb"]) == 2
    assert "classes" in capsys.readouterr().err


def test_nothing_is_half_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = Path("rows/1.parquet").read_bytes()
    Path("rows/1.parquet").write_bytes(whole[: len(whole) // 2])
    assert main(["counts", "--data", "rows", *COLUMNS, "--out", "counts.csv"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "1.parquet" in error
    assert not Path("counts.csv").exists()
    report = ["--engine", "duckdb", "--report", "audit.json"]
    assert main(["test", "--data", "rows", *COLUMNS, *FEW, *report]) == 2
    assert not Path("audit.json").exists()
