"""Classes and numbers as outcomes of the remedies that train networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, columns_from
from fairaudit.errors import InputError
from fairaudit.remedy.calibration import calibrated_logits

__all__ = ["Classes", "Numbers", "class_codes"]


def class_codes(estimator: Any, y: Array) -> tuple[Any, Index]:
    """The classes of the outcome and their codes; refuses numbers and a single class."""
    from sklearn.utils.multiclass import type_of_target

    if type_of_target(y, input_name="y").startswith("continuous"):
        twin = type(estimator).__name__.replace("Classifier", "Regressor")
        twins = ("FairICPRegressor", "FairCPRegressor", "FDLRegressor", "HGRRegressor")
        raise InputError(
            "Unknown label type: the outcome is continuous; use "
            f"{twin if twin in twins else 'FairICPRegressor'}, or make classes of it.",
            argument="y",
        )
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError("The outcome has one class. Pass rows of at least two.", argument="y")
    return classes, codes.astype(np.intp)


class Classes(ClassifierMixin):
    """Classes as outcome, for estimators whose `_raw` gives logits."""

    _raw: Callable[[Any], Array]
    classes_: Any

    def _outcome(self, y: Array, *, again: bool = False) -> tuple[Column, Array, int]:
        classes, codes = class_codes(self, y)
        if again and not np.array_equal(classes, self.classes_):
            raise InputError(
                f"With warm_start the classes must stay {self.classes_.tolist()}. "
                f"Got {classes.tolist()}.",
                argument="y",
            )
        self.classes_ = classes
        (outcome,) = columns_from(
            {"y": codes}, argument="y", outcome=True, kinds={"y": "categorical"}
        )
        return outcome, codes.astype(np.float64), len(self.classes_)

    def _chances(self, raw: Array) -> Array:
        """Probabilities of the classes from the network's logits."""
        from scipy.special import expit, softmax

        logits = calibrated_logits(raw, getattr(self, "calibration_", None))
        if len(self.classes_) == 2:
            positive = expit(logits[:, 0])
            return np.column_stack([1 - positive, positive])
        return np.asarray(softmax(logits, axis=1))

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes in `classes_`."""
        return self._chances(self._raw(X))

    def predict(self, X: Any) -> Array:
        """The class with the largest probability; calibration does not change it."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])


class Numbers(RegressorMixin):
    """A continuous outcome, for estimators whose `_raw` gives it standardized."""

    _raw: Callable[[Any], Array]

    def _outcome(self, y: Array, *, again: bool = False) -> tuple[Column, Array, int]:
        try:
            numbers = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                "The outcome has text; a regressor needs numbers. Use a classifier.", argument="y"
            ) from None
        if not again:
            self.y_mean_, self.y_scale_ = float(numbers.mean()), float(numbers.std())
        if numbers.std() == 0:
            raise InputError("The outcome is constant. There is nothing to learn.", argument="y")
        (outcome,) = columns_from(
            {"y": numbers}, argument="y", outcome=True, kinds={"y": "continuous"}
        )
        return outcome, (numbers - self.y_mean_) / self.y_scale_, 0

    def predict(self, X: Any) -> Array:
        return self._raw(X)[:, 0] * self.y_scale_ + self.y_mean_
