"""Rates of groups, and the numbers that compare them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array

__all__ = ["RATES", "RateTable", "deo_of", "rates_of", "ratio", "smallest_to_largest", "spread"]

RATES = ("FPR", "TPR")  # in the order of the outcomes: negative, positive


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RateTable:
    """Shares of positive predictions by outcome (as `RATES`) and group.

    Attributes
    ----------
    levels : tuple of tuple of str
    rate : array, NaN without rows
    size : array
        Rows that the rate is worth: fewer than there are with weights or with several rows of
        one person.
    weight : array
        Sums of weights, the shares of the groups.
    groups_apart, outcomes_apart : bool
        Nobody is in two groups of one outcome; in two outcomes. Else their errors may be related.
    """

    levels: tuple[tuple[str, ...], ...]
    rate: Array
    size: Array
    weight: Array
    groups_apart: bool = True
    outcomes_apart: bool = True


def ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Array:
    """Elementwise ratio; NaN, without a warning, where the denominator is zero."""
    result = np.full(denominator.shape, np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


def rates_of(weight: Array) -> Array:
    """Share of the positive label, which is the last, on the last axis."""
    return ratio(weight[..., -1], weight.sum(axis=-1))


def deo_of(weight: Array) -> Array:
    """DEO from … × outcomes × groups × labels."""
    gaps = np.abs(rates_of(weight) - rates_of(weight.sum(axis=-2))[..., None])
    return np.asarray(np.nansum(np.swapaxes(gaps, -1, -2).reshape(*gaps.shape[:-2], -1), axis=-1))


def spread(rates: Array) -> Array:
    """Largest minus smallest defined value of the last axis; NaN with fewer than two."""
    defined = ~np.isnan(rates)
    high = np.where(defined, rates, -np.inf).max(axis=-1, initial=-np.inf)
    low = np.where(defined, rates, np.inf).min(axis=-1, initial=np.inf)
    return np.where(defined.sum(axis=-1) > 1, high - low, np.nan)


def smallest_to_largest(rates: Array) -> float:
    """Their ratio; NaN when fewer than two are defined, or all are 0."""
    defined = rates[~np.isnan(rates)]
    if len(defined) < 2 or defined.max() == 0:
        return math.nan
    return float(defined.min() / defined.max())
