"""Copies follow the exact permutation law, are exchangeable, and do not depend on batches."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.density.conditional_density import ClassTable, LocationScale
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.copies import stream
from fairaudit.permute.folds import split_rows
from fairaudit.permute.icp import ICP
from fairaudit.permute.pair_swaps import PairSwaps
from fairaudit.permute.within import WithinOutcome

PERMUTATIONS = list(itertools.permutations(range(5)))
RNG = np.random.default_rng(1)


def gaussian():
    location = RNG.normal(size=5)
    return LocationScale(location + RNG.normal(size=5), location, np.full(5, 0.8))


def unequal():
    location, scale = RNG.normal(size=5), np.array([0.4, 1.0, 0.7, 1.5, 0.9])
    return LocationScale(location + RNG.normal(size=5), location, scale)


def sharp():
    """Nearly a function of the attributes, and far from zero."""
    location = 1e6 + np.array([0.0, 2e-5, 4e-5, 6e-5, 8e-5])
    y = location + 1e-5 * np.array([0.5, -0.2, 0.1, -0.4, 0.7])
    y[1] = 1e6 + 3  # the spread of all outcomes is much larger
    return LocationScale(y, location, np.array([1e-5, 2e-5, 1e-5, 1e-5, 2e-5]))


def classes():
    table = RNG.dirichlet([1, 1, 1], 5)
    return ClassTable(np.array([0, 1, 2, 1, 0]), table)


def exact_law(pairs):
    """P(outcome k gets the attributes of row rows[k]) ∝ ∏_k q(y_k | a_rows[k])."""
    k = np.arange(5)
    logs = np.array([pairs.log_density(np.array(rows), k).sum() for rows in PERMUTATIONS])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def misfit(copies, law):
    """Chi-square p-value of the copies' frequencies."""
    number = {rows: k for k, rows in enumerate(PERMUTATIONS)}
    counts = np.bincount([number[tuple(rows)] for rows in copies], minlength=120)
    rare = law * len(copies) < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(law[~rare], law[rare].sum()) * len(copies)
    kept = expected > 0
    return chisquare(observed[kept], expected[kept]).pvalue


@pytest.mark.parametrize("density", [gaussian, unequal, classes])
def test_copies_follow_the_exact_law(density):
    pairs = density()
    law = exact_law(pairs)
    copies = ConditionalPermutation([Fold(np.arange(5), pairs)], 60, 3).block(range(20_000))
    assert misfit(copies, law) > 1e-4
    # the same test tells when the permutation is inverted or the roles are exchanged
    assert misfit(np.argsort(copies, axis=1), law) < 1e-4
    exchanged = ConditionalPermutation([Fold(np.arange(5), pairs)], 60, 3, inverse=False)
    assert misfit(exchanged.block(range(20_000)), law) < 1e-4


def test_swap_odds_are_ratios_of_densities():
    i, j, at_i, at_j = np.array([0]), np.array([3]), np.array([[2]]), np.array([[4]])
    for density in (unequal, gaussian, sharp):
        pairs = density()
        expected = (
            pairs.log_density(i, at_j)
            + pairs.log_density(j, at_i)
            - pairs.log_density(i, at_i)
            - pairs.log_density(j, at_j)
        )
        assert abs(expected) > 0.1
        assert pairs.swap_log_odds(i, j, at_i, at_j) == pytest.approx(expected, rel=1e-5)


class _ChainedCopies(ConditionalPermutation):
    """The authors' way: every copy continues from the one before. Not exchangeable."""

    def block(self, copies):
        fold, state, result = self.folds[0], np.arange(self.n)[None], []
        for copy in copies:
            rng = stream(self.seed, 1, copy)
            for _ in self.pairings[0]:
                pairing = fold.pairing(rng)
                state = fold.walk(state, [pairing], [rng.random((1, pairing.draws))])
            result.append(np.argsort(state[0]))
        return np.array(result)


class _UnreversedCopies(ConditionalPermutation):
    """Shared pairings that are walked forwards to the hub as well. Not exchangeable."""

    def __init__(self, folds, steps, seed):
        super().__init__(folds, steps, seed)
        rng = stream(seed, 9)
        uniforms = [rng.random((1, pairing.draws)) for pairing in self.pairings[0]]
        self.hubs = [folds[0].walk(np.arange(self.n)[None], self.pairings[0], uniforms)]


def rejections(sampler, steps, replications=3000):
    """Share of p <= .05 under a true null: n = 30, 19 copies, known Gaussian q."""
    hits = 0
    for seed in range(replications):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=30)
        y = a + rng.normal(size=30)
        u = y + rng.normal(size=30)
        pairs = LocationScale(y, a, np.ones(30))
        copies = sampler([Fold(np.arange(30), pairs)], steps, seed).block(range(19))
        hits += (1 + (a[copies] @ u >= a @ u).sum()) / 20 <= 0.05
    return hits, replications


@pytest.mark.parametrize("steps", [1, 2])
def test_hub_keeps_the_level_for_few_steps(steps):
    hits, total = rejections(ConditionalPermutation, steps)
    assert binomtest(hits, total, 0.05, alternative="greater").pvalue > 1e-4


@pytest.mark.parametrize(("wrong", "steps"), [(_ChainedCopies, 1), (_UnreversedCopies, 2)])
def test_the_level_tells_wrong_chains(wrong, steps):
    hits, total = rejections(wrong, steps)
    assert binomtest(hits, total, 0.05, alternative="greater").pvalue < 1e-4


def test_within_classes():
    strata = np.array([0, 1, 0, 1, 0, 2])
    copies = WithinOutcome(strata, 0).block(range(600))
    assert (strata[copies] == strata).all()
    assert (np.sort(copies, axis=1) == np.arange(6)).all()
    seen, counts = np.unique(copies[:, [0, 2, 4]], axis=0, return_counts=True)
    assert len(seen) == 6 and chisquare(counts).pvalue > 1e-4


def test_people_move_as_a_whole():
    people = np.array([0, 0, 1, 1, 2, 3, 4, 4, 5])
    strata = np.array([0, 1, 1, 0, 0, 0, 1, 1, 0])
    copies = WithinOutcome(strata, 0, people).block(range(200))
    assert (strata[copies] == strata).all()
    # people 0 and 1 have outcomes {0, 1}; 2, 3 and 5 have {0}; 4 has {1, 1}
    origin = people[copies]
    for person in range(6):
        rows = people == person
        assert (origin[:, rows] == origin[:, rows][:, :1]).all()
    assert set(origin[:, 0]) == {0, 1} and set(origin[:, 4]) == {2, 3, 5}
    assert set(origin[:, 6]) == {4}


def test_people_move_as_a_whole_under_a_fitted_density():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), 2)
    a = rng.normal(size=60)[people]
    y = a + rng.normal(size=120)
    outcome = columns_from(y, argument="y_true", outcome=True)[0]
    attributes = columns_from(a, argument="sensitive")
    fitted = ICP("ols").prepare(outcome, attributes, steps=20, seed=0, units=people)
    origin = people[fitted.sampler.block(range(20))]
    assert (origin[:, ::2] == origin[:, 1::2]).all()
    assert (origin[:, ::2] != np.arange(60)).mean() > 0.5


@pytest.mark.parametrize("density", ["exact", "ols", "mixture"])
def test_copies_do_not_depend_on_the_batch(density):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(80, 2))
    y = a[:, 0] + rng.normal(size=80)
    y = (y > 0).astype(int) if density == "exact" else y
    outcome = columns_from(y, argument="y_true", outcome=True)[0]
    attributes = columns_from(a, argument="sensitive")
    sampler = ICP(density).prepare(outcome, attributes, steps=10, seed=4).sampler
    whole = sampler.block(range(12))
    parts = np.vstack([rows for _, rows in sampler.blocks(12, 5)])
    assert np.array_equal(whole, parts)
    assert np.array_equal(sampler.block(range(7, 9)), whole[7:9])


def test_p_values_do_not_depend_on_batch_or_jobs():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(100, 2))
    y = a[:, 0] + rng.normal(size=100)
    u = y + 0.3 * a[:, 0] + rng.normal(size=100)
    results = [
        fa.equalized_odds_test(
            u,
            y_true=y,
            sensitive=a,
            density="ols",
            permutations=fa.Permutations(n=39, seed=2, **options),
        )
        for options in ({}, {"batch": 7}, {"n_jobs": 2, "batch": 10})
    ]
    assert len({result.p_value for result in results}) == 1
    assert np.array_equal(results[0].null, results[2].null)
    assert results[0].diagnostics == results[2].diagnostics


def linear_table(n, slope, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    y = slope * a + rng.normal(size=n)
    outcome = columns_from(y, argument="y_true", outcome=True)[0]
    return outcome, columns_from(a, argument="sensitive")


def test_as_many_steps_as_the_data_need():
    weak, strong, sharp = (
        ICP("ols").prepare(*linear_table(300, slope), steps=None, seed=0).sampler
        for slope in (0.0, 2.0, 10.0)
    )
    assert weak.steps in (10, 11)  # half of all pairs exchange
    assert 20 < strong.steps < 45
    assert sharp.steps == 50
    assert ICP("ols").prepare(*linear_table(300, 0.0), steps=7, seed=0).sampler.steps == 7
    for sampler in (weak, strong):
        accepted = np.concatenate([fold.acceptance(stream(3)) for fold in sampler.folds])
        assert 4.5 < accepted.mean() * sampler.steps < 6


def test_the_steps_that_were_used_are_told():
    rng = np.random.default_rng(0)
    y, a = rng.normal(size=(2, 200))
    options = {"y_true": y, "sensitive": a, "statistic": "features"}
    needed = fa.equalized_odds_test(
        y + a, **options, density="ols", permutations=fa.Permutations(n=19)
    )
    assert 10 <= needed.diagnostics.steps <= 12
    asked = fa.equalized_odds_test(
        y + a, **options, density="ols", permutations=fa.Permutations(n=19, steps=4)
    )
    assert asked.diagnostics.steps == 4


def test_very_many_rows_exchange_with_neighbors_in_the_outcome(monkeypatch):
    monkeypatch.setattr("fairaudit.permute.icp.MANY_ROWS", 200)
    outcome, attributes = linear_table(301, 2.0)
    y, a = outcome.numeric, attributes[0].numeric

    def known(y, a):
        return -0.5 * (y - 2 * a[:, 0]) ** 2

    sampler = ICP(known).prepare(outcome, attributes, steps=None, seed=0).sampler
    assert isinstance(sampler, PairSwaps) and sampler.steps == 0
    place = np.argsort(np.argsort(y))
    assert (np.abs(place[sampler.i] - place[sampler.j]) == 1).all()
    assert len(set(sampler.i) | set(sampler.j)) == 300
    odds = 2 * (y[sampler.i] - y[sampler.j]) * (a[sampler.j] - a[sampler.i])
    assert sampler.chance == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-4)
    again = ICP(known).prepare(outcome, attributes, steps=20, seed=0).sampler
    assert isinstance(again, ConditionalPermutation)


def test_pairs_of_very_many_rows_stay_within_folds_and_strata(monkeypatch):
    monkeypatch.setattr("fairaudit.permute.icp.MANY_ROWS", 100)
    outcome, attributes = linear_table(400, 1.0)
    strata = (outcome.numeric > 0).astype(np.intp)
    sampler = ICP("ols").prepare(outcome, attributes, steps=None, seed=0, strata=strata).sampler
    assert (strata[sampler.i] == strata[sampler.j]).all()
    folds = split_rows(400, 5, None, 0)
    fold = np.empty(400, dtype=int)
    for number, rows in enumerate(folds):
        fold[rows] = number
    assert (fold[sampler.i] == fold[sampler.j]).all()
