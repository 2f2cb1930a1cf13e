"""A torch program (``.pt2``) reduced to what predicting needs, without torch.

`torch.export.load` unpickles sample inputs, evaluates text as expressions, finds functions by name
and loads compiled libraries. What goes on from here is the graph, with operators of ATen on plain
tensors, and numbers as bytes; a file that needs more is refused.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

from fairaudit.errors import FairAuditError, InputError
from fairaudit.models.safe_pickle import OTHER_WAYS, first_line
from fairaudit.models.zip_members import check_members

__all__ = ["reduced_program"]

_GRAPH = "models/model.json"
_SAMPLES = "data/sample_inputs/model.pt"
_CONFIGS = ("data/weights/model_weights_config.json", "data/constants/model_constants_config.json")
_TENSORS = re.compile(r"data/(weights/weight_\d+|constants/tensor_\d+)", re.ASCII)
_PLAIN = ("archive_format", "archive_version", "byteorder", ".data/version", "version")
_LEFT_OUT = (".data/serialization_id", _SAMPLES)

_OPERATOR = re.compile(r"torch\.ops\.aten\.([a-z_]\w*)\.(\w+)|_operator\.[a-z]+", re.ASCII)
#: Operators that read or write files, or print; no model needs them.
_SIDE_EFFECTS = ("_print", "from_file", "save", "warn")
_ARITHMETIC = (
    "add",
    "eq",
    "floordiv",
    "ge",
    "getitem",
    "gt",
    "le",
    "lt",
    "mod",
    "mul",
    "ne",
    "neg",
)
_NAME = re.compile(r"[\w.+\-<= ]{0,300}", re.ASCII)
_WORD = re.compile(r"[\w.,>\- ]{0,200}", re.ASCII)  # arguments: "none", "tanh", "bi,ij->bj"
_SYMBOLS = re.compile(r"[\w\s(),='+\-*/<>]{1,500}", re.ASCII)
_WORDS = {"Add", "Eq", "False", "FloorDiv", "Ge", "Gt", "Integer", "Le", "Lt", "Max", "Min", "Mod"}
_WORDS |= {"Mul", "Ne", "Pow", "Symbol", "True", "integer", "nonnegative", "positive"}
_TREE = re.compile(
    r'(builtins\.(tuple|list|dict)|null|context|children_spec|type|\w+|[\[\]{}\s",:\\])*'
)


def reduced_program(data: bytes, name: str) -> bytes:
    """The archive again, without what could run."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            check_members(members, len(data), name)
            root = members[0].filename.partition("/")[0] if members else ""
            held = {part.filename.removeprefix(f"{root}/"): archive.read(part) for part in members}
        kept = _kept(held, name)
    except FairAuditError:
        raise
    except Exception as error:  # of an archive or text of another form
        raise unreadable(name, error) from error
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, content in kept.items():
            archive.writestr(f"model/{path}", content)
    return made.getvalue()


def unreadable(name: str, error: Exception) -> InputError:
    return InputError(
        f"{name} cannot be read as an exported program of torch: {first_line(error)}. "
        "Save it with torch.export.save(torch.export.export(…), 'model.pt2')."
    )


def _kept(held: dict[str, bytes], name: str) -> dict[str, bytes]:
    if _GRAPH not in held:
        raise ValueError("there is no models/model.json, as torch 2.9 and later write it")
    kept = {_SAMPLES: b""}
    for path, content in held.items():
        if path == _GRAPH:
            kept[path] = json.dumps(_program(json.loads(content), name)).encode()
        elif path in _CONFIGS:
            config = json.loads(content)
            _check_payloads(config, name)
            kept[path] = content
        elif _TENSORS.fullmatch(path) or path in _PLAIN:
            kept[path] = content
        elif path not in _LEFT_OUT:
            raise _refused(name, f"a file {path!r}, which is not of a graph and its numbers")
    return kept


def _check_payloads(config: dict[str, Any], name: str) -> None:
    for payload in config["config"].values():
        if payload.get("use_pickle") is not False:
            raise _refused(name, "numbers that are pickled, not plain")


def _program(program: dict[str, Any], name: str) -> dict[str, Any]:
    """The description of the program; what is not a name or a number in it is checked or left."""
    pending: list[tuple[str, Any]] = [("", program)]
    program["guards_code"] = []
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict):
            if "target" in value:
                value["metadata"] = {}  # where the code stood, and how it was called
            _check_text("", list(value), name)
            pending += value.items()
        elif isinstance(value, list):
            pending += [(key, part) for part in value]
        elif isinstance(value, str):
            _check_text(key, [value], name)
    return program


def _check_text(key: str, texts: list[str], name: str) -> None:
    for text in texts:
        if key == "target":
            _check_operator(text, name)
        elif key == "expr_str":
            words = re.findall(r"[A-Za-z_]\w*", text)
            known = all(word in _WORDS or re.fullmatch(r"[a-z]{1,2}\d+", word) for word in words)
            if not known or not _SYMBOLS.fullmatch(text):
                raise _refused(name, f"the expression {_short(text)}")
        elif not _PATTERNS.get(key, _NAME).fullmatch(text):
            raise _refused(name, f"the text {_short(text)} where a name belongs")


_PATTERNS = {"as_string": _WORD, "in_spec": _TREE, "out_spec": _TREE}


def _check_operator(target: str, name: str) -> None:
    named = _OPERATOR.fullmatch(target)
    if named is not None and named[1] is None:
        known = target.partition(".")[2] in _ARITHMETIC
    else:
        known = named is not None and named[1] not in _SIDE_EFFECTS and named[2] != "out"
    if not known:
        raise _refused(name, f"the function {_short(target)}")


def _refused(name: str, what: str) -> InputError:
    return InputError(f"{name} was refused: it holds {what}. {OTHER_WAYS}", argument="predictions")


def _short(text: str) -> str:
    return repr(first_line(ValueError(text[:100])))
