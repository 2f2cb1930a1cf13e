"""`density="auto"`: the family with the best held-out log-likelihood among cheap ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.density.boosting import Boosting
from fairaudit.density.conditional_density import Density, Fitted
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.mixture import Mixture

__all__ = ["Auto", "Choice", "list_candidates"]

_FOLDS = 5
_MOST_ROWS = 5_000  # the choice is made on at most this many
_FINALISTS = 3
_AS_GOOD = 1.0  # log-likelihood of all held-out rows: a difference that is no evidence
_MANY_ROWS = 2_000  # from here on costlier families are tried too
_ROWS_PER_PARAMETER = 6  # a mixture of k components needs this many rows per mean

Split = tuple[Index, Index]  # rows to fit on, rows to score


def list_candidates(a: Array) -> tuple[Density, ...]:
    """Families that differ in what they can express, the cheapest to permute first."""
    families: list[Density] = [
        Gaussian("ols"),
        Gaussian("quadratic"),
        Gaussian("ols", heteroscedastic=True),
        Gaussian("ols", residuals="kernel"),
        Gaussian("quadratic", residuals="kernel"),
        Gaussian("ols", heteroscedastic=True, residuals="kernel"),
    ]
    n, width = a.shape
    if width > 3:
        families.insert(1, Gaussian("lasso"))
        families.append(Gaussian("lasso", residuals="kernel"))
    sizes = (2, 4, 8) if n >= _MANY_ROWS else (2, 4)
    families += [Mixture(k) for k in sizes if k * (width + 1) * _ROWS_PER_PARAMETER <= n]
    if n >= _MANY_ROWS:
        families.append(Boosting())
    return tuple(families)


@dataclass(frozen=True, slots=True)
class Choice:
    """The family that won, its fit on every split, and all scores.

    `scores` are mean held-out log-likelihoods per row, by family: over all splits for the
    finalists, over the first split for the others.
    """

    family: Density
    fits: list[Fitted]
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Auto:
    """Choose among `families` by held-out log-likelihood.

    With cross-fitting the folds of the test serve for the choice too: one family for all folds.
    """

    families: Sequence[Density] | None = None

    name = "auto"

    def choose(self, y: Array, a: Array, splits: Sequence[Split], seed: int) -> Choice:
        """Keep the family that predicts held-out rows best.

        All families meet on the first split, the best three of them on the others. Of those
        within `_AS_GOOD` of the best, the one that stands first in the list wins.
        """
        some = _thin_splits(_MOST_ROWS, len(y), splits, seed)
        families = self.families or list_candidates(a)
        first = [(*_fit_and_score(family, y, a, some[:1], seed), family) for family in families]
        scores = {family.name: score / len(some[0][1]) for score, _, family in first}
        finals = []
        for score, fits, family in sorted(first, key=lambda item: -item[0])[:_FINALISTS]:
            rest, more = _fit_and_score(family, y, a, some[1:], seed)
            finals.append((score + rest, fits + more, family))
        best = max(score for score, _, _ in finals)
        as_good = [final for final in finals if final[0] >= best - _AS_GOOD]
        _, fits, family = min(as_good, key=lambda final: families.index(final[2]))
        if some is not splits:
            fits = [family.fit(y[fit_rows], a[fit_rows], seed) for fit_rows, _ in splits]
        rows = sum(len(held_out) for _, held_out in some)
        return Choice(
            family, fits, scores | {finalist.name: score / rows for score, _, finalist in finals}
        )

    def fit(self, y: Array, a: Array, seed: int) -> Fitted:
        """Choose by five-fold cross-validation, then fit the winner to all rows."""
        fold = np.random.default_rng(seed).permutation(len(y)) % min(_FOLDS, len(y))
        splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(_FOLDS)]
        return self.choose(y, a, splits, seed).family.fit(y, a, seed)


def _thin_splits(most: int, n: int, splits: Sequence[Split], seed: int) -> Sequence[Split]:
    """The splits, thinned to `most` rows in all where there are more."""
    if n <= most:
        return splits
    sample = np.zeros(n, dtype=bool)
    sample[np.random.default_rng(seed).permutation(n)[:most]] = True
    return [(fit_rows[sample[fit_rows]], rows[sample[rows]]) for fit_rows, rows in splits]


def _fit_and_score(
    family: Density, y: Array, a: Array, splits: Sequence[Split], seed: int
) -> tuple[float, list[Fitted]]:
    total, fits = 0.0, []
    for fit_rows, rows in splits:
        try:
            fitted = family.fit(y[fit_rows], a[fit_rows], seed)
        except (np.linalg.LinAlgError, ValueError):
            return -np.inf, []  # for example fewer rows than mixture components
        index = np.arange(len(rows))
        total += float(fitted.pairs(y[rows], a[rows]).log_density(index, index).sum())
        fits.append(fitted)
    return total, fits
