"""A model in a process of its own: the same numbers, and what goes wrong there is one line."""

import contextlib
import json
import os
import pickle
import platform
import socket
import subprocess
import sys
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from fairaudit.errors import InputError
from fairaudit.models import load_model, opened_here
from fairaudit.models.sandbox import Limits, client, probe
from fairaudit.models.sandbox.wire import Channel
from fairaudit.models.sandbox.wire_tables import pack_table, unpack_table
from fairaudit_cli.main import main

pytestmark = pytest.mark.sandbox

MODULE = """
import ctypes, socket, subprocess, time
import numpy as np

def works(table):
    print("noise")
    return table["income"] / 10

def crashes(table):
    ctypes.string_at(0)

def sleeps(table):
    time.sleep(600)

def starts(table):
    subprocess.Popen(["sleep", "600"])

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
        clock = ("seconds", "created", "command", "digest")  # the last is over the others
        return {key: untimed(item) for key, item in value.items() if key not in clock}
    return [untimed(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("options", [[], ["--isolate"], ["--isolate", "2GB,100s"]])
def test_same_numbers(folder, capsys, options):
    status, here, _ = run(capsys, "model.pkl", "--no-sandbox")
    again, confined, err = run(capsys, "model.pkl", *options)
    assert (status, err) == (again, "")
    assert untimed(json.loads(here)) == untimed(json.loads(confined))


def test_one_or_the_other(folder, capsys):
    status, _, err = run(capsys, "model.pkl", "--no-sandbox", "--isolate")
    assert status == 2 and "exclude each other" in err


def test_a_file_of_settings_cannot_switch_it_off(folder, capsys):
    (folder / "fairaudit.toml").write_text("sandbox = false\n")
    status, _, err = run(capsys, "model.pkl")
    assert status == 2 and "'sandbox' cannot be set in a file. Pass --no-sandbox" in err


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("crashes", [], r"crashed (SIGSEGV)"),
        ("sleeps", ["3s"], "it ran longer than 3 s"),
        ("starts", [], "it tried what no model needs"),
        ("takes", ["4GB"], "it needed more than 4 GB of memory"),
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
        predictor = load_model("scoring_net:works", sandbox=Limits())
        if any("use the network" in note for note in predictor.notes):
            pytest.skip("this system does not let the network be cut off")
        status, _, err = run(capsys, "scoring_net:calls", "--isolate")
    assert status == 2 and "the system refused it" in err and not heard


def test_a_function_that_works(folder):
    (folder / "scoring_fine.py").write_text(MODULE)
    predictor = load_model("scoring_fine:works", sandbox=Limits())
    frame = pd.read_csv("table.csv")
    made = predictor.predict(frame[["income"]])
    np.testing.assert_array_equal(made["prediction"], frame["income"] / 10)


def test_hostile_files_are_refused_there_too(folder, capsys):
    (folder / "evil.pkl").write_bytes(b"cos\nsystem\n(S'touch canary'\ntR.")
    status, _, err = run(capsys, "evil.pkl", "--isolate")
    assert status == 2 and "names os.system" in err and not (folder / "canary").exists()


def test_a_file_that_changes(folder):
    """What was read once is what is asked."""
    predictor, own = load_model("model.pkl"), load_model("model.pkl", sandbox=False)
    table = pd.read_csv("table.csv")[["income"]]
    (folder / "model.pkl").write_bytes(b"something else")
    for on in ("scores", "labels"):
        pd.testing.assert_frame_equal(
            predictor.predict(table, on=on), own.predict(table, on=on), check_exact=True
        )


def test_a_model_is_copied_and_starts_anew(folder):
    predictor = load_model("model.pkl")
    table = pd.read_csv("table.csv")[["income"]]
    made = predictor.predict(table)
    predictor.model.close()
    for again in (predictor, pickle.loads(pickle.dumps(predictor))):
        pd.testing.assert_frame_equal(again.predict(table), made)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the folder of a process")
def test_the_folder_that_it_started_in_may_go_away(folder):
    """A second model had no process where the first one's folder was gone."""
    load_model("model.pkl")
    assert os.readlink(f"/proc/{client._server.process.pid}/cwd") == "/"


def test_the_object_itself_where_it_is_needed(folder):
    predictor = load_model("model.pkl")
    here = opened_here(predictor)
    assert hasattr(here.model, "coef_") and not hasattr(predictor.model, "coef_")
    assert (here.sha256, here.kind) == (predictor.sha256, predictor.kind)
    assert "in this process" in here.notes[-1] and here.sandbox is False
    assert opened_here(here) is here


def test_limits():
    assert Limits.parse("") == Limits()
    assert Limits.parse("4GB, 2min") == Limits(4 * 2**30, 120)
    for text in ("4", "GB", "-1s", "0s", "4GB;3s"):
        with pytest.raises(InputError, match="as in 4GB,300s"):
            Limits.parse(text)


def test_tables_between_the_processes():
    table = pd.DataFrame(
        {
            "float": [1.5, np.nan],
            "int": [1, 2],
            "bool": [True, False],
            "text": ["a", None],
            "object": pd.Series(["a", 1], dtype=object),
            "missing": pd.Series([None, np.nan], dtype=object),
            "other": pd.Series([pd.NA, Decimal("0.1")], dtype=object),
            "short": np.array([1, 2], dtype=np.float32),
            "string": pd.array(["b", None], dtype="string"),
            "whole": pd.array([1, None], dtype="Int64"),
            "time": pd.to_datetime(["2020-01-01", None]),
            "level": pd.Categorical(["x", None], categories=["y", "x"], ordered=True),
            "number": pd.Categorical([2, 1]),
        }
    )
    one, other = socket.socketpair()
    with one, other:
        Channel(one.fileno()).send(pack_table(table))
        made = unpack_table(Channel(other.fileno()).receive())
    pd.testing.assert_frame_equal(made, table)
    assert [type(value) for value in made["object"]] == [type(value) for value in table["object"]]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other machines have other instructions")
def test_numbers_are_computed_by_the_same_instructions(tmp_path):
    """Settings of BLAS decide over the last bits; the sandbox has those of the caller."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 7))
    model = LinearRegression().fit(table, rng.normal(size=200))
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    np.save(tmp_path / "table.npy", table)
    code = (
        "import numpy as np, pandas as pd\n"
        "from fairaudit.models import load_model\n"
        "table = pd.DataFrame(np.load('table.npy'))\n"
        "made = [load_model('m.pkl', sandbox=on).predict(table) for on in (True, False)]\n"
        "print(made[0].equals(made[1]))\n"
    )
    for core in ("Nehalem", "Haswell"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=os.environ | {"OPENBLAS_CORETYPE": core},
            capture_output=True,
            text=True,
        )
        assert done.stdout == "True\n", done.stderr


def test_numbers_do_not_depend_on_how_the_table_lies_in_memory(tmp_path):
    """Products of matrices differ in their last bits if rows lie together instead of columns."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(500, 9))
    by_rows = pd.DataFrame(values, columns=list("abcdefghi"), copy=False)
    by_columns = pd.DataFrame({name: by_rows[name].to_numpy() for name in by_rows})
    model = LogisticRegression().fit(by_rows, values[:, 0] > 0)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    assert by_rows.to_numpy().flags.c_contiguous and not by_columns.to_numpy().flags.c_contiguous
    made = [
        load_model(str(tmp_path / "model.pkl"), sandbox=sandbox).predict(table)["score"].tolist()
        for sandbox in (True, False)
        for table in (by_rows, by_columns)
    ]
    assert made[1:] == made[:-1]


@pytest.mark.parametrize("executable", ["/nowhere/python", "/etc/passwd"])
def test_an_interpreter_that_cannot_be_started_is_one_line(executable, folder, monkeypatch):
    """That of another user's environment: doctor and the audit ended in a traceback."""
    monkeypatch.setattr(client, "_server", None)
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(InputError, match=r"its process was not started \(\[Errno"):
        load_model("model.pkl")
    assert all("not started" in why for why in probe().values())
