"""The paper's simulations follow the laws they state, and ICP beats CP on them."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from fairaudit import datasets
from fairaudit.density.oracle import Oracle
from fairaudit.errors import InputError

TABLES = {
    "quality": lambda n, seed: datasets.simulate_quality(n, 5, 20, seed=seed),
    "1": lambda n, seed: datasets.simulate_1(n, 5, w=0.6, seed=seed),
    "2": lambda n, seed: datasets.simulate_2(n, 5, seed=seed),
}
every = pytest.mark.parametrize("simulate", TABLES.values(), ids=TABLES)


@every
def test_the_outcome_has_the_stated_law_given_the_attributes(simulate):
    table = simulate(20_000, 0)
    z = (table.Y - table.A @ table.slope) / np.sqrt(table.variance)
    assert kstest(z, "norm").pvalue > 1e-4
    slope = np.linalg.lstsq(np.c_[table.A, np.ones(len(table))], table.Y, rcond=None)[0]
    assert slope[:-1] == pytest.approx(table.slope, abs=0.1)
    expected = norm(table.A @ table.slope, np.sqrt(table.variance)).logpdf(table.Y)
    assert table.log_density(table.Y, table.A) == pytest.approx(expected)


@every
def test_same_seed_same_table(simulate):
    first, again, other = simulate(50, 1), simulate(50, 1), simulate(50, 2)
    assert (first.A == again.A).all() and (first.Y == again.Y).all()
    assert (first.A != other.A).any()


def test_attributes_have_the_stated_covariance():
    """Var U = E[s²]·2 − E[s]² with s = 1 or 0.1; cov A = Var U · Θ, eigenvalues 1 to 25."""
    table = datasets.simulate_quality(200_000, 2, 3)
    values = np.linalg.eigvalsh(np.cov(table.A.T)) / (1.01 - 0.55**2)
    assert np.sqrt(values) == pytest.approx(np.linspace(1, 5, 5), rel=0.03)


def test_the_true_density_serves_as_an_oracle():
    table = datasets.simulate_1(30)
    pairs = Oracle(table.log_density).fit(table.Y, table.A, 0).pairs(table.Y, table.A)
    rows = np.arange(30)
    assert pairs.log_density(rows, rows) == pytest.approx(table.log_density(table.Y, table.A))


def test_settings_of_the_authors_program():
    """Independent standardized attributes, and the variance of Y given A that follows."""
    first = datasets.simulate_1(40_000, 3, w=0.6, settings="program")
    second = datasets.simulate_2(40_000, 3, w=0.6, settings="program")
    for table, variance in ((first, 3 * 0.4 + 3 + 6), (second, 0.4 + 1 + 2)):
        assert np.corrcoef(table.A.T) == pytest.approx(np.eye(table.A.shape[1]), abs=0.03)
        assert table.A.mean(axis=0) == pytest.approx(0, abs=0.03)
        assert table.A.std(axis=0) == pytest.approx(1, abs=0.03)
        assert table.variance == pytest.approx(variance)
        left = table.Y - table.A @ table.slope
        assert left.var() == pytest.approx(variance, rel=0.03)
    with pytest.raises(InputError, match="'text' or 'program'"):
        datasets.simulate_1(settings="code")


@pytest.mark.parametrize("bad", [{"n": 0}, {"k": 0}, {"w": 1.5}, {"sigma2": 0}])
def test_bad_input(bad):
    with pytest.raises(InputError, match=f"'{next(iter(bad))}' parameter"):
        datasets.simulate_1(**bad)


def test_icp_is_closer_to_the_oracle_than_cp():
    from fairaudit.experiments.quality import distance_rows

    rows = [distance_rows("linear", 5, 20, run) for run in range(4)]
    tv = np.array([[row["distance"] for row in pair] for pair in rows])
    assert ((tv > 0) & (tv < 1)).all()
    assert tv[:, 0].mean() < 0.7 * tv[:, 1].mean()
