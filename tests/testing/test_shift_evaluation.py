"""Copies that shift groups of blocks: the statistic of the rows, exactness, and what is shared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.permute import local
from fairaudit.permute.copies import LimitedSampler
from fairaudit.permute.local import Local
from fairaudit.testing.evaluation import RowEvaluation, make_evaluation
from fairaudit.testing.omnibus import Omnibus
from fairaudit.testing.scope import Scope
from fairaudit.testing.shift_evaluation import ShiftEvaluation, limit_groups
from fairaudit.testing.statistic import statistic_named

COPIES = fa.Permutations(n=19, seed=5)


@pytest.fixture
def shared(monkeypatch):
    """Groups of blocks with few rows."""
    monkeypatch.setattr(local, "MANY_PEOPLE", 300)
    monkeypatch.setattr(local, "_GROUPS", 40)


def draw(n=1_500, seed=0, *, digits=None):
    rng = np.random.default_rng(seed)
    race, sex = rng.choice(list("abc"), n), rng.choice(["f", "m"], n)
    age = rng.integers(18, 90, n)
    y = 0.5 * (race == "a") + 0.02 * age + rng.normal(size=n)
    y = y if digits is None else np.round(y, digits)
    kinds = {"y_true": "continuous"}
    attributes = {"race": race, "sex": sex, "age": age}
    return AuditTable.of(y + rng.normal(size=n), attributes, y, kinds=kinds)


def prepare(table, seed=5, **options):
    return Local().prepare(table.require_outcome(), table.attributes, seed=seed, **options)


def split_scopes(table):
    """All rows, one attribute, and the upper half of the outcome, which stays apart."""
    y = np.asarray(table.require_outcome().numeric)
    upper = np.flatnonzero(y > np.median(y))
    alone = replace(table, attributes=table.attributes[1:2])
    strata = (y > np.median(y)).astype(np.intp)
    return [Scope(table), Scope(alone), Scope(table.take(upper), rows=upper)], strata


@pytest.mark.parametrize("digits", [None, 1, 0], ids=["no ties", "tenths", "integers"])
def test_sums_over_groups_are_the_statistic_of_the_rows(shared, digits):
    table = draw(digits=digits)
    scopes, strata = split_scopes(table)
    fitted = prepare(table, strata=strata)
    by_groups = make_evaluation(scopes, fitted, [Omnibus()], COPIES)
    assert isinstance(by_groups, ShiftEvaluation)
    by_rows = RowEvaluation(scopes, fitted, [Omnibus()], COPIES)
    for found, expected in zip(by_groups.observed, by_rows.observed, strict=True):
        assert found == pytest.approx(expected, rel=1e-9)
    for found, expected in zip(by_groups.values(range(6)), by_rows.values(range(6)), strict=True):
        assert found == pytest.approx(expected, rel=1e-9)
    for question in range(3):
        trusts = [evaluation.trust(question) for evaluation in (by_groups, by_rows)]
        assert trusts[0].moved == pytest.approx(trusts[1].moved, abs=0.01)
        assert trusts[0].because == trusts[1].because


def test_people_with_several_rows_shift_as_one(shared):
    rng = np.random.default_rng(3)
    people = rng.permutation(np.repeat(np.arange(700), np.tile([1, 2], 350)))
    own = rng.normal(size=700)
    y = own[people] + 0.5 * rng.normal(size=len(people))
    a = rng.normal(size=700)[people]
    table = AuditTable.of(y + rng.normal(size=len(y)), {"a": a}, y, ids=people)
    fitted = prepare(table, units=table.ids.codes)
    by_groups = ShiftEvaluation.of([Scope(table)], fitted, [Omnibus()], COPIES)
    by_rows = RowEvaluation([Scope(table)], fitted, [Omnibus()], COPIES)
    assert by_groups.values(range(4))[0] == pytest.approx(by_rows.values(range(4))[0], rel=1e-9)
    for group in fitted.sampler.list_groups():
        persons = people[group]
        assert (persons == persons[:, :, :1]).all()


def test_groups_hold_every_row_once_in_blocks_of_one_size(shared):
    table = draw(digits=0)  # integers: ties of some hundred rows
    sampler = prepare(table).sampler
    groups = sampler.list_groups()
    rows = np.concatenate([group.ravel() for group in groups])
    assert (np.sort(rows) == np.arange(len(table))).all()
    assert [group.shape[1] for group in groups] == sampler.turns.tolist()
    assert sampler.turns.max() == 16 and 20 < len(groups) < 80
    y = np.asarray(table.require_outcome().numeric)
    full = [group for group in groups if group.shape[1] == 16]
    assert all((np.ptp(y[group], axis=1) <= 1).all() for group in full)


def test_copies_shift_every_block_of_a_group_as_far(shared):
    sampler = prepare(draw()).sampler
    copies = sampler.block(range(30))
    assert (np.sort(copies, axis=1) == np.arange(sampler.n)).all()
    for number, copy in enumerate(copies):
        for group, shift in zip(sampler.list_groups(), sampler.draw_shifts(number), strict=True):
            assert (copy[group] == np.roll(group, -shift, axis=1)).all()
    full = np.flatnonzero(sampler.turns == 16)
    drawn = np.array([sampler.draw_shifts(copy)[full] for copy in range(200)]).ravel()
    assert chisquare(np.bincount(drawn, minlength=16)).pvalue > 1e-4


def test_batches_and_processes_change_nothing(shared):
    table = draw()
    scopes, strata = split_scopes(table)
    bound = make_evaluation(scopes, prepare(table, strata=strata), [Omnibus()], COPIES)
    whole = bound.values(range(7))
    for question, values in enumerate(whole):
        single = np.vstack([bound.values(range(k, k + 1))[question] for k in range(7)])
        assert (single == values).all()

    def ask(**options):
        drawn = fa.Permutations(n=19, seed=2, **options)
        y = table.require_outcome().numeric
        attributes = {column.name: column.levels[column.codes] for column in table.attributes}
        return fa.equalized_odds_test(
            table.prediction.matrix()[:, 0], y, attributes, law="local", permutations=drawn
        )

    assert ask().null.tolist() == ask(batch=2).null.tolist() == ask(n_jobs=2).null.tolist()


def test_what_needs_rows_gets_rows(shared):
    table = draw()
    fitted = prepare(table)
    kpc = statistic_named("kpc")
    assert isinstance(make_evaluation([Scope(table)], fitted, kpc, COPIES), RowEvaluation)
    few = table.take(np.arange(200))
    assert ShiftEvaluation.of([Scope(few)], prepare(few), [Omnibus()], COPIES) is None


def test_an_attribute_that_hardly_varies_is_checked_row_by_row(shared):
    """Two rows that differ from all others: how many copies are possible must be counted."""
    table = draw()
    rare = np.zeros(len(table), dtype=int)
    rare[:2] = 1
    y = np.asarray(table.require_outcome().numeric)
    odd = AuditTable.of(table.prediction.matrix()[:, 0], {"rare": rare}, y)
    found = make_evaluation([Scope(odd)], prepare(odd), [Omnibus()], COPIES)
    assert isinstance(found, RowEvaluation) and found.trust(0).distinct < 260


def test_size_and_power_with_shared_shifts(shared):
    """Exact where rows of a block are exchangeable: here attributes do not depend on Y at all."""
    rng = np.random.default_rng(11)
    p = {0.0: [], 0.35: []}
    for _ in range(150):
        y, a, noise = rng.normal(size=(3, 400))
        for effect, found in p.items():
            drawn = fa.Permutations(n=19, seed=int(rng.integers(2**31)))
            result = fa.equalized_odds_test(
                y + noise + effect * a, y_true=y, sensitive=a, law="local", permutations=drawn
            )
            found.append(result.p_value)
    assert binomtest(int(np.sum(np.array(p[0.0]) <= 0.05)), 150, 0.05).pvalue > 1e-3
    assert binomtest(int(np.sum(np.array(p[0.0]) <= 0.5)), 150, 0.5).pvalue > 1e-3
    assert np.mean(np.array(p[0.35]) <= 0.05) > 0.8


def test_questions_about_ranges_see_their_groups_only(shared):
    table = draw()
    scopes, strata = split_scopes(table)
    fitted = prepare(table, strata=strata)
    view = LimitedSampler(fitted.sampler, scopes[2].rows)
    limited = limit_groups(fitted.sampler.list_groups(), scopes[2].rows, len(table))
    copy = view.block(range(1))[0]
    for group, shift in zip(limited, fitted.sampler.draw_shifts(0), strict=True):
        assert (copy[group] == np.roll(group, -shift, axis=1)).all()
