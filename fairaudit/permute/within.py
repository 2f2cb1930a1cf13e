"""Permutations within strata of equal outcome: exactly valid, nothing estimated."""

from __future__ import annotations

import numpy as np

from fairaudit._types import Index
from fairaudit.permute.copies import CopySampler, stream

__all__ = ["WithinOutcome"]


class WithinOutcome(CopySampler):
    """Uniform permutations of the rows within each stratum.

    ICP restricted to permutations that keep Y fixed: every ratio q(y|a)/q(y|a) cancels, so that
    the copies are exchangeable with the data for any A and any n.

    Parameters
    ----------
    strata : int array
        Rows with equal numbers may exchange their attributes.
    seed : int
    units : int array, optional
        Rows with equal numbers belong together (one person) and move together. Units exchange
        places only with units of the same outcomes (as a multiset).
    """

    within_outcome = True

    def __init__(self, strata: Index, seed: int, units: Index | None = None) -> None:
        self.n = len(strata)
        self.seed = seed
        # `rows` lists the rows stratum by stratum; in each, `size` consecutive rows form a unit
        self.strata = _group_units(strata, units)  # units × rows of a unit
        self.moved = [m.ravel() if m.shape[1] == 1 else m for m in self.strata]

    def block(self, copies: range) -> Index:
        result = np.empty((len(copies), self.n), dtype=np.intp)
        for place, copy in enumerate(copies):
            rng = stream(self.seed, 1, copy)
            for members in self.moved:
                result[place, members] = members[rng.permutation(len(members))]
        return result

    @property
    def movable(self) -> float:
        """Share of the rows that have another unit to change places with."""
        return sum(m.size for m in self.strata if len(m) > 1) / self.n


def _group_units(strata: Index, units: Index | None) -> list[Index]:
    if units is None:
        order = np.argsort(strata, kind="stable")
        ends = np.cumsum(np.bincount(strata))[:-1]
        return [part[:, None] for part in np.split(order, ends) if len(part)]
    # The rows of every unit in the order of their outcomes: two units match row by row.
    order = np.lexsort((strata, units))
    starts = np.flatnonzero(np.diff(units[order], prepend=-1))
    groups: dict[bytes, list[Index]] = {}
    for rows in np.split(order, starts[1:]):
        groups.setdefault(strata[rows].tobytes(), []).append(rows)
    return [np.array(members) for members in groups.values()]
