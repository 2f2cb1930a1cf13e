"""The rival remedies (HGR penalty, GerryFair, reduction), each on the violation it targets."""

from __future__ import annotations

import builtins
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import fairaudit as fa
from fairaudit.models.safe_pickle import load_pickle
from fairaudit.remedy.gerryfair import GerryFairClassifier
from fairaudit.remedy.hgr_penalty import HGRClassifier, HGRRegressor, _chi_squared, _densities
from fairaudit.remedy.reduction import ReductionClassifier

pytest.importorskip("fairlearn")


@pytest.fixture(autouse=True)
def _one_thread_of_torch(request):
    if "hgr" not in request.node.name:  # the others need no torch
        yield
        return
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def classes(n=1200, seed=0):
    """Two classes; the features betray sex and race beyond the outcome."""
    rng = np.random.default_rng(seed)
    sex, race, y = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    X = np.column_stack(
        [
            y + rng.normal(size=n),
            1.5 * sex + y + 0.5 * rng.normal(size=n),
            (race == 2) + 0.5 * y + 0.5 * rng.normal(size=n),
        ]
    )
    A = pd.DataFrame({"sex": np.where(sex == 1, "m", "f"), "race": np.array(list("abc"))[race]})
    return X, y, A


def numbers(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    age, y = rng.normal(size=(2, n))
    X = np.column_stack([y + rng.normal(size=n), 0.7 * y + age + 0.3 * rng.normal(size=n)])
    return X, y, {"age": age}


X, Y, A = classes()
SEX = A["sex"].to_numpy()
MODELS = {
    "hgr": HGRClassifier(0.5, epochs=3),
    "hgr-linear": HGRClassifier(0.5, epochs=3, predictor="linear"),
    "gerryfair": GerryFairClassifier(0.005, rounds=40),
    "gerryfair-fn": GerryFairClassifier(0.005, rounds=40, rates="FN"),
    "reduction": ReductionClassifier(0.05, max_iter=6),
}
every = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# ---------------------------------------------------------------- what all share


@every
def test_same_seed_same_model_and_probabilities(model):
    first = clone(model).fit(X, Y, sensitive_features=A)
    again = clone(model).fit(X, Y, sensitive_features=A)
    chances = first.predict_proba(X)
    np.testing.assert_array_equal(chances, again.predict_proba(X))
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert chances.min() >= 0
    np.testing.assert_array_equal(first.predict(X), (chances[:, 1] >= 0.5).astype(int))


@every
def test_clone_and_parameters(model):
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(random_state=7).random_state == 7
    with pytest.raises(NotFittedError):
        copy.predict(X)


@every
def test_pickles_without_trust(model):
    fitted = clone(model).fit(X, Y, sensitive_features=A)
    data = pickle.dumps(fitted)
    for loaded in (pickle.loads(data), load_pickle(data, name="x.pkl")):
        np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))


@every
def test_frames_keep_names_and_labels(model):
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    labels = np.array(["no", "yes"])[Y]
    by_frame = clone(model).fit(frame, labels, sensitive_features=A)
    assert list(by_frame.feature_names_in_) == ["u", "v", "w"]
    assert by_frame.n_features_in_ == 3
    assert set(by_frame.predict(frame)) <= {"no", "yes"}
    by_array = clone(model).fit(X, Y, sensitive_features=A.to_numpy())
    np.testing.assert_allclose(by_frame.predict_proba(frame), by_array.predict_proba(X))
    with pytest.raises(ValueError, match="features"):
        by_array.predict(X[:, :2])


@every
def test_errors_about_input(model):
    model = clone(model)
    with pytest.raises(fa.InputError, match=f"{type(model).__name__}.fit needs the sensitive"):
        model.fit(X, Y)
    with pytest.raises(fa.InputError, match="one class"):
        model.fit(X, np.zeros(len(X)), sensitive_features=A)
    with pytest.raises(fa.InputError, match="rows"):
        model.fit(X, Y, sensitive_features=A[:-1])
    with pytest.raises(fa.InputError, match="single value"):
        model.fit(X, Y, sensitive_features=np.zeros(len(X)))


@pytest.mark.parametrize("model", [GerryFairClassifier(), ReductionClassifier()])
def test_mixtures_need_two_classes(model):
    with pytest.raises(fa.InputError, match=r"two classes\. Got 3"):
        model.fit(X, np.arange(len(X)) % 3, sensitive_features=A)


@pytest.mark.parametrize("name", ["gerryfair", "reduction"])
def test_a_mixture_is_drawn_on_request(name):
    fitted = clone(MODELS[name]).fit(X, Y, sensitive_features=A)
    share = fitted.predict_proba(X)[:, 1]
    assert ((share > 0) & (share < 1)).any()
    draws = np.array([fitted.predict(X, random_state=k) for k in range(60)])
    np.testing.assert_array_equal(draws[3], fitted.predict(X, random_state=3))
    assert (draws[0] != draws[1]).any()
    assert np.abs(draws.mean(axis=0) - share).max() < 0.3
    assert abs(draws.mean() - share.mean()) < 0.01
    for sure in (0, 1):
        assert (draws[:, share == sure] == sure).all()


# ---------------------------------------------------------------- HGR


def test_hgr_trades_loss_for_dependence():
    U, z, B = classes(seed=1)
    path = HGRClassifier(epochs=25).fit_path(X, Y, A, [0.0, 1.0, 3.0])
    scores = [model.predict_proba(U)[:, 1] for model in path]
    kpc = [float(fa.metrics.kpc(score, sensitive=B, y_true=z)) for score in scores]
    hgr = [float(fa.metrics.hgr(score, sensitive=B, y_true=z)) for score in scores]
    loss = [-np.log(np.where(z == 1, score, 1 - score)).mean() for score in scores]
    assert kpc[0] > 1.5 * kpc[1] > 1.5 * kpc[2]
    assert hgr[0] > hgr[1] > hgr[2]
    assert loss[0] < loss[1] < loss[2]
    assert [model.lam for model in path] == [0.0, 1.0, 3.0]
    assert path[2].history_[-1]["penalty"] < path[0].history_[-1]["penalty"]


def test_hgr_regressor_with_a_continuous_attribute():
    U, z, B = numbers(seed=1)
    V, w, C = numbers()
    path = HGRRegressor(epochs=25).fit_path(V, w, C, [0.0, 4.0])
    kpc = [float(fa.metrics.kpc(model.predict(U), sensitive=B, y_true=z)) for model in path]
    error = [np.mean((model.predict(U) - z) ** 2) for model in path]
    assert kpc[0] > 2 * kpc[1]
    assert error[0] < error[1] < 1.2
    loaded = load_pickle(pickle.dumps(path[1]), name="x.pkl")
    np.testing.assert_array_equal(loaded.predict(U), path[1].predict(U))


def test_hgr_without_weight_is_plain_training():
    model = HGRClassifier(0.0, epochs=4)
    other = {"noise": np.random.default_rng(3).normal(size=len(X))}
    np.testing.assert_array_equal(
        clone(model).fit(X, Y, sensitive_features=A).predict_proba(X),
        clone(model).fit(X, Y, sensitive_features=other).predict_proba(X),
    )
    linear = HGRClassifier(0.0, predictor="linear", learning_rate=0.05)
    linear.fit(X, Y, sensitive_features=A)
    logistic = LogisticRegression(C=1e6).fit(X, Y)
    gap = np.abs(linear.predict_proba(X) - logistic.predict_proba(X))
    assert gap.max() < 0.03


def test_hgr_path_equals_single_fits():
    path = HGRClassifier(epochs=3).fit_path(X, Y, A, [0.0, 0.5])
    for model in path:
        alone = HGRClassifier(model.lam, epochs=3).fit(X, Y, sensitive_features=A)
        np.testing.assert_allclose(alone.predict_proba(X), model.predict_proba(X), atol=2e-4)


def test_hgr_with_several_classes():
    labels = np.array(["low", "mid", "top"])[(Y + (X[:, 0] > 1)).astype(int)]
    path = HGRClassifier(epochs=15).fit_path(X, labels, A[["sex"]], [0.0, 3.0])
    assert path[0].predict_proba(X).shape == (len(X), 3)
    hgr = [
        float(fa.metrics.hgr(m.predict_proba(X)[:, 2], sensitive=A[["sex"]], y_true=labels))
        for m in path
    ]
    assert hgr[1] < hgr[0]


def test_hgr_chi_squared_is_that_of_the_cells():
    """A score of two far values is a category: χ² by hand, averaged over the classes."""
    import torch

    from fairaudit.data.columns import columns_from

    score = (X[:, 1] > 1).astype(float)
    (a,) = columns_from({"a": SEX}, argument="a")
    (y,) = columns_from({"y": Y}, argument="y", outcome=True)
    d = _densities(a, y, 10**9)
    parts = [torch.as_tensor(v, dtype=torch.float32) for v in (d.attribute, d.outcome, d.points)]
    found = _chi_squared(torch.tensor(score).float().reshape(1, -1, 1), *parts, 0.15)
    by_hand = 0.0
    for k in (0, 1):
        table = pd.crosstab(score[k == Y], SEX[k == Y], normalize=True).to_numpy()
        expected = np.outer(table.sum(axis=1), table.sum(axis=0))
        by_hand += np.mean(k == Y) * ((table**2 / expected).sum() - 1)
    assert abs(float(found[0]) - by_hand) < 0.02 * by_hand
    flat = torch.zeros(1, len(X), 1)
    assert abs(float(_chi_squared(flat, *parts, 0.15)[0])) < 1e-5


def test_hgr_refuses_bad_parameters():
    for parameters, text in [
        ({"lam": -1}, "'lam'"),
        ({"predictor": "tree"}, "'predictor'"),
        ({"epochs": 0}, "'epochs'"),
    ]:
        with pytest.raises(fa.InputError, match=text):
            HGRClassifier(**parameters).fit(X, Y, sensitive_features=A)
    with pytest.raises(fa.InputError, match="constant"):
        HGRRegressor().fit(X, np.ones(len(X)), sensitive_features=A)


# ---------------------------------------------------------------- GerryFair


@pytest.mark.parametrize("rates", ["FP", "FN"])
def test_gerryfair_lowers_the_subgroup_violation(rates):
    U, z, B = classes(seed=1)
    rate = {"FP": "fpr", "FN": "fnr"}[rates]
    plain = GerryFairClassifier(1.0, rates=rates).fit(X, Y, sensitive_features=A)
    fair = GerryFairClassifier(0.005, rates=rates).fit(X, Y, sensitive_features=A)
    assert fair.violation_ <= 0.005 < plain.violation_
    assert fair.n_rounds_ > 1 == plain.n_rounds_
    before = float(
        fa.metrics.subgroup_violation(plain.predict(U), sensitive=B, y_true=z, rate=rate)
    )
    after = [
        float(
            fa.metrics.subgroup_violation(
                fair.predict(U, random_state=k), sensitive=B, y_true=z, rate=rate
            )
        )
        for k in range(5)
    ]
    assert np.mean(after) < 0.6 * before
    chosen = fair.history_[fair.n_rounds_ - 1]
    assert chosen["error"] > plain.history_[0]["error"]
    found = np.abs(fair.predict_proba(X)[:, 1] - Y).mean()
    assert abs(found - chosen["error"]) < 1e-9


@pytest.mark.parametrize("rates", ["FP", "FN"])
def test_gerryfair_with_a_large_gamma_is_least_squares(rates):
    model = GerryFairClassifier(1.0, rates=rates).fit(X, Y, sensitive_features=A)
    costs = LinearRegression().fit(X, 1 - 2 * Y).predict(X)
    np.testing.assert_array_equal(model.predict(X), costs < 0)
    assert set(model.predict_proba(X)[:, 1]) == {0.0, 1.0}


def test_gerryfair_with_numbers_and_collinear_features():
    age = np.random.default_rng(2).normal(size=len(X)) + (SEX == "m")
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(X))])
    model = GerryFairClassifier(0.01).fit(wide, Y, sensitive_features={"age": age})
    assert model.violation_ <= 0.01 < model.history_[0]["violation"]


def test_gerryfair_with_a_regressor_of_costs():
    by_hand = GerryFairClassifier(0.005, rounds=20)
    by_estimator = clone(by_hand).set_params(estimator=LinearRegression())
    chances = [m.fit(X, Y, sensitive_features=A).predict_proba(X) for m in (by_hand, by_estimator)]
    np.testing.assert_allclose(*chances)
    loaded = load_pickle(pickle.dumps(by_estimator), name="x.pkl")
    np.testing.assert_array_equal(loaded.predict_proba(X), chances[1])


def test_gerryfair_says_when_gamma_is_out_of_reach():
    with pytest.warns(ConvergenceWarning, match="gamma=0 "):
        GerryFairClassifier(0.0, rounds=3).fit(X, Y, sensitive_features=A)


def test_gerryfair_refuses_bad_parameters():
    for parameters in ({"rates": "TP"}, {"gamma": -1}, {"C": 0}, {"rounds": 0}):
        with pytest.raises(fa.InputError, match=next(iter(parameters))):
            GerryFairClassifier(**parameters).fit(X, Y, sensitive_features=A)


# ---------------------------------------------------------------- reduction


def test_reduction_lowers_the_odds_difference():
    U, z, B = classes(seed=1)
    plain = LogisticRegression().fit(X, Y)
    fair = ReductionClassifier(0.02).fit(X, Y, sensitive_features=A)
    difference = fa.metrics.equalized_odds_difference
    before = float(difference(plain.predict(U), B, z))
    after = np.mean([float(difference(fair.predict(U, random_state=k), B, z)) for k in range(5)])
    assert after < 0.6 * before
    assert np.abs(fair.predict_proba(U)[:, 1] - z).mean() > np.mean(plain.predict(U) != z)
    assert abs(fair.weights_.sum() - 1) < 1e-12
    assert len(fair.weights_) == len(fair.estimators_)


def test_reduction_with_a_large_bound_is_plain_training():
    model = ReductionClassifier(1.0).fit(X, Y, sensitive_features=A)
    np.testing.assert_array_equal(model.predict(X), LogisticRegression().fit(X, Y).predict(X))


def test_reduction_is_fairlearns():
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient

    model = ReductionClassifier(0.05, GaussianNB(), max_iter=6).fit(X, Y, sensitive_features=A)
    theirs = ExponentiatedGradient(
        GaussianNB(), EqualizedOdds(difference_bound=0.05), eps=0.01, max_iter=6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X, Y, sensitive_features=A["sex"] + A["race"])
    np.testing.assert_allclose(model.predict_proba(X), theirs._pmf_predict(X), atol=1e-9)


def test_reduction_of_a_pipeline_with_text():
    frame = pd.DataFrame({"u": np.where(X[:, 0] > 0.5, "high", "low"), "v": A["race"]})
    model = ReductionClassifier(
        0.05,
        make_pipeline(OneHotEncoder(), LogisticRegression()),
        max_iter=4,
        sample_weight_name="logisticregression__sample_weight",
    ).fit(frame, Y, sensitive_features=A["sex"])
    assert list(model.feature_names_in_) == ["u", "v"]
    assert model.predict(frame).shape == Y.shape


def test_reduction_refuses_numbers_as_attributes():
    mixed = {"sex": SEX, "age": X[:, 0], "children": np.arange(len(X)) % 5}
    with pytest.raises(fa.InputError, match=r"'age' \(continuous\), 'children' \(integer\)"):
        ReductionClassifier().fit(X, Y, sensitive_features=mixed)
    with pytest.raises(fa.InputError, match="difference_bound"):
        ReductionClassifier(-1).fit(X, Y, sensitive_features=A)


def test_reduction_without_fairlearn(monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name.startswith("fairlearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(fa.MissingDependencyError, match="pip install fairlearn"):
        ReductionClassifier().fit(X, Y, sensitive_features=A)
