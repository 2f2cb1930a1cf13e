"""How a broken promise is told, and what the checks of all kinds look at."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fairaudit.auditing.descriptions import described, fully_described
from fairaudit.data.table import AuditTable

__all__ = ["check_object", "make_example_table", "promise", "unchanged"]


def promise(kept: object, broken: str) -> None:
    """Raise an AssertionError that says what is wrong, unless the promise is kept."""
    if not kept:
        raise AssertionError(broken)


def check_object(given: Any, *methods: str) -> str:
    """An object with a name, parameters that can be recorded, and these methods; its name."""
    kind = type(given).__name__
    promise(
        not isinstance(given, type),
        f"{getattr(given, '__name__', given)} is a class: pass an instance.",
    )
    for method in methods:
        promise(callable(getattr(given, method, None)), f"{kind} has no method {method!r}.")
    name = getattr(given, "name", None)
    promise(isinstance(name, str) and name, f"{kind} needs a 'name': text that is not empty.")
    promise(
        fully_described(described(given)),
        f"The parameters of {kind} cannot be recorded: make it a dataclass, or keep what "
        "__init__ was given in attributes of plain values.",
    )
    return str(name)


@contextmanager
def unchanged(name: str, *values: Any) -> Iterator[None]:
    """What is passed in, and numpy's global random numbers, are as before at the end."""
    before = [_hash_value(value) for value in values]
    numbers = _hash_global_numbers()
    yield
    after = [_hash_value(value) for value in values]
    promise(before == after, f"{name} changes the data that it is given. Work on copies.")
    promise(
        numbers == _hash_global_numbers(),
        f"{name} uses numpy's global random numbers. Use numpy.random.default_rng(seed).",
    )


def _hash_global_numbers() -> str:
    return _hash_value(np.random.get_state(legacy=False))  # noqa: NPY002  these are not to be used


def _hash_value(value: Any) -> str:
    return hashlib.sha256(b"".join(_list_bytes(value))).hexdigest()


def _list_bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, AuditTable):
        for column in (*value.prediction.columns, value.outcome, *value.attributes):
            yield from () if column is None else _list_bytes((column.codes, column.numeric))
    elif isinstance(value, dict):
        yield from _list_bytes(tuple(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_bytes(item)
    elif isinstance(value, np.ndarray):
        yield str((value.shape, value.dtype)).encode()
        yield value.tobytes()
    elif hasattr(value, "to_numpy"):
        yield from _list_bytes((list(value.columns), value.to_numpy()))
    else:
        yield repr(value).encode()


def make_example_table(*, kind: str, n: int, seed: int, effect: float = 0.0) -> AuditTable:
    """A table to try a statistic on; without an effect A is independent of everything else.

    `kind` is ``"scores"`` or ``"labels"`` of two classes (all attributes of labels are groups), or
    ``"numbers"``: then the outcome is continuous too.
    """
    rng = np.random.default_rng([seed, n])
    sex, age = rng.permutation(n) % 2, rng.normal(size=n)
    latent = rng.normal(size=n)
    shifted = latent + effect * (sex - 0.5) + 0.5 * rng.normal(size=n)
    groups = np.where(age > 0, "old", "young")
    attributes = {"sex": np.where(sex == 1, "f", "m"), "age": groups if kind == "labels" else age}
    if kind == "numbers":
        return AuditTable.of(shifted, attributes, latent)
    outcome = (latent > np.median(latent)).astype(int)
    scores = 1.0 / (1.0 + np.exp(-2.0 * shifted))
    predicted = (scores > 0.5).astype(int) if kind == "labels" else scores
    return AuditTable.of(predicted, attributes, outcome, positive=1)
