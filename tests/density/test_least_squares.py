"""Ridge regression in numpy against refits, and the terms that it may use."""

import numpy as np
import pytest

from fairaudit.density.bases import select_terms
from fairaudit.density.least_squares import OLS_PENALTY, fit_ridge
from fairaudit.density.transforms import fit_transform
from fairaudit.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + 5
Y = X @ [1.0, -0.2, 3.0] + RNG.normal(size=60)


def test_least_squares():
    fit = fit_ridge(X, Y, OLS_PENALTY)
    expected = np.linalg.lstsq(np.c_[np.ones(60), X], Y, rcond=None)[0]
    assert [fit.intercept, *fit.slope] == pytest.approx(list(expected), rel=1e-6)
    assert fit.predict(X) == pytest.approx(fit.fitted)
    assert fit.used == pytest.approx(4)


def test_residuals_of_rows_that_are_left_out():
    fit = fit_ridge(X, Y, OLS_PENALTY)
    for row in (0, 17, 59):
        others = np.arange(60) != row
        alone = fit_ridge(X[others], Y[others], OLS_PENALTY)
        assert fit.left_out[row] == pytest.approx(Y[row] - alone.predict(X[[row]])[0], rel=1e-5)


def test_the_penalty_is_the_one_that_predicts_best():
    noise = RNG.normal(size=(60, 40))
    strong = fit_ridge(noise, RNG.normal(size=60))
    weak = fit_ridge(X, X @ [1.0, -0.2, 3.0])
    assert strong.used < 12 and weak.used > 3.9


def test_columns_that_do_not_vary_or_repeat_are_harmless():
    fit = fit_ridge(np.c_[X, np.ones(60), X[:, 0]], Y, OLS_PENALTY)
    assert fit.fitted == pytest.approx(fit_ridge(X, Y, OLS_PENALTY).fitted, rel=1e-5)


def test_terms_are_selected_for_what_they_explain():
    a = RNG.normal(size=(300, 6))
    product = select_terms(a, a[:, 1] * a[:, 4] + 0.5 * RNG.normal(size=300)).terms
    assert (1, 4) in set(zip(product.first, product.second, strict=True)) and len(product) <= 3
    bend = select_terms(a, np.abs(a[:, 2]) + 0.3 * RNG.normal(size=300)).terms
    assert set(bend.column) | set(bend.first) | set(bend.second) == {2}
    counts = [len(select_terms(a, RNG.normal(size=300)).terms) for _ in range(40)]
    assert np.mean(counts) < 1  # of noise hardly any


@pytest.mark.parametrize("name", ["log", "scores"])
def test_transforms_increase_and_know_their_slope(name):
    y = np.exp(RNG.normal(size=400))
    transform = fit_transform(name, y)
    grid = np.concatenate([np.linspace(-1, 1, 400), np.linspace(1, 2 * y.max(), 400)])
    values = transform(grid)
    assert (np.diff(values)[np.diff(grid) > 0] > 0).all()
    step = 1e-6
    slope = (transform(grid + step) - transform(grid - step)) / (2 * step)
    assert np.median(np.abs(np.log(slope) - transform.log_slope(grid))) < 1e-4
    assert np.mean(np.abs(np.log(slope) - transform.log_slope(grid)) < 1e-2) > 0.98


def test_transforms_that_cannot_be():
    with pytest.raises(ValueError, match="positive"):
        fit_transform("log", np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="too few"):
        fit_transform("scores", np.ones(5))
    with pytest.raises(InputError, match="'transform' parameter"):
        fit_transform("cube", np.ones(5))
