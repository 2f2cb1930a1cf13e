"""How far each group can lie from what was seen, where few rows tell two models apart.

A candidate that changes little differs from its baseline in a handful of rows, and the number of
these is nearly Poisson: a normal interval is then too short, and with no such row it has no
width at all. Limits of the shares of such rows are therefore exact binomial ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array
from fairaudit.comparison.paired_groups import PairedGroups

__all__ = ["Reach", "excess_of", "reach_of"]

#: What is added to a count before the limit of a beta law is taken.
EXACT, JEFFREYS = 1.0, 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Distances from estimates to their limits: upward and downward × groups.

    Attributes
    ----------
    baseline, candidate : of each model's own rate (or mean)
    difference : of candidate − baseline, in the same group
    total : of candidate + baseline
    """

    baseline: Array
    candidate: Array
    difference: Array
    total: Array

    def of_sum(self, on_baseline: Array, on_candidate: Array) -> Array:
        """Upward distances, group by group, of weighted sums of both models (rows × groups).

        What both models have in common counts as their difference (weights of unlike signs) or
        their total, the rest as one model's own.
        """
        both = np.minimum(np.abs(on_baseline), np.abs(on_candidate))
        unlike = on_baseline * on_candidate < 0
        rising = on_candidate > 0

        def side(distances: Array, up: NDArray[np.bool_]) -> Array:
            return np.where(up, distances[0], distances[1])

        shared = np.where(unlike, side(self.difference, rising), side(self.total, rising))
        return np.asarray(
            both * shared
            + (np.abs(on_candidate) - both) * side(self.candidate, rising)
            + (np.abs(on_baseline) - both) * side(self.baseline, on_baseline > 0)
        )


def reach_of(groups: PairedGroups, z: float) -> Reach:
    """Distances at the error that z standard errors have in a normal law.

    Notes
    -----
    Candidate − baseline is :math:`p_{01} - p_{10}`, the shares of rows that only the one and only
    the other predicts positive. With the exact limits of Clopper and Pearson of these two, at
    distances u above the first and l below the second, the distance is

    .. math:: \\sqrt{u^2 + l^2 + 2 r u l}, \\qquad r = \\sqrt{\\frac{p q}{(1 - p)(1 - q)}},

    where −r is the correlation of two shares of one sample (Newcombe 1998); it is never below z
    standard errors. A rate of one model alone has Jeffreys' limits, and the total of both these
    with the correlation of the labels: they matter only together with other pairs of groups. They
    are shorter than z standard errors on one side and longer on the other, as the skewness of a
    rate has it, and the longer one of the two for both sides would cost power and win no level. Of
    weighted rows, and of people with several rows, shares are weighted, and each has the number of
    rows that its variance says (`fairaudit.data.groups.GroupTable.worth`). Of means: Student's
    limits.

    References
    ----------
    Clopper and Pearson (1934). The use of confidence or fiducial limits. Biometrika 26.
    Newcombe (1998). Improved confidence intervals for the difference between binomial proportions
    based on paired data. Statistics in Medicine 17.
    """
    from scipy.special import ndtr, stdtrit

    spreads = [np.sqrt(np.maximum(variance, 0.0)) for variance in _variances(groups)]
    if groups.shares is None:
        width = stdtrit(np.maximum(groups.effective - 1, 1.0), ndtr(z))
        return Reach(*(np.tile(width * s, (2, 1)) for s in spreads))
    error, sizes = float(ndtr(-z)), groups.effective
    _, new, old, agreed = groups.shares
    first, second = (
        _of_share(share, n, error, JEFFREYS) for share, n in zip(groups.raw, sizes[:2], strict=True)
    )
    likeness = _correlation(groups.raw, agreed)
    apart = _of_difference((new, sizes[2]), (old, sizes[3]), error)
    return Reach(
        baseline=first,
        candidate=second,
        difference=np.maximum(apart, z * spreads[2]),
        total=np.sqrt(first**2 + second**2 + 2 * likeness * first * second),
    )


def excess_of(groups: PairedGroups, z: float) -> Array:
    """What limits add, at most, to the squared distance of z standard errors in every group."""
    reach = reach_of(groups, z)
    distances = (reach.baseline, reach.candidate, reach.difference, reach.total)
    added = [d**2 - z**2 * v for d, v in zip(distances, _variances(groups), strict=True)]
    return np.asarray(np.max(added, axis=(0, 1)))


def _variances(groups: PairedGroups) -> tuple[Array, ...]:
    """Of the baseline, the candidate, their difference and their total, in every group."""
    count, at = len(groups.labels), np.arange(len(groups.labels))
    cov = groups.covariance
    first, second, both = cov[at, at], cov[at + count, at + count], cov[at, at + count]
    return first, second, first + second - 2 * both, first + second + 2 * both


def _of_share(share: Array, n: Array, error: float, added: float) -> Array:
    """Distances to the limits of a share, upward and downward."""
    from scipy.special import betaincinv

    hits = np.clip(share * n, 0.0, n)
    rest, tiny, remainder = n - hits, 1e-9, 1 - added
    above = betaincinv(hits + added, np.maximum(rest + remainder, tiny), 1 - error)
    below = betaincinv(np.maximum(hits + remainder, tiny), rest + added, error)
    above, below = np.where(rest > tiny, above, 1.0), np.where(hits > tiny, below, 0.0)
    return np.stack([above - share, share - below])


def _of_difference(first: tuple[Array, Array], second: tuple[Array, Array], error: float) -> Array:
    """The same for the difference of two shares (with sizes) that exclude one another."""
    (up, down), (up_too, down_too) = (_of_share(*share, error, EXACT) for share in (first, second))
    p, q = first[0], second[0]
    r = np.minimum(np.sqrt(p * q / np.maximum((1 - p) * (1 - q), 1e-12)), 1.0)
    return np.stack(
        [
            np.sqrt(up**2 + down_too**2 + 2 * r * up * down_too),
            np.sqrt(down**2 + up_too**2 + 2 * r * down * up_too),
        ]
    )


def _correlation(rates: Array, agreed: Array) -> Array:
    """Of both models' labels in every group; 1 where a model has one label, none below 0."""
    scale = np.sqrt(np.prod(rates * (1 - rates), axis=0))
    covariance = agreed - rates[0] * rates[1]
    some = scale > 0
    r = np.where(some, covariance / np.where(some, scale, 1.0), 1.0)
    return np.asarray(np.clip(r, 0.0, 1.0))
