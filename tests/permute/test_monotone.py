"""The law monotone: who is paired, what may know the prediction, the check of what it assumes."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from fairaudit.data.columns import columns_from
from fairaudit.errors import InputError
from fairaudit.permute.copies import LimitedSampler, stream
from fairaudit.permute.monotone import Monotone, check_monotone, get_pairs
from fairaudit.permute.pair_effect import PairEffect, learn_effect
from fairaudit.permute.pairing import match_rows


def make_table(n, seed=0, effect=0.5):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 2))
    y = a[:, 0] + rng.normal(size=n)
    x = y + effect * a[:, 1] + rng.normal(size=n)
    (outcome,) = columns_from(y, argument="y_true", outcome=True)
    return x[:, None], outcome, columns_from(a, argument="sensitive")


def prepare(x, outcome, attributes, seed=0, units=None, strata=None, **settings):
    law = Monotone(**settings)
    return law.prepare(
        outcome, attributes, steps=1, seed=seed, units=units, strata=strata, prediction=x
    )


@pytest.mark.parametrize("decreasing", [False, True])
def test_pairs_are_disjoint_ordered_and_apart_from_the_held_out_rows(decreasing):
    x, outcome, attributes = make_table(501)
    strata = (outcome.numeric > 0.3).astype(int)
    pairs = get_pairs(prepare(x, outcome, attributes, strata=strata, decreasing=decreasing).sampler)
    used = np.concatenate([pairs.low, pairs.high, pairs.held])
    assert len(np.unique(used)) == len(used) and len(used) >= 499  # an odd row in either stratum
    gap = outcome.numeric[pairs.high] - outcome.numeric[pairs.low]
    assert ((gap < 0) if decreasing else (gap > 0)).all()
    assert (strata[pairs.low] == strata[pairs.high]).all()
    assert pairs.decreasing == decreasing


def test_tested_predictions_change_neither_pairs_nor_weights():
    x, outcome, attributes = make_table(300)
    pairs = get_pairs(prepare(x, outcome, attributes).sampler)
    others = np.random.default_rng(1).normal(size=x.shape) * 50
    others[pairs.held] = x[pairs.held]
    again = get_pairs(prepare(others, outcome, attributes).sampler)
    for name in ("low", "high", "held"):
        np.testing.assert_array_equal(getattr(pairs, name), getattr(again, name))
    a = np.column_stack([column.numeric for column in attributes])
    learnt = [
        learn_effect(values[:, 0], outcome.numeric, a, pairs.held, stream(0, 1))
        for values in (x, others)
    ]
    for name in ("trend", "spread", "shift", "widening"):
        np.testing.assert_array_equal(getattr(learnt[0], name), getattr(learnt[1], name))
    others[pairs.held] = x[pairs.held][::-1]  # held-out rows do steer
    assert not np.array_equal(
        pairs.low, get_pairs(prepare(others, outcome, attributes).sampler).low
    )


def test_what_is_learnt_is_the_direction():
    x, outcome, attributes = make_table(3000, effect=0.5)
    a = np.column_stack([column.numeric for column in attributes])
    effect = learn_effect(x[:, 0], outcome.numeric, a, np.arange(1000), stream(0, 1))
    assert np.corrcoef(effect.shift, a[:, 1])[0, 1] > 0.95
    assert abs(np.polyfit(a[:, 1], effect.shift, 1)[0] - 0.5) < 0.15  # spreads
    np.testing.assert_allclose(effect.spread.mean(), np.sqrt(1.25), rtol=0.1)


def test_every_pair_swaps_by_a_fair_coin_of_its_own():
    sampler = prepare(*make_table(60)).sampler
    block = sampler.block(range(4000))
    pairs = get_pairs(sampler)
    identity = np.arange(60)
    assert all((copy[copy] == identity).all() for copy in block[:50])
    swapped = block[:, pairs.low] == pairs.high
    np.testing.assert_array_equal(swapped, block[:, pairs.high] == pairs.low)
    assert (block[:, pairs.held] == pairs.held).all()
    assert min(binomtest(int(count), 4000).pvalue for count in swapped.sum(axis=0)) > 1e-5
    together = np.corrcoef(swapped.T)[np.triu_indices(len(pairs.low), 1)]
    assert np.abs(together).max() < 5 / np.sqrt(4000)
    parts = [sampler.block(range(k, k + 10)) for k in range(0, 100, 10)]
    np.testing.assert_array_equal(np.vstack(parts), block[:100])


def test_matching_is_nearly_the_best_one():
    """Against all 105 matchings of eight rows: never worse than neighbors, 97 % of the best."""

    def matchings(rows):
        if not rows:
            yield []
        for k in range(1, len(rows)):
            for rest in matchings(rows[1:k] + rows[k + 1 :]):
                yield [(rows[0], rows[k]), *rest]

    every = list(matchings(list(range(8))))
    assert len(every) == 105
    shares = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        zero = np.zeros(8)
        effect = PairEffect(0.2 * np.arange(8.0), zero + 1, rng.normal(size=8), zero)

        def total(pairs, effect=effect):
            low, high = np.array(pairs).T
            return effect.gain(low, high).sum()

        y = np.arange(8.0)
        found, near = (
            match_rows(y, rng.permutation(8), effect.gain, rng=rng, block=b) for b in (8, 2)
        )
        assert total(found) >= total(near)
        shares.append(total(found) / max(map(total, every)))
    assert np.mean(shares) > 0.97


def test_of_tied_rows_the_one_that_gains_comes_first():
    zero = np.zeros(2)
    for shift in ([1.0, -1.0], [-1.0, 1.0]):
        effect = PairEffect(zero, zero + 1, np.array(shift), zero)
        for seed in range(5):
            rng = np.random.default_rng(seed)
            pairs = match_rows(zero, np.arange(2), effect.gain, rng=rng)
            assert pairs.tolist() == [[int(np.argmax(shift)), int(np.argmin(shift))]]


def test_the_value_of_a_pair_never_falls_with_the_lower_prediction():
    rng = np.random.default_rng(0)
    n = 400
    effect = PairEffect(rng.normal(size=n), rng.gamma(3, size=n), *rng.normal(size=(2, n)))
    low, high = np.arange(0, n, 2), np.arange(1, n, 2)
    x = rng.normal(size=n) * 3
    value = effect.value(low, high, x)
    assert (np.abs(value) > 0).mean() > 0.5
    for _ in range(20):
        moved = x.copy()
        moved[low] += rng.exponential(size=n // 2)
        moved[high] -= rng.exponential(size=n // 2)
        assert (effect.value(low, high, moved) >= value - 1e-12).all()
    np.testing.assert_allclose(effect.value(low, high, x[np.arange(n) ^ 1]), -value, atol=1e-12)


def test_units_of_the_prediction_do_not_matter():
    """Standardizing all predictions looks at the tested ones, and may."""
    x, outcome, attributes = make_table(300)
    pairs = get_pairs(prepare(x, outcome, attributes).sampler)
    a = np.column_stack([column.numeric for column in attributes])
    values = [
        learn_effect(u, outcome.numeric, a, pairs.held, stream(0, 1)).value(
            pairs.low, pairs.high, u
        )
        for u in (x[:, 0], 7 * x[:, 0] - 40)
    ]
    assert np.abs(values[0]).max() > 0.1
    np.testing.assert_allclose(values[0], values[1], atol=1e-9)


def test_the_gain_is_the_mean_of_its_integrand():
    z = np.random.default_rng(0).normal(size=400_000)
    one, zero = np.ones(2), np.zeros(2)
    for shift, widening in itertools.product(([1.0, 0.2], [0.2, 1.0]), ([0.3, 0.0], [0.0, 0.3])):
        effect = PairEffect(zero, one, np.array(shift), np.array(widening))
        level, tilt = effect.slopes(np.array([0]), np.array([1]))
        simulated = (np.maximum(level + tilt * z, 0) ** 2).mean()
        assert abs(effect.gain(np.array([0]), np.array([1]))[0] - simulated) < 0.01


def test_limited_to_some_rows():
    x, outcome, attributes = make_table(200)
    strata = (outcome.numeric > 0).astype(int)
    whole = prepare(x, outcome, attributes, strata=strata).sampler
    rows = np.flatnonzero(strata == 1)
    pairs, part = get_pairs(whole), get_pairs(LimitedSampler(whole, rows))
    inside = strata[pairs.low] == 1
    np.testing.assert_array_equal(rows[part.low], pairs.low[inside])
    np.testing.assert_array_equal(rows[part.high], pairs.high[inside])
    assert set(rows[part.held]) == set(pairs.held[strata[pairs.held] == 1])


@pytest.mark.parametrize("n", [3, 5, 25])
def test_few_rows(n):
    x, outcome, attributes = make_table(n)
    pairs = get_pairs(prepare(x, outcome, attributes).sampler)
    assert len(pairs.low) == (n - len(pairs.held)) // 2


def test_refusals_are_one_line():
    x, outcome, attributes = make_table(50)
    (classes,) = columns_from(np.arange(50) % 2, argument="y_true", outcome=True)
    with pytest.raises(InputError, match=r"has classes\. Choose the law 'exact'"):
        prepare(x, classes, attributes)
    with pytest.raises(InputError, match="not for people with several rows"):
        prepare(x, outcome, attributes, units=np.arange(50) // 2)
    prepare(x, outcome, attributes, units=np.arange(50))
    with pytest.raises(InputError, match=r"one number per row\. Got 2 columns"):
        prepare(np.hstack([x, x]), outcome, attributes)
    with pytest.raises(InputError, match="needs the prediction"):
        prepare(None, outcome, attributes)


@pytest.mark.parametrize("kind", ["flat", "labels", "monotone"])
def test_the_check_keeps_its_level(kind):
    failed = 0
    for seed in range(400):
        y, noise = np.random.default_rng([seed, 1]).normal(size=(2, 200))
        y = np.round(3 * y) if kind == "labels" else y
        x = {"flat": noise, "labels": (noise > 0) * 1.0, "monotone": y + noise}[kind]
        failed += check_monotone(x, y, seed=seed) <= 0.05
    assert failed <= binom.ppf(1 - 1e-4, 400, 0.05)


def test_the_check_finds_where_the_prediction_falls():
    y, noise = np.random.default_rng(0).normal(size=(2, 400))
    assert check_monotone(np.cos(y) + 0.1 * noise, y, seed=0) < 1e-6
    assert check_monotone(noise - y, y, seed=0) < 1e-6
    assert check_monotone(4 * y - noise, y, seed=0) > 0.05
    rank = np.argsort(np.argsort(y)) / 400
    dip = np.where(np.abs(rank - 0.5) < 0.125, 1 - rank, rank)
    assert check_monotone(8 * dip + 0.3 * noise, y, seed=0) < 0.01
