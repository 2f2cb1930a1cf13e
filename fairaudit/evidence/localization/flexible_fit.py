"""What a flexible regression on columns leaves of numbers, without a row's own part in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.geometry.ranks_and_moments import rank_values

__all__ = ["FlexibleFit", "place_rows"]

_STEPS, _BUMPS, _WIDTH = 12, 16, 0.3  # of a curve over one number
_MOST_BY_LEVEL = 8  # levels that have curves of their own
_LANDMARKS = ((2.0, 60), (1.0, 120), (0.4, 120))  # width of Gaussian bumps, and how many
_PENALTIES = np.logspace(-7, 1, 13)
_LEAST_LEFT = 0.05  # of a row that is not its own in the fit
_AT_ONCE = 16  # responses


class FlexibleFit:
    """Ridge regression on lines, steps, bumps, curves by level and bumps in all columns together.

    The penalty is chosen for every response by leaving rows out one by one, which for ridge
    regression has a closed form; what is left of a row is that of the fit to all others.

    Parameters
    ----------
    columns : sequence of Column
        What is conditioned on.
    rng : numpy Generator
        Chooses the rows that bumps stand on.
    """

    def __init__(self, columns: Sequence[Column], rng: np.random.Generator) -> None:
        basis = _expand(columns, rng)
        basis -= basis.mean(axis=0)
        spread = np.sqrt(np.einsum("ij,ij->j", basis, basis) / len(basis))
        basis = basis[:, spread > 1e-9] if (spread <= 1e-9).any() else basis
        basis /= spread[spread > 1e-9]
        values, vectors = np.linalg.eigh(basis.T @ basis / len(basis))
        kept = values > 1e-9 * max(values.max(initial=0.0), 1e-300)
        self.values = values[kept]
        self.directions = basis @ (vectors[:, kept] / np.sqrt(len(basis) * self.values))
        penalties = self.values.max(initial=0.0) * _PENALTIES
        self.kept = self.values[:, None] / (self.values[:, None] + penalties)
        own = self.directions**2 @ self.kept + 1 / len(basis)
        self.others = np.maximum(1 - own, _LEAST_LEFT)  # rows × penalties

    def residuals(self, responses: Array) -> Array:
        """Of every column of `responses` (n × r)."""
        return self.leave_rows_out(responses)[0]

    def leave_rows_out(self, responses: Array) -> tuple[Array, Array]:
        """Residuals of every column (n × r), and how much its fit took of every direction."""
        responses = responses - responses.mean(axis=0)
        if not len(self.values):
            return np.asarray(responses), np.zeros((0, responses.shape[1]))
        along = self.directions.T @ responses
        fitted = [
            self._leave_out(responses[:, some], along[:, some])
            for at in range(0, responses.shape[1], _AT_ONCE)
            for some in [slice(at, at + _AT_ONCE)]
        ]
        left, chosen = (np.concatenate(parts, axis=-1) for parts in zip(*fitted, strict=True))
        return left, self.kept[:, chosen]

    def _leave_out(self, responses: Array, along: Array) -> tuple[Array, Index]:
        """Residuals by the best penalty of every column, and its number."""
        n, columns = responses.shape
        shrunk = (self.kept[:, :, None] * along[:, None, :]).reshape(len(along), -1)
        left = responses[:, None, :] - (self.directions @ shrunk).reshape(n, -1, columns)
        left /= self.others[:, :, None]
        chosen = np.einsum("ipc,ipc->pc", left, left).argmin(axis=0)
        return np.take_along_axis(left, chosen[None, None, :], axis=1)[:, 0], chosen

    def variance_ratios(self, first: Array, second: Array) -> Array:
        r"""Variance of Σ ε̂η̂ over the mean of Σ ε̂²η̂², for every two responses (r × s).

        Notes
        -----
        Both residuals have lost the same directions, so that products of different rows are not
        independent: with :math:`\hat\varepsilon = M\varepsilon, \hat\eta = N\eta` the first
        is :math:`\lVert M'N \rVert^2`, the second :math:`\sum_i (MM')_{ii} (NN')_{ii}`, here
        with equal diagonals: n/(n − d) where both fits have taken d directions wholly.
        """
        n = len(self.directions)
        left, left_too = (1 - first) ** 2, (1 - second) ** 2
        others = n - len(self.values)
        both = others + left.T @ left_too
        apart = np.outer(others + left.sum(axis=0), others + left_too.sum(axis=0))
        return np.asarray(np.maximum(n * both / np.maximum(apart, 1e-9), 1.0))


def place_rows(columns: Sequence[Column]) -> Array:
    """As `encode`, but numbers are normal scores of their ranks: no scale, no extreme values."""
    from scipy.special import ndtri

    parts = []
    for column in columns:
        if column.kind.is_categorical:
            parts.append(encode([column]))
            continue
        scores = ndtri(rank_values(column.numeric) / (len(column) + 1))
        parts.append((scores / (scores.std() or 1.0))[:, None])
    return np.hstack(parts)


def _expand(columns: Sequence[Column], rng: np.random.Generator) -> Array:
    numbers = [column for column in columns if not column.kind.is_categorical]
    categories = [column for column in columns if column.kind.is_categorical]
    levels = encode(categories) if categories else np.zeros((len(columns[0]), 0))
    common = np.argsort(-levels.std(axis=0), kind="stable")[:_MOST_BY_LEVEL]
    parts = [levels]
    for column in numbers:
        x = place_rows([column])
        steps = np.quantile(x, np.arange(1, _STEPS + 1) / (_STEPS + 1))
        centers = np.quantile(x, np.linspace(0.02, 0.98, _BUMPS))
        curve = np.hstack([x, x > steps, np.exp(-0.5 * ((x - centers) / _WIDTH) ** 2)])
        parts += [curve, *(curve * levels[:, [level]] for level in common)]
    points = place_rows(columns)
    scale = np.sqrt(len(columns))
    for width, count in _LANDMARKS:
        chosen = points[rng.choice(len(points), min(count, len(points)), replace=False)]
        far = (points**2).sum(axis=1)[:, None] + (chosen**2).sum(axis=1) - 2 * points @ chosen.T
        parts.append(np.exp(-0.5 * np.maximum(far, 0) / (width * scale) ** 2))
    return np.hstack(parts)
