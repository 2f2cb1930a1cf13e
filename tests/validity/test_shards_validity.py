"""Size and power in shards (`make validity`); the table of docs/shards.md is made by shards.py."""

import sys
from pathlib import Path

import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
from shards import EFFECTS, rates


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("setting", EFFECTS)
def test_size_and_power_of_shards(setting):
    replications = 200
    null = rates(setting, 0.0, replications)
    most = binom.ppf(1 - 1e-4, replications, 0.05) / replications
    assert all(rate <= most for rate in null.values()), null
    power = rates(setting, EFFECTS[setting], replications)
    assert power["one piece"] > 0.5
    assert all(rate >= power["one piece"] - 0.15 for rate in power.values()), power
