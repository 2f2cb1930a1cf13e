"""The test as a user calls it: results, statistics, densities, degenerate and bad input."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.density import CATEGORICAL, CONTINUOUS
from fairaudit.permute.icp import ICP
from fairaudit.testing.evaluation import bind_statistic
from fairaudit.testing.neighbor_statistics import CODECStatistic, KPCStatistic
from fairaudit.testing.p_value import Combination
from fairaudit.testing.statistic import list_parts, statistic_named

matplotlib.use("Agg")
QUICK = fa.Permutations(n=39)


def odds_test(u, y, a, **options):
    return fa.equalized_odds_test(u, y_true=y, sensitive=a, **options)


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
    found = odds_test(u, y, frame, permutations=fa.Permutations(n=99))
    assert found.p_value <= 0.03 and found.inconclusive is None
    u, y, frame = people(effect=0.0, continuous=continuous)
    assert odds_test(u, y, frame, permutations=fa.Permutations(n=99)).p_value > 0.05


def test_result():
    u, y, frame = people(effect=1.0)
    result = odds_test(u, y, frame, permutations=QUICK)
    statistic, p = result
    assert (statistic, p) == (result.statistic, result.p_value)
    assert p == (1 + (result.null >= statistic).sum()) / 40
    assert result.interval[0] <= p <= result.interval[1] + 1 / 40
    assert "trustworthy: yes, because nothing was estimated" in result.summary()
    assert result.plot().get_xlabel() == "omnibus"
    assert result.density == "exact (within classes)"
    again = odds_test(u, y, frame, permutations=QUICK)
    assert np.array_equal(again.null, result.null)
    other = odds_test(u, y, frame, permutations=fa.Permutations(n=39, seed=1))
    assert not np.array_equal(other.null, result.null)


NAMES = ["omnibus", "kpc", "codec", "correlation", "features", "scan", "hrt", "max"]


@pytest.mark.parametrize("name", [*NAMES, "deo", "equalized_odds_difference"])
@pytest.mark.parametrize("continuous", [False, True])
def test_every_statistic_finds_a_large_violation(name, continuous):
    u, y, frame = people(600, effect=2.5, continuous=continuous)
    if name in ("deo", "equalized_odds_difference"):
        if continuous:
            with pytest.raises(fa.InputError, match="classes"):
                odds_test(u, y, frame[["sex"]], statistic=name, permutations=QUICK)
            return
        u, frame = (u > 1).astype(int), frame[["race", "sex"]]
    density = "auto" if not continuous else "ols"
    result = odds_test(u, y, frame, statistic=name, density=density, permutations=QUICK)
    assert result.p_value <= 0.05
    assert len(result.null) == 39


@pytest.mark.parametrize("name", ["deo", "equalized_odds_difference"])
def test_rate_statistics_equal_the_measures(name):
    u, y, frame = people(effect=1.0)
    labels, frame = (u > 1).astype(int), frame[["race", "sex"]]
    result = odds_test(labels, y, frame, statistic=name, permutations=QUICK)
    assert result.statistic == pytest.approx(float(getattr(fa.metrics, name)(labels, frame, y)))


@pytest.mark.parametrize("continuous", [False, True])
def test_neighbor_statistics_equal_the_measures(continuous):
    u, y, frame = people(200, continuous=continuous)
    density = "ols" if continuous else "auto"
    for statistic, measure in (
        (KPCStatistic(knn=7), lambda: fa.metrics.kpc(u, sensitive=frame, y_true=y, knn=7)),
        (CODECStatistic(), lambda: fa.metrics.codec(u, sensitive=frame, y_true=y)),
    ):
        result = odds_test(u, y, frame, statistic=statistic, density=density, permutations=QUICK)
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


@pytest.mark.parametrize(
    "name", [n for n in CONTINUOUS.names() if n not in ("exact", "maf", "spline")]
)
def test_every_density_of_a_continuous_outcome(name):
    u, y, frame = people(300, continuous=True)
    result = odds_test(u, y, frame, density=name, permutations=QUICK)
    assert 0 < result.p_value <= 1
    assert result.diagnostics.copy_check > 0.01 and result.inconclusive is None
    assert (name == "auto") == bool(result.scores)


@pytest.mark.parametrize("name", CATEGORICAL.names()[2:])
def test_every_density_of_a_categorical_outcome(name):
    u, y, frame = people(300)
    result = odds_test(u, y, frame, density=name, permutations=QUICK)
    assert 0 < result.p_value <= 1 and "cross-fitted" in result.density


def test_density_as_object_callable_and_other_table():
    u, y, frame = people(200, continuous=True)
    known = lambda y, a: -0.5 * (y - 0.5 * (a[:, 1] == 0) - (a[:, 2] - 49) / 30) ** 2  # noqa: E731
    result = odds_test(u, y, frame, density=known, permutations=QUICK)
    assert result.density == "oracle" and result.inconclusive is None
    from fairaudit.density.gaussian import Gaussian

    in_sample = odds_test(u, y, frame, density=Gaussian("ridge"), folds=1, permutations=QUICK)
    assert "in sample" in in_sample.density
    _, other_y, other = people(200, continuous=True, seed=9)
    apart = odds_test(u, y, frame, density="ols", density_data=(other_y, other), permutations=QUICK)
    assert "given table" in apart.density and apart.inconclusive is None


def test_a_wrong_density_is_told():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    a = y**2 + rng.normal(size=400)
    u = y + y**2 + rng.normal(size=400)
    wrong = odds_test(u, y, a, density="ols", permutations=QUICK)
    assert "does not fit" in wrong.inconclusive and "no, because" in wrong.summary()
    assert odds_test(u, y, a, permutations=QUICK).inconclusive is None


DEGENERATE = {
    "a class with one row": (
        lambda: (np.arange(40.0), np.r_[1, np.zeros(39, int)], np.arange(40) % 2),
        None,
    ),
    "attribute constant within classes": (
        lambda: (np.random.default_rng(0).normal(size=60), np.arange(60) % 2, np.arange(60) % 2),
        "no copy differs",
    ),
    "all outcomes different, exact": (
        lambda: (
            np.random.default_rng(0).normal(size=60),
            [f"o{i}" for i in range(60)],
            np.arange(60) % 2,
        ),
        "no copy differs",
    ),
    "few rows": (
        lambda: (np.arange(12.0), np.arange(12) % 2, np.array([0, 0, 1] * 4)),
        "at least 20",
    ),
    "two classes of two rows can move": (
        lambda: (
            np.random.default_rng(0).normal(size=40),
            [f"o{i // 2}" for i in range(40)],
            np.r_[0, np.ones(39, int)],
        ),
        "different copies",
    ),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_tables_are_never_a_confident_pass(name):
    make, reason = DEGENERATE[name]
    result = odds_test(*make(), permutations=fa.Permutations(n=199))
    if reason is None:
        assert result.p_value > 0.05 or result.inconclusive
    else:
        assert reason in result.inconclusive
        assert np.isnan(result.p_value) or "different copies" in reason


BAD = {
    "identical rows": (lambda u, y, f: odds_test(np.ones(300), y, f), "is constant"),
    "statistic": (
        lambda u, y, f: odds_test(u, y, f, statistic="auc"),
        "one of omnibus, kpc, codec",
    ),
    "statistic type": (lambda u, y, f: odds_test(u, y, f, statistic=3), "'statistic' parameter"),
    "density": (lambda u, y, f: odds_test(u, y, f, density="maff"), "for a categorical outcome"),
    "copies": (lambda u, y, f: fa.Permutations(n=0), "'n' must be an integer of at least 1"),
    "seed": (lambda u, y, f: fa.Permutations(seed=-1), "'seed' must be an integer of at least 0"),
    "steps": (lambda u, y, f: fa.Permutations(steps=1.5), "'steps' must be an integer"),
    "folds": (lambda u, y, f: odds_test(u, u, f, folds=0, density="ols"), "'folds' parameter"),
    "no outcome": (lambda u, y, f: odds_test(u, None, f), "'y_true' argument is missing"),
    "continuous groups": (lambda u, y, f: odds_test(y, y, f, statistic="deo"), "'age' is integer"),
    "hrt with others": (lambda u, y, f: odds_test(u, y, f, statistic=["hrt", "kpc"]), "combined"),
    "oracle shape": (
        lambda u, y, f: odds_test(u, u, f, density=lambda y, a: 0.0),
        "one value per pair",
    ),
    "oracle NaN": (lambda u, y, f: odds_test(u, u, f, density=lambda y, a: y * np.nan), "NaN"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    call, message = BAD[name]
    with pytest.raises(fa.InputError, match=message):
        call(*people())


def test_few_rows_are_fitted_in_sample_and_settle_nothing():
    u, y, frame = people(15, continuous=True)
    result = odds_test(u, y, frame, density="ols", permutations=QUICK)
    assert "in sample" in result.density and "15 rows are too few" in result.inconclusive
    assert np.isnan(result.p_value)


def test_an_oracle_may_say_impossible():
    u, y, frame = people(200, continuous=True)
    never = lambda y, a: np.where(y > 0, -0.5 * y**2, -np.inf)  # noqa: E731
    assert np.isfinite(odds_test(u, y, frame, density=never, permutations=QUICK).p_value)


def test_early_stopping_keeps_the_guarantee_and_the_stream():
    u, y, frame = people()
    given = {"statistic": "kpc"}
    full = odds_test(u, y, frame, permutations=fa.Permutations(n=199, seed=3), **given)
    early = odds_test(
        u, y, frame, permutations=fa.Permutations(n=199, seed=3, stop_after=5, batch=16), **given
    )
    hits = np.flatnonzero(full.null >= full.statistic)
    assert len(early.null) == hits[4] + 1
    assert early.p_value == pytest.approx(5 / (hits[4] + 1))
    rare = people(effect=2.0)
    kept = odds_test(*rare, permutations=fa.Permutations(n=49, stop_after=5), **given)
    assert kept.p_value == 1 / 50 and len(kept.null) == 49


@pytest.mark.parametrize("statistic", ["omnibus", "max"])
def test_early_stopping_of_several_statistics_counts_their_combination(statistic):
    """It was the first of them that stopped, and all of them whose copies were counted."""
    u, y, frame = people()
    drawn = fa.Permutations(n=199, seed=3, stop_after=5, batch=16)
    early = odds_test(u, y, frame, statistic=statistic, permutations=drawn)
    table = fa.AuditTable.of(u, frame, y)
    sampler = ICP().prepare(table.outcome, table.attributes, steps=50, seed=3).sampler
    statistics = statistic_named(statistic)
    bound = [bind_statistic(part, table, sampler, 3) for part in statistics]
    data, counted, others = (
        np.column_stack([part(rows) for part in bound])
        for rows in (
            np.arange(300)[None],
            sampler.block(range(drawn.held_out(10), 199)),
            sampler.block(range(drawn.held_out(10))),
        )
    )
    combination = Combination(others, list_parts(statistics)[1])  # of copies that are not counted
    hits = np.flatnonzero(combination(counted) >= combination(data))
    assert early.statistic == pytest.approx(combination(data)[0])
    assert len(early.null) == hits[4] + 1
    assert early.p_value == pytest.approx(5 / (hits[4] + 1))
    rare = people(effect=2.0)
    some = fa.Permutations(n=49, stop_after=5)
    kept = odds_test(*rare, statistic=statistic, permutations=some)
    counted = 49 - some.held_out(10)
    assert kept.p_value == 1 / (counted + 1) and len(kept.null) == counted


def test_several_statistics_are_calibrated_together():
    u, y, frame = people(effect=1.0)
    result = odds_test(u, y, frame, statistic="max", permutations=fa.Permutations(n=99))
    features = {"smooth", "curves", "smooth along the outcome"}
    assert set(result.parts) == {"kpc", "correlation", *features}
    assert result.p_value == min(result.parts.values()) == 0.01
    assert result.name == "combination of kpc, correlation, features"


def test_general_name():
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=(2, 150))
    y = np.where(x + rng.normal(size=150) > 0, "u", "v")
    result = fa.conditional_independence_test(x, y, z, permutations=fa.Permutations(n=99))
    assert result.p_value == 0.01


def test_people_with_several_rows():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(100), 3)
    sex, y = rng.integers(0, 2, 100)[people], rng.integers(0, 2, 100)[people]
    u = y + rng.normal(size=100)[people] + 0.1 * rng.normal(size=300)
    naive = [
        odds_test(u, y, sex, statistic="correlation", permutations=fa.Permutations(n=19, seed=s))
        for s in range(1)
    ]
    grouped = odds_test(u, y, sex, groups=people, statistic="correlation", permutations=QUICK)
    # a person's rows agree, so that row-wise copies vary too little
    assert grouped.null.std() > 1.5 * naive[0].null.std()


def test_random_ties_do_not_depend_on_the_batch():
    u, y, frame = people(100)
    values = [
        odds_test(
            u,
            y,
            frame[["sex"]],
            statistic=KPCStatistic(knn=1, ties="random"),
            permutations=fa.Permutations(n=9, batch=batch),
        ).null
        for batch in (2, 9)
    ]
    assert np.array_equal(*values)
