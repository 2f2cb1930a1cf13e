"""subgroup_violation against brute force and planted groups."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from fairaudit import metrics
from fairaudit.errors import InputError


def violation_of(group, prediction, y, rate="fpr", weights=None):
    """P(g, y=y0) · |rate(g) − rate|, from the definition."""
    weights = np.ones(len(y)) if weights is None else weights
    about = y == (0 if rate == "fpr" else 1)
    wrong = prediction == (1 if rate == "fpr" else 0)
    inside = group & about
    if weights[inside].sum() == 0:
        return 0.0
    rate_in = (weights * wrong)[inside].sum() / weights[inside].sum()
    rate_all = (weights * wrong)[about].sum() / weights[about].sum()
    return weights[inside].sum() / weights.sum() * abs(rate_in - rate_all)


def group_from(result, frame):
    """The rows that a result's coefficients and threshold describe."""
    total = np.zeros(len(frame))
    for term, coefficient in result.coefficients:
        if term.startswith("["):
            name, level = term[1:-1].split("=")
            total += coefficient * (frame[name].astype(str) == level)
        else:
            total += coefficient * frame[term]
    return np.asarray(total > result.threshold)


def random_case(seed, n=60):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 40, n),
            "income": rng.normal(size=n),
            "race": rng.choice(list("abc"), n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    return rng.integers(0, 2, n), frame, rng.integers(0, 2, n), rng.exponential(size=n)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rate", ["fpr", "fnr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_at_least_as_bad_as_every_single_column(seed, rate, weighted):
    prediction, frame, y, weights = random_case(seed)
    weights = weights if weighted else None
    groups = [frame["sex"] == "f", *(frame["race"] == level for level in "abc")]
    groups += [frame[c] > t for c in ("age", "income") for t in frame[c]]
    brute = max(violation_of(g.to_numpy(), prediction, y, rate, weights) for g in groups)
    result = metrics.subgroup_violation(
        prediction, sensitive=frame, y_true=y, rate=rate, weights=weights
    )
    assert result.value >= brute - 1e-12
    found = group_from(result, frame)
    assert result.value == pytest.approx(violation_of(found, prediction, y, rate, weights))
    about = y == (rate == "fnr")
    assert result.size == (found & about).sum()
    w = np.ones(len(y)) if weights is None else weights
    assert result.share == pytest.approx(w[found & about].sum() / w[about].sum())
    assert result.inside > result.overall


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("column", ["age", "income", "race", "sex"])
def test_one_attribute_is_searched_exhaustively(seed, column):
    prediction, frame, y, _ = random_case(seed)
    values = frame[column]
    numeric = column in ("age", "income")
    groups = [values > t for t in values] if numeric else [values == t for t in values]
    brute = max(violation_of(g.to_numpy(), prediction, y) for g in groups)
    result = metrics.subgroup_violation(prediction, sensitive=frame[[column]], y_true=y)
    assert result.value == pytest.approx(brute)


@pytest.mark.parametrize("seed", range(20))
def test_at_least_as_bad_as_the_oracle_of_kearns(seed):
    """The group on which a row-by-row regression of the errors lies above or below zero."""
    prediction, frame, y, weights = random_case(seed, n=200)
    frame = frame.drop(columns="income").assign(age=frame["age"] // 7)
    design = pd.get_dummies(frame, columns=["race", "sex"], dtype=float)
    about = y == 0
    errors = prediction - np.average(prediction[about], weights=weights[about])
    oracle = LinearRegression().fit(design[about], errors[about], sample_weight=weights[about])
    groups = [oracle.predict(design) > 0, oracle.predict(design) < 0]
    worst = max(violation_of(g, prediction, y, weights=weights) for g in groups)
    result = metrics.subgroup_violation(prediction, sensitive=frame, y_true=y, weights=weights)
    assert result.value >= worst - 1e-12


def test_a_planted_half_plane_is_found():
    rng = np.random.default_rng(0)
    n = 4000
    frame = pd.DataFrame({"u": rng.normal(size=n), "v": 50 + 10 * rng.normal(size=n)})
    planted = (frame["u"] + (frame["v"] - 50) / 10 > 1).to_numpy()
    y = rng.integers(0, 2, n)
    prediction = (rng.random(n) < np.where(planted, 0.8, 0.2)).astype(int)
    result = metrics.subgroup_violation(prediction, sensitive=frame, y_true=y)
    found = group_from(result, frame)
    assert (found == planted).mean() > 0.97
    assert result.value >= 0.97 * violation_of(planted, prediction, y)
    single = max(
        metrics.subgroup_violation(prediction, sensitive=frame[[name]], y_true=y).value
        for name in ("u", "v")
    )
    assert result.value > 1.2 * single


def test_a_planted_intersection_is_found():
    rng = np.random.default_rng(0)
    n = 4000
    frame = pd.DataFrame({"race": rng.choice(list("abc"), n), "sex": rng.choice(["f", "m"], n)})
    planted = ((frame["race"] == "b") & (frame["sex"] == "f")).to_numpy()
    y = rng.integers(0, 2, n)
    prediction = np.where(y == 1, rng.random(n) < np.where(planted, 0.1, 0.9), 0).astype(int)
    result = metrics.subgroup_violation(prediction, sensitive=frame, y_true=y, rate="fnr")
    assert (group_from(result, frame) == planted).all()
    assert result.inside == pytest.approx(0.9, abs=0.05) and "*[race=b]" in result.definition


def test_definitions_are_readable():
    y = [0] * 6
    sex = {"sex": list("fffmmm")}
    assert (
        metrics.subgroup_violation([1, 1, 1, 0, 0, 0], sensitive=sex, y_true=y).definition
        == "sex = f"
    )
    race = {"race": list("aabbcc")}
    assert (
        metrics.subgroup_violation([1, 1, 0, 0, 1, 1], sensitive=race, y_true=y).definition
        == "race != b"
    )
    age = {"age": [20, 30, 40, 50, 60, 70]}
    young = metrics.subgroup_violation([1, 1, 0, 0, 0, 0], sensitive=age, y_true=y)
    assert young.definition == "age < 35"
    assert young.coefficients == (("age", -1.0),) and young.threshold == -35.0
    as_number = metrics.subgroup_violation(
        [1, 0, 1, 0, 1, 0], sensitive={"g": [1, 2, 1, 2, 1, 2]}, y_true=y
    )
    assert as_number.definition == "g = 1"


def test_no_violation_is_zero_and_everybody():
    result = metrics.subgroup_violation(
        [0, 0, 0, 1], sensitive={"sex": list("ffmm")}, y_true=[0, 0, 0, 1]
    )
    assert result.value == 0.0 and result.definition == "all rows"
    assert result.size == 3 and result.inside == result.overall == 0.0


@pytest.mark.parametrize("seed", range(10))
def test_row_order_and_names_do_not_matter(seed):
    prediction, frame, y, _ = random_case(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    first = metrics.subgroup_violation(prediction, sensitive=frame, y_true=y)
    second = metrics.subgroup_violation(
        prediction[order], sensitive=frame.iloc[order], y_true=y[order]
    )
    assert second.value == pytest.approx(first.value, abs=1e-12)
    assert second.definition == first.definition
    renamed = frame.assign(race=frame["race"].map({"a": "c", "b": "a", "c": "b"}))
    third = metrics.subgroup_violation(prediction, sensitive=renamed, y_true=y)
    assert third.value == pytest.approx(first.value, abs=1e-12)


def test_units_do_not_matter():
    prediction, frame, y, _ = random_case(3, n=400)
    scaled = frame.assign(income=1e6 * frame["income"] + 3e7)
    value = metrics.subgroup_violation(prediction, sensitive=frame, y_true=y).value
    assert metrics.subgroup_violation(
        prediction, sensitive=scaled, y_true=y
    ).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("y", "rate", "says"),
    [
        ([0, 1, 0, 1], "tpr", "'rate' parameter must be 'fpr' or 'fnr'. Got 'tpr'"),
        ([0, 0, 0, 0], "fnr", "'y_true' has no rows of class 1.*rate='fpr'"),
        ([1, 1, 1, 1], "fpr", "'y_true' has no rows of class 0.*rate='fnr'"),
    ],
)
def test_bad_input(y, rate, says):
    with pytest.raises(InputError, match=says):
        metrics.subgroup_violation(
            [0, 1, 1, 0], sensitive={"sex": list("ffmm")}, y_true=y, rate=rate
        )
