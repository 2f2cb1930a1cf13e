"""`fairaudit counts`, `test --counts`, and files that are counted."""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairaudit.auditing import run
from fairaudit.auditing.engines import counted_audit, scored_files
from fairaudit.auditing.engines.sources import FramePartition
from fairaudit_cli.main import main

pytest.importorskip("duckdb")
COLUMNS = ["--predictions", "score", "--outcome", "y", "--sensitive", "race,sex"]
FEW = ["--permutations", "49", "--no-power"]


@pytest.fixture(autouse=True)
def own_temporary_files(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other processes write at the same time is none of what is left behind."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    monkeypatch.setattr(tempfile, "tempdir", folder)
    monkeypatch.setenv("TMPDIR", folder)


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
    for name, data, engine in (
        ("one", "rows", ["duckdb"]),
        ("two", "rows.csv", ["duckdb"]),
        ("three", "rows.sqlite", ["sql", "--table", "loans"]),
    ):
        command = ["test", "--data", data, *COLUMNS, *FEW, "--engine", *engine]
        assert main([*command, "--report", f"{name}.json"]) == 1
    assert findings("one.json") == findings("two.json") == findings("three.json")
    assert any("Cut into bins: score (264)" in n for n in read("one.json")["notes"])  # type: ignore[attr-defined]
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


def test_copies_that_are_kept_are_those_of_a_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_audit, "MOST_ROWS", 1000)
    command = ["test", "--data", "rows", *COLUMNS, *FEW, "--resume", "copies"]
    assert main([*command, "--report", "audit.json"]) == 1
    assert "counted" not in read("audit.json")["capsule"]["options"]  # type: ignore[index]


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
    assert counts["n"].isna().any() and not (counts["n"] < 10).any()
    for more in ([], ["--missing", "drop"], ["--where", "score < 1e9"]):
        asked = ["test", "--data", "masked.csv", "--counts", "n", *COLUMNS, *FEW, *more]
        assert main(asked) == 2, "the rows that are left were audited"
        assert "are not all there" in capsys.readouterr().err


def test_no_masked_count_is_the_rest_of_a_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of all rows was printed: one masked count was what the others left of it."""
    groups = {"a": (30, 90, 60, 30), "b": (25, 55, 40, 30), "c": (3, 37, 4, 3)}  # 7 with outcome 1
    cells = [(0, 1), (0, 0), (1, 1), (1, 0)]
    rows = [
        (group, *cell)
        for group, counts in groups.items()
        for cell, count in zip(cells, counts, strict=True)
        for _ in range(count)
    ]
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(rows, columns=["g", "y", "label"]).to_csv("t.csv", index=False)
    words = "counts --data t.csv --predictions label --outcome y --sensitive g --suppress 10"
    assert main(words.split()) == 0
    shown = capsys.readouterr()
    lines = ["y,g,label,n", "0,a,0,90", "0,a,1,30", "1,a,0,30", "1,a,1,60", "0,,,", "1,,,"]
    assert shown.out.splitlines() == lines  # b protects c, as in the mask of an audit
    assert "Counts below 10 are left out" in shown.err
    assert "210 rows in 4 combinations" in shown.err and "407" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--engine", "duckdb", "--weights", "other"], "weights"),
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


@pytest.fixture
def scored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A model in a file, its table in Parquet and CSV, and audits of counts that begin early."""
    from sklearn.linear_model import LogisticRegression

    frame = pd.concat([pd.read_parquet(f"rows/{k}.parquet") for k in (0, 1)], ignore_index=True)
    frame["income"] = np.random.default_rng(0).normal(size=len(frame)) + frame["y"]
    frame["sex"] = (frame["sex"] == "m").astype(int)
    frame.loc[[5, 2500], "race"] = None
    model = LogisticRegression().fit(frame[["income", "sex"]], frame["y"])
    Path("model.pkl").write_bytes(pickle.dumps(model))
    frame = frame.drop(columns="score")
    Path("new").mkdir()
    frame[:1700].to_parquet("new/0.parquet", row_group_size=500)
    frame[1700:].to_parquet("new/1.parquet")
    frame.to_csv("new.csv", index=False)
    for module in (run, counted_audit):
        monkeypatch.setattr(module, "MOST_ROWS", 1000)
    monkeypatch.setattr(counted_audit, "_MANY_BYTES", 1000)
    monkeypatch.setattr(scored_files, "_FEWEST", 400)
    monkeypatch.setattr(scored_files, "_MEMORY", 1)
    return ["test", "--model", "model.pkl", "--no-sandbox", "--outcome", "y", *COLUMNS[4:]]


def test_rows_are_scored_in_batches_before_they_are_counted(
    scored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, data in (("files", "new"), ("text", "new.csv")):
        assert main([*scored, *FEW, "--data", data, "--report", f"{name}.json"]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(counted_audit, "has_duckdb", lambda: False)
        assert main([*scored, *FEW, "--data", "new", "--report", "memory.json"]) == 0
    assert findings("files.json") == findings("text.json") == findings("memory.json")
    records = [read(f"{name}.json") for name in ("files", "text", "memory")]
    for part in ("table", "measures", "gaps"):
        assert records[0][part] == records[1][part] == records[2][part]
    assert records[0]["capsule"]["options"]["counted"] is True  # type: ignore[index]
    assert records[0]["table"]["features"] == ["income", "sex"]  # type: ignore[index]
    verify = ["verify", "files.json", "--model", "model.pkl", "--no-sandbox", "--data"]
    assert main([*verify, "new"]) == 0


def test_a_condition_chooses_rows_before_they_are_counted(scored: list[str]) -> None:
    some = [*scored, *FEW, "--where", "income > 0"]
    assert main([*some, "--data", "new", "--report", "some.json"]) in (0, 1)
    table = read("some.json")["table"]
    assert table["rows"] + table["excluded"][0]["rows"] == 3000  # type: ignore[index]
    assert table["excluded"][0]["reason"] == "not income > 0"  # type: ignore[index]


def test_scores_that_cannot_be_kept(
    scored: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*scored, "--data", "new", "--where", "income > 99"]) == 2
    assert "No row of 3000 meets" in capsys.readouterr().err
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # half of it would stay
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = set(Path(tempfile.gettempdir()).glob("fairaudit-*"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        assert main([*scored, "--data", "new", "--report", "none.json"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    error = capsys.readouterr().err
    assert "scored rows cannot be written" in error and error.count("\n") == 1
    assert not Path("none.json").exists()
    assert set(Path(tempfile.gettempdir()).glob("fairaudit-*")) <= before


def list_descendants(process: int) -> list[int]:
    """Processes that this one started, and theirs, the youngest first."""
    found: list[int] = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [*list_descendants(child), child]
    return found


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are listed in /proc")
def test_the_process_of_the_model_is_killed(
    scored: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow, killed = scored_files.narrow_partition, []

    def kill(piece: FramePartition, *given: object) -> object:
        if piece.first >= 400 and not killed:
            killed.append(list_descendants(os.getpid())[0])  # the model; its keeper waits for it
            os.kill(killed[0], signal.SIGKILL)
        return narrow(piece, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(scored_files, "narrow_partition", kill)
    inside = [word for word in scored if word != "--no-sandbox"]
    before = set(Path(tempfile.gettempdir()).glob("fairaudit-*"))
    assert main([*inside, *FEW, "--data", "new", "--report", "none.json"]) == 2
    error = capsys.readouterr().err
    assert killed and "rows from 400 of 'new/0.parquet'" in error and error.count("\n") == 1
    assert not Path("none.json").exists()
    assert set(Path(tempfile.gettempdir()).glob("fairaudit-*")) <= before


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


@pytest.mark.parametrize(
    "frame",
    [
        {"y": ["::add-mask::x", "b"], "s": [0, 1], "g": ["a", "b"]},
        {"y": [0, 1], "s": [0, 1], "g": ["##[group]x", "b"]},
        {"y": [0, 1], "s": [0, 1], "g": ["\x1b[2Jx", "b"]},
    ],
)
def test_printed_counts_give_no_orders(
    frame: dict[str, list[object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(frame).to_csv("t.csv", index=False)
    given = ["counts", "--data", "t.csv", "--predictions", "s", "--outcome", "y"]
    given += ["--sensitive", "g", "--suppress", "0"]
    assert main(given) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "cannot be printed" in printed.err
    assert main([*given, "--out", "counts.csv"]) == 0
    assert set(pd.read_csv("counts.csv")["g"]) == set(map(str, frame["g"]))
