"""Honest model files load with no flag, and predict as the model itself."""

import io
import pickle
import random
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from attacks import archive
from genuine import MODELS, fitted, saved
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fairaudit.errors import InputError
from fairaudit.models import load_model
from fairaudit.models.safe_pickle import is_allowed, load_pickle


def check_file(path, model, table):
    """The file at `path` holds the model: same class, same predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predictor = load_model(str(path), sandbox=False)
        assert type(predictor.model) is type(model)
        own = np.asarray(model.predict(table))
        if table.ndim == 1 or (own.ndim == 2 and own.shape[1] > 1):
            made = predictor.model.predict(table)  # of one column, or of several outcomes
        else:
            made = predictor.predict(pd.DataFrame(table), on="labels")["label"]
            own = np.ravel(own)
        np.testing.assert_allclose(made, own)


def check_confined(path, table):
    """The same answers, to the bit, and the same errors in and out of the sandbox."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, confined = load_model(str(path), sandbox=False), load_model(str(path))
        assert confined.sandbox and (here.kind, here.notes) == (confined.kind, confined.notes)
        assert (here.features, here.n_features) == (confined.features, confined.n_features)
        np.testing.assert_array_equal(here.classes, confined.classes)
        for on in ("scores", "labels"):
            answers = [
                _answer(predictor, pd.DataFrame(table), on) for predictor in (here, confined)
            ]
            if isinstance(answers[0], str):
                assert answers[0] == answers[1]
                continue
            pd.testing.assert_frame_equal(*(a.table for a in answers), check_exact=True)
            assert answers[0].meaning == answers[1].meaning
            assert list(answers[0].classes or ()) == list(answers[1].classes or ())


def _answer(predictor, table, on):
    try:
        return predictor.answer(table, on=on)
    except InputError as error:
        return str(error)


SAMPLE = ("GaussianProcessClassifier", "HistGradientBoostingClassifier", "MLPRegressor", "SVC")


@pytest.mark.sandbox
@pytest.mark.parametrize("form", ["pickle 5", "joblib packed", "skops"])
@pytest.mark.parametrize("name", [*SAMPLE, *list(MODELS)[-12:]])
def test_the_same_in_and_out_of_the_sandbox(name, form, tmp_path):
    if form != "pickle 5" and name not in SAMPLE:
        pytest.skip("one form is enough; torture.py has all")
    model, table = fitted(name) or (None, None)
    file = None if model is None else saved(model, form)
    if file is None:
        pytest.skip("there is no such file")
    (tmp_path / file[0]).write_bytes(file[1])
    check_confined(tmp_path / file[0], table)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_loads_with_no_flag(name, tmp_path):
    found = fitted(name)
    if found is None:
        pytest.skip("needs other data")
    model, table = found
    for form in ("pickle 2", "pickle 5", "joblib packed"):
        file, data = saved(model, form)
        (tmp_path / file).write_bytes(data)
        check_file(tmp_path / file, model, table)


def test_every_scorer_of_scikit_learn_is_allowed():
    """The list of functions is short, and no search needs one that is not on it."""
    from sklearn.metrics import get_scorer, get_scorer_names

    functions = {get_scorer(name)._score_func for name in get_scorer_names()}
    missing = [f.__name__ for f in functions if not is_allowed(f"{f.__module__}.{f.__name__}")]
    assert missing == []


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        (np.clip, {"a_min": 0.0, "a_max": 1.0}),
        (np.nan_to_num, {}),
        (np.log1p, {}),
        (np.mean, {"axis": 1, "keepdims": True}),
    ],
)
@pytest.mark.parametrize("form", ["pickle 2", "pickle 5", "joblib packed", "skops"])
def test_functions_of_numpy_in_a_pipeline_load(function, settings, form, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((40, 3)), columns=["a", "b", "c"])
    first = FunctionTransformer(function, kw_args=settings)
    model = make_pipeline(first, LogisticRegression()).fit(table.to_numpy(), table.a > 0.5)
    file = saved(model, form)
    if file is None:
        pytest.skip("skops cannot save it")
    (tmp_path / file[0]).write_bytes(file[1])
    check_file(tmp_path / file[0], model, table.to_numpy())


def test_large_numbers_as_keys_load():
    """Identifiers of 64 and more bits are no attack: their hashes differ."""
    draw = random.Random(0)
    for bits in (63, 64, 128):
        keys = {draw.getrandbits(bits): i for i in range(20_000)}
        assert load_pickle(pickle.dumps(keys), name="m") == keys
        assert load_pickle(pickle.dumps(set(keys)), name="m") == set(keys)
    repeated = [2**70] * 5_000
    assert load_pickle(pickle.dumps(repeated), name="m") == repeated


@pytest.mark.parametrize("name", ["GradientBoostingClassifier", "HistGradientBoostingRegressor"])
def test_losses_under_their_name_in_scikit_learn_1_5_to_1_8(name, tmp_path, monkeypatch):
    """These call sklearn._loss._loss just _loss; a file _loss.py beside the model is not run."""
    model, table = fitted(name)
    data = pickle.dumps(model, protocol=0).replace(b"csklearn._loss._loss\n", b"c_loss\n")
    file = saved(model, "skops")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "_loss", raising=False)
    (tmp_path / "_loss.py").write_text("open('canary', 'w').close()")
    (tmp_path / "model.pkl").write_bytes(data)
    check_file(tmp_path / "model.pkl", model, table)
    if file is not None:
        with zipfile.ZipFile(io.BytesIO(file[1])) as packed:
            parts = {part: packed.read(part) for part in packed.namelist()}
        schema = parts["schema.json"].replace(b'"sklearn._loss._loss"', b'"_loss"')
        (tmp_path / "model.skops").write_bytes(archive(parts | {"schema.json": schema}))
        check_file(tmp_path / "model.skops", model, table)
    assert not (tmp_path / "canary").exists()


def test_remarks_on_the_build_of_a_library_are_no_notes(tmp_path, monkeypatch):
    """catboost 1.2.7 under numpy 1.26 had one in every report: numpy ignores them itself."""
    from fairaudit.models import loading

    def opened(data, name, trust):
        warnings.warn("numpy.ufunc size changed, may indicate binary incompatibility", stacklevel=1)
        warnings.warn("the trees are old", stacklevel=1)
        return LogisticRegression().fit([[0.0], [1.0]], [0, 1])

    monkeypatch.setitem(loading.OPEN, ".cbm", opened)
    (tmp_path / "m.cbm").write_bytes(b"model")
    predictor = load_model(str(tmp_path / "m.cbm"), sandbox=False)
    assert predictor.notes == ("the trees are old",)
