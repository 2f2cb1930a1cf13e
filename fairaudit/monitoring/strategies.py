"""What is bet on with every batch, and with which share of the stake."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit._types import Array
from fairaudit.monitoring.direction import Frame, Layout, bets
from fairaudit.monitoring.evidence import log_e_values
from fairaudit.monitoring.rules import CURRENT, Rules

__all__ = ["FORGETTING", "Strategies"]

#: What earlier batches showed counts this much less with every batch.
FORGETTING = 0.85
MOST_ALONE = 200  # products that are bet on alone: those with the largest share
_ON_STATISTICS, _ON_DIRECTIONS, _ON_PRODUCTS = 0.15, 0.25, 0.6
_ON_MEANS = 0.6  # of products; the rest is for spreads
_ON_MAIN = 0.5  # of products: attributes alone; the rest is for their squares and products of two
_DIGITS = 1000.0  # e-values are kept with three decimals of their logarithms, rounded down


class Strategies:
    """Statistics, directions learned and single products, with their tilts.

    Parameters
    ----------
    frame : Frame
    statistics : int
        How many are computed on every batch.
    rules : Rules

    Attributes
    ----------
    weights : array
        The share of the stake of each; they add up to 1.
    """

    def __init__(self, frame: Frame, statistics: int = 1, rules: Rules = CURRENT) -> None:
        self.rules = rules
        self._layouts = frame.layouts()
        self._pooled = [rules.pooled and layout.parts > 1 for layout in self._layouts]
        directions = len(self._layouts) + sum(self._pooled)
        tilts = len(rules.tilts)
        if not rules.tilts_alone:  # all alike
            count = (statistics + directions) * tilts
            self._alone = np.arange(0)
            self.weights = np.full(count, 1.0 / count)
            return
        shares = _share_products(self._layouts)
        self._alone = np.sort(np.argsort(-shares, kind="stable")[:MOST_ALONE])
        shares = shares[self._alone] / shares[self._alone].sum()
        ways = 2 * len(rules.tilts_alone)
        self.weights = np.concatenate(
            [
                np.full(statistics * tilts, _ON_STATISTICS / (statistics * tilts)),
                np.full(directions * tilts, _ON_DIRECTIONS / (directions * tilts)),
                np.repeat(_ON_PRODUCTS * shares / ways, ways),
            ]
        )

    def bet(
        self, values: Array, products: Sequence[Array], earlier: Sequence[Sequence[Array]]
    ) -> Array:
        """Logarithms of e-values: one row per strategy, one column for the data and every copy.

        Parameters
        ----------
        values : array of shape (K + 1, statistics)
            Of the data in the first place and then of every copy, as in all that follows.
        products : sequence of array
            As `Frame.products` gives them.
        earlier : sequence
            The products that earlier batches showed.
        """
        pools = [*values.T]
        for number, array in enumerate(products):
            pools.append(bets(_learn([shown[number] for shown in earlier], array), array))
        for number, layout in enumerate(self._layouts):
            if self._pooled[number]:
                array = _pool_parts(products[number], layout)
                shown = [_pool_parts(showed[number], layout) for showed in earlier]
                pools.append(bets(_learn(shown, array), array))
        log_e = log_e_values(np.array(pools), self.rules.tilts)
        if not self.rules.tilts_alone:
            return log_e
        alone = np.concatenate(
            [
                _take_alone(array, layout)
                for array, layout in zip(products, self._layouts, strict=True)
            ]
        )[self._alone]
        both_ways = (*self.rules.tilts_alone, *(-tilt for tilt in self.rules.tilts_alone))
        joined = np.concatenate([log_e, log_e_values(alone, both_ways)])
        return np.asarray(np.floor(joined * _DIGITS + 1e-6) / _DIGITS)


def _learn(earlier: Sequence[Array], array: Array) -> Array:
    """The sum of what was shown, the older the less; nothing before the second batch."""
    if not earlier:
        return np.zeros(array.shape[1])
    ages = np.arange(len(earlier))[::-1]
    return np.asarray((FORGETTING**ages) @ np.array(earlier))


def _pool_parts(array: Array, layout: Layout) -> Array:
    """Products over all classes together, or without the size of the outcome."""
    apart = array.reshape(*array.shape[:-1], layout.parts, -1)
    return np.asarray(apart.sum(axis=-2) if layout.classes else apart[..., 0, :])


def _combine_parts(layout: Layout) -> tuple[Array, Array]:
    """Sums and differences of the parts that are bet on, one a row, and their shares."""
    count = layout.parts
    if not layout.classes or count == 1:
        return np.eye(count), np.array([0.7, 0.3] if count == 2 else [1.0])
    together, apart = np.ones((1, count)), np.eye(count)
    if count == 2:
        combined = np.concatenate([together, [[-1.0, 1.0]], apart])
        return combined, np.array([0.6, 0.2, 0.1, 0.1])
    return np.concatenate([together, apart]), np.array([0.6, *[0.4 / count] * count])


def _take_alone(array: Array, layout: Layout) -> Array:
    """Every product of every combination of parts, one a row."""
    combined, _ = _combine_parts(layout)
    apart = array.reshape(len(array), layout.parts, -1)
    return np.asarray(np.einsum("cp,kpf->cfk", combined, apart).reshape(-1, len(array)))


def _share_products(layouts: Sequence[Layout]) -> Array:
    """The shares of all single products, in the order of `_take_alone`."""
    shares = []
    for layout, on_array in zip(layouts, (_ON_MEANS, 1 - _ON_MEANS), strict=False):
        _, on_parts = _combine_parts(layout)
        rest = layout.features - layout.main
        on_main = _ON_MAIN if rest else 1.0
        on_features = np.full(layout.features, on_main / layout.main)
        on_features[layout.main :] = (1 - on_main) / max(rest, 1)
        on_columns = np.tile(on_features, layout.columns) / layout.columns
        shares.append(on_array * np.outer(on_parts, on_columns).ravel())
    return np.concatenate(shares)
