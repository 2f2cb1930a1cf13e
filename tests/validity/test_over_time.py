"""False alarms and delay of the monitor: in small (default run) and in full (`make validity`)."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
from monitor import ALPHA, VIOLATIONS, delay, null_stream


def most_alarms(streams):
    """Bound that a rate of alpha passes with probability 1 − 1e-4."""
    return int(binom.ppf(1 - 1e-4, streams, ALPHA))


def test_false_alarms_in_small():
    found = np.array([null_stream(seed, 60, 19, batches=15) for seed in range(40)])
    assert found[:, 0].sum() <= most_alarms(40)
    assert found[:, 1].mean() > 0.3  # what the naive repeated test does: 1 − .95^15 = .54


def test_delay_in_small():
    late, since = delay(0, "scores of one sex higher", 0.8, 150, 99, change=5, batches=20)
    assert late <= 8
    assert abs(since - 5) <= 3


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_false_alarms():
    found = np.array([null_stream(seed, 200, 99) for seed in range(1000)])
    assert found[:, 0].mean() <= ALPHA
    assert found[:, 1].mean() > 0.8


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_false_alarms_with_a_fitted_density():
    found = np.array([null_stream(seed, 200, 99, kind="continuous") for seed in range(100)])
    assert found[:, 0].sum() <= most_alarms(100)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("violation", VIOLATIONS)
def test_delay(violation):
    found = [delay(seed, violation, VIOLATIONS[violation], 200, 99)[0] for seed in range(40)]
    assert np.median(found) <= 20
