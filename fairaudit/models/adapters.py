"""How each kind of model is asked."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import InputError
from fairaudit.models.answers import (
    Meaning,
    Scores,
    as_table,
    keeps_categories,
    names_of,
    probabilities,
    quietly,
    several_outcomes,
    with_categories,
)
from fairaudit.models.boosters import LightGBMBooster, XGBoostBooster
from fairaudit.models.catboost_file import catboost_features
from fairaudit.models.keras_file import KerasModel, is_keras
from fairaudit.models.onnx import OnnxSession
from fairaudit.models.sandbox import SandboxedModel
from fairaudit.models.torch_program import TorchProgram


class Adapter(Protocol):
    """How one kind of model is asked."""

    @property
    def kind(self) -> str: ...

    @property
    def features(self) -> tuple[str, ...] | None: ...

    @property
    def n_features(self) -> int | None: ...

    @property
    def classes(self) -> NDArray[Any] | None: ...

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        """Names for the columns, ``np.ndarray``, or None for the table as it is."""

    def scores(self, rows: Any) -> Scores: ...

    def labels(self, rows: Any) -> Any: ...


def adapter_of(model: Any) -> Adapter:
    if isinstance(model, SandboxedModel):
        return model
    package = type(model).__module__.partition(".")[0]
    name = type(model).__name__
    if name == "Booster" and package == "xgboost":
        return XGBoostBooster(model)
    if name == "Booster" and package == "lightgbm":
        return LightGBMBooster(model)
    if name == "InferenceSession" and package == "onnxruntime":
        return OnnxSession(model)
    if name == "ExportedProgram" and package == "torch":
        return TorchProgram(model)
    if is_keras(model):
        return KerasModel(model)
    if hasattr(model, "predict") or hasattr(model, "predict_proba"):
        return _Estimator(model)
    return _Function(model)


class _Estimator:
    """Anything with `predict` or `predict_proba`."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.kind = f"{type(model).__module__}.{type(model).__qualname__}"
        self._package = self.kind.partition(".")[0]

    @property
    def features(self) -> tuple[str, ...] | None:
        model = self.model
        names = quietly(lambda: model.feature_names_in_)
        if names is None:
            names = quietly(lambda: model.feature_name_)
        if names is None and self._package == "xgboost":
            names = quietly(lambda: model.get_booster().feature_names)
        if names is None and self._package == "catboost":
            names = catboost_features(model)
            if names == tuple(map(str, range(len(names or ())))):
                return None
        return names_of(names)

    @property
    def n_features(self) -> int | None:
        if self._package == "catboost":  # its own count is 0 for a model that was read
            return len(catboost_features(self.model) or ()) or None
        count = quietly(lambda: int(self.model.n_features_in_))
        return count if count is not None or self.features is None else len(self.features)

    @property
    def classes(self) -> NDArray[Any] | None:
        classes = quietly(lambda: np.asarray(self.model.classes_))
        return classes if classes is not None and classes.ndim == 1 and len(classes) else None

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        if self.features is not None:
            return self.features
        # a network of skorch takes the columns of a frame for several inputs
        network = any(kind.__module__.startswith("skorch.") for kind in type(self.model).__mro__)
        return np.ndarray if network or self.n_features is not None else None

    def scores(self, rows: Any) -> Scores:
        rows, classes = self._typed(rows), self.classes
        if hasattr(self.model, "predict_proba"):
            values = self.model.predict_proba(rows)
            if isinstance(values, list):
                raise several_outcomes(len(values))
            return probabilities(values, None if classes is None else list(classes))
        from sklearn.base import is_regressor

        if hasattr(self.model, "decision_function") and not quietly(
            lambda: is_regressor(self.model)
        ):
            scores = as_table(self.model.decision_function(rows), "score", Meaning.CLASS_SCORES)
            if classes is not None and len(classes) == len(scores.names) > 1:
                scores = scores._replace(names=[f"score({label})" for label in classes])
            return scores
        return as_table(self.model.predict(rows), "prediction", Meaning.NUMBERS)

    def labels(self, rows: Any) -> Any:
        if not hasattr(self.model, "predict"):
            raise InputError(f"The model ({self.kind}) has no predict. Audit its scores instead.")
        return self.model.predict(self._typed(rows))

    def _typed(self, rows: Any) -> Any:
        if self._package == "lightgbm":
            return with_categories(rows)
        if self._package == "xgboost" and keeps_categories(
            quietly(lambda: self.model.get_booster())
        ):
            return with_categories(rows)
        return rows


class _Function:
    """A function of the table."""

    kind = "function"
    features = None
    n_features = None
    classes = None
    wants = None

    def __init__(self, function: Any) -> None:
        self.function = function

    def scores(self, rows: Any) -> Scores:
        values = self.function(rows)
        if hasattr(values, "columns"):
            names = [str(name) for name in values.columns]
            return Scores(np.asarray(values), names, Meaning.UNKNOWN)
        return as_table(values, "prediction", Meaning.UNKNOWN)

    def labels(self, rows: Any) -> Any:
        return self.function(rows)
