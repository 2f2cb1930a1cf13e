"""Ctrl-C, SIGTERM, kill -9, full disks: nothing partial under a final name, and a way to go on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fairaudit as fa
from fairaudit.auditing.checkpoint import Checkpoint
from fairaudit.data.reading.write import remove_unfinished, write_text
from fairaudit.datasets import DEMO_FEATURES, load_demo
from fairaudit_cli import main as cli

sys.path.insert(0, os.path.dirname(__file__))
import kills


@pytest.fixture
def folder(tmp_path, monkeypatch):
    kills.prepared(tmp_path, 1200)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audit(*more):
    """The audit of kills.py within this process."""
    command = kills.audit(".", *more)
    return cli.main(command[3:])


def interrupted_after(blocks, monkeypatch):
    """Ctrl-C when this many parts have been kept."""
    put = Checkpoint.put

    def stop(self, key, value):
        put(self, key, value)
        if len(self) == blocks:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "put", stop)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_resumed_is_uninterrupted(folder, monkeypatch, capsys, jobs):
    assert audit() == 1 and not (folder / "run.jsonl").exists()
    expected = kills.numbers(folder)
    (folder / "audit.json").unlink()
    with pytest.MonkeyPatch.context() as patch:
        interrupted_after(3, patch)
        assert audit("--jobs", jobs) == 130
    kept = (folder / "run.jsonl").read_text().splitlines()
    assert len(kept) == 4 and not (folder / "audit.json").exists()
    drawn = []
    put = Checkpoint.put
    monkeypatch.setattr(Checkpoint, "put", lambda s, k, v: (drawn.append(k), put(s, k, v)))
    assert audit("--jobs", jobs) == 1
    assert not set(drawn) & {json.loads(line).get("key") for line in kept}
    assert kills.numbers(folder) == expected
    assert not (folder / "run.jsonl").exists()


def test_another_run_is_refused(folder, capsys):
    Checkpoint(folder / "run.jsonl", "another").put("a", 1)
    assert audit() == 2
    assert "belongs to another run" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["fairicp", "gerryfair"])
def test_resumed_remedy(tmp_path, method):
    table = load_demo(900)
    options = {
        "sensitive": "race,sex",
        "outcome": "repaid",
        "method": method,
        "steps": 10,
        "permutations": 39,
        "resume": tmp_path / "run.jsonl",
    }
    whole = fa.repair(table, **options)
    trained = []
    for blocks in (1, 2, 4):
        with pytest.MonkeyPatch.context() as patch:
            interrupted_after(blocks, patch)
            try:
                fa.repair(table, **options)
            except KeyboardInterrupt:
                trained.append(blocks)
    again = fa.repair(table, **options)
    assert trained and not (tmp_path / "run.jsonl").exists()
    assert again.curve.equals(whole.curve) and again.mu == whole.mu
    assert again.after.p_value == whole.after.p_value
    assert again.after.null == whole.after.null
    assert (again.model.predict(table) == whole.model.predict(table)).all()


def test_checkpoint_drops_a_line_that_was_cut_off(tmp_path):
    path = tmp_path / "run"
    kept = Checkpoint(path, "me")
    kept.put("a", [0.1, 1e-300])
    kept.put("b", 2)
    for cut in (1, 5, 20):
        data = path.read_bytes()
        path.write_bytes(data[:-cut])
        again = Checkpoint(path, "me")
        assert again.get("a") == [0.1, 1e-300] and again.get("b") is None
        again.put("b", 2)
        assert path.read_bytes() == data
    path.write_bytes(b"{")
    with pytest.raises(fa.InputError, match="belongs to another run"):
        Checkpoint(path, "me")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_stopped_by_a_signal(folder, how):
    """One last line, the documented status, no temporary file left."""
    process = subprocess.Popen(
        kills.audit(folder, "--permutations", "200000"),
        cwd=folder,
        env=kills.ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (folder / "run.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(how)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == (143 if how == signal.SIGTERM else 130)
    assert shown == "" and errors.count("\n") == 1 and "no verdict" in errors
    assert sorted(p.name for p in folder.iterdir()) == ["model.pkl", "run.jsonl", "test.csv"]


NATIVE = """
import numpy as np

def predict(table):
    numbers = np.random.default_rng(0).normal(size=(5000, 5000))
    print("now", flush=True)
    return np.linalg.eigvals(numbers).real[: len(table)]  # minutes in compiled code
"""


@pytest.mark.parametrize("how, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_stopped_while_compiled_code_runs(folder, how, status):
    """A model that predicts natively for minutes does not outlive the signal by more."""
    (folder / "native.py").write_text(NATIVE)
    command = audit_of(folder, "native:predict")
    told, seconds, errors = stopped_when_it_predicts(folder, command, how)
    assert told == status and seconds < 15
    assert errors.count("\n") == 1 and "no verdict" in errors
    assert sorted(p.name for p in folder.iterdir() if p.name != "__pycache__") == [
        "model.pkl",
        "native.py",
        "test.csv",
    ]


PATIENT = """
import signal, sys, threading, time
from fairaudit_cli import main, termination

termination.TO_HEAR = termination.TO_UNWIND = 0.3

def run(argv):
    print("now", flush=True)
    try:
        time.sleep(60)
    except BaseException as error:
        if {caught}:
            time.sleep(1.5)
            return 0
        threading.Thread(target=time.sleep, args=(60,)).start()
        raise

main._run = run
sys.exit(main.main())
"""


@pytest.mark.parametrize(
    "how, caught, status",
    [
        (signal.SIGINT, "True", 0),  # as remedy, which keeps the best model so far
        (signal.SIGINT, "False", 130),
        (signal.SIGTERM, "True", 143),
        (signal.SIGTERM, "False", 143),
    ],
    ids=["kept", "interrupted", "swallowed", "terminated"],
)
def test_the_first_interruption_may_take_its_time(tmp_path, how, caught, status):
    """And a thread that keeps the process alive after the command does not."""
    command = [sys.executable, "-c", PATIENT.format(caught=caught)]
    told, seconds, _ = stopped_when_it_predicts(tmp_path, command, how)
    assert told == status and seconds < 15


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="looks at /proc")
def test_stopped_while_an_onnx_loop_runs(folder):
    pytest.importorskip("onnxruntime")
    (folder / "loop.onnx").write_bytes(endless_loop())
    command = audit_of(folder, "loop.onnx")
    told, seconds, errors = stopped_when_it_predicts(
        folder, command, signal.SIGTERM, library="onnxruntime"
    )
    assert told == 143 and seconds < 15 and errors.count("\n") == 1
    assert not (folder / "audit.json").exists()


def endless_loop(names=DEMO_FEATURES[:2], step="Mul"):
    """A model of 2**62 rounds over two columns."""
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    def value(name, kind=TensorProto.FLOAT, shape=None):
        return helper.make_tensor_value_info(name, kind, shape)

    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node(step, ["old", names[1]], ["new"]),
        ],
        "body",
        [value("round", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("old")],
        [value("go_on", TensorProto.BOOL, []), value("new")],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["rounds", "", names[0]], ["prediction"], body=body)],
        "loop",
        [value(name, shape=[None, 1]) for name in names],
        [value("prediction", shape=[None, 1])],
        [helper.make_tensor("rounds", TensorProto.INT64, [], [2**62])],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def audit_of(folder, model):
    command = kills.audit(folder, "--outcome", "repaid")
    return [model if part == "model.pkl" else part for part in command]


def wait_for(library, process):
    """Until the process, or the confined one of the model below it, has loaded a library."""
    deadline = time.monotonic() + 30

    def family(pid):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *(member for child in children for member in family(child))]

    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            maps = [Path(f"/proc/{pid}/maps").read_text() for pid in family(process.pid)]
            if any(library in text for text in maps):
                return
        time.sleep(0.1)


def stopped_when_it_predicts(folder, command, how, library=None):
    """Exit status, seconds that it took after the signal, and what was said."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=kills.ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if library is None:
        assert process.stdout.readline() == "now\n", process.communicate()
        time.sleep(0.5)
    else:
        wait_for(library, process)
        time.sleep(5.0)  # reading a thousand rows and making the session take less
    assert process.poll() is None, process.communicate()
    start = time.monotonic()
    process.send_signal(how)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, time.monotonic() - start, errors


def test_killed(folder):
    """kill -9 a few times, at moments spread over the run (many more: kills.py)."""
    start = time.monotonic()
    kills.run(folder, kills.audit(folder))
    whole, expected = time.monotonic() - start, kills.numbers(folder)
    for share in (0.5, 0.9):
        for name in ("audit.json", "audit.html"):
            (folder / name).unlink(missing_ok=True)
        kills.stopped(folder, share * whole)
        assert kills.broken_files(folder) == []
    assert kills.run(folder, kills.audit(folder)).returncode == 1
    assert kills.numbers(folder) == expected


def test_full_disk(folder, capsys):
    """/dev/full answers every write with 'no space left'."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    full = Checkpoint(folder / "run", "me")
    full.path = _Full()
    with pytest.raises(fa.InputError, match="No space left"):
        full.put("a", 1)


class _Full:
    """A path on a full disk."""

    parent = property(lambda self: self)

    def mkdir(self, **_):
        return None

    def exists(self):
        return True

    def open(self, *_, **__):
        return open("/dev/full", "a")

    def __str__(self):
        return "/dev/full"


def test_disk_fills_while_a_report_is_written(tmp_path, monkeypatch):
    """The old report stays, and no temporary file does."""
    target = tmp_path / "report.html"
    target.write_text("old")
    monkeypatch.setattr(os, "fdopen", lambda handle, mode: _Filling(handle))
    with pytest.raises(fa.InputError, match="No space left on device"):
        write_text(target, "new")
    assert target.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_file_that_is_not_finished_is_taken_away(tmp_path, monkeypatch):
    """What the watcher does before it ends a process whose main thread is stuck in a write."""
    replace, seen = os.replace, []

    def stuck(name, target):
        seen.extend(p.name for p in tmp_path.iterdir())
        remove_unfinished()
        assert list(tmp_path.iterdir()) == []
        replace(name, target)

    monkeypatch.setattr(os, "replace", stuck)
    with pytest.raises(fa.InputError, match="No such file"):
        write_text(tmp_path / "report.html", "new")
    assert len(seen) == 1 and list(tmp_path.iterdir()) == []


class _Filling:
    def __init__(self, handle):
        self.handle = handle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.handle)

    def write(self, data):
        raise OSError(28, "No space left on device")
