"""What no answer that is derived from a score can do, if it is to pass a coming audit.

A person in score bin b (and group g, where the attributes are known) gets the second label with
probability π. The audit sees the rates of groups within classes, and passes with the chance that
is asked for as long as the distances of these rates from the common ones, in standard errors of the
coming audit, lie in a ball: its squared radius is the noncentrality at which a χ² test still does.
The rates of these rows are off by their own error, which only makes groups differ more: for what is
said for sure the ball is widened by what this error keeps within in 95 of 100 samples. The smallest
loss among all π in that ball is found by the dual of that convex program: whatever its multipliers
are, what they give is a bound. A score that passes does so at each of its thresholds, so its ROC
curve lies below all that such π reach, and the area below their tangents is the largest AUC. Groups
are coarser than the attributes, a fitted π is off by its own error, and a standard error is taken
as large as it can be: what can be reached is less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy.stats import chi2, ncx2

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, columns_from
from fairaudit.evidence.disclosure import coarse
from fairaudit.remedy.attribute_basis import AttributeBasis

__all__ = ["SMALLEST", "Bound", "Limit", "find_coarse_groups", "find_limit"]

SMALLEST = 64  # by which the rows of the coming audit are divided at most
_BINS = 20
_RANGES = 3  # of a number among the attributes
_FEWEST = 40  # rows of each class in a group
_SOFTNESS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)  # of corners, in mean coefficients
_STEPS = 300
_SMALL = 1e-9  # directions in which rates vary less, as a share, are left out
_EVEN = 0.5
_WEIGHTS = (0.1, 0.2, 0.3, 0.4, _EVEN, 0.6, 0.7, 0.8, 0.9)
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class Bound:
    """The smallest share of misclassified people; the largest AUC, of a score and of labels."""

    loss: float
    ranking: float
    ranking_of_labels: float

    def or_better(self, other: Bound) -> Bound:
        return Bound(
            min(self.loss, other.loss),
            max(self.ranking, other.ranking),
            max(self.ranking_of_labels, other.ranking_of_labels),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The best that could pass, by the rows for choosing.

    Attributes
    ----------
    attributes : bool
        Whether the sensitive attributes are known at prediction.
    estimate, sure : Bound
        As if the rows were everybody, and with 95 % confidence.
    kept : float
        The AUC below which a model counts as collapsed.
    rows : int
        Of the coming audit.
    chance : float
        To pass it.
    passes : int or None
        The largest audit that the model that comes nearest passes with this chance, about; None:
        not even one of the smallest that are looked at.
    """

    attributes: bool
    estimate: Bound
    sure: Bound
    kept: float
    rows: int
    chance: float
    passes: int | None = None

    @property
    def impossible(self) -> bool:
        """Whether whatever passes has collapsed, for sure."""
        return self.sure.ranking < self.kept

    def rounded(self, step: float) -> Limit:
        """With sizes that are multiples of a step."""
        estimate, sure = (
            Bound(*(coarse(value, step) or 0.0 for value in astuple(bound)))
            for bound in (self.estimate, self.sure)
        )
        return replace(self, estimate=estimate, sure=sure, kept=coarse(self.kept, step) or 0.0)


def find_coarse_groups(columns: Sequence[Column], parts: Index) -> Index:
    """Crossed categories and ranges of numbers; small groups are joined."""
    texts = {}
    for column in columns:
        if column.kind.is_categorical:
            texts[column.name] = column.levels[column.codes].astype(str)
            continue
        values = np.asarray(column.numeric)
        edges = np.unique(np.quantile(values, np.linspace(0, 1, _RANGES + 1)[1:-1]))
        texts[column.name] = np.searchsorted(edges, values).astype(str)
    coarse = columns_from(texts, argument="sensitive_features")
    basis = AttributeBasis(fewest=_FEWEST).fit(coarse, parts)
    return basis.find_groups(coarse)


def find_limit(
    scores: Sequence[Array],
    groups: Index,
    parts: Index,
    *,
    attributes: bool,
    kept: float,
    rows: int,
    chance: float,
    alpha: float = 0.05,
) -> Limit:
    """The best of answers that are derived from one of these scores of two classes.

    Parameters
    ----------
    scores : sequence of array
        Out of fold; each is looked at alone.
    groups, parts : int array
        Group and class of every row.
    attributes : bool
        Whether answers may differ between groups at equal scores.
    kept : float
        The AUC below which a model counts as collapsed.
    rows, chance, alpha
        Of the coming audit.
    """
    counts = [_count(score, groups, parts) for score in scores]
    how: dict[str, Any] = {"chance": chance, "alpha": alpha, "attributes": attributes}
    estimate, sure = (
        reduce(
            Bound.or_better,
            (_Problem(table, rows, widened=widened, **how).find_bound() for table in counts),
        )
        for widened in (False, True)
    )
    return Limit(
        attributes=attributes, estimate=estimate, sure=sure, kept=kept, rows=rows, chance=chance
    )


def _count(score: Array, groups: Index, parts: Index) -> Array:
    """Group × class × bin, of groups with rows in every class."""
    edges = np.unique(np.quantile(score, np.linspace(0, 1, _BINS + 1)[1:-1]))
    counts = np.zeros((int(groups.max()) + 1, 2, len(edges) + 1))
    np.add.at(counts, (groups, parts, np.searchsorted(edges, score)), 1.0)
    return counts[(counts.sum(axis=2) > 0).all(axis=1)]


def _find_noncentrality(directions: int, chance: float, alpha: float) -> float:
    """At which a χ² test of so many directions still passes with this chance."""
    from scipy.optimize import brentq

    limit = chi2.ppf(1 - alpha, directions)
    if chance >= 1 - alpha:
        return 0.0
    top = 100.0 + 10 * directions
    return float(brentq(lambda x: ncx2.cdf(limit, directions, x) - chance, 1e-9, top))


class _Problem:
    """Rates of groups as linear functions of π, in standard errors of the coming audit."""

    def __init__(
        self,
        counts: Array,
        rows: int,
        *,
        chance: float,
        alpha: float,
        attributes: bool,
        widened: bool,
    ) -> None:
        groups, classes, bins = counts.shape
        self.counts, self.attributes = counts, attributes
        directions = classes * max(groups - 1, 1)
        self.radius = np.sqrt(_find_noncentrality(directions, chance, alpha))
        if widened:
            self.radius += np.sqrt(chi2.ppf(_SURE, directions) * rows / counts.sum())
        sizes = counts.sum(axis=2)
        law = counts / sizes[:, :, None]
        pooled = counts / sizes.sum(axis=0)[:, None]  # adds up to one over groups and bins
        lines = np.zeros((groups, classes, groups, bins))
        lines -= pooled.transpose(1, 0, 2)
        lines[np.arange(groups), :, np.arange(groups)] += law
        expected = sizes / sizes.sum() * rows
        lines *= (2 * np.sqrt(expected))[:, :, None, None]  # the largest error is 1/2 over a root
        rates = lines.reshape(groups * classes, groups, bins)
        self.lines = rates.reshape(len(rates), -1) if attributes else rates.sum(axis=1)
        _, size, right = np.linalg.svd(self.lines, full_matrices=False)
        large = size > _SMALL * max(float(size[0]), _SMALL)
        self.axes = size[large, None] * right[large]  # the same distances with fewer lines

    def find_bound(self) -> Bound:
        """The area below the tangents of all pairs of rates is the AUC; of labels, below one."""
        share = self.counts.sum(axis=(0, 2)) / self.counts.sum()
        grid = np.linspace(0.0, 1.0, 1001)
        top, of_labels = np.ones(len(grid)), 0.5
        for weight in _WEIGHTS:  # of a false positive, beside that of a true one
            cost = np.array([[0.0, weight / share[0]], [0.0, -(1 - weight) / share[1]]])
            smallest = self.solve(cost)
            top = np.minimum(top, (weight * grid - smallest) / (1 - weight))
            if weight == _EVEN:  # the largest difference of the two rates
                of_labels = 0.5 - smallest
        loss = self.solve(np.array([[0.0, 1.0], [1.0, 0.0]]))
        return Bound(loss, float((top[1:] + top[:-1]).mean() / 2), of_labels)

    def solve(self, cost: Array) -> float:
        """The smallest expected cost (class × label), from below.

        The largest of Σ min(0, c + Aᵀv) − r |v| over multipliers v, with corners that are made
        sharper step by step.
        """
        from scipy.optimize import minimize
        from scipy.special import expit

        weights = self.counts / self.counts.sum()
        gain = np.einsum("gcb,c->gb", weights, cost[:, 1] - cost[:, 0])
        objective = gain.ravel() if self.attributes else gain.sum(axis=0)
        scale = max(float(np.abs(self.axes).max(initial=0.0)), _SMALL)
        axes, radius = self.axes / scale, float(self.radius) / scale

        def negative(v: Array, soft: float) -> tuple[float, Array]:
            moved, size = objective + axes.T @ v, np.sqrt(v @ v + _SMALL**2)
            value = soft * np.logaddexp(0.0, -moved / soft).sum() + radius * size
            return float(value), radius * v / size - axes @ expit(-moved / soft)

        multipliers, best = np.zeros(len(axes)), -np.inf
        for softness in _SOFTNESS:
            soft = softness * float(np.abs(objective).mean())
            options = {"maxiter": _STEPS, "maxcor": 30, "ftol": 1e-13, "gtol": 1e-10}
            found = minimize(
                negative, multipliers, (soft,), jac=True, method="L-BFGS-B", options=options
            )
            multipliers = np.asarray(found.x)
            lowest = np.minimum(objective + axes.T @ multipliers, 0.0).sum()
            best = max(best, float(lowest) - radius * float(np.linalg.norm(multipliers)))
        return float(np.einsum("gcb,c->", weights, cost[:, 0])) + best
