"""Pairs are exchanged with their exact probabilities, and the data are one more draw."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from fairaudit.density.conditional_density import LocationScale
from fairaudit.permute.pair_swaps import PairSwaps

RNG = np.random.default_rng(5)


def gaussian_pairs(n, rng):
    """A true q(y|a) with unequal spreads, and the log odds of exchanging rows i and j."""
    location, scale = rng.normal(size=n), rng.uniform(0.4, 1.6, n)
    y = location + scale * rng.normal(size=n)
    return y, location, LocationScale(y, location, scale)


@pytest.mark.parametrize("free", [False, True])
def test_copies_follow_the_exact_law(free):
    n, i, j = 7, np.array([4, 0, 6]), np.array([1, 2, 5])
    _, _, pairs = gaussian_pairs(n, RNG)
    odds = 0.0 if free else pairs.swap_log_odds(i, j, i, j)
    copies = PairSwaps(i, j, odds, 3, n=n).block(range(20_000))
    counts, weights = [], []
    outcome = np.arange(n)
    for swapped in itertools.product([False, True], repeat=len(i)):
        rows = np.arange(n)
        for first, second in zip(i[list(swapped)], j[list(swapped)], strict=True):
            rows[[first, second]] = second, first
        counts.append((copies == rows).all(axis=1).sum())
        # the probability of the whole copy, by its density and not by the odds of its pairs
        weights.append(1.0 if free else np.exp(pairs.log_density(rows, outcome).sum()))
    assert sum(counts) == len(copies)
    weights = np.array(weights) / sum(weights)
    assert chisquare(counts, weights * len(copies)).pvalue > 1e-4
    if not free:  # the same test tells when odds are turned around
        assert chisquare(counts, weights[::-1] * len(copies)).pvalue < 1e-4


def rejections(factor, pair_by_outcome, replications=3000):
    """Share of p <= .05 under a true null: n = 30, 19 copies, odds of the true q times a factor."""
    hits = 0
    for seed in range(replications):
        rng = np.random.default_rng(seed)
        y, a, pairs = gaussian_pairs(30, rng)
        u = y + rng.normal(size=30)
        order = np.argsort(y) if pair_by_outcome else rng.permutation(30)
        i, j = order[::2], order[1::2]
        odds = factor * pairs.swap_log_odds(i, j, i, j)
        copies = PairSwaps(i, j, odds, seed, n=30).block(range(19))
        hits += (1 + (a[copies] @ u >= a @ u).sum()) / 20 <= 0.05
    return hits, replications


@pytest.mark.parametrize("pair_by_outcome", [False, True])
def test_data_and_copies_are_exchangeable(pair_by_outcome):
    hits, total = rejections(1.0, pair_by_outcome)
    assert binomtest(hits, total, 0.05).pvalue > 1e-4


def test_the_level_tells_wrong_odds():
    hits, total = rejections(0.0, pair_by_outcome=False)
    assert binomtest(hits, total, 0.05).pvalue < 1e-4


@pytest.mark.parametrize("odds", [0.0, 0.3])
def test_copies_do_not_depend_on_the_batch(odds):
    order = RNG.permutation(41)
    sampler = PairSwaps(order[:20], order[20:40], odds, 4, n=41)
    whole = sampler.block(range(12))
    parts = np.vstack([rows for _, rows in sampler.blocks(12, 5)])
    assert np.array_equal(whole, parts)
    assert np.array_equal(sampler.swaps(range(12))[7:9], sampler.swaps(range(7, 9)))
    assert (whole[:, order[40]] == order[40]).all()  # in no pair
    assert (np.sort(whole, axis=1) == np.arange(41)).all()


def test_linear_statistics_follow_from_the_swaps():
    i, j = np.array([0, 5, 2]), np.array([3, 1, 4])
    e, f = RNG.normal(size=(2, 6))
    sampler = PairSwaps(i, j, 0.0, 8, n=6)
    copies = range(40)
    product = e @ f + sampler.swaps(copies) @ ((e[i] - e[j]) * (f[j] - f[i]))
    assert product == pytest.approx(f[sampler.block(copies)] @ e)
