"""What must hold of the objects of a file before anything asks them to predict.

Allowed classes can be filled so that predicting does harm: a stack that calls ``tofile`` of an
array instead of ``predict`` writes files; a tree whose children lie outside of it reads foreign
memory. All is checked when the whole file is read, since a file may change lists after their use.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from fairaudit.safe_pickle.grants import Refused

__all__ = ["check_objects"]

_METHODS = {
    "auto", "decision_function", "predict", "predict_log_proba", "predict_proba", "score_samples",
    "transform",
}  # fmt: skip
# Settings of scikit-learn that name a method to call, or where text comes from.
_SETTINGS = {
    "_response_method": _METHODS, "chain_method": _METHODS, "chain_method_": _METHODS,
    "response_method": _METHODS, "stack_method": _METHODS, "stack_method_": _METHODS,
    "input": {"content"},
}  # fmt: skip
_PLAIN_TYPES = (bool, float, int, object, str)
_PACKAGES = ("fairaudit", "lightgbm", "sklearn", "xgboost")
_BOXES = (dict, list, tuple)
_MOST = 10**8
_LEAVES = (
    BuiltinFunctionType, FunctionType, ModuleType, bytes, float, int, np.ufunc, str, type,
    type(None),
)  # fmt: skip


def check_objects(root: Any) -> None:
    """Refuse an object graph in which an allowed object would do what no saved model does."""
    boxes = []
    for found in _everything(root):
        if type(found) in _BOXES:
            boxes.append(found)
        elif type(found).__module__.partition(".")[0] in _PACKAGES:
            _check_settings(found)
            _check_tree(found)
        elif type(found).__module__.startswith("scipy.sparse"):
            _check_sparse(found)
    _check_expansion(boxes)


def _everything(root: Any) -> Iterator[Any]:
    """Every object that can be reached, once."""
    seen: dict[int, Any] = {}
    pending = [root]
    while pending:
        found = pending.pop()
        if isinstance(found, _LEAVES) or id(found) in seen:
            continue
        seen[id(found)] = found
        yield found
        pending += gc.get_referents(found)
        if isinstance(found, np.ndarray) and found.dtype.hasobject:
            pending += np.asarray(found).ravel().tolist()


def _check_settings(found: Any) -> None:
    kind = type(found).__name__
    for key, value in getattr(found, "__dict__", {}).items():
        if key in _SETTINGS:
            for text in _texts(value):
                if text not in _SETTINGS[key]:
                    raise Refused(f"sets {key} of {kind} to {text!r}")
        elif key == "importance_getter" and isinstance(value, str) and "__" in value:
            raise Refused(f"sets {key} of {kind} to {value!r}")
        elif isinstance(value, type) and not _is_plain(value):
            raise Refused(f"sets {key} of {kind} to the class {value.__module__}.{value.__name__}")
        elif isinstance(getattr(type(found), key, None), FunctionType):
            raise Refused(f"replaces the method {key} of {kind}")


def _texts(value: Any) -> Iterable[str]:
    """The texts in a setting; what is neither text nor a list of texts is shown as its type."""
    for item in value if type(value) in (list, tuple) else (value,):
        if item is not None and not callable(item):
            yield item if type(item) is str else type(item).__name__


def _is_plain(kind: type) -> bool:
    return kind in _PLAIN_TYPES or issubclass(kind, np.generic)


def _check_tree(found: Any) -> None:
    kind = type(found).__name__
    if kind == "Tree" and type(found).__module__ == "sklearn.tree._tree":
        inner = found.children_left != -1
        children = np.stack([found.children_left, found.children_right])
        _check_nodes("a tree", children, inner, found.feature, found.n_features)
    elif hasattr(found, "_predictors") and hasattr(found, "n_features_in_"):
        for predictor in (one for several in found._predictors for one in several):
            nodes = predictor.nodes
            children = np.stack([nodes["left"], nodes["right"]]).astype(np.int64)
            inner = nodes["is_leaf"] == 0
            _check_nodes("a tree", children, inner, nodes["feature_idx"], found.n_features_in_)
            bitsets = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
            if len(bitsets) and int(bitsets.max()) >= len(predictor.raw_left_cat_bitsets):
                raise Refused("has a tree with categories outside of it")


def _check_nodes(kind: str, children: Any, inner: Any, feature: Any, n_features: int) -> None:
    """Children come after their parent and lie in the tree; features are those of the table."""
    own = np.arange(children.shape[1])
    right = (children > own) & (children < len(own))
    if not right[:, inner].all():
        raise Refused(f"has {kind} with nodes outside of it")
    if not ((feature[inner] >= 0) & (feature[inner] < n_features)).all():
        raise Refused(f"has {kind} with features that the model does not have")


def _check_sparse(found: Any) -> None:
    check = getattr(found, "check_format", None)
    if check is None:
        return
    try:
        check(full_check=True)
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise Refused(f"has a sparse matrix with impossible indices ({error})") from None


def _check_expansion(boxes: list[Any]) -> None:
    """Lists that hold one list again and again are small in a file and endless as an array."""
    sizes: dict[int, int] = {}  # of each box with all that it holds; 0 while that is counted
    for box in boxes:
        pending = [box]
        while pending:
            last = pending[-1]
            inner = [x for x in _content(last) if type(x) in _BOXES]
            if id(last) not in sizes:
                sizes[id(last)] = 0
                if any(sizes.get(id(x)) == 0 for x in inner):
                    raise Refused(f"has a {type(last).__name__} that holds itself")
                pending += [x for x in inner if id(x) not in sizes]
                continue
            pending.pop()
            if sizes[id(last)] == 0:
                sizes[id(last)] = 1 + len(last) + sum(sizes[id(x)] for x in inner)
                if sizes[id(last)] > _MOST:
                    raise Refused(f"has a {type(last).__name__} of more than {_MOST:,} values")


def _content(box: Any) -> Any:
    return box.values() if type(box) is dict else box
