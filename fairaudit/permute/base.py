"""Conditional copies of the attributes, as blocks of row indices.

A copy is an array `rows` of length n: outcome row k gets the attributes of row `rows[k]`. Every
copy has its own random stream, keyed by its number, so that copies do not depend on how they are
batched or on which process draws them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from fairaudit.kernels import Index

__all__ = ["CopySampler", "stream"]


def stream(seed: int, *key: int) -> np.random.Generator:
    """The random generator of one named purpose: independent for different keys."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class CopySampler(ABC):
    """Draws conditional copies.

    Attributes
    ----------
    n : int
        Rows.
    within_outcome : bool
        Every copy keeps each outcome value's own attributes: (Y, Ã) is a reordering of (Y, A).
    """

    n: int
    within_outcome: bool

    @abstractmethod
    def block(self, copies: range) -> Index:
        """The copies of these numbers, one per row (len(copies) × n)."""

    def blocks(self, count: int, batch: int) -> Iterator[tuple[range, Index]]:
        """All copies 0 … count − 1 in blocks of at most `batch`."""
        for start in range(0, count, batch):
            numbers = range(start, min(start + batch, count))
            yield numbers, self.block(numbers)
