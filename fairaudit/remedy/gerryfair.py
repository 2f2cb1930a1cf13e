"""Learning without gerrymandering: error rates of all linear-threshold subgroups at once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fairaudit._types import Array
from fairaudit.data.encode import encode
from fairaudit.errors import InputError
from fairaudit.remedy.inputs import Features, class_weights, row_weights, seed_of, sensitive_columns
from fairaudit.remedy.outcomes import class_codes

__all__ = ["GerryFairClassifier", "Mixture"]


class Mixture(Features, ClassifierMixin, BaseEstimator):
    """A classifier of two classes that mixes rules."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _codes(self, y: Array) -> Array:
        """The outcome as 0 and 1."""
        self.classes_, codes = class_codes(self, y)
        if len(self.classes_) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is multiclass. "
                f"{type(self).__name__} needs an outcome of two classes. "
                f"Got {len(self.classes_)}: compare one of them with the rest."
            )
        return np.asarray(codes, dtype=np.float64)

    def _share(self, X: Any) -> Array:
        """The share of rules that predict the second class."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Array:
        """Probabilities with which the mixture predicts the classes in `classes_`."""
        share = self._share(X)
        return np.column_stack([1 - share, share])

    def predict(self, X: Any, random_state: Any = None) -> Array:
        """The class that most of the mixture predicts, or a draw from it.

        Fairness was learned, and is bounded, for the randomized rule. Pass `random_state` (an int
        or a numpy Generator) to apply that rule; without, the prediction is deterministic and its
        violation may be larger.
        """
        share = self._share(X)
        cut: Any = 0.5
        if random_state is not None:
            cut = 1 - np.random.default_rng(random_state).random(len(share))  # in (0, 1]
        return np.asarray(self.classes_[(share >= cut).astype(np.intp)])


class GerryFairClassifier(Mixture):
    """A classifier whose false positive (or negative) rate is even over linear subgroups.

    Learner and auditor play against each other. The auditor looks for the subgroup
    1[w · a + b > 0] of the sensitive attributes with the largest violation, by least squares on
    the excess errors of the mixture so far; the learner answers with the linear rule of least
    cost, errors in the subgroups found so far being dearer or cheaper. The classifier is the
    uniform mixture of the rules of all rounds.

    Parameters
    ----------
    gamma : float
        Largest violation P(g, Y = 0) · |P(Ŷ = 1 | g, Y = 0) − P(Ŷ = 1 | Y = 0)| to tolerate.
    C : float
        The auditor's budget: how much dearer errors in a subgroup can get. Too small a budget
        cannot change the rules.
    rounds : int
        One is played if the plain rule is within `gamma`. Otherwise all are: the first mixture
        within `gamma` is far less accurate than later ones.
    rates : {"FP", "FN"}
    estimator : regressor, optional
        Predicts costs from features; least squares in closed form unless given.
    random_state : int, numpy generator or None
        Of the regressors. Least squares needs none.
    class_weight : dict, "balanced" or None
        How much an error in a class costs the learner.

    Attributes
    ----------
    coef_, intercept_ : array
        Of the cost that every round's rule expects; a cost below 0 means a positive prediction
        for ``"FP"``, a negative one for ``"FN"``.
    estimators_ : list
        The regressors of all rounds, if `estimator` was given.
    n_rounds_ : int
        Rounds in the mixture: of all mixtures within `gamma` the one with the smallest error. If
        none was, there is a ConvergenceWarning, and it is the one with the smallest violation.
    violation_ : float
        That the auditor finds for the mixture on the training rows.
    history_ : list of dict
        Error and violation after every round.
    encoder_ : transformer or None
        Of features with text, categories or gaps.
    n_features_in_, feature_names_in_, classes_ : as usual

    Notes
    -----
    A round takes O(rows × features) time. The authors' code reads the membership of the first
    negative row for all rows when it updates the costs; here every row has its own. `sample_weight`
    in `fit` counts for learner and auditor; a regressor of your own must take it. There is no warm
    start: the classifier is the mixture of all rounds of one game.

    References
    ----------
    Kearns, Neel, Roth & Wu (2018). Preventing fairness gerrymandering: auditing and learning for
    subgroup fairness. ICML.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 400))
    >>> X = np.column_stack([y + rng.normal(size=400), sex + 0.3 * rng.normal(size=400) + y / 2])
    >>> model = GerryFairClassifier(gamma=0.01).fit(X, y, sensitive_features={"sex": sex})
    >>> bool(model.violation_ <= 0.01)
    True
    """

    class_weight: Any = None  # of files that earlier versions have saved

    def __init__(
        self,
        gamma: float = 0.01,
        *,
        C: float = 10.0,
        rounds: int = 500,
        rates: str = "FP",
        estimator: Any = None,
        random_state: Any = 0,
        class_weight: Any = None,
    ) -> None:
        self.gamma = gamma
        self.C = C
        self.rounds = rounds
        self.rates = rates
        self.estimator = estimator
        self.random_state = random_state
        self.class_weight = class_weight

    def fit(
        self, X: Any, y: Any, sensitive_features: Any = None, sample_weight: Any = None
    ) -> GerryFairClassifier:
        """Train on features `X`, outcome `y` of two classes and any sensitive attributes."""
        self._check()
        values, target = self._learn_features(X, y)
        attributes = sensitive_columns(sensitive_features, len(values), self)
        codes = self._codes(target)
        event = codes if self.rates == "FP" else 1 - codes  # what is right to predict
        weights = row_weights(sample_weight, len(values))
        costs = class_weights(self.class_weight, target, weights)
        learner = _Learner(self, values, costs)
        auditor = _Auditor(encode(attributes), event == 0, weights)
        self.history_ = self._play(learner, auditor, event)
        self.n_rounds_, self.violation_ = self._chosen()
        self.coef_: Any = None
        self.intercept_: Any = None
        self.estimators_: Any = None
        if self.estimator is None:
            table = np.array(learner.rules[: self.n_rounds_])
            self.intercept_, self.coef_ = table[:, 0].copy(), table[:, 1:].copy()
        else:
            self.estimators_ = learner.rules[: self.n_rounds_]
        return self

    def _check(self) -> None:
        if self.rates not in ("FP", "FN"):
            raise InputError(f"The 'rates' parameter must be 'FP' or 'FN'. Got {self.rates!r}.")
        if not self.gamma >= 0 or not self.C > 0:
            raise InputError(
                f"'gamma' must be at least 0 and 'C' positive. Got {self.gamma!r}, {self.C!r}."
            )
        if self.rounds < 1:
            raise InputError(f"The 'rounds' parameter must be at least 1. Got {self.rounds!r}.")

    def _play(self, learner: _Learner, auditor: _Auditor, event: Array) -> list[dict[str, float]]:
        """Fictitious play: both answer the average of what the other has played."""
        plain = 1 - 2 * event
        played, mixture = np.zeros(len(event)), np.zeros(len(event))
        history: list[dict[str, float]] = []
        for number in range(1, self.rounds + 1):
            answer = learner.respond(plain + (self.C / max(number - 1, 1)) * played)
            mixture += (answer - mixture) / number
            error = float(np.average(np.abs(mixture - event), weights=auditor.weights))
            violation, costs = auditor.respond(mixture)
            history.append({"error": error, "violation": violation})
            if violation > self.gamma:
                played += costs
            elif number == 1:
                break  # the auditor has nothing against plain training
        return history

    def _chosen(self) -> tuple[int, float]:
        errors = np.array([look["error"] for look in self.history_])
        violations = np.array([look["violation"] for look in self.history_])
        within = violations <= self.gamma
        if within.any():
            place = int(np.argmin(np.where(within, errors, np.inf)))
        else:
            place = int(np.argmin(violations))
            warnings.warn(
                f"No mixture came within gamma={self.gamma:g} in {len(errors)} rounds; the "
                f"smallest violation is {violations[place]:.2g}. Raise 'rounds', 'C' or 'gamma'.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return place + 1, float(violations[place])

    def _share(self, X: Any) -> Array:
        check_is_fitted(self, "n_rounds_")
        values = self._features(X)
        if self.estimators_ is None:
            below = (values @ self.coef_.T + self.intercept_ < 0).mean(axis=1)
        else:
            below = np.mean([rule.predict(values) < 0 for rule in self.estimators_], axis=0)
        return np.asarray(below if self.rates == "FP" else 1 - below, dtype=np.float64)


class _Learner:
    """Rules of least expected cost: predict 1 where the regression of its cost is below 0."""

    def __init__(self, remedy: GerryFairClassifier, values: Array, weights: Array | None) -> None:
        self.remedy, self.values, self.weights = remedy, values, weights
        self.seed = seed_of(remedy.random_state)
        self.rules: list[Any] = []
        if remedy.estimator is None:
            self.center = np.average(values, axis=0, weights=weights)
            self.inverse = _weighted_inverse(values - self.center, weights)

    def respond(self, costs: Array) -> Array:
        """The rule's predictions on the training rows."""
        if self.remedy.estimator is not None:
            rule = clone(self.remedy.estimator)
            if "random_state" in rule.get_params():
                rule.set_params(random_state=self.seed + len(self.rules))
            counted = {} if self.weights is None else {"sample_weight": self.weights}
            self.rules.append(rule.fit(self.values, costs, **counted))
            return np.asarray(rule.predict(self.values) < 0, dtype=np.float64)
        slopes = self.inverse @ costs
        level = float(np.average(costs, weights=self.weights) - self.center @ slopes)
        self.rules.append(np.concatenate([[level], slopes]))
        return (self.values @ slopes + level < 0).astype(np.float64)


class _Auditor:
    """The subgroup with the largest violation that least squares finds."""

    def __init__(self, encoded: Array, rows: Array, weights: Array | None) -> None:
        self.rows = np.flatnonzero(rows)
        self.n = len(encoded)
        self.weights = weights
        self.inside = None if weights is None else weights[self.rows]
        inside = encoded[self.rows]
        self.centered = inside - np.average(inside, axis=0, weights=self.inside)
        self.inverse = _weighted_inverse(self.centered, self.inside)

    def respond(self, mixture: Array) -> tuple[float, Array]:
        """The violation, and what it adds to the costs of predicting 1.

        The group and its complement have the same violation and the same costs, so that one
        regression does for both signs.
        """
        rates = mixture[self.rows]
        excess = (rates - np.average(rates, weights=self.inside)) / self.n
        group = self.centered @ (self.inverse @ excess) < 0
        total = float((excess if self.inside is None else excess * self.inside)[group].sum())
        costs = np.zeros(self.n)
        costs[self.rows] = -np.sign(total) * (np.average(group, weights=self.inside) - group)
        return abs(total), costs


def _weighted_inverse(values: Array, weights: Array | None) -> Array:
    """What gives the slopes of weighted least squares: slopes = inverse @ target."""
    if weights is None:
        return np.asarray(np.linalg.pinv(values))
    root = np.sqrt(weights)
    return np.asarray(np.linalg.pinv(values * root[:, None]) * root)
