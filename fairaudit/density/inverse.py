"""Densities of the attributes given the outcome, q(a|y), for the baselines CP and randomization.

They are used like densities of the outcome with the roles exchanged: the bound form answers
`log_density(i, j)` = log q(a_j | y_i), "attribute row j at outcome row i". `sample(y, rng)` draws
new attributes, encoded, one row per outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairaudit._registry import Named, Registry
from fairaudit._types import Array, Index
from fairaudit.density.conditional_density import PairDensity
from fairaudit.density.flows import masked_autoregressive
from fairaudit.density.network_training import (
    Standard,
    Training,
    fit_flow,
    on_one_thread,
    require_flows,
)
from fairaudit.errors import InputError

__all__ = ["FrequenciesGivenOutcome", "GraphicalLassoGaussian", "MAFInverse", "inverse_named"]

_LOG_FLOOR = -1e6  # of many attributes together; only infinity would harm
_PAIRS_AT_ONCE = 65_536
_MOST_ROWS_IN_TABLE = 1_000  # 8 MB


@dataclass(frozen=True, slots=True)
class GraphicalLassoGaussian:
    """A | Y ~ N(m + b·y, Σ): least squares for m and b, graphical lasso for Σ⁻¹.

    Parameters
    ----------
    covariance : {"glasso", "empirical"}
        How Σ is estimated from the residuals, each standardized. The penalty of the graphical
        lasso is chosen by cross-validation. A single column always gets its empirical variance.

    Notes
    -----
    With P = Σ⁻¹ and r_j = a_j − m, −2 log q(a_j|y_i) = r_j'P r_j − 2 y_i·r_j'P b + y_i²·b'P b +
    constant: two numbers per row. Where the graphical lasso does not converge (as with collinear
    columns), the covariance of Ledoit and Wolf takes its place.

    References
    ----------
    Friedman, Hastie, Tibshirani (2008). Sparse inverse covariance estimation.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> a = y[:, None] * [1.0, 0.0] + rng.normal(size=(200, 2))
    >>> GraphicalLassoGaussian().fit(y, a, seed=0).sample(y, rng).shape
    (200, 2)
    """

    covariance: str = "glasso"

    @property
    def name(self) -> str:
        return f"gaussian attributes ({self.covariance})"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedGaussianAttributes:
        if self.covariance not in ("glasso", "empirical"):
            raise InputError(
                "The 'covariance' parameter must be 'glasso' or 'empirical'. "
                f"Got {self.covariance!r} instead."
            )
        centered = y - y.mean()
        slope = centered @ a / max(float(centered @ centered), 1e-300)
        intercept = a.mean(axis=0) - slope * y.mean()
        residual = Standard.of(a - intercept - y[:, None] * slope)
        white = residual(a - intercept - y[:, None] * slope)
        if self.covariance == "empirical" or a.shape[1] == 1:
            inner = np.linalg.pinv(white.T @ white / len(white), hermitian=True)
        else:
            inner = _estimate_precision(white)
        precision = inner / np.outer(residual.spread, residual.spread)
        return _FittedGaussianAttributes(intercept, slope, precision)


def _estimate_precision(white: Array) -> Array:
    import warnings

    from sklearn.covariance import GraphicalLassoCV, ledoit_wolf

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            fitted = GraphicalLassoCV(cv=3, n_refinements=2, assume_centered=True).fit(white)
            return np.asarray(fitted.precision_)
        except (FloatingPointError, ValueError):
            return np.asarray(np.linalg.inv(ledoit_wolf(white, assume_centered=True)[0]))


@dataclass(frozen=True, slots=True, eq=False)
class _FittedGaussianAttributes:
    intercept: Array
    slope: Array
    precision: Array

    def pairs(self, y: Array, a: Array) -> _GaussianAttributePairs:
        rest = a - self.intercept
        towards = self.precision @ self.slope
        sign, log_determinant = np.linalg.slogdet(self.precision)
        constant = -0.5 * len(towards) * np.log(2 * np.pi)
        own = constant - 0.5 * ((rest @ self.precision) * rest).sum(axis=1)
        if sign > 0:  # a singular precision has no density, but ratios
            own = own + 0.5 * log_determinant
        return _GaussianAttributePairs(y, own, rest @ towards, float(towards @ self.slope))

    def sample(self, y: Array, rng: np.random.Generator) -> Array:
        values, vectors = np.linalg.eigh(self.precision)
        spread = np.where(values > 1e-10 * values[-1], values, np.inf) ** -0.5
        noise = rng.normal(size=(len(y), len(values))) * spread
        return np.asarray(self.intercept + y[:, None] * self.slope + noise @ vectors.T)


class _GaussianAttributePairs(PairDensity):
    def __init__(self, y: Array, own: Array, along: Array, curvature: float) -> None:
        self.y, self.own, self.along, self.curvature = y, own, along, curvature

    def log_density(self, i: Index, j: Index) -> Array:
        y = self.y[i]
        return np.maximum(self.own[j] + y * self.along[j] - 0.5 * self.curvature * y**2, _LOG_FLOOR)

    def swap_log_odds(self, i: Index, j: Index, at_i: Index, at_j: Index) -> Array:
        # what belongs to one row alone cancels
        return np.asarray((self.y[i] - self.y[j]) * (self.along[at_j] - self.along[at_i]))


@dataclass(frozen=True, slots=True)
class FrequenciesGivenOutcome:
    """Shares of tied attribute blocks in every outcome class, drawn toward the overall shares.

    For categorical outcomes and attributes with few distinct rows.

    Examples
    --------
    >>> y, a = np.array([0.0, 0, 1, 1]), np.array([[0.0], [0], [1], [1]])
    >>> pairs = FrequenciesGivenOutcome(prior=0).fit(y, a, seed=0).pairs(y, a)
    >>> np.exp(pairs.log_density(np.array([0, 0]), np.array([0, 2]))).round(3)
    array([1., 0.])
    """

    prior: float = 1.0

    name = "attribute frequencies"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedBlocks:
        blocks, block = np.unique(a, axis=0, return_inverse=True)
        codes = y.astype(np.intp)
        classes = int(codes.max()) + 1
        overall = np.bincount(block.ravel(), minlength=len(blocks)) / len(block)
        flat = np.bincount(codes * len(blocks) + block.ravel(), minlength=classes * len(blocks))
        counts = flat.reshape(classes, -1) + max(self.prior, 1e-12) * overall
        shares = counts / counts.sum(axis=1, keepdims=True)
        where = {row.tobytes(): k for k, row in enumerate(blocks)}
        return _FittedBlocks(blocks, where, shares, 1.0 / (len(y) + 1))


@dataclass(frozen=True, slots=True, eq=False)
class _FittedBlocks:
    blocks: Array
    where: dict[bytes, int]
    shares: Array
    unseen: float  # share of a block that the training rows did not have, in every class

    def pairs(self, y: Array, a: Array) -> _BlockPairs:
        distinct, block = np.unique(a, axis=0, return_inverse=True)
        places = np.array([self.where.get(row.tobytes(), -1) for row in distinct])
        table = np.column_stack([self.shares, np.full(len(self.shares), self.unseen)])
        overall = np.append(self.shares.mean(axis=0), self.unseen)  # classes never seen
        codes = np.minimum(y.astype(np.intp), len(table))
        return _BlockPairs(codes, places[block.ravel()], np.vstack([table, overall]))

    def sample(self, y: Array, rng: np.random.Generator) -> Array:
        total = np.cumsum(self.shares, axis=1)
        codes = np.minimum(y.astype(np.intp), len(total) - 1)
        places = np.empty(len(y), dtype=np.intp)
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            places[rows] = np.searchsorted(total[code], rng.random(len(rows)) * total[code, -1])
        return self.blocks[places]


class _BlockPairs(PairDensity):
    def __init__(self, codes: Index, block: Index, shares: Array) -> None:
        self.codes, self.block = codes, block
        self.table = np.log(np.maximum(shares, 1e-300))

    def log_density(self, i: Index, j: Index) -> Array:
        return self.table[self.codes[i], self.block[j]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MAFInverse:
    """Masked autoregressive flow of the attributes given a numeric outcome.

    Slow by nature: every pair (i, j) is a pass of the network, in batches; nothing about
    log q(a_j|y_i) splits into a part of i and a part of j. Categorical attributes have no density;
    their encoded columns get a little noise in training, which blurs but does not break it.

    Parameters
    ----------
    components, hidden_layers, hidden : int
        As for `fairaudit.density.flows.MAF`; ``hidden=None`` is two nodes.
    jitter : float
        Standard deviation of the noise, in units of a column's spread, for columns in which more
        than half of the values are repeated.
    training : Training
    """

    components: int = 5
    hidden_layers: int = 2
    hidden: int | None = 64
    jitter: float = 0.1
    training: Training = field(default_factory=Training)

    name = "maf of the attributes"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedMAFInverse:
        outcome, attributes = Standard.of(y), Standard.of(a)
        values, width = attributes(a), a.shape[1]
        repeated = np.array([len(np.unique(column)) < 0.5 * len(column) for column in a.T])
        noise = np.random.default_rng(seed).normal(size=values.shape)

        def build() -> Any:
            return masked_autoregressive(
                width, 1, self.components, self.hidden_layers, self.hidden or 2
            )

        values = values + self.jitter * repeated * noise
        flow = fit_flow(build, values, outcome(y)[:, None], self.training, seed)
        return _FittedMAFInverse(flow, outcome, attributes)


@dataclass(frozen=True, slots=True, eq=False)
class _FittedMAFInverse:
    flow: Any
    outcome: Standard
    attributes: Standard

    def pairs(self, y: Array, a: Array) -> _FlowPairs:
        return _FlowPairs(self.flow, self.outcome(y), self.attributes(a), self.attributes.log_unit)

    def sample(self, y: Array, rng: np.random.Generator) -> Array:
        torch, _ = require_flows()
        with on_one_thread(torch), torch.no_grad():
            noise = torch.as_tensor(rng.normal(size=(len(y), len(self.attributes.center))))
            values, _ = self.flow.inverse(noise, torch.as_tensor(self.outcome(y)[:, None]))
        return self.attributes.back(values.numpy())


class _FlowPairs(PairDensity):
    """log q(a_j|y_i) by passes of the network; of few rows all pairs at once, when first asked."""

    def __init__(self, flow: Any, y: Array, a: Array, log_unit: float) -> None:
        self.flow, self.y, self.a, self.log_unit = flow, y, a, log_unit
        self.table: Array | None = None

    def log_density(self, i: Index, j: Index) -> Array:
        i, j = np.broadcast_arrays(i, j)
        if len(self.y) > _MOST_ROWS_IN_TABLE:
            return self._passes(i.ravel(), j.ravel()).reshape(i.shape)
        if self.table is None:
            every = np.arange(len(self.y))
            rows, columns = np.repeat(every, len(every)), np.tile(every, len(every))
            self.table = self._passes(rows, columns).reshape(len(every), -1)
        return self.table[i, j]

    def _passes(self, rows: Index, columns: Index) -> Array:
        torch, _ = require_flows()
        values = np.empty(rows.size)
        with on_one_thread(torch), torch.no_grad():
            for start in range(0, rows.size, _PAIRS_AT_ONCE):
                part = slice(start, start + _PAIRS_AT_ONCE)
                context = torch.as_tensor(self.y[rows[part], None])
                z, log_determinant = self.flow(torch.as_tensor(self.a[columns[part]]), context)
                values[part] = (log_determinant - 0.5 * (z * z).sum(dim=1)).numpy()
        constant = 0.5 * self.a.shape[1] * np.log(2 * np.pi) + self.log_unit
        return np.maximum(values - constant, _LOG_FLOOR)


_HERE = "fairaudit.density.inverse"
_OF_NUMBERS = Registry(
    kind="density",
    method="fit",
    group="",  # nothing is added from outside: rivals of the test, as they were published
    suited=" of the attributes given a continuous outcome",
    built_in={
        "auto": Named(f"{_HERE}:GraphicalLassoGaussian"),
        "glasso": Named(f"{_HERE}:GraphicalLassoGaussian"),
        "empirical": Named(f"{_HERE}:GraphicalLassoGaussian", {"covariance": "empirical"}),
        "maf": Named(f"{_HERE}:MAFInverse"),
    },
)
_OF_CLASSES = replace(
    _OF_NUMBERS,
    suited=" of the attributes given a categorical outcome",
    built_in=dict.fromkeys(("auto", "frequencies"), Named(f"{_HERE}:FrequenciesGivenOutcome")),
)


def inverse_named(density: Any, *, categorical: bool) -> Any:
    """The density q(a|y) for a name or an object; ``"auto"`` goes by the kind of the outcome."""
    return (_OF_CLASSES if categorical else _OF_NUMBERS).get(density)
