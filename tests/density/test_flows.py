"""Flow densities: proper, conditional, close to the truth, equal to nflows pair by pair."""

import pickle
import sys

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("nflows")

import torch
from scipy.integrate import trapezoid

from fairaudit.density import density_named
from fairaudit.density.flows import MAF, Spline
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.network_training import Training
from fairaudit.errors import InputError, MissingDependencyError

SHORT = Training(learning_rate=0.01, epochs=30, patience=10)
FAMILIES = [MAF(components=2, hidden=16, training=SHORT), Spline(hidden=32, training=SHORT)]
both = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def linear(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 2))
    return 20 + 6 * a[:, 0] - 3 * a[:, 1] + 2 * rng.normal(size=n), a


def two_modes(n, seed):
    """The sign of y is lost in a, so that q(y|a) has two modes."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y, (y**2 + 0.3 * rng.normal(size=n))[:, None]


def held_out(family, table):
    y, a = table(2000, 1)
    rows = np.arange(len(y))
    return family.fit(*table(600, 0), seed=0).pairs(y, a).log_density(rows, rows)


@pytest.fixture(scope="module")
def fits():
    y, a = linear(400, 0)
    return {family.name: family.fit(y, a, seed=0) for family in FAMILIES}


@both
def test_integrates_to_one(family, fits):
    grid = np.linspace(-40, 80, 4001)
    pairs = fits[family.name].pairs(grid, np.tile(linear(1, 5)[1], (len(grid), 1)))
    density = np.exp(pairs.log_density(0, np.arange(len(grid))))
    assert trapezoid(density, grid) == pytest.approx(1, abs=2e-3)
    distribution = np.cumsum(density) * (grid[1] - grid[0])
    assert pairs.pit() == pytest.approx(distribution, abs=5e-3)


@both
def test_depends_on_every_attribute(family, fits):
    a = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    y = np.full(3, 20.0)
    values = fits[family.name].pairs(y, a).log_density(np.arange(3), np.arange(3))
    assert abs(values[1] - values[0]) > 0.2
    assert abs(values[2] - values[0]) > 0.2


@both
def test_recovers_a_linear_gaussian(family):
    y, a = linear(2000, 1)
    z = (y - 20 - 6 * a[:, 0] + 3 * a[:, 1]) / 2
    truth = np.mean(-0.5 * z**2 - np.log(2 * np.sqrt(2 * np.pi)))
    assert held_out(family, linear).mean() > truth - 0.15


def test_the_spline_sees_two_modes():
    spline, gaussian, maf = (
        held_out(f, two_modes).mean() for f in (FAMILIES[1], Gaussian(), FAMILIES[0])
    )
    assert spline > max(gaussian, maf) + 0.4


def test_pairs_equal_nflows(fits):
    """Both bound forms against the flow's own log-density, for every pair of 30 rows."""
    y, a = linear(30, 3)
    y[0] = 1000  # in the tail of the spline
    i, j = np.divmod(np.arange(900), 30)
    for name, fitted in fits.items():
        location = fitted.linear.predict(a) if name == "spline" else np.zeros(30)
        u = torch.as_tensor(fitted.outcome(y[j] - location[i])[:, None])
        z, log_slope = fitted.flow(u, torch.as_tensor(fitted.attributes(a)[i]))
        expected = log_slope - 0.5 * z[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)
        expected = np.maximum(expected.numpy() - np.log(fitted.outcome.spread), -700)
        pairs = fitted.pairs(y, a)
        assert pairs.log_density(i, j) == pytest.approx(expected, abs=1e-6)
        block = pairs.log_density(np.arange(30)[:, None], np.arange(30)[None, :])
        assert block.ravel() == pytest.approx(expected, abs=1e-6)


@both
def test_same_seed_same_numbers_and_nothing_global_changes(family):
    y, a = linear(80, 0)
    short = type(family)(hidden=8, training=Training(epochs=3))
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    rows = np.arange(80)
    first, again, other = (
        short.fit(y, a, s).pairs(y, a).log_density(rows, rows) for s in (1, 1, 2)
    )
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads
    assert (first == again).all()
    assert (first != other).any()


@both
def test_pickles(family, fits):
    y, a = linear(10, 0)
    rows = np.arange(10)
    fitted = pickle.loads(pickle.dumps(fits[family.name]))
    expected = fits[family.name].pairs(y, a).log_density(rows, rows)
    assert (fitted.pairs(y, a).log_density(rows, rows) == expected).all()


def test_the_variant_of_the_papers_simulations():
    family = MAF(
        components=1,
        hidden_layers=1,
        hidden=None,
        training=Training(learning_rate=0.1, l1=0.01, epochs=20),
    )
    fitted = family.fit(*linear(300, 0), seed=0)
    made = fitted.flow._transforms[0].autoregressive_net
    assert (made.initial_layer.out_features, len(made.blocks)) == (4, 0)
    y, a = linear(500, 1)
    assert np.corrcoef(fitted.pairs(y, a).location, y)[0, 1] > 0.9


def test_names_and_bad_input(monkeypatch):
    assert density_named("maf", categorical=False) == MAF()
    assert density_named("spline", categorical=False) == Spline()
    with pytest.raises(InputError, match="too few to fit a flow"):
        MAF().fit(*linear(5, 0), seed=0)
    with pytest.raises(InputError, match="'components' parameter must be at least 1"):
        MAF(components=0).fit(*linear(50, 0), seed=0)
    monkeypatch.setitem(sys.modules, "nflows", None)
    with pytest.raises(MissingDependencyError, match="pip install torch nflows"):
        MAF().fit(*linear(50, 0), seed=0)
