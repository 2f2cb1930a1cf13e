"""KPC and CODEC as test statistics: kernel means over neighbor graphs, for many copies.

Where copies only exchange attributes between equal outcomes, (Y, Ã) is a reordering of (Y, A):
the graph stays and only the predictions move over its nodes, as they do where it is the predictions
that copies move. Otherwise every copy has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.block_sums import CoarseBlocks, SeenRows
from fairaudit.geometry.kernels import MOST_FEATURES, Gram, kernel_named
from fairaudit.geometry.neighbors import NeighborGraph, neighbor_graph
from fairaudit.geometry.random_ties import random_neighbors
from fairaudit.geometry.ranks_and_moments import rank_values
from fairaudit.geometry.tied_blocks import TiedBlocks, find_tied_blocks
from fairaudit.metrics._codec import minimum_kernel, minimum_sums, one_score
from fairaudit.metrics._kpc import check_knn, graph_of
from fairaudit.testing.kpc_over_blocks import KPCOverBlocks
from fairaudit.testing.statistic import Bound

__all__ = ["CODECStatistic", "KPCStatistic", "default_knn"]


_MANY_PAIRS = 8  # per row; below, features cannot be cheaper
_MOST_PAIRS = 1 << 22  # of rows that are held; beyond, the kernel is replaced by a close one
_NOTHING = 1e-12  # that the outcome leaves of the prediction
_PAIR_COST = 12  # a kernel value on a pair of rows, in multiplications


def default_knn(n: int) -> int:
    """Neighbors of the KPC statistic: a test wants more of them than the metric."""
    return min(20, -(-n // 20))


@dataclass(frozen=True, slots=True)
class KPCStatistic:
    """Kernel partial correlation with averaged ties.

    Parameters
    ----------
    knn : int, optional
        Default min(20, ⌈n/20⌉).
    ties : {"average", "random"}
        ``"random"`` draws new ties for every copy, as the paper's use of R's package does.
    how : {"standard", "raw"}
    """

    knn: int | None = None
    ties: str = "average"
    how: str = "standard"

    name = "kpc"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        table.require_varying_prediction()
        n = len(table)
        knn = self.knn or default_knn(n)
        check_knn(knn, n)
        u = table.prediction.matrix(self.how)
        gram = Gram(kernel_named("rbf", u)[0], u)
        given = (table.require_outcome(),)
        if self.ties == "random":
            return _bind_random_ties(table, gram, knn, self.how, seed)
        if within_outcome:
            graph = graph_of((*given, *table.attributes), n, self.how, knn)
            if _has_too_many_pairs(graph) and gram.features is None:
                gram = gram.from_drawn_rows()
            mean = _use_fixed_graph(graph, gram)
        else:
            mean = _use_own_graphs(table, gram, knn, self.how, None)
        alone = graph_of(given, n, self.how, knn).mean_kernel(gram)
        return _bind_ratio(mean, alone, float(gram.diagonal.mean()) - alone)

    def bind_moved_prediction(self, table: AuditTable, *, seed: int) -> Bound:
        if self.ties == "random":
            raise InputError("Ties drawn at random need copies of the attributes. Average them.")
        table.require_varying_prediction()
        n, outcome = len(table), table.require_outcome()
        knn = self.knn or default_knn(n)
        check_knn(knn, n)
        u = table.prediction.matrix(self.how)
        gram = Gram(kernel_named("rbf", u)[0], u)
        columns = ((outcome, *table.attributes), (outcome,))
        graphs = [graph_of(given, n, self.how, knn) for given in columns]
        if any(_has_too_many_pairs(graph) for graph in graphs) and gram.features is None:
            gram = gram.from_drawn_rows()
        both, alone = (_use_fixed_graph(graph, gram) for graph in graphs)
        diagonal, index = float(gram.diagonal.mean()), np.arange(n)

        def value(copy: Index) -> float:
            node = np.empty_like(copy)  # where each row's prediction goes
            node[copy] = index
            base = alone(node)
            left = diagonal - base
            return (both(node) - base) / left if left > _NOTHING else 0.0

        return lambda rows: np.array([value(copy) for copy in rows])

    def over_blocks(
        self, questions: Sequence[CoarseBlocks], seen: SeenRows, *, seed: int
    ) -> KPCOverBlocks | None:
        """From sums over tied blocks; None where ties are drawn or rows are too few."""
        knn = [self.knn or default_knn(question.n) for question in questions]
        few = any(k >= question.n for k, question in zip(knn, questions, strict=True))
        if few or (self.ties, self.how) != ("average", "standard"):
            return None
        return KPCOverBlocks(questions, knn, seen)


@dataclass(frozen=True, slots=True)
class CODECStatistic:
    """CODEC with averaged ties: one neighbor, ranks instead of a kernel."""

    how: str = "standard"

    name = "codec"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        table.require_varying_prediction()
        n = len(table)
        rank = rank_values(one_score(table), "max") / n
        gram = Gram(minimum_kernel, rank[:, None])

        def sums(blocks: TiedBlocks) -> Array:
            return minimum_sums(rank, blocks)

        given = (table.require_outcome(),)
        alone = graph_of(given, n, self.how, 1).mean_kernel(gram, within_sums=sums)
        if within_outcome:
            graph = graph_of((*given, *table.attributes), n, self.how, 1)
            mean = _move_blocks(graph, gram, sums)
        else:
            mean = _use_own_graphs(table, gram, 1, self.how, sums)
        return _bind_ratio(mean, alone, float(rank.mean()) - alone)


def _bind_ratio(mean: Callable[[Index], float], alone: float, left: float) -> Bound:
    """(T(Y, Ã) − T(Y)) / (k̄ − T(Y)); 0 where the outcome determines the prediction."""
    if left <= _NOTHING:
        return lambda rows: np.zeros(len(rows))
    return lambda rows: np.array([(mean(copy) - alone) / left for copy in rows])


def _use_own_graphs(
    table: AuditTable, gram: Gram, knn: int, how: str, sums: Callable[[TiedBlocks], Array] | None
) -> Callable[[Index], float]:
    """The function copy → T(Y, Ã), where every copy has its own neighbors."""
    n, outcome = len(table), table.require_outcome()
    given, attributes = encode((outcome,), how), encode(table.attributes, how)
    distinct = len(outcome.levels) == n
    block = find_tied_blocks(table.attributes, n).of_row

    def mean(rows: Index) -> float:
        points = np.hstack([given, attributes[rows]])
        blocks = (
            _make_single_rows(n) if distinct else find_tied_blocks([outcome.codes, block[rows]], n)
        )
        return neighbor_graph(points, blocks, knn).mean_kernel(gram, within_sums=sums)

    return mean


def _make_single_rows(n: int) -> TiedBlocks:
    rows = np.arange(n)
    return TiedBlocks(rows, rows, np.ones(n, dtype=np.intp))


def _has_too_many_pairs(graph: NeighborGraph) -> bool:
    """To be held, and more work than with features."""
    pairs = graph.count_row_pairs()
    return pairs > _MOST_PAIRS and _is_cheaper(MOST_FEATURES, graph, pairs)


def _is_cheaper(entries: float, graph: NeighborGraph, pairs: float) -> bool:
    """Features with so many entries per row than the pairs of rows."""
    return entries * (graph.n + len(graph.weight)) < _PAIR_COST * pairs


def _use_fixed_graph(graph: NeighborGraph, gram: Gram) -> Callable[[Index], float]:
    """The function copy → T(Y, Ã), where row k sits at node rows[k] of a graph that stays."""
    n, pairs = graph.n, graph.count_row_pairs()
    features = gram.features if pairs > _MANY_PAIRS * n else None
    if features is not None and _is_cheaper(features.size / n, graph, pairs):
        mean, block = graph.mean_of_features(features), graph.blocks.of_row
        return lambda rows: mean(block[rows])
    i, j, weight = graph.row_pairs()
    i, j = i.astype(np.int32), j.astype(np.int32)

    def over_pairs(rows: Index) -> float:
        at_node = np.empty_like(gram.u)
        at_node[rows] = gram.u
        return float(weight @ gram.kernel(at_node[i], at_node[j])) / n

    return over_pairs


def _move_blocks(
    graph: NeighborGraph, gram: Gram, sums: Callable[[TiedBlocks], Array]
) -> Callable[[Index], float]:
    def mean(rows: Index) -> float:
        of_row = graph.blocks.of_row[rows]
        first = np.empty(len(graph.blocks), dtype=np.intp)
        first[of_row] = np.arange(graph.n)
        blocks = TiedBlocks(of_row, first, graph.blocks.counts)
        moved = NeighborGraph(
            blocks=blocks,
            within=graph.within,
            source=graph.source,
            target=graph.target,
            weight=graph.weight,
            knn=graph.knn,
        )
        return moved.mean_kernel(gram, within_sums=sums)

    return mean


def _bind_random_ties(table: AuditTable, gram: Gram, knn: int, how: str, seed: int) -> Bound:
    """KPC with ties drawn anew for every copy, in T(Y) too, as repeated calls of R would."""

    n = len(table)
    outcome = table.require_outcome()
    alone = graph_of((outcome,), n, how, knn)
    given, attributes = encode((outcome,), how), encode(table.attributes, how)
    block = find_tied_blocks(table.attributes, n).of_row
    diagonal, index = float(gram.diagonal.mean()), np.arange(n)

    def draw_mean(graph: NeighborGraph, rng: np.random.Generator) -> float:
        chosen = random_neighbors(graph, rng)
        return float(np.mean([gram.pairs(index, column).mean() for column in chosen.T]))

    def value(rows: Index) -> float:
        rng = np.random.default_rng([seed, crc32(rows.tobytes())])  # the copy's own, in any batch
        blocks = find_tied_blocks([outcome.codes, block[rows]], n)
        both = draw_mean(neighbor_graph(np.hstack([given, attributes[rows]]), blocks, knn), rng)
        base = draw_mean(alone, rng)
        return (both - base) / (diagonal - base)

    return lambda rows: np.array([value(copy) for copy in rows])
