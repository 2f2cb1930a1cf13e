"""The demo: its table, its model, and the violation that only the attributes together show."""

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.datasets import DEMO_FEATURES, demo_model, load_demo

SENSITIVE = ["race", "sex", "age"]


@pytest.fixture(scope="module")
def audited():
    frame = load_demo()
    model = demo_model(frame[:2000])
    test = frame[2000:]
    return model, test, model.predict_proba(test[list(DEMO_FEATURES)])[:, 1]


def test_columns_and_kinds():
    frame = load_demo(3000)
    assert list(frame.columns) == [*DEMO_FEATURES, *SENSITIVE, "repaid"]
    shares = frame["race"].value_counts(normalize=True)
    assert len(shares) == 4 and shares.max() > 5 * shares.min()
    assert set(frame["sex"]) == {"female", "male"}
    assert frame["age"].dtype.kind == "i" and frame["age"].between(21, 70).all()
    assert set(frame["repaid"]) == {0, 1}
    assert frame.notna().all().all() and (frame["years_employed"] <= frame["age"] - 18).all()


def test_seed_decides():
    pd.testing.assert_frame_equal(load_demo(50, seed=3), load_demo(50, seed=3))
    assert not load_demo(50, seed=3).equals(load_demo(50, seed=4))


@pytest.mark.parametrize("n", [1, 0, -5])
def test_too_few_rows(n):
    with pytest.raises(fa.InputError, match=f"'n' parameter must be at least 2. Got {n}"):
        load_demo(n)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'adult'"):
        fa.datasets.adult  # noqa: B018


def test_model_has_no_sensitive_feature_and_learns(audited):
    from sklearn.metrics import roc_auc_score

    model, test, score = audited
    assert list(model.feature_names_in_) == list(DEMO_FEATURES)
    assert roc_auc_score(test["repaid"], score) > 0.7


def test_kpc_shows_the_violation_jointly_and_not_singly(audited):
    _, test, score = audited

    def kpc(names):
        return float(fa.metrics.kpc(score, sensitive=test[names], y_true=test["repaid"]))

    assert kpc(SENSITIVE) > 0.05
    assert all(abs(kpc([name])) < 0.02 for name in SENSITIVE)


def test_violation_in_the_population(audited):
    model, _, _ = audited
    people = load_demo(200_000, seed=99)
    score = model.predict_proba(people[list(DEMO_FEATURES)])[:, 1]
    older = np.where(people["age"] >= 46, "yes", "no")

    def gap(groups):
        return float(
            fa.metrics.equalized_odds_difference(
                score, sensitive=groups, y_true=people["repaid"], threshold=0.5
            )
        )

    assert gap({"sex": people["sex"], "older": older}) > 0.3
    assert gap({"race": people["race"], "sex": people["sex"]}) < 0.05
    assert gap({"older": older}) < 0.05
