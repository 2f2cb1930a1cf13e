"""Coverage, false certificates, planned rows and calibration, in full (`make validity`)."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
import equivalence
import planning
import prediction_gaps
import small_groups

import fairaudit as fa

LAWS = [
    pytest.param(law, id=f"{law.name}, {law.n} rows")
    for law in (*equivalence.LAWS, *equivalence.WEIGHTED)
]


@pytest.mark.parametrize("law", LAWS)
def test_intervals_and_certificates_in_small(law):
    """Bounds that .95 coverage and .05 false certificates pass with probability 1 − 1e-4."""
    found = [equivalence.replicate(law, 5000 + seed) for seed in range(40)]
    assert sum(one["covered"] for one in found) >= binom.ppf(1e-4, 40, 0.95)
    for name in law.measures:
        assert sum(one[name] for one in found) <= binom.ppf(1 - 1e-4, 40, 0.05)


SMALL = [
    pytest.param(setting, id=f"{setting.name}, weights: {setting.weights}")
    for setting in small_groups.ALL
]


@pytest.mark.parametrize("setting", SMALL)
def test_groups_of_a_few_people_in_small(setting):
    found = [small_groups.replicate(setting, 5000 + seed) for seed in range(20)]
    assert sum(one["covered"] for one in found) >= binom.ppf(1e-4, 20, 0.95)
    for name in small_groups.MEASURES:
        assert sum(one[name] for one in found) <= binom.ppf(1 - 1e-4, 20, 0.05)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("setting", SMALL)
def test_groups_of_a_few_people(setting):
    found = [small_groups.replicate(setting, seed) for seed in range(1000)]
    assert np.mean([one["covered"] for one in found]) >= 0.94
    for name in small_groups.MEASURES:
        assert sum(one[name] for one in found) <= binom.ppf(1 - 1e-4, 1000, 0.05)


def test_intervals_with_several_rows_of_a_person_in_small():
    found = [equivalence.replicate_people(seed) for seed in range(60)]
    assert sum(one["covered"] for one in found) >= binom.ppf(1e-4, 60, 0.95)


GAPS = [pytest.param(law, id=law.name) for law in prediction_gaps.LAWS]


@pytest.mark.parametrize("kind", ["none", "outcome"])
@pytest.mark.parametrize("law", GAPS)
def test_prediction_gaps_in_small(law, kind):
    found = [prediction_gaps.replicate(law, kind, 5000 + seed) for seed in range(40)]
    for name in ("gaps", "curve"):
        assert sum(one[name] for one in found) >= binom.ppf(1e-4, 40, 0.95)
    for name in prediction_gaps.MEASURES:
        assert sum(one[name] for one in found) <= binom.ppf(1 - 1e-4, 40, 0.05)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", ["none", "outcome", "outcome and group"])
@pytest.mark.parametrize("law", GAPS)
def test_prediction_gaps(law, kind):
    count = 1000
    found = [prediction_gaps.replicate(law, kind, seed) for seed in range(count)]
    for name in ("gaps", "curve"):
        assert np.mean([one[name] for one in found]) >= 0.94 - 2 * np.sqrt(0.05 * 0.95 / count)
    for name in prediction_gaps.MEASURES:
        assert sum(one[name] for one in found) <= binom.ppf(1 - 1e-4, count, 0.05)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("law", LAWS)
def test_intervals_and_certificates(law):
    count = 2000
    found = [equivalence.replicate(law, seed) for seed in range(count)]
    coverage = np.mean([one["covered"] for one in found])
    assert coverage >= 0.94 - 2 * np.sqrt(0.05 * 0.95 / count)
    for name in law.measures:
        assert sum(one[name] for one in found) <= binom.ppf(1 - 1e-4, count, 0.05)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("case", planning.CASES)
def test_planned_rows_have_the_power(case):
    """Within 10 % of the power that was asked for, and what 1,000 tables leave open."""
    _, (power,) = planning.confirm(case, 1000, jobs=2, factors=(1.0,))
    assert power == pytest.approx(0.8, abs=0.08 + 2 * np.sqrt(0.8 * 0.2 / 1000))


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("rows", [500, 2000])
def test_what_an_audit_could_have_found_is_found(rows):
    assert 0.68 <= planning.detectable(rows, 500, planning.draw_pair)[1] <= 0.92


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_calibration_fails_by_chance_as_rarely_as_it_says():
    failed = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        y, sex = rng.integers(0, 2, (2, 400))
        result = fa.audit(
            predictions=y + rng.normal(size=400),
            outcome=y,
            sensitive={"sex": sex},
            calibrate=True,
            power=False,
            permutations=fa.Permutations(n=99, seed=seed),
        )
        failed += not result.calibration.passed
    assert failed <= binom.ppf(1 - 1e-4, 300, 0.01)
