"""What boosting is given: features with gaps and categories, weights, parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.errors import InputError
from fairaudit.remedy.validation import validate_data

__all__ = ["check_features", "check_settings", "check_weights", "learner_params"]

#: Names that the estimators have as parameters of their own, by what the learners call them.
_OWN = {
    "rounds": ("n_estimators", "num_iterations", "num_boost_round", "num_rounds", "n_iter"),
    "learning_rate": ("learning_rate", "eta", "shrinkage_rate"),
    "random_state": ("random_state", "seed", "random_seed"),
    "n_jobs": ("n_jobs", "nthread", "num_threads", "num_thread", "nthreads"),
}
_REFUSED = ("objective", "num_class", "base_score", "boost_from_average")
_NAMES = {
    "lightgbm": ("learning_rate", "seed", "num_threads"),
    "xgboost": ("eta", "seed", "nthread"),
}


def check_features(estimator: Any, X: Any, y: Any = None) -> tuple[Any, Any]:
    """Numbers that may be missing, or a pandas frame if some of its columns are categories."""
    reset = y is not None
    if any(str(kind) == "category" for kind in getattr(X, "dtypes", ())):
        if reset:
            validate_data(estimator, X, skip_check_array=True)
        else:
            validate_data(estimator, X, reset=False, skip_check_array=True)
        for name, kind in X.dtypes.items():
            if kind.kind == "O" and str(kind) != "category":
                raise InputError(
                    f"Column {name!r} of X holds text. Give it the type 'category', or encode it.",
                    column=str(name),
                )
        # names that no learner minds
        features = X.set_axis([f"x{k}" for k in range(X.shape[1])], axis=1)
        return features, None if y is None else _target(y, len(X))
    how = {"dtype": np.float64, _finite(): "allow-nan"}
    if reset:
        return tuple(validate_data(estimator, X, y, y_numeric=False, **how))  # type: ignore[return-value]
    return validate_data(estimator, X, reset=False, **how), None


def _finite() -> str:
    """The parameter of `validate_data`, which scikit-learn 1.6 has renamed."""
    from inspect import signature

    from sklearn.utils import check_array

    new = "ensure_all_finite"
    return new if new in signature(check_array).parameters else "force_all_finite"


def _target(y: Any, n: int) -> Array:
    from sklearn.utils import column_or_1d

    target = column_or_1d(y)
    if len(target) != n:
        raise InputError(f"y has {len(target)} rows, X has {n}. Pass one per row of X.")
    return np.asarray(target)


def check_weights(sample_weight: Any, n: int) -> Array:
    """Weights of the rows, 1 unless given."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise InputError(
            f"'sample_weight' must have one number per row ({n}). Got {weights.shape}.",
            argument="sample_weight",
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.sum() == 0:
        raise InputError(
            "'sample_weight' must be finite, not negative, and positive somewhere.",
            argument="sample_weight",
        )
    return weights


def check_settings(estimator: Any) -> None:
    """Refuse settings that cannot be used, each in one line."""
    rounds, rate, folds = estimator.rounds, estimator.learning_rate, estimator.folds
    share, ramp = estimator.validation_fraction, estimator.ramp
    wrong = None
    if not isinstance(rounds, (int, np.integer)) or rounds < 1:
        wrong = "rounds", f"must be a whole number of at least 1. Got {rounds!r}."
    elif not 0 < rate <= 1:
        wrong = "learning_rate", f"must be above 0 and at most 1. Got {rate!r}."
    elif folds != "auto" and (not isinstance(folds, (int, np.integer)) or folds < 0 or folds == 1):
        wrong = "folds", f"must be 'auto', 0, or a whole number of at least 2. Got {folds!r}."
    elif not 0 <= share < 1:
        wrong = "validation_fraction", f"must be at least 0 and below 1. Got {share!r}."
    elif len(ramp) != 2 or not 0 <= ramp[0] <= ramp[1] <= 1:
        wrong = "ramp", f"must be two shares between 0 and 1 that do not fall. Got {ramp!r}."
    if wrong is not None:
        raise InputError(f"'{wrong[0]}' {wrong[1]}", argument=wrong[0])


def learner_params(estimator: Any, seed: int) -> dict[str, Any]:
    """The parameters under the names of the learner."""
    given = dict(estimator.params or {})
    for own, others in _OWN.items():
        for name in others:
            if name in given:
                raise InputError(
                    f"'params' holds {name!r}; that is the parameter {own!r} of "
                    f"{type(estimator).__name__}.",
                    argument="params",
                )
    for name in _REFUSED:
        if name in given:
            raise InputError(
                f"'params' holds {name!r}, which the estimator decides itself. Leave it out.",
                argument="params",
            )
    rate, random, threads = _NAMES.get(estimator.learner, _NAMES["lightgbm"])
    fixed = {rate: estimator.learning_rate, random: seed, threads: estimator.n_jobs}
    same = {"deterministic": True, "force_row_wise": True}  # numbers for the same seed
    return (same if estimator.learner == "lightgbm" else {}) | given | fixed
