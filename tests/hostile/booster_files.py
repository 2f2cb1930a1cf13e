"""Honest files of boosters: made in one environment, opened in it and in others."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from genuine import AMOUNT, X, Y
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_genuine import check_confined

from fairaudit.models import load_model

__all__ = ["make_files", "open_files"]

THREE = Y + (X["debt"] > 2).to_numpy()
_SMALL = {"n_estimators": 5, "n_jobs": 1, "random_state": 0}


def _xgboost() -> Iterator[tuple[str, Any]]:
    import xgboost

    classifier, regressor = xgboost.XGBClassifier, xgboost.XGBRegressor
    stopping = classifier(early_stopping_rounds=2, **_SMALL)
    yield "classes", classifier(**_SMALL).fit(X, Y)
    yield "three classes", classifier(**_SMALL).fit(X, THREE)
    yield "numbers", regressor(**_SMALL).fit(X, AMOUNT)
    yield "stopped early", stopping.fit(X, Y, eval_set=[(X, Y)], verbose=False)
    yield "dart", classifier(booster="dart", **_SMALL).fit(X, Y)
    yield "linear", regressor(booster="gblinear", **_SMALL).fit(X, AMOUNT)
    yield "forest", xgboost.XGBRFClassifier(**_SMALL).fit(X, Y)
    yield "monotone", classifier(monotone_constraints={"income": 1}, **_SMALL).fit(X, Y)
    yield (
        "median",
        regressor(objective="reg:quantileerror", quantile_alpha=0.5, **_SMALL).fit(X, AMOUNT),
    )
    settings = {"objective": "binary:logistic", "nthread": 1}
    yield "booster", xgboost.train(settings, xgboost.DMatrix(X, Y), 5)
    yield from _with_scikit_learn(classifier(**_SMALL))


def _lightgbm() -> Iterator[tuple[str, Any]]:
    import lightgbm

    small = {**_SMALL, "verbose": -1, "min_child_samples": 5}
    classifier, regressor = lightgbm.LGBMClassifier, lightgbm.LGBMRegressor
    callbacks = [lightgbm.early_stopping(2, verbose=False)]
    yield "classes", classifier(**small).fit(X, Y)
    yield "three classes", classifier(**small).fit(X, THREE)
    yield "numbers", regressor(**small).fit(X, AMOUNT)
    yield ("stopped early", classifier(**small).fit(X, Y, eval_set=[(X, Y)], callbacks=callbacks))
    yield "dart", classifier(boosting_type="dart", **small).fit(X, Y)
    yield "median", regressor(objective="quantile", alpha=0.5, **small).fit(X, AMOUNT)
    settings = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    yield "booster", lightgbm.train(settings, lightgbm.Dataset(X, Y), 5)
    yield from _with_scikit_learn(classifier(**small))


def _catboost() -> Iterator[tuple[str, Any]]:
    import catboost

    small = {"iterations": 5, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    small["random_seed"] = 0
    classifier, regressor = catboost.CatBoostClassifier, catboost.CatBoostRegressor
    yield "classes", classifier(**small).fit(X, Y)
    yield "three classes", classifier(**small).fit(X, THREE)
    yield "numbers", regressor(**small).fit(X, AMOUNT)
    yield "stopped early", classifier(early_stopping_rounds=2, **small).fit(X, Y, eval_set=(X, Y))
    yield "deep", classifier(grow_policy="Lossguide", max_leaves=4, **small).fit(X, Y)
    yield "monotone", classifier(monotone_constraints={"income": 1}, **small).fit(X, Y)
    yield "median", regressor(loss_function="Quantile:alpha=0.5", **small).fit(X, AMOUNT)
    yield "counts", regressor(loss_function="Poisson", **small).fit(X, AMOUNT.round())
    yield from _with_scikit_learn(classifier(**small))


def _with_scikit_learn(classifier: Any) -> Iterator[tuple[str, Any]]:
    """Files with a part of scikit-learn belong to its version too: they are opened at home only."""
    yield "home pipeline", make_pipeline(StandardScaler(), classifier).fit(X, Y)
    yield "home calibrated", CalibratedClassifierCV(classifier, cv=2).fit(X, Y)


_MADE = {"xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost}


def make_files(package: str, folder: Path) -> None:
    """Every model in every form, and what it predicts by itself."""
    expected = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in _MADE[package]():
            own = _own_predictions(model)
            for file in _saved(name, model, folder):
                expected[file] = own
    (folder / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


def _own_predictions(model: Any) -> list[Any]:
    if type(model).__name__ == "Booster":
        rows = X if hasattr(model, "model_to_string") else __import__("xgboost").DMatrix(X)
        return np.asarray(model.predict(rows), dtype=float).tolist()
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X), dtype=float).tolist()
    values = np.asarray(model.predict_proba(X), dtype=float)
    return (values[:, 1] if values.shape[1] == 2 else values).tolist()


def _saved(name: str, model: Any, folder: Path) -> Iterator[str]:
    for protocol in (2, 4, 5):
        file = f"{name} {protocol}.pkl"
        (folder / file).write_bytes(pickle.dumps(model, protocol=protocol))
        yield file
    joblib.dump(model, folder / f"{name}.joblib", compress=3)
    yield f"{name}.joblib"
    if hasattr(model, "save_model"):
        forms = (".txt",) if hasattr(model, "model_to_string") else (".json", ".ubj")
        if type(model).__module__.startswith("catboost"):
            forms = (".cbm",)
        for form in forms:
            model.save_model(str(folder / f"{name}{form}"))
            yield f"{name}{form}"
    elif hasattr(model, "booster_"):
        model.booster_.save_model(folder / f"{name}.txt")
        yield f"{name}.txt"


def open_files(folder: Path, *, at_home: bool) -> tuple[int, list[str]]:
    """How many files were opened without a flag, and what was wrong with others.

    In the sandbox they predict what they should, and what they predict outside of it to the bit.
    """
    tried, wrong = 0, []
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    for file, values in expected.items():
        if file.startswith("home ") and not at_home:
            continue
        tried += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = load_model(str(folder / file)).predict(pd.DataFrame(X)).to_numpy()
            np.testing.assert_allclose(np.squeeze(made), np.array(values), rtol=1e-5, atol=1e-6)
            check_confined(folder / file, X)
        except Exception as error:  # counted and shown
            wrong.append(f"{file}: {error!r}"[:400])
    return tried, wrong
