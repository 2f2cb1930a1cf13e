"""Model files: the same predictions as the model's own, and nothing run that is not allowed."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import pickle
import struct
import subprocess
import sys
import warnings
import zlib
from collections import OrderedDict, defaultdict
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC

from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.models import Predictor, load_model, loading, predictor_of
from fairaudit.models.safe_pickle import is_allowed, load_pickle, unpack

RNG = np.random.default_rng(3)
N = 60
NUMBERS = ["income", "debt", "credit amount"]
TABLE = pd.DataFrame(RNG.gamma(2.0, size=(N, 3)), columns=NUMBERS).assign(
    region=RNG.choice(["north", "south", "west"], N)
)
X = TABLE[NUMBERS]
Y = (X["income"] + 0.3 * RNG.normal(size=N) > 1.5).astype(int).to_numpy()
Y3 = np.where(Y == 1, "good", np.where(X["debt"] > 1, "bad", "fair"))
AMOUNT = (X["income"] * 2 + X["debt"]).to_numpy()


def encoded(model, numbers=NUMBERS, text=("region",)):
    """A model behind a column transformer, fitted on the table."""
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), numbers),
            ("text", OneHotEncoder(handle_unknown="ignore"), text),
        ]
    )
    return Pipeline([("columns", columns), ("model", model)])


def saved(folder, model, name="model.pkl"):
    path = folder / name
    with open(path, "wb") as file:
        pickle.dump(model, file)
    return str(path)


def check_round_trip(predictor, model, features, classes=2):
    """The predictor gives what the model itself gives."""
    table = features if isinstance(features, pd.DataFrame) else pd.DataFrame(features)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no "X does not have valid feature names"
        scores = predictor.predict(table)
        labels = predictor.predict(table, on="labels")
    if hasattr(model, "predict_proba"):
        own = model.predict_proba(features)
        if own.shape[1] == 2:
            assert list(scores) == ["score"]
            np.testing.assert_allclose(scores["score"], own[:, 1], rtol=1e-6)
        else:
            assert list(scores) == [f"P({label})" for label in model.classes_]
            np.testing.assert_allclose(scores, own, rtol=1e-6)
    np.testing.assert_array_equal(labels["label"], model.predict(features))


# ---------------------------------------------------------------- round trips


@pytest.fixture(scope="module")
def pipeline():
    return encoded(LogisticRegression()).fit(TABLE, Y)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_of_every_protocol(tmp_path, pipeline, protocol):
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps(pipeline, protocol=protocol))
    predictor = load_model(str(path))
    check_round_trip(predictor, pipeline, TABLE)
    assert predictor.kind == "sklearn.pipeline.Pipeline"
    assert predictor.features == tuple(TABLE.columns)
    assert predictor.n_features == 4
    assert predictor.classes.tolist() == [0, 1]
    assert predictor.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert predictor.source == str(path)
    assert predictor.notes == ()


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3), ("lzma", 3)])
def test_joblib_with_and_without_compression(tmp_path, pipeline, compress):
    path = tmp_path / "model.joblib"
    joblib.dump(pipeline, path, compress=compress)
    check_round_trip(load_model(str(path)), pipeline, TABLE)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_joblib_of_other_protocols_and_under_other_names(tmp_path, pipeline, protocol):
    joblib.dump(pipeline, tmp_path / "model.pkl", protocol=protocol)
    check_round_trip(load_model(str(tmp_path / "model.pkl")), pipeline, TABLE)
    (tmp_path / "model.pkl.gz").write_bytes(gzip.compress(pickle.dumps(pipeline)))
    check_round_trip(load_model(str(tmp_path / "model.pkl.gz")), pipeline, TABLE)


def test_joblib_arrays_of_every_layout():
    arrays = [
        np.asfortranarray(RNG.normal(size=(3, 4))),
        np.arange(5, dtype=">i4"),
        np.zeros((0, 3)),
        np.array(["a", None, 1.5], dtype=object),
        np.array(3.5),
        np.array(["x", "yz"]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array([True, False]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.float32(1.5),
        np.str_("text"),
        np.str_(""),
        np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        np.random.default_rng(1),
    ]
    buffer = io.BytesIO()
    joblib.dump(arrays, buffer)
    for data in (buffer.getvalue(), pickle.dumps(arrays, protocol=5), pickle.dumps(arrays, 2)):
        for made, own in zip(load_pickle(data, name="m"), arrays, strict=True):
            assert type(made) is type(own)
            if isinstance(own, np.ndarray):
                assert made.dtype.newbyteorder("=") == own.dtype.newbyteorder("=")
                np.testing.assert_array_equal(made, own)


CLASSIFIERS = {
    "hist": HistGradientBoostingClassifier(max_iter=3),
    "forest": RandomForestClassifier(5, random_state=np.random.RandomState(1)),
    "boosting": GradientBoostingClassifier(n_estimators=3),
    "mlp": MLPClassifier((3,), max_iter=5),
    "knn": KNeighborsClassifier(),
    "knn ball": KNeighborsClassifier(algorithm="ball_tree", p=3),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=2),
    "isotonic": CalibratedClassifierCV(LogisticRegression(), cv=2, method="isotonic"),
    "grid": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, scoring="roc_auc_ovr"),
    "random": RandomizedSearchCV(
        LogisticRegression(), {"C": stats.loguniform(0.1, 1)}, n_iter=2, cv=StratifiedKFold(2)
    ),
    "integers": RandomizedSearchCV(
        KNeighborsClassifier(), {"n_neighbors": stats.randint(2, 5)}, n_iter=2, cv=2
    ),
    "stacking": StackingClassifier([("a", LogisticRegression()), ("b", KNeighborsClassifier())]),
    "voting": VotingClassifier(
        [("a", LogisticRegression()), ("b", KNeighborsClassifier())], voting="soft"
    ),
    "functions": make_pipeline(
        FunctionTransformer(np.log1p, feature_names_out="one-to-one"),
        SelectKBest(partial(mutual_info_classif, random_state=0), k=2),
        LogisticRegression(),
    ),
    "splines": make_pipeline(SimpleImputer(), SplineTransformer(), LogisticRegression()),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_predict_as_themselves(tmp_path, name):
    for y in (Y, Y3):
        model = CLASSIFIERS[name].fit(X, y)
        predictor = load_model(saved(tmp_path, model))
        check_round_trip(predictor, model, X)
        assert predictor.features == tuple(NUMBERS)
        joblib.dump(model, tmp_path / "m.joblib")
        check_round_trip(load_model(str(tmp_path / "m.joblib")), model, X)


@pytest.mark.parametrize(
    "model",
    [
        encoded(LogisticRegression(), TABLE[NUMBERS].columns, TABLE[["region"]].columns),
        encoded(HistGradientBoostingClassifier(max_iter=2), make_column_selector("ome|ebt")),
        make_pipeline(
            ColumnTransformer([("t", TargetEncoder(), ["region"])], remainder="passthrough"),
            LogisticRegression(),
        ),
        make_pipeline(
            ColumnTransformer(
                [("o", OrdinalEncoder(), ["region"]), ("w", TfidfVectorizer(), "region")]
            ),
            LogisticRegression(),
        ),
    ],
    ids=["index", "selector", "target", "text"],
)
def test_pipelines_on_named_columns(tmp_path, model):
    model.fit(TABLE, Y)
    check_round_trip(load_model(saved(tmp_path, model)), model, TABLE)
    joblib.dump(model, tmp_path / "m.joblib", compress=1)
    check_round_trip(load_model(str(tmp_path / "m.joblib")), model, TABLE)


def test_categories_of_a_boosted_model(tmp_path):
    table = TABLE.astype({"region": "category"})
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype")
    model.fit(table, Y)
    check_round_trip(load_model(saved(tmp_path, model)), model, table)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=3, loss="quantile", quantile=0.5),
        Ridge(random_state=1),
        GaussianProcessRegressor(RBF() + WhiteKernel()),
        TransformedTargetRegressor(Ridge(), func=special.logit, inverse_func=special.expit),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressors_give_one_column(tmp_path, model):
    y = special.expit(AMOUNT - 5)
    model.fit(X, y)
    made = load_model(saved(tmp_path, model)).predict(X)
    assert list(made) == ["prediction"]
    np.testing.assert_allclose(made["prediction"], model.predict(X))


def test_models_without_probabilities():
    two, three = LinearSVC().fit(X, Y), SVC().fit(X, Y3)
    made = predictor_of(two).predict(X)
    assert list(made) == ["score"]
    np.testing.assert_allclose(made["score"], two.decision_function(X))
    made = predictor_of(three).predict(X)
    assert list(made) == ["score(bad)", "score(fair)", "score(good)"]
    pairs = predictor_of(SVC(decision_function_shape="ovo").fit(X, np.arange(N) % 4)).predict(X)
    assert list(pairs) == [f"score_{j}" for j in range(6)]
    assert list(predictor_of(IsolationForest(n_estimators=3).fit(X)).predict(X)) == ["score"]


def test_several_outcomes():
    both = np.column_stack([AMOUNT, -AMOUNT])
    made = predictor_of(LinearRegression().fit(X, both)).predict(X)
    assert list(made) == ["prediction_0", "prediction_1"]
    model = MultiOutputClassifier(LogisticRegression()).fit(X, np.column_stack([Y, 1 - Y]))
    for on in ("scores", "labels"):
        with pytest.raises(InputError, match="2 outcomes at once"):
            predictor_of(model).predict(X, on=on)


def test_models_fitted_on_arrays_are_given_arrays(tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X.to_numpy(), Y)
    predictor = load_model(saved(tmp_path, model))
    assert predictor.features is None and predictor.n_features == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = predictor.predict(X)
    np.testing.assert_allclose(made["score"], model.predict_proba(X.to_numpy())[:, 1])


# ---------------------------------------------------------------- boosters, skops, onnx, functions


@pytest.fixture
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def test_xgboost(tmp_path, one_thread):
    xgboost = pytest.importorskip("xgboost")
    table = TABLE.astype({"region": "category"})
    model = xgboost.XGBClassifier(n_estimators=3, enable_categorical=True, n_jobs=1).fit(table, Y)
    predictor = load_model(saved(tmp_path, model))
    check_round_trip(predictor, model, table)
    assert predictor.features == tuple(TABLE.columns)
    # text is taken as categories by their names
    some = TABLE[TABLE["region"] != "north"]
    own = model.predict_proba(table.loc[some.index])[:, 1]
    np.testing.assert_allclose(predictor.predict(some)["score"], own)
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        booster = load_model(str(tmp_path / name))
        assert booster.kind == "xgboost.core.Booster"
        assert booster.features == tuple(TABLE.columns)
        np.testing.assert_allclose(booster.predict(some)["score"], own, rtol=1e-6)
        assert booster.predict(some, on="labels")["label"].tolist() == (own > 0.5).tolist()


def test_xgboost_boosters_of_more_classes_and_without_names(tmp_path, one_thread):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(X.to_numpy(), np.arange(N) % 3)
    wanted = None
    for objective in ("multi:softprob", "multi:softmax"):
        options = {"objective": objective, "num_class": 3, "nthread": 1}
        booster = xgboost.train(options, data, 3)
        predictor = load_model(saved(tmp_path, booster))
        assert predictor.features is None and predictor.n_features == 3
        made = predictor.predict(X)
        assert list(made) == ["P(0)", "P(1)", "P(2)"]
        wanted = booster.predict(data) if wanted is None else wanted
        np.testing.assert_allclose(made, wanted, rtol=1e-5)
    booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(X.to_numpy(), AMOUNT), 3)
    assert list(predictor_of(booster).predict(X)) == ["prediction"]
    booster.feature_names = ["f0", "f1", "f2"]
    predictor = predictor_of(booster)
    assert predictor.features is None
    assert predictor.columns(["f2", "f1", "f0", "id", "y"], outcome="y", sensitive=[]) == [
        "f0",
        "f1",
        "f2",
    ]
    assert len(predictor.predict(X)) == N


def test_xgboost_with_early_stopping(tmp_path, one_thread):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=40, early_stopping_rounds=2, n_jobs=1)
    model.fit(X[:40], Y[:40], eval_set=[(X[40:], Y[40:])], verbose=False)
    check_round_trip(load_model(saved(tmp_path, model)), model, X)
    model.save_model(tmp_path / "model.json")
    made = load_model(str(tmp_path / "model.json")).predict(X)["score"]
    np.testing.assert_allclose(made, model.predict_proba(X)[:, 1], rtol=1e-6)


def test_lightgbm(tmp_path, one_thread):
    lightgbm = pytest.importorskip("lightgbm")
    table = TABLE.astype({"region": "category"})
    options = {"n_estimators": 3, "verbose": -1, "min_child_samples": 5, "n_jobs": 1}
    model = lightgbm.LGBMClassifier(**options).fit(table, Y)
    predictor = load_model(saved(tmp_path, model))
    assert predictor.features == ("income", "debt", "credit_amount", "region")  # as lightgbm says
    features = predictor.columns([*TABLE.columns, "y"], outcome="y", sensitive=["region"])
    assert features == list(TABLE.columns)
    some = TABLE[TABLE["region"] != "north"]
    own = model.predict_proba(table.loc[some.index])[:, 1]
    np.testing.assert_allclose(predictor.predict(some)["score"], own)
    model.booster_.save_model(tmp_path / "model.txt")
    booster = load_model(str(tmp_path / "model.txt"))
    np.testing.assert_allclose(booster.predict(some)["score"], own)
    assert booster.predict(some, on="labels")["label"].tolist() == (own > 0.5).tolist()
    three = lightgbm.LGBMClassifier(**options).fit(X.to_numpy(), Y3)
    predictor = load_model(saved(tmp_path, three.booster_))
    assert predictor.features is None and predictor.n_features == 3
    made = predictor.predict(X)
    assert list(made) == ["P(0)", "P(1)", "P(2)"]
    np.testing.assert_allclose(made, three.predict_proba(X.to_numpy()))
    amount = lightgbm.LGBMRegressor(**options).fit(X.to_numpy(), AMOUNT)
    assert list(predictor_of(amount.booster_).predict(X)) == ["prediction"]


def test_skops(tmp_path, pipeline):
    skops = pytest.importorskip("skops.io")
    hist = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    forest = RandomForestClassifier(3).fit(X, Y3)
    for model, table in ((pipeline, TABLE), (hist, X), (forest, X)):
        skops.dump(model, tmp_path / "model.skops")
        predictor = load_model(str(tmp_path / "model.skops"))
        check_round_trip(predictor, model, table)
        assert predictor.features == tuple(table.columns)


def test_skops_refuses_what_is_not_allowed(tmp_path, monkeypatch):
    skops = pytest.importorskip("skops.io")
    path = tmp_path / "model.skops"
    skops.dump(Plain().fit(X, Y), path)
    with pytest.raises(InputError, match=f"allow-list: {NAME}") as refused:
        load_model(str(path), sandbox=False)
    assert f"'trust' {NAME}" in str(refused.value)
    assert len(load_model(str(path), trust=[NAME], sandbox=False).predict(X)) == N
    search = RandomizedSearchCV(LogisticRegression(), {"C": stats.uniform(0.1, 1)}, n_iter=1, cv=2)
    skops.dump(search.fit(X, Y), path)
    with pytest.raises(InputError, match=r"scipy\.stats"):
        load_model(str(path), sandbox=False)
    path.write_bytes(b"PK rubbish")
    with pytest.raises(InputError, match="cannot be read as a skops file"):
        load_model(str(path), sandbox=False)
    skops.dump(Ridge().fit(X, Y), path)
    monkeypatch.setattr(Ridge, "__setstate__", lambda self, state: 1 / 0)
    with pytest.raises(InputError, match="skops file: division by zero"):
        load_model(str(path), sandbox=False)


def test_skops_of_a_missing_package(tmp_path, monkeypatch, one_thread):
    skops = pytest.importorskip("skops.io")
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(X, Y)
    skops.dump(model, tmp_path / "m.skops")
    check_round_trip(load_model(str(tmp_path / "m.skops"), sandbox=False), model, X)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingDependencyError, match=r"m\.skops: .*pip install lightgbm"):
        load_model(str(tmp_path / "m.skops"), sandbox=False)


def onnx_file(path, model, example, **options):
    convert = pytest.importorskip("skl2onnx").to_onnx
    path.write_bytes(convert(model, example, **options).SerializeToString())
    return str(path)


@pytest.mark.parametrize("zipmap", [True, False])
def test_onnx_matrix(tmp_path, zipmap):
    pytest.importorskip("onnxruntime")
    small = X.to_numpy().astype(np.float32)
    for y in (Y, Y3):
        model = LogisticRegression().fit(small, y)
        path = onnx_file(tmp_path / "m.onnx", model, small[:1], options={"zipmap": zipmap})
        predictor = load_model(path)
        assert predictor.kind == "onnx" and predictor.n_features == 3
        made = predictor.predict(X)
        own = model.predict_proba(small)
        own = own[:, 1:] if own.shape[1] == 2 else own
        np.testing.assert_allclose(made, own, rtol=1e-4)
        if len(model.classes_) == 2:
            assert list(made) == ["score"]
        elif zipmap:
            assert list(made) == ["P(bad)", "P(fair)", "P(good)"]
        labels = predictor.predict(X, on="labels")["label"]
        assert labels.tolist() == model.predict(small).tolist()
    path = onnx_file(tmp_path / "m.onnx", LinearRegression().fit(small, AMOUNT), small[:1])
    np.testing.assert_allclose(load_model(path).predict(X)["prediction"], AMOUNT, rtol=1e-3)


def test_onnx_columns(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    model = encoded(LogisticRegression()).fit(TABLE, Y)
    types = [(n, FloatTensorType([None, 1])) for n in NUMBERS]
    types.append(("region", StringTensorType([None, 1])))
    path = onnx_file(tmp_path / "m.onnx", model, None, initial_types=types)
    predictor = load_model(path)
    assert len(predictor.features) == 4
    columns = predictor.columns(["y", *TABLE.columns], outcome="y", sensitive=["region"])
    assert columns == list(TABLE.columns)
    made = predictor.predict(TABLE[columns])["score"]
    np.testing.assert_allclose(made, model.predict_proba(TABLE)[:, 1], rtol=1e-4)
    with pytest.raises(InputError, match="column 'debt' holds text"):
        predictor.predict(TABLE.assign(debt="high"))


def test_functions(tmp_path, monkeypatch):
    (tmp_path / "scoring_for_tests.py").write_text(
        "import numpy as np, pandas as pd\n"
        "def one(table): return table['income'] / 10\n"
        "def two(table): return pd.DataFrame({'a': table['income'], 'b': table['debt']})\n"
        "def short(table): return [1, 2]\n"
        "def lost(table): return np.full(len(table), np.nan)\n"
        "def angry(table): raise RuntimeError('no such rate\\nmore')\n"
        "def text(table): return np.where(table['income'] > 1, 'yes', 'no')\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def load(name):
        return load_model(f"scoring_for_tests:{name}")

    predictor = load("one")
    assert (predictor.kind, predictor.source, predictor.sha256) == (
        "function",
        "scoring_for_tests:one",
        None,
    )
    assert predictor.columns(["y", "a", "id"], outcome="y", sensitive=["a"], other=["id"]) == ["a"]
    np.testing.assert_allclose(predictor.predict(X)["prediction"], X["income"] / 10)
    assert list(load("two").predict(X)) == ["a", "b"]
    assert set(load("text").predict(X, on="labels")["label"]) == {"yes", "no"}
    for name, message in {
        "short": "returned 2 × 1 values for 60 rows",
        "lost": "missing or infinite value for 60 rows, the first in row 0",
        "angry": "no such rate. Pass",
    }.items():
        with pytest.raises(InputError, match=message):
            load(name).predict(X)
    with pytest.raises(InputError, match="has no attribute 'none'"):
        load("none")
    with pytest.raises(InputError, match="int is not a model"):
        load("number")
    with pytest.raises(InputError, match="There is no module 'nowhere_at_all'"):
        load_model("nowhere_at_all.inside:f")


# ---------------------------------------------------------------- columns and predictions


def test_columns_by_name(pipeline):
    predictor = predictor_of(pipeline)
    known = ["id", *TABLE.columns, "y"]
    assert predictor.columns(known, outcome="y", sensitive=[]) == list(TABLE.columns)
    with pytest.raises(InputError, match=r"lacks 2 of the 4.*'income' \(is it 'incomes'\?\)"):
        predictor.columns(["incomes", "debt", "region"], outcome=None, sensitive=[])


def test_columns_by_number():
    predictor = predictor_of(LogisticRegression().fit(X.to_numpy(), Y))
    table = ["a", "b", "sex", "y", "id"]
    assert predictor.columns(table, outcome="y", sensitive=["sex"], other=["id"]) == [
        "a",
        "b",
        "sex",
    ]
    table.insert(0, "c")
    assert predictor.columns(table, outcome="y", sensitive=["sex"], other=["id"]) == ["c", "a", "b"]
    with pytest.raises(InputError, match=r"takes 3 features.*has 5 columns.*4 without"):
        predictor.columns(table, outcome="y", sensitive=["sex"])


def test_columns_in_another_order_and_under_wrong_names(pipeline):
    predictor = predictor_of(pipeline)
    own = predictor.predict(TABLE)["score"]
    np.testing.assert_array_equal(predictor.predict(TABLE[TABLE.columns[::-1]])["score"], own)
    with pytest.raises(InputError, match="lacks 1 of the 4 features"):
        predictor.predict(TABLE.rename(columns={"debt": "owed"}))


@pytest.mark.parametrize(
    "model, table, message",
    [
        (LogisticRegression(), X, "not fitted yet.*Fit it before"),
        (LogisticRegression().fit(X, Y), X.assign(debt=np.nan), "NaN.*missing values"),
        (LogisticRegression().fit(X, Y), X.assign(debt="x"), "could not convert.*same types"),
    ],
)
def test_a_model_that_fails_is_quoted_in_one_line(model, table, message):
    with pytest.raises(InputError, match=message) as failed:
        predictor_of(model).predict(table)
    assert "\n" not in str(failed.value)


def test_what_is_not_a_model(tmp_path):
    with pytest.raises(InputError, match="is a class"):
        predictor_of(LogisticRegression)
    with pytest.raises(InputError, match="list is not a model"):
        predictor_of([1])
    with pytest.raises(InputError, match=r"model\.pkl holds a dict, not a fitted model"):
        load_model(saved(tmp_path, {"model": Ridge()}))
    with pytest.raises(InputError, match="'on' must be"):
        predictor_of(Ridge().fit(X, Y)).predict(X, on="odds")
    same = predictor_of(Ridge().fit(X, Y))
    assert isinstance(same, Predictor) and predictor_of(same) is same
    path = saved(tmp_path, Ridge().fit(X, Y))
    assert predictor_of(path).source == path


def test_versions_are_noted(tmp_path):
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, AMOUNT)
    data = pickle.dumps(model, protocol=0)
    version = __import__("sklearn").__version__
    path = tmp_path / "old.pkl"
    path.write_bytes(data.replace(f"V{version}\n".encode(), b"V1.0.2\n"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", InconsistentVersionWarning)
        predictor = load_model(str(path), sandbox=False)
    (note,) = predictor.notes
    assert note.startswith(f"Saved by scikit-learn 1.0.2 and opened by {version}: ")
    assert "StandardScaler" in note and "Ridge" in note
    del predictor.model[0].scale_  # as when another version looks for another attribute
    with pytest.raises(InputError, match=r"scale_.* Saved by scikit-learn 1\.0\.2"):
        predictor.predict(X)


# ---------------------------------------------------------------- files that cannot be used


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("m.pkl", b"", "is empty"),
        ("m.pkl", b"not a pickle at all", "cannot be read as a saved model"),
        ("m.pkl", pickle.dumps(LogisticRegression())[:-20], "ends too early"),
        ("m.joblib", zlib.compress(b"rubbish"), "cannot be read as a saved model"),
        ("m.joblib", zlib.compress(pickle.dumps([1] * 99))[:-8], "ends too early"),
        ("m.joblib", b"\x1f\x8brubbish", "cannot be read as a saved model"),
        ("m.joblib", bz2.compress(b""), "is empty"),
        ("m.joblib", b"\x04\x22\x4d\x18rubbish", "lz4"),
        ("m.onnx", b"rubbish", "ONNX"),
        ("m.json", b'{"a": 1}', "not an xgboost model"),
        ("m.txt", b"hello", "not a lightgbm model"),
        ("m.txt", b"tree\nnum_class=1\nrubbish", "not a lightgbm model"),
        ("m.xyz", b"x", r"model file: \.pkl"),
        ("m.onnx.gz", b"x", r"model file: \.pkl"),
    ],
)
def test_unusable_files_end_in_one_line(tmp_path, name, data, message):
    package = {"m.onnx": "onnxruntime", "m.json": "xgboost", "m.txt": "lightgbm"}.get(name)
    if package:
        pytest.importorskip(package)
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as failed:
        load_model(str(path))
    assert "\n" not in str(failed.value) and str(failed.value).isprintable()


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        load_model(str(tmp_path / "none.pkl"))
    (tmp_path / "folder.pkl").mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_model(str(tmp_path / "folder.pkl"))


@pytest.mark.parametrize(
    "name, package, install",
    [
        ("m.onnx", "onnxruntime", "pip install onnxruntime"),
        ("m.skops", "skops.io", "pip install skops"),
        ("m.json", "xgboost", "pip install xgboost"),
        ("m.txt", "lightgbm", "pip install lightgbm"),
    ],
)
def test_missing_packages_are_named(tmp_path, monkeypatch, name, package, install):
    (tmp_path / name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=install):
        load_model(str(tmp_path / name), sandbox=False)


def test_a_pickle_of_a_missing_package(monkeypatch):
    data = pickle.dumps(LogisticRegression(), protocol=0)
    data = data.replace(b"sklearn.linear_model._logistic", b"lightgbm.sklearn")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingDependencyError, match="pip install lightgbm"):
        load_pickle(data, name="m.pkl")
    data = pickle.dumps(LogisticRegression(), protocol=0)
    with pytest.raises(InputError, match=r"scikit-learn .* does not have"):
        load_pickle(data.replace(b"_logistic\n", b"_logistics\n"), name="m.pkl")


# ---------------------------------------------------------------- hostile files


class Evil:
    """Pickles into a call."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


class Plain(ClassifierMixin, BaseEstimator):
    """An estimator of the user."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rows_ = [1, 2]
        return self

    def predict(self, X):
        return np.arange(len(X)) % 2


class Other(Plain):
    pass


NAME = f"{__name__}.Plain"


def refused(data, match, name="model.pkl", **options):
    with pytest.raises(InputError, match=match) as error:
        load_pickle(data, name=name, **options)
    text = str(error.value)
    assert "\n" not in text and text.isprintable() and len(text) < 1500
    return text


@pytest.fixture
def marker(tmp_path):
    """A file that exists when something ran."""
    path = tmp_path / "ran"
    yield path
    assert not path.exists()


def touch(path):
    return f"touch {path}"


def make_file(path):
    open(path, "w").close()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_code_is_not_run(marker, protocol):
    command = touch(marker)
    python = f"open({str(marker)!r}, 'w').close()"
    for evil, name in [
        (Evil(os.system, command), r"(posix|nt)\.system"),
        (Evil(subprocess.Popen, ["touch", str(marker)]), r"subprocess\.Popen"),
        (Evil(eval, python), "eval"),
        (Evil(exec, python), "exec"),
        (Evil(getattr, Evil(__import__, "os"), "system"), "getattr, .*__import__"),
        (Evil(open, str(marker), "w"), r"open"),
        (Evil(np.testing._private.utils.runstring, python, {}), "runstring"),
    ]:
        for held in (evil, {"a": [evil]}, LogisticRegression(C=evil), (Ridge(), evil)):
            text = refused(pickle.dumps(held, protocol=protocol), name)
            assert "hostile" in text and "trust'" not in text


def test_code_inside_a_fitted_pipeline(marker, tmp_path, pipeline):
    evil = Evil(os.system, touch(marker))
    model = encoded(LogisticRegression()).fit(TABLE, Y)
    model.named_steps["columns"].named_transformers_["text"].secret_ = evil
    joblib.dump(model, tmp_path / "model.joblib", compress=3)
    with pytest.raises(InputError, match="system"):
        load_model(str(tmp_path / "model.joblib"))


@pytest.mark.parametrize("compress", [0, 3])
def test_code_inside_joblib_arrays(marker, compress):
    evil = Evil(os.system, touch(marker))
    for held in (evil, np.array([1, evil], dtype=object), Ridge(alpha=np.array([evil]))):
        buffer = io.BytesIO()
        joblib.dump(held, buffer, compress=compress)
        refused(buffer.getvalue(), r"\.system")


def text(value):
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def named(module, name):
    """The opcodes that push a name in the dotted form of protocol 4."""
    return text(module) + text(name) + b"\x93"


RIDGE = b"\x80\x04" + named("sklearn.linear_model._ridge", "Ridge") + b")\x81"


def test_distributions_do_not_run_the_code_that_scipy_keeps_in_them(marker):
    frozen = stats.uniform(0, 1)
    frozen.dist._parse_arg_template = f"open({str(marker)!r}, 'w')"
    data = pickle.dumps(RandomizedSearchCV(Ridge(), {"alpha": frozen}))
    model = load_pickle(data, name="m")
    assert type(model.param_distributions["alpha"]).__name__ == "Omitted"
    # the attribute access that discrete distributions need reaches nothing else
    data = b"\x80\x04(" + named("scipy.stats._continuous_distns", "norm_gen")
    data += named("builtins", "getattr") + RIDGE[2:] + text("fit") + b"\x86Rt."
    refused(data, "hostile or damaged")


def test_types_of_arrays_cannot_lie():
    """numpy would take bytes for pointers to objects, or read past the end."""
    pointer = {"a": (np.dtype("O"), 0)}
    outside = {"a": (np.dtype("i8"), 10**6)}
    for fields in (pointer, outside):
        lie = Evil(np.dtype, "V8", False, True)
        lie.__class__ = type(
            "Lie",
            (Evil,),
            {"__reduce__": lambda self: (*self.call, (3, "|", None, ("a",), self.fields, 8, 1, 0))},
        )
        lie.fields = fields
        array = Evil(np.array(0).__reduce__()[0], np.ndarray, (0,), b"b")
        array.__class__ = type(
            "Array",
            (Evil,),
            {"__reduce__": lambda self: (*self.call, (1, (1,), self.dtype, False, b"A" * 8))},
        )
        array.dtype = lie
        refused(pickle.dumps(array), "hostile or damaged|cannot be read as a saved model")


def test_functions_held_by_estimators_must_be_allowed(marker):
    data = pickle.dumps(FunctionTransformer(make_file, kw_args={}))
    text = refused(data, rf"allow-list: {__name__}\.make_file")
    assert "hostile" not in text
    assert load_pickle(pickle.dumps(FunctionTransformer(np.log1p)), name="m").func is np.log1p


def test_a_file_cannot_map_files(tmp_path, marker):
    data = b"\x80\x04" + named("numpy", "memmap") + text(str(marker)) + text("u1") + text("w+")
    refused(data + b"\x87R.", "hostile or damaged")


def test_bombs_that_unpack(monkeypatch):
    monkeypatch.setattr(unpack, "_LEAST", 2**20)
    for pack in (gzip.compress, zlib.compress, bz2.compress, lzma.compress):
        refused(pack(bytes(4 * 2**20)), "unpacks to more than")


def test_every_truncated_file_ends_in_an_input_error():
    data = pickle.dumps(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y))
    for end in range(0, len(data) - 1, 7):
        with pytest.raises(InputError):
            load_pickle(data[:end], name="m")


# ---------------------------------------------------------------- files of other libraries


@pytest.mark.parametrize("name", ["m.pt", "m.pth", "m.tflite", "m.h5", "m.safetensors", "m.pb"])
def test_files_of_other_libraries_are_named_and_shown_a_way(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04 or something else")
    with pytest.raises(InputError, match=r"torch|keras|tensorflow|weights") as error:
        load_model(str(tmp_path / name))
    shows_a_way(str(error.value))


def shows_a_way(message):
    assert ".onnx" in message and "'predictions'" in message
    assert "hostile" not in message and "\n" not in message


def test_honest_torch_pickles_are_not_called_hostile(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    for held in (model, model.state_dict()):
        shows_a_way(refused(pickle.dumps(held), "was written by torch"))
    torch.save(model, tmp_path / "model.pkl")
    shows_a_way(refused((tmp_path / "model.pkl").read_bytes(), "torch writes these"))
    torch.save(model, tmp_path / "old.pkl", _use_new_zipfile_serialization=False)
    shows_a_way(refused((tmp_path / "old.pkl").read_bytes(), "was written by torch, in its form"))
    hostile = pickle.dumps([model, Evil(os.system, "true")])
    assert "hostile" in refused(hostile, "system")


def test_pickles_of_unknown_classes_say_what_they_are():
    data = pickle.dumps(Plain(), protocol=0).replace(__name__.encode(), b"acme.risk.scores")
    message = refused(data, "Plain of acme, a package that fairaudit does not know")
    shows_a_way(message)
    data = pickle.dumps(Plain(), protocol=0).replace(__name__.encode(), b"__main__")
    shows_a_way(refused(data, "Plain, defined in a script or notebook"))


def test_keras_file_named_as_a_pickle():
    shows_a_way(refused(b"\x89HDF\r\n\x1a\n" + bytes(99), "keras writes these"))


# ---------------------------------------------------------------- trust


def test_trust_is_for_exact_names_only(tmp_path):
    path = saved(tmp_path, [Plain().fit(X, Y), Other().fit(X, Y)])
    with pytest.raises(InputError) as error:
        load_model(path)
    message = str(error.value)
    assert f"allow-list: {NAME}, {__name__}.Other." in message
    assert f"pass 'trust' {NAME} (repeat for each)" in message
    with pytest.raises(InputError, match=rf"allow-list: {__name__}\.Other\. "):
        load_model(path, trust=[NAME])
    data = (tmp_path / "model.pkl").read_bytes()
    made = load_pickle(data, name="m", trust=[NAME, f"{__name__}.Other"])
    assert [type(model).__name__ for model in made] == ["Plain", "Other"]
    path = saved(tmp_path, Plain().fit(X, Y))
    predictor = load_model(path, trust=[NAME])
    assert predictor.predict(X, on="labels")["label"].tolist() == [0, 1] * 30
    for pattern in (f"{__name__}.*", "Plain", "", "a b.c"):
        with pytest.raises(InputError, match="exact names"):
            load_model(path, trust=[pattern])


def test_trust_does_not_extend_to_the_rest_of_the_file(marker):
    model = Plain().fit(X, Y)
    model.more_ = Evil(os.system, touch(marker))
    refused(pickle.dumps(model), "system", trust=[NAME])


def test_trusted_functions_and_containers():
    data = pickle.dumps(FunctionTransformer(make_file))
    made = load_pickle(data, name="m", trust=[f"{__name__}.make_file"])
    assert made.func is make_file
    data = pickle.dumps(Evil(os.getpid))
    assert load_pickle(data, name="m", trust=[f"{os.name}.getpid"]) == os.getpid()


def test_a_class_of_a_script_cannot_be_found():
    data = pickle.dumps(Plain(), protocol=0).replace(__name__.encode(), b"__main__")
    refused(data, r"allow-list: __main__\.Plain")
    refused(data, "defined in a script or notebook", trust=["__main__.Plain"])


def test_the_list_for_other_formats():
    assert is_allowed("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor")
    assert is_allowed("sklearn.metrics._ranking.roc_auc_score")
    assert is_allowed("functools.partial")
    for name in (
        "scipy.stats._distn_infrastructure.rv_continuous_frozen",
        "os.system",
        "builtins.getattr",
        "numpy.dtype",
        "sklearn.nowhere.Thing",
    ):
        assert not is_allowed(name)


# ---------------------------------------------------------------- rarely used parts of pickles


def test_containers_of_every_protocol():
    values = [
        {1, 2},
        frozenset({3}),
        b"bytes",
        bytearray(b"more"),
        1 + 2j,
        slice(0, 2),
        slice("a", "b"),
        range(1, 9, 2),
        OrderedDict(a=1),
        defaultdict(list, a=[1]),
        (1, (2,)),
        {"k": [None, True]},
        np.array(["2020-01-01"], "M8[D]"),
        np.array([3], "m8[s]"),
        np.array([b"x"]),
        np.zeros(2, [("a", "i4", (2,)), ("b", "f8")]),
        np.asfortranarray(np.eye(3)[:2]),
        np.array([[1, 2], [3, 4]]).T,
        np.random.RandomState(1),
        np.random.SeedSequence(3),
    ]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        made = load_pickle(pickle.dumps(values, protocol), name="m")
        for new, own in zip(made, values, strict=True):
            assert type(new) is type(own)
            if isinstance(own, np.ndarray):
                assert new.dtype == own.dtype
                np.testing.assert_array_equal(new, own)
            elif not type(own).__module__.startswith("numpy"):
                assert new == own


def test_calls_that_make_containers():
    for name, empty in {"dict": {}, "list": [], "tuple": (), "set": set()}.items():
        data = b"\x80\x04" + named("builtins", name) + b")R."
        assert load_pickle(data, name="m") == empty


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_indexes_of_text(storage):
    pytest.importorskip("pyarrow")
    index = pd.Index(["a", "b"], dtype=pd.StringDtype(storage), name="n")
    pd.testing.assert_index_equal(load_pickle(pickle.dumps(index), name="m"), index)


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_types_of_text_of_pandas_below_2_3(storage):
    """They are made without arguments and told their storage afterwards."""
    pytest.importorskip("pyarrow")
    head = b"\x80\x02cpandas.core.arrays.string_\nStringDtype\n)\x81"
    told = b"}X\x07\x00\x00\x00storage" + b"X" + len(storage).to_bytes(4, "little")
    data = head + told + storage.encode() + b"sb."
    assert load_pickle(data, name="m") == pd.StringDtype(storage)
    for bent in (
        data.replace(b"storage", b"_secret"),
        data.replace(storage.encode(), b"s" * len(storage)),
    ):
        with pytest.raises(InputError, match="hostile or damaged"):
            load_pickle(bent, name="m")


def test_only_splines_have_a_pair_as_state():
    """Since scipy 1.18; anything else with `__setstate__` takes a dictionary."""
    for kind in (
        b"csklearn.linear_model._logistic\nLogisticRegression",
        b"cscipy.interpolate._bsplines\nBSpline",
    ):
        with pytest.raises(InputError, match="hostile or damaged"):
            load_pickle(b"\x80\x02" + kind + b"\n)\x81K\x01K\x02\x86b.", name="m")


class Rows(list):
    """A list of the user with a state of its own."""


class Slotted:
    __slots__ = ("a",)


class Keyed(dict):
    def __new__(cls, *args, size=0):
        made = super().__new__(cls)
        made.size = size
        return made

    def __init__(self, *args, size=0):
        super().__init__()

    def __getnewargs_ex__(self):
        return (), {"size": self.size}


class Stateful:
    def __setstate__(self, state):
        self.got = state

    def __getstate__(self):
        return "state"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_trusted_classes_are_filled_as_pickle_does(protocol):
    rows, keyed, slotted = Rows([1, 2]), Keyed(size=3), Slotted()
    rows.note, keyed["k"], slotted.a = "n", "v", 5
    trust = [f"{__name__}.{kind.__name__}" for kind in (Rows, Slotted, Keyed, Stateful)]
    values = [rows, Stateful()] + ([slotted, keyed] if protocol > 3 else [])
    made = load_pickle(pickle.dumps(values, protocol), name="m", trust=trust)
    assert made[0] == [1, 2] and made[0].note == "n" and made[1].got == "state"
    if protocol > 3:
        assert made[2].a == 5 and made[3] == {"k": "v"} and made[3].size == 3


def test_lists_that_share_and_trees_with_categories():
    shared = [1.0] * 10
    model = Ridge()
    model.coef_ = [shared, shared, (shared, {"a": shared})]
    assert load_pickle(pickle.dumps(model), name="m").coef_[0] == shared
    table = TABLE.assign(region=TABLE["region"].astype("category"))
    boosted = HistGradientBoostingClassifier(
        max_iter=2, categorical_features=["region"], min_samples_leaf=2
    ).fit(table, (TABLE["region"] == "north").astype(int))
    load_pickle(pickle.dumps(boosted), name="m")
    nodes = boosted._predictors[0][0].nodes
    nodes["bitset_idx"][nodes["is_categorical"] == 1] = 99
    refused(pickle.dumps(boosted), "categories outside")


def test_modules_that_cannot_be_imported(tmp_path, monkeypatch):
    (tmp_path / "broken_for_tests.py").write_text("raise OSError('no such disk')\n")
    (tmp_path / "wanting_for_tests.py").write_text("import nowhere_at_all\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(InputError, match="Importing broken_for_tests failed: OSError: no such"):
        load_model("broken_for_tests:f")
    with pytest.raises(InputError, match="Install what wanting_for_tests needs"):
        load_model("wanting_for_tests:f")


@pytest.mark.parametrize("time", ["05:59:42", "06:00:01"])
def test_a_note_of_xgboost_has_no_time(time, tmp_path, monkeypatch):
    """A record would be another one each second; and what is said once is another one later."""
    where = f"[{time}] WARNING: /workspace/src/common/error_msg.h:83: "
    once = "If you are loading a serialized model (like pickle in Python, RDS in R) or\nanother"
    (tmp_path / "model.pkl").write_bytes(b"x")

    def opened(*_):
        warnings.warn(where + once, UserWarning, stacklevel=2)
        warnings.warn(f"{where}Falling back\nto something", UserWarning, stacklevel=2)
        return LogisticRegression()

    monkeypatch.setitem(loading.OPEN, ".pkl", opened)
    assert load_model(str(tmp_path / "model.pkl"), sandbox=False).notes == ("Falling back",)
