"""`check_remedy` sees every kind of broken remedy."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairaudit as fa
from fairaudit.extend import Method, check_remedy, sensitive_columns


class Blind(LogisticRegression):
    """Sound, with `strength`: the penalty on the feature that tells the group."""

    def __init__(self, strength=0.0, max_iter=100, random_state=0):
        super().__init__(max_iter=max_iter, random_state=random_state)
        self.strength = strength

    def fit(self, X, y, sensitive_features=None):
        sensitive_columns(sensitive_features, len(X), self)
        return super().fit(self.shrunk(X), y)

    def shrunk(self, X):
        return np.asarray(X) * [1.0, 1.0 - self.strength, 1.0]

    def predict(self, X):
        return super().predict(self.shrunk(X))


SOUND = Method(name="blind", classifier=Blind, parameter="strength", grid=(0.0, 1.0))


class Changing(Blind):
    def fit(self, X, y, sensitive_features=None):
        X[:] = X - X.mean(axis=0)
        return super().fit(X, y, sensitive_features)


class Returning(Blind):
    def fit(self, X, y, sensitive_features=None):
        super().fit(X, y, sensitive_features)


class Short(Blind):
    def predict(self, X):
        return super().predict(X)[:5]


class Inventing(Blind):
    def predict(self, X):
        return super().predict(X) + 7


class Drawing(Blind):
    def fit(self, X, y, sensitive_features=None):
        self.shift = np.random.default_rng().normal(size=len(X))
        return super().fit(X, y, sensitive_features)

    def predict(self, X):
        return (self.shift[: len(X)] > 0).astype(float)


class Forgetting(Blind):
    def __getstate__(self):
        return {**super().__getstate__(), "coef_": -self.coef_}


class Louder(Blind):
    def shrunk(self, X):
        return np.asarray(X) * [1.0 - self.strength, 1.0, 1.0]


class OnePath(Blind):
    def fit_path(self, X, y, sensitive_features, values):
        return [self.fit(X, y, sensitive_features)]


class Lenient(Method):
    def check(self, value):
        pass


LENIENT = Lenient(**{field.name: getattr(SOUND, field.name) for field in fields(SOUND)})


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (Method, "Method is a class"),
        (replace(SOUND, grid=(0.0,)), "grid needs at least two values"),
        (replace(SOUND, grid=(0.0, -2.0)), "value of its own grid is refused"),
        (LENIENT, "must refuse a value below 0"),
        (replace(SOUND, classifier=None), "neither a classifier nor a regressor"),
        (replace(SOUND, classifier=Changing), "changes the data"),
        (replace(SOUND, classifier=Returning), "'fit' must return the estimator"),
        (replace(SOUND, classifier=Short), "one answer per row"),
        (replace(SOUND, classifier=Inventing), "classes that are not in the outcome"),
        (replace(SOUND, classifier=Drawing), "two fits with the same random_state"),
        (replace(SOUND, classifier=Forgetting), "differs after a pickle"),
        (replace(SOUND, classifier=OnePath), "one fitted model per value"),
        (replace(SOUND, classifier=Louder), "gap between groups grows"),
    ],
)
def test_a_broken_remedy_is_seen(method, told):
    with pytest.raises(AssertionError, match=told) as error:
        check_remedy(method)
    assert "\n" not in str(error.value)


def test_a_sound_remedy_passes_and_repairs():
    check_remedy(SOUND)
    frame = fa.datasets.load_demo(600)
    roles = {"sensitive": "sex", "outcome": "repaid"}
    numbers = frame[["income", "area_income", "career_gap_months", "sex", "repaid"]]
    result = fa.repair(numbers, **roles, method=SOUND, mu=1.0, permutations=19)
    assert result.method == "blind" and result.parameter == result.symbol == "strength"
