"""Models of catboost predict as they do at home, in and out of the sandbox."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest

from fairaudit.errors import InputError
from fairaudit.models import load_model
from fairaudit_cli.main import main

catboost = pytest.importorskip("catboost")

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.gamma(2, size=(60, 3)), columns=["income", "debt", "amount"])
Y = (X.income > 1.5).astype(int).to_numpy()
WITH_LEVELS = X.assign(town=np.where(X.debt > 2, "a", "b"))
SMALL = {"iterations": 3, "verbose": 0, "thread_count": 1, "allow_writing_files": False}


def classifier(**more):
    return catboost.CatBoostClassifier(**SMALL, **more)


def regressor(**more):
    return catboost.CatBoostRegressor(**SMALL, **more)


MODELS = {
    "classes": lambda: (classifier().fit(X, Y), X),
    "no names": lambda: (classifier().fit(X.to_numpy(), Y), X.to_numpy()),
    "named classes": lambda: (classifier().fit(X, np.where(Y, "yes", "no")), X),
    "three classes": lambda: (classifier().fit(X, Y + (X.debt > 2).to_numpy()), X),
    "levels": lambda: (classifier(cat_features=["town"]).fit(WITH_LEVELS, Y), WITH_LEVELS),
    "stopped early": lambda: (classifier().fit(X, Y, eval_set=(X, Y)), X),
    "numbers": lambda: (regressor().fit(X, X.debt), X),
    "counts": lambda: (regressor(loss_function="Poisson").fit(X, X.debt.round()), X),
}


def save(model, path):
    if path.suffix == ".cbm":
        model.save_model(str(path))
    elif path.suffix == ".joblib":
        joblib.dump(model, path, compress=3)
    else:
        path.write_bytes(pickle.dumps(model))


@pytest.mark.sandbox
@pytest.mark.parametrize("suffix", [".cbm", ".pkl", ".joblib"])
@pytest.mark.parametrize("name", MODELS)
def test_same_predictions(name, suffix, tmp_path):
    model, table = MODELS[name]()
    path = tmp_path / f"model{suffix}"
    save(model, path)
    own = model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table)
    own = own[:, 1] if own.ndim == 2 and own.shape[1] == 2 else own
    for sandbox in (True, False):
        predictor = load_model(str(path), sandbox=sandbox)
        made = predictor.predict(pd.DataFrame(table)).to_numpy().squeeze()
        np.testing.assert_array_equal(made, own)
        labels = predictor.predict(pd.DataFrame(table), on="labels")["label"]
        assert list(labels) == list(np.ravel(model.predict(table)))
        assert predictor.n_features == table.shape[1]
        assert predictor.features == (None if name == "no names" else tuple(table.columns))


def test_an_audit_of_its_own_file(tmp_path, capsys):
    model, _ = MODELS["classes"]()
    model.save_model(str(tmp_path / "m.cbm"))
    X.assign(sex=np.tile(["f", "m"], 30), y=Y).to_csv(tmp_path / "t.csv", index=False)
    given = ["--data", str(tmp_path / "t.csv"), "--sensitive", "sex", "--permutations", "19"]
    assert main(["test", "--model", str(tmp_path / "m.cbm"), *given]) in (0, 1, 3)
    assert "CatBoostClassifier" in capsys.readouterr().out


def test_damaged_files_are_refused_in_one_line(tmp_path):
    model, _ = MODELS["classes"]()
    model.save_model(str(tmp_path / "m.cbm"))
    whole = (tmp_path / "m.cbm").read_bytes()
    for data in (whole[: len(whole) // 2], whole[:40], b"CBM1", whole[:8] + b"\xff" * 400):
        (tmp_path / "m.cbm").write_bytes(data)
        with pytest.raises(InputError, match=r"m\.cbm is not a catboost model") as caught:
            load_model(str(tmp_path / "m.cbm"), sandbox=False)
        assert "\n" not in str(caught.value)
