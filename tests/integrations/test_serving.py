"""Models behind real servers, MLServer (KServe V2) and MLflow; each skips where it is absent."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairaudit.models.endpoint import Endpoint
from fairaudit_cli import main as cli

FEATURES = ["income", "debt"]
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 500), rng.integers(0, 2, 500)
    income = 2.0 * y - 1 + rng.normal(size=500) + 2.0 * (sex == "m")
    return pd.DataFrame({"income": income, "debt": rng.normal(size=500), "sex": sex, "y": y})


@pytest.fixture(scope="module")
def model(table):
    return LogisticRegression().fit(table[FEATURES].to_numpy(), table["y"])


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def wait_for(url: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(240):
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            assert server.poll() is None, log.read_text()[-3000:]
            time.sleep(0.5)
    raise AssertionError(log.read_text()[-3000:])


def serve(command, ready, folder, **more):
    """A server as a process of its own, until the tests of this file are over."""
    log = folder / "server.log"
    with log.open("w") as written:
        server = subprocess.Popen(
            command, cwd=folder, stdout=written, stderr=written, env={**os.environ, **more}
        )
    try:
        wait_for(ready, server, log)
        yield
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def kserve(model, tmp_path_factory):
    if find_spec("mlserver_sklearn") is None:
        pytest.skip("mlserver and mlserver-sklearn are not installed")
    folder = tmp_path_factory.mktemp("mlserver")
    joblib.dump(model, folder / "model.joblib")
    told = {
        "name": "credit",
        "implementation": "mlserver_sklearn.SKLearnModel",
        "parameters": {"uri": "./model.joblib"},
    }
    (folder / "model-settings.json").write_text(json.dumps(told))
    http, grpc, metrics = free_port(), free_port(), free_port()
    settings = {
        "host": "127.0.0.1",
        "http_port": http,
        "grpc_port": grpc,
        "metrics_port": metrics,
        "parallel_workers": 0,
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    address = f"http://127.0.0.1:{http}/v2/models/credit"
    for _ in serve([str(BIN / "mlserver"), "start", "."], f"{address}/ready", folder):
        yield f"{address}/infer#income,debt;output=predict_proba"


@pytest.fixture(scope="module")
def mlflow_server(model, tmp_path_factory):
    if find_spec("mlflow") is None or find_spec("fastapi") is None:
        pytest.skip("mlflow (not mlflow-skinny), which serves models, is not installed")
    import mlflow.sklearn

    folder = tmp_path_factory.mktemp("mlflow")
    mlflow.sklearn.save_model(
        model, folder / "model", pyfunc_predict_fn="predict_proba", pip_requirements=[]
    )
    port = free_port()
    command = [str(BIN / "mlflow"), "models", "serve", "-m", str(folder / "model")]
    command += ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    for _ in serve(command, f"http://127.0.0.1:{port}/ping", folder, PATH=path):
        yield f"http://127.0.0.1:{port}/invocations#income,debt"


@pytest.mark.parametrize("server", ["kserve", "mlflow_server"])
def test_a_server_gives_the_scores_of_its_model(server, request, model, table):
    found = Endpoint(request.getfixturevalue(server), batch=200)(table[FEATURES])
    said = model.predict_proba(table[FEATURES].to_numpy())[:, 1]
    np.testing.assert_allclose(found, said)


@pytest.mark.parametrize("server", ["kserve", "mlflow_server"])
def test_the_command_audits_a_served_model(server, request, table, tmp_path, capsys):
    table.to_csv(tmp_path / "t.csv", index=False)
    line = ["test", "--model", request.getfixturevalue(server), "--data", str(tmp_path / "t.csv")]
    words = ["--sensitive", "sex", "--outcome", "y", "--permutations", "199"]
    assert cli.main([*line, *words]) == 1
    assert "VIOLATION" in capsys.readouterr().out
