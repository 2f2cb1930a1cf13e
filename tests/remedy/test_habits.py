"""Habits of scikit-learn: its checks, weights, features of any kind, seeds, warm starts, errors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from remedy import supplied
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import fairaudit as fa
from fairaudit.models.safe_pickle import load_pickle

torch = pytest.importorskip("torch")
NETWORK = {"validation_fraction": 0, "steps": 12, "hidden": 8, "learning_rate": 0.1}
CHECKED = [
    supplied.FairICPClassifier(**NETWORK),
    supplied.FairICPRegressor(density=supplied.flat, **NETWORK),
    supplied.HGRClassifier(epochs=10),
    pytest.param(supplied.HGRRegressor(epochs=10), marks=pytest.mark.slow),
    supplied.GerryFairClassifier(rounds=20),
    pytest.param(supplied.ReductionClassifier(max_iter=1), marks=pytest.mark.slow),
]
_STEPS = "a network is trained by steps from a random start: the same loss, not the same bytes"
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": _STEPS}  # docs/remedy.md lists them


@pytest.mark.parametrize("estimator", CHECKED, ids=lambda e: type(e).__name__)
def test_checks_of_scikit_learn(estimator):
    """All of them pass but those in the list; one that passes now must leave the list."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, "estimator_checks_generator"):
        pytest.skip("scikit-learn below 1.6 has no generator of checks")
    if type(estimator).__name__ == "ReductionClassifier":
        pytest.importorskip("fairlearn")
    failed = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for instance, check in checks.estimator_checks_generator(estimator):
            try:
                check(instance)
            except pytest.skip.Exception:
                continue
            except Exception as error:
                if type(error).__name__ != "SkipTest":
                    failed[check.func.__name__] = str(error)
    network = type(estimator).__name__[:3] in ("Fai", "HGR")
    assert set(failed) == (set(EXPECTED) if network else set()), failed


def people(n=600, seed=0):
    """Text, categories, gaps and numbers; `job` and `income` betray sex."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "income": y + (sex == "m") + rng.normal(size=n),
            "job": np.where(rng.random(n) < 0.3 + 0.4 * y, "clerk", "smith"),
            "town": pd.Categorical(rng.choice(["A", "B", "C"], n)),
            "member": rng.random(n) < 0.5,
        }
    )
    X.loc[::7, "income"] = np.nan
    X.loc[3::11, "job"] = None
    return X, np.where(y == 1, "paid", "late"), pd.DataFrame({"sex": sex})


def small(name, **options):
    shared = {"steps": 40, "hidden": 16} if name[:2] in ("Fa", "FD") else {"epochs": 5}
    if name.startswith("Gerry"):
        shared = {"rounds": 30}
    if name.startswith("Reduction"):
        shared = {"max_iter": 3}
    return getattr(fa, name)(**(shared | options))


NAMES = ["FairICPClassifier", "HGRClassifier", "GerryFairClassifier", "ReductionClassifier"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_text_categories_and_gaps(name):
    if name.startswith("Reduction"):
        pytest.importorskip("fairlearn")
    X, y, A = people()
    model = small(name).fit(X, y, sensitive_features=A)
    assert list(model.feature_names_in_) == list(X) and model.n_features_in_ == 4
    assert (model.predict(X) == y).mean() > 0.6
    new = X[:5].assign(town="elsewhere", job="baker")  # seen by nobody
    assert model.predict(new).shape == (5,)
    again = load_pickle(pickle.dumps(model), name="model.pkl")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(fa.InputError, match="pass a table with the same"):
        model.predict(X.to_numpy())
    with pytest.raises(fa.InputError, match="dates"):
        clone(model).fit(X.assign(day=pd.Timestamp("2020-01-01")), y, sensitive_features=A)


def test_gaps_in_an_array():
    X, y, A = people()
    values = np.column_stack([X["income"], np.arange(len(X)) % 3])
    model = small("FairICPClassifier").fit(values, y, sensitive_features=A)
    assert model.encoder_ is not None and np.isfinite(model.predict_proba(values)).all()
    whole = small("FairICPClassifier").fit(np.nan_to_num(values), y, sensitive_features=A)
    with pytest.raises(fa.InputError, match="missing values where the rows of fit had numbers"):
        whole.predict(values)


@pytest.mark.parametrize("name", ["FairICPClassifier", "HGRClassifier", "GerryFairClassifier"])
def test_weights_move_the_model(name):
    """Rows of weight 0 are as good as absent, and a class that counts more is predicted more."""
    X, y, A = people(800)
    X = X[["income"]].fillna(0.0)
    turned = np.where(y == "paid", "late", "paid")
    twice = [pd.concat([X, X]), np.concatenate([y, turned]), pd.concat([A, A])]
    weights = np.repeat([1.0, 0.0], len(X))
    options = {"mu": 0.0} if name.startswith("Fair") else {}
    weighted = small(name, **options).fit(*twice, sample_weight=weights)
    assert (weighted.predict(X) == y).mean() > 0.6
    against = small(name, **options).fit(*twice, sample_weight=1 - weights)
    assert (against.predict(X) == turned).mean() > 0.6
    shares = [
        (small(name, class_weight=w, **options).fit(X, y, A).predict(X) == "paid").mean()
        for w in ({"paid": 5, "late": 1}, None, {"paid": 1, "late": 5})
    ]
    assert shares[0] > shares[1] + 0.1 and shares[1] > shares[2] + 0.1
    alike = [small(name, **options).fit(X, y, A, w).predict_proba(X) for w in (None, np.ones(800))]
    np.testing.assert_array_equal(*alike)


def test_weighted_dependence_is_that_of_repeated_rows():
    from fairaudit.data.columns import columns_from
    from fairaudit.remedy.dependence import Dependence, attribute_residuals

    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 3000))
    score = y + 0.5 * sex + rng.normal(size=3000)
    weights = np.where((sex == 1) & (score > 0.5), 3.0, 1.0)
    weights = weights.astype(int)
    wide = score.std() / np.repeat(score, weights).std()  # sizes are in units of the rows' spread
    sizes = []
    for rows, unit, w in (
        (np.arange(3000), wide, weights.astype(float)),
        (np.repeat(np.arange(3000), weights), 1.0, None),
    ):
        (outcome,) = columns_from(y[rows], argument="y", outcome=True)
        attributes = columns_from({"sex": sex[rows]}, argument="a")
        measure = Dependence(attribute_residuals(outcome, attributes, None, 0, w))
        measure.frequencies = measure.frequencies * unit
        sizes.append(float(measure(torch.tensor(score[rows])[None, :, None].float())))
    (outcome,) = columns_from(y, argument="y", outcome=True)
    plain = attribute_residuals(outcome, columns_from({"sex": sex}, argument="a"), None, 0)
    unweighted = float(Dependence(plain)(torch.tensor(score, dtype=torch.float32)[None, :, None]))
    assert sizes[0] == pytest.approx(sizes[1], rel=0.15)
    assert sizes[0] > 1.5 * unweighted


def test_random_state_none_is_fresh_and_recorded():
    X, y, A = people(300)
    X = X[["income"]].fillna(0.0)
    first, second = (
        small("FairICPClassifier", random_state=None).fit(X, y, sensitive_features=A)
        for _ in range(2)
    )
    assert first.seed_ != second.seed_
    repeated = small("FairICPClassifier", random_state=first.seed_).fit(X, y, sensitive_features=A)
    np.testing.assert_array_equal(repeated.predict_proba(X), first.predict_proba(X))
    for state in (np.random.default_rng(1), np.random.RandomState(1)):
        small("HGRClassifier", epochs=1, random_state=state).fit(X, y, sensitive_features=A)
    with pytest.raises(fa.InputError, match="'random_state'"):
        small("FairICPClassifier", random_state="x").fit(X, y, sensitive_features=A)


@pytest.mark.parametrize("name", ["FairICPClassifier", "HGRClassifier"])
def test_warm_start_goes_on_where_it_stopped(name):
    X, y, A = people(400)
    still = {"learning_rate": 1e-9, "weight_decay": 0.0}
    model = small(name, warm_start=True).fit(X, y, sensitive_features=A)
    raw = model._raw(X)
    model.set_params(**still).fit(X, y, sensitive_features=A)
    assert model._raw(X) == pytest.approx(raw, abs=1e-4)
    cold = clone(model).set_params(warm_start=False).fit(X, y, sensitive_features=A)
    assert abs(cold._raw(X) - raw).max() > 0.1
    with pytest.raises(fa.InputError, match="keep its shape"):
        model.set_params(hidden=3).fit(X, y, sensitive_features=A)
    with pytest.raises(fa.InputError, match="classes must stay"):
        model.fit(X, np.where(y == "paid", "x", "z"), sensitive_features=A)


def test_calibration_keeps_labels_and_order():
    rng = np.random.default_rng(0)
    n = 3000
    sex = rng.integers(0, 2, n)
    y = (sex + rng.normal(size=n) > 0.5).astype(int)
    X = np.column_stack([y + 2 * rng.normal(size=n), 2 * sex + rng.normal(size=n) / 2])
    half, rest = slice(0, n // 2), slice(n // 2, n)
    asked = fa.FairICPClassifier(mu=0.9, steps=150, validation_fraction=0.3)
    model = clone(asked).fit(X[half], y[half], {"sex": sex[half]})
    loud = clone(asked).set_params(calibrate=False).fit(X[half], y[half], {"sex": sex[half]})
    assert loud.calibration_ is None and model.calibration_.shape == (2,)
    before, after = (m.predict_proba(X[rest])[:, 1] for m in (loud, model))
    np.testing.assert_array_equal(model.predict(X[rest]), loud.predict(X[rest]))
    np.testing.assert_array_equal(before >= 0.5, after >= 0.5)
    np.testing.assert_array_equal(np.argsort(before), np.argsort(after))
    brier = [np.mean((p - y[rest]) ** 2) for p in (before, after)]
    assert brier[1] < brier[0] - 0.002, brier
    again = load_pickle(pickle.dumps(model), name="model.pkl")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_slopes_are_found_again():
    from fairaudit.remedy.calibration import calibrated_logits, learn_slopes

    rng = np.random.default_rng(0)
    raw = rng.normal(size=(20000, 1)) * 3
    truth = 1 / (1 + np.exp(-calibrated_logits(raw, np.array([0.3, 0.8]))[:, 0]))
    y = (rng.random(20000) < truth).astype(float)
    assert learn_slopes(raw, y, None) == pytest.approx([0.3, 0.8], abs=0.05)
    wide = rng.normal(size=(20000, 3)) * 3
    chance = np.exp(0.5 * wide) / np.exp(0.5 * wide).sum(axis=1, keepdims=True)
    y = (rng.random((20000, 1)) > chance.cumsum(axis=1)).sum(axis=1)
    assert learn_slopes(wide, y, None) == pytest.approx([0.5], abs=0.03)
    assert np.isfinite(learn_slopes(np.array([[-1.0], [1.0]]), np.array([0, 1]), None)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.linspace(0, 1, 300)}, "continuous; use FairICPRegressor"),
        ({"y": np.zeros(300)}, "one class"),
        ({"device": "cuda"}, "finds no CUDA"),
        ({"device": "abacus"}, "'device' must be"),
        ({"sensitive_features": None}, "needs the sensitive attributes"),
        ({"sensitive_features": np.arange(5)}, "5 rows, X has 300"),
        ({"sample_weight": np.ones(5)}, "one number per row"),
        ({"sample_weight": -np.ones(300)}, "at least 0"),
        ({"class_weight": "heavy"}, "'class_weight' cannot"),
    ],
)
def test_bad_input_gets_one_line(change, message):
    if change.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("there is CUDA")
    X, y, A = people(300)
    fit = {"y": y, "sensitive_features": A, "sample_weight": None}
    options = {k: v for k, v in change.items() if k not in fit}
    fit |= {k: v for k, v in change.items() if k in fit}
    with pytest.raises(fa.InputError, match=message) as caught:
        small("FairICPClassifier", **options).fit(X, **fit)
    assert "\n" not in str(caught.value)


def test_one_row_and_text_for_a_regressor():
    with pytest.raises(fa.InputError, match="one sample"):
        small("FairICPRegressor").fit([[1.0]], [1.0], sensitive_features=["a"])
    X, y, A = people(100)
    with pytest.raises(fa.InputError, match="Use a classifier"):
        small("FairICPRegressor").fit(X, y, sensitive_features=A)
    with pytest.raises(fa.InputError, match="is for a classifier"):
        small("FairICPRegressor", class_weight="balanced").fit(X, np.arange(100.0), A)


# ---------------------------------------------------------------- metadata routing and the scorer


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_search_routes_attributes_and_weights(routing):
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, A = people(400)
    X = X[["income"]].fillna(0.0).assign(noise=np.arange(400) % 5)
    model = small("FairICPClassifier", steps=80)
    model = model.set_fit_request(sensitive_features=True, sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    search = GridSearchCV(
        make_pipeline(scaler, model),
        {"fairicpclassifier__mu": [0.0, 0.9]},
        scoring=fa.equalized_odds_score(weight=20),
        cv=2,
        error_score="raise",
    )
    search.fit(X, y, sensitive_features=A, sample_weight=np.arange(1, 401))
    assert search.best_params_ == {"fairicpclassifier__mu": 0.9}
    assert (search.cv_results_["mean_test_score"] < 0).all()


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(), LinearRegression()])
def test_the_score_of_probabilities_labels_and_numbers(routing, model):
    from sklearn.model_selection import cross_validate

    rng = np.random.default_rng(0)
    sex, y = rng.integers(0, 2, (2, 900))
    target = y + 0.5 * rng.normal(size=900) if isinstance(model, LinearRegression) else y
    fair = (target + rng.normal(size=900))[:, None]
    scores = [
        cross_validate(
            model,
            X,
            target,
            scoring=fa.equalized_odds_score(10),
            params={"sensitive_features": pd.DataFrame({"sex": sex})},
            cv=2,
            error_score="raise",
        )["test_score"].mean()
        for X in (fair, fair + 1.5 * sex[:, None])
    ]
    assert 0 > scores[0] > scores[1] + 0.2


def test_the_score_says_what_is_missing():
    X, y, A = people(300)
    X = X[["income"]].fillna(0.0)
    model = LogisticRegression().fit(X, y)
    scorer = fa.equalized_odds_score(weight=0.0)
    assert scorer(model, X, y, sensitive_features=A) == pytest.approx(model.score(X, y) - 1)
    with pytest.raises(fa.InputError, match="enable_metadata_routing"):
        scorer(model, X, y)
    with pytest.raises(fa.InputError, match="'response'"):
        fa.equalized_odds_score(response="logit")
    with pytest.raises(fa.InputError, match="'weight'"):
        fa.equalized_odds_score(-1)
    with pytest.raises(fa.InputError, match="no predict_proba"):
        fa.equalized_odds_score(response="predict_proba")(
            LinearSVC().fit(X, y), X, y, sensitive_features=A
        )
