"""The mean score over a number like age, given the outcome, with a simultaneous band."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, Kind, level_text
from fairaudit.data.table import AuditTable
from fairaudit.evidence.localization.claims import Curve
from fairaudit.evidence.localization.differences import people_of
from fairaudit.evidence.localization.scores import Part, parts_of, score_of
from fairaudit.geometry.symmetric_root import symmetric_root
from fairaudit.permute.copies import stream
from fairaudit.testing.p_value import PValue

__all__ = ["FittedCurves", "beyond_zero", "curves_of"]

FEWEST = 200  # rows
FEWEST_VALUES = 8
MOST_GROUPS = 4
GRID = 41  # places
DRAWS = 20_000
_EDGE = 0.05  # share of the rows beyond either end of the curve


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedCurves:
    """The curves of one number in one part, of all its rows or of every group; p of all flat."""

    attribute: str
    by: str | None
    curves: tuple[Curve, ...]
    part: Part
    rows: int
    people: int
    p_value: float


def beyond_zero(curve: Curve) -> list[tuple[int, int, int]]:
    """Stretches where the band leaves zero out: first and last point, and the furthest."""
    low, high = np.array(curve.low), np.array(curve.high)
    sign = np.where(low > 0, 1, np.where(high < 0, -1, 0))
    edges = [0, *(np.flatnonzero(np.diff(sign)) + 1), len(sign)]
    return [
        (a, b - 1, a + int(np.abs(curve.value[a:b]).argmax()))
        for a, b in pairwise(edges)
        if sign[a]
    ]


def curves_of(
    table: AuditTable, *, confidence: float, seed: int, by_groups: bool = True
) -> list[FittedCurves]:
    r"""Curves per number among the attributes and outcome class; bands that hold together.

    They are drawn for all rows and, if asked, for the groups of every attribute of up to 4
    categories.

    Notes
    -----
    A cubic regression spline with 1 to 5 inner knots at quantiles, less the mean of the class
    over the rows of this table.
    The band is :math:`\hat d(x) \pm c\, s(x)`, with the sandwich estimate s (HC3; sums over people
    with several rows) and c the quantile of :math:`\max_x |Z(x)| / s(x)` of the normal law with
    the estimated covariance, over all groups of an attribute; at x it becomes the quantile of
    Student's law with the degrees of freedom of s(x), which are few at the ends. Other curves
    share the error by Bonferroni. The band covers the best spline of this kind, not what is finer.
    """
    numbers = [column for column in table.attributes if not column.kind.is_categorical]
    groups = [
        column
        for column in table.attributes
        if by_groups and column.kind.is_categorical and len(column.levels) <= MOST_GROUPS
    ]
    drawable = [
        (column, part, by)
        for column in numbers
        for part in parts_of(table, FEWEST)
        for by in (None, *groups)
        if _drawable(column, part, by)
    ]
    level = 1 - (1 - confidence) / max(len(drawable), 1)
    return [
        _fit_curves(table, column, part, by, confidence=level, seed=seed)
        for column, part, by in drawable
    ]


def _drawable(column: Column, part: Part, by: Column | None) -> bool:
    if len(part.rows) < FEWEST or len(np.unique(column.codes[part.rows])) < FEWEST_VALUES:
        return False
    return by is None or len(_large_groups(column, part, by)) > 1


def _large_groups(column: Column, part: Part, by: Column) -> Index:
    """Levels with rows and values enough for a curve of their own."""
    codes = by.codes[part.rows]
    enough = [
        code
        for code in range(len(by.levels))
        if (codes == code).sum() >= FEWEST
        and len(np.unique(column.codes[part.rows][codes == code])) >= FEWEST_VALUES
    ]
    return np.array(enough, dtype=np.intp)


def _fit_curves(
    table: AuditTable,
    column: Column,
    part: Part,
    by: Column | None,
    *,
    confidence: float,
    seed: int,
) -> FittedCurves:
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    design = _Design.of(table, column, part, by)
    people = np.unique(people_of(table)[part.rows], return_inverse=True)[1]
    fit = _Sandwich(design.columns, score_of(table).values[part.rows], people)
    contrast = np.vstack(design.contrasts)
    value = contrast @ fit.coefficients
    joint = contrast @ fit.covariance @ contrast.T
    error = np.sqrt(np.maximum(np.diag(joint), 1e-300))
    freedom = fit.freedom(contrast)
    largest = _largest_draws(joint, error, seed)
    tail = ndtr(-float(np.quantile(largest, confidence)))
    reach = -stdtrit(freedom, tail) * error
    furthest = (-ndtri(stdtr(freedom, -np.abs(value) / error))).max()
    curves, start = [], 0
    for label, grid in zip(design.labels, design.grids, strict=True):
        own = slice(start, start + len(grid))
        start += len(grid)
        curves.append(
            Curve(
                attribute=column.name,
                group=label,
                outcome=part.label,
                x=tuple(map(float, grid)),
                value=tuple(map(float, value[own])),
                low=tuple(map(float, (value - reach)[own])),
                high=tuple(map(float, (value + reach)[own])),
            )
        )
    return FittedCurves(
        attribute=column.name,
        by=None if by is None else by.name,
        curves=tuple(curves),
        part=part,
        rows=len(part.rows),
        people=int(people.max()) + 1,
        p_value=PValue.of(furthest, largest).value,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Design:
    """Columns of the regression; by curve its label, its places, and what it reads off the fit."""

    columns: Array
    labels: list[str | None]
    grids: list[Array]
    contrasts: list[Array]

    @classmethod
    def of(cls, table: AuditTable, column: Column, part: Part, by: Column | None) -> _Design:
        rows, group = part.rows, np.zeros(len(part.rows), dtype=np.intp)
        labels: list[str | None] = [None]
        if by is not None:
            large = _large_groups(column, part, by)
            place = np.full(len(by.levels), -1)  # small groups belong to the mean only
            place[large] = np.arange(len(large))
            group = place[by.codes[rows]]
            labels = [f"{by.name} = {level_text(by.levels[code])}" for code in large]
        x = np.asarray(column.numeric)[rows]
        knots = [_knots(x[group == k]) for k in range(len(labels))]
        blocks = [_basis(x, own) * (group == k)[:, None] for k, own in enumerate(knots)]
        if (group < 0).any():
            blocks.append((group < 0)[:, None].astype(np.float64))
        columns = np.hstack(blocks)
        mean = columns.mean(axis=0)
        if part.label is None:  # what the outcome explains is taken out together with the curve
            y = np.asarray(table.require_outcome().numeric)[rows]
            z = (y - y.mean()) / (np.abs(y - y.mean()).max() or 1.0)
            columns = np.hstack([columns, np.polynomial.legendre.legvander(z, 3)[:, 1:]])
        grids = [_grid(x[group == k], column.kind) for k in range(len(labels))]
        contrasts, start = [], 0
        for grid, own in zip(grids, knots, strict=True):
            contrast = np.zeros((len(grid), columns.shape[1]))
            contrast[:, : len(mean)] = -mean
            basis = _basis(grid, own)
            contrast[:, start : start + basis.shape[1]] += basis
            start += basis.shape[1]
            contrasts.append(contrast)
        return cls(columns, labels, grids, contrasts)


def _grid(x: Array, kind: Kind) -> Array:
    """Places of the curve; whole ones for whole numbers."""
    low, high = np.quantile(x, [_EDGE, 1 - _EDGE])
    grid = np.linspace(float(low), float(high), GRID)
    return np.unique(np.rint(grid)) if kind is Kind.INTEGER else grid


def _knots(x: Array) -> Array:
    inner = int(np.clip(len(x) ** (1 / 3) / 2.5, 1, 5))
    places = np.unique(np.quantile(x, np.arange(1, inner + 1) / (inner + 1)))
    low, high = float(x.min()), float(x.max())
    places = places[(places > low) & (places < high)]
    return np.r_[[low] * 4, places, [high] * 4]


def _basis(x: Array, knots: Array) -> Array:
    from scipy.interpolate import BSpline

    return np.asarray(BSpline.design_matrix(np.clip(x, knots[0], knots[-1]), knots, 3).toarray())


class _Sandwich:
    """Least squares, and a covariance that trusts no equal variances and no independent rows."""

    def __init__(self, design: Array, u: Array, people: Index) -> None:
        self.people = people
        inverse = np.linalg.pinv(design.T @ design)
        self.coefficients = inverse @ design.T @ u
        residual = u - design @ self.coefficients
        leverage = ((design @ inverse) * design).sum(axis=1)
        raised = design / np.maximum(1 - leverage, 0.05)[:, None]
        self.influence = raised @ inverse
        sums = _sums(self.influence * residual[:, None], people)
        self.covariance = sums.T @ sums

    def freedom(self, contrast: Array) -> Array:
        """How many equal people the variance of each contrast is worth (as Bell and McCaffrey)."""
        weight = _sums((self.influence @ contrast.T) ** 2, self.people)
        return np.asarray(np.maximum(weight.sum(axis=0) ** 2 / (weight**2).sum(axis=0), 1.0))


def _sums(x: Array, people: Index) -> Array:
    return np.column_stack([np.bincount(people, column) for column in x.T])


def _largest_draws(joint: Array, error: Array, seed: int) -> Array:
    """The largest studentized deviation in draws of the normal law."""
    root = symmetric_root(joint / np.outer(error, error))
    draws = stream(seed, 11).standard_normal((DRAWS, len(root))) @ root
    return np.asarray(np.abs(draws).max(axis=1))
