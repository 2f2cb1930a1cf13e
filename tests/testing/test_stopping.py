"""When drawing stops: the law of the urn, exact p-values and intervals, and the same numbers."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from math import comb, factorial

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.testing.p_value import Null, PValue
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.stopping import AfterReached, OnceSettled, Tally, _find_points

SMALL = OnceSettled(16, low=0.5, high=0.5)  # stops on both sides within 16 copies
WIDE = OnceSettled(15, low=0.5, high=0.55)  # settles nothing between two levels
USUAL = OnceSettled(999, low=0.05, high=0.05)


def stopped_at(boundary, hits, n):
    """How many are drawn and reached along a path of hits and misses."""
    reached = np.cumsum(hits)
    last = boundary.find_stop(reached, 0)
    drawn = n if last is None else last + 1
    return drawn, int(reached[drawn - 1])


def chance_of_path(hits):
    """Of one order of hits and misses among n copies: r! (n − r)! / (n + 1)!"""
    n, reached = len(hits), sum(hits)
    return 1 / (comb(n, reached) * (n + 1))


# --- the law under the hypothesis ----------------------------------------------------------------


def test_the_urn_is_the_law_of_ranks():
    """All orders of data and six copies: each path of hits and misses has its share."""
    n = 6
    orders = itertools.permutations(range(n + 1))
    paths = Counter(tuple(copy > order[0] for copy in order[1:]) for order in orders)
    for path, count in paths.items():
        assert count / factorial(n + 1) == pytest.approx(chance_of_path(path), rel=1e-12)
    assert len(paths) == 2**n


@pytest.mark.parametrize("boundary", [SMALL, WIDE])
def test_stopping_points_have_the_chance_of_their_paths(boundary):
    """By all 2^n paths, one after the other."""
    n = boundary.n
    found = Counter()
    for path in itertools.product((0, 1), repeat=n):
        found[stopped_at(boundary, path, n)] += chance_of_path(path)
    points = _find_points(boundary)
    assert set(points.numbers) == set(found)
    for (drawn, reached), k in points.numbers.items():
        assert points.chance[k] == pytest.approx(found[drawn, reached], rel=1e-9)
    early = [drawn < n for drawn, _ in found]
    assert any(early) and not all(early)


@pytest.mark.parametrize("boundary", [SMALL, WIDE, USUAL, OnceSettled(499, low=0.01, high=0.1)])
def test_a_bet_on_any_p_keeps_its_value_up_to_the_stop(boundary):
    """The likelihood ratio of p against the urn is a martingale: its mean at the stop is 1."""
    points = _find_points(boundary)
    for p in (0.0, 0.001, 0.03, 0.05, 0.2, 0.7, 1.0):
        assert points.given(p).sum() == pytest.approx(1.0, abs=1e-10)
    assert points.chance.sum() == pytest.approx(1.0, abs=1e-10)


def test_p_values_are_exact_for_every_level():
    """P(p ≤ t) = t at each value t that p can take; extremes first, and more hits never lower p."""
    for boundary in (SMALL, WIDE, USUAL):
        points = _find_points(boundary)
        p = np.array(
            [
                boundary.p_value(int(reached), int(drawn))
                for drawn, reached in zip(points.drawn, points.reached, strict=True)
            ]
        )
        for value in p[:: max(1, len(p) // 50)]:
            assert points.chance[p <= value].sum() == pytest.approx(value, rel=1e-9)


def test_one_more_hit_never_lowers_p():
    """So ties between data and copies, which count as hits, only make the test cautious."""
    n = 14
    boundary = OnceSettled(n, low=0.55, high=0.55)
    p = {}
    for path in itertools.product((0, 1), repeat=n):
        drawn, reached = stopped_at(boundary, path, n)
        p[path] = boundary.p_value(reached, drawn)
    assert len(set(p.values())) > 10
    for path, value in p.items():
        for k in range(n):
            if not path[k]:
                assert p[(*path[:k], 1, *path[k + 1 :])] >= value - 1e-12


@pytest.mark.parametrize("count", [1, 3])
def test_besag_and_clifford_by_all_paths(count):
    n = 12
    boundary, chances = AfterReached(count, n), Counter()
    for path in itertools.product((0, 1), repeat=n):
        drawn, reached = stopped_at(boundary, path, n)
        chances[boundary.p_value(reached, drawn)] += chance_of_path(path)
    for level in chances:
        assert sum(c for p, c in chances.items() if p <= level) <= level + 1e-12
    assert boundary.p_value(count, 7) == count / 7
    assert boundary.p_value(0, n) == 1 / (n + 1)


def test_the_size_by_streams():
    """20,000 streams where the data are one more copy: P(p ≤ t) ≤ t, and close to it at 0.05."""
    rng = np.random.default_rng(1)
    p = []
    for _ in range(20_000):
        hits = rng.random(999) < rng.random()
        drawn, reached = stopped_at(USUAL, hits, 999)
        p.append(USUAL.p_value(reached, drawn))
    for level in (0.01, 0.02, 0.05, 0.1, 0.3, 0.7):
        share = np.mean(np.array(p) <= level)
        assert share < level + 4 * np.sqrt(level * (1 - level) / len(p))
    assert np.mean(np.array(p) <= 0.05) > 0.0499 - 4 * np.sqrt(0.05 * 0.95 / len(p))


# --- what is said of p ---------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.05, 0.1])
def test_intervals_cover(level):
    """Exactly, for each true p: over all stopping points, with the chance that p gives them."""
    boundary = OnceSettled(199, low=level, high=level)
    points = _find_points(boundary)
    ends = np.array(
        [
            boundary.interval(int(reached), int(drawn))
            for drawn, reached in zip(points.drawn, points.reached, strict=True)
        ]
    )
    assert (np.diff(ends, axis=0) > -1e-9).all()  # later points have larger p
    for p in (0.001, 0.02, 0.047, 0.06, 0.1, 0.13, 0.4, 0.9):
        covered = (ends[:, 0] <= p) & (p <= ends[:, 1])
        share = points.given(p)[covered].sum()
        assert 0.95 - 1e-9 <= share < 1.0 + 1e-9


def test_without_lines_in_reach_the_interval_is_that_of_all_copies():
    few = OnceSettled(30, low=0.001, high=0.9)
    for reached in (0, 3, 17, 30):
        assert few.p_value(reached, 30) == pytest.approx(PValue(reached, 30).value)
        assert few.interval(reached, 30) == pytest.approx(PValue(reached, 30).interval, abs=1e-9)


@pytest.mark.parametrize(
    ("p", "copies", "rejected"),
    [(0.001, 135, 0.9999), (0.03, 341, 0.996), (0.08, 196, 0.999), (0.2, 43, 1), (0.5, 15, 1)],
)
def test_copies_and_decisions_of_the_tables_in_docs(p, copies, rejected):
    points = _find_points(USUAL)
    chance = points.given(p)
    assert chance @ points.drawn <= copies
    right = points.as_extreme <= 0.05 if p <= 0.05 else points.as_extreme > 0.05
    assert chance[right].sum() >= rejected - 1e-6


# --- several statistics --------------------------------------------------------------------------


def skewed(rng, rows):
    """Three dependent statistics: a heavy tail, a normal one, and one with ties."""
    values = rng.normal(size=(rows, 1)) + rng.normal(size=(rows, 3))
    return np.column_stack([np.exp(values[:, 0]), values[:, 1], np.round(values[:, 2])])


def draw_p(values, plan):
    """p of the first row among the others, by the tally."""
    held_out, boundary = plan.held_out(values.shape[1]), plan.boundary(values.shape[1])
    tally = Tally(values[0], boundary, held_out)
    for start in range(1, len(values), 20):
        tally.add(values[start : start + 20])
        if tally.stopped:
            break
    drawn = tally.values
    value, copies = Null(values[0], drawn[held_out:]).combined(drawn[:held_out])
    return PValue.of(value, copies, boundary=boundary).value


@pytest.mark.parametrize("streams", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_combination_keeps_the_level(streams):
    rng = np.random.default_rng(2)
    plan = Permutations(n=249, settle_at=0.1)
    p = np.array([draw_p(skewed(rng, 250), plan) for _ in range(streams)])
    for level in (0.05, 0.1, 0.2, 0.5):
        spread = 4 * np.sqrt(level * (1 - level) / streams)
        assert np.mean(p <= level) < level + spread
    assert np.mean(p <= 0.1) > 0.085 - 4 * np.sqrt(0.09 / streams)


def test_a_combination_sees_what_one_of_its_statistics_sees():
    rng = np.random.default_rng(3)
    plan = Permutations(n=249, settle_at=0.1)
    for guilty in range(3):
        values = skewed(rng, 250)
        values[0, guilty] = 3 * values[:, guilty].max()
        assert draw_p(values, plan) <= 0.03


def test_a_combination_goes_on_beyond_the_copies():
    """Ranks among 99 copies would end at 1/100; two values beyond are not alike."""
    copies = np.linspace(0, 1, 99)[:, None].repeat(2, axis=1)
    rows = np.array([[0.5, 0.5], [1.5, 0.0], [2.0, 0.0], [0.0, 2.0], [np.inf, 0.0]])
    value, others = Null(rows[0], rows[1:]).combined(copies)
    assert value < others[0] < others[1] == others[2] < others[3]
    tied = np.ones((99, 2))
    value, others = Null(rows[1], rows[2:]).combined(tied)
    assert np.isfinite([value, *others]).all()


def people(effect=0.0, n=400, seed=0):
    rng = np.random.default_rng(seed)
    sex, race, y = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    return y + effect * sex + rng.normal(size=n), y, {"sex": sex, "race": race}


@pytest.mark.parametrize("statistic", ["correlation", "max"])
@pytest.mark.parametrize("rule", [{"settle_at": 0.05}, {"stop_after": 20}])
@pytest.mark.parametrize("effect", [0.0, 0.25, 2.0])
def test_batches_and_jobs_change_nothing(statistic, rule, effect):
    score, y, attributes = people(effect)
    plan = Permutations(n=499, seed=4, **rule)
    results = [
        fa.equalized_odds_test(
            score, y_true=y, sensitive=attributes, statistic=statistic, permutations=changed
        )
        for changed in (plan, replace(plan, batch=1), replace(plan, batch=7, n_jobs=2))
    ]
    first = results[0]
    for result in results[1:]:
        assert result.null.tobytes() == first.null.tobytes()
        assert (result.p_value, result.interval) == (first.p_value, first.interval)
        assert result.parts == first.parts
    held_out = 99 if statistic == "max" else 0
    assert (len(first.null) < 499 - held_out) is not ("stop_after" in rule and effect == 2.0)


def test_stopped_copies_are_the_first_of_all():
    score, y, attributes = people(0.25)
    drawn = {
        rule: fa.equalized_odds_test(
            score,
            y_true=y,
            sensitive=attributes,
            statistic="correlation",
            permutations=Permutations(n=499, seed=4, settle_at=rule),
        ).null
        for rule in (None, 0.05)
    }
    assert len(drawn[None]) == 499
    assert drawn[0.05].tolist() == drawn[None][: len(drawn[0.05])].tolist()


# --- the questions of an audit -------------------------------------------------------------------


def test_questions_behind_the_gate_may_be_claimed():
    """A stop at the level alone would leave p = 1/128, too large for Holm among many questions."""
    rng = np.random.default_rng(0)
    n = 2_000
    attributes = {name: rng.integers(0, 2, n) for name in "abcdefg"}
    y = rng.integers(0, 2, n)
    score = y + attributes["a"] + rng.normal(size=n)
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive=attributes,
        statistic="correlation",
        permutations=Permutations.auto(0.05),
        power=False,
    )
    found = {finding.name: finding for finding in result.findings}
    assert result.joint.copies == 127 and result.joint.p_value == pytest.approx(1 / 128)
    assert found["a"].significant and found["a"].p_value < 0.05 / 9
    assert all(found[name].copies < 999 for name in "bcdefg")


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1])
@pytest.mark.parametrize("statistics", [1, 3])
def test_a_stop_below_is_small_enough_to_be_claimed(alpha, statistics):
    """Among m questions Holm's first step asks for alpha/m."""
    for among in (1, 2, 5, 9):
        boundary = Permutations.auto(alpha).boundary(statistics, among)
        points = _find_points(boundary)
        below, _ = boundary.limits(points.drawn)
        claimed = points.as_extreme[points.reached <= below]
        assert (claimed <= alpha / among).all()
        assert len(claimed) > 0 or boundary.n < 6 * among / (0.95 * alpha)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"settle_at": 0.0}, "'settle_at' must be between 0 and 1"),
        ({"settle_at": 1.0}, "'settle_at' must be between 0 and 1"),
        ({"settle_at": 0.05, "stop_after": 5}, "two rules for stopping"),
    ],
)
def test_rules_are_checked(settings, message):
    with pytest.raises(fa.InputError, match=message):
        Permutations(**settings)


def test_too_few_copies_to_calibrate_a_combination():
    score, y, attributes = people()
    with pytest.raises(fa.InputError, match="5 statistics needs at least 20 copies"):
        fa.equalized_odds_test(
            score,
            y_true=y,
            sensitive=attributes,
            statistic="max",
            permutations=Permutations(n=19, stop_after=5),
        )
