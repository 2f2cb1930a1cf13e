"""Groups against all others of the same outcome, and each other; the intervals hold together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.evidence.intervals.gaps import newcombe, wider_limits
from fairaudit.evidence.portrait.contrast import Contrast
from fairaudit.evidence.portrait.group_means import (
    FEWEST,
    OVERLAP,
    GroupMeans,
    Projection,
    average_groups,
    span_outcome,
    stride_of,
    vary_pairs,
)
from fairaudit.evidence.portrait.groupings import Grouping
from fairaudit.evidence.portrait.quantities import Quantity
from fairaudit.geometry.symmetric_root import symmetric_root
from fairaudit.metrics._labels import row_weights
from fairaudit.permute.copies import stream

__all__ = ["Compared", "compare_people"]

DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Compared:
    """All contrasts, those of two groups apart, and the critical value of their intervals."""

    contrasts: tuple[Contrast, ...]
    pairs: tuple[Contrast, ...]
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
        return Compared((), (), float("nan"))
    means = _list_means(table, groupings, quantities, people)
    largest = _largest_draws(estimates, means, seed)
    critical = float(np.quantile(largest, confidence))
    strict = max(float(np.quantile(largest, 1 - naming)), critical)
    tails = float(ndtr(-critical)), float(ndtr(-strict))
    plain = table.weights is None and len(np.unique(people)) == len(people)
    levels = _Levels((critical, strict), tails, plain)
    contrasts = [_contrast(estimate, levels) for estimate in estimates]
    pairs = [pair for own in means for pair in _compare_pairs(own, levels)]
    return Compared(
        tuple(sorted(contrasts, key=lambda c: -abs(c.deviations))),
        tuple(sorted(pairs, key=lambda c: (-c.shown, -abs(c.deviations)))),
        critical,
    )


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
                influence=whole[:: stride_of(count)].copy(),  # a view keeps all people
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
        self.basis: Projection | None = None
        if quantity.outcome is None:
            self.basis = Projection(span_outcome(table.require_outcome(), rows), self.weights)
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
        if left < OVERLAP * share * (1 - share) * total:
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


def _list_means(
    table: AuditTable, groupings: Sequence[Grouping], quantities: Sequence[Quantity], people: Index
) -> list[GroupMeans]:
    """Of what people understand best, given one outcome: any two groups can be compared.

    Of categories only: with ranges of numbers there are many more pairs, and every pair widens the
    intervals of all. Of numbers the ends are compared.
    """
    kinds = [quantity.kind for quantity in quantities]
    kind = next(kind for kind in ("rate", "prediction", "score") if kind in kinds)
    numbers = {column.name for column in table.attributes if not column.kind.is_categorical}
    found = [
        average_groups(table, grouping, quantity, people)
        for quantity in quantities
        for grouping in groupings
        if quantity.kind == kind
        and (quantity.outcome is not None or kind == "prediction")
        and not set(grouping.attributes) & numbers
        and (not quantity.singles_only or len(grouping.attributes) == 1)
    ]
    return [means for means in found if means is not None]


def _largest_draws(estimates: Sequence[_Estimate], means: Sequence[GroupMeans], seed: int) -> Array:
    """The largest standardized contrast in draws of the normal law."""
    sampled = np.concatenate(
        [[estimate.influence for estimate in estimates], *(own.influence for own in means)]
    )
    norms = np.sqrt([float((influence**2).sum()) for influence in sampled])
    norms[norms == 0] = 1.0
    sampled /= norms[:, None]  # in place: with many rows this is what an audit takes most for
    shared = sampled @ sampled.T
    root, start, blocks = symmetric_root(shared), len(estimates), []
    for own in means:
        stop, pairs = start + len(own.groups), own.pairs()
        scale = norms[start:stop]
        spread = np.sqrt(vary_pairs(shared[start:stop, start:stop] * np.outer(scale, scale), pairs))
        weights = np.zeros((stop - start, len(spread)))
        some = np.flatnonzero(spread > 1e-9 * scale.max())
        for side, sign in zip(pairs, (1.0, -1.0), strict=True):
            weights[side[some], some] = sign * scale[side[some]] / spread[some]
        blocks.append((slice(start, stop), weights))
        start = stop
    rng, largest = stream(seed, 21), np.empty(DRAWS)
    for first in range(0, DRAWS, 2000):
        noise = rng.standard_normal((2000, len(root))) @ root
        most = np.abs(noise[:, : len(estimates)]).max(axis=1)
        for place, weights in blocks:
            most = np.maximum(most, np.abs(noise[:, place] @ weights).max(axis=1))
        largest[first : first + 2000] = most
    return largest


@dataclass(frozen=True, slots=True)
class _Levels:
    """Critical values of the intervals and of naming, their tails, and whether rows are people."""

    critical: tuple[float, float]
    tails: tuple[float, float]
    plain: bool

    def limits(
        self,
        quantity: Quantity,
        sides: tuple[Array, Array],
        people: tuple[Array, Array],
        errors: tuple[Array, Array],
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Intervals of differences, and the wider ones by which people are named."""
        from scipy.special import stdtrit

        if self.plain and quantity.kind == "rate" and quantity.outcome is not None:
            first, second = zip(sides, (n.astype(np.float64) for n in people), strict=True)
            usual, strict = (
                newcombe(first, second, critical, limits=wider_limits) for critical in self.critical
            )
            return usual, strict
        value, fewer = sides[0] - sides[1], np.minimum(*people)
        usual_error, equal_error = errors
        reach = -stdtrit(fewer - 1, self.tails[0]) * usual_error
        wide = -stdtrit(fewer - 1, self.tails[1]) * np.maximum(usual_error, equal_error)
        return (value - reach, value + reach), (value - wide, value + wide)


def _contrast(estimate: _Estimate, levels: _Levels) -> Contrast:
    names = estimate.grouping.levels
    others = names[1 - estimate.group] if len(names) == 2 and estimate.group < 2 else None
    (contrast,) = _make_contrasts(
        estimate.grouping,
        estimate.quantity,
        [(names[estimate.group], others)],
        sides=(np.array([estimate.own]), np.array([estimate.other])),
        people=(np.array(estimate.people[:1]), np.array(estimate.people[1:])),
        errors=(np.array([estimate.error]), np.array([estimate.error_of_equals])),
        levels=levels,
    )
    return contrast


def _compare_pairs(means: GroupMeans, levels: _Levels) -> list[Contrast]:
    first, second = pairs = means.pairs()
    names = [means.grouping.levels[group] for group in means.groups]
    return _make_contrasts(
        means.grouping,
        means.quantity,
        [(names[a], names[b]) for a, b in zip(first, second, strict=True)],
        sides=(means.means[first], means.means[second]),
        people=(means.people[first].astype(np.float64), means.people[second].astype(np.float64)),
        errors=means.errors(pairs),
        levels=levels,
    )


def _make_contrasts(
    grouping: Grouping,
    quantity: Quantity,
    names: Sequence[tuple[tuple[str, ...], tuple[str, ...] | None]],
    *,
    sides: tuple[Array, Array],
    people: tuple[Array, Array],
    errors: tuple[Array, Array],
    levels: _Levels,
) -> list[Contrast]:
    (low, high), strict = levels.limits(quantity, sides, people, errors)
    own, other = sides
    deviations = np.divide(own - other, errors[0], out=np.zeros(len(own)), where=errors[0] > 0)
    return [
        Contrast(
            attributes=grouping.attributes,
            levels=group,
            others=others,
            outcome=quantity.outcome,
            quantity=quantity.kind,
            predicted=quantity.predicted,
            own=float(own[k]),
            other=float(other[k]),
            value=float(own[k] - other[k]),
            low=float(low[k]),
            high=float(high[k]),
            deviations=float(deviations[k]),
            people=int(people[0][k]),
            beyond_doubt=bool(strict[0][k] > 0 or strict[1][k] < 0),
        )
        for k, (group, others) in enumerate(names)
    ]
