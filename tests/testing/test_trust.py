"""What is known about copies is a field; words are for people."""

from __future__ import annotations

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.permute.cp import CP
from fairaudit.permute.icp import ICP
from fairaudit.permute.randomize import ConditionalRandomization
from fairaudit.testing.trust import Trust


def columns(continuous: bool):
    from fairaudit.data.columns import columns_from

    rng = np.random.default_rng(0)
    y = rng.normal(size=60) if continuous else rng.integers(0, 2, 60)
    (outcome,) = columns_from(y, argument="y_true", outcome=True)
    return outcome, columns_from(y[:, None] + rng.normal(size=(60, 1)), argument="sensitive")


@pytest.mark.parametrize(
    ("copies", "continuous", "law"),
    [
        (ICP(), False, ("exact", "", "")),
        (ICP("ols"), True, ("fitted", "gaussian (ols)", "cross-fitted")),
        (ICP("ols", folds=1), True, ("fitted", "gaussian (ols)", "in sample")),
        (ICP(lambda y, a: -((y - a[:, 0]) ** 2)), True, ("known", "", "")),
        (CP(), True, ("fitted", "gaussian attributes (glasso)", "cross-fitted")),
        (ConditionalRandomization(), False, ("resampled", "", "")),
    ],
)
def test_the_law_of_the_copies_is_known(copies, continuous, law):
    found = copies.prepare(*columns(continuous), steps=5, seed=0).law
    assert (found.kind, found.family, found.fit) == law
    assert found.estimated is (law[0] == "fitted")


@pytest.mark.parametrize(
    ("words", "law"),
    [
        ("exact (within classes)", ("exact", "", "")),
        ("oracle", ("known", "", "")),
        ("gaussian (ols), cross-fitted in 5 folds", ("fitted", "gaussian (ols)", "cross-fitted")),
        ("mixture (2), fitted in sample", ("fitted", "mixture (2)", "in sample")),
        ("maf, fitted on the given table", ("fitted", "maf", "given table")),
        (
            "boosting, fitted on 1,200 rows that are not tested",
            ("fitted", "boosting", "held-out sample"),
        ),
    ],
)
def test_records_of_the_first_version_have_it_in_words_only(words, law):
    trust = Trust(
        trustworthy=True,
        because="",
        copies_by=words,
        copy_check=None,
        calibration=None,
        moved=0.5,
        distinct=199,
    )
    assert (trust.law, trust.family, trust.fit) == law


def test_a_saved_audit_without_the_new_fields_is_read_with_them():
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 200))
    result = fa.audit(
        predictions=y + rng.normal(size=200),
        outcome=y,
        sensitive={"sex": sex},
        permutations=fa.Permutations(n=19),
        power=False,
    )
    record = result.to_dict()
    for name in ("law", "family", "fit"):
        del record["quality"][name]
    assert fa.AuditResult.from_dict(record).quality == result.quality


def test_a_test_and_an_audit_trust_alike():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    age, score = rng.normal(size=(2, 200)) + y
    drawn = fa.Permutations(n=19)
    given = {"sensitive": {"age": age}, "density": "ols", "permutations": drawn}
    alone = fa.equalized_odds_test(score, y_true=y, **given)
    whole = fa.audit(predictions=score, outcome=y, power=False, **given)
    assert alone.diagnostics == whole.quality
    assert whole.quality.fit == "cross-fitted"
