"""Keys and elements that would take hours to hash: too deep, or too many of one hash.

Texts are hashed with a secret of the process, numbers are not: whole numbers that differ by a
multiple of 2**61 - 1 have the same hash, and a dictionary of n of them takes n**2 steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fairaudit.models.safe_pickle.grants import Refused, require

__all__ = ["check_hashes", "keys_of"]

_MOST_ALIKE = 1_000
_OWN_HASH = 2**61 - 1  # a whole number below it is its own hash
# Of these there are no more than a few with one hash, or nobody knows which.
_SCATTERED = (
    bool,
    bytes,
    float,
    np.bool_,
    np.bytes_,
    np.float16,
    np.float32,
    np.float64,
    np.integer,
    np.str_,
    str,
    type(None),
)


def keys_of(items: Iterable[Any], alike: Counter[int] | None = None) -> list[Any]:
    """`items`, none of them so deep that hashing it would not return, and few of one hash.

    Parameters
    ----------
    items : iterable
    alike : Counter, optional
        Hashes of what the same dictionary or set holds already; these are counted too.
    """
    checked = list(items)
    for item in checked:
        if isinstance(item, (tuple, frozenset)):
            pending, left = [item], 10_000
            while pending:
                inner = pending.pop()
                left -= len(inner)
                require(left > 0)
                pending += [part for part in inner if isinstance(part, (tuple, frozenset))]
    alike = Counter() if alike is None else alike
    for item in filter(_may_be_alike, checked):
        alike[hash(item)] += 1
        if alike[hash(item)] > _MOST_ALIKE:
            raise _too_many()
    return checked


def check_hashes(items: Sequence[Any]) -> None:
    """Refuse a list of which a dictionary could not be made in reasonable time."""
    if len(items) <= _MOST_ALIKE:
        return
    numbers = [item for item in items if type(item) in (complex, int) and _may_be_alike(item)]
    if len(numbers) > _MOST_ALIKE:
        (most, count), *_ = Counter(map(hash, numbers)).most_common(1)
        same = [number for number in numbers if hash(number) == most]
        if count > _MOST_ALIKE and any(number != same[0] for number in same):
            raise _too_many()


def _may_be_alike(item: Any) -> bool:
    if type(item) is int:
        return not -_OWN_HASH < item < _OWN_HASH
    by_place: Any = object.__hash__
    return not isinstance(item, _SCATTERED) and type(item).__hash__ is not by_place


def _too_many() -> Refused:
    return Refused(f"has more than {_MOST_ALIKE:,} keys of one hash, which would take hours")
