"""The power that a remedy states for its audit after, against rejections that are counted."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.evidence.power.carried import carried_power
from fairaudit.permute.icp import ICP
from fairaudit.testing.choice_of_law import ChoiceOfLaw
from fairaudit.testing.core import run_test
from fairaudit.testing.statistic import statistic_named

pytestmark = pytest.mark.slow


def people(rng, n):
    """Outcomes, attributes, and who is concerned: sex and age together, neither alone."""
    y, sex, age = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(20, 70, n)
    return y, {"sex": sex, "age": age}, (sex == (age >= 45)).astype(float)


def audited(score, y, attributes, seed):
    table = AuditTable.of(expit(score), attributes, y)
    drawn = fa.Permutations(n=199, seed=seed)
    return table, run_test(
        table, statistic="kpc", choice=ChoiceOfLaw(ICP("auto", 5)), permutations=drawn
    )


@pytest.mark.parametrize(("n", "size"), [(400, 0.4), (400, 0.6), (1200, 0.25), (1200, 0.4)])
def test_stated_power_is_the_share_of_rejections(n, size):
    """Old and new model have the same violation; "repaired" would be wrong and must be rare."""
    stated, rejected = [], []
    for seed in range(150):
        rng = np.random.default_rng([n, seed])
        y, attributes, concerned = people(rng, n)
        old = AuditTable.of(expit(y + size * concerned + rng.normal(size=n)), attributes, y)
        new, result = audited(y + size * concerned + rng.normal(size=n), y, attributes, seed)
        (statistic,) = statistic_named("kpc")
        power = carried_power(old, new, result.null, statistic, alpha=0.05, seed=seed).power
        stated.append(power)
        rejected.append(result.p_value <= 0.05)
    error = 3.9 * np.sqrt((np.var(stated) + 0.25) / 150)
    assert abs(np.mean(stated) - np.mean(rejected)) < error
    misled = sum(p >= 0.8 and not r for p, r in zip(stated, rejected, strict=True))
    assert misled <= binom.ppf(1 - 1e-4, 150, 0.2)


@pytest.mark.parametrize(("n", "size"), [(400, 1.2), (1000, 0.8)])
def test_what_is_said_to_be_seen_is_seen(n, size):
    """A violation that is left in the stated share of the rows is found in 80 % of tables."""
    shares = []
    for seed in range(20):
        rng = np.random.default_rng([n, seed])
        y, attributes, concerned = people(rng, n)
        old = AuditTable.of(expit(y + size * concerned + rng.normal(size=n)), attributes, y)
        new, result = audited(y + rng.normal(size=n), y, attributes, seed)
        (statistic,) = statistic_named("kpc")
        found = carried_power(old, new, result.null, statistic, alpha=0.05, seed=seed)
        shares.append(1.0 if found.share is None else found.share)
    seen = 0
    for seed in range(150):
        rng = np.random.default_rng([n, 1, seed])
        y, attributes, concerned = people(rng, n)
        left = concerned * (rng.random(n) < np.mean(shares))
        _, result = audited(y + size * left + rng.normal(size=n), y, attributes, seed)
        seen += result.p_value <= 0.05
    assert seen >= binom.ppf(1e-4, 150, 0.8)
