"""The second and third argument of tests and measures: a swap is an error, never another number.

`equalized_odds_test` takes (y_pred, y_true, sensitive), the measures (y_pred, sensitive, y_true).
By keyword both are clear. By position they are only where the values tell which is which: the
attributes are a table (a frame, a mapping, an array of two dimensions), the outcome is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from fairaudit.data.columns import Column
from fairaudit.errors import InputError

__all__ = ["swaps_refused"]

P = ParamSpec("P")
R = TypeVar("R")


def swaps_refused(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse `y_true` and `sensitive` by position where a swap could not be noticed."""
    names = list(signature(function).parameters)[:3]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = dict(zip(names, args, strict=False))
        sensitive, outcome = given.get("sensitive"), given.get("y_true")
        if sensitive is not None and outcome is not None:
            _check(function.__name__, names, width_of(sensitive), width_of(outcome))
        return function(*args, **kwargs)

    return checked


def width_of(values: Any) -> int:
    """0 for one column of values, 1 for a table of one column, 2 for a wider one."""
    if isinstance(values, Column):
        return 0
    if isinstance(values, Mapping):
        return min(len(values), 2)
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], Column):
        return min(len(values), 2) if len(values) > 1 else 1
    shape = getattr(values, "shape", None)
    if shape is None:
        try:
            shape = np.shape(values)
        except ValueError:  # ragged lists, which are refused elsewhere
            return 0
    return 0 if len(shape) < 2 else min(int(shape[1]), 2)


def _check(function: str, names: list[str], sensitive: int, outcome: int) -> None:
    if sensitive > outcome:
        return
    call = f"{function}({names[0]}, {names[1]}=…, {names[2]}=…)"
    if sensitive < outcome:
        raise InputError(
            f"{function} takes {names[1]} before {names[2]}, and the values look as if they were "
            f"swapped: y_true is a table and sensitive is not. Write {call}."
        )
    raise InputError(
        f"By position {function} cannot tell y_true from sensitive, and a swap would give another "
        f"number. Name them: {call}."
    )
