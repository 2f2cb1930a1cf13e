"""Model files of other libraries: honest, and not opened here."""

from __future__ import annotations

from fairaudit.errors import InputError
from fairaudit.models.safe_pickle import OTHER_WAYS

__all__ = ["foreign_file"]

# Ending → what the file is.
_KINDS = {
    ".bin": "weights without a model, or a file of another library",
    ".ckpt": "a checkpoint of torch or tensorflow",
    ".h5": "a keras model",
    ".hdf5": "a keras model",
    ".mlmodel": "a Core ML model",
    ".pb": "a tensorflow model",
    ".pmml": "a PMML model",
    ".pt": "a torch model",
    ".pth": "a torch model",
    ".rds": "an R object",
    ".safetensors": "weights without a model",
    ".tflite": "a tensorflow model",
    ".torchscript": "a torch model",
}
_EXPORT = {
    "keras": "model.export with format='onnx'",
    "tensorflow": "tf2onnx",
    "torch": "torch.onnx.export",
}


def foreign_file(source: str, suffix: str) -> InputError | None:
    """The error about a file of another library; None if its ending is not known either."""
    if suffix not in _KINDS:
        return None
    what = _KINDS[suffix]
    by = next((how for library, how in _EXPORT.items() if f" {library} " in what), None)
    exported = OTHER_WAYS.replace(".onnx", f".onnx ({by})") if by else OTHER_WAYS
    return InputError(
        f"{source!r} is {what}, which fairaudit does not open. {exported}", argument="predictions"
    )
