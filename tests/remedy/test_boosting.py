"""Boosted trees towards equalized odds: derivatives, plain boosting at μ = 0, and good manners."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.remedy.attribute_residuals import attribute_residuals
from fairaudit.remedy.boosting_objective import Penalized, Ramp
from fairaudit.remedy.dependence_gradient import WeightedDependence

lightgbm = pytest.importorskip("lightgbm")

SMALL = {"num_leaves": 7, "min_child_samples": 10}


def table(n: int = 1200, seed: int = 0):
    """Sex and age move a feature that also predicts the outcome."""
    rng = np.random.default_rng(seed)
    sex, y = rng.integers(0, 2, (2, n))
    age = rng.normal(size=n)
    X = np.column_stack([
        y + rng.normal(size=n),
        sex + 0.5 * age + 0.4 * rng.normal(size=n) + y / 2,
        rng.normal(size=n),
    ])  # fmt: skip
    return X, y, pd.DataFrame({"sex": np.where(sex, "f", "m"), "age": age})


def residuals_of(outcome_values, attributes, weights=None):
    (outcome,) = columns_from({"y": outcome_values}, argument="y", outcome=True)
    columns = columns_from(attributes, argument="a")
    return attribute_residuals(outcome, columns, None, 0, weights)


# -- derivatives


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("names", [["sex"], ["sex", "age"]])
def test_gradient_is_that_of_finite_differences(names, outputs):
    _, y, attributes = table(400)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2, len(y))
    dependence = WeightedDependence(residuals_of(y, attributes[names], weights), weights)
    prediction = rng.random((400, outputs)) + 0.3 * (attributes["sex"] == "f").to_numpy()[:, None]
    slope = dependence.slope(prediction)
    assert dependence.field(prediction).value == pytest.approx(dependence(prediction), rel=1e-6)
    for direction in rng.normal(size=(4, 400, outputs)):
        step = 3e-3 * direction
        difference = (dependence(prediction + step) - dependence(prediction - step)) / 6e-3
        assert difference == pytest.approx(float((slope.gradient * direction).sum()), abs=2e-4)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_derivatives_of_the_objective_by_the_scores(classes):
    _, y, attributes = table(400)
    rng = np.random.default_rng(2)
    if classes == 3:
        y = rng.integers(0, 3, 400)
    dependence = WeightedDependence(residuals_of(y, attributes))
    target = rng.normal(size=400) if classes == 0 else y.astype(float)
    objective = Penalized(target, classes, 0.6, dependence)
    scores = rng.normal(size=(400, 3 if classes == 3 else 1))
    scores += (attributes["sex"] == "f").to_numpy()[:, None]
    gradient, hessian = objective.derivatives(scores, objective.field(scores, 1.0))
    assert gradient.shape == hessian.shape == scores.shape
    assert (hessian > 0).all()
    # derivatives are of the sum over rows, divided by 1 − μ, and of half of a squared error
    size = 400 / 0.4 * (0.5 if classes == 0 else 1.0)

    def value(at):
        look = objective.measures(at)
        return size * (0.4 * look["loss"] + 0.6 * 1.5 * objective.dependence(
            objective.predicted(at)
        ))  # fmt: skip

    for direction in rng.normal(size=(4, *scores.shape)):
        step = 3e-3 * direction
        difference = (value(scores + step) - value(scores - step)) / 6e-3
        assert difference == pytest.approx(float((gradient * direction).sum()), rel=0.01, abs=0.3)


def test_the_bound_of_the_curvature_holds():
    _, y, attributes = table(300)
    dependence = WeightedDependence(residuals_of(y, attributes[["sex"]]))
    rng = np.random.default_rng(3)
    prediction = rng.random((300, 1))
    slope = dependence.slope(prediction)
    for direction in rng.normal(size=(20, 300, 1)):
        step = 1e-2 * direction
        change = (
            dependence(prediction + step)
            - dependence(prediction)
            - float((slope.gradient * step).sum())
        )
        assert change <= 0.5 * float((slope.curvature * step**2).sum()) + 1e-6


def test_dependence_agrees_with_that_of_the_networks():
    torch = pytest.importorskip("torch")
    from fairaudit.remedy.dependence import Dependence

    _, y, attributes = table(2000)
    residuals = residuals_of(y, attributes)
    prediction = np.random.default_rng(0).random((2000, 1)) + 0.2 * (attributes[["age"]] > 0)
    prediction = prediction.to_numpy()
    there = float(Dependence(residuals)(torch.tensor(prediction, dtype=torch.float32)[None])[0])
    assert WeightedDependence(residuals)(prediction) == pytest.approx(there, rel=2e-3)


def test_a_weight_of_two_is_a_row_that_stands_twice():
    _, y, attributes = table(300)
    twice = np.random.default_rng(0).random(300) < 0.3
    weights = 1.0 + twice
    rows = np.repeat(np.arange(300), weights.astype(int))
    prediction = np.random.default_rng(1).random((300, 1))
    weighted = WeightedDependence(residuals_of(y, attributes[["sex"]], weights), weights)
    doubled = WeightedDependence(residuals_of(y[rows], attributes.iloc[rows][["sex"]]))
    assert weighted(prediction) == pytest.approx(doubled(prediction[rows]), abs=1e-6)
    one, many = weighted.slope(prediction), doubled.slope(prediction[rows])
    summed = np.bincount(rows, many.gradient[:, 0])
    np.testing.assert_allclose(one.gradient[:, 0], summed, atol=1e-7)


# -- estimators


def test_mu_zero_is_plain_lightgbm():
    X, y, attributes = table()
    plain = lightgbm.LGBMClassifier(
        n_estimators=40, n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True, **SMALL
    ).fit(X, y)
    model = fa.FairICPBoostingClassifier(mu=0, rounds=40, params=SMALL, validation_fraction=0)
    model.set_params(learning_rate=0.1).fit(X, y, sensitive_features=attributes)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-9)


def test_mu_zero_is_plain_lightgbm_for_numbers_and_for_classes():
    X, y, attributes = table()
    target = 3 * X[:, 0] + np.random.default_rng(0).normal(size=len(y)) + 20
    how = {"n_estimators": 30, "n_jobs": 1, "verbose": -1, **SMALL}
    own = {"mu": 0, "rounds": 30, "params": SMALL, "validation_fraction": 0, "learning_rate": 0.1}
    plain = lightgbm.LGBMRegressor(**how).fit(X, target)
    model = fa.FairICPBoostingRegressor(**own)
    model.fit(X, target, sensitive_features=attributes[["sex"]])
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-4)
    three = y + (X[:, 2] > 1)
    plain = lightgbm.LGBMClassifier(**how).fit(X, three)
    model = fa.FairICPBoostingClassifier(**own).fit(X, three, sensitive_features=attributes)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("learner", ["lightgbm", "xgboost"])
def test_dependence_falls_with_mu(learner):
    pytest.importorskip(learner)
    X, y, attributes = table(3000)
    fresh, truth, others = table(3000, seed=1)
    models = fa.FairICPBoostingClassifier(learner=learner, rounds=80).fit_path(
        X, y, attributes, [0.0, 0.5, 0.95]
    )
    sizes = [
        float(fa.metrics.kpc_centered(
            model.predict_proba(fresh)[:, 1], sensitive=others, y_true=truth
        ))
        for model in models
    ]  # fmt: skip
    assert sizes[0] > 0.05
    assert sizes[1] < 0.5 * sizes[0]
    assert sizes[2] < 0.2 * sizes[0]
    accuracy = np.mean(models[2].predict(fresh) == truth)
    assert accuracy > 0.6


def test_a_path_has_the_models_that_are_trained_alone():
    X, y, attributes = table()
    make = fa.FairICPBoostingClassifier(rounds=30, params=SMALL)
    path = clone(make).fit_path(X, y, attributes, [0.0, 0.8])
    alone = clone(make).set_params(mu=0.8).fit(X, y, sensitive_features=attributes)
    assert [model.mu for model in path] == [0.0, 0.8]
    np.testing.assert_array_equal(path[1].predict_proba(X), alone.predict_proba(X))


def test_folds():
    X, y, attributes = table(600)
    how = {"rounds": 10, "params": SMALL}
    one = fa.FairICPBoostingClassifier(folds=0, **how).fit(X, y, sensitive_features=attributes)
    three = fa.FairICPBoostingClassifier(**how).fit(X, y, sensitive_features=attributes)
    assert (len(one.boosters_), len(three.boosters_)) == (1, 3)
    raw = [booster.predict(X, raw_score=True) for booster in three.boosters_]
    chances = 1 / (1 + np.exp(-(np.mean(raw, axis=0) + three.base_[0])))
    np.testing.assert_allclose(three.predict_proba(X)[:, 1], chances)


def test_three_classes_and_words():
    X, y, attributes = table(900)
    words = np.array(["low", "middle", "top"])[y + (X[:, 2] > 0.5)]
    model = fa.FairICPBoostingClassifier(rounds=30, params=SMALL)
    model.fit(X, words, sensitive_features=attributes)
    assert model.predict_proba(X).shape == (900, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert set(model.predict(X)) <= set(words)


def test_regression_towards_equalized_odds():
    X, y, attributes = table(1500)
    target = y + np.random.default_rng(0).normal(size=len(y))
    plain, fair = fa.FairICPBoostingRegressor(rounds=60, params=SMALL).fit_path(
        X, target, attributes[["sex"]], [0.0, 0.9]
    )
    sizes = [
        float(fa.metrics.kpc_centered(m.predict(X), sensitive=attributes[["sex"]], y_true=target))
        for m in (plain, fair)
    ]
    assert sizes[1] < 0.7 * sizes[0]
    assert np.corrcoef(fair.predict(X), target)[0, 1] > 0.2


@pytest.mark.parametrize("learner", ["lightgbm", "xgboost"])
def test_gaps_and_categories(learner):
    pytest.importorskip(learner)
    X, y, attributes = table(600)
    X[::7, 0] = np.nan
    how = {"learner": learner, "rounds": 20}
    model = fa.FairICPBoostingClassifier(**how).fit(X, y, sensitive_features=attributes)
    assert np.isfinite(model.predict_proba(X)).all()
    frame = pd.DataFrame(X, columns=["a [1]", "b", "c"])
    frame["town"] = pd.Categorical(np.where(y + X[:, 2] > 1, "x", "z"))
    model = fa.FairICPBoostingClassifier(**how).fit(frame, y, sensitive_features=attributes)
    assert list(model.feature_names_in_) == list(frame)
    assert np.mean(model.predict(frame) == y) > 0.6
    again = frame.iloc[:5].copy()
    again["town"] = again["town"].cat.remove_unused_categories()
    np.testing.assert_allclose(model.predict_proba(again), model.predict_proba(frame)[:5])


def test_weights_count_as_rows():
    X, y, attributes = table(600)
    twice = np.random.default_rng(0).random(600) < 0.5
    rows = np.repeat(np.arange(600), 1 + twice)
    # leaves are limited by the sum of second derivatives, not by rows that weights leave alone
    params = {"num_leaves": 4, "min_child_samples": 1, "min_sum_hessian_in_leaf": 5, "max_bin": 500}
    params |= {"min_data_in_bin": 1, "max_bin": 2000}
    make = fa.FairICPBoostingClassifier(rounds=10, params=params, validation_fraction=0)
    some = attributes[["sex"]]
    weighted = clone(make).fit(X, y, sensitive_features=some, sample_weight=1.0 + twice)
    doubled = clone(make).fit(X[rows], y[rows], sensitive_features=some.iloc[rows])
    ignored = clone(make).fit(X, y, sensitive_features=some)
    same = np.abs(weighted.predict_proba(X) - doubled.predict_proba(X)).mean()
    assert same < 1e-3
    assert np.abs(ignored.predict_proba(X) - doubled.predict_proba(X)).mean() > 10 * same


# -- manners


@pytest.mark.parametrize("learner", ["lightgbm", "xgboost"])
def test_clone_pickle_and_pipeline(learner):
    pytest.importorskip(learner)
    X, y, attributes = table(500)
    model = fa.FairICPBoostingClassifier(0.5, learner=learner, rounds=15, params=SMALL)
    if learner == "xgboost":
        model.set_params(params={"max_depth": 3})
    assert clone(model).get_params() == model.get_params()
    pipe = make_pipeline(StandardScaler(), model)
    name = f"{type(model).__name__.lower()}__sensitive_features"
    pipe.fit(X, y, **{name: attributes})
    back = pickle.loads(pickle.dumps(pipe))
    np.testing.assert_array_equal(back.predict_proba(X), pipe.predict_proba(X))


def test_search_over_mu():
    X, y, attributes = table(500)
    make = fa.FairICPBoostingClassifier(rounds=10, params=SMALL, validation_fraction=0)
    search = GridSearchCV(make, {"mu": [0.0, 0.9]}, cv=2)
    codes = (attributes["sex"] == "f").to_numpy().astype(float)
    search.fit(X, y, sensitive_features=codes)
    assert search.best_params_["mu"] in (0.0, 0.9)


def test_no_torch_is_needed(monkeypatch):
    X, y, attributes = table(400)
    monkeypatch.setitem(sys.modules, "torch", None)
    model = fa.FairICPBoostingClassifier(rounds=10, validation_fraction=0)
    model.fit(X, y, sensitive_features=attributes)
    target = X[:, 0] + X[:, 1]
    fa.FairICPBoostingRegressor(rounds=10, validation_fraction=0).fit(
        X, target, sensitive_features=attributes[["sex"]]
    )


def test_random_state_may_be_none():
    X, y, attributes = table(400)
    model = fa.FairICPBoostingClassifier(rounds=5, random_state=None)
    assert model.fit(X, y, sensitive_features=attributes).predict(X).shape == (400,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": 1.5}, "'mu' must lie in"),
        ({"learner": "catboost"}, "'learner' must be one of lightgbm, xgboost"),
        ({"rounds": 0}, "'rounds' must be a whole number"),
        ({"params": {"objective": "binary"}}, "decides itself"),
        ({"params": {"n_estimators": 5}}, "that is the parameter 'rounds'"),
        ({"params": {"num_leaves": 1}}, "lightgbm refuses"),
        ({"learning_rate": 0}, "'learning_rate' must be"),
        ({"ramp": (0.5, 0.1)}, "'ramp' must be"),
        ({"validation_fraction": 0.01, "folds": 0}, "too few for a validation part"),
        ({"folds": 1}, "'folds' must be"),
        ({"validation_fraction": 1.0}, "'validation_fraction' must"),
    ],
)
def test_errors_are_one_line(options, message):
    X, y, attributes = table(300)
    with pytest.raises(fa.InputError, match=message) as caught:
        fa.FairICPBoostingClassifier(**options).fit(X, y, sensitive_features=attributes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "message"), [([1.0, 2.0], "one number per row"), (-np.ones(300), "not negative")]
)
def test_errors_of_weights(weights, message):
    X, y, attributes = table(300)
    with pytest.raises(fa.InputError, match=message):
        fa.FairICPBoostingClassifier().fit(
            X, y, sensitive_features=attributes, sample_weight=weights
        )


def test_sensitive_features_are_needed():
    X, y, _ = table(300)
    with pytest.raises(fa.InputError, match="needs the sensitive attributes"):
        fa.FairICPBoostingClassifier().fit(X, y)


def test_text_among_categories():
    X, y, attributes = table(300)
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=pd.Categorical(y), e="word")
    with pytest.raises(fa.InputError, match="Column 'e' of X holds text"):
        fa.FairICPBoostingClassifier().fit(frame, y, sensitive_features=attributes)


def test_a_missing_learner_names_the_extra(monkeypatch):
    X, y, attributes = table(300)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(fa.MissingDependencyError, match="Install the extra 'boost', or lightgbm"):
        fa.FairICPBoostingClassifier().fit(X, y, sensitive_features=attributes)


def test_ramp():
    ramp = Ramp(10, 20)
    assert [ramp.at(k) for k in (0, 9)] == [0.0, 0.0]
    assert 0 < ramp.at(10) < ramp.at(15) < 1
    assert ramp.at(19) == ramp.at(100) == 1.0
    assert Ramp(0, 0).at(0) == 1.0


def test_repair_by_boosting(tmp_path):
    from fairaudit.datasets import load_demo
    from fairaudit.models import load_model

    result = fa.repair(
        load_demo(1500),
        sensitive="race,sex,age",
        outcome="repaid",
        method="boosting",
        use_sensitive=True,
        mus=[0, 0.8],
        mu=0.8,
        steps=60,
        permutations=99,
        out=tmp_path / "new.pkl",
        force=True,
    )
    assert result.after.joint.kpc < result.before.joint.kpc
    loaded = load_model(str(tmp_path / "new.pkl"))  # nothing is trusted
    assert loaded.kind.endswith("Pipeline")
