"""Frames on disk: the same numbers with little memory, nothing left behind, and a full disk."""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.engines import counted_audit, entry
from fairaudit.auditing.engines.entry import audit_files, files_are_dealt
from fairaudit.auditing.engines.sources import Narrow, list_partitions
from fairaudit.auditing.engines.stored_frames import FrameStore, StoredFrame
from fairaudit.data.roles import Roles
from fairaudit_cli.main import main

pytest.importorskip("pyarrow")
COLUMNS = ["--predictions", "score", "--outcome", "income", "--sensitive", "sex"]
FEW = ["--permutations", "19", "--no-power"]


@pytest.fixture(autouse=True)
def own_temporary_files(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other processes write at the same time is none of what is left behind."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    monkeypatch.setattr(tempfile, "tempdir", folder)
    monkeypatch.setenv("TMPDIR", folder)


@pytest.fixture
def files(tmp_path: Path) -> str:
    """1,500 people in three files."""
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], 1_500)
    income = np.exp(0.3 * (sex == "m") + rng.normal(size=1_500))
    score = np.log(income) + 0.4 * (sex == "m") + rng.normal(size=1_500)
    frame = pd.DataFrame({"sex": sex, "rich": income > 1, "income": income, "score": score})
    frame.loc[::9, "sex"] = None
    (tmp_path / "rows").mkdir()
    for k in range(3):
        part = frame[500 * k : 500 * (k + 1)]
        part.to_parquet(tmp_path / "rows" / f"{k}.parquet", index=False)
    return str(tmp_path / "rows" / "*.parquet")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Frames in each file that was written."""
    seen: list[int] = []
    write = FrameStore._write

    def watch(store: FrameStore, frames: list[pd.DataFrame]) -> object:
        seen.append(len(frames))
        return write(store, frames)

    monkeypatch.setattr(FrameStore, "_write", watch)
    return seen


def left_behind() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("fairaudit-*"))


@pytest.mark.parametrize(("outcome", "positive"), [("income", None), ("rich", "True")])
def test_little_memory_changes_no_byte(
    files: str, written: list[int], outcome: str, positive: str | None
) -> None:
    roles = Roles(sensitive=("sex",), outcome=outcome, predictions=("score",), positive=positive)
    before, found = left_behind(), []
    for memory in (None, 1_000):
        plan = Plan(permutations=fa.Permutations(n=19, memory=memory), power=False)
        record = audit_files([files], roles, plan, shards=3).to_dict()
        for finding in record["findings"]:
            del finding["seconds"]
        kept = ("findings", "null", "quality", "table", "measures", "cells", "verdict")
        found.append(json.dumps([record[name] for name in kept]))
        found.append(record["capsule"]["table_sha256"])
        assert written == ([] if memory is None else [1] * 6 + [3] * 3)
    assert found[:2] == found[2:]
    assert left_behind() <= before


def test_frames_come_back_as_they_were(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "\0key": np.array([1, 2**64 - 1, 3], dtype=np.uint64),
            "x": [0.1, np.nan, -0.0],
            "text": np.array(["a", None, "ü\n"], dtype=object),
            "kind": pd.Categorical(["b", None, "b"], ["b", "c"]),
            "code": np.array([0, 1, 2], dtype=np.int32),
            "yes": [True, False, True],
        }
    )
    store = FrameStore(lambda: str(tmp_path), memory=1)
    narrow = Narrow(name="p", frame=frame, predictions=("x",), excluded=())
    kept = store.keep(narrow)
    assert isinstance(kept.frame, StoredFrame) and len(list(tmp_path.iterdir())) == 1
    pd.testing.assert_frame_equal(store.load(kept).frame, frame)
    empty = store.keep(frame[:0])
    pd.testing.assert_frame_equal(store.load(empty), frame[:0], check_index_type=False)
    del kept, empty
    gc.collect()
    assert list(tmp_path.iterdir()) == []  # a file goes with the last frame in it


def test_what_arrow_cannot_write_stays_in_memory(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.array([1, "a", 2.5], dtype=object)})
    assert FrameStore(lambda: str(tmp_path), memory=1).keep(frame) is frame


def test_few_frames_stay_in_memory(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.zeros(100)})
    store = FrameStore(lambda: str(tmp_path), memory=8_000)  # a quarter: two of them
    kept = [store.keep(frame) for _ in range(3)]
    assert [isinstance(piece, StoredFrame) for piece in kept] == [False, False, True]


def test_partitions_are_smaller_where_there_is_less_memory(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"x": np.zeros(200_000)}).to_parquet(path, row_group_size=40_000)
    assert [part.rows for part in list_partitions([str(path)])[0]] == [200_000]
    small = list_partitions([str(path)], 1)[0]
    assert [part.rows for part in small] == [80_000, 80_000, 40_000]
    assert [part.first for part in small] == [0, 80_000, 160_000]


def test_a_file_that_changes_while_it_is_tested(files: str, tmp_path: Path) -> None:
    path = tmp_path / "rows" / "1.parquet"

    def change(what: str, done: int, total: int) -> None:
        if what == "copies" and done < total:
            pd.read_parquet(path)[:400].to_parquet(path)

    roles = Roles(sensitive=("sex",), outcome="rich", predictions=("score",), positive="True")
    plan = Plan(permutations=fa.Permutations(n=19), power=False)
    with pytest.raises(fa.InputError, match=r"1\.parquet' changed while it was read"):
        audit_files([files], roles, plan, shards=2, progress=change)


def test_a_disk_that_is_full_is_one_line(
    files: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # half of it would stay
    report, before = tmp_path / "audit.json", left_behind()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limit[1]))
    try:
        given = ["--shards", "2", "--memory", "1KB", "--report", str(report)]
        assert main(["test", "--data", files, *COLUMNS, *FEW, *given]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    error = capsys.readouterr().err
    assert "The rows of shards cannot be written to" in error and error.count("\n") == 1
    assert not report.exists() and left_behind() <= before


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system of 64 KB, for what is temporary."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("file systems are mounted by root only")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_small_disk_is_one_line(
    files: str, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", "--data", files, *COLUMNS, *FEW, "--shards", "2", "--memory", "1KB"]) == 2
    error = capsys.readouterr().err
    assert f"{str(small_disk)!r}: No space left on device" in error and error.count("\n") == 1
    assert list(small_disk.iterdir()) == []


def test_very_many_rows_are_dealt_without_being_told(
    files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr(counted_audit, "MOST_ROWS", 1_000)
    monkeypatch.setattr(entry, "MOST_ROWS_AT_ONCE", 1_000)
    monkeypatch.setattr("fairaudit.auditing.engines.shard_rows.ROWS_BY_SHIFTS", 750)
    monkeypatch.setattr(entry, "ROWS_BY_ROWS", 750)
    record = tmp_path / "dealt.json"
    assert main(["test", "--data", files, *COLUMNS, *FEW, "--report", str(record)]) in (0, 1)
    options = json.loads(record.read_text())["capsule"]["options"]
    assert options["shards"] == 2
    assert main(["verify", str(record), "--data", files]) == 0


def test_what_needs_one_piece_is_not_dealt(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = Roles(sensitive=("sex",), outcome="income", predictions=("score",))
    assert not files_are_dealt([files], roles, Plan())  # few rows
    monkeypatch.setattr(entry, "MOST_ROWS_AT_ONCE", 1_000)
    assert files_are_dealt([files], roles, Plan())
    for plan in (
        Plan(permutations=fa.Permutations.auto()),
        Plan(density="ols"),
        Plan(statistic="kpc"),
        Plan(calibrate=True),
    ):
        assert not files_are_dealt([files], roles, plan)
    assert not files_are_dealt([files], replace(roles, weights="score"), Plan())
    assert not files_are_dealt([__file__], roles, Plan())


def find_peak(path: Path, rows: int, memory: str) -> float:
    """MB that an audit of so many rows took at most, in shards of 25,000 rows."""
    given = ["--shards", str(rows // 25_000), "--memory", memory]
    command = [sys.executable, "-m", "fairaudit_cli.main", "test", "--data", str(path), *COLUMNS]
    with subprocess.Popen([*command, *FEW, *given], stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1)
    return used.ru_maxrss / 1024


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Eight times the rows take no more; kept in memory they do."""
    rng = np.random.default_rng(1)
    peaks = {}
    for rows in (100_000, 800_000):
        sex, z = rng.choice(["f", "m"], rows), rng.normal(size=rows)
        frame = pd.DataFrame({"sex": sex, "income": z, "score": z + rng.normal(size=rows)})
        path = tmp_path / f"{rows}.parquet"
        frame.to_parquet(path, index=False, row_group_size=50_000)
        for memory in ("20MB", "20GB"):
            peaks[rows, memory] = find_peak(path, rows, memory)
    print(peaks)
    assert peaks[800_000, "20MB"] < 1.1 * peaks[100_000, "20MB"]
    assert peaks[800_000, "20GB"] > 1.2 * peaks[100_000, "20GB"]
