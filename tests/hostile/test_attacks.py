"""Every hostile model file is refused in one line, before anything happens."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from attacks import FEATURES, make
from attacks_networks import torch_file
from attacks_surface import ATTACKS

from fairaudit.models import load_model
from fairaudit_cli.main import main

COMMAND = [
    "test",
    "--data",
    "table.csv",
    "--sensitive",
    "sex",
    "--outcome",
    "y",
    "--permutations",
    "19",
    "--model",
]
NEEDS = {
    "catboost": "catboost",
    "skops": "skops.io",
    "onnx": "onnxruntime",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "booster": "lightgbm",
    "class as": "lightgbm",
    "scorer that saves": "xgboost",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = [f"{i % 7},{i % 5},{i % 3},{'fm'[i % 2]},{i // 2 % 2}" for i in range(40)]
    header = ",".join([*FEATURES, "sex", "y"])
    (tmp_path / "table.csv").write_text("\n".join([header, *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(folder, name):
    hostile = make(name, folder / "canary")
    (folder / hostile.name).write_bytes(hostile.data)
    for beside, content in hostile.beside.items():
        (folder / beside).write_text(content)
    return hostile.name


def check(folder, status, err):
    assert not (folder / "canary").exists()
    assert status == 2, err
    assert err.startswith("fairaudit: error: ") and err.count("\n") == 1 and err.endswith("\n")
    assert err[:-1].isprintable() and len(err) < 1500


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_refused(folder, capsys, name):
    for start, package in NEEDS.items():
        if name.startswith(start):
            pytest.importorskip(package)
    files = {"table.csv", "canary"}
    model = put(folder, name)
    files |= set(os.listdir(folder))
    status = main([*COMMAND, model])
    out, err = capsys.readouterr()
    assert not out
    check(folder, status, err)
    assert set(os.listdir(folder)) <= files
    if name.startswith("call ") and "." in name:  # it, or a worse name in its arguments
        found = (name.rpartition(".")[2], "os.system", "subprocess.Popen", "cloudpickle")
        assert any(text in err for text in found)


@pytest.mark.parametrize(
    "name", ["call os.system", "stack that writes a file", "deep arrays", "trust in pyproject.toml"]
)
def test_attack_on_the_real_command(folder, name):
    code = "import sys; from fairaudit_cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *COMMAND, put(folder, name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert not done.stdout
    check(folder, done.returncode, done.stderr)


def test_the_file_that_attacks_by_torch_change_is_honest(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "m.pt2").write_bytes(torch_file())
    table = pd.DataFrame([[1.0, -2.0, 3.0]] * 3)
    made = load_model(str(tmp_path / "m.pt2"), sandbox=False).predict(table)
    assert made.to_numpy().tolist() == [[1.0, 0.0, 3.0]] * 3


def test_the_corpus_is_large():
    assert len(ATTACKS) >= 500
