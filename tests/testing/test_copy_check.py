"""The check of copies: blocks change nothing, and it costs little."""

import time

import numpy as np
import pytest

from fairaudit.data.columns import columns_from
from fairaudit.permute.copies import CopyLaw, CopySampler, FittedCopies, stream
from fairaudit.testing.diagnostics import CHECKED_COPIES, CopyCheck

LAW = CopyLaw("fitted", "some density")


class Shuffled(CopySampler):
    """Every row may go anywhere: `possible` different copies, drawn again and again."""

    within_outcome = False

    def __init__(self, n, possible=10**6):
        self.n, self.possible = n, possible

    def block(self, copies):
        return np.array([stream(0, copy % self.possible).permutation(self.n) for copy in copies])


def make_check(sampler, *, seed=0):
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, sampler.n), rng.normal(size=sampler.n).round(1)
    y = sex + age + rng.normal(size=sampler.n)
    (outcome,) = columns_from(y, argument="y_true", outcome=True)
    attributes = columns_from({"sex": sex, "age": age}, argument="sensitive")
    return CopyCheck(outcome, attributes, FittedCopies(sampler, LAW), 0), attributes


def test_blocks_of_copies_change_nothing():
    sampler = Shuffled(60)
    whole, single = (make_check(sampler)[0] for _ in range(2))
    whole.see(range(250), sampler.block(range(250)))
    for copy in range(CHECKED_COPIES):
        single.see(range(copy, copy + 1), sampler.block(range(copy, copy + 1)))
    assert len(whole.moved) == CHECKED_COPIES and whole.moved == single.moved
    assert whole.distinct == single.distinct
    assert np.array_equal(whole.products, single.products)
    assert whole.trust() == single.trust()


@pytest.mark.parametrize("possible", [1, 2, 30, 10**6])
def test_copies_are_counted_by_what_moves(possible):
    sampler = Shuffled(40, possible)
    check, attributes = make_check(sampler)
    rows = sampler.block(range(CHECKED_COPIES))
    check.see(range(CHECKED_COPIES), rows)
    values = np.column_stack([column.numeric for column in attributes])
    copies = {values[copy].tobytes() for copy in rows}
    assert values.tobytes() not in copies  # the data are not counted
    assert check.trust().distinct == len(copies) == min(possible, CHECKED_COPIES)
    moved = np.mean([(values[copy] != values).any(axis=1).mean() for copy in rows])
    assert check.trust().moved == pytest.approx(moved)


def test_copies_that_do_not_move_are_one():
    check, _ = make_check(Shuffled(40))
    check.see(range(CHECKED_COPIES), np.tile(np.arange(40), (CHECKED_COPIES, 1)))
    assert check.trust().distinct == 0 and check.trust().moved == 0


def test_the_check_sees_that_copies_lost_what_ties_them_to_the_outcome():
    check, _ = make_check(Shuffled(200))
    check.see(range(CHECKED_COPIES), Shuffled(200).block(range(CHECKED_COPIES)))
    assert check.trust().copy_check == pytest.approx(0.01)


def test_many_rows_are_checked_in_a_fraction_of_a_second():
    n = 20_000  # takes about .2 CPU seconds
    rows = np.array([np.random.default_rng(k).permutation(n) for k in range(CHECKED_COPIES)])
    start = time.process_time()
    check, _ = make_check(Shuffled(n))
    check.see(range(CHECKED_COPIES), rows)
    check.trust()
    assert time.process_time() - start < 1.0
