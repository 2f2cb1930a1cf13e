"""Flows for a one-dimensional Y given A: masked autoregressive (affine) and neural spline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr

from fairaudit._types import Array, Index
from fairaudit.density.conditional_density import LocationScale, PairDensity
from fairaudit.density.network_training import (
    Standard,
    Training,
    fit_flow,
    on_one_thread,
    require_flows,
)
from fairaudit.errors import InputError

__all__ = ["MAF", "Spline", "masked_autoregressive"]

_LOG_FLOOR = -700.0
_MIN_BIN = 1e-3  # as in nflows: smallest share of a bin, smallest derivative
_TAIL = 5.0  # the spline acts on [−5, 5] and is the identity beyond


@dataclass(frozen=True, slots=True)
class MAF:
    """Masked autoregressive flow with affine layers, the estimator of the paper.

    Parameters
    ----------
    components : int
        MADE components, one after the other.
    hidden_layers, hidden : int
        Hidden layers of every component and their nodes; ``hidden=None`` is twice the number of
        (encoded) attributes.
    training : Training
        Learning rate, penalty, epochs.

    Notes
    -----
    Every component maps y to s(a)·y + t(a), hence so does their composition: q(y|a) is normal with
    μ(a) = −t/s and σ(a) = 1/s, read off by one pass of the network per row (its value at y = 0 and
    its log-determinant). Use `Spline` for a skewed or multi-modal outcome.

    The defaults are those of the paper for real data. In its simulations:
    ``MAF(components=1, hidden_layers=1, hidden=None, training=Training(0.1, l1=0.01))``.

    References
    ----------
    Papamakarios, Pavlakou, Murray (2017). Masked autoregressive flow for density estimation.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=(300, 1))
    >>> y = a[:, 0] + 0.5 * rng.normal(size=300)
    >>> quick = Training(learning_rate=0.01, epochs=20)
    >>> pairs = MAF(components=2, training=quick).fit(y, a, seed=0).pairs(y, a)
    >>> bool(np.corrcoef(pairs.location, a[:, 0])[0, 1] > 0.95)
    True
    """

    components: int = 5
    hidden_layers: int = 2
    hidden: int | None = 64
    training: Training = field(default_factory=Training)

    name = "maf"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedMAF:
        outcome, attributes = Standard.of(y), Standard.of(a)
        width = self.hidden or 2 * a.shape[1]

        def build() -> Any:
            return masked_autoregressive(1, a.shape[1], self.components, self.hidden_layers, width)

        flow = fit_flow(build, outcome(y)[:, None], attributes(a), self.training, seed)
        return _FittedMAF(flow, outcome, attributes)


def masked_autoregressive(
    features: int, context: int, components: int, hidden_layers: int, hidden: int
) -> Any:
    """An untrained nflows transform: affine MADE components with the order reversed in between."""
    _, transforms = require_flows()
    _check_sizes(components=components, hidden_layers=hidden_layers, hidden=hidden)
    parts = []
    for number in range(components):
        part = transforms.MaskedAffineAutoregressiveTransform(
            features,
            hidden,
            context_features=context,
            num_blocks=hidden_layers - 1,
            use_residual_blocks=False,
        )
        open_to_context(part.autoregressive_net, features)
        parts += [part] if number == 0 else [transforms.ReversePermutation(features), part]
    return transforms.CompositeTransform(parts)


def open_to_context(network: Any, features: int) -> None:
    """Give some hidden nodes degree 0, so that every output can see the context.

    nflows gives hidden nodes the degrees 1 … features − 1. The first output may see degree 0 only,
    and with two or more features would ignore the context altogether (nflows pull request 85).
    """
    torch, _ = require_flows()
    count = network.initial_layer.out_features
    degree = torch.linspace(0, features - 1, count).round().long()
    network.initial_layer.mask = (degree[:, None] >= torch.arange(1, features + 1)).float()
    for block in network.blocks:
        block.linear.mask = (degree[:, None] >= degree).float()
    network.final_layer.mask = (network.final_layer.degrees[:, None] > degree).float()


def _check_sizes(**sizes: int) -> None:
    for name, value in sizes.items():
        if value < 1:
            raise InputError(f"The {name!r} parameter must be at least 1. Got {value} instead.")


@dataclass(frozen=True, slots=True, eq=False)
class _FittedMAF:
    flow: Any
    outcome: Standard
    attributes: Standard

    def pairs(self, y: Array, a: Array) -> LocationScale:
        torch, _ = require_flows()
        with on_one_thread(torch), torch.no_grad():
            context = torch.as_tensor(self.attributes(a))
            shift, log_slope = self.flow(context.new_zeros((len(a), 1)), context)
        scale = np.exp(-log_slope.numpy())
        location = self.outcome.back(-shift.numpy()[:, 0] * scale)
        return LocationScale(y, location, scale * self.outcome.spread)


@dataclass(frozen=True, slots=True)
class Spline:
    """Neural spline flow: y → residual → rational-quadratic spline, chosen by a → N(0, 1).

    Parameters
    ----------
    bins : int
        Pieces of the spline.
    hidden_layers, hidden : int
        Network from the attributes to the 3·bins − 1 numbers of the spline.
    training : Training

    Notes
    -----
    The spline acts on the residuals of a ridge regression of y on a: the network then has to learn
    only what is not linear, and is closer to the truth where it is. The bound form keeps the knots
    of every row, n × 3(bins + 1) numbers, and evaluates log q(y_j|a_i) for any pair without
    another pass of the network.

    References
    ----------
    Durkan, Bekasov, Murray, Papamakarios (2019). Neural spline flows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=(300, 1))
    >>> y = np.where(rng.random(300) < 0.5, 2.0, -2.0) + 0.3 * rng.normal(size=300)
    >>> fitted = Spline(training=Training(learning_rate=0.01, epochs=20)).fit(y, a, seed=0)
    >>> pairs = fitted.pairs(np.array([-2.0, 0.0]), np.zeros((2, 1)))
    >>> at_mode, between = pairs.log_density(np.arange(2), np.arange(2))
    >>> bool(at_mode > between + 1)
    True
    """

    bins: int = 8
    hidden_layers: int = 2
    hidden: int = 64
    training: Training = field(default_factory=Training)

    name = "spline"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedSpline:
        from sklearn.linear_model import RidgeCV

        _, transforms = require_flows()
        _check_sizes(bins=self.bins, hidden_layers=self.hidden_layers, hidden=self.hidden)
        linear = RidgeCV(alphas=np.logspace(-3, 4, 15)).fit(a, y)
        residual = y - linear.predict(a)
        outcome, attributes = Standard.of(residual), Standard.of(a)

        def build() -> Any:
            return transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
                1,
                self.hidden,
                context_features=a.shape[1],
                num_bins=self.bins,
                tails="linear",
                tail_bound=_TAIL,
                num_blocks=self.hidden_layers - 1,
                use_residual_blocks=False,
                min_bin_width=_MIN_BIN,
                min_bin_height=_MIN_BIN,
                min_derivative=_MIN_BIN,
            )

        flow = fit_flow(build, outcome(residual)[:, None], attributes(a), self.training, seed)
        return _FittedSpline(linear, flow, outcome, attributes)


@dataclass(frozen=True, slots=True, eq=False)
class _FittedSpline:
    linear: Any
    flow: Any
    outcome: Standard
    attributes: Standard

    def pairs(self, y: Array, a: Array) -> SplinePairs:
        torch, _ = require_flows()
        with on_one_thread(torch), torch.no_grad():
            context = torch.as_tensor(self.attributes(a))
            raw = self.flow.autoregressive_net(context.new_zeros((len(a), 1)), context).numpy()
        location = self.linear.predict(a) / self.outcome.spread
        return SplinePairs(self.outcome(y), location, raw, self.outcome.log_unit)


class SplinePairs(PairDensity):
    """Rational-quadratic splines, one per row, from the raw numbers of the network.

    Parameters
    ----------
    y, location : arrays
        Standardized outcomes; row i sees y_j as y_j − location_i.
    raw : array, n × (3·bins − 1)
        Widths and heights before the softmax, inner derivatives before the softplus.
    log_unit : float
        log of the unit in which y is standardized.
    """

    def __init__(self, y: Array, location: Array, raw: Array, log_unit: float) -> None:
        bins = (raw.shape[1] + 1) // 3
        self.y, self.location, self.bins, self.log_unit = y, location, bins, log_unit
        self.x = _knots(raw[:, :bins])
        self.z = _knots(raw[:, bins : 2 * bins])
        self.slope = np.ones((len(raw), bins + 1))  # tails are the identity
        self.slope[:, 1:-1] = _MIN_BIN + np.logaddexp(0.0, raw[:, 2 * bins :])

    def log_density(self, i: Index, j: Index) -> Array:
        z, log_slope = self._transformed(i, self.y[j] - self.location[i])
        value = log_slope - 0.5 * z * z - 0.5 * np.log(2 * np.pi) - self.log_unit
        return np.maximum(value, _LOG_FLOOR)

    def pit(self) -> Array:
        z, _ = self._transformed(np.arange(len(self.y)), self.y - self.location)
        return np.asarray(ndtr(z))

    def _transformed(self, i: Index, u: Array) -> tuple[Array, Array]:
        """The spline of rows i at u, and the log of its slope there."""
        inside = np.abs(u) < _TAIL
        at = np.clip(u, -_TAIL, _TAIL)
        piece = np.zeros(np.broadcast(i, u).shape, dtype=np.intp)
        for knot in range(1, self.bins):
            piece += at >= self.x[i, knot]
        left, low = self.x[i, piece], self.z[i, piece]
        width, height = self.x[i, piece + 1] - left, self.z[i, piece + 1] - low
        first, last, mean = self.slope[i, piece], self.slope[i, piece + 1], height / width
        t = (at - left) / width
        s = 1.0 - t
        bottom = mean + (first + last - 2 * mean) * t * s
        value = low + height * (mean * t * t + first * t * s) / bottom
        top = mean**2 * (last * t * t + 2 * mean * t * s + first * s * s)
        log_slope = np.log(top) - 2 * np.log(bottom)
        return np.where(inside, value, u), np.where(inside, log_slope, 0.0)


def _knots(raw: Array) -> Array:
    """Bin borders on [−tail, tail] from unnormalized sizes."""
    share = np.exp(raw - raw.max(axis=1, keepdims=True))
    share = _MIN_BIN + (1 - _MIN_BIN * raw.shape[1]) * share / share.sum(axis=1, keepdims=True)
    borders = np.zeros((len(raw), raw.shape[1] + 1))
    np.cumsum(share, axis=1, out=borders[:, 1:])
    borders[:, -1] = 1.0
    return _TAIL * (2 * borders - 1)
