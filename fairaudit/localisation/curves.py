"""The mean score over a number like age, given the outcome, with a simultaneous band."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairaudit.columns import Column
from fairaudit.kernels import Array, Index
from fairaudit.localisation.differences import people_of
from fairaudit.localisation.result import Curve
from fairaudit.localisation.scores import Part, parts_of, score_of
from fairaudit.permute.base import stream
from fairaudit.table import AuditTable

__all__ = ["FittedCurve", "curves_of"]

FEWEST = 100  # rows
GRID = 41
DRAWS = 20_000
_EDGE = 0.02  # share of the rows beyond either end of the curve


@dataclass(frozen=True, slots=True)
class FittedCurve:
    """A curve, the part of the rows that it belongs to, and p of its being flat."""

    curve: Curve
    part: Part
    people: int
    p_value: float

    def beyond(self) -> list[tuple[int, int, int]]:
        """Stretches where the band leaves zero out: first and last point, and the furthest."""
        low, high = np.array(self.curve.low), np.array(self.curve.high)
        sign = np.where(low > 0, 1, np.where(high < 0, -1, 0))
        edges = [0, *(np.flatnonzero(np.diff(sign)) + 1), len(sign)]
        return [
            (a, b - 1, a + int(np.abs(self.curve.value[a:b]).argmax()))
            for a, b in pairwise(edges)
            if sign[a]
        ]


def curves_of(table: AuditTable, *, confidence: float, seed: int) -> list[FittedCurve]:
    r"""A curve per number among the attributes and outcome class; bands that hold together.

    Notes
    -----
    A cubic regression spline with 1 to 5 inner knots at quantiles, less its mean over the rows.
    The band is :math:`\hat d(x) \pm c\, s(x)`, with the sandwich estimate s (HC3; sums over people
    with several rows) and c the quantile of :math:`\max_x |Z(x)| / s(x)` of the normal law with
    the estimated covariance. Several curves share the error by Bonferroni. It covers the best
    spline of this kind, not what is finer.
    """
    numbers = [column for column in table.attributes if not column.kind.is_categorical]
    asked = [
        (column, part)
        for column in numbers
        for part in parts_of(table, FEWEST)
        if len(np.unique(np.asarray(column.numeric)[part.rows])) > 6 and len(part.rows) >= FEWEST
    ]
    level = 1 - (1 - confidence) / max(len(asked), 1)
    return [_fitted(table, column, part, level, seed) for column, part in asked]


def _fitted(
    table: AuditTable, column: Column, part: Part, confidence: float, seed: int
) -> FittedCurve:
    x = np.asarray(column.numeric)[part.rows]
    u = score_of(table).values[part.rows]
    people = np.unique(people_of(table)[part.rows], return_inverse=True)[1]
    knots = _knots(x)
    design = _basis(x, knots)
    width = design.shape[1]
    if part.label is None:  # what the outcome explains is taken out together with the curve
        y = np.asarray(table.require_outcome().numeric)
        z = (y - y.mean()) / (np.abs(y - y.mean()).max() or 1.0)
        design = np.hstack([design, np.polynomial.legendre.legvander(z, 3)[:, 1:]])
    coefficients, covariance = _sandwich(design, u, people)
    ends = np.quantile(x, [_EDGE, 1 - _EDGE])
    grid = np.linspace(*ends, GRID)
    contrast = np.zeros((GRID, design.shape[1]))
    contrast[:, :width] = _basis(grid, knots) - design[:, :width].mean(axis=0)
    value = contrast @ coefficients
    joint = contrast @ covariance @ contrast.T
    error = np.sqrt(np.maximum(np.diag(joint), 1e-300))
    largest = _largest_draws(joint, error, seed)
    reach = float(np.quantile(largest, confidence)) * error
    p = (1 + int((largest >= np.abs(value / error).max()).sum())) / (DRAWS + 1)
    shown = (tuple(map(float, one)) for one in (grid, value, value - reach, value + reach))
    curve = Curve(column.name, part.label, *shown)
    return FittedCurve(curve, part, int(people.max()) + 1, p)


def _knots(x: Array) -> Array:
    inner = int(np.clip(len(x) ** (1 / 3) / 3, 1, 5))
    places = np.unique(np.quantile(x, np.arange(1, inner + 1) / (inner + 1)))
    low, high = float(x.min()), float(x.max())
    places = places[(places > low) & (places < high)]
    return np.r_[[low] * 4, places, [high] * 4]


def _basis(x: Array, knots: Array) -> Array:
    from scipy.interpolate import BSpline

    return np.asarray(BSpline.design_matrix(np.clip(x, knots[0], knots[-1]), knots, 3).toarray())


def _sandwich(design: Array, u: Array, people: Index) -> tuple[Array, Array]:
    """Least squares, and a covariance that trusts no equal variances and no independent rows."""
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = inverse @ design.T @ u
    residual = u - design @ coefficients
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    scores = design * (residual / np.maximum(1 - leverage, 0.05))[:, None]
    sums = np.column_stack([np.bincount(people, column) for column in scores.T])
    return coefficients, inverse @ (sums.T @ sums) @ inverse


def _largest_draws(joint: Array, error: Array, seed: int) -> Array:
    """The largest studentized deviation in draws of the normal law."""
    scaled = joint / np.outer(error, error)
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    kept = values > 1e-10 * values.max()
    root = vectors[:, kept] * np.sqrt(values[kept])
    draws = stream(seed, 11).standard_normal((DRAWS, int(kept.sum()))) @ root.T
    return np.asarray(np.abs(draws).max(axis=1))
