"""Boosted trees towards equalized odds: the objective of FairICP by custom gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.errors import InputError
from fairaudit.permute.icp import ICP
from fairaudit.remedy.attribute_residuals import attribute_residuals
from fairaudit.remedy.base import Classes, Numbers, sensitive_columns
from fairaudit.remedy.boosting_rounds import raw_scores, tables_for
from fairaudit.remedy.boosting_rows import (
    check_features,
    check_settings,
    check_weights,
    learner_params,
)
from fairaudit.remedy.boosting_training import Part, Task, train
from fairaudit.remedy.dependence_gradient import WeightedDependence
from fairaudit.remedy.estimators import draw_permuted
from fairaudit.remedy.inputs import FitsPath

__all__ = ["FairICPBoostingClassifier", "FairICPBoostingRegressor"]

_FEW_ROWS = 5000  # below, boosters are cross-fitted, and fine features would be mostly noise
_FOLDS = 3


class _Boosting(FitsPath, BaseEstimator):
    """Boosted trees trained for a small loss and for equalized odds.

    Parameters
    ----------
    mu : float in [0, 1]
        Weight of equalized odds; 0 is plain boosting.
    learner : {"lightgbm", "xgboost"}
        Whose trees; install it with the extra ``boost``.
    rounds : int
        Trees, for more than two classes of each class.
    learning_rate : float
    params : dict, optional
        Further parameters under the learner's own names, as ``{"num_leaves": 15}``.
    ramp : (float, float)
        Shares of the rounds after which the penalty begins to count, and counts in full.
    folds : int or "auto"
        Boosters, each trained without one fold of the rows; the prediction has the mean of their
        scores. Dependence and the number of rounds then come from scores of rows that a booster
        has not seen. 0: one booster. ``"auto"``: 3 below 5,000 rows, otherwise one; one too with
        ``validation_fraction=0``.
    density : str or density
        Law behind the conditional copies of a continuous outcome.
    validation_fraction : float
        Rows on which the number of rounds is chosen, by (1 − μ) loss + 1.5 μ ρ², without folds.
        0 keeps all.
    random_state : int, RandomState or None
    n_jobs : int

    Attributes
    ----------
    boosters_ : list of boosters of the learner
        One, or one per fold.
    base_ : array
        Scores that all rows begin with.
    rounds_ : int
        Rounds that are kept.
    history_ : list of dict
        Loss, dependence ρ² and criterion on the held-out rows.
    n_features_in_, feature_names_in_, classes_ : as usual

    Notes
    -----
    The objective is (1 − μ) loss + 1.5 μ ρ², with the cross-entropy or half the squared error
    (times two) as loss and ρ² the share of the prediction's variation given the outcome that the
    attributes explain. The gradient of ρ² by the scores is exact; its second derivative is
    replaced by a bound, so that no step goes too far. Features may be missing; columns of type
    ``category`` of a pandas frame are split as categories. Trees see only `X`: put the sensitive
    attributes among its columns if predictions may use them.
    """

    def __init__(
        self,
        mu: float = 0.7,
        *,
        learner: str = "lightgbm",
        rounds: int = 150,
        learning_rate: float = 0.1,
        params: Mapping[str, Any] | None = None,
        ramp: tuple[float, float] = (0.1, 0.3),
        folds: int | str = "auto",
        density: Any = "auto",
        validation_fraction: float = 0.1,
        random_state: Any = 0,
        n_jobs: int = 1,
    ) -> None:
        self.mu = mu
        self.learner = learner
        self.rounds = rounds
        self.learning_rate = learning_rate
        self.params = params
        self.ramp = ramp
        self.folds = folds
        self.density = density
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs

    _outcome: Callable[[Array], tuple[Column, Array, int]]

    def fit_path(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        mus: Sequence[float],
        *,
        sample_weight: Any = None,
    ) -> list[_Boosting]:
        """Fitted copies of this estimator for every μ, on data binned once; the first is `self`."""
        for mu in mus:
            if not 0 <= mu <= 1:
                raise InputError(f"'mu' must lie in [0, 1]. Got {mu!r}.", argument="mu")
        check_settings(self)
        task = self._task(X, y, sensitive_features, sample_weight)
        fitted: list[_Boosting] = [self, *(copy.copy(self) for _ in mus[1:])]
        for estimator, mu in zip(fitted, mus, strict=True):
            estimator.mu = mu
            estimator._keep(task)
        return fitted

    def _task(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Task:
        features, target = check_features(self, X, y)
        n = len(target)
        attributes = sensitive_columns(sensitive_features, n, self)
        weights = check_weights(sample_weight, n)
        outcome, numbers, classes = self._outcome(target)
        seed = _seed(self.random_state)
        draw = None
        if not classes:
            encoded = encode(attributes)
            draw = draw_permuted(ICP(self.density), outcome, attributes, encoded, seed)
        residuals = attribute_residuals(
            outcome, attributes, draw, seed, weights, fine=n >= _FEW_ROWS
        )
        base = _base_scores(numbers, weights, classes)
        params = learner_params(self, seed)
        parts = tuple(
            Part(
                train=train,
                aside=aside,
                tables=tables_for(
                    self.learner,
                    _rows(features, train),
                    _rows(features, aside) if len(aside) else None,
                    base=base,
                    params=params,
                ),
            )
            for train, aside in self._split(n, seed)
        )
        if len(parts) > 1:
            penalty = WeightedDependence(residuals, weights)
            check: WeightedDependence | None = penalty
        else:
            train, aside = parts[0].train, parts[0].aside
            penalty = WeightedDependence(residuals.take(train), weights[train])
            check = (
                WeightedDependence(residuals.take(aside), weights[aside]) if len(aside) else None
            )
        return Task(
            parts=parts,
            y=numbers,
            classes=classes,
            base=base,
            penalty=penalty,
            check=check,
            rounds=self.rounds,
            rate=self.learning_rate,
            ramp=self.ramp,
        )

    def _split(self, n: int, seed: int) -> list[tuple[Index, Index]]:
        """Rows of every booster, and those aside."""
        order = np.random.default_rng(seed).permutation(n)
        count = self._folds(n)
        if count > 1:
            folds = [np.sort(fold) for fold in np.array_split(order, count)]
            return [(np.setdiff1d(np.arange(n), fold), fold) for fold in folds]
        held = round(self.validation_fraction * n)
        if held and min(held, n - held) < 20:
            raise InputError(
                f"{n} rows are too few for a validation part of {self.validation_fraction:g}. "
                "Pass more rows, or validation_fraction=0.",
                argument="validation_fraction",
            )
        return [(np.sort(order[held:]), np.sort(order[:held]))]

    def _folds(self, n: int) -> int:
        if self.folds != "auto":
            return int(self.folds)
        return _FOLDS if n < _FEW_ROWS and self.validation_fraction > 0 else 0

    def _keep(self, task: Task) -> None:
        trained = train(task, self.mu)
        self.boosters_, self.rounds_ = trained.boosters, trained.rounds
        self.history_, self.base_ = trained.history, task.base

    def _raw(self, X: Any) -> Array:
        """Scores, rows × outputs."""
        check_is_fitted(self, "boosters_")
        features, _ = check_features(self, X)
        scores = [raw_scores(self.learner, b, features) for b in self.boosters_]
        return np.asarray(np.mean(scores, axis=0) + self.base_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class FairICPBoostingClassifier(Classes, _Boosting):
    """Boosted trees for classes, trained towards equalized odds.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 600))
    >>> X = np.column_stack([y + rng.normal(size=600), sex + 0.3 * rng.normal(size=600) + y / 2])
    >>> model = FairICPBoostingClassifier(mu=0.7, rounds=40)
    >>> model.fit(X, y, sensitive_features={"sex": sex}).predict_proba(X).shape
    (600, 2)
    """


class FairICPBoostingRegressor(Numbers, _Boosting):
    """Boosted trees for a continuous outcome, trained towards equalized odds."""


def _seed(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def _base_scores(y: Array, weights: Array, classes: int) -> Array:
    """The best constant score of every output."""
    if classes == 0:
        return np.array([np.average(y, weights=weights)])
    shares = np.array([weights[y == k].sum() for k in range(classes)]) / weights.sum()
    logs = np.log(np.clip(shares, 1e-12, 1))
    return logs[1:] - logs[:1] if classes == 2 else logs


def _rows(features: Any, rows: Index) -> Any:
    return features.iloc[rows] if hasattr(features, "iloc") else features[rows]


def _documented() -> None:
    """The parameters are those of `_Boosting`: say so where people look."""
    shared = (_Boosting.__doc__ or "").partition("\n\n")[2]
    for cls in (FairICPBoostingClassifier, FairICPBoostingRegressor):
        head, _, tail = (cls.__doc__ or "").partition("\n\n")
        cls.__doc__ = "\n\n".join(filter(None, [head.rstrip(), shared.rstrip(), tail]))


_documented()
