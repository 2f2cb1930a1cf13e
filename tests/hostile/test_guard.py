"""The second line: what a model would do if the checks before it had a hole."""

import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairaudit.errors import InputError
from fairaudit.models import load_model
from fairaudit.models.guard import no_side_effects
from fairaudit.models.onnx_scan import external_files


@pytest.mark.parametrize(
    "act, told",
    [
        (lambda path: Path(path).write_text("x"), "write the file"),
        (lambda path: os.open(path, os.O_APPEND), "write the file"),
        (lambda path: os.open(path, os.O_CREAT), "write the file"),
        (lambda path: os.mkdir(path), "os.mkdir"),
        (lambda path: os.system(f"touch {path}"), "os.system"),
        (lambda path: subprocess.run(["touch", path]), "subprocess.Popen"),
        (lambda path: socket.create_connection(("127.0.0.1", 9)), "socket."),
        (lambda path: pickle.loads(b"cos\nsystem\n."), "pickle.find_class"),
    ],
    ids=["write", "append", "create", "folder", "shell", "process", "socket", "pickle"],
)
def test_side_effects_are_refused(tmp_path, act, told):
    path = str(tmp_path / "canary")
    with no_side_effects(), pytest.raises(InputError, match="which no saved model does") as error:
        act(path)
    assert told in str(error.value) and str(error.value).isprintable()
    assert not os.path.exists(path)


def test_reading_is_allowed_and_the_guard_ends(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with no_side_effects():
        with no_side_effects():
            pass
        assert path.read_text() == "x"
        with pytest.raises(InputError):
            path.write_text("y")
    path.write_text("y")
    with no_side_effects(False):
        path.write_text("z")


def test_predictions_of_a_file_are_guarded(tmp_path, monkeypatch):
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(LogisticRegression().fit(table, [0, 1, 0, 1])))
    predictor = load_model(str(path), sandbox=False)
    monkeypatch.setattr(
        LogisticRegression, "predict_proba", lambda self, X: (tmp_path / "canary").touch()
    )
    with pytest.raises(InputError, match="which no saved model does"):
        predictor.predict(table)
    assert not (tmp_path / "canary").exists()


def test_devices_are_not_read(tmp_path):
    (tmp_path / "model.pkl").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="device or pipe"):
        load_model(str(tmp_path / "model.pkl"))


@pytest.mark.parametrize("data", [b"\x0a\x05x", b"\x0b", b"\x80", b"\xff" * 20])
def test_what_is_not_a_protocol_buffer(data):
    with pytest.raises(ValueError, match=r"file|protocol"):
        external_files(data)
    assert external_files(b"\x09" + bytes(8) + b"\x0d" + bytes(4)) == []


@pytest.mark.parametrize("name", ["boosting", "forest", "neighbors", "xgboost", "lightgbm"])
def test_honest_models_are_quiet_in_an_ordinary_environment(tmp_path, name):
    """Without OMP_NUM_THREADS libraries count cores, some by asking another program."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier

    from fairaudit.datasets import DEMO_FEATURES, load_demo

    made = {
        "boosting": lambda: HistGradientBoostingClassifier(max_iter=5),
        "forest": lambda: RandomForestClassifier(5, n_jobs=-1),
        "neighbors": lambda: KNeighborsClassifier(n_jobs=-1),
        "xgboost": lambda: pytest.importorskip("xgboost").XGBClassifier(n_estimators=5),
        "lightgbm": lambda: pytest.importorskip("lightgbm").LGBMClassifier(
            n_estimators=5, verbose=-1
        ),
    }
    frame = load_demo(300)
    model = made[name]().fit(frame[list(DEMO_FEATURES)], frame["repaid"])
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    frame.to_csv(tmp_path / "test.csv", index=False)
    command = [
        sys.executable,
        "-m",
        "fairaudit_cli.main",
        "test",
        "--model",
        "model.pkl",
        "--data",
        "test.csv",
        "--sensitive",
        "race,sex",
        "--outcome",
        "repaid",
        "--permutations",
        "19",
    ]
    ordinary = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run(
        command, cwd=tmp_path, env=ordinary, capture_output=True, text=True, check=False
    )
    assert done.stderr == "" and done.returncode in (0, 1)
