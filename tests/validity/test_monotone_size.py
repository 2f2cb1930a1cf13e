"""Size of the law monotone, in small; `monotone.py` has it in full."""

import sys
from pathlib import Path

import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
from monotone import NULLS, replicate


@pytest.mark.parametrize("name", NULLS)
def test_size_of_the_law_monotone_in_small(name):
    alarms = sum(replicate(NULLS[name], 20_000 + seed) <= 0.05 for seed in range(300))
    assert alarms <= binom.ppf(1 - 1e-4, 300, 0.05)
    if "worst case" in name:  # and it is attained
        assert alarms >= binom.ppf(1e-4, 300, 0.05)
