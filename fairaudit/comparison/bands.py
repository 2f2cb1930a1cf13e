"""Intervals for the difference of two models' gaps that hold where gaps are equal or tied.

The largest of several gaps is not smooth where two are equal, and the usual bootstrap fails
there. The bounds below need no smoothness: the true largest gap belongs to one pair of groups,
which is unknown but fixed, and a bound that holds for that pair holds for the measure. The noise
of every group has the limits of `fairaudit.comparison.limits`; a normal law serves only to tell how
much of it several gaps share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.comparison.limits import Reach, excess_of, reach_of
from fairaudit.comparison.paired_groups import PairedGroups
from fairaudit.geometry.symmetric_root import symmetric_root

__all__ = ["Interval", "deo_difference", "gap_difference", "mean_difference"]

DRAWS = 4_000
#: Share of the error that is spent on finding which signs the deviations of DEO can have.
SCREENING = 0.1
#: Standard errors, at least, by which a gap lies below the largest where it is taken to be less.
CLEARLY = 2.25
#: Share of the error that the paired difference has: in an interval, in one-sided bounds from
#: above and from below.
PAIRED, PAIRED_ABOVE, PAIRED_BELOW = 0.5, 0.75, 0.3
_MOST_DRAWN = 150  # gaps of the other model whose largest error is simulated; beyond: Bonferroni
_FAR = 4.0  # standard errors below which a gap has no part in the largest error
_MOST_SIGNS = 13  # undetermined signs that are tried out


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval, and the one-sided bounds at the same level."""

    low: float
    high: float
    at_least: float
    at_most: float


#: Upper bound of (second − first) at an error of alpha; `swapped` exchanges the models.
_Bound = Callable[[float, bool], float]


def _interval(at_most: _Bound, alpha: float) -> Interval:
    return Interval(
        -at_most(alpha / 2, True),
        at_most(alpha / 2, False),
        -at_most(alpha, True),
        at_most(alpha, False),
    )


def mean_difference(values: Array, weights: Array, unit: Index, alpha: float) -> Interval:
    """Of the weighted mean of paired differences; rows of one person are summed up."""
    from scipy.special import stdtrit

    share = weights / weights.sum()
    mean = float(share @ values)
    _, who = np.unique(unit, return_inverse=True)
    parts = np.bincount(who, share)
    concentration = float((parts**2).sum())  # one in as many people of equal weight
    freedom = max(concentration**2 / float((parts**4).sum()) - 1, 1.0)
    squares = float((np.bincount(who, share * (values - mean)) ** 2).sum())
    se = np.sqrt(squares / max(1 - concentration, concentration))

    def at_most(error: float, swapped: bool) -> float:
        return (-mean if swapped else mean) + se * float(stdtrit(freedom, 1 - error))

    return _interval(at_most, alpha)


def gap_difference(
    groups: PairedGroups, classes: tuple[int, ...], alpha: float, seed: int
) -> Interval:
    r"""For the largest difference between two groups: candidate minus baseline.

    Notes
    -----
    Let c and b be the differences of candidate and baseline in all ordered pairs of groups, and
    p the pair in which c is largest: unknown, but fixed. Then

    .. math:: \max c - \max b = c_p - \max_u b_u = \min_u (c_p - b_u) \le c_p - b_p.

    For each p, :math:`\min_u (c_p - b_u)` has an upper bound with a width that covers all u at
    once; the bound for the measure is the largest over p. No band over all p is needed, since p is
    fixed. A bound over u can fail only by a u that is (nearly) largest in b: what surely lies below
    the largest one counts by as much less. Since no largest gap is below 0, 0 is one of the
    :math:`b_u`.

    Where the bound is to lie below 0, max b is larger than :math:`c_p \ge 0`, and not all b can be
    equal; a few can be largest at the same time. It is then enough that a gap *seems* to lie below
    the largest one, by 2.25 standard errors (some more with many gaps).

    The paired difference :math:`c_p - b_p` has little noise where the models resemble. It is what
    shows that a candidate is not worse: in the one-sided bound from above it has three quarters of
    the error. What shows that a candidate is worse are mostly other pairs, since the largest gap of
    a fair model is anywhere: in the bound from below, which is the same with the models exchanged,
    it has three tenths. In the interval it has half, so that exchanging the models turns it round.
    """
    pairs = _pairs(groups, classes)
    contrast = np.zeros((len(pairs) + 1, len(groups.labels)))  # the last is no pair: 0
    contrast[np.arange(len(pairs)), pairs[:, 0]] = 1
    contrast[np.arange(len(pairs)), pairs[:, 1]] = -1
    gaps = _Gaps(groups, contrast, seed)

    return Interval(
        -_largest_gap_at_most(gaps, alpha / 2, PAIRED, 1, 0),
        _largest_gap_at_most(gaps, alpha / 2, PAIRED, 0, 1),
        -_largest_gap_at_most(gaps, alpha, PAIRED_BELOW, 1, 0),
        _largest_gap_at_most(gaps, alpha, PAIRED_ABOVE, 0, 1),
    )


def _largest_gap_at_most(gaps: _Gaps, error: float, paired: float, b: int, c: int) -> float:
    """Upper bound of max c − max b; the paired difference has the share `paired` of the error."""
    count = len(gaps.contrast)
    seemingly = max(CLEARLY, _bonferroni(0.5, count))
    bound = _bound_over_pairs(gaps, error, paired, (b, c), gaps.below(b, seemingly))
    if bound < 0:
        return bound
    surely = _bonferroni(error, count)
    bound = _bound_over_pairs(gaps, error, paired, (b, c), gaps.below(b, surely))
    return max(bound, 0.0)


def _bound_over_pairs(
    gaps: _Gaps, error: float, paired: float, models: tuple[int, int], below: Array
) -> float:
    """The same, where the gaps of b lie `below` its largest by so much."""
    b, c = models
    u = np.arange(len(gaps.contrast))
    first = np.full(len(u), gaps.value[b].argmax())
    widest = _bonferroni(error * (1 - paired) / gaps.reserve, len(u))
    roughly = gaps.at_most(c, b, u, first, widest)  # of every p, no less than the bound below
    alone = (below == 0) & (gaps.spread_between(c, b, u, u) > 0)
    by_itself = gaps.at_most(c, b, u, u, _bonferroni(error / gaps.reserve * paired, 1))
    roughly[alone] = np.minimum(roughly, by_itself)[alone]
    largest = -np.inf
    for p in np.argsort(-roughly[:-1]):
        if roughly[p] <= largest:
            break
        if gaps.at_most(c, b, np.full(len(u), p), u, widest).min() <= largest:
            continue  # without draws
        others, own_errors, errors = gaps.largest_errors(c, b, int(p), below)
        own, wide = _widths(own_errors, errors, others, error / gaps.reserve, paired)
        bounds = gaps.at_most(c, b, np.full(len(u), p), u, wide)
        if own is not None:
            bounds[p] = gaps.at_most(c, b, u[[p]], u[[p]], own)[0]
        largest = max(largest, float(bounds.min()))
    return largest


def _widths(
    own: Array | None, rest: Array | None, others: int, error: float, paired: float
) -> tuple[float | None, float]:
    """Standard errors for c_p − b_p and for c_p − b_u over all other u, from draws of their errors.

    Together they fail with the given error, of which the first has the share `paired`. None: it
    has no width of its own.
    """
    if own is None:
        return None, _quantile(rest, error, others)
    if not others:
        return _bonferroni(error, 1), _bonferroni(error, 1)
    apart = _bonferroni(paired * error, 1)
    kept = None if rest is None else rest[own <= apart]
    return apart, _quantile(kept, error * (1 - paired), others)


def _bonferroni(error: float, count: int) -> float:
    """Critical value that the largest of `count` normal ones exceeds with `error`, at most."""
    from scipy.special import ndtri

    return float(ndtri(1 - error / count))


class _Gaps:
    """Linear functions of the groups (rows of `contrast`) in both models, with their noise."""

    def __init__(self, groups: PairedGroups, contrast: Array, seed: int) -> None:
        count = len(groups.labels)
        parts = (slice(0, count), slice(count, 2 * count))
        self.contrast = contrast
        self.covariance = [[groups.covariance[a, b] for b in parts] for a in parts]
        shared = {(a, k): _off_diagonal(self.covariance[a][k]) for a in (0, 1) for k in (0, 1)}
        self.between = {models: block for models, block in shared.items() if block.any()}
        self.value = groups.raw @ contrast.T
        noise = _noise(groups, seed)
        self.noise = [contrast.astype(np.float32) @ noise[part] for part in parts]
        self.groups = groups
        self.limits: dict[float, Reach] = {}
        #: Student's limits fall short for skewed numbers: they have two thirds of the error.
        self.reserve = 1.0 if groups.rates else 1.5

    @cached_property
    def largest(self) -> Array:
        """Per draw the largest noise in standard errors, of both models."""
        rows = np.arange(len(self.contrast))
        spread = [_root(self._product(k, k, rows, rows)) for k in (0, 1)]
        return np.maximum(*(_largest(self.noise[k], spread[k]) for k in (0, 1)))

    def below(self, model: int, z: float) -> Array:
        """By how much each lies below the largest of its model, less z standard errors."""
        largest = int(self.value[model].argmax())
        none = np.zeros_like(self.contrast)
        weights = [none, none]
        weights[model] = self.contrast - self.contrast[largest]
        behind = self.value[model][largest] - self.value[model]
        return np.maximum(behind - self.reach(weights[0], weights[1], z), 0.0)

    def band(self, error: float, model: int) -> tuple[Array, Array]:
        """Limits of all of a model, at a tenth of the error for both models."""
        z, value = float(np.quantile(self.largest, 1 - SCREENING * error)), self.value[model]
        none = np.zeros_like(self.contrast)
        sides = []
        for sign in (-1.0, 1.0):
            weights = [none, none]
            weights[model] = sign * self.contrast
            sides.append(value + sign * self.reach(weights[0], weights[1], z))
        return sides[0], sides[1]

    def reach(self, on_baseline: Array, on_candidate: Array, z: float) -> Array:
        """How far above their estimates weighted sums of all groups can lie.

        Distances of the groups are added in squares, as their noise is independent; what it is
        not (people with rows in several groups, a common fit) enters by its covariance. Shares of
        one group that are predicted to be of different classes make up for one another: what
        that would take off is left, as no exact limit speaks of it.
        """
        z = float(np.ceil(100 * z) / 100)  # few different ones, so that limits are found once
        if z not in self.limits:
            self.limits[z] = reach_of(self.groups, z)
        squares = (self.limits[z].of_sum(on_baseline, on_candidate) ** 2).sum(axis=1)
        weights, shared = (on_baseline, on_candidate), np.zeros(len(on_baseline))
        for (a, k), block in self.between.items():
            shared += ((weights[a] @ block) * weights[k]).sum(axis=1)
        if self.groups.of_classes:
            shared = np.maximum(shared, 0.0)
        return _root(squares + z**2 * shared)

    def at_most(self, c: int, b: int, p: Index, u: Index, z: float) -> Array:
        """Upper bounds of c_p − b_u, pair by pair."""
        weights = [self.contrast[p], -self.contrast[u]]
        on_baseline, on_candidate = weights if b == 1 else weights[::-1]
        return self.value[c][p] - self.value[b][u] + self.reach(on_baseline, on_candidate, z)

    def largest_errors(
        self, c: int, b: int, p: int, below: Array
    ) -> tuple[int, Array | None, Array | None]:
        """Of c_p − b_u, u ≠ p, that count: how many; the draws of u = p and of the largest.

        Draws are None where u = p does not count for itself, since it is `below` the largest of b
        or without noise, and where there are too many u.
        """
        u = np.arange(len(self.contrast))
        se = self.spread_between(c, b, np.full(len(u), p), u)
        shift = np.full(len(u), np.inf)
        np.divide(below, se, out=shift, where=se > 0)
        near = shift < _FAR
        own = None
        if shift[p] == 0:
            own = np.asarray(self.noise[b][p] - self.noise[c][p]) / se[p]
            near[p] = False
        rest = None
        if 0 < near.sum() <= _MOST_DRAWN:
            t = self.noise[b][near] - self.noise[c][p]
            t /= se[near, None]
            t -= shift[near, None]
            rest = t.max(axis=0)
        return int(near.sum()), own, rest

    def spread_between(self, c: int, b: int, p: Index, u: Index) -> Array:
        """Standard errors of c_p − b_u, pair by pair."""
        return _root(
            self._product(c, c, p, p) + self._product(b, b, u, u) - 2 * self._product(c, b, p, u)
        )

    def _product(self, a: int, b: int, p: Index, u: Index) -> Array:
        left, right = self.contrast[p], self.contrast[u]
        return np.asarray(((left @ self.covariance[a][b]) * right).sum(axis=1))


def _quantile(draws: Array | None, error: float, count: int) -> float:
    """What `draws` exceed with the error; without them, what `count` normal numbers do at most."""
    if draws is None:
        return _bonferroni(error, max(count, 1))
    return float(np.quantile(draws, 1 - error))


def _off_diagonal(block: Array) -> Array:
    return np.asarray(block - np.diag(np.diag(block)))


def _pairs(groups: PairedGroups, classes: tuple[int, ...]) -> Index:
    """Ordered pairs of groups of the same outcome."""
    pairs = []
    for outcome in classes:
        members = np.flatnonzero(groups.class_of == outcome)
        a, b = np.meshgrid(members, members)
        pairs.append(np.stack([a[a != b], b[a != b]], axis=1))
    return np.concatenate(pairs)


def _noise(groups: PairedGroups, seed: int) -> Array:
    """Draws (columns) of the normal law that the centers have around the truth."""
    root = symmetric_root(groups.covariance)
    draws = np.random.default_rng(seed).normal(size=(DRAWS, len(root)))
    return np.asarray(root @ draws.T, dtype=np.float32)


def _root(variance: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _largest(noise: Array, se: Array) -> Array:
    """Per draw the largest absolute noise in standard errors; entries without noise are sure."""
    some = se > 0
    if not some.any():
        return np.zeros(noise.shape[1])
    return np.asarray(np.abs(noise[some] / se[some, None]).max(axis=0))


def deo_difference(groups: PairedGroups, alpha: float, seed: int) -> Interval:
    r"""For DEO, the sum of all groups' absolute deviations: candidate minus baseline.

    Notes
    -----
    With c and b the deviations of all groups, :math:`\sum |c_k| - \sum |b_k| \le \sum \sigma_k c_k
    - \tau_k b_k` for the true signs :math:`\sigma` of c, which are unknown but fixed, and any
    signs :math:`\tau`. A first band, at a tenth of the error, determines the signs of what is
    clearly not 0. The bound is the largest over the signs :math:`\sigma` that are left, with
    :math:`\tau` the sign of b where it is determined and :math:`\sigma` elsewhere.
    """
    contrast = np.eye(len(groups.labels))
    for outcome in (0, 1):
        members = groups.class_of == outcome
        if members.any():
            contrast[np.ix_(members, members)] -= groups.size[members] / groups.size[members].sum()
    gaps = _Gaps(groups, contrast, seed)

    def at_most(error: float, swapped: bool) -> float:
        return _deo_at_most(gaps, error, *((1, 0) if swapped else (0, 1)))

    return _interval(at_most, alpha)


def _deo_at_most(gaps: _Gaps, error: float, b: int, c: int) -> float:
    from scipy.special import ndtri

    known = []
    for model in (0, 1):
        low, high = gaps.band(error, model)
        known.append((low > 0).astype(float) - (high < 0))
    open_ = np.flatnonzero(known[c] == 0)
    z = float(ndtri(1 - (1 - SCREENING) * error))
    if len(open_) > _MOST_SIGNS:
        return _deo_roughly(gaps, known, b, c, z)
    signs = 2.0 * (np.arange(2 ** len(open_))[:, None] >> np.arange(len(open_)) & 1) - 1
    sigma = np.tile(known[c], (len(signs), 1))
    sigma[:, open_] = signs
    tau = np.where(known[b] == 0, sigma, known[b])
    value = sigma @ gaps.value[c] - tau @ gaps.value[b]
    weights = (sigma @ gaps.contrast, -tau @ gaps.contrast)
    return float((value + gaps.reach(*(weights if b == 1 else weights[::-1]), z)).max())


def _deo_roughly(gaps: _Gaps, known: list[Array], b: int, c: int, z: float) -> float:
    """The same for too many open signs: the largest value plus the largest width.

    Each is taken over all signs, the width by the largest covariance of every two groups and what
    exact limits add to it, which is a quadratic form of the signs.
    """
    value = np.full(len(known[c]), -np.inf)
    terms = []
    for sign in (-1.0, 1.0):
        possible = known[c] != -sign
        tau = np.where(known[b] == 0, sign, known[b])
        here = sign * gaps.value[c] - tau * gaps.value[b]
        value = np.where(possible, np.maximum(value, here), value)
        terms.append((possible, sign * gaps.contrast, -tau[:, None] * gaps.contrast))
    largest = np.full((len(value), len(value)), -np.inf)
    cov = gaps.covariance
    for can_j, c_j, b_j in terms:
        for can_k, c_k, b_k in terms:
            both = (c_j @ cov[c][c] + b_j @ cov[b][c]) @ c_k.T
            both = both + (c_j @ cov[c][b] + b_j @ cov[b][b]) @ b_k.T
            largest = np.where(np.outer(can_j, can_k), np.maximum(largest, both), largest)
    excess = excess_of(gaps.groups, z)
    steepest = np.linalg.eigvalsh((gaps.contrast * excess) @ gaps.contrast.T)[-1]
    models = 2 if known[b].any() else 1  # where all signs are shared, only differences count
    added = min(excess @ np.abs(gaps.contrast).sum(axis=0) ** 2, models * steepest * len(value))
    return float(value.sum() + _root(z**2 * largest.sum() + added))
