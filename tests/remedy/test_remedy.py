"""FairICP and its samplers as scikit-learn estimators."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import fairaudit as fa
from fairaudit.models.safe_pickle import load_pickle
from fairaudit.remedy.tradeoff import evaluate

torch = pytest.importorskip("torch")
SIX = [
    "FairICPClassifier",
    "FairICPRegressor",
    "FairCPClassifier",
    "FairCPRegressor",
    "FDLClassifier",
    "FDLRegressor",
]


def people(n=800, continuous=False, seed=0):
    """A feature that stands in for sex and age, one that says something else, and noise."""
    rng = np.random.default_rng(seed)
    A = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 80, n)})
    proxy = (A.sex == "f") * 2.0 + (A.age - 49) / 15 + 0.3 * rng.normal(size=n)
    y = (rng.normal(size=n) + 0.8 * proxy).to_numpy()
    X = pd.DataFrame({"x": y + 2 * rng.normal(size=n), "proxy": proxy, "noise": rng.normal(size=n)})
    return X, (y if continuous else (y > 0.8).astype(int)), A


def quick(name, **options):
    return getattr(fa, name)(**({"steps": 120, "epochs": 25, "learning_rate": 1e-2} | options))


def violation(model, X, y, A):
    """KPC with the neighbors of the test, which is less noisy than with one."""
    score = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)
    few = fa.Permutations(n=1)
    return fa.equalized_odds_test(
        score, y_true=y, sensitive=A, statistic="kpc", permutations=few, density=_known(y)
    ).statistic


def _known(y):
    return "auto" if len(np.unique(y)) == 2 else "ols"  # only the statistic is looked at


@pytest.mark.parametrize(
    ("name", "objective"),
    [(name, "kernel") for name in SIX]
    + [
        (f"{name}", "adversarial")
        for name in ("FairICPClassifier", "FairCPRegressor", "FDLRegressor")
    ],
)
def test_lowers_the_violation_on_other_rows(name, objective):
    X, y, A = people(1000, name.endswith("Regressor"))
    rate = 1e-2 if objective == "kernel" else 3e-3
    options = {"objective": objective, "batch_size": 64, "epochs": 30, "learning_rate": rate}
    before, after = (
        quick(name, mu=mu, **options).fit(X[:700], y[:700], sensitive_features=A[:700])
        for mu in (0.0, 0.9)
    )
    rest = X[700:], y[700:], A[700:]
    assert violation(after, *rest) < 0.3 * violation(before, *rest)
    assert after.predict(X).shape == (1000,) and len(after.history_) > 5


def test_mu_zero_is_plain_training():
    X, y, A = people(600)
    plain = LogisticRegression(C=1e6).fit((X - X.mean()) / X.std(ddof=0), y)
    best = plain.predict_proba((X - X.mean()) / X.std(ddof=0))[:, 1]
    for options in ({"steps": 400}, {"objective": "adversarial", "epochs": 80}):
        model = quick(
            "FairICPClassifier",
            mu=0,
            predictor="linear",
            weight_decay=0.0,
            learning_rate=5e-2,
            validation_fraction=0,
            loss="cross_entropy",
            **options,
        )
        model.fit(X, y, sensitive_features=A)
        assert model.predict_proba(X)[:, 1] == pytest.approx(best, abs=0.03)


def test_larger_mu_lowers_the_dependence():
    X, y, A = people(1200)
    models = quick("FairICPClassifier").fit_path(X[:800], y[:800], A[:800], [0, 0.5, 0.8, 0.95])
    found = [violation(model, X[800:], y[800:], A[800:]) for model in models]
    assert found[0] > found[1] > found[3] and found[3] < 0.2 * found[0]
    assert [model.mu for model in models] == [0, 0.5, 0.8, 0.95]


def test_a_curve_is_the_models_one_by_one():
    X, y, A = people(400)
    path = quick("FairICPClassifier").fit_path(X, y, A, [0.2, 0.8])
    alone = quick("FairICPClassifier", mu=0.8).fit(X, y, sensitive_features=A)
    assert path[1].predict_proba(X) == pytest.approx(alone.predict_proba(X), abs=1e-3)


@pytest.mark.parametrize("name", ["FairICPClassifier", "FairICPRegressor"])
def test_habits_of_scikit_learn(name):
    X, y, A = people(300, name.endswith("Regressor"))
    model = quick(name, mu=0.5, steps=40)
    assert clone(model).get_params() == model.get_params()
    first = clone(model).fit(X, y, sensitive_features=A)
    second = clone(model).fit(X, y, sensitive_features=A)
    assert (first.predict(X) == second.predict(X)).all()
    assert list(first.feature_names_in_) == list(X.columns) and first.n_features_in_ == 3
    data = pickle.dumps(first)
    assert b"torch" not in data
    for again in (pickle.loads(data), load_pickle(data, name="model.pkl")):
        assert (again.predict(X) == first.predict(X)).all()
    arrays = clone(model).fit(X.to_numpy(), y, sensitive_features=A)
    assert arrays.predict(X.to_numpy()) == pytest.approx(first.predict(X))
    other = clone(model).set_params(random_state=1).fit(X, y, sensitive_features=A)
    assert not np.allclose(other._raw(X), first._raw(X))


def test_the_loss_says_what_is_learned():
    """Few errors where fairness costs some, or good probabilities where it costs nothing."""
    from sklearn.metrics import log_loss

    X, y, A = people(3000)
    rest, true = X[1500:], y[1500:]
    wrong, surprise = {}, {}
    for loss in ("error", "cross_entropy"):
        plain, fair = quick("FairICPClassifier", loss=loss).fit_path(
            X[:1500], y[:1500], A[:1500], [0.0, 0.7]
        )
        surprise[f"{loss}, calibrated"] = log_loss(true, plain.predict_proba(rest))
        plain.calibration_ = None
        surprise[loss] = log_loss(true, plain.predict_proba(rest))
        wrong[loss] = (fair.predict(rest) != true).mean()
    assert wrong["error"] < wrong["cross_entropy"] - 0.01
    assert surprise["cross_entropy"] < surprise["error"] - 0.01
    assert surprise["error, calibrated"] < surprise["error"] - 0.01
    assert surprise["cross_entropy, calibrated"] == surprise["cross_entropy"]


def test_more_than_two_classes():
    X, _, A = people(600)
    y = np.array(["low", "mid", "top"])[np.digitize(X["x"], [-0.7, 0.7])]
    model = quick("FairICPClassifier", mu=0.3).fit(X, y, sensitive_features=A)
    assert model.predict_proba(X).shape == (600, 3)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(600))
    assert (model.predict(X) == y).mean() > 0.6


def test_own_module():
    X, y, A = people(400)
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    model = quick("FairICPClassifier", mu=0.8, predictor=module).fit(X, y, sensitive_features=A)
    assert model.predict_proba(X).min() >= 0 and model.layers_ is None
    assert next(module.parameters()).grad is None  # a copy was trained


def test_post_processing():
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    for continuous, cls in (
        (False, HistGradientBoostingClassifier),
        (True, HistGradientBoostingRegressor),
    ):
        X, y, A = people(1500, continuous)
        model = cls(max_iter=30).fit(X[:500], y[:500])
        rest = X[1000:], np.asarray(y)[1000:], A[1000:]
        some = X[500:1000], y[500:1000]
        corrected = fa.ICPPostProcessor(model, mu=0.9, options={"steps": 150})
        corrected.fit(*some, sensitive_features=A[500:1000])
        assert violation(corrected, *rest) < 0.5 * violation(model, *rest)
        path = copy.copy(corrected).fit_path(*some, A[500:1000], [0.0, 0.9])
        assert [model.mu for model in path] == [0.0, 0.9]
        assert path[1].predict(rest[0]) == pytest.approx(corrected.predict(rest[0]), abs=1e-3)
        knowing = clone(corrected).set_params(use_sensitive=True)
        knowing.estimator = model
        knowing.fit(*some, sensitive_features=A[500:1000])
        assert knowing.predict(rest[0], sensitive_features=rest[2]).shape == (500,)
        with pytest.raises(fa.InputError, match="pass sensitive_features"):
            knowing.predict(rest[0])
        nothing = fa.ICPPostProcessor(model, mu=0.0, options={"steps": 5, "learning_rate": 1e-6})
        nothing.fit(*some, sensitive_features=A[500:1000])
        assert np.corrcoef(nothing.predict(rest[0]), model.predict(rest[0]))[0, 1] > 0.8


def test_trade_off(tmp_path):
    X, y, A = people(1000)
    curve = fa.trade_off(quick("FairICPClassifier"), X, y, A, mus=[0, 0.7, 0.95], p_values=True)
    shown = curve.on("report")
    assert list(shown["mu"]) == [0, 0.7, 0.95] and shown["kpc"][2] < shown["kpc"][0]
    assert shown["p_value"][0] <= 0.01 < shown["p_value"][2]
    assert set(curve.frame["split"]) == {"choice", "report"}
    assert curve.best(kpc=1.0) is curve.models[curve.on("choice")["loss"].idxmin()]
    assert curve.best(loss=1.0) is curve.models[curve.on("choice")["kpc"].idxmin()]
    with pytest.raises(fa.InputError, match="No model has kpc"):
        curve.best(kpc=-1)
    with pytest.raises(fa.InputError, match="one of the two"):
        curve.best()
    assert len(curve.pareto()) >= 1
    assert curve.mixture["loss"].iloc[0] == pytest.approx(shown["loss"][0])
    pytest.importorskip("matplotlib").use("Agg")
    curve.plot().figure.savefig(tmp_path / "curve.png")


def test_parts_do_not_overlap(monkeypatch):
    """What picks a model, what reports on it and what trains it are different rows."""
    X, y, A = people(500)
    seen = {}

    class Spy(LogisticRegression):
        def fit(self, X, y, sensitive_features=None):
            seen["train"] = set(X["x"])
            return super().fit(X, y)

        def predict_proba(self, X):
            seen.setdefault("other", []).append(set(X["x"]))
            return super().predict_proba(X)

    fa.trade_off(Spy(), X, y, A, mus=[0.1, 1.0], parameter="C")
    parts = [seen["train"], *seen["other"]]
    unique = {frozenset(part) for part in parts}
    assert len(unique) == 3 and sum(map(len, unique)) == 500


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitive_features": None}, "needs the sensitive attributes"),
        ({"sensitive_features": np.zeros(5)}, "5 rows, X has"),
        ({"sensitive_features": np.zeros(300)}, "single value"),
        ({"mu": 1.5}, "'mu'"),
        ({"objective": "magic"}, "'objective'"),
        ({"loss": "hinge"}, "'loss'"),
        ({"predictor": "forest"}, "'predictor'"),
        ({"y": np.zeros(300)}, "one class"),
        ({"validation_fraction": 0.01}, "too few for a validation"),
    ],
)
def test_errors(change, message):
    X, y, A = people(300)
    fit = {"y": y, "sensitive_features": A} | {
        k: v for k, v in change.items() if k in ("y", "sensitive_features")
    }
    options = {k: v for k, v in change.items() if k not in fit}
    with pytest.raises(fa.InputError, match=message):
        quick("FairICPClassifier", **options).fit(X, fit.pop("y"), **fit)


def test_divergence_is_an_error():
    X, y, A = people(300, continuous=True)
    module = torch.nn.Sequential(torch.nn.Linear(3, 1))
    with torch.no_grad():
        module[0].weight.fill_(float("inf"))
    with pytest.raises(fa.FairAuditError, match="diverged"):
        quick("FairICPRegressor", predictor=module).fit(X, y, sensitive_features=A)


def test_interrupt_keeps_the_best_so_far(monkeypatch):
    from fairaudit.remedy import training

    X, y, A = people(300)
    original = training._Run.kernel_step

    def step(self, number, total):
        if number == 60:
            raise KeyboardInterrupt
        original(self, number, total)

    monkeypatch.setattr(training._Run, "kernel_step", step)
    model = quick("FairICPClassifier", mu=0.5).fit(X, y, sensitive_features=A)
    assert model.history_[-1]["step"] <= 60 and (model.predict(X) == y).mean() > 0.6


def test_dependence_is_kpc_for_categories():
    from fairaudit.data.columns import columns_from
    from fairaudit.remedy.dependence import Dependence, attribute_residuals

    rng = np.random.default_rng(0)
    y, sex, race = rng.integers(0, 2, (3, 2000))
    score = y + 0.5 * sex * race + rng.normal(size=2000)
    (outcome,) = columns_from(y, argument="y", outcome=True)
    attributes = columns_from({"sex": sex, "race": race}, argument="a")
    residuals = attribute_residuals(outcome, attributes, None, 0)
    rho = Dependence(residuals)(torch.tensor(score, dtype=torch.float32)[None, :, None])
    assert float(rho) == pytest.approx(
        float(fa.metrics.kpc(score, sensitive=attributes, y_true=y)), abs=0.006
    )
    null = Dependence(residuals)(torch.tensor(y + rng.normal(size=2000))[None, :, None].float())
    assert abs(float(null)) < 0.004


def test_evaluate_of_a_constant():
    from fairaudit.data.columns import columns_from

    (outcome,) = columns_from(np.arange(10) % 2, argument="y", outcome=True)
    found = evaluate(np.full(10, 0.3), outcome, columns_from(np.arange(10) % 3, argument="a"))
    assert found["kpc"] == 0 and found["loss"] == 0.5
