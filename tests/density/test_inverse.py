"""q(a|y), conditional permutation and conditional randomization."""

from itertools import permutations as all_orders

import numpy as np
import pytest
from scipy.stats import chisquare, multivariate_normal

from fairaudit.data.columns import columns_from
from fairaudit.data.table import AuditTable
from fairaudit.density.inverse import (
    FrequenciesGivenOutcome,
    GraphicalLassoGaussian,
    MAFInverse,
    _FittedGaussianAttributes,
)
from fairaudit.density.network_training import Training
from fairaudit.errors import InputError
from fairaudit.permute.chain import ConditionalPermutation, Fold
from fairaudit.permute.cp import CP
from fairaudit.permute.randomize import ConditionalRandomization
from fairaudit.testing.choice_of_law import ChoiceOfLaw
from fairaudit.testing.core import run_test
from fairaudit.testing.permutations import Permutations

DRAWS = 5000


def gaussian_table(n, seed=0, width=3):
    rng = np.random.default_rng(seed)
    y = 5 + 2 * rng.normal(size=n)
    mix = np.eye(width) + 0.4 * np.eye(width, k=1)
    return y, y[:, None] * np.linspace(1, 0, width) + rng.normal(size=(n, width)) @ mix


def columns(y, a):
    outcome = columns_from(y, argument="y_true", outcome=True)[0]
    return outcome, columns_from(a, argument="sensitive")


@pytest.mark.parametrize("covariance", ["glasso", "empirical"])
@pytest.mark.parametrize("width", [1, 3])
def test_gaussian_pairs_are_the_normal_density(covariance, width):
    y, a = gaussian_table(200, width=width)
    fitted = GraphicalLassoGaussian(covariance).fit(y, a, seed=0)
    pairs = fitted.pairs(y[:20], a[:20])
    i, j = np.divmod(np.arange(400), 20)
    sigma = np.linalg.inv(fitted.precision)
    mean = fitted.intercept + y[i][:, None] * fitted.slope
    expected = multivariate_normal(np.zeros(width), sigma).logpdf(a[j] - mean)
    assert pairs.log_density(i, j) == pytest.approx(expected, abs=1e-8)
    at_i, at_j = np.random.default_rng(0).integers(0, 20, (2, 7, 400))
    expected = super(type(pairs), pairs).swap_log_odds(i, j, at_i, at_j)
    assert pairs.swap_log_odds(i, j, at_i, at_j) == pytest.approx(expected, abs=1e-8)


def test_gaussian_recovers_and_samples_its_law():
    y, a = gaussian_table(4000)
    fitted = GraphicalLassoGaussian().fit(y, a, seed=0)
    assert fitted.slope == pytest.approx([1, 0.5, 0], abs=0.05)
    drawn = fitted.sample(y, np.random.default_rng(1))
    joint, again = np.cov(np.c_[y, a].T), np.cov(np.c_[y, drawn].T)
    assert again == pytest.approx(joint, abs=0.3)


def test_gaussian_survives_collinear_columns():
    y = np.random.default_rng(0).normal(size=60)
    level = np.eye(3)[np.arange(60) % 3]
    fitted = GraphicalLassoGaussian().fit(y, np.c_[level, np.zeros(60)], seed=0)
    rows = np.arange(60)
    values = fitted.pairs(y, np.c_[level, np.zeros(60)]).log_density(rows, rows[::-1])
    assert np.isfinite(values).all()


def test_frequencies():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000).astype(float)
    a = (rng.random((3000, 2)) < 0.2 + 0.3 * y[:, None]).astype(float)
    fitted = FrequenciesGivenOutcome().fit(y, a, seed=0)
    pairs = fitted.pairs(np.array([0.0, 1, 2]), np.array([[1.0, 1], [0, 1], [9, 9]]))
    shares = np.exp(pairs.log_density(np.arange(3)[:, None], np.arange(2)[None, :]))
    assert shares[:, 0] == pytest.approx([0.04, 0.25, 0.64], abs=0.04)
    assert shares[:, 1] == pytest.approx([0.16, 0.25, 0.16], abs=0.04)
    unseen = pairs.log_density(np.arange(3), np.full(3, 2))
    assert (unseen == unseen[0]).all()
    drawn = fitted.sample(y, rng)
    for k in range(3):
        assert drawn[y == k].mean(axis=0) == pytest.approx(np.full(2, 0.2 + 0.3 * k), abs=0.06)


@pytest.fixture(scope="module")
def maf():
    pytest.importorskip("torch")
    pytest.importorskip("nflows")
    training = Training(learning_rate=0.01, epochs=40, patience=10)
    return MAFInverse(components=1, hidden=16, training=training).fit(
        *gaussian_table(500, width=2), seed=0
    )


def test_flow_of_the_attributes_is_a_density_and_samples_from_it(maf):
    x = np.linspace(-10, 20, 121)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    pairs = maf.pairs(np.full(len(grid), 6.0), grid)
    density = np.exp(pairs.log_density(0, np.arange(len(grid))))
    assert density.sum() * (x[1] - x[0]) ** 2 == pytest.approx(1, abs=0.01)
    drawn = maf.sample(np.full(4000, 6.0), np.random.default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx(density @ grid / density.sum(), abs=0.1)


def test_first_attribute_depends_on_the_outcome_with_one_component(maf):
    """nflows masks the context away from the first feature; ours must not."""
    rng = np.random.default_rng(0)
    low, high = (maf.sample(np.full(2000, y), rng)[:, 0].mean() for y in (3.0, 7.0))
    assert high - low == pytest.approx(4, abs=0.8)


def brute_force_p(inverse, seed=0):
    """Chi-square p of the sampler's orders of five rows against their exact law under CP."""
    rng = np.random.default_rng(seed)
    y, a = rng.normal(size=5), rng.normal(size=(5, 2))
    known = _FittedGaussianAttributes(np.zeros(2), np.array([1.0, -0.5]), np.eye(2))
    pairs = known.pairs(y, a)
    orders = np.array(list(all_orders(range(5))))
    log = multivariate_normal(np.zeros(2)).logpdf(
        a[orders] - y[None, :, None] * np.array([1.0, -0.5])
    )
    law = np.exp(log.sum(axis=1))
    sampler = ConditionalPermutation(
        [Fold(np.arange(5), pairs)], steps=40, seed=seed, inverse=inverse
    )
    code = 5 ** np.arange(5)
    drawn = sampler.block(range(DRAWS)) @ code
    counts = np.array([(drawn == order @ code).sum() for order in orders])
    expected = DRAWS * law / law.sum()
    group = np.where(expected < 5, len(orders), np.arange(len(orders)))  # rare orders together
    observed, expected = np.bincount(group, counts), np.bincount(group, expected)
    return chisquare(observed[expected > 0], expected[expected > 0]).pvalue


def test_cp_has_the_exact_law():
    assert brute_force_p(inverse=False) > 1e-4


def test_the_inverted_walk_does_not():
    assert brute_force_p(inverse=True) < 1e-4


@pytest.mark.parametrize("kind", ["continuous", "classes"])
def test_a_test_runs_with_cp(kind):
    rng = np.random.default_rng(1)
    y, a = gaussian_table(300)
    if kind == "classes":
        y = (y > 5).astype(int)
        a = (a > a.mean(axis=0)).astype(int)
    fair, unfair = y + rng.normal(size=300), y + 2.0 * a[:, 1] + rng.normal(size=300)
    options = {"statistic": "kpc", "choice": ChoiceOfLaw("cp"), "permutations": Permutations(n=99)}
    assert run_test(AuditTable.of(fair, a, y), **options).p_value > 0.05
    assert run_test(AuditTable.of(unfair, a, y), **options).p_value == 0.01


def test_cp_copies_are_permutations_by_seed_and_keep_people_together():
    y, a = gaussian_table(120)
    people = np.repeat(np.arange(60), 2)
    outcome, attributes = columns(y, a)
    first, again = (
        CP().prepare(outcome, attributes, steps=20, seed=3, units=people).sampler for _ in range(2)
    )
    block = first.block(range(5))
    assert (block == again.block(range(5))).all()
    assert (np.sort(block, axis=1) == np.arange(120)).all()
    assert (people[block[:, ::2]] == people[block[:, 1::2]]).all()


def test_a_separate_table_to_fit_on():
    y, a = gaussian_table(200)
    here, there = columns(y[:80], a[:80]), columns(y[80:], a[80:])
    fitted = CP().prepare(*here, steps=10, seed=0, training=there)
    assert fitted.density == "gaussian attributes (glasso), fitted on the given table"
    assert (fitted.sampler.block(range(1)) != np.arange(80)).any()


def test_randomization_of_classes_resamples_within_them():
    y, a = np.arange(90) % 3, np.arange(90) % 7
    copies = ConditionalRandomization().prepare(*columns(y, a), steps=1, seed=0)
    block = copies.sampler.block(range(4))
    assert not copies.sampler.within_outcome
    assert (y[block] == y).all()
    assert len(np.unique(block[0])) < 90


def test_randomization_draws_new_attributes():
    y, a = gaussian_table(1000)
    outcome, attributes = columns(y, a)
    fitted = ConditionalRandomization().fit(outcome, attributes, seed=0)
    drawn = fitted.draw(1)
    assert (drawn == fitted.draw(1)).all()
    assert (drawn != fitted.draw(2)).any()
    standard = (a - a.mean(axis=0)) / a.std(axis=0)  # as encoded
    assert np.cov(np.c_[y, drawn].T) == pytest.approx(np.cov(np.c_[y, standard].T), abs=0.3)
    with pytest.raises(InputError, match="draw"):
        ConditionalRandomization().prepare(outcome, attributes, steps=1, seed=0)


@pytest.mark.parametrize(
    ("density", "says"),
    [
        ("lasso", "must be one of auto"),
        ("frequencies", "given a continuous outcome must be one of auto"),
    ],
)
def test_bad_names(density, says):
    with pytest.raises(InputError, match=says):
        CP(density).prepare(*columns(*gaussian_table(50)), steps=1, seed=0)
