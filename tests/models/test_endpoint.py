"""Models that answer over HTTP, at a server of this machine."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest

from fairaudit.errors import InputError
from fairaudit.models.endpoint import TOKEN, Endpoint
from fairaudit.models.loading import load_model
from fairaudit_cli import main as cli


class Service(BaseHTTPRequestHandler):
    """Scores are sigmoid(x + bias · sex), by either protocol."""

    requests: list[dict]
    failures: list[int]  # statuses that the next requests get
    answer = None  # instead of predictions
    inputs = ("x", "bias")

    def do_GET(self):
        listed = [{"name": name, "datatype": "FP64", "shape": [-1, 1]} for name in self.inputs]
        self.reply(200, {"name": "m", "inputs": listed})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).requests.append({"path": self.path, "body": body, "headers": self.headers})
        if self.failures:
            self.reply(self.failures.pop(0), {"error": "not now"}, {"Location": "/elsewhere"})
            return
        if self.answer is not None:
            self.reply(200, self.answer)
            return
        if "dataframe_split" in body:
            table = pd.DataFrame(**body["dataframe_split"])
            self.reply(200, {"predictions": self.scores(table)})
            return
        table = pd.DataFrame({one["name"]: one["data"] for one in body["inputs"]})
        scores = self.scores(table)
        both = [value for score in scores for value in (1 - score, score)]
        output = {"name": "predict_proba", "shape": [len(scores), 2], "datatype": "FP64"}
        labels = {"name": "predict", "shape": [len(scores)], "datatype": "INT64"}
        outputs = [{**labels, "data": [0] * len(scores)}, {**output, "data": both}]
        self.reply(200, {"outputs": outputs})

    @staticmethod
    def scores(table):
        return (1 / (1 + np.exp(-(table["x"] + table["bias"]).astype(float)))).tolist()

    def reply(self, status, body, headers=None):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    class Mine(Service):
        requests, failures = [], []

    server = ThreadingHTTPServer(("127.0.0.1", 0), Mine)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Mine.url = f"http://127.0.0.1:{server.server_port}"
    yield Mine
    server.shutdown()
    server.server_close()


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 400), rng.integers(0, 2, 400)
    x = 2.0 * y - 1 + rng.normal(size=400)
    return pd.DataFrame({"x": x, "bias": 1.5 * (sex == "m"), "sex": sex, "y": y})


PATHS = {"mlflow": "/invocations#x,bias", "kserve": "/v2/models/m/infer"}


@pytest.mark.parametrize("protocol", PATHS)
def test_both_protocols_give_the_scores_of_all_rows_in_batches(service, table, protocol):
    model = Endpoint(service.url + PATHS[protocol], batch=150)
    rows = table[list(model.features)]
    assert model.protocol == protocol and model.features == ("x", "bias")
    np.testing.assert_allclose(model(rows), Service.scores(table))
    assert len(service.requests) == 3
    assert all("sex" not in json.dumps(request["body"]) for request in service.requests)
    assert "#" not in service.requests[0]["path"]


@pytest.mark.parametrize("protocol", PATHS)
def test_the_command_audits_a_service(service, table, protocol, tmp_path, capsys):
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["--data", str(tmp_path / "t.csv"), "--sensitive", "sex", "--outcome", "y", "--json"]
    url = service.url + PATHS[protocol]
    status = cli.main(["test", "--model", url, *words, "--permutations", "99"])
    record = json.loads(capsys.readouterr().out)
    assert status == 1 and record["verdict"] == "violation"
    assert record["capsule"]["model"]["path"].startswith("http://127.0.0.1")
    assert any("service" in note for note in record["notes"])


def test_a_busy_service_is_asked_again_and_no_more_than_that(service, table):
    model = Endpoint(service.url + "/invocations#x,bias", retries=2, wait=0.001)
    service.failures += [503, 429]
    assert len(model(table[["x", "bias"]])) == 400 and len(service.requests) == 3
    service.failures += [503] * 3
    with pytest.raises(InputError, match=r"answers with status 503: .*not now"):
        model(table[["x", "bias"]])
    service.failures += [400]
    before = len(service.requests)
    with pytest.raises(InputError, match="status 400"):
        model(table[["x", "bias"]])
    assert len(service.requests) == before + 1


def test_one_of_several_outputs_can_be_chosen(service, table):
    url = f"{service.url}/v2/models/m/infer"
    assert Endpoint(f"{url}#x,bias;output=predict")(table).tolist() == [0] * 400
    assert service.requests[-1]["body"]["outputs"] == [{"name": "predict"}]
    scores = Endpoint(f"{url}#x,bias;output=predict_proba")(table)
    np.testing.assert_allclose(scores, service.scores(table))
    with pytest.raises(InputError, match=r"no output 'shap' among \['predict', 'predict_proba'\]"):
        Endpoint(f"{url}#;output=shap")(table[["x", "bias"]])
    with pytest.raises(InputError, match="Only services of KServe have outputs"):
        Endpoint(f"{service.url}/invocations#x;output=shap")


def test_redirects_are_not_followed(service, table):
    service.failures += [302]
    with pytest.raises(InputError, match="status 302"):
        Endpoint(service.url + "/invocations#x,bias", retries=0)(table[["x", "bias"]])
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"predictions": [0.5]}, r"gives \(1,\) values for 400 rows"),
        ({"predictions": [[[1]]] * 400}, r"gives \(400, 1, 1\) values"),
        ({"scores": []}, "does not answer as mlflow does"),
        ([], "does not answer as mlflow does"),
        ({"predictions": [None] * 400}, "values for 400 rows"),
        ({"predictions": [{"a": 1}, *[1] * 399]}, "does not answer as mlflow does"),
        ({"predictions": [{}] * 40_000}, "lists in lists"),
        ({"predictions": ["x" * 20_000] * 400}, "a label of more letters"),
    ],
)
def test_answers_that_cannot_be_used(service, table, answer, told):
    service.answer = answer
    with pytest.raises(InputError, match=told):
        Endpoint(service.url + "/invocations")(table[["x", "bias"]])


@pytest.mark.parametrize(
    "output",
    [{"shape": [10**30]}, {"shape": "x"}, {"shape": [400], "data": ["x" * 20_000] * 400}, {}],
)
def test_answers_of_kserve_that_cannot_be_used(service, table, output):
    service.answer = {"outputs": [{"name": "predict", "data": [0] * 400, **output}]}
    service.inputs = ()
    with pytest.raises(InputError, match="does not answer as kserve does"):
        Endpoint(service.url + PATHS["kserve"])(table[["x", "bias"]])


def test_a_deep_answer(service, table, monkeypatch):
    deep = "[" * 9_000
    monkeypatch.setattr(service, "reply", lambda self, *_: reply_bytes(self, deep.encode()))
    with pytest.raises(InputError, match="not JSON"):
        Endpoint(service.url + "/invocations#x,bias")(table[["x", "bias"]])


def reply_bytes(self, data):
    self.send_response(200)
    self.send_header("Content-Length", str(len(data)))
    self.end_headers()
    self.wfile.write(data)


@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_that_never_ends(service, table, monkeypatch, status):
    """Each byte came in time."""
    stop = threading.Event()

    def drip(self, *_):
        self.send_response(status)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        with contextlib.suppress(OSError):
            while not stop.wait(0.05):
                self.wfile.write(b" ")

    monkeypatch.setattr(service, "reply", drip)
    with pytest.raises(InputError, match="no whole answer within" if status == 200 else "400"):
        Endpoint(service.url + "/invocations#x,bias", timeout=0.3, retries=0)(table[["x", "bias"]])
    stop.set()


def test_an_answer_has_a_limit(service, table):
    with pytest.raises(InputError, match="more than 100 bytes"):
        Endpoint(service.url + "/invocations#x,bias", most=100)(table[["x", "bias"]])


def test_a_token_comes_from_the_environment_and_not_from_the_url(service, table, monkeypatch):
    monkeypatch.setenv(TOKEN, "secret")
    Endpoint(service.url + "/invocations")(table[["x", "bias"]])
    assert service.requests[0]["headers"]["Authorization"] == "Bearer secret"
    for url in ("http://me:pass@host/invocations", "http://host/invocations?code=secret#x"):
        with pytest.raises(InputError, match=f"neither a password nor a query.*{TOKEN}") as told:
            Endpoint(url)
        assert "pass@" not in str(told.value) and "secret" not in str(told.value)


def test_missing_values_are_null(service, table):
    service.answer = {"predictions": [0.5] * 2}
    Endpoint(service.url + "/invocations")(pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None]}))
    sent = service.requests[0]["body"]["dataframe_split"]
    assert sent == {"columns": ["a", "b"], "data": [[1.0, "x"], [None, None]]}


def test_what_cannot_be_a_service():
    with pytest.raises(InputError, match="follows no protocol that is known here"):
        load_model("http://127.0.0.1:9/predict")
    with pytest.raises(InputError, match="cannot be reached"):
        Endpoint("http://127.0.0.1:9/invocations", retries=0)(pd.DataFrame({"a": [1]}))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://[::1/invocations", "is no URL: Invalid IPv6 URL"),
        (f"http://{'a' * 70}.test/invocations", "cannot be reached: encoding with 'idna'"),
        ("http://127.0.0.1:x/invocations", "cannot be reached: nonnumeric port"),
        ("http://127.0.0.1:9/a b/invocations", "cannot be reached: URL can't contain control"),
    ],
)
def test_an_address_that_is_none_is_one_line(url, told):
    with pytest.raises(InputError, match=re.escape(told)):
        Endpoint(url, retries=0)(pd.DataFrame({"a": [1]}))


def test_a_file_of_settings_cannot_name_a_service(tmp_path, monkeypatch, capsys, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "fairaudit.toml").write_text(
        "model = 'http://127.0.0.1:9/invocations'\ndata = 't.csv'\nsensitive = 'sex'\n"
    )
    monkeypatch.chdir(tmp_path)
    assert cli.main(["test"]) == 2
    assert "call a service. Pass --model on the command line" in capsys.readouterr().err
