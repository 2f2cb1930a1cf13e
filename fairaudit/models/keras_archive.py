"""Checks what a ``.keras`` file asks for, without keras.

Its ``config.json`` names the classes and functions that keras makes and calls, and can hold code.
Layers and what belongs to them are let through; everything else is refused by its name.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

from fairaudit.errors import FairAuditError, InputError
from fairaudit.models.safe_pickle import OTHER_WAYS, first_line
from fairaudit.models.zip_members import check_members

__all__ = ["check_keras"]

_MEMBERS = ("config.json", "metadata.json", "model.weights.h5", "model.weights.npz")
_PARTS = (
    "activations",
    "constraints",
    "dtype_policies",
    "initializers",
    "layers",
    "models",
    "ops",
    "quantizers",
    "regularizers",
)
#: Plain values, which keras writes like objects.
_VALUES = ("__bytes__", "__ellipsis__", "__keras_tensor__", "__numpy__", "__slice__", "__tensor__")
#: Layers that hold code, or models of other libraries.
_CODE = ("FlaxLayer", "JaxLayer", "Lambda", "TFSMLayer", "TorchModuleWrapper", "__lambda__")


def check_keras(data: bytes, name: str) -> None:
    """Raise an error, in one line, unless keras would make nothing but its own layers."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            check_members(members, len(data), name)
            for part in members:
                if part.filename not in _MEMBERS:
                    raise _refused(name, f"a file {_quoted(part.filename)}, which is not opened")
            config = json.loads(archive.read("config.json"))
        if not isinstance(config, dict) or "class_name" not in config:
            raise ValueError("config.json describes no model")
        objects = list(_objects({**config, "compile_config": None}))
    except FairAuditError:
        raise
    except Exception as error:  # of an archive or text of another form
        raise InputError(
            f"{name} cannot be read as a keras model: {first_line(error)}. "
            "Save it again with model.save('model.keras')."
        ) from error
    for found in objects:
        _check_object(found, name)


def _objects(held: Any) -> Iterator[dict[str, Any]]:
    """Every object that keras would make: there is a `class_name` in it."""
    pending = [held]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.values()
            if "class_name" in value:
                yield value
        elif isinstance(value, list):
            pending += value


def _check_object(found: dict[str, Any], name: str) -> None:
    kind, module = found["class_name"], found.get("module")
    if kind in _CODE:
        raise _refused(
            name, f"code or a model of another library ({_quoted(kind)}), which is not run"
        )
    if kind in _VALUES and module is None:
        return
    words = str(module).split(".")
    inner = [word for word in words[1:] if word != "src"]
    own = words[0] == "keras" and (not inner or inner[0] in _PARTS)
    if not own or (kind == "function" and inner[:1] != ["activations"]):
        raise _refused(name, f"{_quoted(f'{module}.{kind}')}, which is not a layer of keras")


def _refused(name: str, what: str) -> InputError:
    return InputError(
        f"{name} was refused: it asks for {what}. {OTHER_WAYS}", argument="predictions"
    )


def _quoted(text: Any) -> str:
    return repr(first_line(ValueError(str(text)[:100])))
