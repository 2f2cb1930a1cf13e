"""MLflow, the real client: models by their address, the evaluator, logging."""

from __future__ import annotations

import pickle
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairaudit as fa
from fairaudit.errors import InputError
from fairaudit.integrations.mlflow_evaluator import FairauditEvaluator, log_result
from fairaudit.models.loading import load_model
from fairaudit.models.mlflow_uri import model_file
from fairaudit_cli import main as cli

FEW = fa.Permutations(n=99)


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    mlflow = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        folder = tmp_path_factory.mktemp("mlflow")
        mlflow.set_tracking_uri((folder / "runs").as_uri())
        mlflow.set_experiment("fairness")
        yield mlflow


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 500), rng.integers(0, 2, 500)
    x = 2.0 * y - 1 + rng.normal(size=500)
    return pd.DataFrame({"x": x, "z": x + 2.0 * (sex == "m"), "sex": sex, "y": y})


@pytest.fixture(scope="module")
def logged(mlflow, table, tmp_path_factory):
    """A run with a model beside its description, as MLflow's scikit-learn flavor writes it."""
    model = LogisticRegression().fit(table[["z"]], table["y"])
    folder = tmp_path_factory.mktemp("model")
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    (folder / "MLmodel").write_text("flavors:\n  sklearn:\n    pickled_model: model.pkl\n")
    with mlflow.start_run() as run:
        mlflow.log_artifacts(str(folder), "model")
    return f"runs:/{run.info.run_id}/model", model


def _sklearn(mlflow, table, **format):
    model = LogisticRegression().fit(table[["z"]], table["y"])
    return mlflow.sklearn, model, model.predict_proba(table[["z"]])[:, 1], format


def _lightgbm(mlflow, table):
    lightgbm = pytest.importorskip("lightgbm")
    rows = lightgbm.Dataset(table[["z"]], table["y"])
    model = lightgbm.train({"objective": "binary", "verbosity": -1}, rows, 5)
    return mlflow.lightgbm, model, model.predict(table[["z"]]), {}


def _lightgbm_estimator(mlflow, table):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=5, verbosity=-1).fit(table[["z"]], table["y"])
    return mlflow.lightgbm, model, model.predict_proba(table[["z"]])[:, 1], {}


def _xgboost(mlflow, table):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=5).fit(table[["z"]], table["y"])
    return mlflow.xgboost, model, model.predict_proba(table[["z"]])[:, 1], {}


def _catboost(mlflow, table):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(iterations=5, verbose=False, allow_writing_files=False)
    model.fit(table[["z"]], table["y"])
    return mlflow.catboost, model, model.predict_proba(table[["z"]])[:, 1], {}


def _onnx(mlflow, table):
    pytest.importorskip("onnxruntime")
    convert = pytest.importorskip("skl2onnx").to_onnx
    model = LogisticRegression().fit(table[["z"]].to_numpy(np.float32), table["y"])
    said = model.predict_proba(table[["z"]].to_numpy(np.float32))[:, 1]
    sample = table[["z"]].to_numpy(np.float32)[:1]
    return mlflow.onnx, convert(model, sample, options={"zipmap": False}), said, {}


@pytest.mark.parametrize(
    "train",
    [
        pytest.param(partial(_sklearn, serialization_format=name), id=f"sklearn {name}")
        for name in ("skops", "pickle", "cloudpickle")
    ]
    + [_lightgbm, _lightgbm_estimator, _xgboost, _catboost, _onnx],
)
def test_models_that_mlflow_itself_logged_and_registered(mlflow, table, train):
    """Whatever files its flavors write today; the registry has them under a name and a version."""
    flavor, model, scores, more = train(mlflow, table)
    name = f"credit-{flavor.__name__.rpartition('.')[2]}-{len(more)}{more.values()}"
    name = re.sub(r"[^a-z0-9]+", "-", name).strip("-")
    with mlflow.start_run():
        logged = flavor.log_model(model, name="model", registered_model_name=name, **more)
    for address in (logged.model_uri, f"models:/{name}/{logged.registered_model_version}"):
        found = load_model(address, sandbox=False).predict(table[["z"]])["score"]
        np.testing.assert_allclose(found, scores, atol=1e-6)


@pytest.mark.sandbox
def test_a_model_by_its_address_is_opened_in_the_sandbox(logged, table):
    address, model = logged
    opened = load_model(address)
    assert opened.source == address and opened.sandbox is not False and opened.sha256
    scores = opened.predict(table[["z"]])["score"]
    np.testing.assert_allclose(scores, model.predict_proba(table[["z"]])[:, 1])


def test_the_command_audits_a_model_of_mlflow(logged, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["--data", str(tmp_path / "t.csv"), "--sensitive", "sex", "--outcome", "y"]
    assert cli.main(["test", "--model", logged[0], *words, "--permutations", "99"]) == 1


def test_a_pickle_of_mlflow_passes_the_same_allow_list(mlflow, tmp_path):
    (tmp_path / "model.pkl").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    (tmp_path / "MLmodel").write_text("flavors: {sklearn: {pickled_model: model.pkl}}")
    with mlflow.start_run() as run:
        mlflow.log_artifacts(str(tmp_path), "model")
    with pytest.raises(InputError, match=r"system"):
        load_model(f"runs:/{run.info.run_id}/model")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("flavors: {sklearn: {pickled_model: ../../secret.pkl}}", "a file that is not its own"),
        ("flavors: {python_function: {loader_module: evil}}", "is a model of python_function"),
        ("!!python/object/apply:os.system [touch ran]", "no description that can be read"),
        ("[]", "no description that can be read"),
        ("flavors: {sklearn: text}", "no description that can be read"),
        ('flavors: {sklearn: {pickled_model: "a\\0b"}}', "is a model of sklearn"),
        (f"flavors: {'[' * 20_000}", "no description that can be read"),
    ],
)
def test_descriptions_that_are_refused(tmp_path, text, told):
    pytest.importorskip("yaml")
    (tmp_path.parent / "secret.pkl").write_bytes(b"")
    (tmp_path / "MLmodel").write_text(text)
    with pytest.raises(InputError, match=told):
        model_file(tmp_path.resolve(), "models:/m/1")


def test_the_file_of_a_keras_model_is_in_a_folder(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "model.keras").write_bytes(b"")
    (tmp_path / "MLmodel").write_text("flavors:\n  keras:\n    data: data\n")
    found = model_file(tmp_path.resolve(), "models:/m/1")
    assert found == tmp_path.resolve() / "data" / "model.keras"


def test_an_address_without_a_model(mlflow):
    with pytest.raises(InputError, match="MLflow has no 'runs:/0123/model'"):
        load_model("runs:/0123/model")


def test_the_evaluator_is_found_and_leaves_other_evaluations_alone(mlflow):
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry

    assert registry.get_evaluator("fairaudit") is not None
    ask = FairauditEvaluator.can_evaluate
    assert not ask(model_type="classifier", evaluator_config=None)
    assert not ask(model_type="question-answering", evaluator_config={"sensitive": ["sex"]})
    assert ask(model_type="classifier", evaluator_config={"sensitive": ["sex"]})


def test_evaluate_audits_and_logs(mlflow, table):
    scored = table.assign(score=1 / (1 + np.exp(-table["z"])))
    with mlflow.start_run() as run:
        told = mlflow.models.evaluate(
            data=scored,
            targets="y",
            predictions="score",
            model_type="classifier",
            evaluators=["fairaudit"],
            evaluator_config={"fairaudit": {"sensitive": ["sex"], "permutations": FEW}},
        )
    assert told.metrics["fairaudit_p_value"] == 0.01
    kept = mlflow.MlflowClient().get_run(run.info.run_id).data
    assert kept.tags["fairaudit.verdict"] == "violation"
    assert kept.metrics["fairaudit_p_value"] == 0.01
    names = [one.path for one in mlflow.MlflowClient().list_artifacts(run.info.run_id, "fairaudit")]
    assert names == ["fairaudit/record.json", "fairaudit/report.html"]


def test_a_logged_record_is_masked(mlflow, table, tmp_path):
    few = table.assign(sex=np.where(np.arange(500) < 4, "x", table["sex"]))
    result = fa.audit(
        predictions=few["z"], outcome=few["y"], sensitive=few[["sex"]], permutations=FEW
    )
    with mlflow.start_run() as run:
        log_result(result)
    address = f"runs:/{run.info.run_id}/fairaudit/record.json"
    path = mlflow.artifacts.download_artifacts(artifact_uri=address, dst_path=str(tmp_path))
    assert fa.AuditResult.load(path).to_dict() == result.suppressed(10).to_dict()
