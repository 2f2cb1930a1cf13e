"""Packages that are imported at their first use, each in a new interpreter."""

import subprocess
import sys

import pytest

START = """
import sys
from fairaudit.models.sandbox.postponed import postpone
postpone("scipy.stats", ("chi2", "gmean", "rankdata", "spearmanr"))
"""


def said(code):
    done = subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_estimators_do_without_the_statistics_of_scipy():
    code = """
import sklearn.ensemble, sklearn.neighbors, sklearn.pipeline, sklearn.linear_model, sklearn.svm
print(hasattr(sys.modules["scipy.stats"], "__file__"))
print(sum(name.startswith("scipy.stats") for name in sys.modules))
"""
    assert said(code) == ["False", "1"]


@pytest.mark.parametrize(
    "code",
    [
        "import scipy.stats\nprint(scipy.stats.norm.cdf(0))",
        "from scipy import stats\nprint(stats.norm.cdf(0))",
        "from scipy.stats import norm\nprint(norm.cdf(0))",
        "from scipy.stats import chi2\nprint(chi2(2).sf(0) / 2)",
        "from scipy.stats import chi2\nprint(chi2.sf(0, 2) / 2)",
        "from scipy.stats import gmean\nprint(gmean([0.25, 1]))",
        "from scipy.stats.distributions import norm\nprint(norm.cdf(0))",
        "import scipy.stats.mstats as m\nprint(m.gmean([0.25, 1]))",
        "import scipy\nprint(scipy.stats.distributions.norm.cdf(0))",
    ],
)
def test_whoever_needs_it_gets_it(code):
    more = "\nprint(type(sys.modules['scipy.stats']).__name__)"
    assert said(code + more) == ["0.5", "module"]
