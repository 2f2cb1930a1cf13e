"""Least squares behind the prediction gaps: groups beside a spline of the outcome."""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.errors import InputError

__all__ = ["gaps_given_outcome", "outcome_basis"]

MOST_KNOTS = 20  # of the spline; they grow with the cube root of the rows up to here
FEWEST_TAIL = 25  # rows beyond the outermost knot, where the tails get knots of their own
COMMON = 0.02  # a value that this share of the rows has gets its own mean beside the spline,
FEWEST_COMMON = 10  # if these are so many,
FEW_VALUES = 30  # whatever their share where the outcome has no more values than these
_OVERLAP = 1e-6  # below: the outcome tells the group
_MOST_LEVERAGE = 0.9
_ROUNDING = 1e-11


def gaps_given_outcome(
    predictions: Array, outcome: Array, group: Index, weights: Array, unit: Index | None = None
) -> tuple[Array, Array, Array]:
    """Gaps of several models (rows × models) in all groups, their joint covariance, and sizes.

    `group` numbers groups from 0 without holes; rows of one `unit` may depend on one another.
    The gaps are models × groups, the covariance is (models · groups) square; the sizes say how
    many people each gap rests on, which are few where other groups hardly share its outcomes.
    """
    design = _Design(outcome, group, weights)
    predictions = predictions - predictions[:1]  # constants are 0 without rounding
    gaps, residual = design.fit(predictions)
    who = np.arange(len(group)) if unit is None else np.unique(unit, return_inverse=True)[1]
    leverage = np.bincount(who, design.leverage())[who]
    residual = residual / (1 - np.minimum(leverage, _MOST_LEVERAGE))[:, None]
    bread = np.kron(np.eye(predictions.shape[1]), design.spare)
    covariance = bread @ _meat(design, residual, who) @ bread
    return gaps, covariance, _sizes(design, residual, who)


class _Design:
    """Groups beside functions of the outcome, for weighted least squares."""

    def __init__(self, outcome: Array, group: Index, weights: Array) -> None:
        from scipy.linalg import pinvh

        self.group, self.weights = group, weights
        self.count = int(group.max()) + 1
        self.basis = outcome_basis(outcome)
        self.weighted = self.basis * weights[:, None]
        self.inverse = pinvh(self.basis.T @ self.weighted)
        size, sums = self._sums(weights)
        self.explained = self.inverse @ sums  # of the groups' indicators, by the basis
        self.spare = _generalized_inverse(np.diag(size) - sums.T @ self.explained, size)

    def _sums(self, weights: Array) -> tuple[Array, Array]:
        """Of weights by group, and of the functions by group."""
        size = np.asarray(np.bincount(self.group, weights, self.count), dtype=np.float64)
        columns = (np.bincount(self.group, weights * each, self.count) for each in self.basis.T)
        return size, np.stack(list(columns))

    def fit(self, predictions: Array) -> tuple[Array, Array]:
        """Gaps (models × groups) and residuals (rows × models)."""
        scale = _ROUNDING * np.abs(predictions).max(axis=0)
        common = self.basis @ (self.inverse @ (self.weighted.T @ predictions))
        residual = _snapped(predictions - common, scale)
        totals = [np.bincount(self.group, self.weights * each, self.count) for each in residual.T]
        gaps = np.stack(totals) @ self.spare
        fitted = gaps.T[self.group] - self.basis @ (self.explained @ gaps.T)
        return gaps, _snapped(residual - fitted, scale)

    def leverage(self) -> Array:
        """What each row counts in its own fitted value."""
        cross = self.explained @ self.spare
        on_basis = self.inverse + cross @ self.explained.T
        own = ((self.basis @ on_basis) * self.basis).sum(axis=1) + np.diag(self.spare)[self.group]
        return np.asarray(self.weights * (own - 2 * (self.basis * cross.T[self.group]).sum(axis=1)))

    def pull(self, k: int) -> Array:
        """What each row's prediction counts in the gap of a group."""
        on_basis = self.basis @ (self.explained @ self.spare[k])
        return np.asarray(self.weights * (self.spare[k][self.group] - on_basis))


def _sizes(design: _Design, residual: Array, who: Index) -> Array:
    """People that each gap rests on, by what they count and by what they add to its variance.

    Three times the squared sum over the sum of squares is the former number for normal residuals
    with equal variances, and smaller where the variance is that of few people.
    """
    sizes = np.empty(design.count)
    for k in range(design.count):
        pull = design.pull(k)
        squares = np.bincount(who, pull) ** 2
        sizes[k] = squares.sum() ** 2 / (squares**2).sum() if squares.any() else 0.0
        for each in residual.T:
            parts = np.bincount(who, pull * each) ** 2
            if parts.any():
                sizes[k] = min(sizes[k], 3 * parts.sum() ** 2 / (parts**2).sum())
    return sizes


def outcome_basis(outcome: Array) -> Array:
    """Rows × functions of the outcome: a cubic spline, and a mean for every frequent value."""
    from scipy.interpolate import BSpline

    values, code, counts = np.unique(outcome, return_inverse=True, return_counts=True)
    least = 0.0 if len(values) <= FEW_VALUES else COMMON * len(outcome)
    common = np.flatnonzero(counts >= max(FEWEST_COMMON, least))
    place = np.full(len(values), len(common))
    place[common] = np.arange(len(common))
    frequent = np.eye(len(common) + 1)[place[code], :-1]
    rest = outcome[place[code] == len(common)]
    if not len(rest):
        return frequent
    low, high = values[0], values[-1]
    knots = np.unique(np.quantile(rest, _knot_shares(len(rest))))
    knots = knots[(knots > low) & (knots < high)]
    full = np.concatenate([np.full(4, low), knots, np.full(4, high)])
    spline = BSpline.design_matrix(outcome, full, 3).toarray()
    return np.concatenate([spline, frequent], axis=1)


def _knot_shares(rows: int) -> Array:
    """At which quantiles knots stand: evenly, and halving the tails while these have rows."""
    inner = min(round(rows ** (1 / 3)), MOST_KNOTS)
    shares = np.linspace(0, 1, inner + 2)[1:-1]
    halvings = max(int(np.log2(rows / ((inner + 1) * FEWEST_TAIL))), 0)
    tail = 0.5 ** np.arange(1, halvings + 1) / (inner + 1)
    return np.concatenate([tail, shares, 1 - tail])


def _generalized_inverse(matrix: Array, size: Array) -> Array:
    """Of the groups' part that the basis leaves; its solutions have a mean of 0 over all rows."""
    root = np.sqrt(size)
    values, vectors = np.linalg.eigh(matrix / np.outer(root, root))
    if len(size) > 1 and values[1] < _OVERLAP:
        raise InputError(
            "The outcome tells the groups apart: no two people of different groups share an "
            "outcome, so predictions given the outcome cannot be compared. Pass coarser groups."
        )
    values[0] = np.inf  # all groups by the same amount: m(Y)
    vectors = vectors / root[:, None]
    return np.asarray((vectors / values) @ vectors.T)


def _snapped(residual: Array, scale: Array) -> Array:
    """Without rounding errors: a function of the outcome alone leaves nothing."""
    return np.where(np.abs(residual) <= scale, 0.0, residual)


def _meat(design: _Design, residual: Array, who: Index) -> Array:
    """Products of the scores, summed over units: groups' indicators without the basis, times e."""
    from scipy.sparse import csr_matrix

    rows, explained = len(who), design.explained
    members = csr_matrix((np.ones(rows), (who, np.arange(rows))), shape=(who.max() + 1, rows))
    scores = []
    for each in residual.T:
        own = csr_matrix(
            (design.weights * each, (who, design.group)), shape=(members.shape[0], design.count)
        )
        scores.append((own, members @ (design.weighted * each[:, None])))
    blocks = []
    for own, spline in scores:
        line = []
        for other, theirs in scores:
            line.append(
                (own.T @ other).toarray()
                - (own.T @ theirs) @ explained
                - explained.T @ (other.T @ spline).T
                + explained.T @ (spline.T @ theirs) @ explained
            )
        blocks.append(line)
    return np.block(blocks)
