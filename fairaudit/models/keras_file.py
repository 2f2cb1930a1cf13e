"""Models of keras 3: in memory, and files of its own (``.keras``)."""

from __future__ import annotations

import io
import os
import sys
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.models.answers import (
    Meaning,
    Scores,
    as_table,
    library,
    probabilities,
    quietly,
    several_outcomes,
)
from fairaudit.models.keras_archive import check_keras
from fairaudit.models.safe_pickle import first_line

__all__ = ["KerasModel", "is_keras", "open_keras"]

_BACKENDS = ("torch", "tensorflow", "jax")
_ROWS = 4096  # at once


def is_keras(model: Any) -> bool:
    """Whether this is a model of keras, or of a class that was made from one."""
    return any(
        kind.__name__ == "Model" and kind.__module__.partition(".")[0] == "keras"
        for kind in type(model).__mro__
    )


class KerasModel:
    """A `keras.Model`: one input with a column for each feature, or an input for each feature."""

    classes: NDArray[Any] | None = None

    def __init__(self, model: Any) -> None:
        self.model = model
        self.kind = f"keras.{type(model).__name__}"
        self.inputs = list(quietly(lambda: model.inputs) or ())

    @property
    def features(self) -> tuple[str, ...] | None:
        return tuple(part.name for part in self.inputs) if len(self.inputs) > 1 else None

    @property
    def n_features(self) -> int | None:
        if len(self.inputs) > 1:
            return len(self.inputs)
        shape: Any = self.inputs[0].shape if self.inputs else ()
        return shape[1] if len(shape) == 2 else None

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        return self.features

    def scores(self, rows: Any) -> Scores:
        values = self._run(rows)
        if self._last() is not None:
            return probabilities(values, None)
        return as_table(values, "prediction", Meaning.UNKNOWN)

    def labels(self, rows: Any) -> Any:
        values, last = self._run(rows), self._last()
        if last is None:
            return values
        if values.shape[-1] > 1 and last == "softmax":
            return values.argmax(axis=-1)
        return (values >= 0.5).astype(np.int64)

    def _last(self) -> str | None:
        """The function that its answers come from, where that makes probabilities."""
        layer = quietly(lambda: self.model.outputs[0]._keras_history.operation)
        name = quietly(lambda: layer.activation.__name__) or type(layer).__name__.lower()
        return name if name in ("sigmoid", "softmax") else None

    def _run(self, rows: Any) -> NDArray[Any]:
        try:
            if self.features:
                given: Any = {name: _numbers(rows[name])[:, None] for name in self.features}
            else:
                given = _numbers(rows)
        except (TypeError, ValueError):
            raise InputError(
                "The keras model wants numbers, and the table holds text. Encode it as in the fit."
            ) from None
        made = self.model.predict(given, batch_size=_ROWS, verbose=0)
        if isinstance(made, (dict, list, tuple)):
            if len(made) != 1:
                raise several_outcomes(len(made))
            made = next(iter(made.values() if isinstance(made, dict) else made))
        return np.asarray(made)


def _numbers(values: Any) -> NDArray[Any]:
    return np.asarray(values.to_numpy(), dtype=np.float32)


def open_keras(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    check_keras(data, name)
    _choose_backend(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that it imports
        saving = library("keras.src.saving.saving_lib", name)  # keras.saving opens paths only
    try:
        return saving.load_model(io.BytesIO(data), compile=False, safe_mode=True)
    except Exception as error:  # keras raises whatever its layers raise
        raise InputError(
            f"{name} cannot be read as a keras model: {first_line(error)}. "
            "Save it again with model.save('model.keras')."
        ) from error


def _choose_backend(name: str) -> None:
    if "keras" in sys.modules or "KERAS_BACKEND" in os.environ:
        return
    installed = [package for package in _BACKENDS if find_spec(package) is not None]
    if not installed:
        raise MissingDependencyError(
            f"{name} needs keras and torch. Install: pip install keras torch"
        )
    os.environ["KERAS_BACKEND"] = installed[0]
