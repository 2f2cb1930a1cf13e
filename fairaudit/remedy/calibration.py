"""One map for everybody from the network's logits to probabilities that can be believed.

Two classes have two slopes, one on either side of 0; more classes one slope. The map rises
strictly, keeps 0 where it is and does not know the attributes: for two classes the order of people
stays as it was trained, and labels always do.
"""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["calibrated_logits", "learn_slopes"]

_PRIOR = 1.0  # rows that speak for a slope of 1: slopes stay finite where classes are separated
_FARTHEST = 7.0  # logarithm of a slope


def calibrated_logits(raw: Array, slopes: Array | None) -> Array:
    """Logits, rows × outputs, with these slopes; None leaves them as they are."""
    if slopes is None:
        return raw
    if len(slopes) == 1:
        return raw * slopes[0]
    return np.where(raw < 0, slopes[0], slopes[1]) * raw


def learn_slopes(raw: Array, codes: Array, weights: Array | None) -> Array:
    """The slopes with the smallest cross-entropy on these rows.

    Parameters
    ----------
    raw : rows × outputs; one output for two classes
    codes : class of every row
    weights : of the rows in the loss
    """
    from scipy.optimize import minimize

    count = 2 if raw.shape[1] == 1 else 1
    weight = np.ones(len(raw)) if weights is None else weights
    right: Index = codes.astype(np.intp)

    def cost(logs: Array) -> float:
        missed = float(np.dot(weight, _surprise(calibrated_logits(raw, np.exp(logs)), right)))
        return float(missed + 0.5 * _PRIOR * np.square(logs).sum()) / len(raw)

    found = minimize(
        cost, np.zeros(count), method="L-BFGS-B", bounds=[(-_FARTHEST, _FARTHEST)] * count
    )
    return np.asarray(np.exp(found.x), dtype=np.float64)


def _surprise(logits: Array, right: Index) -> Array:
    """−log of the probability of the class that came."""
    if logits.shape[1] == 1:
        return np.asarray(np.logaddexp(0.0, np.where(right == 1, -1.0, 1.0) * logits[:, 0]))
    from scipy.special import logsumexp

    return np.asarray(logsumexp(logits, axis=1) - logits[np.arange(len(right)), right])
