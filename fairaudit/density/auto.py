"""`density="auto"`: the family with the best held-out log-likelihood, found in few fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import fdtrc, ndtri

from fairaudit._types import Array, Index
from fairaudit.density.atoms import WithAtoms, find_atoms, mark_atoms
from fairaudit.density.bases import Basis, Quadratic, Smooth
from fairaudit.density.boosting import Boosting
from fairaudit.density.conditional_density import Density, Fitted
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.least_squares import OLS_PENALTY, fit_ridge
from fairaudit.density.mixture import Mixture
from fairaudit.errors import InputError
from fairaudit.geometry.ranks_and_moments import kurtosis, skewness

__all__ = ["Auto", "Choice"]

_FOLDS = 5
_MOST_ROWS = 5_000  # the choice is made on at most this many
_MOST_FITTED = 100_000  # rows that the winner is fitted to
_FINALISTS = 3
_AS_GOOD = 1.0  # log-likelihood of all held-out rows: a difference that is no evidence
_MANY_ROWS = 2_000  # from here on the costliest families are tried too
_ROWS_PER_PARAMETER = 6  # a mixture of k components needs this many rows per mean
_FEW_COLUMNS = 3  # up to here least squares needs no penalty
_POSSIBLY, _CLEARLY = 0.04, 0.01  # levels of the checks that ask for costlier families
_SKEWNESS, _KURTOSIS = 0.3, 0.4  # of normal scores, that ask for them
_FARTHEST_SCORE = 3.0

Split = tuple[Index, Index]  # rows to fit on, rows to score


@dataclass(frozen=True, slots=True)
class Choice:
    """The family that won, its fit on every split, and all scores.

    `scores` are mean held-out log-likelihoods per row, by family: over all splits, or over the
    first one for costly families that fell behind there.
    """

    family: Density
    fits: list[Fitted]
    scores: dict[str, float]


@dataclass(slots=True, eq=False, kw_only=True)
class _Tried:
    """A family on the splits so far."""

    family: Density
    fits: list[Fitted] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)  # held-out log-likelihoods, by split
    failed: bool = False

    @property
    def total(self) -> float:
        return -np.inf if self.failed else sum(self.gains)


@dataclass(slots=True, eq=False, kw_only=True)
class _Search:
    """Held-out log-likelihoods of families, in the order in which they were tried."""

    y: Array
    a: Array
    splits: Sequence[Split]
    seed: int
    tried: list[_Tried] = field(default_factory=list)
    behind: list[_Tried] = field(default_factory=list)  # seen on the first split only

    def add(self, *families: Density) -> None:
        """Score on all splits."""
        known = [trial.family for trial in self.tried]
        for family in families:
            if family not in known:
                self.tried.append(self._continue(_Tried(family=family), len(self.splits)))

    def add_best(self, families: Sequence[Density]) -> None:
        """Score on the first split, and on all those that do best there."""
        trials = [self._continue(_Tried(family=family), 1) for family in families]
        trials.sort(key=lambda trial: -trial.total)
        self.tried += [self._continue(trial, len(self.splits)) for trial in trials[:_FINALISTS]]
        self.behind += trials[_FINALISTS:]

    def _continue(self, trial: _Tried, splits: int) -> _Tried:
        for fit_rows, rows in self.splits[len(trial.fits) : splits]:
            try:
                fitted = trial.family.fit(self.y[fit_rows], self.a[fit_rows], self.seed)
            except (np.linalg.LinAlgError, ValueError):
                trial.failed = True  # for example fewer rows than mixture components
                break
            index = np.arange(len(rows))
            pairs = fitted.pairs(self.y[rows], self.a[rows])
            trial.gains.append(float(pairs.log_density(index, index).sum()))
            trial.fits.append(fitted)
        return trial

    @property
    def best(self) -> _Tried:
        """The first of those that are about as good as the best."""
        most = max(trial.total for trial in self.tried)
        return next(trial for trial in self.tried if trial.total >= most - _AS_GOOD)

    def scores(self) -> dict[str, float]:
        sizes = np.cumsum([len(rows) for _, rows in self.splits])
        return {
            trial.family.name: float(sum(trial.gains) / sizes[len(trial.gains) - 1])
            for trial in (*self.behind, *self.tried)
            if not trial.failed
        }

    def lacks(self) -> bool:
        """Whether held-out rows leave a doubt that the best density so far is right.

        It already needs a changing spread or an estimated shape; or its normal scores z are
        skewed or heavy-tailed; or their mean, spread, skewness or kurtosis depend on the
        attributes.
        """
        family = self.best.family
        if (
            getattr(family, "heteroscedastic", False)
            or getattr(family, "residuals", "") == "kernel"
        ):
            return True
        fits, scores = self.best.fits, []
        for fitted, (_, rows) in zip(fits, self.splits, strict=True):
            pit = fitted.pairs(self.y[rows], self.a[rows]).pit()
            if pit is None:
                return True
            scores.append(ndtri(np.clip(pit, 1e-12, 1 - 1e-12)))
        z = np.clip(np.concatenate(scores), -_FARTHEST_SCORE, _FARTHEST_SCORE)
        if abs(skewness(z)) > _SKEWNESS or abs(kurtosis(z)) > _KURTOSIS:
            return True
        a = self.a[np.concatenate([rows for _, rows in self.splits])]
        moments = (z, z**2, z**3 - 3 * z, z**4 - 6 * z**2)
        bases: list[tuple[Basis, float]] = [(Quadratic(), _POSSIBLY)]
        if a.shape[1] <= _FEW_COLUMNS:
            bases.append((Smooth(a, self.seed), _CLEARLY))
        tests = [(basis(a), level) for basis, level in bases]
        return any(_depends_on(x, moment) < level for x, level in tests for moment in moments)


@dataclass(frozen=True, slots=True)
class Auto:
    """Choose a family by held-out log-likelihood.

    With cross-fitting the folds of the test serve for the choice too: one family for all folds.

    Parameters
    ----------
    families : sequence of densities, optional
        These and no others. By default regressions with linear means, selected products and
        hinges, the logarithm or normal scores of the outcome, changing spread, kernel estimates
        of the residuals; and where held-out rows show that all of these are wrong, smooth
        regressions, mixtures and boosting. Outcomes that a tenth of the rows share have their
        own probabilities.
    patient : bool
        Whether the costly families are tried. Where they would be, an impatient choice refuses:
        another law of copies can do without a density.
    """

    families: Sequence[Density] | None = None
    patient: bool = True

    name = "auto"

    def choose(self, y: Array, a: Array, splits: Sequence[Split], seed: int) -> Choice:
        """Keep the family that predicts held-out rows best."""
        some = _thin_splits(_MOST_ROWS, len(y), splits, seed)
        atoms = find_atoms(y) if self.families is None else y[:0]
        others = mark_atoms(y, atoms) == 0
        inner = [(fit_rows[others[fit_rows]], rows[others[rows]]) for fit_rows, rows in some]
        search = _Search(y=y, a=a, splits=inner, seed=seed)
        if self.families is None:
            _try_regressions(search)
            if search.lacks():
                if not self.patient:
                    raise InputError(
                        "regressions of the outcome leave a pattern in its spread or shape"
                    )
                search.add_best(_list_costly(a))
        else:
            search.add(*self.families)
        best = search.best
        family, fits = best.family, best.fits
        if len(atoms):
            wrapped = WithAtoms(family, atoms)
            family = wrapped
            if some is splits:
                fits = [
                    wrapped.join(fitted, y[fit_rows], a[fit_rows])
                    for fitted, (fit_rows, _) in zip(best.fits, splits, strict=True)
                ]
        if some is not splits:
            many = _thin_splits(_MOST_FITTED, len(y), splits, seed)
            fits = [family.fit(y[fit_rows], a[fit_rows], seed) for fit_rows, _ in many]
        return Choice(family, fits, search.scores())

    def fit(self, y: Array, a: Array, seed: int) -> Fitted:
        """Choose by five-fold cross-validation, then fit the winner to all rows."""
        folds = min(_FOLDS, len(y))
        fold = np.random.default_rng(seed).permutation(len(y)) % folds
        splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(folds)]
        return self.choose(y, a, splits, seed).family.fit(y, a, seed)


def _try_regressions(search: _Search) -> None:
    """Mean, transform, spread and shape one after the other, each on the best so far."""
    wide = search.a.shape[1] > _FEW_COLUMNS
    search.add(Gaussian("ols"), *([Gaussian("ridge")] if wide else []), Gaussian("selected"))
    plain = search.best.family
    transforms = ["log"] if search.y.min() > 0 else []
    for transform in (*transforms, "scores"):
        search.add(Gaussian("selected", transform=transform))
    for family in {plain.name: plain, search.best.family.name: search.best.family}.values():
        if isinstance(family, Gaussian):
            search.add(
                replace(family, heteroscedastic=True),
                replace(family, residuals="kernel"),
                replace(family, heteroscedastic=True, residuals="kernel"),
            )


def _list_costly(a: Array) -> list[Density]:
    n, width = a.shape
    families: list[Density] = [
        Gaussian("selected", heteroscedastic=True, residuals="grouped"),
        Gaussian("smooth", heteroscedastic=True),
        Gaussian("smooth", heteroscedastic=True, residuals="kernel"),
        Gaussian("smooth", heteroscedastic=True, residuals="kernel", transform="scores"),
    ]
    sizes = (k for k in (2, 4, 8) if k * (width + 1) * _ROWS_PER_PARAMETER <= n)
    families += [Mixture(k) for k in sizes]
    if n >= _MANY_ROWS:
        families.append(Boosting())
    return families


def _depends_on(x: Array, values: Array) -> float:
    """p-value of the F test that no column helps to explain the values."""
    fit = fit_ridge(x, values, OLS_PENALTY)
    left = float(((values - fit.fitted) ** 2).sum())
    total = float(((values - values.mean()) ** 2).sum())
    used, free = fit.used - 1, len(values) - fit.used
    if free <= 0 or used <= 0 or left <= 0:
        return 1.0
    return float(fdtrc(used, free, (total - left) / used / (left / free)))


def _thin_splits(most: int, n: int, splits: Sequence[Split], seed: int) -> Sequence[Split]:
    """The splits, thinned to `most` rows in all where there are more."""
    if n <= most:
        return splits
    sample = np.zeros(n, dtype=bool)
    sample[np.random.default_rng(seed).permutation(n)[:most]] = True
    return [(fit_rows[sample[fit_rows]], rows[sample[rows]]) for fit_rows, rows in splits]
