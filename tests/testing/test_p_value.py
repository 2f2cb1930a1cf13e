"""One p-value, whoever asks: the test, placebos, planted violations, the monitor and shards."""

from __future__ import annotations

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.evidence.placebo import _test_placebo
from fairaudit.evidence.power.detect import Trial
from fairaudit.permute.icp import ICP
from fairaudit.testing.core import run_test
from fairaudit.testing.p_value import Null, PValue, p_values, reaches
from fairaudit.testing.statistic import statistic_named


@pytest.mark.parametrize(("reached", "drawn"), [(0, 99), (4, 99), (99, 99), (17, 500)])
def test_the_formula_and_its_interval(reached, drawn):
    from statsmodels.stats.proportion import proportion_confint

    found = PValue(reached, drawn)
    assert found.value == (1 + reached) / (drawn + 1)
    assert found.interval == pytest.approx(proportion_confint(reached, drawn, method="beta"))


def test_rounding_is_relative_to_large_statistics():
    """Placebos and planted violations had 1e-12 for values of any size."""
    large = 1e6
    almost = np.array([large * (1 - 1e-13), large * (1 - 1e-9)])
    assert reaches(almost, large).tolist() == [True, False]
    assert PValue.of(large, almost).value == 2 / 3
    assert p_values(np.array([large]), np.sort(almost)).tolist() == [2 / 3]
    assert not reaches(np.array([np.inf]), np.inf).any()


def test_many_at_once_are_the_same_as_one_by_one():
    rng = np.random.default_rng(0)
    copies = np.sort(rng.integers(0, 9, 50).astype(float))
    observed = rng.integers(-1, 10, 30).astype(float)
    alone = [PValue.of(value, copies).value for value in observed]
    assert p_values(observed, copies).tolist() == alone


def test_shards_are_added_by_copy_with_the_weights_of_their_rows():
    rng = np.random.default_rng(1)
    nulls = [Null(rng.normal(size=2), rng.normal(size=(9, 2))) for _ in range(3)]
    whole = Null.mean(nulls, [100, 200, 700])
    for name in ("observed", "copies"):
        parts = [getattr(null, name) for null in nulls]
        assert getattr(whole, name) == pytest.approx(
            0.1 * parts[0] + 0.2 * parts[1] + 0.7 * parts[2]
        )
    assert Null.mean(nulls[:1], [5]).p_value() == nulls[0].p_value()


@pytest.mark.parametrize("statistic", ["kpc", ["kpc", "correlation", "features"]])
def test_the_same_copies_give_one_number_at_every_place(statistic):
    """The test, the placebo check, planted violations: the same table and the same copies."""
    rng = np.random.default_rng(2)
    y, sex = rng.integers(0, 2, (2, 300))
    score = y + 0.25 * sex + rng.normal(size=300)
    table = AuditTable.of(score, {"sex": sex}, y)
    drawn = fa.Permutations(n=199)
    statistics = statistic_named(statistic)
    result = run_test(table, statistic=statistic, copies=ICP("exact"), permutations=drawn)
    fitted = ICP("exact").prepare(table.outcome, table.attributes, steps=50, seed=0)
    copies = fitted.sampler.block(range(199))
    assert _test_placebo(table, fitted, statistics, copies, 0) == result.p_value
    if len(statistics) > 1:  # planted violations draw the null of a combination again
        return
    own = np.arange(300)[None, :]
    for alpha, rejected in ((result.p_value, True), (result.p_value - 1e-6, False)):
        trial = Trial(table, fitted, statistics, result.null, alpha=alpha, seed=0)
        assert bool(trial.rejects(own)[0]) is rejected


def test_the_monitor_has_the_p_value_of_the_test():
    from fairaudit.monitoring.batch import evidence_of
    from fairaudit.monitoring.direction import Frame

    rng = np.random.default_rng(3)
    y, sex = rng.integers(0, 2, (2, 300))
    table = AuditTable.of(y + 0.3 * sex + rng.normal(size=300), {"sex": sex}, y)
    drawn = fa.Permutations(n=99, seed=5)
    batch = evidence_of(table, Frame.of(table), [], permutations=drawn)
    result = run_test(table, statistic="kpc", copies=ICP(), permutations=drawn)
    assert (batch.p_value, batch.statistic) == (result.p_value, result.statistic)
