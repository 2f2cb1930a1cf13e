"""GCM and PCM: tests of X ⟂ Z | Y by products of residuals, written after their papers.

Shah and Peters (2020), The hardness of conditional independence testing and the generalised
covariance measure, Annals of Statistics 48(3). Lundborg, Kim, Shah and Samworth (2024), The
projected covariance measure for assumption-lean variable significance testing, Annals of Statistics
52(6). X is the prediction, Z the attributes, Y the outcome. Regressions on Y are cubic splines with
a ridge by leave-one-out (an outcome of classes: its classes), those on (Y, Z) random forests.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

PENALTIES = np.logspace(-4, 3, 15)


def smoother(y: np.ndarray):
    """A regression on the outcome."""
    if y.shape[1] > 1 or len(np.unique(y)) < 10:
        return RidgeCV(alphas=PENALTIES, alpha_per_target=True)
    splines = SplineTransformer(n_knots=12, knots="quantile", extrapolation="linear")
    return make_pipeline(splines, StandardScaler(), RidgeCV(PENALTIES, alpha_per_target=True))


def residuals(y: np.ndarray, values: np.ndarray, seed: int) -> np.ndarray:
    """Cross-fitted: five folds."""
    folds = KFold(5, shuffle=True, random_state=seed)
    return values - cross_val_predict(smoother(y), y, values, cv=folds).reshape(values.shape)


def gcm(x: np.ndarray, z: np.ndarray, y: np.ndarray, seed: int, draws: int = 2000) -> float:
    """p-value of the largest standardized mean product over all pairs of columns."""
    e, f = residuals(y, x, seed), residuals(y, z, seed)
    products = (e[:, :, None] * f[:, None, :]).reshape(len(y), -1)
    products = products[:, products.std(axis=0) > 0]
    largest = np.abs(np.sqrt(len(y)) * products.mean(axis=0) / products.std(axis=0)).max()
    centered = (products - products.mean(axis=0)) / products.std(axis=0)
    multipliers = np.random.default_rng(seed).normal(size=(draws, len(y)))
    null = np.abs(multipliers @ centered / np.sqrt(len(y))).max(axis=1)
    return float((1 + (null >= largest).sum()) / (1 + draws))


def fit_forest(inputs: np.ndarray, values: np.ndarray, seed: int) -> RandomForestRegressor:
    made = RandomForestRegressor(
        60, min_samples_leaf=5, max_features=1 / 3, oob_score=True, random_state=seed, n_jobs=1
    )
    return made.fit(inputs, values)


def projected(x: np.ndarray, z: np.ndarray, y: np.ndarray, seed: int) -> float:
    """z-value of one split: a direction h(y, z) from one half, its covariance on the other."""
    order = np.random.default_rng(seed).permutation(len(y))
    first, second = order[: len(y) // 2], order[len(y) // 2 :]
    both = np.column_stack([y, z])
    whole = fit_forest(both[first], x[first], seed)
    fitted = whole.oob_prediction_  # of the rows that it saw
    direction = whole.predict(both[second]) - smoother(y).fit(y[first], fitted).predict(y[second])
    left = (x[first] - fitted) ** 2
    spread = fit_forest(both[first], left, seed).predict(both[second])
    h = direction / np.maximum(spread, np.quantile(left, 0.05))
    e = x[second] - smoother(y).fit(y[second], x[second]).predict(y[second])
    g = h - smoother(y).fit(y[second], h).predict(y[second])
    product = e * g
    return float(np.sqrt(len(second)) * product.mean() / (product.std() + 1e-300))


def pcm(x: np.ndarray, z: np.ndarray, y: np.ndarray, seed: int, splits: int = 3) -> float:
    """One-sided p-value of the mean z-value over splits; Bonferroni over columns of x."""
    found = []
    for column in x.T:
        values = [projected(column, z, y, seed * splits + split) for split in range(splits)]
        found.append(norm.sf(np.mean(values)))
    return float(min(1.0, len(found) * min(found)))
