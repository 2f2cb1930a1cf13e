"""Intervals for differences of two means, and residuals given a continuous outcome."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.evidence.intervals.gaps import newcombe

__all__ = ["mean_difference", "people_of", "unexplained"]


def people_of(table: AuditTable) -> Index:
    """A number per person; every row is one where there are no ids."""
    return np.arange(len(table)) if table.ids is None else table.ids.codes


def unexplained(values: Array, table: AuditTable) -> Array:
    """What is left of the scores without the class means, or a cubic in the outcome."""
    outcome = table.require_outcome()
    if outcome.kind.is_categorical:
        means = np.bincount(outcome.codes, values) / np.bincount(outcome.codes)
        return np.asarray(values - means[outcome.codes])
    y = np.asarray(outcome.numeric)
    z = (y - y.mean()) / (np.abs(y - y.mean()).max() or 1.0)
    basis = np.polynomial.legendre.legvander(z, 3)
    return np.asarray(values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0])


def mean_difference(
    values: Array, inside: NDArray[np.bool_], people: Index, confidence: float
) -> tuple[float, float, float]:
    """Mean inside minus mean outside, and its interval.

    Newcombe's for rates of single rows; else Student's with the variances of both sides apart and
    the rows of one person taken together.
    """
    from scipy.special import ndtri, stdtrit

    sides = [values[inside], values[~inside]]
    difference = float(sides[0].mean() - sides[1].mean())
    single = len(np.unique(people)) == len(people)
    if single and np.isin(values, (0.0, 1.0)).all():
        z = float(ndtri(0.5 + confidence / 2))
        inner, outer = (
            (np.asarray(side.mean()), np.asarray(len(side), dtype=np.float64)) for side in sides
        )
        low, high = newcombe(inner, outer, z)
        return difference, float(low), float(high)
    influence = np.where(
        inside,
        (values - sides[0].mean()) / inside.sum(),
        -(values - sides[1].mean()) / (~inside).sum(),
    )
    by_person = np.bincount(np.unique(people, return_inverse=True)[1], influence)
    fewest = min(len(np.unique(people[inside])), len(np.unique(people[~inside])))
    error = float(np.sqrt((by_person**2).sum() * fewest / max(fewest - 1, 1)))
    reach = float(stdtrit(max(fewest - 1, 1), 0.5 + confidence / 2)) * error
    return difference, difference - reach, difference + reach
