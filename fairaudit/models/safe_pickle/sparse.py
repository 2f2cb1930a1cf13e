"""Sparse matrices of a file: every index within the matrix, since compiled code believes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairaudit.models.safe_pickle.grants import Refused

__all__ = ["check_sparse"]


def check_sparse(matrix: Any) -> None:
    """Refuse a sparse matrix whose numbers point outside of it."""
    check = _CHECKS.get(type(matrix).__name__[:3])
    if check is None or not hasattr(type(matrix), "tocsr"):
        return  # what scipy.sparse keeps beside its matrices
    try:
        replaced = [key for key in vars(matrix) if callable(getattr(type(matrix), key, None))]
        _require(not replaced, f"it replaces {replaced}")
        shape = matrix._shape
        _require(type(shape) is tuple and 0 < len(shape) <= 2, "it has no shape")
        _require(all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape), "its shape")
        check(matrix, shape)
    except (ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise Refused(f"has a sparse matrix with impossible indices ({error})") from None


def _require(condition: object, problem: str) -> None:
    if not condition:
        raise ValueError(problem)


def _check_compressed(matrix: Any, shape: tuple[int, ...]) -> None:
    type(matrix).check_format(matrix, full_check=True)


def _check_coordinates(matrix: Any, shape: tuple[int, ...]) -> None:
    coords = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    _require(len(coords) == len(shape) and np.ndim(matrix.data) == 1, "its coordinates")
    for places, size in zip(coords, shape, strict=True):
        _require(places.shape == matrix.data.shape, "fewer coordinates than numbers")
        _within(places, size)


def _check_lists(matrix: Any, shape: tuple[int, ...]) -> None:
    rows, numbers = matrix.rows, matrix.data
    _require(rows.shape == numbers.shape == (shape[0],), "its rows")
    for places, values in zip(rows, numbers, strict=True):
        _require(type(places) is list and type(values) is list, "a row that is not a list")
        _require(len(places) == len(values), "fewer columns than numbers")
        if places:
            _within(np.asarray(places), shape[-1])


def _check_diagonals(matrix: Any, shape: tuple[int, ...]) -> None:
    _require(matrix.data.ndim == 2 and matrix.offsets.shape == matrix.data.shape[:1], "its offsets")
    _require(matrix.offsets.dtype.kind == "i", "offsets that are not whole numbers")
    _require(len(np.unique(matrix.offsets)) == len(matrix.offsets), "offsets that occur twice")


def _check_keys(matrix: Any, shape: tuple[int, ...]) -> None:
    keys = np.asarray(list(matrix.keys()), dtype=np.int64).reshape(-1, len(shape))
    for places, size in zip(keys.T, shape, strict=True):
        _within(places, size)


def _within(places: Any, size: int) -> None:
    _require(places.dtype.kind in "iu", "places that are not whole numbers")
    if len(places):
        _require(places.min() >= 0 and places.max() < size, "a place outside of it")


_CHECKS: dict[str, Callable[[Any, tuple[int, ...]], None]] = {
    "bsr": _check_compressed,
    "coo": _check_coordinates,
    "csc": _check_compressed,
    "csr": _check_compressed,
    "dia": _check_diagonals,
    "dok": _check_keys,
    "lil": _check_lists,
}
