"""False claims about where, and size with missing attributes: in small, and in full (slow)."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
import centered_size
import incomplete
import localisation
import named_groups
import told_apart


def most(replications, rate):
    """Bound that a procedure of this error passes with probability 1 − 1e-4."""
    return int(binom.ppf(1 - 1e-4, replications, rate))


def test_false_claims_in_small():
    runs = [localisation.replicate("classes, no numbers", seed) for seed in range(20)]
    assert sum(run["any"] for run in runs) <= most(20, 0.05)
    assert np.mean([run["age found"] for run in runs]) > 0.8


def test_sizes_with_missing_attributes_in_small():
    runs = np.array([incomplete.replicate("equalized odds", seed) for seed in range(15)])
    assert runs[:, :2].sum(axis=0).max() <= most(15, 0.05)


def test_the_first_sentences_name_the_guilty_and_nobody_else():
    runs = [named_groups.audit(kind, 500, guilty=True) for kind in ("classes", "age")]
    assert all(run["named"] and not run["other"] for run in runs)
    assert not any(
        named_groups.audit("intersection", seed, guilty=False)["accuses"]
        for seed in range(500, 504)
    )


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_nobody_is_named_on_fair_tables():
    pairs = np.array([named_groups.fair_intervals(seed) for seed in range(1000)])
    apart, named = pairs.sum(axis=0)
    assert apart <= most(1000, 0.05) and named <= most(1000, 0.001)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("setting", localisation.SETTINGS)
def test_family_wise_error(setting):
    runs = [localisation.replicate(setting, seed) for seed in range(500)]
    assert sum(run["any"] for run in runs) <= most(500, 0.05)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_size_and_power_with_missing_attributes():
    rates = {
        setting: np.mean([incomplete.replicate(setting, seed) for seed in range(500)], axis=0)
        for setting in incomplete.SETTINGS
    }
    null = rates["equalized odds"]
    assert max(null[0], null[1]) <= most(500, 0.05) / 500
    assert null[3] > 0.05  # the smallest p is no p-value
    assert min(rates["violation, missing by score"][:2]) > 0.8
    assert rates["equalized odds, but the proxy is a feature"][1] > 0.2  # as docs warn


def test_noisy_copies_in_small():
    setting = told_apart.SETTINGS[2]  # periodic
    runs = [told_apart.replicate(setting, seed) for seed in range(12)]
    assert sum(run["false claim"] for run in runs) <= most(12, 0.05)
    assert np.mean([run["guilty found"] for run in runs]) > 0.9


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("setting", told_apart.SETTINGS, ids=str)
def test_family_wise_error_with_noisy_copies(setting):
    runs = [told_apart.replicate(setting, seed) for seed in range(500)]
    assert sum(run["false claim, audit"] for run in runs) <= most(500, 0.05 / 3)
    assert np.mean([run["guilty or copy found"] for run in runs]) > 0.9


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("strength", centered_size.STRENGTHS)
@pytest.mark.parametrize("setting", centered_size.SETTINGS, ids=str)
def test_the_size_is_centered_and_its_interval_covers(setting, strength):
    sizes = [centered_size.replicate(setting, strength, seed) for seed in range(1000)]
    mean = np.mean([size.value for size in sizes])
    if not strength:
        assert abs(mean) <= 0.01
    assert centered_size.share_covering(sizes, mean if strength else 0.0) >= 0.94
