"""What the estimators take: features of any kind, weights, seeds; one line for what they cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairaudit._types import Array
from fairaudit.data.columns import Column, columns_from
from fairaudit.errors import InputError
from fairaudit.remedy.encoding import feature_columns, frame_to_encode, transformer_for
from fairaudit.remedy.validation import validate_data

__all__ = [
    "Features",
    "FitsPath",
    "Network",
    "TrainingRows",
    "class_weights",
    "row_weights",
    "seed_of",
    "sensitive_columns",
]

_One = TypeVar("_One", bound="FitsPath")


def sensitive_columns(sensitive_features: Any, n: int, estimator: Any) -> tuple[Column, ...]:
    """The sensitive attributes, checked."""
    if sensitive_features is None:
        raise InputError(
            f"{type(estimator).__name__}.fit needs the sensitive attributes: "
            "fit(X, y, sensitive_features=A).",
            argument="sensitive_features",
        )
    columns = columns_from(sensitive_features, argument="sensitive_features")
    for column in columns:
        if len(column) != n:
            raise InputError(
                f"sensitive_features has {len(column)} rows, X has {n}. Pass one per row of X.",
                argument="sensitive_features",
            )
        if len(column.levels) == 1:
            raise InputError(f"Sensitive column {column.name!r} has a single value.")
    return columns


def seed_of(random_state: Any) -> int:
    """A whole number stands for itself; None is a fresh seed, a generator gives its next one."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise InputError(
        f"'random_state' must be a whole number, None or a generator of numpy. "
        f"Got {random_state!r}.",
        argument="random_state",
    )


def row_weights(sample_weight: Any, n: int) -> Array | None:
    """Weights with mean 1; None for rows that count alike."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise InputError(
            f"sample_weight has the shape {weights.shape}, X has {n} rows. Pass one number per "
            "row.",
            argument="sample_weight",
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError(
            "sample_weight must have finite numbers of at least 0; not all may be zero.",
            argument="sample_weight",
        )
    return None if (weights == weights[0]).all() else weights / weights.mean()


def class_weights(class_weight: Any, y: Array, sample_weight: Array | None) -> Array | None:
    """Weights of the rows in the loss: those of people times those of their classes, mean 1."""
    if sample_weight is not None and len(np.unique(y[sample_weight > 0])) < 2:
        raise InputError(
            "The outcome has one class among the rows with a sample_weight above 0. Pass rows of "
            "at least two.",
            argument="sample_weight",
        )
    if class_weight is None:
        return sample_weight
    from sklearn.utils.class_weight import compute_sample_weight

    try:
        weights = compute_sample_weight(class_weight, y)
    except ValueError as error:
        raise InputError(
            f"'class_weight' cannot be used: {' '.join(str(error).split())}",
            argument="class_weight",
        ) from None
    return row_weights(weights if sample_weight is None else weights * sample_weight, len(y))


class FitsPath:
    """A model is trained as a path of one value of its parameter, whose name `_path_of` is."""

    _path_of = "mu"
    fit_path: Callable[..., Any]

    def fit(
        self: _One, X: Any, y: Any, sensitive_features: Any = None, sample_weight: Any = None
    ) -> _One:
        """Train on features `X`, outcome `y` and any number of sensitive attributes."""
        value = getattr(self, self._path_of)
        self.fit_path(X, y, sensitive_features, [value], sample_weight=sample_weight)
        return self


class Features:
    """Features as standardized numbers, in `fit` and in `predict`.

    A table with text, categories or gaps goes through the encoder of the remedy command
    (`encoder_`); numbers without gaps are taken as they are (`encoder_` is None).
    """

    encoder_: Any
    mean_: Array
    scale_: Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags

    def _learn_features(self, X: Any, y: Any, *, again: bool = False) -> tuple[Array, Array]:
        """Numbers, not standardized, and the outcome; `again` keeps the encoder that is there."""
        encoder = getattr(self, "encoder_", None) if again else None
        frame = frame_to_encode(X)
        if frame is None and encoder is None:
            values, target = validate_data(
                self, X, y, dtype=np.float64, y_numeric=False, reset=not again
            )
            self.encoder_ = None
        else:
            values, target = self._encoded(X, frame, y, encoder)
        if len(values) < 2:
            raise InputError("X has one sample (one row). Training needs more.", argument="X")
        return values, target

    def _encoded(self, X: Any, frame: Any, y: Any, encoder: Any) -> tuple[Array, Array]:
        from sklearn.utils.validation import check_array, column_or_1d

        if y is None:
            raise InputError(f"{type(self).__name__}.fit needs the outcome y.", argument="y")
        target = column_or_1d(y, warn=True)
        if target.dtype.kind == "f":
            check_array(target, ensure_2d=False, input_name="y")
        if len(target) != len(X):
            raise InputError(f"y has {len(target)} rows, X has {len(X)}.", argument="y")
        validate_data(self, X, reset=encoder is None, skip_check_array=True)
        if encoder is None:
            feature_columns(frame, ())
            encoder, _ = transformer_for(frame)
            encoder.fit(frame)
        self.encoder_ = encoder
        return self._features(X), target

    def _features(self, X: Any) -> Array:
        """Numbers, not standardized, of rows to predict."""
        encoder = getattr(self, "encoder_", None)
        if encoder is None:
            if frame_to_encode(X) is not None:
                raise InputError(
                    "X has text or missing values where the rows of fit had numbers. Fill them, or "
                    "fit with such rows.",
                    argument="X",
                )
            return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        if hasattr(self, "feature_names_in_") and not hasattr(X, "columns"):
            raise InputError(
                "This model was fitted on a table with text or gaps: pass a table with the same "
                "columns.",
                argument="X",
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        return np.asarray(encoder.transform(frame_to_encode(X, always=True)), dtype=np.float64)

    def _learn_standardized(self, X: Any, y: Any, *, again: bool = False) -> tuple[Array, Array]:
        """Features with mean 0 and variance 1, and the outcome."""
        values, target = self._learn_features(X, y, again=again)
        if not again:
            self.mean_, scale = values.mean(axis=0), values.std(axis=0)
            self.scale_ = np.where(scale > 1e-12, scale, 1.0)
        return (values - self.mean_) / self.scale_, target

    def _standardized(self, X: Any) -> Array:
        check_is_fitted(self, "mean_")
        return (self._features(X) - self.mean_) / self.scale_


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRows:
    """What a network learns from: `numbers` are the outcome to learn, of `classes` classes or 0.

    `weights` say how many people a row stands for, `in_loss` how much it counts in the loss.
    """

    x: Array
    attributes: tuple[Column, ...]
    outcome: Column
    numbers: Array
    classes: int
    weights: Array | None
    in_loss: Array | None


class Network(FitsPath, Features):
    """What estimators that train a network have in common."""

    _outcome: Callable[..., tuple[Column, Array, int]]
    class_weight: Any
    warm_start: bool

    @property
    def _starts_again(self) -> bool:
        """Training goes on where the last `fit` ended."""
        return bool(self.warm_start and hasattr(self, "layers_"))

    def _learn_rows(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> TrainingRows:
        """The rows of `fit`, checked."""
        again = self._starts_again
        x, target = self._learn_standardized(X, y, again=again)
        attributes = sensitive_columns(sensitive_features, len(x), self)
        outcome, numbers, classes = self._outcome(target, again=again)
        if self.class_weight is not None and not classes:
            raise InputError("'class_weight' is for a classifier.", argument="class_weight")
        weights = row_weights(sample_weight, len(x))
        return TrainingRows(
            x=x,
            attributes=attributes,
            outcome=outcome,
            numbers=numbers,
            classes=classes,
            weights=weights,
            in_loss=class_weights(self.class_weight, target, weights) if classes else weights,
        )
