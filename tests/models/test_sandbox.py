"""`--isolate`: the same numbers, and what goes wrong in the model's process is one line."""

import contextlib
import json
import pickle
import socket
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairaudit.errors import InputError
from fairaudit.models import load_model
from fairaudit.models.isolation import Limits, _read, _write, isolated_model
from fairaudit_cli.main import main

MODULE = """
import ctypes, socket, subprocess, time
import numpy as np

def works(table):
    print("noise")
    return table["income"] / 10

def crashes(table):
    ctypes.string_at(0)

def sleeps(table):
    subprocess.Popen(["sleep", "600"])
    time.sleep(600)

def takes(table):
    return np.ones(50 * 2**30 // 8)[: len(table)]

def calls(table):
    socket.create_connection(("127.0.0.1", PORT), timeout=5)
    return table["income"]

def exits(table):
    raise SystemExit(0)

def raises(table):
    raise RuntimeError("no such\\nrate")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": rng.gamma(2, size=80),
            "sex": rng.choice(["f", "m"], 80),
            "y": rng.integers(0, 2, 80),
        }
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    model = LogisticRegression().fit(frame[["income"]], frame["y"])
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, model, *options):
    status = main(
        [
            "test",
            "--model",
            model,
            "--data",
            "table.csv",
            "--sensitive",
            "sex",
            "--outcome",
            "y",
            "--permutations",
            "99",
            "--json",
            *options,
        ]
    )
    return status, *capsys.readouterr()


def untimed(value):
    if isinstance(value, dict):
        clock = ("seconds", "created", "command")
        return {key: untimed(item) for key, item in value.items() if key not in clock}
    return [untimed(item) for item in value] if isinstance(value, list) else value


def test_same_numbers(folder, capsys):
    status, out, _ = run(capsys, "model.pkl")
    again, isolated, err = run(capsys, "model.pkl", "--isolate")
    assert (status, err) == (again, "")
    assert untimed(json.loads(out)) == untimed(json.loads(isolated))


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("crashes", [], r"crashed (SIGSEGV)"),
        ("sleeps", ["3s"], "did not answer within 3 s"),
        ("takes", ["4GB"], "Unable to allocate 50.0 GiB"),
        ("exits", [], "ended without an answer"),
        ("raises", [], "no such. "),
    ],
)
def test_what_goes_wrong_is_one_line(folder, capsys, name, options, message):
    (folder / "scoring_apart.py").write_text(MODULE)
    status, out, err = run(capsys, f"scoring_apart:{name}", "--isolate", *options)
    assert status == 2 and not out and message in err
    assert err.startswith("fairaudit: error: ") and err.count("\n") == 1


def test_no_network(folder, capsys):
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def listen():
            with contextlib.suppress(OSError):
                heard.append(server.accept())

        threading.Thread(target=listen, daemon=True).start()
        port = str(server.getsockname()[1])
        (folder / "scoring_net.py").write_text(MODULE.replace("PORT", port))
        predictor = isolated_model("scoring_net:works")
        if any("network" in note for note in predictor.notes):
            pytest.skip("this system does not let the network be cut off")
        status, _, err = run(capsys, "scoring_net:calls", "--isolate")
    assert status == 2 and "cannot predict" in err and not heard


def test_a_function_that_works(folder):
    (folder / "scoring_fine.py").write_text(MODULE)
    predictor = isolated_model("scoring_fine:works")
    frame = pd.read_csv("table.csv")
    made = predictor.predict(frame[["income"]])
    np.testing.assert_array_equal(made["prediction"], frame["income"] / 10)


def test_hostile_files_are_refused_there_too(folder, capsys):
    (folder / "evil.pkl").write_bytes(b"cos\nsystem\n(S'touch canary'\ntR.")
    status, _, err = run(capsys, "evil.pkl", "--isolate")
    assert status == 2 and "names os.system" in err and not (folder / "canary").exists()


def test_a_file_that_changes(folder):
    predictor = isolated_model("model.pkl")
    own = load_model("model.pkl")
    table = pd.read_csv("table.csv")[["income"]]
    for on in ("scores", "labels"):
        pd.testing.assert_frame_equal(predictor.predict(table, on=on), own.predict(table, on=on))
    own.model.coef_ += 1
    (folder / "model.pkl").write_bytes(pickle.dumps(own.model))
    with pytest.raises(InputError, match="changed while it was audited"):
        predictor.predict(table)


def test_limits():
    assert Limits.parse("") == Limits()
    assert Limits.parse("4GB, 2min") == Limits(4 * 2**30, 120)
    for text in ("4", "GB", "-1s", "0s", "4GB;3s"):
        with pytest.raises(InputError, match="as in 4GB,300s"):
            Limits.parse(text)


def test_tables_between_the_processes(tmp_path):
    table = pd.DataFrame(
        {
            "float": [1.5, np.nan],
            "int": [1, 2],
            "bool": [True, False],
            "text": ["a", None],
            "object": pd.Series(["a", 1], dtype=object),
            "whole": pd.array([1, None], dtype="Int64"),
            "time": pd.to_datetime(["2020-01-01", None]),
            "level": pd.Categorical(["x", None], categories=["y", "x"], ordered=True),
            "number": pd.Categorical([2, 1]),
        }
    )
    with open(tmp_path / "f", "w+b") as file:
        _write(file, {"a": 1}, table)
        file.seek(0)
        told, made = _read(file)
    assert told == {"a": 1}
    pd.testing.assert_frame_equal(made, table)
