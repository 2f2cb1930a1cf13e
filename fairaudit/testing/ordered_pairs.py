"""The statistic `ordered`: how often predictions stand against the order of the outcome, toward A.

For the law `monotone`, which is exact with this statistic. It is a sum over pairs; a pair's value
never falls when the prediction of its lower row rises or that of its upper row falls, and its
weights know the held-out rows, the attributes and the outcome only. docs/laws/monotone.md has the
proof, and says why a largest of several such sums would not do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.permute.copies import stream
from fairaudit.permute.monotone import EFFECT_STREAM, Pairs
from fairaudit.permute.pair_effect import learn_effect
from fairaudit.testing.statistic import Bound

__all__ = ["OrderedPairs"]

_UNIT = 2.0**-24  # values are multiples of it: sums are exact, in whatever order they are taken


@dataclass(frozen=True, slots=True)
class OrderedPairs:
    """Sum over pairs of the monotone log-likelihood ratio of an unfair model to a fair one.

    The unfair model is learnt on the rows that the law has held out
    (`fairaudit.permute.pair_effect`); 0 where it could not be.
    """

    name = "ordered"
    #: Laws that are exact only with statistics of this kind ask for it.
    ordered = True

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        raise InputError(
            "The statistic 'ordered' is for the law 'monotone'. Choose that law, or another "
            "statistic."
        )

    def bind_pairs(self, table: AuditTable, pairs: Pairs, *, seed: int) -> Bound:
        """Bind to a table and to pairs of its rows, made by the attributes of this table."""
        names = tuple(column.name for column in table.attributes)
        if names != pairs.names:
            raise ValueError(f"pairs made by {pairs.names} cannot answer a question about {names}")
        table.require_varying_prediction()
        low, high = pairs.low, pairs.high
        x = table.prediction.matrix()[:, 0]  # in whatever units: values do not depend on them
        y = np.asarray(table.require_outcome().numeric)
        y = -y if pairs.decreasing else y
        a = encode(table.attributes)
        effect = learn_effect(x, y, a, pairs.held, stream(seed, EFFECT_STREAM))
        value = np.round(effect.value(low, high, x) / _UNIT) * _UNIT
        spread = float(np.sqrt((value**2).sum())) or 1.0

        def values(rows: Index) -> Array:
            swapped = rows[:, low] == high
            return np.asarray(np.where(swapped, -value, value).sum(axis=1) / spread)

        return values
