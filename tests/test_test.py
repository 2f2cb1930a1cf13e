"""The test as a user calls it: results, statistics, densities, degenerate and bad input."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.density import CATEGORICAL, CONTINUOUS
from fairaudit.density.base import LocationScale
from fairaudit.testing.linear import Correlation
from fairaudit.testing.neighbour_statistics import CODECStatistic, KPCStatistic

matplotlib.use("Agg")
QUICK = fa.Permutations(n=39)
test = fa.equalized_odds_test


def people(n=300, effect=0.0, seed=0, continuous=False):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "race": rng.choice(["a", "b", "c"], n),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
        }
    )
    y = (frame.sex == "f") * 0.5 + (frame.age - 49) / 30 + rng.normal(size=n)
    y = y.to_numpy() if continuous else (y > 0).astype(int).to_numpy()
    u = y + effect * (frame.sex == "f").to_numpy() + rng.normal(size=n)
    return u, y, frame


@pytest.mark.parametrize("continuous", [False, True])
def test_finds_a_violation_and_passes_without_one(continuous):
    u, y, frame = people(effect=1.5, continuous=continuous)
    found = test(u, y, frame, permutations=fa.Permutations(n=99))
    assert found.p_value <= 0.03 and found.inconclusive is None
    u, y, frame = people(effect=0.0, continuous=continuous)
    assert test(u, y, frame, permutations=fa.Permutations(n=99)).p_value > 0.05


def test_result():
    u, y, frame = people(effect=1.0)
    result = test(u, y, frame, permutations=QUICK)
    statistic, p = result
    assert (statistic, p) == (result.statistic, result.p_value)
    assert p == (1 + (result.null >= statistic).sum()) / 40
    assert result.interval[0] <= p <= result.interval[1] + 1 / 40
    assert "trustworthy: yes, because nothing was estimated" in result.summary()
    assert result.plot().get_xlabel() == "kpc"
    assert result.density == "exact (within classes)"
    again = test(u, y, frame, permutations=QUICK)
    assert np.array_equal(again.null, result.null)
    other = test(u, y, frame, permutations=fa.Permutations(n=39, seed=1))
    assert not np.array_equal(other.null, result.null)


NAMES = ["kpc", "codec", "correlation", "features", "hrt", "max"]


@pytest.mark.parametrize("name", [*NAMES, "deo", "equalized_odds_difference"])
@pytest.mark.parametrize("continuous", [False, True])
def test_every_statistic_finds_a_large_violation(name, continuous):
    u, y, frame = people(600, effect=2.5, continuous=continuous)
    if name in ("deo", "equalized_odds_difference"):
        if continuous:
            with pytest.raises(fa.InputError, match="classes"):
                test(u, y, frame[["sex"]], statistic=name, permutations=QUICK)
            return
        u, frame = (u > 1).astype(int), frame[["race", "sex"]]
    density = "auto" if not continuous else "ols"
    result = test(u, y, frame, statistic=name, density=density, permutations=QUICK)
    assert result.p_value <= 0.05
    assert len(result.null) == 39


@pytest.mark.parametrize("name", ["deo", "equalized_odds_difference"])
def test_rate_statistics_equal_the_measures(name):
    u, y, frame = people(effect=1.0)
    labels, frame = (u > 1).astype(int), frame[["race", "sex"]]
    result = test(labels, y, frame, statistic=name, permutations=QUICK)
    assert result.statistic == pytest.approx(float(getattr(fa.metrics, name)(labels, frame, y)))


@pytest.mark.parametrize("continuous", [False, True])
def test_neighbour_statistics_equal_the_measures(continuous):
    u, y, frame = people(200, continuous=continuous)
    density = "ols" if continuous else "auto"
    for statistic, measure in (
        (KPCStatistic(knn=7), lambda: fa.metrics.kpc(u, frame, y, knn=7)),
        (CODECStatistic(), lambda: fa.metrics.codec(u, frame, y)),
    ):
        result = test(u, y, frame, statistic=statistic, density=density, permutations=QUICK)
        assert result.statistic == pytest.approx(float(measure()), abs=1e-10)


@pytest.mark.parametrize("columns", [["race", "sex"], ["race", "age"], ["age"]])
@pytest.mark.parametrize("statistic", [KPCStatistic(), KPCStatistic(knn=1), CODECStatistic()])
def test_the_fixed_graph_gives_the_same_as_a_new_one(columns, statistic):
    # Within-class copies only move predictions over the graph; a new graph must agree.
    u, y, frame = people(250)
    table = fa.AuditTable.of(u, frame[columns], y)
    order = np.argsort(y, kind="stable")
    rows = order.copy()
    for c in (0, 1):
        members = np.flatnonzero(y == c)
        rows[members] = np.random.default_rng(c).permutation(members)
    fast = statistic.bind(table, within_outcome=True, seed=0)(rows[None])
    slow = statistic.bind(table, within_outcome=False, seed=0)(rows[None])
    moved = fa.AuditTable.of(u, frame[columns].iloc[rows].reset_index(drop=True), y)
    direct = statistic.bind(moved, within_outcome=True, seed=0)(np.arange(250)[None])
    assert fast == pytest.approx(slow, abs=1e-10)
    assert fast == pytest.approx(direct, abs=1e-10)


@pytest.mark.parametrize("name", [n for n in CONTINUOUS if n not in ("maf", "spline")])
def test_every_density_of_a_continuous_outcome(name):
    u, y, frame = people(300, continuous=True)
    result = test(u, y, frame, density=name, permutations=QUICK)
    assert 0 < result.p_value <= 1
    assert result.diagnostics.copy_check > 0.01 and result.inconclusive is None
    assert (name == "auto") == bool(result.scores)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_every_density_of_a_categorical_outcome(name):
    u, y, frame = people(300)
    result = test(u, y, frame, density=name, permutations=QUICK)
    assert 0 < result.p_value <= 1 and "cross-fitted" in result.density


def test_density_as_object_callable_and_other_table():
    u, y, frame = people(200, continuous=True)
    known = lambda y, a: -0.5 * (y - 0.5 * (a[:, 1] == 0) - (a[:, 2] - 49) / 30) ** 2  # noqa: E731
    result = test(u, y, frame, density=known, permutations=QUICK)
    assert result.density == "oracle" and result.inconclusive is None
    from fairaudit.density.gaussian import Gaussian

    in_sample = test(u, y, frame, density=Gaussian("ridge"), folds=1, permutations=QUICK)
    assert "in sample" in in_sample.density
    _, other_y, other = people(200, continuous=True, seed=9)
    apart = test(u, y, frame, density="ols", density_data=(other_y, other), permutations=QUICK)
    assert "given table" in apart.density and apart.inconclusive is None


def test_a_wrong_density_is_told():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    a = y**2 + rng.normal(size=400)
    u = y + y**2 + rng.normal(size=400)
    wrong = test(u, y, a, density="ols", permutations=QUICK)
    assert "does not fit" in wrong.inconclusive and "no, because" in wrong.summary()
    assert test(u, y, a, permutations=QUICK).inconclusive is None


def test_sub_tests_with_a_fitted_density_need_their_own_copies():
    """Copies from q(y | a1, a2) are not exchangeable under Yhat ⟂ A1 | Y if Yhat depends on A2."""
    from fairaudit.permute.chain import ConditionalPermutation, Fold

    hits = {"own": 0, "joint": 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        a2 = rng.normal(size=100)
        a1 = 0.3 * rng.normal(size=100)
        y = a1 + a2 + 0.3 * rng.normal(size=100)
        u = y + 2 * a2 + 0.3 * rng.normal(size=100)
        # A1 is independent of (A2, noise), but given Y it is not: u must depend on Y alone
        u = a2 + 0.1 * rng.normal(size=100)
        y = a2 + 0.0 * a1
        y = y + 0.3 * rng.normal(size=100)
        laws = {
            "own": LocationScale(y, np.zeros(100), np.full(100, np.sqrt(1.09))),
            "joint": LocationScale(y, a2, np.full(100, 0.3)),
        }
        table = fa.AuditTable.of(u, a1, y)
        bound = Correlation().bind(table, within_outcome=False, seed=0)
        observed = bound(np.arange(100)[None])[0]
        for name, pairs in laws.items():
            copies = ConditionalPermutation([Fold(np.arange(100), pairs)], 30, seed).block(
                range(19)
            )
            hits[name] += bound(copies).max() < observed
    assert hits["own"] <= 22  # binomial(200, .05) bound at 1e-4
