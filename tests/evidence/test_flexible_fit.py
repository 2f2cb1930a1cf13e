"""Residuals of flexible regressions, and sums of their products."""

import numpy as np
import pytest

from fairaudit.data.columns import columns_from
from fairaudit.evidence.localization.flexible_fit import FlexibleFit


@pytest.mark.parametrize("shape", ["line", "step", "wave", "by level"])
def test_a_flexible_fit_leaves_the_noise(shape):
    rng = np.random.default_rng(2)
    x, sex = rng.normal(size=1000), rng.choice(["f", "m"], 1000)
    columns = columns_from({"x": np.exp(x), "sex": sex}, argument="sensitive")  # skewed
    truth = {
        "line": x,
        "step": 1.0 * (x > 0.4),
        "wave": np.sin(3 * x),
        "by level": x * (sex == "f"),
    }[shape]
    noise = 0.5 * rng.normal(size=1000)
    (left,) = FlexibleFit(columns, rng).residuals((truth + noise)[:, None]).T
    assert np.mean((left - noise) ** 2) < 0.06 * truth.var() + 0.02


def test_a_fit_does_not_see_the_row_itself():
    """What is left of a row is that of a fit to all others: by hand, with the chosen penalty."""
    rng = np.random.default_rng(3)
    columns = columns_from({"x": rng.normal(size=60)}, argument="sensitive")
    fit = FlexibleFit(columns, np.random.default_rng(0))
    response = np.sin(2 * np.asarray(columns[0].numeric)) + 0.3 * rng.normal(size=60)
    left = fit.residuals(response[:, None])[:, 0]
    centered = response - response.mean()
    design = fit.directions * np.sqrt(60 * fit.values)
    close = []
    for penalty in fit.values.max() * np.logspace(-7, 1, 13):
        by_hand = np.empty(60)
        for row in range(60):
            other = np.arange(60) != row
            x = np.column_stack([np.ones(59), design[other]])
            inner = x.T @ x + 60 * penalty * np.diag([0.0, *np.ones(design.shape[1])])
            coefficients = np.linalg.solve(inner, x.T @ centered[other])
            by_hand[row] = centered[row] - np.r_[1.0, design[row]] @ coefficients
        close.append(np.abs(by_hand - left).max())
    assert min(close) < 1e-6


def test_sums_of_products_vary_as_the_directions_that_are_lost_say():
    """Against matrices: M = (I − UKU') with its diagonal scaled to leave rows out."""
    rng = np.random.default_rng(3)
    n = 1000
    numbers = {"x": rng.normal(size=n), "y": rng.normal(size=n)}
    columns = columns_from(numbers, argument="sensitive")
    fit = FlexibleFit(columns, rng)
    values = fit.values / fit.values.max()
    taken = np.column_stack([values / (values + penalty) for penalty in (1e-4, 1e-2, 10.0)])
    makers = []
    for kept in taken.T:
        lost = (fit.directions * kept) @ fit.directions.T
        makers.append((np.eye(n) - lost) / (1 - np.diag(lost))[:, None])
    truth = [
        [((m.T @ k) ** 2).sum() / ((m @ m.T).diagonal() @ (k @ k.T).diagonal()) for k in makers]
        for m in makers
    ]
    assert truth[0][0] > 1.05
    assert fit.variance_ratios(taken, taken) == pytest.approx(np.array(truth), rel=0.05)
