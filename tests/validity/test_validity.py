"""Size in small (default run) and in full (`make validity`)."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
from settings import SETTINGS
from size import densities, replicate

import fairaudit as fa
from fairaudit.density.conditional_density import LocationScale
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.testing.statistic import statistic_named

CELLS = [(setting, density) for setting in SETTINGS for density in densities(setting)]
NAMES = [f"{setting.name}, n = {setting.n}, {density}" for setting, density in CELLS]


def most_alarms(replications, rate):
    """Bound that a test of this size passes with probability 1 − 1e-4."""
    return int(binom.ppf(1 - 1e-4, replications, rate))


@pytest.mark.parametrize(
    ("setting", "density"),
    [cell for cell in CELLS if cell[1] == "exact" or (cell[0].n == 200 and cell[1] == "oracle")],
)
def test_size_in_small(setting, density):
    replications = 150 if density == "exact" else 40
    alarms = sum(replicate(setting, density, 500 + seed)[0] <= 0.05 for seed in range(replications))
    assert alarms <= most_alarms(replications, 0.05)


def test_size_with_a_fitted_density_in_small():
    setting = next(s for s in SETTINGS if "heavy-tailed" in s.name)
    alarms = sum(replicate(setting, "auto", 500 + seed)[0] <= 0.05 for seed in range(20))
    assert alarms <= most_alarms(20, 0.08)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("setting", "density"), CELLS, ids=NAMES)
def test_size(setting, density):
    results = np.array([replicate(setting, density, seed) for seed in range(1000)])
    rate, flagged = (results[:, 0] <= 0.05).mean(), np.nanmean(results[:, 1])
    if density == "ols":  # cannot fit here: it must say so
        assert flagged > 0.5
    else:
        assert rate <= (0.08 if density == "auto" else 0.065)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_sub_tests_with_a_fitted_density_need_their_own_copies():
    """Copies from q(y | a1, a2) are not exchangeable under Yhat ⟂ A1 | Y if Yhat depends on A2."""
    n, sharp, replications = 100, 0.03, 3000
    alarms = {"own": 0, "joint": 0}
    for seed in range(replications):
        rng = np.random.default_rng(seed)
        y, e1, e2, noise = rng.normal(size=(4, n))
        a1, a2 = y + e1, y + sharp * e2
        u = y + e2 + 0.3 * noise  # depends on A2, not on A1, given Y
        precision = 2 + sharp**-2
        laws = {
            "own": LocationScale(y, a1 / 2, np.full(n, 0.5**0.5)),
            "joint": LocationScale(
                y, (a1 + a2 / sharp**2) / precision, np.full(n, precision**-0.5)
            ),
        }
        bound = statistic_named("correlation")[0].bind(
            fa.AuditTable.of(u, a1, y), within_outcome=False, seed=0
        )
        observed = bound(np.arange(n)[None])[0]
        for name, pairs in laws.items():
            copies = ConditionalPermutation([Fold(np.arange(n), pairs)], 50, seed)
            alarms[name] += bound(copies.block(range(19))).max() < observed
    assert alarms["own"] <= most_alarms(replications, 0.05)
    assert alarms["joint"] > most_alarms(replications, 0.05)
