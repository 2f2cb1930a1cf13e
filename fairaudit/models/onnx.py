"""ONNX files and how their models are asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import InputError
from fairaudit.models.answers import Meaning, Scores, as_table, library, probabilities
from fairaudit.models.onnx_scan import external_files
from fairaudit.models.safe_pickle import first_line

_ONNX_TYPES: dict[str, Any] = {
    "tensor(bool)": np.bool_,
    "tensor(double)": np.float64,
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(string)": np.object_,
}


class OnnxSession:
    """An `onnxruntime.InferenceSession`."""

    kind = "onnx"

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes: NDArray[Any] | None = None  # known with the first answer, if at all
        self.inputs = list(model.get_inputs())
        self.outputs = list(model.get_outputs())

    @property
    def features(self) -> tuple[str, ...] | None:
        return None if len(self.inputs) == 1 else tuple(part.name for part in self.inputs)

    @property
    def n_features(self) -> int | None:
        if len(self.inputs) > 1:
            return len(self.inputs)
        shape = self.inputs[0].shape
        return shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        return self.features

    def scores(self, rows: Any) -> Scores:
        results = self._run(rows)
        if len(results) == 1:
            return as_table(results[0], "prediction", Meaning.UNKNOWN)
        values = next((r for r in results if isinstance(r, list)), results[1])
        if isinstance(values, list):  # one dict per row, class → probability
            classes = list(values[0]) if values else []
            self.classes = np.asarray(classes)
            matrix = np.array([[row[label] for label in classes] for row in values])
            return probabilities(matrix, classes)
        return probabilities(values, None)

    def labels(self, rows: Any) -> Any:
        return self._run(rows)[0]

    def _run(self, rows: Any) -> list[Any]:
        if len(self.inputs) == 1:
            only = self.inputs[0]
            feed = {only.name: self._cast(rows.to_numpy(), only, "the table")}
        else:
            feed = {}
            for part, name in zip(self.inputs, rows.columns, strict=True):
                values = self._cast(rows[name].to_numpy(), part, f"column {name!r}")
                feed[part.name] = values[:, None] if len(part.shape) == 2 else values
        return list(self.model.run(None, feed))

    def _cast(self, values: NDArray[Any], part: Any, what: str) -> NDArray[Any]:
        if part.type not in _ONNX_TYPES:
            raise InputError(
                f"The ONNX input {part.name!r} is a {part.type}, which a table cannot fill. "
                "Wrap the model in a function and pass package.module:function."
            )
        if part.type == "tensor(string)":
            return np.vectorize(str, otypes=[object])(values)
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"The ONNX model wants numbers, and {what} holds text. Encode it as in the fit."
            ) from None
        wanted = np.dtype(_ONNX_TYPES[part.type])
        if wanted.kind == "i" and not (numbers == np.round(numbers)).all():
            raise InputError(
                f"The ONNX model wants whole numbers, and {what} holds fractions or missing "
                "values. Round or fill them as in the fit."
            )
        return values.astype(wanted)


def open_onnx(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    onnxruntime = library("onnxruntime", name)
    try:
        outside = external_files(data)
    except ValueError as error:
        raise InputError(
            f"{name} cannot be read as an ONNX model: {first_line(error)}. Export it again."
        ) from None
    if outside:
        raise InputError(
            f"{name} keeps numbers in another file ({first_line(ValueError(outside[0]))!r}), which "
            "is not opened. Save the model as one file: onnx.save(onnx.load(path), new_path)."
        )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised, and need not be printed too
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of its own for every kind
        raise InputError(
            f"{name} cannot be read as an ONNX model: {first_line(error)}. Export it again."
        ) from error
