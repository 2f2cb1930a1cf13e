"""CODEC: the conditional dependence coefficient of Azadkia and Chatterjee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.kernels import Gram
from fairaudit.geometry.ranks_and_moments import rank_values
from fairaudit.geometry.tied_blocks import TiedBlocks
from fairaudit.metrics._kpc import check_backend, graph_of
from fairaudit.metrics.measure import Measure

__all__ = ["CODEC", "codec", "codec_of_table", "minimum_kernel", "minimum_sums", "one_score"]


@dataclass(frozen=True, slots=True)
class CODEC(Measure):
    """Conditional dependence coefficient; 0 for conditional independence, 1 for a function."""

    ties: str
    backend: str


@swaps_refused
def codec(
    y_pred: Any,
    sensitive: Any,
    y_true: Any = None,
    *,
    ties: str = "average",
    encode: str = "standard",
    backend: str = "native",
    seed: int = 0,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> CODEC:
    r"""CODEC T(Ŷ, A | Y): KPC's rank-based sister, with no kernel to choose.

    Parameters are those of `kpc`; the prediction must be one numeric column (or a binary
    probability vector).

    Notes
    -----
    With R the ranks of Ŷ (ties take the maximum), N(i) the nearest neighbor of i in Y and M(i)
    the nearest in (Y, A),

    .. math::
        T = \frac{\sum_i \min(R_i, R_{M(i)}) - \min(R_i, R_{N(i)})}
                 {\sum_i R_i - \min(R_i, R_{N(i)})} .

    That is KPC with the kernel min(R, R'). Tied neighbors are averaged.

    References
    ----------
    Azadkia and Chatterjee (2021). A simple measure of conditional dependence. Ann. Stat. 49(6).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, y = rng.normal(size=(2, 2000))
    >>> given = {"sensitive": a, "y_true": y}
    >>> fair = codec(y + rng.normal(size=2000), **given)
    >>> float(codec(y + a, **given)) > 0.9, abs(float(fair)) < 0.1
    (True, True)
    """
    table = AuditTable.of(y_pred, sensitive, y_true, weights=weights, kinds=kinds)
    return codec_of_table(table, ties=ties, how=encode, backend=backend, seed=seed)


def codec_of_table(
    table: AuditTable,
    *,
    ties: str = "average",
    how: str = "standard",
    backend: str = "native",
    seed: int = 0,
) -> CODEC:
    """`codec` on a table that has been checked."""
    table.reject_weights("CODEC")
    table.require_varying_prediction()
    check_backend(backend)
    if ties not in ("average", "random"):
        raise InputError(f"The 'ties' parameter must be 'average' or 'random'. Got {ties!r}.")
    score = one_score(table)
    if backend == "r":
        from fairaudit.metrics import _r_bridge

        outcome = None if table.outcome is None else encode((table.outcome,), how)
        attributes = encode(table.attributes, how)
        value = _r_bridge.codec(score[:, None], attributes, outcome, seed=seed)
        return CODEC(value, len(table), "random", backend)
    value = _native(table, score, ties, how, seed)
    return CODEC(value, len(table), ties, backend)


def one_score(table: AuditTable) -> Array:
    columns = table.prediction.columns
    last = columns[-1].numeric
    binary = table.prediction.form == "probabilities" and len(columns) == 2
    if last is None or (len(columns) > 1 and not binary):
        raise InputError(
            f"CODEC needs one numeric prediction. Got {table.prediction.describe()}: "
            "pass the score of one class, or use kpc."
        )
    return last


def _native(table: AuditTable, score: Array, ties: str, how: str, seed: int) -> float:
    n = len(score)
    rank = rank_values(score, "max") / n

    def mean_minimum(columns: tuple[Any, ...]) -> float:
        graph = graph_of(columns, n, how, 1)
        if ties == "random":
            from fairaudit.geometry.random_ties import random_neighbors

            rng = np.random.default_rng([seed, len(columns)])
            return float(np.minimum(rank, rank[random_neighbors(graph, rng)[:, 0]]).mean())
        return graph.mean_kernel(
            Gram(minimum_kernel, rank[:, None]),
            within_sums=lambda blocks: minimum_sums(rank, blocks),
        )

    if table.outcome is None:
        upper = rank_values(-score, "max") / n
        explained = mean_minimum(table.attributes) - float(np.mean(upper**2))
        return float(explained / np.mean(upper * (1 - upper)))
    alone = mean_minimum((table.outcome,))
    both = mean_minimum((table.outcome, *table.attributes))
    left = float(rank.mean()) - alone
    if left <= 1e-12:
        raise InputError("CODEC is undefined: the outcome determines the prediction completely.")
    return (both - alone) / left


def minimum_kernel(u: Array, v: Array) -> Array:
    return np.asarray(np.minimum(u, v)[..., 0])


def minimum_sums(rank: Array, blocks: TiedBlocks) -> Array:
    """Σ_{i≠j} min(R_i, R_j) per block: the p-th smallest of c is the minimum of c − 1 − p pairs."""
    order = np.lexsort((rank, blocks.of_row))
    start = np.cumsum(blocks.counts) - blocks.counts
    block = blocks.of_row[order]
    larger = blocks.counts[block] - 1 - (np.arange(len(rank)) - start[block])
    return np.asarray(2.0 * np.bincount(block, rank[order] * larger))
