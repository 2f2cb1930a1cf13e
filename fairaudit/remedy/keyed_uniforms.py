"""Uniform numbers that belong to a person: a keyed hash of their row.

The same row gets the same numbers in every table, at every place in it and in every process;
without the key they cannot be told from random ones.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.errors import InputError

__all__ = ["draw_key", "draw_uniforms"]

_KEY_BYTES = 16
_WORD = 8  # bytes of one number


def draw_key(random_state: int | None) -> str:
    """A key: secret, or made from a seed where the model is to be repeatable."""
    if random_state is None:
        return secrets.token_hex(_KEY_BYTES)
    digest = hashlib.blake2b(str(int(random_state)).encode(), digest_size=_KEY_BYTES)
    return digest.hexdigest()


def draw_uniforms(columns: dict[str, Any], key: str, *, count: int = 1) -> Array:
    """Uniform numbers on (0, 1) of every row.

    Parameters
    ----------
    columns : dict
        Name → values; numbers or anything with a text. The order of names does not matter, and
        whole numbers count as the same whatever type holds them.
    key : str
        Hexadecimal.
    count : int
        Numbers per row, at most 8.

    Returns
    -------
    array
        Rows × count.

    Examples
    --------
    >>> people = {"age": [31, 54], "job": ["nurse", "baker"]}
    >>> u = draw_uniforms(people, "00ff")
    >>> bool((u[::-1] == draw_uniforms({k: v[::-1] for k, v in people.items()}, "00ff")).all())
    True
    """
    if not columns:
        raise InputError("There are no columns to tell people apart by.")
    secret = bytes.fromhex(key)
    words = np.column_stack([_find_words(columns[name], secret) for name in sorted(columns)])
    width = words.shape[1] * _WORD
    data = np.ascontiguousarray(words).tobytes()
    size = count * _WORD
    digests = b"".join(
        hashlib.blake2b(data[at : at + width], digest_size=size, key=secret).digest()
        for at in range(0, len(data), width)
    )
    whole = np.frombuffer(digests, dtype="<u8").reshape(-1, count)
    return ((whole >> np.uint64(11)).astype(np.float64) + 0.5) / float(1 << 53)


def _find_words(values: Any, secret: bytes) -> Any:
    """64 bits of every value: the number itself, or a hash of its text."""
    import pandas as pd

    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        numbers = array.astype("<f8") + 0.0  # no negative zero
        numbers[np.isnan(numbers)] = np.nan  # one of many
        return numbers.view("<u8")
    codes, levels = pd.factorize(array.astype(object))
    texts = [f"{type(level).__name__}:{level}".encode() for level in levels.tolist()]
    digests = [hashlib.blake2b(text, digest_size=_WORD, key=secret).digest() for text in texts]
    words = np.frombuffer(b"".join([*digests, bytes(_WORD)]), dtype="<u8")  # the last: missing
    return words[codes]
