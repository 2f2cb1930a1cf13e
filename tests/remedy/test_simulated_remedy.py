"""Simulations 1 and 2 of the paper, small: copies from an estimated density are nearly as good."""

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.datasets import simulate_1, simulate_2

pytest.importorskip("torch")
MUS = [0.0, 0.5, 0.8]


def explained(prediction, y, a):
    """How much of the prediction's variance given Y the attributes explain, linearly."""
    given = np.column_stack([np.ones(len(y)), y])
    rest = [v - given @ np.linalg.lstsq(given, v, rcond=None)[0] for v in (prediction[:, None], a)]
    fitted = rest[1] @ np.linalg.lstsq(rest[1], rest[0], rcond=None)[0]
    return float((fitted**2).sum() / (rest[0] ** 2).sum())


def curve(table, tested, density):
    """Loss, relative to the outcome's variance, and unfairness of every μ on rows 500 on."""
    estimator = fa.FairICPRegressor(predictor="linear", density=density, steps=150)
    x, y, a = table.X, table.Y, table.A
    found = []
    for model in estimator.fit_path(x[:500], y[:500], a[:500], MUS):
        prediction = model.predict(x[500:])
        loss = np.mean((prediction - y[500:]) ** 2) / y[500:].var()
        found.append((loss, explained(prediction, y[500:], a[500:, tested])))
    return np.array(found)


@pytest.mark.parametrize("k", [5, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 10))])
@pytest.mark.parametrize(("make", "tested"), [(simulate_1, slice(None)), (simulate_2, slice(1))])
def test_near_the_oracle_and_fairer_than_plain_training(make, tested, k):
    tables = [make(900, k, seed=seed, settings="program") for seed in range(2)]
    oracle = np.mean([curve(table, tested, table.log_density) for table in tables], axis=0)
    fairicp = np.mean([curve(table, tested, "auto") for table in tables], axis=0)
    assert fairicp[0] == pytest.approx(oracle[0])  # plain training has no copies
    assert fairicp[2, 1] < fairicp[1, 1] < fairicp[0, 1]
    assert fairicp[2, 1] < 0.5 * fairicp[0, 1]
    assert fairicp == pytest.approx(oracle, abs=0.06)
