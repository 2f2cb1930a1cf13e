"""Is the p-value to be believed? Checks of the copies: what moves, and the outcome, no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtri

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode, second_order
from fairaudit.geometry.bandwidth import median_distance
from fairaudit.geometry.ranks_and_moments import (
    distance_from_uniform,
    kurtosis,
    rank_values,
    skewness,
)
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.permute.copies import CopyLaw, CopySampler, FittedCopies, gathered, stream
from fairaudit.permute.monotone import MONOTONE
from fairaudit.testing.p_value import PValue
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.trust import Trust

__all__ = [
    "CHECKED_COPIES",
    "CopyCheck",
    "check_exchangeable",
    "check_pit",
    "judge_copies",
    "see_enough",
]

#: A valid audit fails the copy check with this probability.
CHECK_LEVEL = 0.01
PIT_LEVEL = 0.001
FARTHEST_SCORE = 3.0  # a lone outlier is no evidence against a density
SMALL_DISTANCE, SMALL_SKEWNESS, SMALL_KURTOSIS = 0.05, 0.5, 0.6
FEWEST_DISTINCT = 20
CHECKED_COPIES = 199


class CopyCheck:
    """Collects what the diagnostics need while copies pass by.

    Under a true density the data and its copies are exchangeable, so that any function of (A, Y)
    must look the same on both. Here: mean products of features of A (linear, squares and
    products, random Fourier) and of Y, standardized over data and copies together; the two-sample
    statistics are the largest and the mean squared deviation, and the p-value is the permutation
    one, doubled. Where copies move the prediction it stands in the place of A, which is not looked
    at: `moving` are the columns that copies give to the outcomes.
    """

    def __init__(
        self, outcome: Column, moving: tuple[Column, ...], copies: FittedCopies, seed: int
    ) -> None:
        n = len(outcome)
        self.copies = copies
        self.block = find_tied_blocks(moving, n).of_row
        # copies are told apart by a sum modulo 2⁶⁴ with random weights
        self.weights = stream(0, 12).integers(-(2**63), 2**63, n)
        self.distinct = {int(self.block @ self.weights)}
        self.moved: list[float] = []
        self.products: list[Array] = []
        self.fitted = copies.law.estimated
        if self.fitted:
            self.left = _make_outcome_features(outcome)
            self.right = _make_moving_features(encode(moving), stream(seed, 6))
            self.products.append(self._product(np.arange(n)))

    def see(self, numbers: range, rows: Index) -> None:
        """Look at a block of copies, as far as it continues what has been seen."""
        start = len(self.moved)
        if not numbers.start <= start < numbers.stop:
            return
        copies = rows[start - numbers.start : CHECKED_COPIES - numbers.start]
        blocks = self.block[copies]
        self.moved += (blocks != self.block).mean(axis=1).tolist()
        self.distinct.update((blocks @ self.weights).tolist())
        if self.fitted:
            self.products += [self._product(copy) for copy in copies]

    def _product(self, copy: Index) -> Array:
        return (gathered(copy[None], self.left)[0] @ self.right).ravel() / len(copy)

    def trust(self) -> Trust:
        """What the copies so far say; `see_enough` of them first."""
        check, pit = self.copies.assumption, None
        if self.fitted:
            check = check_exchangeable(np.array(self.products))
            pit = None if self.copies.pit is None else check_pit(self.copies.pit)
        return judge_copies(
            self.copies.law,
            moved=float(np.mean(self.moved)),
            distinct=len(self.distinct) - 1,
            check=check,
            pit=pit,
            scores=self.copies.scores,
            reason=self.copies.reason,
            moves=self.copies.sampler.moves,
            steps=self.copies.sampler.steps,
        )


def see_enough(checks: Sequence[CopyCheck], sampler: CopySampler) -> None:
    """Draw what some check still lacks, for all at once: the test had fewer copies, or elsewhere.

    The sampler is the one whose copies the checks look at, whole or in part.
    """
    batch = Permutations(n=CHECKED_COPIES).batch_for(sampler.n)
    while (start := min(len(check.moved) for check in checks)) < CHECKED_COPIES:
        numbers = range(start, min(start + batch, CHECKED_COPIES))
        block = sampler.block(numbers)
        for check in checks:
            check.see(numbers, check.copies.sampler.local(block))


def check_exchangeable(values: Array) -> float:
    """p-value that the first row (the data) is exchangeable with the others (the copies)."""
    spread = values.std(axis=0)
    if not (spread > 0).any():  # the outcome has one value here: copies cannot differ
        return 1.0
    z = (values - values.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    scores = (np.abs(z).max(axis=1), (z**2).mean(axis=1))
    return float(min(1.0, 2 * min(PValue.of(score[0], score[1:]).value for score in scores)))


def judge_copies(
    law: CopyLaw,
    *,
    moved: float,
    distinct: int,
    check: float | None = None,
    pit: float | None = None,
    scores: Mapping[str, float] | None = None,
    reason: str = "",
    moves: str = "attributes",
    steps: int = 0,
) -> Trust:
    """The judgment on copies of this law, from what was seen of them."""
    problem = None
    if moved == 0:
        problem = "no copy differs from the data: nothing can be exchanged given the outcome"
    elif distinct < FEWEST_DISTINCT:
        problem = f"only {distinct} different copies are possible"
    elif law.kind == MONOTONE.kind and check is not None and check <= CHECK_LEVEL:
        problem = (
            f"the prediction falls where the outcome rises (p = {check:.2g}), which the law "
            "'monotone' excludes; if it should fall everywhere, set 'decreasing'"
        )
    elif check is not None and check <= CHECK_LEVEL:
        pair = "(A, Y)" if moves == "attributes" else "(Yhat, Y)"
        problem = (
            f"copies of {pair} can be told from the data (p = {check:.2g}): "
            f"the density of the outcome given the {moves} does not fit"
        )
    elif pit is not None and pit <= PIT_LEVEL:
        problem = f"the density of the outcome is not calibrated (PIT p = {pit:.2g})"
    fine = "nothing was estimated: copies are exact"
    if law.estimated:
        fine = "copies cannot be told from the data"
    elif law.kind == "local":
        fine = "attributes move among neighbors in the outcome only, and no density is needed"
    elif law.kind == MONOTONE.kind:
        fine = (
            "nothing was estimated, and copies are valid if the prediction does not fall when the "
            "outcome rises, which no test contradicts"
        )
        fine += "" if check is None else f" (p = {check:.2g})"
    if reason:
        fine += f"; a fitted density was not used, since {reason}"
    return Trust(
        trustworthy=problem is None,
        because=problem or fine,
        copies_by=law.words,
        copy_check=check,
        calibration=pit,
        moved=moved,
        distinct=distinct,
        scores=dict(scores or {}),
        law=law.kind,
        family=law.family,
        fit=law.fit,
        steps=steps,
    )


def check_pit(pit: Array) -> float:
    """Uniform as a whole (Kolmogorov–Smirnov) and in its tails (D'Agostino–Pearson), doubled.

    A deviation that is too small to matter for the copies counts as none, however many rows there
    are to see it: distances up to .05, skewness up to .5 and excess kurtosis up to .6.
    """
    p = 1.0
    if distance_from_uniform(pit) > SMALL_DISTANCE:
        from scipy.stats import kstest

        p = float(kstest(pit, "uniform").pvalue)
    scores = np.clip(ndtri(np.clip(pit, 1e-12, 1 - 1e-12)), -FARTHEST_SCORE, FARTHEST_SCORE)
    if len(pit) < FEWEST_DISTINCT or np.ptp(scores) == 0:
        return p
    if abs(skewness(scores)) > SMALL_SKEWNESS or abs(kurtosis(scores)) > SMALL_KURTOSIS:
        from scipy.stats import normaltest

        p = min(p, float(normaltest(scores).pvalue))
    return min(1.0, 2 * p)


def _make_outcome_features(outcome: Column) -> Array:
    if outcome.kind.is_categorical:
        return np.eye(len(outcome.levels))[outcome.codes]
    z = ndtri(rank_values(outcome.codes) / (len(outcome) + 1))
    return np.column_stack([z, z**2, z**3, np.abs(z)])


def _make_moving_features(a: Array, rng: np.random.Generator, count: int = 20) -> Array:
    width = median_distance(a[:500])
    angle = a @ (rng.normal(size=(a.shape[1], count)) / width) + rng.uniform(0, 2 * np.pi, count)
    features = np.hstack([a, second_order(a), np.cos(angle)])
    return features - features.mean(axis=0)
