"""The estimators with attributes that they find by themselves, for scikit-learn's checks."""

import numpy as np
from sklearn.utils.validation import _num_samples

import fairaudit as fa


def attributes(X):
    """Two groups in turn."""
    n = _num_samples(X)
    return {"a": np.array(["x", "z"])[np.arange(n) % 2]}


def flat(y, a):
    """A density of the outcome that does not depend on the attributes: nothing is fitted."""
    return np.zeros(np.broadcast_shapes(np.shape(y)[:1], np.shape(a)[:1]))


class FairICPClassifier(fa.FairICPClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, attributes(X), sample_weight)


class FairICPRegressor(fa.FairICPRegressor):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, attributes(X), sample_weight)


class HGRClassifier(fa.HGRClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, attributes(X), sample_weight)


class HGRRegressor(fa.HGRRegressor):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, attributes(X), sample_weight)


class GerryFairClassifier(fa.GerryFairClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, attributes(X), sample_weight)


class ReductionClassifier(fa.ReductionClassifier):
    def fit(self, X, y):
        return super().fit(X, y, attributes(X))
