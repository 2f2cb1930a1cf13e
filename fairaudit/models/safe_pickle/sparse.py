"""Sparse matrices of a file: every index within the matrix, since compiled code believes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairaudit.models.safe_pickle.grants import Refused

__all__ = ["check_sparse"]


def check_sparse(found: Any) -> None:
    """Refuse a sparse matrix whose numbers point outside of it."""
    check = _CHECKS.get(type(found).__name__[:3])
    if check is None or not hasattr(type(found), "tocsr"):
        return  # what scipy.sparse keeps beside its matrices
    try:
        replaced = [key for key in vars(found) if callable(getattr(type(found), key, None))]
        _require(not replaced, f"it replaces {replaced}")
        shape = found._shape
        _require(type(shape) is tuple and 0 < len(shape) <= 2, "its shape is none")
        _require(all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape), "its shape")
        check(found, shape)
    except (ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise Refused(f"has a sparse matrix with impossible indices ({error})") from None


def _require(condition: object, problem: str) -> None:
    if not condition:
        raise ValueError(problem)


def _compressed(found: Any, shape: tuple[int, ...]) -> None:
    type(found).check_format(found, full_check=True)


def _coordinates(found: Any, shape: tuple[int, ...]) -> None:
    coords = found.coords if hasattr(found, "coords") else (found.row, found.col)
    _require(len(coords) == len(shape) and np.ndim(found.data) == 1, "its coordinates")
    for places, size in zip(coords, shape, strict=True):
        _require(places.shape == found.data.shape, "fewer coordinates than numbers")
        _within(places, size)


def _lists(found: Any, shape: tuple[int, ...]) -> None:
    rows, numbers = found.rows, found.data
    _require(rows.shape == numbers.shape == (shape[0],), "its rows")
    for places, values in zip(rows, numbers, strict=True):
        _require(type(places) is list and type(values) is list, "a row that is no list")
        _require(len(places) == len(values), "fewer columns than numbers")
        if places:
            _within(np.asarray(places), shape[-1])


def _diagonals(found: Any, shape: tuple[int, ...]) -> None:
    _require(found.data.ndim == 2 and found.offsets.shape == found.data.shape[:1], "its offsets")
    _require(found.offsets.dtype.kind == "i", "offsets that are no whole numbers")
    _require(len(np.unique(found.offsets)) == len(found.offsets), "offsets that occur twice")


def _keys(found: Any, shape: tuple[int, ...]) -> None:
    keys = np.asarray(list(found.keys()), dtype=np.int64).reshape(-1, len(shape))
    for places, size in zip(keys.T, shape, strict=True):
        _within(places, size)


def _within(places: Any, size: int) -> None:
    _require(places.dtype.kind in "iu", "places that are no whole numbers")
    if len(places):
        _require(places.min() >= 0 and places.max() < size, "a place outside of it")


_CHECKS: dict[str, Callable[[Any, tuple[int, ...]], None]] = {
    "bsr": _compressed,
    "coo": _coordinates,
    "csc": _compressed,
    "csr": _compressed,
    "dia": _diagonals,
    "dok": _keys,
    "lil": _lists,
}
