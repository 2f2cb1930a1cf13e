"""The last stage around a fitted model: laws of its answers, keyed draws, files, bad input."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairaudit as fa
from fairaudit.models import load_model
from fairaudit.remedy.equal_laws import GroupLaws, find_equal_laws
from fairaudit.remedy.keyed_uniforms import draw_key, draw_uniforms
from fairaudit.remedy.smooth_laws import SmoothLaws


def _people(n, seed, *, shift=1.0):
    """A score that depends on sex given the outcome; two classes."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    race = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    y = (rng.random(n) < np.where(sex == "f", 0.4, 0.6)).astype(int)
    X = pd.DataFrame({"x": y + shift * (sex == "m") + rng.normal(size=n), "z": rng.normal(size=n)})
    return X, y, pd.DataFrame({"sex": sex, "race": race})


def _fitted(n=4000, *, seed=0, **options):
    X, y, A = _people(n, seed)
    model = LogisticRegression().fit(X, y)
    X, y, A = _people(n, seed + 1)
    return fa.DerivedPredictor(model, **options).fit(X, y, A), X, y, A


# -- the linear program


def test_program_finds_what_brute_force_finds():
    rng = np.random.default_rng(3)
    bins, groups, parts = rng.integers(0, 3, 400), rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    bins = np.clip(bins + ((parts + groups) > 1), 0, 2)
    laws = GroupLaws(bins, groups, parts)
    cost = np.array([[0.0, 1.0], [1.0, 0.0]])
    chances = find_equal_laws(laws, cost)

    def expense(table):
        return np.einsum("gc,gcb,gbk,ck->", laws.share, laws.law, table, cost)

    # every (false, true) positive rate that each group reaches by thresholds and their mixtures
    grid = np.linspace(0, 1, 41)
    best = np.inf
    corners = [
        np.array([laws.law[g] @ np.array(rule) for rule in itertools.product([0, 1], repeat=3)])
        for g in range(2)
    ]
    from scipy.spatial import ConvexHull

    hulls = [ConvexHull(corner) for corner in corners]
    for false, true in itertools.product(grid, grid):
        point = np.array([false, true])
        if all(np.all(h.equations[:, :2] @ point + h.equations[:, 2] <= 1e-9) for h in hulls):
            negative, positive = laws.share.sum(axis=0)
            best = min(best, negative * false + positive * (1 - true))
    assert expense(chances) <= best + 1e-9
    assert expense(chances) >= best - 0.03  # the grid is coarse


def test_program_gives_equal_laws_in_sample():
    rng = np.random.default_rng(0)
    groups, parts = rng.integers(0, 4, 3000), rng.integers(0, 3, 3000)
    bins = np.clip(rng.integers(0, 6, 3000) + groups // 2 + parts, 0, 7)
    laws = GroupLaws(bins, groups, parts)
    chances = find_equal_laws(laws, rng.random((3, 4)))
    of_groups = np.einsum("gcb,gbk->gck", laws.law, chances)
    np.testing.assert_allclose(of_groups, of_groups[:1].repeat(4, axis=0), atol=1e-7)
    np.testing.assert_allclose(chances.sum(axis=2), 1.0)


def test_smooth_laws_make_moments_vanish_and_near_the_least_cost():
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 3, 2000)
    eta = 1 / (1 + np.exp(-rng.normal(size=2000) - 0.7 * groups))
    eta = np.column_stack([1 - eta, eta])
    cost = np.array([[0.0, 1.0], [1.0, 0.0]])
    psi = np.eye(3)[groups]
    moments = np.hstack(
        [eta[:, [c]] * (psi - np.average(psi, axis=0, weights=eta[:, c]))[:, :2] for c in (0, 1)]
    )
    plain = (eta @ cost).min(axis=1).mean()
    expenses = []
    for temperature in (0.1, 0.003):
        laws = SmoothLaws(temperature, 0.0).fit(eta @ cost, moments)
        chances = laws.chances(eta @ cost, moments)
        assert np.abs(moments.T @ chances / 2000).max() < 2e-3
        expenses.append((chances * (eta @ cost)).sum(axis=1).mean())
    assert plain < expenses[1] < expenses[0]


# -- the keyed hash


def test_hash_is_uniform_and_belongs_to_the_row():
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=20_000), "job": rng.choice(["nurse", "baker", None], 20_000)}
    u = draw_uniforms(table, draw_key(0), count=2)
    assert kstest(u[:, 0], "uniform").pvalue > 1e-4
    assert kstest(u[:, 1], "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(u.T)[0, 1]) < 4 / np.sqrt(20_000)
    order = rng.permutation(20_000)
    shuffled = {name: column[order] for name, column in reversed(table.items())}
    np.testing.assert_array_equal(draw_uniforms(shuffled, draw_key(0), count=2), u[order])
    assert (draw_uniforms(table, draw_key(1))[:, 0] != u[:, 0]).all()
    assert draw_key(None) != draw_key(None)


def test_hash_sees_values_and_not_types():
    whole = draw_uniforms({"x": np.array([0, 1, 2])}, "00")
    np.testing.assert_array_equal(whole, draw_uniforms({"x": [-0.0, 1.0, 2.0]}, "00"))
    assert len(np.unique(whole)) == 3


# -- the estimator


def test_answers_belong_to_people():
    derived, X, _, A = _fitted()
    answers = derived.predict_proba(X, A)
    np.testing.assert_array_equal(derived.predict_proba(X, A), answers)
    order = np.random.default_rng(5).permutation(len(X))[:100]
    some = derived.predict_proba(X.iloc[order], A.iloc[order])
    np.testing.assert_array_equal(some, answers[order])
    # attributes may be columns of the table
    np.testing.assert_array_equal(derived.predict_proba(pd.concat([X, A], axis=1)), answers)
    assert list(derived.feature_names_in_) == ["x", "z", "sex", "race"]


def test_ids_tell_people_apart():
    X, y, A = _people(2000, 0)
    X["x"], X["z"] = X["x"].round(), 0.0
    X["person"] = np.arange(2000)
    model = LogisticRegression().fit(X[["x", "z"]], y)
    by_row = fa.DerivedPredictor(model).fit(X, y, A)
    by_id = fa.DerivedPredictor(model, ids="person").fit(X, y, A)
    alike = pd.concat([X[["x", "z"]], A], axis=1).astype(str).agg("|".join, axis=1)
    answers = pd.Series(by_row.predict_proba(X, A)[:, 1])
    assert (answers.groupby(alike).nunique() == 1).all()
    answers = pd.Series(by_id.predict_proba(X, A)[:, 1])
    assert (answers.groupby(alike).nunique() > 1).any()


def test_strength_zero_is_the_model_and_more_is_less_dependence():
    derived, X, y, A = _fitted(6000)
    untouched = derived.at_strength(0.0).predict_proba(X, A)
    np.testing.assert_array_equal(untouched, derived.estimator.predict_proba(X))
    male = (A["sex"] == "m").to_numpy()

    def gap(strength):
        score = derived.at_strength(strength).predict_proba(X, A)[:, 1]
        return max(
            abs(score[male & (y == c)].mean() - score[~male & (y == c)].mean()) for c in (0, 1)
        )

    gaps = [gap(strength) for strength in (0.0, 0.5, 1.0)]
    assert gaps[0] > 0.1
    assert gaps[0] > 1.5 * gaps[1] > 2 * gaps[2]
    spread = [derived.at_strength(s).predict_proba(X, A)[:, 1].std() for s in (1.0, 1.5, 2.0)]
    assert spread[0] > spread[1] > spread[2]
    assert spread[2] < 1e-9  # of an answer that depends on nothing nothing can be read


@pytest.mark.parametrize("solver", ["smooth", "program"])
def test_the_answer_passes_where_the_model_fails(solver):
    derived, *_ = _fitted(6000, solver=solver)
    X, y, A = _people(3000, 77)
    few = fa.Permutations(n=99)

    def p_of(score):
        return fa.equalized_odds_test(score, y_true=y, sensitive=A, permutations=few).p_value

    assert p_of(derived.estimator.predict_proba(X)[:, 1]) == 0.01
    assert p_of(derived.predict_proba(X, A)[:, 1]) > 0.05
    assert (derived.predict(X, A) == y).mean() > 0.6


def test_mixed_attributes_and_three_classes():
    rng = np.random.default_rng(0)
    n = 6000
    age = rng.normal(45, 15, n)
    y = rng.integers(0, 3, n)
    X = np.column_stack([y == 0, y == 1, y == 2]) + rng.normal(size=(n, 3))
    X[:, 0] += (age - 45) / 15
    A = {"age": age}
    half = slice(0, n // 2)
    model = LogisticRegression().fit(X[half], y[half])
    derived = fa.DerivedPredictor(model).fit(X[half], y[half], {"age": age[half]})
    answers = derived.predict_proba(X, A)[n // 2 :]
    assert answers.shape == (n // 2, 3)
    np.testing.assert_allclose(answers.sum(axis=1), 1.0)
    new, old = y[n // 2 :], model.predict_proba(X)[n // 2 :, 0]

    def slope(score):
        return max(
            abs(np.corrcoef(score[new == c], age[n // 2 :][new == c])[0, 1]) for c in range(3)
        )

    assert slope(old) > 0.3
    assert slope(answers[:, 0]) < 4 / np.sqrt(n / 6)


def test_a_regression_loses_its_dependence():
    rng = np.random.default_rng(0)
    n = 6000
    a, y = rng.normal(size=(2, n))
    y = y + 0.5 * a
    X = pd.DataFrame({"x": y + 0.7 * a + 0.5 * rng.normal(size=n)})
    half = n // 2
    model = LinearRegression().fit(X[:half], y[:half])
    derived = fa.DerivedPredictor(model, levels=6, shrink=0.0)
    derived.fit(X[:half], y[:half], {"a": a[:half]})
    answers = derived.predict(X, {"a": a})[half:]

    def partial(values):
        design = np.column_stack([np.ones(half), y[half:]])
        left = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (values, a[half:])]
        return abs(np.corrcoef(left)[0, 1])

    assert partial(model.predict(X)[half:]) > 0.5
    assert partial(answers) < 0.1
    assert np.corrcoef(answers, y[half:])[0, 1] > 0.5


def test_without_attributes_only_scores_are_needed():
    derived, X, _, _ = _fitted(use_sensitive=False, levels=4)
    answers = derived.predict_proba(X)
    assert len(np.unique(answers[:, 1])) <= 4
    assert list(derived.feature_names_in_) == ["x", "z"]


def test_thresholds_of_fairlearn():
    pytest.importorskip("fairlearn")
    X, y, A = _people(4000, 0)
    model = LogisticRegression().fit(X, y)
    fair = fa.ThresholdPredictor(model).fit(*_people(4000, 1))
    X, y, A = _people(4000, 2)
    label = fair.predict(X, A)
    male = (A["sex"] == "m").to_numpy()
    for c in (0, 1):
        rates = [label[mask & (y == c)].mean() for mask in (male, ~male)]
        assert abs(rates[0] - rates[1]) < 0.12
        before = [model.predict(X)[mask & (y == c)].mean() for mask in (male, ~male)]
        assert abs(before[0] - before[1]) > 0.2
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fair)).predict(X, A), label)


@pytest.mark.parametrize("solver", ["smooth", "program"])
def test_files_open_without_trust(tmp_path, solver):
    derived, X, _, A = _fitted(1000, solver=solver)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(derived))
    table = pd.concat([X, A], axis=1)
    made = load_model(str(path)).predict(table[list(derived.feature_names_in_)])
    np.testing.assert_allclose(made.to_numpy()[:, 0], derived.predict_proba(table)[:, 1])


def test_clones_are_not_fitted_and_fit_alike():
    derived, X, y, A = _fitted(1000, levels=2)
    again = clone(derived)
    assert again.levels == 2 and not hasattr(again, "answers_")
    again.estimator = derived.estimator
    np.testing.assert_array_equal(
        again.fit(X, y, A).predict_proba(X, A), derived.predict_proba(X, A)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": 2.5}, "'strength' must lie in"),
        ({"levels": 1}, "'levels' must be 2 or more"),
        ({"solver": "magic"}, "'solver' must be"),
        ({"ids": "nobody"}, "column of ids 'nobody'"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(fa.InputError, match=message):
        derived, X, _, A = _fitted(500, **options)
        derived.predict_proba(X, A)


def test_bad_rows():
    derived, X, y, A = _fitted(500)
    with pytest.raises(fa.InputError, match="pass the columns 'sex', 'race'"):
        derived.predict_proba(X)
    with pytest.raises(fa.InputError, match="'race' is missing"):
        derived.predict_proba(X, A[["sex"]])
    with pytest.raises(fa.InputError, match="'scores' must have 500 rows"):
        derived.fit(X, y, A, scores=np.zeros(3))
    with pytest.raises(fa.InputError, match="does not occur in y"):
        derived.fit(X[y == 1], y[y == 1], A[y == 1])
    with pytest.raises(fa.InputError, match="some attributes are numbers"):
        fa.DerivedPredictor(derived.estimator, solver="program").fit(
            X, y, {"age": np.random.default_rng(0).normal(size=500)}
        )
