"""Local permutation: blocks of neighbors in the outcome, and what moves within them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.permute.local import Local


def prepare(y, a, *, size=None, seed=3, **options):
    kinds = None if y.dtype.kind == "U" else {"y_true": "continuous"}
    (outcome,) = columns_from({"y_true": y}, argument="y_true", kinds=kinds, outcome=True)
    attributes = columns_from(a, argument="sensitive")
    return Local(size).prepare(outcome, attributes, seed=seed, **options)


def block_of_rows(sampler):
    """The block of every row, as the sampler holds it."""
    of_person = np.empty(len(sampler.of_place), dtype=np.intp)
    of_person[sampler.shuffled] = sampler.of_place
    result = np.empty(sampler.n, dtype=np.intp)
    result[sampler.people.rows] = np.repeat(of_person, sampler.people.size)
    return result


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y, y + rng.normal(size=n)


@pytest.mark.parametrize("size", [2, 3, 16])
def test_blocks_divide_the_rows_into_neighbors(size):
    y, a = draw(500)
    block = block_of_rows(prepare(y, a, size=size).sampler)
    along = block[np.argsort(y)]
    assert len(np.unique(block)) == 1 + (np.diff(along) != 0).sum()  # each is one stretch
    counts = np.bincount(block)
    assert counts.min() >= 1 and counts.max() == size
    assert np.median(counts) == size


def test_far_neighbors_are_not_in_one_block():
    """Wide blocks are halved until they are at most three medians of the blocks' widths wide."""
    y, a = draw(1_000)
    y = np.exp(2 * y)
    block = block_of_rows(prepare(y, a, size=16).sampler)
    largest = np.argsort(y)[-10:]
    assert (np.bincount(block)[block[largest]] == 1).sum() >= 8
    widths = [np.ptp(y[block == number]) for number in np.unique(block)]
    assert max(widths) <= 3 * np.median([w for w in widths if w > 0]) * 2


def test_copies_are_permutations_within_blocks():
    y, a = draw(400)
    sampler = prepare(y, a, size=4).sampler
    block = block_of_rows(sampler)
    copies = sampler.block(range(50))
    assert (np.sort(copies, axis=1) == np.arange(400)).all()
    assert (block[copies] == block).all()
    assert sampler.near_outcome and not sampler.within_outcome
    # every row has every place of its block equally often, its own too
    several = np.bincount(block)[block] == 4
    assert np.mean(copies[:, several] == np.arange(400)[several]) == pytest.approx(0.25, abs=0.02)


def test_every_place_of_a_block_is_as_likely():
    y = np.zeros(5)
    sampler = prepare(np.append(y, [10.0, 20.0]), np.arange(7.0), size=5).sampler
    copies = sampler.block(range(5_000))
    for row in range(5):
        counts = np.bincount(copies[:, row], minlength=7)
        assert (counts[5:] == 0).all() and chisquare(counts[:5]).pvalue > 1e-4


def test_equal_outcomes_exchange_freely():
    """A tie of more rows than a block has is one block, by itself."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(600) < 0.5, 0.0, rng.normal(5, 1, 600))  # zero-inflated
    block = block_of_rows(prepare(y, rng.normal(size=600), size=4).sampler)
    zero = y == 0
    assert len(np.unique(block[zero])) == 1
    assert not set(block[zero]) & set(block[~zero])
    rounded = np.round(rng.normal(size=600), 1)
    block = block_of_rows(prepare(rounded, rng.normal(size=600), size=2).sampler)
    for value, count in zip(*np.unique(rounded, return_counts=True), strict=True):
        if count >= 2:
            assert len(np.unique(block[rounded == value])) == 1
            assert (rounded[block == block[rounded == value][0]] == value).all()


def test_people_move_whole_and_meet_people_with_as_many_rows():
    rng = np.random.default_rng(2)
    people = rng.permutation(np.repeat(np.arange(150), np.tile([1, 2, 3], 50)))
    level = rng.normal(size=150)
    y = level[people] + 0.3 * rng.normal(size=300)
    a = rng.normal(size=150)[people]
    sampler = prepare(y, a, size=4, units=people).sampler
    copies = sampler.block(range(40))
    assert (np.sort(copies, axis=1) == np.arange(300)).all()
    origin = people[copies]
    count = np.bincount(people)
    for person in range(150):
        own = origin[:, people == person]
        assert (own == own[:, :1]).all()
    assert (count[origin] == count[people]).all()
    assert (origin != people).mean() > 0.5
    assert 0.9 < sampler.movable <= 1


def test_people_exchange_their_rows_in_the_order_of_their_outcomes():
    people = np.repeat(np.arange(6), 2)
    y = np.array([0.0, 1, 1.1, 0.1, 0.2, 1.2, 1.3, 0.3, 0.4, 1.4, 0.5, 1.5])
    copies = prepare(y, np.arange(12.0), size=6, units=people).sampler.block(range(30))
    high = y > 0.7
    assert (high[copies] == high).all()
    assert len(np.unique(people[copies], axis=0)) > 2


def test_strata_do_not_exchange():
    y, a = draw(300)
    strata = np.arange(300) % 3
    copies = prepare(y, a, size=8, strata=strata).sampler.block(range(20))
    assert (strata[copies] == strata).all()
    assert (copies != np.arange(300)).mean() > 0.5


def test_copies_do_not_depend_on_the_batch():
    y, a = draw(200)
    sampler = prepare(y, a).sampler
    whole = sampler.block(range(12))
    assert np.array_equal(whole, np.vstack([rows for _, rows in sampler.blocks(12, 5)]))
    assert np.array_equal(sampler.block(range(7, 9)), whole[7:9])
    assert len(np.unique(whole, axis=0)) == 12
    assert np.array_equal(prepare(y, a).sampler.block(range(12)), whole)


def make_null(n, rng):
    """Outcomes in exact ties, attribute and prediction that share nothing beyond them."""
    y = np.repeat(np.arange(n // 6) / 7, 6)
    rng.shuffle(y)
    return y, np.sin(5 * y) + rng.normal(size=n), y**2 + rng.exponential(size=n)


def test_p_values_are_uniform_where_blocks_are_exact():
    """Data and copies are exchangeable: every rank among 19 copies is as likely, by counting."""
    ranks = np.zeros(20, dtype=int)
    for seed in range(1_000):
        rng = np.random.default_rng(seed)
        y, a, u = make_null(30, rng)
        copies = prepare(y, a, size=6, seed=seed).sampler.block(range(19))
        ranks[int((a[copies] @ u > a @ u).sum())] += 1
    assert chisquare(ranks).pvalue > 1e-4
    assert binomtest(int(ranks[0]), 1_000, 0.05).pvalue > 1e-4


def test_attributes_that_follow_the_outcome_closely_have_small_blocks():
    rng = np.random.default_rng(4)
    y = rng.normal(size=1_000)
    sharp = np.sin(40 * y) + 0.05 * rng.normal(size=1_000)
    smooth = y + rng.normal(size=1_000)
    for a, size in ((sharp, 2), (smooth, 16), (np.column_stack([smooth, sharp]), 2)):
        fitted = prepare(y, a)
        assert np.bincount(block_of_rows(fitted.sampler)).max() == size
        assert fitted.law.words == f"local (blocks of {size} neighbors in the outcome)"


def test_nothing_is_fitted():
    y, a = draw(100)
    fitted = prepare(y, a)
    assert (fitted.law.kind, fitted.law.family, fitted.law.fit) == ("local", "", "")
    assert not fitted.law.estimated and fitted.scores == {} and fitted.pit is None


def test_classes_are_refused_and_blocks_of_one():
    with pytest.raises(fa.InputError, match="'local' is for a continuous outcome") as refused:
        prepare(np.tile(["a", "b"], 20), np.arange(40.0))
    assert refused.value.argument == "law"
    with pytest.raises(fa.InputError, match="at least 2"):
        Local(1)
