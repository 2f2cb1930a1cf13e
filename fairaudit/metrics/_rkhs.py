"""KPC estimated with conditional mean embeddings in a reproducing kernel Hilbert space."""

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
from fairaudit.geometry.kernels import kernel_named, low_rank_features
from fairaudit.metrics._kpc import check_backend
from fairaudit.metrics.measure import Measure

__all__ = ["KPCRKHS", "kpc_rkhs"]

_FULL_RANK = 2_000  # up to this many rows no feature is left out
_LOW_RANK = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class KPCRKHS(Measure):
    """The RKHS estimate of KPC.

    Attributes
    ----------
    eps : float
        Regularization.
    residual : float
        Largest share of a kernel diagonal that the low-rank features leave unexplained.
    """

    eps: float
    residual: float
    backend: str


@swaps_refused
def kpc_rkhs(
    y_pred: Any,
    sensitive: Any,
    y_true: Any = None,
    *,
    eps: float = 1e-3,
    rank: int | None = None,
    encode: str = "standard",
    backend: str = "native",
    seed: int = 0,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> KPCRKHS:
    r"""ρ²(Ŷ, A | Y) by regularized regression of kernel features; smooth where `kpc` is local.

    Parameters
    ----------
    y_pred, sensitive, y_true, encode, backend, seed, weights, kinds
        As in `kpc`.
    eps : float
        Regularization of the embeddings, as in R's ``KPCRKHS``.
    rank : int, optional
        Features per kernel. Default: all for up to 2,000 rows (as exact as R's), 300 beyond.

    Notes
    -----
    With centered features L₁ of Y, L₂ of (Y, A), L₃ of Ŷ (Gaussian kernels, median bandwidths) and
    :math:`P_m = L_m (L_m^\top L_m + n\varepsilon I)^{-1} L_m^\top`,

    .. math:: \hat\rho^2 = \|(P_2 - P_1) L_3\|^2 / \|(I - P_1) L_3\|^2 .

    Time O(n r²), memory O(n r).

    References
    ----------
    Huang, Deb and Sen (2022). Kernel partial correlation coefficient. JMLR 23(216), section 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, y = rng.normal(size=(2, 300))
    >>> given = {"sensitive": a, "y_true": y}
    >>> fair = float(kpc_rkhs(y + rng.normal(size=300), **given))
    >>> float(kpc_rkhs(y + a, **given)) > 10 * fair
    True
    """
    table = AuditTable.of(y_pred, sensitive, y_true, weights=weights, kinds=kinds)
    table.reject_weights("KPC")
    table.require_varying_prediction()
    check_backend(backend)
    if not eps > 0:
        raise InputError(f"The 'eps' parameter must be positive. Got {eps} instead.")
    return _estimate(table, eps, rank=rank, how=encode, backend=backend, seed=seed)


def _estimate(
    table: AuditTable, eps: float, rank: int | None, how: str, backend: str, seed: int
) -> KPCRKHS:
    n = len(table)
    u = table.prediction.matrix(how)
    outcome = None if table.outcome is None else encode((table.outcome,), how)
    attributes = encode(table.attributes, how)
    if backend == "r":
        from fairaudit.metrics import _r_bridge

        return KPCRKHS(
            value=_r_bridge.kpc_rkhs(u, outcome, attributes, eps=eps, seed=seed),
            n=n,
            eps=eps,
            residual=0.0,
            backend="r",
        )
    limit = rank if rank is not None else (n if n <= _FULL_RANK else _LOW_RANK)
    target, residual_u = _centered(u, limit)
    joint = attributes if outcome is None else np.hstack([outcome, attributes])
    features, residual_x = _centered(joint, limit)
    both = _fitted(features, target, n * eps)
    residual = max(residual_u, residual_x)
    if outcome is None:
        value = float((both**2).sum() / (target**2).sum())
    else:
        features, residual_y = _centered(outcome, limit)
        alone = _fitted(features, target, n * eps)
        value = float(((both - alone) ** 2).sum() / ((target - alone) ** 2).sum())
        residual = max(residual, residual_y)
    return KPCRKHS(value=value, n=n, eps=eps, residual=residual, backend="native")


def _centered(x: Array, rank: int) -> tuple[Array, float]:
    kernel, _ = kernel_named("rbf", x)
    features, residual = low_rank_features(kernel, x, tolerance=1e-14, max_rank=rank)
    return features - features.mean(axis=1, keepdims=True), residual


def _fitted(features: Array, target: Array, ridge: float) -> Array:
    """Ridge regression of the target's features on the others (both r × n)."""
    gram = features @ features.T
    gram[np.diag_indices_from(gram)] += ridge
    return np.asarray(np.linalg.solve(gram, features @ target.T).T @ features)
