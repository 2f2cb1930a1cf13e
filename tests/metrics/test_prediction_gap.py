"""`fairaudit.metrics.prediction_gap`, against least squares and by simulation."""

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.errors import InputError
from fairaudit.metrics._gap_regression import gaps_given_outcome, outcome_basis


def draw(rows, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, rows)
    y = 0.8 * group + rng.normal(size=rows)
    models = np.column_stack([0.5 * y + rng.normal(size=rows), np.cos(y) + rng.normal(size=rows)])
    return models, y, group, rng.uniform(0.5, 2.0, rows)


def test_it_is_weighted_least_squares_with_dummies():
    models, y, group, weights = draw(400)
    y = np.tanh(y)  # nobody far from the others: HC3 is cut off at a leverage of .9
    gaps, covariance, _ = gaps_given_outcome(models, y, group, weights)
    basis, dummies = outcome_basis(y), np.eye(3)[group]
    design = np.column_stack([basis, dummies])
    bread = np.linalg.pinv(design.T @ (weights[:, None] * design))
    mean = np.bincount(group, weights) / weights.sum()
    centring = np.eye(3) - mean
    hat = design @ bread @ (design * weights[:, None]).T
    functional = centring @ (bread @ (design * weights[:, None]).T)[basis.shape[1] :]
    np.testing.assert_allclose(gaps.T, functional @ models, atol=1e-10)
    np.testing.assert_allclose(functional @ basis, 0, atol=1e-10)  # splines have no gap
    leverage = np.diag(hat)
    assert leverage.max() < 0.9
    left = (models - hat @ models) / (1 - leverage)[:, None]
    pulled = np.concatenate([functional * each for each in left.T])
    np.testing.assert_allclose(covariance, pulled @ pulled.T, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("outcome", ["shift", "spread", "top-coded", "few values", "zeros"])
def test_equalized_odds_has_no_gap(outcome):
    """Whatever the outcome's law is, and however curved E[prediction | outcome]."""
    scores = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        group = (rng.random(800) < 0.3).astype(int)
        noise = rng.normal(size=800)
        y = {
            "shift": 2.0 * group + noise,
            "spread": (1 + 1.5 * group) * noise,
            "top-coded": np.minimum(group + noise, 1.2),
            "few values": np.round(2 * (group + noise)),
            "zeros": np.where(rng.random(800) < 0.5 - 0.3 * group, 0.0, np.abs(group + noise)),
        }[outcome]
        fair = np.abs(y) + np.cos(y) + 0.3 * (1 + group) * rng.normal(size=800)
        gaps, cov, _ = gaps_given_outcome(fair[:, None], y, group, np.ones(800))
        se = np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])
        scores.append((gaps[0, 1] - gaps[0, 0]) / se)
    assert abs(np.mean(scores)) < 3.9 / np.sqrt(60)  # 1e-4, two-sided
    assert 0.65 < np.std(scores) < 1.4


def test_mean_errors_are_not_zero_under_equalized_odds_but_the_gap_is():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 4000)
    y = 1.4 * sex + rng.normal(size=4000)
    fair = 0.5 * y + rng.normal(size=4000)
    assert fa.metrics.group_errors(fair, sensitive=sex, y_true=y).value > 0.6
    result = fa.metrics.prediction_gap(fair, sensitive=sex, y_true=y)
    assert result.value < 0.12
    assert fa.metrics.prediction_gap(np.full(4000, 7.0), sensitive=sex, y_true=y).value == 0
    unfair = fa.metrics.prediction_gap(fair + 0.5 * sex, sensitive=sex, y_true=y)
    assert unfair.value == pytest.approx(0.5, abs=0.12)
    frame = unfair.to_frame()
    assert len(frame) == 2 and (frame["standard_error"] > 0).all()
    assert np.average(frame["gap"], weights=frame["n"]) == pytest.approx(0, abs=1e-10)


def test_a_function_of_the_outcome_has_no_gap_and_no_error():
    _, y, group, weights = draw(300)
    gaps, covariance, _ = gaps_given_outcome(1 + 2 * y[:, None], y, group, weights)
    assert (gaps == 0).all() and (covariance == 0).all()


def test_rows_of_one_person_count_once():
    models, y, group, weights = draw(500)
    unit = np.arange(500)
    _, once, resting = gaps_given_outcome(models, y, group, weights, unit)
    _, twice, again = gaps_given_outcome(
        *(np.concatenate([x, x]) for x in (models, y, group, weights, unit))
    )
    np.testing.assert_allclose(np.diag(twice), np.diag(once), rtol=0.15)
    np.testing.assert_allclose(again, resting, rtol=0.15)


def test_groups_that_share_no_outcome_cannot_be_compared():
    y = np.repeat([1.0, 2.0, 3.0, 4.0], 50)
    with pytest.raises(InputError, match="The outcome tells the groups apart"):
        fa.metrics.prediction_gap(
            np.arange(200.0),
            sensitive=(y > 2).astype(int),
            y_true=y,
            kinds={"y_true": "continuous"},
        )


def test_text_has_no_gap():
    with pytest.raises(InputError, match="holds text"):
        fa.metrics.prediction_gap(["a", "b"] * 20, sensitive=[0, 1] * 20, y_true=np.arange(40.0))
