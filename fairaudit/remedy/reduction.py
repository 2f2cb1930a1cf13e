"""The exponentiated-gradient reduction to weighted classification, by fairlearn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from fairaudit._types import Array
from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.remedy.gerryfair import Mixture
from fairaudit.remedy.inputs import seed_of, sensitive_columns
from fairaudit.remedy.validation import validate_data

__all__ = ["ReductionClassifier"]

_NEWTON = 1000  # features up to which logistic regression is fitted by Newton's method


class ReductionClassifier(MetaEstimatorMixin, Mixture):
    """A mixture of classifiers with bounded differences of the rates between groups.

    Wraps `fairlearn.reductions.ExponentiatedGradient` with `EqualizedOdds`. Prediction does not
    need fairlearn.

    Parameters
    ----------
    difference_bound : float
        Largest difference of a group's true or false positive rate from that of all rows.
    estimator : classifier, optional
        Takes sample weights; `LogisticRegression` unless given. With an estimator of your own
        `X` goes to it as it is, so that frames with text are possible.
    eps : float
        The multipliers add up to 1/eps at most. fairlearn promises violations of at most
        the bound plus 2 (eps + gap), in the training rows.
    max_iter : int
    sample_weight_name : str
        Name of the estimator's argument, such as ``"svc__sample_weight"`` in a pipeline.
    random_state : int, numpy generator or None
        Of the estimators, unless they have one.

    Attributes
    ----------
    estimators_ : list
        Fitted classifiers of codes 0 and 1, those with a positive weight.
    weights_ : array
        Their probabilities.
    gap_ : float
        Duality gap of the solution.
    n_iter_ : int
        Rounds that were played.
    n_features_in_, feature_names_in_, classes_ : as usual

    Notes
    -----
    Several attributes are crossed into one. They must be categorical. There is no `sample_weight`
    or `class_weight`: the reduction works by weights of the rows, and fairlearn takes no others.

    References
    ----------
    Agarwal, Beygelzimer, Dudík, Langford & Wallach (2018). A reductions approach to fair
    classification. ICML.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 400))
    >>> X = np.column_stack([y + rng.normal(size=400), sex + 0.3 * rng.normal(size=400) + y / 2])
    >>> model = ReductionClassifier(0.02, max_iter=10).fit(X, y, sensitive_features={"sex": sex})
    >>> model.predict_proba(X).shape
    (400, 2)
    """

    def __init__(
        self,
        difference_bound: float = 0.05,
        estimator: Any = None,
        *,
        eps: float = 0.01,
        max_iter: int = 50,
        sample_weight_name: str = "sample_weight",
        random_state: Any = 0,
    ) -> None:
        self.difference_bound = difference_bound
        self.estimator = estimator
        self.eps = eps
        self.max_iter = max_iter
        self.sample_weight_name = sample_weight_name
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> ReductionClassifier:
        """Train on features `X`, outcome `y` of two classes and categorical attributes."""
        if not self.difference_bound >= 0 or not self.eps > 0 or self.max_iter < 1:
            raise InputError(
                "'difference_bound' must be at least 0, 'eps' positive and 'max_iter' at least 1."
            )
        try:
            from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient
        except ImportError:
            raise MissingDependencyError(
                "ReductionClassifier needs fairlearn: pip install fairlearn"
            ) from None
        values, target = self._learn_data(X, y)
        codes = self._codes(np.asarray(target)).astype(np.int64)
        groups = self._groups(sensitive_features, len(codes))
        solver = ExponentiatedGradient(
            self._base(np.shape(values)[1]),
            EqualizedOdds(difference_bound=self.difference_bound),
            eps=self.eps,
            max_iter=self.max_iter,
            sample_weight_name=self.sample_weight_name,
        )
        from scipy.linalg import LinAlgWarning

        with warnings.catch_warnings():  # fairlearn's about pandas; after the last comes lbfgs
            warnings.filterwarnings("ignore", category=DeprecationWarning, module="fairlearn")
            warnings.filterwarnings("ignore", category=FutureWarning, module="fairlearn")
            warnings.filterwarnings("ignore", category=LinAlgWarning)
            solver.fit(values, codes, sensitive_features=groups)
        places = [place for place, weight in solver.weights_.items() if weight > 0]
        self.estimators_ = [solver.predictors_[place] for place in places]
        weights = np.array([float(solver.weights_[place]) for place in places])
        self.weights_ = weights / weights.sum()
        self.gap_ = float(solver.best_gap_)
        self.n_iter_ = int(solver.last_iter_) + 1
        return self

    def _learn_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Numbers for the default estimator; otherwise what the caller passed."""
        if self.estimator is None:
            return self._learn_features(X, y)
        values, target = validate_data(self, X, y, skip_check_array=True)
        return values, target

    def _base(self, features: int) -> Any:
        if self.estimator is None:
            from sklearn.linear_model import LogisticRegression

            # Newton's steps need no features of one scale; their cost is cubic in the features
            solver = "newton-cholesky" if features <= _NEWTON else "lbfgs"
            return LogisticRegression(max_iter=1000, solver=solver)
        base, seed = clone(self.estimator), seed_of(self.random_state)
        unset = {
            name: seed
            for name, value in base.get_params().items()
            if name.rpartition("__")[2] == "random_state" and value is None
        }
        return base.set_params(**unset)

    def _groups(self, sensitive_features: Any, n: int) -> Array:
        attributes = sensitive_columns(sensitive_features, n, self)
        numbers = [column for column in attributes if not column.kind.is_categorical]
        if numbers:
            named = ", ".join(f"{column.name!r} ({column.kind})" for column in numbers)
            raise InputError(
                f"ReductionClassifier needs categorical attributes. Bin these first, or pass codes "
                f"as text: {named}."
            )
        return np.asarray(find_tied_blocks(attributes, n).of_row)

    def _share(self, X: Any) -> Array:
        check_is_fitted(self, "weights_")
        values = (
            self._features(X)
            if self.estimator is None
            else validate_data(self, X, reset=False, skip_check_array=True)
        )
        votes = np.column_stack([estimator.predict(values) for estimator in self.estimators_])
        return np.clip(votes @ self.weights_, 0.0, 1.0)
