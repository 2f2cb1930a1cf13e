"""KPC: kernel partial correlation of the prediction and the attributes given the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.kernels import Gram, Kernel, kernel_named
from fairaudit.geometry.neighbors import NeighborGraph, block_graph
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.metrics.measure import Measure

__all__ = ["KPC", "check_backend", "check_knn", "graph_of", "kpc", "kpc_of_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KPC(Measure):
    """Kernel partial correlation; 0 for conditional independence, 1 for a function of A and Y.

    The estimate can be negative in finite samples and is reported as it is.
    """

    knn: int | str
    kernel: str
    bandwidth: float | None
    ties: str
    backend: str


@swaps_refused
def kpc(
    y_pred: Any,
    sensitive: Any,
    y_true: Any = None,
    *,
    knn: int | str = 1,
    kernel: str | Kernel = "rbf",
    bandwidth: float | None = None,
    ties: str = "average",
    encode: str = "standard",
    backend: str = "native",
    seed: int = 0,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> KPC:
    r"""Kernel partial correlation ρ²(Ŷ, A | Y), estimated on nearest-neighbor graphs.

    Parameters
    ----------
    y_pred : array, series or frame
        Scores, labels, or one probability column per class.
    sensitive : array, series, frame or mapping of columns
        Any number of attributes of any kind.
    y_true : array or series, optional
        The outcome. None gives the unconditional coefficient (R's ``KMAc``).
    knn : int or "mst"
        Neighbors per row, or the minimum spanning tree.
    kernel : {"rbf", "linear", "laplace", "discrete"} or callable
        Kernel on predictions; see `fairaudit.geometry.kernels.kernel_named`.
    bandwidth : float, optional
        Of ``rbf`` (default: median distance of the predictions) and ``laplace`` (default: 1).
    ties : {"average", "random"}
        Average over tied neighbors, or pick among them at random with `seed`, as R does.
    encode : {"standard", "raw"}
        Distances between attributes; ``"raw"`` reproduces R on the raw columns.
    backend : {"native", "r"}
        ``"r"`` calls R's KPC package through rpy2.
    seed : int
        For ``ties="random"`` and R.
    weights
        There is no weighted form; anything but None is an error.
    kinds : mapping, optional
        Overrides of the inferred kinds, for example ``{"age": "continuous"}``.

    Returns
    -------
    KPC
        ``float(result)`` is the coefficient.

    Notes
    -----
    With :math:`T(x) = n^{-1}\sum_i K^{-1}\sum_{j \in N_K(i; x)} k(\hat y_i, \hat y_j)`,

    .. math:: \hat\rho^2 = \frac{T(Y, A) - T(Y)}{n^{-1}\sum_i k(\hat y_i, \hat y_i) - T(Y)} .

    Tied neighbors are averaged, which is the expectation of R's answer over its random ties.

    References
    ----------
    Huang, Deb and Sen (2022). Kernel partial correlation coefficient. JMLR 23(216).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, y = rng.normal(size=(2, 2000))
    >>> score = y + a + rng.normal(size=2000)
    >>> round(float(kpc(score, sensitive=a, y_true=y, kernel="linear", knn=5)), 1)
    0.5
    """
    table = AuditTable.of(y_pred, sensitive, y_true, weights=weights, kinds=kinds)
    return kpc_of_table(
        table,
        knn=knn,
        kernel=kernel,
        bandwidth=bandwidth,
        ties=ties,
        how=encode,
        backend=backend,
        seed=seed,
    )


def kpc_of_table(
    table: AuditTable,
    *,
    knn: int | str = 1,
    kernel: str | Kernel = "rbf",
    bandwidth: float | None = None,
    ties: str = "average",
    how: str = "standard",
    backend: str = "native",
    seed: int = 0,
) -> KPC:
    """`kpc` on a table that has been checked."""
    table.reject_weights("KPC")
    table.require_varying_prediction()
    check_knn(knn, len(table))
    check_backend(backend)
    if ties not in ("average", "random"):
        raise InputError(f"The 'ties' parameter must be 'average' or 'random'. Got {ties!r}.")
    outcome = () if table.outcome is None else (table.outcome,)
    u = table.prediction.matrix(how)
    if backend == "r":
        value, width = (
            _by_r(table, u, how=how, knn=knn, kernel=kernel, bandwidth=bandwidth, seed=seed),
            bandwidth,
        )
        ties = "random"
    else:
        function, width = kernel_named(kernel, u, bandwidth)
        gram = Gram(function, u)
        both = _mean_kernel(
            (*outcome, *table.attributes), how, knn=knn, ties=ties, seed=seed, gram=gram
        )
        alone = _mean_kernel(outcome, how, knn=knn, ties=ties, seed=seed, gram=gram)
        left = float(gram.diagonal.mean()) - alone
        if left <= 1e-12 * float(gram.diagonal.max()):
            raise InputError("KPC is undefined: the outcome determines the prediction completely.")
        value = (both - alone) / left
    name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "callable")
    return KPC(
        value=float(value),
        n=len(table),
        knn=knn,
        kernel=name,
        bandwidth=width,
        ties=ties,
        backend=backend,
    )


def graph_of(columns: tuple[Column, ...], n: int, how: str, knn: int) -> NeighborGraph:
    """The neighbor graph of rows in the space of `columns`; with none, all rows are tied."""
    blocks = find_tied_blocks(columns, n)
    points = encode(columns, how, blocks.first) if columns else np.zeros((1, 1))
    return block_graph(points, blocks, knn)


def _mean_kernel(
    columns: tuple[Column, ...], how: str, knn: int | str, ties: str, seed: int, gram: Gram
) -> float:
    """T(x) for x the given columns; all rows for no columns."""
    if knn == "mst" and columns:
        from fairaudit.geometry.spanning_tree import tree_mean_kernel

        return tree_mean_kernel(columns, encode(columns, how), gram, ties, seed)
    n = len(gram.u)
    graph = graph_of(columns, n, how, 1 if isinstance(knn, str) else int(knn))
    if ties == "random" and columns:
        from fairaudit.geometry.random_ties import random_neighbors

        chosen = random_neighbors(graph, np.random.default_rng([seed, len(columns)]))
        rows = np.arange(n)
        return float(np.mean([gram.pairs(rows, column).mean() for column in chosen.T]))
    return graph.mean_kernel(gram)


def check_knn(knn: int | str, n: int) -> None:
    if knn == "mst":
        return
    if isinstance(knn, bool) or not isinstance(knn, (int, np.integer)) or knn < 1:
        raise InputError(f"The 'knn' parameter must be a positive integer or 'mst'. Got {knn!r}.")
    if knn >= n:
        raise InputError(
            f"The 'knn' parameter must be less than the number of rows. Got {knn} for {n} rows: "
            "pass fewer neighbors or more rows."
        )


def check_backend(backend: str) -> None:
    if backend not in ("native", "r"):
        raise InputError(f"The 'backend' parameter must be 'native' or 'r'. Got {backend!r}.")


def _by_r(
    table: AuditTable,
    u: Array,
    how: str,
    knn: int | str,
    kernel: str | Kernel,
    bandwidth: float | None,
    seed: int,
) -> float:
    from fairaudit.metrics import _r_bridge

    if not isinstance(kernel, str):
        raise InputError("backend='r' takes kernels by name only. Use backend='native'.")
    outcome = None if table.outcome is None else encode((table.outcome,), how)
    return _r_bridge.kpc_graph(
        u,
        outcome,
        encode(table.attributes, how),
        knn=knn,
        kernel=kernel,
        bandwidth=bandwidth,
        seed=seed,
    )
