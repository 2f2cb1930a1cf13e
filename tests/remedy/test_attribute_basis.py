"""Numbers within groups: what a last stage must see of subgroups that an audit looks for."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.remedy.attribute_basis import AttributeBasis


def _columns(**values):
    return columns_from(values, argument="sensitive")


def test_every_group_has_stretches_of_its_own_where_it_has_the_rows():
    rng = np.random.default_rng(0)
    sex = np.repeat(["f", "m", "x"], [600, 600, 60])
    columns = _columns(sex=sex, age=rng.uniform(18, 90, 1260))
    basis = AttributeBasis().fit(columns, np.zeros(1260, dtype=int))
    of_all, *of_groups = basis.steps["age"]
    assert len(of_all) > len(of_groups[0]) > 4 and len(of_groups[2]) == 0
    functions = basis(columns)
    rows = functions.sum(axis=0)[(functions**2 == functions).all(axis=0)]  # indicators
    assert rows.min() >= 60
    # people of one group alone are told apart by where they stand in it
    for group, edges in zip("fm", of_groups, strict=False):
        young = (sex == group) & (np.asarray(columns[1].numeric) <= edges[0])
        fitted = functions @ np.linalg.lstsq(functions, young.astype(float), rcond=None)[0]
        assert np.abs(fitted - young).max() < 1e-8
    later = basis(_columns(sex=["m", "new"], age=[17.0, 95.0]))
    assert later.shape == (2, functions.shape[1]) and np.isfinite(later).all()


def test_one_group_has_no_stretches_twice():
    columns = _columns(age=np.random.default_rng(1).uniform(18, 90, 800))
    basis = AttributeBasis().fit(columns, np.zeros(800, dtype=int))
    assert basis.groups == 1 and len(basis.steps["age"]) == 1


def test_a_group_at_the_end_of_a_number_is_repaired():
    """Young women alone are scored too low; the stage meets them on rows that it has not seen."""
    rng = np.random.default_rng(2)
    n = 12_000
    sex, age, y = rng.integers(0, 2, n), rng.uniform(18, 78, n), rng.integers(0, 2, n)
    young = (sex == 1) & (age < 24)
    score = expit(2 * y - 1 + rng.normal(size=n) - 3 * young)
    half = n // 2

    class Told:
        classes_ = np.array([0, 1])
        _estimator_type = "classifier"

        def predict_proba(self, X):
            return np.column_stack([1 - X["score"], X["score"]])

        def __sklearn_tags__(self):
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression().__sklearn_tags__()

    X = pd.DataFrame({"score": score})
    attributes = {"sex": sex.astype(str), "age": age}
    first = {name: column[:half] for name, column in attributes.items()}
    stage = fa.DerivedPredictor(Told(), levels=2).fit(X[:half], y[:half], first)
    rest = {name: column[half:] for name, column in attributes.items()}
    told = stage.predict_proba(X[half:], sensitive_features=rest)[:, 1]
    cell = young[half:]
    for outcome in (0, 1):
        of_class = y[half:] == outcome
        inside, outside = told[of_class & cell], told[of_class & ~cell]
        error = told.std() * np.sqrt(2 / len(inside))
        assert abs(inside.mean() - outside.mean()) < 3 * error
        was = score[half:]
        gap = was[of_class & cell].mean() - was[of_class & ~cell].mean()
        assert abs(gap) > 0.15  # the dependence that there was


@pytest.mark.parametrize("values", [np.arange(100.0), np.ones(500)])
def test_few_rows_or_one_value_have_no_stretches(values):
    columns = _columns(age=values, sex=np.arange(len(values)) % 2)
    basis = AttributeBasis().fit(columns, np.zeros(len(values), dtype=int))
    assert all(len(edges) == 0 for found in basis.steps.values() for edges in found)
