"""Every group against all others of the same outcome, with intervals that hold together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.table import AuditTable
from fairaudit.evidence.intervals.gaps import newcombe, wider_limits
from fairaudit.evidence.portrait.contrast import Contrast
from fairaudit.evidence.portrait.groupings import Grouping
from fairaudit.evidence.portrait.quantities import Quantity
from fairaudit.metrics._gap_regression import outcome_basis
from fairaudit.metrics._labels import row_weights
from fairaudit.permute.copies import stream

__all__ = ["FEWEST", "Compared", "compare_people"]

FEWEST = 30  # people of a group with the outcome, and of those it is compared with
DRAWS = 20_000
MOST_PEOPLE = 20_000  # whose influences give the correlations of the contrasts
_OVERLAP = 0.05  # of a group's variance that the outcome must leave


@dataclass(frozen=True, slots=True)
class Compared:
    """All contrasts, and the critical value of their intervals."""

    contrasts: tuple[Contrast, ...]
    critical: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Estimate:
    """A contrast before it is known with how many others it must hold."""

    grouping: Grouping
    group: int
    quantity: Quantity
    own: float
    other: float
    error: float
    error_of_equals: float
    people: tuple[int, int]
    influence: Array

    @property
    def value(self) -> float:
        return self.own - self.other


def compare_people(
    table: AuditTable,
    groupings: Sequence[Grouping],
    quantities: Sequence[Quantity],
    *,
    confidence: float,
    naming: float,
    seed: int,
) -> Compared:
    r"""Contrasts of all groups and quantities.

    Notes
    -----
    A contrast is a difference of weighted means, of people of one outcome class. Of all classes
    together, or of a continuous outcome, it is the coefficient of the group beside class means or a
    spline of the outcome, as in `fairaudit.metrics.prediction_gap`. With influences
    :math:`\psi_{ij}` of person i on contrast j and standard errors :math:`s_j`, the
    critical value is the quantile of :math:`\max_j |Z_j|` of the normal law with the correlations
    of the influences. The interval is Newcombe's for rates of single rows without weights, and
    else Student's with the fewer people of both sides. The same at the level `naming` decides who
    is named, with the larger of this standard error and that of two sides of one law.
    """
    from scipy.special import ndtr

    people = _people(table)
    estimates: list[_Estimate] = []
    for quantity in quantities:
        for grouping in groupings:
            if not quantity.singles_only or len(grouping.attributes) == 1:
                estimates += _estimate(table, grouping, quantity, people)
    if not estimates:
        return Compared((), float("nan"))
    largest = _largest_draws(estimates, seed)
    critical = float(np.quantile(largest, confidence))
    strict = max(float(np.quantile(largest, 1 - naming)), critical)
    tails = float(ndtr(-critical)), float(ndtr(-strict))
    plain = table.weights is None and len(np.unique(people)) == len(people)
    contrasts = [
        _contrast(estimate, (critical, strict), tails, plain=plain) for estimate in estimates
    ]
    return Compared(tuple(sorted(contrasts, key=lambda c: -abs(c.deviations))), critical)


def _people(table: AuditTable) -> Index:
    return np.arange(len(table)) if table.ids is None else table.ids.codes


def _estimate(
    table: AuditTable, grouping: Grouping, quantity: Quantity, people: Index
) -> list[_Estimate]:
    """One per group that is large enough; of two groups one, since the other is its mirror."""
    rows = quantity.rows[grouping.codes[quantity.rows] >= 0]
    if len(rows) < 2 * FEWEST:
        return []
    codes, who, count = grouping.codes[rows], people[rows], int(people.max()) + 1
    sides = _Sides(table, quantity, rows)
    two = len(np.unique(codes)) == 2
    estimates = []
    for group in range(len(grouping.levels)):
        inside = codes == group
        n = _count(who[inside], table), _count(who[~inside], table)
        fitted = sides.compare(inside) if min(n) >= FEWEST else None
        if fitted is None:
            continue
        own, other, influence = fitted
        whole = np.asarray(np.bincount(who, influence, minlength=count), dtype=np.float64)
        estimates.append(
            _Estimate(
                grouping=grouping,
                group=group,
                quantity=quantity,
                own=own,
                other=other,
                error=float(np.sqrt((whole**2).sum() * min(n) / (min(n) - 1))),
                error_of_equals=sides.error_of_equals(n),
                people=n,
                influence=whole[:: -(-count // MOST_PEOPLE)],
            )
        )
        if two:
            break
    return estimates


def _count(people: Index, table: AuditTable) -> int:
    return len(people) if table.ids is None else len(np.unique(people))


class _Sides:
    """Differences between some rows and the others, given their outcome."""

    def __init__(self, table: AuditTable, quantity: Quantity, rows: Index) -> None:
        self.values, self.weights = quantity.values[rows], row_weights(table)[rows]
        self.total = float(self.weights.sum())
        self.basis: _Projection | None = None
        if quantity.outcome is None:
            self.basis = _Projection(_basis(table.require_outcome(), rows), self.weights)
            self.mean = float(self.weights @ self.values) / self.total
            self.residual = self.basis.leave(self.values)

    def compare(self, inside: NDArray[np.bool_]) -> tuple[float, float, Array] | None:
        """Means of both sides, and what each row adds to the error of their difference."""
        values, weights, total = self.values, self.weights, self.total
        share = float(weights[inside].sum()) / total
        if not 0 < share < 1:
            return None
        if self.basis is None:
            own = float(weights[inside] @ values[inside]) / (share * total)
            other = float(weights[~inside] @ values[~inside]) / ((1 - share) * total)
            far = np.where(inside, (values - own) / share, -(values - other) / (1 - share))
            return own, other, weights * far / total
        member = self.basis.leave(inside.astype(np.float64))
        left = float(weights @ member**2)
        if left < _OVERLAP * share * (1 - share) * total:
            return None
        pull = weights * member / left
        gap = float(pull @ self.residual)
        error = (self.residual - gap * member) / (1 - np.minimum(pull * member, 0.5))
        other = self.mean - share * gap
        return other + gap, other, pull * error

    def error_of_equals(self, people: tuple[int, int]) -> float:
        """The standard error if both sides have one law: a few people may seem to vary less."""
        rest = self.values if self.basis is None else self.residual
        total, mean = self.weights.sum(), np.average(rest, weights=self.weights)
        variance = float(self.weights @ (rest - mean) ** 2 / total)
        return float(np.sqrt(variance * (1 / people[0] + 1 / people[1])))


def _basis(outcome: Column, rows: Index) -> Array:
    """Functions of the outcome: of its classes, or a spline."""
    if outcome.kind.is_categorical:
        return np.asarray(np.eye(len(outcome.levels))[outcome.codes[rows]])
    return outcome_basis(np.asarray(outcome.numeric)[rows])


class _Projection:
    """What functions of the outcome leave of a column."""

    def __init__(self, basis: Array, weights: Array) -> None:
        from scipy.linalg import pinvh

        self.basis, self.weighted = basis, basis * weights[:, None]
        self.inverse = pinvh(basis.T @ self.weighted)

    def leave(self, column: Array) -> Array:
        return np.asarray(column - self.basis @ (self.inverse @ (self.weighted.T @ column)))


def _largest_draws(estimates: Sequence[_Estimate], seed: int) -> Array:
    """The largest standardized contrast in draws of the normal law."""
    sampled = np.stack([estimate.influence for estimate in estimates])
    norms = np.sqrt((sampled**2).sum(axis=1))
    varies = norms > 0
    if not varies.any():
        return np.zeros(DRAWS)
    scaled = sampled[varies] / norms[varies, None]
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    positive = values > 1e-9 * values.max()
    root = (vectors[:, positive] * np.sqrt(values[positive])).T
    rng, largest = stream(seed, 21), np.empty(DRAWS)
    for start in range(0, DRAWS, 2000):
        noise = rng.standard_normal((2000, len(root))) @ root
        largest[start : start + 2000] = np.abs(noise).max(axis=1)
    return largest


def _contrast(
    estimate: _Estimate, critical: tuple[float, float], tails: tuple[float, float], *, plain: bool
) -> Contrast:
    grouping, quantity = estimate.grouping, estimate.quantity
    (low, high), strict = (
        _limits(estimate, c, tail, plain=plain, strict=place == 1)
        for place, (c, tail) in enumerate(zip(critical, tails, strict=True))
    )
    levels = grouping.levels
    others = levels[1 - estimate.group] if len(levels) == 2 and estimate.group < 2 else None
    return Contrast(
        attributes=grouping.attributes,
        levels=levels[estimate.group],
        others=others,
        outcome=quantity.outcome,
        quantity=quantity.kind,
        predicted=quantity.predicted,
        own=estimate.own,
        other=estimate.other,
        value=estimate.value,
        low=low,
        high=high,
        deviations=estimate.value / estimate.error if estimate.error else 0.0,
        people=estimate.people[0],
        beyond_doubt=strict[0] > 0 or strict[1] < 0,
    )


def _limits(
    estimate: _Estimate, critical: float, tail: float, *, plain: bool, strict: bool
) -> tuple[float, float]:
    from scipy.special import stdtrit

    if plain and estimate.quantity.kind == "rate" and estimate.quantity.outcome is not None:
        first, second = (
            (np.asarray(rate), np.asarray(float(size)))
            for rate, size in zip((estimate.own, estimate.other), estimate.people, strict=True)
        )
        low, high = newcombe(first, second, critical, limits=wider_limits)
        return float(low), float(high)
    error = max(estimate.error, estimate.error_of_equals) if strict else estimate.error
    reach = -float(stdtrit(min(estimate.people) - 1, tail)) * error
    return estimate.value - reach, estimate.value + reach
