"""GCM, PCM and SplitKCI as written in benchmarks/ci_tests keep their level and find effects."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import peers
from fair_models import FAIR_MODELS


@pytest.mark.parametrize("name", peers.SEEDED)
def test_a_written_peer_keeps_its_level_and_finds_an_effect(name):
    test, rows, replications = peers.test_named(name), 200, 6 if name == "forest PCM" else 25
    alarms = found = 0
    for seed in range(replications):
        score, a, y = peers.simulate(rows, "null_nl", seed)
        alarms += test(score, a, y, seed)[0] <= 0.05
        found += test(score + 1.2 * a[:, 1:2] ** 2, a, y, seed)[0] <= 0.05
    assert alarms <= binom.ppf(1 - 1e-4, replications, 0.05)
    if name == "spline GCM":  # products of residuals are blind to squares
        assert found < replications / 2
        score = score + a[:, 1:2]
        assert test(score, a, y, 0)[0] <= 0.05
    else:
        assert found > replications / 2


@pytest.mark.parametrize("name", peers.SEEDED)
def test_a_written_peer_gives_the_same_p_value_again(name):
    test = peers.test_named(name)
    data = peers.simulate(120, "alt", 0)
    assert test(*data, 3) == test(*data, 3)


def test_levels_become_indicators():
    _, a, y = peers.draw(FAIR_MODELS["one attribute of 40 levels, n = 500"], 0)
    assert set(np.unique(a)) == {0.0, 1.0}
    assert (a.sum(axis=1) == 1).all()
    assert a.shape[1] > 30
    assert y.shape == (500, 1)
