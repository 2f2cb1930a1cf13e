"""Coverage, size and power of comparisons: in small (default run) and in full."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
import comparison_settings
from comparison import (
    ALPHA,
    MARGIN,
    TWEAKS,
    Case,
    Numbers,
    cases,
    intervals,
    number_interval,
    numbers,
    rates_of,
    tweaked,
)

HALF = np.full(2, 0.5)


def covered(case, results, measure):
    ends, truth = np.array([one[measure] for one in results]), case.truth(measure)
    return (ends[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[:, 1])


def most(trials, rate):
    return int(binom.ppf(1 - 1e-4, trials, rate))


@pytest.mark.parametrize(
    "case",
    [
        Case("equal", 1000, rates_of(2), rates_of(2), HALF),
        Case("boundary", 1000, rates_of(2), rates_of(2, (1, 0, -MARGIN)), HALF),
    ],
    ids=lambda case: case.name,
)
def test_coverage_and_size_in_small(case):
    results = [intervals(case, seed) for seed in range(60)]
    for measure in ("eod", "tpr_gap", "deo"):
        assert (~covered(case, results, measure)).sum() <= most(60, ALPHA)
    ends = np.array([one["eod"] for one in results])
    wrongly = ends[:, 2] > 0 if case.truth("eod") == 0 else ends[:, 3] < MARGIN
    assert wrongly.sum() <= most(60, ALPHA)


@pytest.mark.parametrize(("small", "margin"), [(42, 0.05), (22, 0.1)])
def test_few_discordant_rows_are_no_false_all_clear_in_small(small, margin):
    """A candidate that is a small tweak, truly at the margin: .11 to .15 with normal limits."""
    bounds = np.array([tweaked(small, margin, seed) for seed in range(150)])
    assert (bounds < margin).sum(axis=0).max() <= most(150, ALPHA)


@pytest.mark.parametrize(("small", "margin"), [(42, 0.05), (100, 0.023)])
def test_few_heavy_discordant_rows_are_no_false_all_clear_in_small(small, margin):
    bounds = np.array([tweaked(small, margin, seed, heavy=10.0) for seed in range(40)])
    assert (bounds < margin).sum(axis=0).max() <= most(40, ALPHA)


SETTINGS = [
    pytest.param(setting, id=f"{setting.name}, weights: {setting.weights}")
    for setting in comparison_settings.ALL
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_that_nothing_was_tuned_on_in_small(setting):
    shares, _ = comparison_settings.failures(setting, 15)
    assert (15 * shares).max() <= most(15, ALPHA)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_that_nothing_was_tuned_on(setting):
    shares, _ = comparison_settings.failures(setting, 1000)
    assert (1000 * shares).max() <= most(1000, ALPHA)


NONE = (0.0, 0.0)


@pytest.mark.parametrize(
    "case",
    [
        Numbers("constant", (40, 200), NONE, NONE, "constant"),
        Numbers("another", (40, 200), NONE, NONE),
        Numbers("gap", (40, 200), NONE, (0.3, 0.0)),
    ],
    ids=lambda case: case.name,
)
def test_coverage_of_prediction_gaps_in_small(case):
    ends = np.array([number_interval(case, seed) for seed in range(60)])
    assert (ends[:, 3] < case.truth - 1e-12).sum() <= most(60, ALPHA)
    assert (ends[:, 2] > case.truth + 1e-12).sum() <= most(60, ALPHA)


def test_power_in_small():
    worse = Case("worse", 4000, rates_of(2), rates_of(2, (1, 0, -0.2)), HALF)
    better = Case("better", 4000, rates_of(2, (1, 0, -0.2)), rates_of(2), HALF)
    assert np.mean([intervals(worse, seed)["eod"][2] > 0 for seed in range(10)]) == 1
    assert np.mean([intervals(better, seed)["eod"][3] < MARGIN for seed in range(10)]) == 1


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.name}, {case.rows}")
def test_coverage_and_size(case):
    results = [intervals(case, seed) for seed in range(1000)]
    for measure in ("eod", "tpr_gap", "deo"):
        assert covered(case, results, measure).mean() >= 0.94
    ends, truth = np.array([one["eod"] for one in results]), case.truth("eod")
    if truth <= 1e-9:
        assert (ends[:, 2] > 0).sum() <= most(1000, ALPHA)
    if truth >= MARGIN - 1e-9:
        assert (ends[:, 3] < MARGIN).sum() <= most(1000, ALPHA)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("small", "margin"), TWEAKS)
def test_few_discordant_rows_are_no_false_all_clear(small, margin):
    bounds = np.array([tweaked(small, margin, seed) for seed in range(1000)])
    assert (bounds < margin).sum(axis=0).max() <= most(1000, ALPHA)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("case", numbers(), ids=lambda case: f"{case.name}, {case.sizes}")
def test_coverage_of_prediction_gaps(case):
    ends = np.array([number_interval(case, seed) for seed in range(1000)])
    assert ((ends[:, 0] <= case.truth + 1e-12) & (case.truth - 1e-12 <= ends[:, 1])).mean() >= 0.94
    assert (ends[:, 3] < case.truth - 1e-12).sum() <= most(1000, ALPHA)
    assert (ends[:, 2] > case.truth + 1e-12).sum() <= most(1000, ALPHA)
