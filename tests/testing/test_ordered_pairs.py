"""The statistic `ordered` and the law `monotone` together: exact, or else refused."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

import fairaudit as fa
from fairaudit.errors import InputError
from fairaudit.permute.copies import stream
from fairaudit.permute.icp import ICP
from fairaudit.permute.monotone import EFFECT_STREAM, Monotone, get_pairs
from fairaudit.permute.pair_effect import PairEffect, learn_effect
from fairaudit.testing.choice_of_law import ChoiceOfLaw
from fairaudit.testing.core import run_test, run_tests
from fairaudit.testing.evaluation import Scope
from fairaudit.testing.ordered_pairs import OrderedPairs

FEW = fa.Permutations(n=99)
# Ordered in distribution; given the values {9, 10} the larger is always at the lower row.
LOW, HIGH = {0: 0.5, 10: 0.5}, {9: 0.5, 10: 0.5}


def make_table(n=300, seed=0, effect=0.6, sign=1.0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 2))
    y = a[:, 0] + rng.normal(size=n)
    x = sign * y + effect * a[:, 1] + rng.normal(size=n)
    return fa.AuditTable.of(x, {"age": a[:, 0], "height": a[:, 1]}, y)


def run(table, law=None, statistic="ordered", **settings):
    permutations = fa.Permutations(**{"n": 99, **settings})
    return run_test(
        table, statistic=statistic, choice=ChoiceOfLaw(law or Monotone()), permutations=permutations
    )


def find_excess(value, laws):
    """The largest P(p ≤ α) − α over all α, with p over all swaps, by enumeration."""
    supports = [
        [(i, j, p * q) for i, p in low.items() for j, q in high.items()] for low, high in laws
    ]
    swaps = np.array(list(itertools.product([1, -1], repeat=len(laws))))
    mass = {}
    for drawn in itertools.product(*supports):
        values = np.array([value(pair, low, high) for pair, (low, high, _) in enumerate(drawn)])
        sums = swaps @ values
        p = float((sums >= sums[0] - 1e-9).mean())
        mass[p] = mass.get(p, 0.0) + float(np.prod([chance for _, _, chance in drawn]))
    levels = np.array(sorted(mass))
    return float((np.cumsum([mass[level] for level in levels]) - levels).max())


@pytest.mark.parametrize("seed", range(8))
def test_exact_for_every_order_in_distribution(seed):
    """All values and all swaps of four pairs: P(p ≤ α) ≤ α, whatever weights were learnt."""
    rng = np.random.default_rng(seed)
    n = 8
    effect = PairEffect(
        rng.normal(size=n) + 5, np.full(n, 5.0), *(rng.normal(size=(2, n)) * [[2], [0.5]])
    )
    laws = [(LOW, HIGH), (HIGH, HIGH), (LOW, LOW), ({0: 0.3, 4: 0.7}, {3: 0.5, 5: 0.5})]

    def value(pair, low, high):
        x = np.zeros(n)
        x[2 * pair], x[2 * pair + 1] = low, high
        return effect.value(np.array([2 * pair]), np.array([2 * pair + 1]), x)[0]

    assert find_excess(value, laws) <= 1e-12


def test_weights_that_look_at_the_values_of_a_pair_are_not_exact():
    """Why weights know held-out rows only: LOW and HIGH are ordered, and yet this fails."""

    def value(pair, low, high):
        return float(np.sign(low - high)) if {low, high} == {9, 10} else 0.0

    assert find_excess(value, [(LOW, HIGH)] * 4) > 0.1
    assert find_excess(lambda pair, low, high: low - high, [(LOW, HIGH)] * 4) <= 1e-12


def test_values_of_copies_are_those_of_moved_predictions():
    table = make_table()
    x, y = table.prediction.matrix()[:, 0], table.outcome.numeric
    fitted = Monotone().prepare(
        table.outcome, table.attributes, steps=1, seed=3, prediction=x[:, None]
    )
    pairs = get_pairs(fitted.sampler)
    rows = fitted.sampler.block(range(20))
    values = OrderedPairs().bind_pairs(table, pairs, seed=3)(rows)
    a = np.column_stack([column.numeric for column in table.attributes])
    a = (a - a.mean(axis=0)) / a.std(axis=0)
    effect = learn_effect(x, y, a, pairs.held, stream(3, EFFECT_STREAM))
    sums = [effect.value(pairs.low, pairs.high, x[copy]).sum() for copy in rows]
    spread = np.sqrt((effect.value(pairs.low, pairs.high, x) ** 2).sum())
    np.testing.assert_allclose(values, sums / spread, atol=1e-4)


def test_batches_and_processes_change_nothing():
    table = make_table()
    results = [run(table, batch=7), run(table, batch=99), run(table, n_jobs=2)]
    for other in results[1:]:
        assert results[0].statistic == other.statistic
        np.testing.assert_array_equal(results[0].null, other.null)


def test_an_unfair_model_is_found_and_a_fair_one_is_not():
    assert run(make_table(500)).p_value <= 0.02
    fair = run(make_table(500, effect=0.0))
    assert fair.p_value > 0.05 and fair.inconclusive is None
    assert fair.diagnostics.law == "monotone" and fair.diagnostics.trustworthy
    assert "which no test contradicts" in fair.diagnostics.because


def test_decreasing_predictions_are_said_to_be_so_beforehand():
    unfair = make_table(500, sign=-1.0)
    refused = run(unfair)
    assert "set 'decreasing'" in refused.inconclusive and refused.diagnostics.copy_check < 1e-6
    known = run(unfair, Monotone(decreasing=True))
    assert known.p_value <= 0.02 and known.inconclusive is None
    mirrored = run(make_table(500, effect=-0.6), Monotone())  # the prediction times minus one
    assert mirrored.p_value <= 0.02


def test_a_prediction_that_falls_somewhere_is_not_trusted():
    rng = np.random.default_rng(0)
    y, noise, a = rng.normal(size=(3, 400))
    result = run(fa.AuditTable.of(np.cos(y) + 0.1 * noise, {"a": a}, y))
    assert "falls where the outcome rises" in result.inconclusive


def test_law_and_statistic_go_together():
    table = make_table()
    with pytest.raises(InputError, match=r"exact with the statistic 'ordered' only\. Got 'kpc'"):
        run(table, statistic="kpc")
    with pytest.raises(InputError, match="exact with the statistic 'ordered' only"):
        run(table, statistic=["ordered", "features"])
    with pytest.raises(InputError, match="is for the law 'monotone'"):
        run(table, ICP("ols"))


def make_copies(table, strata=None):
    return Monotone().prepare(
        table.outcome,
        table.attributes,
        steps=1,
        seed=0,
        strata=strata,
        prediction=table.prediction.matrix(),
    )


def test_a_question_about_a_part_shares_the_copies():
    table = make_table(900)
    strata = (table.outcome.numeric > 0).astype(int)
    scopes = [Scope(table)]
    for stratum in (0, 1):
        rows = np.flatnonzero(strata == stratum)
        scopes.append(Scope(table.take(rows), rows))
    results = run_tests(scopes, make_copies(table, strata), [OrderedPairs()], FEW)
    assert max(result.p_value for result in results) <= 0.02


def test_a_question_about_one_attribute_needs_its_own_pairs():
    """Only height is guilty. Pairs made by it favor the lower rows in questions about age too."""
    table = make_table(900)
    x, y = table.prediction.matrix()[:, 0], table.outcome.numeric
    age = fa.AuditTable.of(x, {"age": table.attributes[0].numeric}, y)
    with pytest.raises(ValueError, match=r"made by \('age', 'height'\) cannot answer"):
        run_tests([Scope(age)], make_copies(table), [OrderedPairs()], FEW)
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 5])
        a = rng.normal(size=(120, 2))
        y = a[:, 0] + rng.normal(size=120)
        x = y + 2 * a[:, 1] + rng.normal(size=120)
        alarms += run(fa.AuditTable.of(x, {"age": a[:, 0]}, y), n=19, seed=seed).p_value <= 0.05
    assert alarms <= binom.ppf(1 - 1e-4, 200, 0.05)
