"""One p-value, whoever asks: the test, placebos, planted violations, the monitor and shards."""

from __future__ import annotations

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.evidence.placebo import _Test
from fairaudit.evidence.power.detect import Trial
from fairaudit.permute.icp import ICP
from fairaudit.testing.choice_of_law import ChoiceOfLaw
from fairaudit.testing.core import run_test
from fairaudit.testing.p_value import (
    Combination,
    Null,
    PValue,
    combined_p_values,
    p_values,
    reaches,
)
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


def test_many_tables_have_the_p_values_that_each_has_alone():
    rng = np.random.default_rng(0)
    copies = rng.gamma(1.0, size=(199, 4))
    tables = rng.gamma(1.0, size=(30, 4)) * rng.uniform(0.5, 6, (30, 1))
    tables[0] -= 2.0  # no cube roots where a value is negative
    weights = (4.0, 1.0, 2.0, 1.0)
    alone = [Null(table, copies, weights).p_value() for table in tables]
    assert combined_p_values(tables, copies, weights).tolist() == alone
    assert len(set(alone)) > 10


@pytest.mark.parametrize("statistic", ["kpc", "omnibus", ["kpc", "correlation", "features"]])
def test_the_same_copies_give_one_number_at_every_place(statistic):
    """The test, the placebo check, planted violations: the same table and the same copies."""
    rng = np.random.default_rng(2)
    y, sex = rng.integers(0, 2, (2, 300))
    score = y + 0.25 * sex + rng.normal(size=300)
    table = AuditTable.of(score, {"sex": sex}, y)
    drawn = fa.Permutations(n=199)
    statistics = statistic_named(statistic)
    result = run_test(table, statistic=statistic, choice=ChoiceOfLaw("exact"), permutations=drawn)
    fitted = ICP("exact").prepare(table.outcome, table.attributes, steps=50, seed=0)
    placebo = _Test(fitted, statistics, 0.05, 0, prepare=lambda table: fitted)
    assert placebo.find_p(table, 0, 199) == result.p_value
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
    result = run_test(table, statistic="kpc", permutations=drawn)
    assert (batch.p_value, batch.statistic) == (result.p_value, result.statistic)


def draw_null(statistics=3, copies=199, seed=4):
    """Sums of squares, as most statistics are."""
    rng = np.random.default_rng(seed)
    pool = rng.chisquare([1, 4, 20][:statistics], (copies + 1, statistics))
    return Null(pool[0], pool[1:])


def test_a_combination_lies_between_the_mean_and_the_largest_of_the_z():
    pool = np.vstack([draw_null().observed, draw_null().copies])
    roots = np.cbrt(pool)
    z = (roots - roots.mean(axis=0)) / roots.std(axis=0)
    weights = [1.0, 2.0, 5.0]
    together = Combination(pool, weights)(pool)
    shares = np.array(weights) / 8
    assert together == pytest.approx(np.log(np.exp(2.2 * z) @ shares))  # by the definition
    assert (together >= 2.2 * z @ shares - 1e-9).all()
    assert (together <= 2.2 * z.max(axis=1) + 1e-9).all()


def test_a_statistic_around_zero_counts_as_much_as_a_sum_of_squares():
    """Cube roots (of KPC, say) would move its values away from 0, and the large ones together."""
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        pool = np.column_stack([rng.chisquare(3, 200), rng.normal(size=200)])
        pool[0, 1] += 3.5
        found.append(Null(pool[0], pool[1:]).p_value() <= 0.05)
    assert np.mean(found) > 0.8


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_larger_statistic_never_has_a_larger_p_value(column):
    """Each by itself, from the mean of the copies on (below it, the data widens the spread)."""
    null = draw_null()
    combination = Combination(null.copies)
    mean = null.copies.mean(axis=0)
    found, numbers = [], []
    for factor in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 20.0):
        observed = 0.5 * mean
        observed[column] = factor * mean[column]
        found.append(Null(observed, null.copies).p_value())
        numbers.append(float(combination(observed[None])[0]))
    above = found[2:]
    assert above == sorted(above, reverse=True) and above[-1] == 1 / 200 < 0.1 < min(found[:3])
    assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers)


def test_data_and_copies_are_treated_alike():
    """Exchanged, they exchange their numbers: the p-value is a rank."""
    null = draw_null(copies=19)
    pool = np.vstack([null.observed, null.copies])
    ranks = []
    for place in range(20):
        others = np.delete(pool, place, axis=0)
        ranks.append(round(20 * Null(pool[place], others, (1.0, 2.0, 3.0)).p_value()))
    assert sorted(ranks) == list(range(1, 21))
    shuffled = Null(null.observed, null.copies[::-1])
    assert shuffled.p_value() == null.p_value()


def test_weights_are_equal_unless_given_and_only_their_ratios_count():
    null = draw_null()
    value, copies = null.combined()
    for weights in ((1.0, 1.0, 1.0), (7.0, 7.0, 7.0)):
        again, others = Null(null.observed, null.copies, weights).combined()
        assert again == pytest.approx(value) and others == pytest.approx(copies)
    first, _ = Null(null.observed, null.copies, (1.0, 0.0, 0.0)).combined()
    alone = Null(null.observed[:1], null.copies[:, :1])
    assert Null(null.observed, null.copies, (1.0, 0.0, 0.0)).p_value() == alone.p_value()
    assert first != pytest.approx(value)


@pytest.mark.parametrize("constant", [0.0, -3.0, 1e9, -1e9 / 3])
def test_a_statistic_that_never_varies_says_nothing(constant):
    null = draw_null()
    observed = np.append(null.observed, constant)
    copies = np.column_stack([null.copies, np.full(199, constant)])
    value, numbers = Null(observed, copies).combined()
    assert np.isfinite(value) and np.isfinite(numbers).all()
    order = np.argsort(null.combined()[1])
    assert (np.argsort(numbers) == order).all()
    assert Null(observed, copies).p_value() == null.p_value()
    assert Null(observed[-1:].repeat(2), copies[:, [-1, -1]]).p_value() == 1.0


def test_one_strong_statistic_among_many_is_found():
    """The smallest p of ten statistics would have to be 1/200 to count after correction."""
    rng = np.random.default_rng(5)
    pool = rng.chisquare(3, (200, 10))
    pool[0, 4] = 40.0
    assert Null(pool[0], pool[1:]).p_value() == 1 / 200
