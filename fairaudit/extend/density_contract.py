"""What every density of the outcome given the attributes promises, as a check."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from fairaudit._types import Array
from fairaudit.density.conditional_density import PairDensity
from fairaudit.extend.promises import check_object, promise, unchanged

__all__ = ["check_density"]

_ROWS = 200  # to fit on
_BOUND = 12  # rows that are bound
_CLASSES = 3
_GRID = 4001
_WIDE = 25.0  # standard deviations of the outcome that hold all of its mass
_MASS = 0.01  # by which a density may miss 1
_SEED = 3


def check_density(density: Any, *, outcome: str | None = None) -> None:
    """Check what the copies rely on; an AssertionError says in one line what is wrong.

    Parameters
    ----------
    density : Density
    outcome : {"continuous", "categorical"}, optional
        What it is for; the density's own attribute `outcome`, or ``"continuous"``, unless given.

    Notes
    -----
    Checked are: name and recordable parameters; equal answers for equal seeds; no effect on the
    data and on numpy's global random numbers; log q(y_j | a_i) of all pairs of bound rows at once
    as for every pair bound alone (n × n brute force); the log odds of swaps; values that are
    finite; mass 1 for every a; and probability integral transforms, where there are any.

    Examples
    --------
    >>> from fairaudit.density.gaussian import Gaussian
    >>> check_density(Gaussian())
    """
    name = check_object(density, "fit")
    categorical = (outcome or getattr(density, "outcome", "continuous")) == "categorical"
    y, a = _make_data(categorical)
    some_y, some_a = y[:_BOUND].copy(), a[:_BOUND].copy()
    with unchanged(name, y, a, some_y, some_a):
        fitted = density.fit(y, a, _SEED)
        promise(
            callable(getattr(fitted, "pairs", None)),
            f"{name}.fit must return an object with 'pairs'.",
        )
        bound = fitted.pairs(some_y, some_a)
        matrix = _make_matrix(bound, name)
        again = _make_matrix(density.fit(y, a, _SEED).pairs(some_y, some_a), name)
    promise(np.array_equal(matrix, again), f"{name} gives different densities for the same seed.")
    _check_pairs(fitted, bound, matrix, some_y, some_a, name=name)
    _check_mass(fitted, a, categorical, name)
    _check_pit(fitted, bound, some_y, some_a, name=name)


def _make_data(categorical: bool) -> tuple[Array, Array]:
    """Outcomes, and attributes as they arrive: standardized numbers, levels a unit apart."""
    rng = np.random.default_rng(1)
    a = np.column_stack([rng.integers(0, 2, _ROWS) * 1.0, rng.integers(0, 3, _ROWS) - 1.0])
    mean = 2.0 * a[:, 0] - a[:, 1]
    if not categorical:
        return 10.0 + mean + rng.normal(size=_ROWS) * (1.0 + a[:, 0]), a
    return np.clip(np.rint(mean + rng.normal(size=_ROWS)), 0, _CLASSES - 1), a


def _make_matrix(bound: Any, name: str) -> Array:
    """log q(y_j | a_i), one row per i."""
    promise(
        isinstance(bound, PairDensity),
        f"{name}: 'pairs' must return a PairDensity. Got {type(bound).__name__}.",
    )
    rows = np.arange(_BOUND)
    with unchanged(name, rows):
        values = np.asarray(bound.log_density(rows[:, None], rows[None, :]))
    promise(
        values.shape == (_BOUND, _BOUND),
        f"{name}: 'log_density' must broadcast over rows i and j. Got shape {values.shape} for "
        f"{_BOUND} × 1 and 1 × {_BOUND}.",
    )
    promise(np.isfinite(values).all(), f"{name} has log-densities that are NaN or infinite.")
    return values


def _check_pairs(
    fitted: Any, bound: PairDensity, matrix: Array, y: Array, a: Array, *, name: str
) -> None:
    zero = np.zeros(1, dtype=np.intp)
    alone = np.array(
        [
            [float(fitted.pairs(y[[j]], a[[i]]).log_density(zero, zero)[0]) for j in range(_BOUND)]
            for i in range(_BOUND)
        ]
    )
    promise(
        np.allclose(matrix, alone, rtol=1e-6, atol=1e-6),
        f"{name}: log q(y_j | a_i) of pairs differs from that of the pair alone. Row i is of the "
        "attributes, row j of the outcomes; nothing may depend on the other rows.",
    )
    i, j, at_i, at_j = np.random.default_rng(2).integers(0, _BOUND, (4, 50))
    odds = matrix[i, at_j] + matrix[j, at_i] - matrix[i, at_i] - matrix[j, at_j]
    promise(
        np.allclose(bound.swap_log_odds(i, j, at_i, at_j), odds, rtol=1e-6, atol=1e-6),
        f"{name}: 'swap_log_odds' differs from what 'log_density' says.",
    )


def _check_mass(fitted: Any, a: Array, categorical: bool, name: str) -> None:
    values = np.arange(_CLASSES, dtype=float) if categorical else _make_line()
    for k in range(3):
        index = np.arange(len(values))
        at = np.repeat(a[[k]], len(values), axis=0)
        density = np.exp(fitted.pairs(values, at).log_density(index, index))
        mass = density.sum() if categorical else float(trapezoid(density, values))
        promise(
            abs(mass - 1.0) <= _MASS,
            f"{name}: the density given one row of attributes has mass {mass:.4g} instead of 1.",
        )


def _make_line() -> Array:
    y, _ = _make_data(categorical=False)
    return np.linspace(y.mean() - _WIDE * y.std(), y.mean() + _WIDE * y.std(), _GRID)


def _check_pit(fitted: Any, bound: PairDensity, y: Array, a: Array, *, name: str) -> None:
    pit = bound.pit()
    if pit is None:
        return
    line = _make_line()
    index = np.arange(len(line))
    promise(np.shape(pit) == (len(y),), f"{name}: 'pit' must give one number per row.")
    for k in range(3):
        density = np.exp(
            fitted.pairs(line, np.repeat(a[[k]], len(line), axis=0)).log_density(index, index)
        )
        below = float(trapezoid(np.where(line <= y[k], density, 0.0), line))
        promise(
            abs(below - pit[k]) <= 0.02,
            f"{name}: 'pit' gives {pit[k]:.3g} where the density has mass {below:.3g} below.",
        )
