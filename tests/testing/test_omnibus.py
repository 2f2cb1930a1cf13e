"""The statistic of the gate: what each part sees, its exactness, and that batches do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.testing.core import run_test
from fairaudit.testing.omnibus import PARTS, Omnibus
from fairaudit.testing.statistic import STATISTICS, list_parts, statistic_named

#: Violation → parts that find it, parts that by their construction cannot.
SEEN = {
    "lines": (
        ("linear", "linear, one attribute", "smooth", "curves", "scan"),
        ("products", "linear in spread"),
    ),
    "lines that turn": (
        (
            "linear along the outcome",
            "linear, one attribute along the outcome",
            "smooth along the outcome",
        ),
        ("linear", "linear, one attribute", "smooth", "curves", "scan"),
    ),
    "spread": (
        ("linear in spread", "scan in spread"),
        ("linear", "linear, one attribute", "smooth", "curves", "scan"),
    ),
    "skewness": (
        ("linear in skewness",),
        ("linear", "linear, one attribute", "linear in spread", "products", "curves"),
    ),
    "a product": (("products", "smooth", "scan"), ("linear", "curves", "linear along the outcome")),
    "a product that turns": (
        ("smooth along the outcome",),
        ("linear", "linear, one attribute", "smooth", "curves", "scan"),
    ),
    "a curve": (("curves",), ("linear", "linear, one attribute", "products", "smooth")),
    "parity": (
        ("scan",),
        ("linear", "linear, one attribute", "products", "curves", "scan in spread"),
    ),
    "spread by parity": (
        ("scan in spread",),
        ("linear", "linear in spread", "products", "curves", "scan"),
    ),
}


def draw(violation, *, continuous, n=400):
    """Prediction, outcome and three attributes; every violation is strong."""
    rng = np.random.default_rng(2)
    y = rng.normal(size=n) if continuous else rng.integers(0, 2, n)
    turn = np.where(y > (0 if continuous else 0.5), 1.0, -1.0)
    a, b = rng.normal(size=(n, 3)), rng.integers(0, 2, (n, 3))
    noise = rng.normal(size=n)
    parity = (2.0 * b - 1).prod(axis=1)
    level = {
        "lines": 0.4 * a.sum(axis=1),
        "lines that turn": 0.8 * a[:, 0] * turn,
        "a product": 0.8 * a[:, 0] * a[:, 1],
        "a product that turns": a[:, 0] * a[:, 1] * turn,
        "a curve": 1.2 * np.cos(2.5 * np.pi * a[:, 0]),
        "parity": 0.8 * parity,
    }
    spread = {"spread": a[:, 0], "spread by parity": parity}
    if violation == "skewness":
        noise = np.where(a[:, 0] > 0, 1, -1) * (rng.gamma(0.3, size=n) - 0.3) / 0.3**0.5
    scale = np.exp(0.7 * spread.get(violation, np.zeros(n)))
    return y + level.get(violation, 0) + noise * scale, y, b if "parity" in violation else a


def ask(violation, *, continuous, **options):
    u, y, a = draw(violation, continuous=continuous)
    drawn = fa.Permutations(n=199)
    law = "local" if continuous else "auto"
    return fa.equalized_odds_test(u, y_true=y, sensitive=a, law=law, permutations=drawn, **options)


@pytest.mark.parametrize("continuous", [False, True], ids=["classes", "continuous"])
@pytest.mark.parametrize("violation", SEEN)
def test_parts_find_their_own_kind_of_violation(violation, continuous):
    result = ask(violation, continuous=continuous)
    seen, unseen = SEEN[violation]
    assert tuple(result.parts) == tuple(PARTS)
    assert {part: result.parts[part] for part in seen} == dict.fromkeys(seen, 1 / 200)
    assert min(result.parts[part] for part in unseen) > 0.05
    assert result.p_value <= 0.03


def test_every_part_is_the_one_that_finds_something():
    assert {part for seen, _ in SEEN.values() for part in seen} == set(PARTS)


@pytest.mark.parametrize("continuous", [False, True], ids=["classes", "continuous"])
def test_no_part_finds_anything_in_a_fair_table(continuous):
    result = ask("nothing", continuous=continuous)
    assert min(result.parts.values()) > 0.01 and result.p_value > 0.1


def test_one_attribute_of_many_is_found_by_itself():
    both = Omnibus(("linear", "linear, one attribute"))
    hits = dict.fromkeys(both.parts, 0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, a = rng.integers(0, 2, 250), rng.normal(size=(250, 30))
        table = AuditTable.of(y + 0.25 * a[:, 7] + rng.normal(size=250), a, y)
        found = run_test(table, statistic=both, permutations=fa.Permutations(n=99)).parts
        for part, p in found.items():
            hits[part] += p <= 0.05
    assert hits["linear, one attribute"] >= 12 and hits["linear"] <= 9


def test_p_values_of_fair_tables_are_uniform():
    """Classes: exact. 400 tables, 19 copies: every rank of the data is as likely."""
    ranks = np.zeros(20, dtype=int)
    for seed in range(400):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, 60)
        a = np.column_stack([y + rng.normal(size=60), rng.integers(0, 2, 60)])
        table = AuditTable.of(y + (1 + y) * rng.exponential(size=60), a, y)
        drawn = fa.Permutations(n=19, seed=seed)
        result = run_test(table, statistic="omnibus", permutations=drawn)
        ranks[round(20 * result.p_value) - 1] += 1
    assert chisquare(ranks).pvalue > 1e-4
    assert binomtest(int(ranks[0]), 400, 0.05).pvalue > 1e-4


@pytest.mark.parametrize("within", [True, False])
def test_a_copy_has_the_value_that_a_table_with_its_attributes_would_have(within):
    """The data is treated as the copies are: nothing was fitted to its attributes' places."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 200) if within else rng.normal(size=200)
    a = np.column_stack([rng.normal(size=200), rng.integers(0, 3, 200)])
    u = y + a[:, 0] + rng.normal(size=200)
    copy = rng.permutation(200)
    if within:
        copy[np.argsort(y, kind="stable")] = np.concatenate(
            [rng.permutation(np.flatnonzero(y == level)) for level in (0, 1)]
        )
    own = np.arange(200)[None, :]
    bind = {"within_outcome": within, "seed": 4}
    there = Omnibus().bind(AuditTable.of(u, a, y), **bind)(copy[None, :])
    moved = Omnibus().bind(AuditTable.of(u, a[copy], y), **bind)(own)
    assert there == pytest.approx(moved, rel=1e-8)
    assert there.shape == (1, len(PARTS))


@pytest.mark.parametrize("continuous", [False, True], ids=["classes", "continuous"])
def test_batches_and_jobs_change_nothing(continuous):
    u, y, a = draw("lines", continuous=continuous, n=120)
    results = [
        fa.equalized_odds_test(u, y_true=y, sensitive=a, permutations=fa.Permutations(n=39, **how))
        for how in ({}, {"batch": 1}, {"batch": 7}, {"batch": 7, "n_jobs": 2})
    ]
    for result in results[1:]:
        assert result.null.tobytes() == results[0].null.tobytes()
        assert (result.p_value, result.parts) == (results[0].p_value, results[0].parts)
        assert result.diagnostics == results[0].diagnostics


def test_selections_are_the_same_numbers_as_the_whole():
    u, y, a = draw("a product", continuous=False)
    table, drawn = AuditTable.of(u, a, y), fa.Permutations(n=99)
    parts = run_test(table, statistic="omnibus", permutations=drawn).parts
    alone = run_test(table, statistic="correlation", permutations=drawn)
    assert (alone.p_value, alone.parts) == (parts["linear"], {})
    for name in ("features", "scan"):
        some = run_test(table, statistic=name, permutations=drawn)
        assert some.name == name and len(some.parts) > 1
        assert some.parts == {part: parts[part] for part in some.parts}


def test_parts_of_several_statistics_stand_side_by_side():
    names, weights = list_parts(statistic_named(["kpc", "correlation", "omnibus"]))
    assert names == ["kpc", "correlation", *PARTS]
    assert weights == [1.0, PARTS["linear"], *PARTS.values()]


def test_what_is_quick_is_a_selection():
    quick = Omnibus().quick
    assert set(quick.parts) < set(PARTS) and quick.name == "omnibus"
    assert not any("scan" in part or "along" in part for part in quick.parts)
    scan = STATISTICS.get("scan")
    assert scan.quick == scan  # nothing of it is quick, and it must not become another
    assert quick.weights == tuple(PARTS[part] for part in quick.parts)


def test_probabilities_of_several_classes_and_constant_columns():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 300)
    sex = rng.integers(0, 2, 300)
    u = rng.dirichlet([1, 1, 1], 300)
    u[:, 1] += 0.3 * sex
    frame = np.column_stack([u, np.full(300, 0.25)])
    drawn = fa.Permutations(n=99)
    result = fa.equalized_odds_test(frame, y_true=y, sensitive={"sex": sex}, permutations=drawn)
    assert result.p_value == 0.01 and np.isfinite(result.null).all()
    with pytest.raises(fa.InputError, match="prediction"):
        fa.equalized_odds_test(np.ones(300), y_true=y, sensitive={"sex": sex}, permutations=drawn)


def test_a_table_that_is_sorted_by_its_attributes_has_a_statistic():
    """The first 500 rows, which the width of waves was taken from, may all be of one group."""
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 3000), rng.random(3000)
    sex = np.repeat([0, 1], 1500)
    few = fa.Permutations(n=19)
    result = fa.equalized_odds_test(score, y_true=y, sensitive={"sex": sex}, permutations=few)
    assert np.isfinite(result.statistic) and 0 < result.p_value <= 1
