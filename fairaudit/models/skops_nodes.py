"""What a skops file may do with the names that it may use.

skops asks whether a name is trusted, not what for: a class that may be filled with a state could
also be called with arguments of the file, through another kind of node. Here each kind of node
has its own names. All is read from the schema, before skops makes anything of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from fairaudit.models.safe_pickle import (
    Refused,
    check_attributes,
    is_allowed,
    is_compiled_number,
    keys_of,
)
from fairaudit.models.safe_pickle.catboost_state import MODEL
from fairaudit.models.safe_pickle.lightgbm_text import check_lightgbm_state

__all__ = ["check_nodes"]

_NUMBERS = ("builtins.bool", "builtins.float", "builtins.int", "builtins.str")
_CONTAINERS = ("builtins.dict", "builtins.list", "builtins.set", "builtins.tuple")
_BUNCH = "sklearn.utils._bunch.Bunch"
# Kind of node → what it may make.
_MADE_BY: dict[str, tuple[str, ...]] = {
    "BytearrayNode": ("builtins.bytearray",),
    "BytesNode": ("builtins.bytes",),
    "DTypeNode": ("numpy.dtype",),
    "DefaultDictNode": ("collections.defaultdict",),
    "DictNode": ("builtins.dict", "collections.OrderedDict", _BUNCH),
    "JsonNode": ("builtins.str",),
    "ListNode": ("builtins.list",),
    "MaskedArrayNode": ("numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"),
    "PartialNode": ("functools.partial",),
    "RandomGeneratorNode": ("numpy.random._generator.Generator",),
    "RandomStateNode": ("numpy.random.mtrand.RandomState",),
    "SetNode": ("builtins.set",),
    "SliceNode": ("builtins.slice",),
    "TreeNode": ("sklearn.tree._tree.Tree",),
    "TupleNode": ("builtins.tuple",),
}
_BY_POLICY = ("FunctionNode", "ObjectNode", "SparseMatrixNode")
_SETTINGS = ("DictNode", "JsonNode", "ListNode", "NdArrayNode", "TupleNode", "TypeNode")
_PLAIN_CONTENT = (bool, float, int, str, type(None))


def check_nodes(schema: Any, known: Collection[str]) -> None:
    """Refuse a node that makes or does what no skops file does.

    Parameters
    ----------
    schema : object
        ``schema.json`` of the file, parsed.
    known : collection of str
        Names that the caller trusts: their nodes may be of any kind.
    """
    for node in _nodes(schema):
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        loader = str(node["__loader__"])
        if name in known:
            continue
        if not _may_make(loader, name):
            raise Refused(f"makes {name[:120]} by a {loader[:40]}")
        content = node.get("content")
        if loader == "JsonNode":
            if not isinstance(json.loads(str(content)), _PLAIN_CONTENT):
                raise Refused("hides a list or a dictionary in a text")
        elif loader == "PartialNode":
            _check_partial(content)
        elif loader == "DictNode":
            _check_keys(node, name)
        elif loader == "ObjectNode" and isinstance(content, dict):
            state = content.get("content") or {}
            if name.startswith("catboost.core."):
                state = _without_model(state, name)
            check_attributes(name, state)
            if name == "lightgbm.basic.Booster":
                check_lightgbm_state({key: _element(item) for key, item in state.items()})
        elif loader == "SetNode":
            keys_of([_element(item) for item in content or ()])


def _without_model(state: dict[str, Any], name: str) -> dict[str, Any]:
    """The settings of an estimator of catboost: plain values, beside the bytes of its model."""
    settings = {key: node for key, node in state.items() if key != MODEL}
    if MODEL in state and state[MODEL].get("__loader__") != "BytesNode":
        raise Refused(f"has a {name} whose model is not one of catboost")
    for key, setting in settings.items():
        for node in _nodes(setting):
            if node["__loader__"] not in _SETTINGS:
                raise Refused(f"sets {key[:40]} of {name} to what is no setting")
    return settings


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    pending = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            if "__loader__" in node:
                yield node
            pending += node.values()
        elif isinstance(node, list):
            pending += node


def _may_make(loader: str, name: str) -> bool:
    if loader in _MADE_BY:
        return name in _MADE_BY[loader]
    if loader == "LossNode":
        return is_compiled_number(name)
    if loader == "NdArrayNode":
        return name == "numpy.ndarray" or _is_scalar(name)
    if loader == "TypeNode":
        return name in (*_NUMBERS, *_CONTAINERS, "collections.OrderedDict") or _is_scalar(name)
    return loader in _BY_POLICY and is_allowed(name)


def _is_scalar(name: str) -> bool:
    import numpy as np

    module, _, last = name.rpartition(".")
    kind = vars(np).get(last) if module == "numpy" else None
    return isinstance(kind, type) and issubclass(kind, np.generic)


def _check_partial(content: Any) -> None:
    function = content.get("func") if isinstance(content, dict) else None
    if not isinstance(function, dict) or function.get("__loader__") != "FunctionNode":
        raise Refused("has a partial of something that is not a function")


def _check_keys(node: dict[str, Any], name: str) -> None:
    """Keys are texts and numbers, few of one hash; those of a Bunch are its attributes."""
    kinds = node.get("key_types") or {}
    for kind in kinds.get("content") or ():
        made = f"{kind.get('__module__')}.{kind.get('__class__')}"
        if made not in _NUMBERS and not _is_scalar(made):
            raise Refused(f"has keys that are made by {made[:120]}")
    keys = list(node.get("content") or ())
    keys_of([int(key) for key in keys if key.lstrip("-").isdecimal()])
    if name == _BUNCH:
        check_attributes(name, keys)


def _element(node: Any) -> Any:
    """The plain value of a node; what has none stands for itself alone."""
    if isinstance(node, dict) and node.get("__loader__") == "JsonNode":
        return json.loads(str(node.get("content")))
    return ("a set of other things",)
