"""KPC less what copies would show: 0 on average where there is nothing, with an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.columns import Column
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.kernels import Gram, kernel_named, low_rank_features
from fairaudit.geometry.neighbors import NeighborGraph, row_products
from fairaudit.metrics._kpc import graph_of
from fairaudit.metrics.measure import Measure

__all__ = ["KPCCentered", "kpc_centered", "kpc_centered_of_table", "limits_of"]

_AROUND = 3  # rows on either side whose outcomes count as equal, where it is a number
_APART, _CHANCE = 0.3, 4.0  # of KPC: what those around a row lose beside its nearest; over √n
_PAIRS = 1 << 18  # products of sums at once
_Z = 1.959963984540054  # of 95 %, on both sides
_ROWS, _FEATURES = 20_000, 64  # from which the error is estimated; it falls with the root of n


@dataclass(frozen=True, slots=True, kw_only=True)
class KPCCentered(Measure):
    """KPC less its mean over copies.

    Attributes
    ----------
    raw : float
        KPC itself, as `kpc` and R give it.
    low, high : float
        95 % interval of what the value is on average in tables like this one.
    """

    raw: float
    low: float
    high: float


@swaps_refused
def kpc_centered(
    y_pred: Any, sensitive: Any, y_true: Any, *, kinds: Mapping[str, str] | None = None
) -> KPCCentered:
    r"""KPC (one neighbor, `rbf`, ties averaged) less its mean over copies.

    The nearest neighbors of KPC are near in the outcome and in the attributes; the more attributes
    there are, the further they are apart in the outcome, and KPC falls below 0 where there is
    nothing to find. Copies show by how much.

    Parameters
    ----------
    y_pred, sensitive, y_true, kinds
        As for `kpc`.

    Returns
    -------
    KPCCentered
        ``float(result)`` is the size; `raw` is KPC.

    Notes
    -----
    .. math:: \frac{T(Y, A) - E\,T(Y, \tilde A)}{\bar k - T(Y)}

    The mean is over copies that exchange predictions among rows of equal outcome; where the
    outcome is a number that fewer than 7 rows share, with 3 rows on either side too. It needs no
    copies: the kernel of an edge is then, on average, that between all pairs of rows that may
    stand at its ends. Under equalized odds the size is 0 on average. Otherwise it is KPC where
    outcome and attributes are categories, and smaller where neighbors differ in them.

    The interval adds up the influence of every row on the neighbors that it has, and is at least
    as wide as where there is no violation.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, y = rng.normal(size=(500, 10)), rng.normal(size=500)
    >>> size = kpc_centered(y + rng.normal(size=500), sensitive=a, y_true=y)
    >>> size.raw < -0.1, size.low < 0 < size.high
    (True, True)
    """
    return kpc_centered_of_table(AuditTable.of(y_pred, sensitive, y_true, kinds=kinds))


def kpc_centered_of_table(table: AuditTable) -> KPCCentered:
    """`kpc_centered` on a table that has been checked."""
    table.reject_weights("KPC")
    table.require_varying_prediction()
    outcome, n = table.require_outcome(), len(table)
    u = table.prediction.matrix()
    kernel = kernel_named("rbf", u)[0]
    gram = Gram(kernel, u)
    both = graph_of((outcome, *table.attributes), n, "standard", 1)
    by_outcome = graph_of((outcome,), n, "standard", 1)
    alone = by_outcome.mean_kernel(gram)
    left = float(gram.diagonal.mean()) - alone
    if left <= 1e-12 * float(gram.diagonal.max()):
        raise InputError("KPC is undefined: the outcome determines the prediction completely.")
    raw = (both.mean_kernel(gram) - alone) / left
    close = gram if gram.features is not None else gram.from_drawn_rows()
    windows = _Windows.of(outcome)
    apart = (by_outcome.mean_kernel(close) - windows.mean_within(close)) / left
    if apart > _APART + _CHANCE / np.sqrt(n):
        raise InputError(
            "KPC is undefined: the outcome nearly determines the prediction, so that people next "
            "to one another in the outcome differ by it more than by anything else."
        )
    of_copies = (windows.mean_of_copies(both, close) - alone) / left
    value = float(raw - of_copies)
    low, high = _Errors.of(table, kernel).limits(value)
    return KPCCentered(value=value, n=n, raw=raw, low=low, high=high)


def limits_of(table: AuditTable, value: float, rows: int | None = None) -> tuple[float, float]:
    """The interval of a size that is known already; the table may be a part of `rows` rows."""
    errors = _Errors.of(table, kernel_named("rbf", table.prediction.matrix())[0])
    return errors.of_more(1.0 if rows is None else len(table) / rows).limits(value)


@dataclass(frozen=True, slots=True, eq=False)
class _Windows:
    """Rows that may exchange their predictions: those of equal outcome, or next to one another.

    `block` has the place of every row among the distinct outcomes, `counts` their rows, and `runs`
    (outcomes × outcomes) the share of each outcome's rows that belongs to the run around another:
    of a larger number of equal outcomes at the end of a run, a part.
    """

    block: Index
    counts: Array
    runs: Any

    @classmethod
    def of(cls, outcome: Column) -> _Windows:
        from scipy.sparse import csr_array

        values = outcome.codes if outcome.kind.is_categorical else np.asarray(outcome.numeric)
        block, rows = np.unique(values, return_inverse=True, return_counts=True)[1:]
        counts, places = rows.astype(np.float64), np.arange(len(rows))
        parts = [(places, places, np.ones(len(rows)))]
        few = counts <= 2 * _AROUND
        for side in () if outcome.kind.is_categorical else (-1, 1):
            wanted = np.where(few, float(_AROUND), 0.0)
            for step in range(1, _AROUND + 1):
                near = places + side * step
                inside = (near >= 0) & (near < len(rows)) & (wanted > 0)
                taken = np.minimum(wanted[inside], counts[near[inside]])
                parts.append((places[inside], near[inside], taken / counts[near[inside]]))
                wanted[inside] -= taken
        i, j, share = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(block, counts, csr_array((share, (i, j)), shape=(len(rows),) * 2))

    @property
    def rows(self) -> Array:
        """In the run around each outcome."""
        return np.asarray(self.runs @ self.counts)

    def means(self, x: Array) -> Array:
        """Of the rows around each row, itself included."""
        count = len(self.counts)
        sums = np.column_stack([np.bincount(self.block, column, count) for column in x.T])
        return np.asarray(((self.runs @ sums) / self.rows[:, None])[self.block])

    def mean_within(self, gram: Gram) -> float:
        """The mean kernel of two rows that may exchange their predictions."""
        features, others = gram.features, self.rows[self.block] - 1.0
        around = (self.runs @ self._sum_features(features))[self.block]
        alike = row_products(features, around) - row_products(features, features)
        return float((alike / np.maximum(others, 1.0))[others > 0].mean())

    def _sum_features(self, features: Any) -> Any:
        """Of the rows of each outcome."""
        from scipy.sparse import csr_array

        n = len(self.block)
        shape = (len(self.counts), n)
        return csr_array((np.ones(n), (self.block, np.arange(n))), shape=shape) @ features

    def mean_of_copies(self, graph: NeighborGraph, gram: Gram) -> float:
        """The mean of T(Y, Ã) over copies."""
        count, features = len(self.counts), gram.features
        sums = self.runs @ self._sum_features(features)
        diagonal = np.bincount(self.block, row_products(features, features), count)
        size, (source, target, weight) = self.rows, self._edges(graph)
        total = 0.0
        for at in range(0, len(weight), _PAIRS):
            b, c = source[at : at + _PAIRS], target[at : at + _PAIRS]
            shared = self.runs[b].multiply(self.runs[c])  # no row stands at both ends
            pairs = size[b] * size[c] - shared @ self.counts
            products = row_products(sums[b], sums[c]) - shared @ diagonal
            total += float(weight[at : at + _PAIRS] @ (products / np.maximum(pairs, 1e-9)))
        return total / graph.n

    def _edges(self, graph: NeighborGraph) -> tuple[Index, Index, Array]:
        """Weights of the graph between outcomes."""
        counts = graph.blocks.counts.astype(np.float64)
        place = self.block[graph.blocks.first]
        inside = graph.within * counts * (counts - 1)
        source = np.concatenate([place, place[graph.source]])
        target = np.concatenate([place, place[graph.target]])
        between = graph.weight * counts[graph.source] * counts[graph.target]
        weight = np.concatenate([inside, between])
        key, pair = np.unique(source * len(self.counts) + target, return_inverse=True)
        total = np.bincount(pair, weight).astype(np.float64)
        return np.asarray(key // len(self.counts)), np.asarray(key % len(self.counts)), total


@dataclass(frozen=True, slots=True)
class _Errors:
    """Variances of the size: as it is, where there is nothing, and what a violation adds at most.

    `most` is per unit of size: 4λ/n with λ the largest variance of the prediction's features.
    """

    here: float
    at_zero: float
    most: float

    @classmethod
    def of(cls, table: AuditTable, kernel: Any) -> _Errors:
        """From the influence of the rows; of a part of them, where they are many."""
        n = len(table)
        if n > _ROWS:
            rows = np.random.default_rng(0).choice(n, _ROWS, replace=False)
            return cls.of(table.take(np.sort(rows)), kernel).of_more(_ROWS / n)
        outcome, u = table.require_outcome(), table.prediction.matrix()
        phi = np.ascontiguousarray(low_rank_features(kernel, u, max_rank=_FEATURES)[0].T)
        windows = _Windows.of(outcome)
        size = windows.rows[windows.block][:, None]
        residual = (phi - windows.means(phi)) * size / np.maximum(size - 1, 1)
        both = _Links.of(graph_of((outcome, *table.attributes), n, "standard", 1))
        alone = _Links.of(graph_of((outcome,), n, "standard", 1))
        near = both.sums(phi)
        own = row_products(residual, near - windows.means(near))
        level = own.mean() / 2
        of_outcome = row_products(phi, alone.sums(phi))
        base = of_outcome.mean() / 2
        left = float(row_products(phi, phi).mean()) - base
        influence = own - both.degree * level + level / left * (of_outcome - alone.degree * base)
        spread = residual.T @ residual / n
        scale = (n * left) ** 2
        at_zero = float((spread**2).sum()) * both.squares / scale
        here = float((influence**2).sum()) / scale - at_zero  # which it counts twice
        largest = float(np.linalg.eigvalsh(spread)[-1])
        return cls(max(here, at_zero), at_zero, 4 * largest / (n * left))

    def of_more(self, share: float) -> _Errors:
        """Of a table that this one is a share of: errors fall with the root of the rows."""
        return _Errors(self.here * share, self.at_zero * share, self.most * share)

    def limits(self, value: float) -> tuple[float, float]:
        """95 %; the upper one allows for a variance that grows with the size."""
        reach = _Z * float(np.sqrt(self.here))
        known, slope = max(value, 0.0), _Z**2 * self.most
        square = slope * known + slope**2 / 4 + _Z**2 * self.at_zero
        upper = known + slope / 2 + float(np.sqrt(square))
        return float(value - reach), float(min(max(value + reach, upper), 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Links:
    """The graph in both directions: w_ij + w_ji between rows of its blocks."""

    graph: NeighborGraph
    between: Any

    @classmethod
    def of(cls, graph: NeighborGraph) -> _Links:
        from scipy.sparse import csr_array

        count = len(graph.blocks)
        one_way = csr_array((graph.weight, (graph.source, graph.target)), shape=(count, count))
        return cls(graph, (one_way + one_way.T).tocsr())

    def sums(self, x: Array) -> Array:
        """Σ_j (w_ij + w_ji) x_j of every row i."""
        block = self.graph.blocks.of_row
        by_block = np.column_stack(
            [np.bincount(block, column, len(self.graph.blocks)) for column in x.T]
        )
        within = 2 * self.graph.within[:, None]
        return np.asarray((within * by_block + self.between @ by_block)[block] - within[block] * x)

    @property
    def degree(self) -> Array:
        return self.sums(np.ones((self.graph.n, 1)))[:, 0]

    @property
    def squares(self) -> float:
        """Σ (w_ij + w_ji)² over pairs of rows."""
        counts = self.graph.blocks.counts.astype(np.float64)
        squared = self.between.multiply(self.between)
        inside = (counts * (counts - 1) / 2 * (2 * self.graph.within) ** 2).sum()
        return float(inside + counts @ (squared @ counts) / 2)
