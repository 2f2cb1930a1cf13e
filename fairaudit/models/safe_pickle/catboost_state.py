"""Pickles of catboost: settings of plain values around a file in its own format."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairaudit.models.safe_pickle.grants import Refused

__all__ = ["MAGIC", "MODEL", "check_catboost_state"]

MAGIC = b"CBM1"
MODEL = "__model"
_PLAIN = (bool, bytes, float, int, str, type(None), np.generic)


def check_catboost_state(kind: str, state: Any) -> None:
    """Refuse the state of an estimator that holds anything but settings and a model's bytes."""
    if type(state) is not dict or not all(type(key) is str for key in state):
        raise Refused(f"has a {kind} whose state is no dict")
    model = state.get(MODEL)
    if MODEL in state and not (type(model) is bytes and model.startswith(MAGIC)):
        raise Refused(f"has a {kind} whose model is not one of catboost")
    for key, value in state.items():
        if key != MODEL and (key.startswith("__") or not _is_plain(value)):
            raise Refused(f"sets {key[:40]} of {kind} to what is no setting")


def _is_plain(value: Any, depth: int = 0) -> bool:
    if depth > 5:
        return False
    if type(value) is dict:
        inner = [*value.keys(), *value.values()]
    elif type(value) in (list, tuple):
        inner = list(value)
    elif type(value) is np.ndarray:
        return not value.dtype.hasobject
    else:
        return isinstance(value, _PLAIN)
    return all(_is_plain(item, depth + 1) for item in inner)
