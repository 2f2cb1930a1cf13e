"""Objects as plain values: their class and all their parameters, for records and identities."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from fairaudit._registry import Registry

__all__ = ["UNKNOWN", "described", "fully_described", "packages_in", "recorded"]

#: Stands where a value cannot be told from others of its kind.
UNKNOWN = "(not described)"
_DEEPEST = 8  # objects within objects; beyond, something refers to itself


def described(value: Any, depth: int = 0) -> Any:
    """Plain values that are equal for equal objects: a name, or class and parameters.

    Examples
    --------
    >>> from fairaudit.testing.neighbor_statistics import KPCStatistic
    >>> described(["codec", KPCStatistic(knn=7)])[1]["parameters"]["knn"]
    7
    >>> described(lambda y, a: y)
    '(not described)'
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if depth > _DEEPEST:
        return UNKNOWN
    if isinstance(value, Mapping):
        return {str(key): described(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((described(item, depth + 1) for item in value), key=repr)
    if isinstance(value, np.ndarray):
        return _array(value, depth)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [described(item, depth + 1) for item in value]
    if isinstance(value, type) or inspect.isroutine(value):
        return _by_name(value)
    return _object(value, depth)


def recorded(registry: Registry, given: Any) -> Any:
    """As `described`; names that a package added with what they stand for, and the package."""
    if isinstance(given, (list, tuple)):
        return [recorded(registry, item) for item in given]
    package = registry.package_of(given)
    if package is None:
        return described(given)
    found = described(registry.get(given))
    known = found if isinstance(found, dict) else {"parameters": UNKNOWN}
    return {**known, "name": given, "package": package}


def packages_in(description: Any) -> list[str]:
    """Packages that added a name, of what `recorded` says."""
    if isinstance(description, list):
        return [package for item in description for package in packages_in(item)]
    added = isinstance(description, dict) and "package" in description
    return [description["package"]] if added else []


def fully_described(description: Any) -> bool:
    """Whether nothing in a description had to be left open."""
    if isinstance(description, dict):
        return all(fully_described(item) for item in description.values())
    if isinstance(description, list):
        return all(fully_described(item) for item in description)
    return bool(description != UNKNOWN)


def _array(values: np.ndarray[Any, Any], depth: int) -> Any:
    if values.dtype == object:
        return described(values.tolist(), depth + 1)
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return {"array": str(values.dtype), "shape": list(values.shape), "sha256": digest}


def _by_name(value: Any) -> str:
    """A function or class that can be found again; one made on the spot can be anything."""
    name = getattr(value, "__qualname__", "")
    owner = getattr(value, "__self__", None)
    bound = owner is not None and not isinstance(owner, type) and not inspect.ismodule(owner)
    if not name or "<" in name or bound:
        return UNKNOWN
    return f"{value.__module__}.{name}"


def _object(value: Any, depth: int) -> Any:
    parameters = _parameters(value)
    if parameters is None:
        return UNKNOWN
    kind = type(value)
    found: dict[str, Any] = {"class": f"{kind.__module__}.{kind.__qualname__}"}
    if isinstance(getattr(value, "name", None), str):
        found = {"name": value.name, **found}
    return {**found, "parameters": {k: described(v, depth + 1) for k, v in parameters.items()}}


def _parameters(value: Any) -> dict[str, Any] | None:
    """What an object was made with: its fields, `get_params`, or what it keeps; None if hidden."""
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    if callable(getattr(value, "get_params", None)):
        try:
            return dict(value.get_params(deep=False))
        except Exception:  # code of a third party
            return None
    kept = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if name != "__weakref__" and hasattr(value, name):
                kept[name] = getattr(value, name)
    if kept or type(value).__init__ is object.__init__:
        return kept if type(value).__module__ != "builtins" else None
    try:
        asked = list(inspect.signature(type(value)).parameters)
    except (TypeError, ValueError):
        return None
    return None if asked else {}
