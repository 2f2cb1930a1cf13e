"""HGR against theory: Gaussian pairs, 2×2 tables, independence."""

import math

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from fairaudit import metrics
from fairaudit.errors import InputError


def gaussian_pair(rho, n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=n)


def second_singular_value(prediction, attribute, weights=None):
    """The categorical coefficient from a contingency table, counted one row at a time."""
    weights = np.ones(len(prediction)) if weights is None else weights
    us, vs = sorted(set(prediction)), sorted(set(attribute))
    joint = np.zeros((len(us), len(vs)))
    for u, v, w in zip(prediction, attribute, weights, strict=True):
        joint[us.index(u), vs.index(v)] += w
    joint /= joint.sum()
    matrix = joint / np.sqrt(np.outer(joint.sum(1), joint.sum(0)))
    return np.linalg.svd(matrix, compute_uv=False)[1]


@pytest.mark.parametrize("rho", [-0.9, -0.5, 0.3, 0.7, 0.95])
def test_gaussian_pair_has_the_absolute_correlation(rho):
    """HGR = |ρ|; smoothing both variables by h shrinks it to |ρ| / (1 + h²)."""
    n = 20_000
    x, a = gaussian_pair(rho, n, seed=3)
    value = float(metrics.hgr(x, {"a": a}))
    h = n ** (-1 / 6)
    assert value == pytest.approx(abs(rho) / (1 + h**2), abs=0.02)
    assert float(metrics.hgr(x, {"a": a}, bandwidth=0.6)) == pytest.approx(
        abs(rho) / 1.36, abs=0.02
    )


def test_given_the_outcome_only_what_it_does_not_explain_counts():
    rng = np.random.default_rng(0)
    n = 20_000
    y = rng.integers(0, 2, n)
    a = rng.normal(size=n) + 2 * y
    fair = rng.normal(size=n) + 2 * y
    assert float(metrics.hgr(fair, sensitive={"a": a}, y_true=y)) < 0.1
    assert float(metrics.hgr(fair, {"a": a})) > 0.4
    noise = math.sqrt(1 - 0.6**2) * rng.normal(size=n)
    unfair = 2 * y + 0.6 * (a - 2 * y) + noise
    assert float(metrics.hgr(unfair, sensitive={"a": a}, y_true=y)) == pytest.approx(0.6, abs=0.06)


def test_a_function_without_correlation_is_found():
    rng = np.random.default_rng(0)
    a = rng.normal(size=5000)
    prediction = a**2 + 0.1 * rng.normal(size=5000)
    assert abs(np.corrcoef(prediction, a)[0, 1]) < 0.1
    assert float(metrics.hgr(prediction, {"a": a})) > 0.7


@pytest.mark.parametrize("kinds", [("number", "number"), ("number", "level"), ("level", "level")])
def test_independence_is_small_and_gets_smaller(kinds):
    def mean_of(n):
        values = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            u, v = (
                rng.normal(size=n) if kind == "number" else rng.integers(0, 2, n) for kind in kinds
            )
            values.append(float(metrics.hgr(u, {"a": v})))
        return np.mean(values)

    assert mean_of(10_000) < 0.1
    assert mean_of(10_000) < mean_of(500) < 0.3


@pytest.mark.parametrize("seed", range(5))
def test_two_by_two_table_is_phi(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 30, (2, 2))
    prediction = np.repeat([0, 0, 1, 1], table.ravel())
    attribute = np.repeat([0, 1, 0, 1], table.ravel())
    phi = math.sqrt(chi2_contingency(table, correction=False)[0] / table.sum())
    assert float(metrics.hgr(prediction, {"a": attribute})) == pytest.approx(phi, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("norm", ["mean", "max"])
def test_categorical_attributes_are_crossed(seed, norm):
    rng = np.random.default_rng(seed)
    n = 400
    race, sex, y = rng.choice(list("abc"), n), rng.choice(["f", "m"], n), rng.integers(0, 3, n)
    prediction, weights = rng.integers(0, 3, n), rng.exponential(size=n)
    joint = np.char.add(race, sex)
    parts = [
        second_singular_value(prediction[y == k], joint[y == k], weights[y == k]) for k in range(3)
    ]
    shares = [weights[y == k].sum() / weights.sum() for k in range(3)]
    expected = max(parts) if norm == "max" else np.dot(parts, shares)
    result = metrics.hgr(
        prediction, sensitive={"race": race, "sex": sex}, y_true=y, norm=norm, weights=weights
    )
    assert float(result) == pytest.approx(expected)
    assert list(result.by_outcome.values()) == pytest.approx(parts)
    assert list(result.by_attribute) == ["race", "sex", "race × sex"]
    assert result.attribute == "race × sex"
    assert result.by_attribute["race × sex"] == pytest.approx(result.value)
    assert max(result.by_attribute.values()) == pytest.approx(result.value)  # a cross loses nothing


def test_with_a_number_among_them_the_worst_attribute_counts():
    x, a = gaussian_pair(0.7, 2000, seed=0)
    rng = np.random.default_rng(1)
    sex, y = rng.choice(["f", "m"], 2000), rng.integers(0, 2, 2000)
    result = metrics.hgr(x, sensitive={"sex": sex, "a": a}, y_true=y)
    assert set(result.by_attribute) == {"sex", "a"}
    assert result.attribute == "a"
    assert result.value == max(result.by_attribute.values())
    assert set(result.by_outcome) == {"0", "1"}
    assert len(result.to_frame()) == 4


def test_a_continuous_outcome_is_cut_into_quantile_ranges():
    rng = np.random.default_rng(0)
    y = rng.normal(size=5000)
    a, prediction = y + rng.normal(size=5000), y + rng.normal(size=5000)
    result = metrics.hgr(prediction, sensitive={"a": a}, y_true=y, bins=8)
    assert len(result.by_outcome) == 8
    assert {cell.n for cell in result.cells} == {625}
    assert sum(cell.share for cell in result.cells) == pytest.approx(1)
    assert float(result) < 0.2 < float(metrics.hgr(prediction, {"a": a}))


def test_monotone_transformations_and_outliers_change_nothing():
    x, a = gaussian_pair(0.5, 500, seed=0)
    value = float(metrics.hgr(x, {"a": a}))
    assert float(metrics.hgr(np.exp(5 * x), {"a": a**3})) == value
    a[np.argmax(a)] = 1e12
    assert float(metrics.hgr(x, {"a": a})) == value


def test_reversed_scales_change_nothing_even_with_ties():
    x, a = (np.round(np.exp(values)) for values in gaussian_pair(0.5, 500, seed=0))
    kinds = {"y_pred": "integer", "a": "integer"}
    value = float(metrics.hgr(x, {"a": a}, kinds=kinds))
    assert float(metrics.hgr(-x, {"a": a}, kinds=kinds)) == pytest.approx(value, abs=1e-10)
    assert float(metrics.hgr(x, {"a": -a}, kinds=kinds)) == pytest.approx(value, abs=1e-10)


def test_row_order_does_not_matter():
    x, a = gaussian_pair(0.5, 500, seed=0)
    y = np.random.default_rng(0).integers(0, 2, 500)
    order = np.random.default_rng(1).permutation(500)
    assert float(
        metrics.hgr(x[order], sensitive={"a": a[order]}, y_true=y[order])
    ) == pytest.approx(float(metrics.hgr(x, sensitive={"a": a}, y_true=y)), abs=1e-12)


def test_integer_weights_are_repeated_rows():
    x, a = gaussian_pair(0.5, 300, seed=0)
    rng = np.random.default_rng(0)
    y, weights = rng.integers(0, 2, 300), rng.integers(0, 4, 300)
    rows = np.repeat(np.arange(300), weights)
    for prediction in (x, (x > 0).astype(int)):
        weighted = metrics.hgr(
            prediction, sensitive={"a": a}, y_true=y, weights=weights, bandwidth=0.4
        )
        repeated = metrics.hgr(
            prediction[rows], sensitive={"a": a[rows]}, y_true=y[rows], bandwidth=0.4
        )
        assert float(weighted) == pytest.approx(float(repeated), abs=1e-10)


def test_constants_within_a_class_have_coefficient_zero():
    result = metrics.hgr([0, 0, 1, 0], sensitive={"sex": ["f", "m", "f", "m"]}, y_true=[0, 0, 1, 1])
    assert result.by_outcome == {"0": 0.0, "1": pytest.approx(1.0)}
    one_row = metrics.hgr([0.2, 0.3, 0.4], sensitive={"a": [1.5, 2.5, 3.5]}, y_true=[0, 1, 1])
    assert one_row.by_outcome["0"] == 0.0


def test_two_class_probabilities_use_the_second_column():
    x, a = gaussian_pair(0.5, 300, seed=0)
    p = 1 / (1 + np.exp(-x))
    assert float(metrics.hgr(np.column_stack([1 - p, p]), {"a": a})) == float(
        metrics.hgr(p, {"a": a})
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"norm": "sum"}, "'norm' parameter must be 'mean' or 'max'. Got 'sum'"),
        ({"bins": 0}, "'bins' parameter must be at least 1"),
        ({"bandwidth": 0.0}, "'bandwidth' parameter must be positive"),
        ({"bandwidth": math.nan}, "'bandwidth' parameter must be positive"),
    ],
)
def test_bad_parameters(options, says):
    with pytest.raises(InputError, match=says):
        metrics.hgr([0.1, 0.2, 0.3], {"a": [1.5, 2.5, 3.5]}, **options)


def test_several_prediction_columns_are_rejected():
    with pytest.raises(InputError, match="'y_pred' argument has 3 columns"):
        metrics.hgr(np.eye(3), {"a": [1.5, 2.5, 3.5]})
