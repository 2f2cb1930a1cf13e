"""What must hold of the objects of a file before anything asks them to predict.

Allowed classes can be filled so that predicting does harm: a stack that calls ``tofile`` of an
array instead of ``predict`` writes files; a tree whose children lie outside of it reads foreign
memory. All is checked when the whole file is read, since a file may change lists after their use.
"""

from __future__ import annotations

import gc
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from fairaudit.models.safe_pickle.grants import Refused
from fairaudit.models.safe_pickle.hashing import check_hashes
from fairaudit.models.safe_pickle.sparse import check_sparse
from fairaudit.models.safe_pickle.trees import check_trees

__all__ = ["check_attributes", "check_objects"]

_METHODS = {
    "auto",
    "decision_function",
    "predict",
    "predict_log_proba",
    "predict_proba",
    "score_samples",
    "transform",
}
# Settings of scikit-learn that name a method to call, or where text comes from.
_SETTINGS = {
    "_response_method": _METHODS,
    "chain_method": _METHODS,
    "chain_method_": _METHODS,
    "response_method": _METHODS,
    "stack_method": _METHODS,
    "stack_method_": _METHODS,
    "input": {"content"},
}
# Where scikit-learn keeps scorers; elsewhere they would be called with what a file chooses.
_SCORERS = {"_curve_scorer", "_scorer", "_scorers", "owner", "scorer_", "scoring"}
_PLAIN_DICTS = (dict, OrderedDict, defaultdict)
_PLAIN_TYPES = (bool, float, int, object, str)
_PACKAGES = ("catboost", "fairaudit", "lightgbm", "sklearn", "xgboost")
_BOXES = (dict, list, tuple)
_MOST = 10**8
_LEAVES = (
    BuiltinFunctionType,
    FunctionType,
    ModuleType,
    bytes,
    float,
    int,
    np.ufunc,
    str,
    type,
    type(None),
    type(np.max),  # functions of numpy that others can take over
)
# Functions of numpy that make one value of a table, unless they keep its dimensions.
_REDUCTIONS = {
    "amax",
    "amin",
    "average",
    "max",
    "mean",
    "median",
    "min",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nansum",
    "prod",
    "std",
    "sum",
    "var",
}


def check_objects(root: Any) -> None:
    """Refuse an object graph in which an allowed object would do what no saved model does."""
    boxes = []
    for thing in _walk_objects(root):
        if type(thing).__name__ != "NAType":  # of pandas, which a file can only name
            check_attributes(type(thing).__name__, getattr(thing, "__dict__", ()))
        if type(thing).__module__.startswith("scipy.sparse"):
            check_sparse(thing)
        elif type(thing) in _BOXES:
            boxes.append(thing)
            if type(thing) is not dict:
                check_hashes(thing)
        elif isinstance(thing, dict) and type(thing) not in _PLAIN_DICTS:
            check_attributes(type(thing).__name__, thing)  # a Bunch gives its items as attributes
        elif isinstance(thing, np.ndarray):
            if thing.dtype.hasobject:
                check_hashes(np.asarray(thing).ravel().tolist())
        elif isinstance(thing, partial):
            _check_partial(thing)
        elif type(thing).__module__.partition(".")[0] in _PACKAGES:
            _check_settings(thing)
            check_trees(thing)
            if type(thing).__name__ == "FunctionTransformer":
                _check_transformer(thing)
    _check_expansion(boxes)


def check_attributes(kind: str, names: Iterable[Any]) -> None:
    """Refuse attributes by which Python and numpy find what an object can do.

    One named ``__array_interface__``, for example, makes numpy read or write any memory.
    """
    for name in names:
        if isinstance(name, str) and name.startswith("__"):
            raise Refused(f"sets {name[:40]} of {kind}")


def _check_partial(thing: Any) -> None:
    if not isinstance(thing.func, (FunctionType, np.ufunc)):
        kind = thing.func if isinstance(thing.func, type) else type(thing.func)
        raise Refused(f"has a partial of {kind.__module__}.{kind.__name__}")


def _walk_objects(root: Any) -> Iterator[Any]:
    """Every object that can be reached, once."""
    visited: dict[int, Any] = {}
    pending = [root]
    while pending:
        thing = pending.pop()
        if isinstance(thing, _LEAVES) or id(thing) in visited:
            continue
        visited[id(thing)] = thing
        yield thing
        pending += gc.get_referents(thing)
        if isinstance(thing, np.ndarray) and thing.dtype.hasobject:
            pending += np.asarray(thing).ravel().tolist()


def _check_settings(thing: Any) -> None:
    kind = type(thing).__name__
    for key, value in getattr(thing, "__dict__", {}).items():
        if key in _SETTINGS:
            for text in _texts(value):
                if text not in _SETTINGS[key]:
                    raise Refused(f"sets {key} of {kind} to {text!r}")
        elif key == "importance_getter" and isinstance(value, str) and "__" in value:
            raise Refused(f"sets {key} of {kind} to {value!r}")
        elif isinstance(value, type) and not _is_plain(value):
            raise Refused(f"sets {key} of {kind} to the class {value.__module__}.{value.__name__}")
        elif key not in _SCORERS and _is_scorer(value):
            raise Refused(f"sets {key} of {kind} to a scorer")
        elif isinstance(getattr(type(thing), key, None), FunctionType):
            raise Refused(f"replaces the method {key} of {kind}")


def _check_transformer(thing: Any) -> None:
    """Refuse a step that makes a single value of the table: a text is a path to what comes next."""
    parts = vars(thing)
    for key, given in (("func", "kw_args"), ("inverse_func", "inv_kw_args")):
        function, settings = parts.get(key), dict(parts.get(given) or {})
        while isinstance(function, partial):
            settings = {**function.keywords, **settings}
            function = function.func
        name = getattr(function, "__name__", "")
        if name in _REDUCTIONS and settings.get("keepdims") is not True:
            raise Refused(f"makes one value of the table by numpy.{name}")


def _texts(value: Any) -> Iterable[str]:
    """The texts in a setting; what is neither text nor a list of texts is shown as its type."""
    for item in value if type(value) in (list, tuple) else (value,):
        if item is not None and not callable(item):
            yield item if type(item) is str else type(item).__name__


def _is_scorer(value: Any) -> bool:
    kinds = {"_BaseScorer", "_MultimetricScorer", "_PassthroughScorer"}
    return not kinds.isdisjoint(kind.__name__ for kind in type(value).__mro__)


def _is_plain(kind: type) -> bool:
    return kind in _PLAIN_TYPES or issubclass(kind, np.generic)


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
