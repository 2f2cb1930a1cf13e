"""The same numbers as scipy.stats, without its import."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairaudit.density.residuals import _log_student
from fairaudit.geometry.ranks_and_moments import (
    distance_from_uniform,
    kurtosis,
    rank_values,
    skewness,
)

RNG = np.random.default_rng(0)
SAMPLES = {
    "numbers": RNG.normal(size=500) ** 3,
    "ties": RNG.integers(0, 9, 500),
    "one": np.array([2.0]),
    "alike": np.zeros(7),
}


@pytest.mark.parametrize("ties", ["average", "max"])
@pytest.mark.parametrize("name", SAMPLES)
def test_ranks(name, ties):
    expected = stats.rankdata(SAMPLES[name], method=ties)
    np.testing.assert_array_equal(rank_values(SAMPLES[name], ties), expected)


def test_shapes():
    values, places = SAMPLES["numbers"], RNG.random(300)
    assert skewness(values) == pytest.approx(stats.skew(values), rel=1e-12)
    assert kurtosis(values) == pytest.approx(stats.kurtosis(values), rel=1e-12)
    distance = stats.kstest(places, "uniform").statistic
    assert distance_from_uniform(places) == pytest.approx(distance, rel=1e-12)
    np.testing.assert_allclose(_log_student(values), stats.t.logpdf(values, 3), rtol=1e-12)


def test_an_audit_does_not_import_it(tmp_path):
    """It takes longer than a small audit, and a sandboxed model's process imports it too."""
    y = RNG.integers(0, 2, 200)
    frame = pd.DataFrame({"y": y, "label": y ^ (RNG.random(200) < 0.2)})
    frame["g"] = RNG.choice(["a", "b"], 200)
    frame.to_csv(tmp_path / "data.csv", index=False)
    code = (
        "import sys; from fairaudit_cli.main import main; "
        "main('test --data data.csv --predictions label --sensitive g --outcome y'.split()); "
        "sys.exit(10 * ('scipy.stats' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
