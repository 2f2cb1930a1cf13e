"""Which shard a row belongs to, and which rows are a sample: by a hash, whatever the files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Keys", "assign_shards", "in_sample", "make_keys"]

Keys = NDArray[np.uint64]
_SHARD, _SAMPLE = 1, 2  # what a hash is for


def make_keys(rows: NDArray[np.int64], ids: Any = None) -> Keys:
    """A number per row: its position in the whole table, or a hash of the id of its person."""
    if ids is None:
        return rows.astype(np.uint64)
    import pandas as pd

    values = np.asarray(ids)
    codes, levels = pd.factorize(values if values.dtype.kind in "iu" else values.astype(object))
    whole = levels.dtype.kind in "iu"
    text = levels.astype(np.int64) if whole else np.array([str(level) for level in levels], object)
    return np.asarray(pd.util.hash_array(text), dtype=np.uint64)[codes]


def assign_shards(keys: Keys, shards: int) -> NDArray[np.int64]:
    """A shard for every row; rows with the same key stay together.

    Examples
    --------
    >>> assign_shards(np.arange(8, dtype=np.uint64), 3)
    array([1, 2, 1, 0, 1, 2, 2, 0])
    """
    return (_mix_bits(keys, _SHARD) % np.uint64(shards)).astype(np.int64)


def in_sample(keys: Keys, share: float) -> NDArray[np.bool_]:
    """About this share of the rows, independent of their shards."""
    limit = min(int(share * 2.0**64), 2**64 - 1)
    return _mix_bits(keys, _SAMPLE) < np.uint64(limit)


def _mix_bits(keys: Keys, purpose: int) -> Keys:
    """splitmix64"""
    step = (0x9E3779B97F4A7C15 * purpose) % 2**64
    with np.errstate(over="ignore"):
        z = keys + np.uint64(step)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
