"""The assertion in somebody's test suite, run by pytest itself."""

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import numpy as np
import pytest
import fairaudit as fa
from fairaudit.integrations.pytest_plugin import assert_equalized_odds

rng = np.random.default_rng(0)
y, sex = rng.integers(0, 2, (2, 400))
u = y + rng.normal(size=400)
few = fa.Permutations(n=99)

def test_passes(assert_equalized_odds):
    result = assert_equalized_odds(predictions=u, y=y, sensitive={"sex": sex}, permutations=few)
    assert result.p_value > 0.05

def test_fails():
    assert_equalized_odds(predictions=u + sex, y=y, sensitive={"sex": sex}, permutations=few)

def test_cannot_say():
    assert_equalized_odds(predictions=u, y=y, sensitive={"sex": sex},
                          permutations=fa.Permutations(n=9))

def test_is_skipped():
    assert_equalized_odds(predictions=u, y=y, sensitive={"sex": sex}, inconclusive="skip",
                          permutations=fa.Permutations(n=9))
"""


def test_plugin(pytester):
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(passed=1, failed=2, skipped=1)
    shown = result.stdout.str()
    assert "violation of equalized odds" in shown.lower() and "p = 0.01" in shown
    failure = shown.split("_ test_fails _")[1].split("_ test_cannot_say _")[0]
    assert len(failure.splitlines()) <= 20  # the whole report has pages
    assert "Traceback" not in shown and "pytest_plugin.py" not in shown
    assert "= equalized odds =" in shown


def test_bad_option():
    from fairaudit import InputError
    from fairaudit.integrations.pytest_plugin import assert_equalized_odds

    with pytest.raises(InputError, match="'fail' or 'skip'"):
        assert_equalized_odds(predictions=[], y=[], sensitive={}, inconclusive="ignore")
