"""`auto` sees interactions, skewed outcomes, atoms and changing shapes."""

import numpy as np
import pytest
from scipy.stats import kstest

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.density.atoms import WithAtoms, find_atoms, mark_atoms
from fairaudit.density.auto import Auto
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.mixture import Mixture
from fairaudit.permute.icp import ICP
from fairaudit.testing.diagnostics import PIT_LEVEL, check_pit


def draw(kind, n=400, seed=0):
    rng = np.random.default_rng(seed)
    a, e = rng.normal(size=(n, 4)), rng.normal(size=n)
    if kind == "interaction":
        return 1.2 * a[:, 0] * a[:, 1] + 0.5 * a[:, 2] + 0.7 * e, a
    if kind == "lognormal":
        return np.exp(9 + 0.5 * a[:, 0] + 0.4 * a[:, 1] * a[:, 2] + 0.5 * e), a
    if kind == "zero-inflated":
        some = rng.random(n) < 1 / (1 + np.exp(-0.4 - a[:, 0]))
        return np.where(some, np.exp(0.5 * a[:, 1] + 0.5 * e), 0.0), a
    if kind == "skewness changes":
        e = rng.gamma(2.0, size=n) - 2
        return 0.5 * a[:, 0] + np.where(a[:, 1] > 0, e, -e), a
    if kind == "rounded":
        return np.round(40 + 4 * a[:, 0] + 5 * e), a
    return a[:, 0] + e, a


def choose(kind, **options):
    y, a = draw(kind, **options)
    outcome = columns_from(y, argument="y_true", outcome=True)[0]
    attributes = columns_from(a, argument="sensitive")
    return ICP("auto").prepare(outcome, attributes, steps=None, seed=0)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("plain", "gaussian (ols)"),
        ("interaction", "gaussian (selected)"),
        ("lognormal", "log-gaussian (selected)"),
        ("zero-inflated", "with atoms at 0"),
    ],
)
def test_the_family_that_the_data_need(kind, word):
    assert word in choose(kind).law.family


def test_changing_skewness_is_seen():
    family = choose("skewness changes", n=800).law.family
    assert "grouped" in family or "mixture" in family


def test_costly_families_are_tried_only_where_the_others_fail():
    assert not any("mixture" in name for name in choose("plain").scores)
    assert any("mixture" in name for name in choose("skewness changes", n=800).scores)


def test_an_impatient_choice_refuses_where_costly_families_would_be_tried():
    for kind, refused in (("plain", False), ("skewness changes", True)):
        y, a = draw(kind, n=800)
        rows = np.arange(len(y))
        splits = [(rows[rows % 2 == k], rows[rows % 2 != k]) for k in range(2)]
        if refused:
            with pytest.raises(fa.InputError, match="leave a pattern"):
                Auto(patient=False).choose(y, a, splits, 0)
        else:
            patient, quick = (Auto(patient=p).choose(y, a, splits, 0) for p in (True, False))
            assert patient.scores == quick.scores


def test_families_of_the_caller_are_the_only_ones():
    y, a = draw("interaction")
    rows = np.arange(len(y))
    splits = [(rows[rows % 2 == k], rows[rows % 2 != k]) for k in range(2)]
    choice = Auto([Gaussian("ols"), Mixture(2)]).choose(y, a, splits, 0)
    assert set(choice.scores) == {"gaussian (ols)", "mixture (2)"}
    assert choice.family.name == max(choice.scores, key=choice.scores.get)


FAMILIES = [
    Gaussian("selected"),
    Gaussian("smooth", heteroscedastic=True, residuals="kernel"),
    Gaussian("selected", transform="log"),
    Gaussian("ols", residuals="kernel", transform="scores"),
    Gaussian("selected", heteroscedastic=True, residuals="grouped"),
    WithAtoms(Gaussian("selected", transform="log"), np.array([3.0])),
]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_densities_have_mass_one_and_agree_with_their_cdf(family):
    rng = np.random.default_rng(2)
    a = rng.normal(size=(300, 2))
    y = np.exp(0.6 * a[:, 0] + 0.3 * a[:, 1] + 0.4 * rng.normal(size=300))
    atoms = np.array([3.0]) if isinstance(family, WithAtoms) else np.empty(0)
    y[:60] = np.where(rng.random(60) < len(atoms), 3.0, y[:60])
    fitted = family.fit(y, a, 0)
    for row in (0, 100, 200):
        # from a log scale on both sides of zero, and only there: linear beyond
        grid = np.concatenate([-np.geomspace(60, 1e-5, 6000), np.geomspace(1e-5, 60, 12_000)])
        pairs = fitted.pairs(grid, np.tile(a[row], (len(grid), 1)))
        index = np.arange(len(grid))
        density = np.exp(pairs.log_density(index, index))
        total = np.concatenate([[0], np.cumsum(np.diff(grid) * (density[1:] + density[:-1]) / 2)])
        mass = total
        if len(atoms):
            here = np.zeros(1, dtype=int)
            at_atom = np.exp(fitted.pairs(atoms, a[[row]]).log_density(here, here))
            assert at_atom > 0.05
            mass = total + at_atom * (grid >= 3.0)
        assert mass[-1] == pytest.approx(1, abs=0.02)
        assert np.abs(mass - pairs.cdf(grid)).max() < 0.02


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_swap_odds_are_ratios_of_densities(family):
    rng = np.random.default_rng(3)
    a = rng.normal(size=(200, 2))
    y = np.exp(0.6 * a[:, 0] + 0.4 * rng.normal(size=200))
    y[::4] = 3.0
    pairs = family.fit(y, a, 0).pairs(y[:40], a[:40])
    i, j = np.arange(10), np.arange(10, 20)
    at_i, at_j = rng.permutation(40)[:30].reshape(3, 10), rng.permutation(40)[:30].reshape(3, 10)
    expected = (
        pairs.log_density(i, at_j)
        + pairs.log_density(j, at_i)
        - pairs.log_density(i, at_i)
        - pairs.log_density(j, at_j)
    )
    assert pairs.swap_log_odds(i, j, at_i, at_j) == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_atoms():
    y, _ = draw("zero-inflated")
    assert list(find_atoms(y)) == [0.0]
    assert (mark_atoms(y, np.array([0.0])) == (y == 0)).all()
    assert len(find_atoms(np.round(y))) == 0  # mostly a few values: nothing would be left
    assert len(find_atoms(draw("plain")[0])) == 0
    assert list(mark_atoms(np.array([2.0, 5.0, 1.0]), np.array([1.0, 5.0]))) == [0, 2, 1]


@pytest.mark.parametrize("kind", ["zero-inflated", "rounded"])
def test_ties_do_not_spoil_the_calibration_check(kind):
    y, a = draw(kind, n=600, seed=4)
    outcome = columns_from(y, argument="y_true", outcome=True)[0]
    attributes = columns_from(a, argument="sensitive")
    fitted = ICP("auto").prepare(outcome, attributes, steps=5, seed=1)
    assert kstest(fitted.pit, "uniform").pvalue > 1e-3
    assert check_pit(fitted.pit) > PIT_LEVEL
    # where the atoms are not known, the same check tells
    if kind == "zero-inflated":
        wrong = ICP("ols").prepare(outcome, attributes, steps=5, seed=1)
        assert check_pit(wrong.pit) < PIT_LEVEL
