"""Functions of the attributes that a regression may use: products, hinges, smooth waves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.encode import second_order

__all__ = ["Basis", "Linear", "Quadratic", "Selected", "Smooth", "select_terms"]

_KNOTS = np.array([0.15, 0.35, 0.5, 0.65, 0.85])
_FINE_KNOTS = np.array([0.02, 0.08, 0.2, 0.35, 0.5, 0.65, 0.8, 0.92, 0.98])
_FEWEST_FOR_HINGES = 7  # distinct numbers of a column
_MOST_FOR_PRODUCTS = 60
_MOST_TERMS = 20
_MOST_ROWS = 20_000  # on which terms are selected
_ROWS_PER_TERM = 15
_WAVES = 40
_MOST_FOR_WAVES = 4


class Basis(Protocol):
    """The columns of a regression, for any rows."""

    def __call__(self, a: Array) -> Array: ...


class Linear:
    """The attributes as they are."""

    def __call__(self, a: Array) -> Array:
        return a


class Quadratic:
    """With squares, and products of pairs for up to 8 columns."""

    def __call__(self, a: Array) -> Array:
        return np.hstack([a, second_order(a)])


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """Products a_i · a_j and hinges max(a_c − knot, 0)."""

    first: Index
    second: Index
    column: Index
    knot: Array

    def __len__(self) -> int:
        return len(self.first) + len(self.column)

    def __call__(self, a: Array) -> Array:
        products = a[:, self.first] * a[:, self.second]
        return np.hstack([products, np.maximum(a[:, self.column] - self.knot, 0.0)])

    def only(self, terms: Index) -> _Terms:
        products = terms[terms < len(self.first)]
        hinges = terms[terms >= len(self.first)] - len(self.first)
        return _Terms(
            self.first[products], self.second[products], self.column[hinges], self.knot[hinges]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """The attributes and the terms that earned their place."""

    terms: _Terms

    def __call__(self, a: Array) -> Array:
        return np.hstack([a, self.terms(a)])


def select_terms(a: Array, residual: Array) -> Selected:
    """Squares, products and hinges that explain what a linear regression left.

    One at a time, as long as the next lowers n log(residual sum of squares) by more than twice
    the log of the number of candidates: what the best of as many irrelevant ones would do.
    """
    some = slice(None, None, -(-len(a) // _MOST_ROWS))
    a, residual = a[some], residual[some]
    terms = _list_terms(a)
    x = terms(a)
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf)
    n, chosen, directions = len(a), [], np.empty((0, len(a)))
    left = residual - residual.mean()
    for _ in range(min(_MOST_TERMS, n // _ROWS_PER_TERM, len(terms))):
        best = int(np.abs(left @ x).argmax())
        direction = x[:, best] - (directions @ x[:, best]) @ directions
        length = float(np.sqrt(direction @ direction))
        if length < 1e-6 * np.sqrt(n):
            break
        direction /= length
        step = float(direction @ left)
        before = float(left @ left)
        after = before - step**2
        if after <= 0 or n * np.log(before / after) <= 2 * np.log(max(len(terms), 2)):
            break
        left = left - step * direction
        directions = np.vstack([directions, direction])
        chosen.append(best)
    return Selected(terms.only(np.array(sorted(set(chosen)), dtype=np.intp)))


def _list_terms(a: Array) -> _Terms:
    width = a.shape[1]
    numbers = _find_number_columns(a)
    first, second = np.arange(width), np.arange(width)
    if width <= _MOST_FOR_PRODUCTS:
        first, second = np.triu_indices(width)
    useful = (first != second) | np.isin(first, numbers)  # the square of two levels is no news
    knots = np.quantile(a[:, numbers], _KNOTS, axis=0)
    return _Terms(first[useful], second[useful], np.tile(numbers, len(_KNOTS)), knots.ravel())


def _find_number_columns(a: Array) -> Index:
    few = a[: 50 * _FEWEST_FOR_HINGES]
    many = [len(np.unique(column)) >= _FEWEST_FOR_HINGES for column in few.T]
    return np.flatnonzero(many)


class Smooth:
    """Many smooth functions: scores of the ranks with hinges, products, waves for few columns.

    Made for a ridge penalty, which keeps them small.
    """

    def __init__(self, a: Array, seed: int) -> None:
        numbers = _find_number_columns(a)
        self.numbers = numbers
        self.sorted = np.sort(a[:, numbers], axis=0)
        self.knots = np.quantile(self._scores(a), _FINE_KNOTS, axis=0)
        self.direction = np.empty((a.shape[1], 0))
        self.phase = np.empty(0)
        if a.shape[1] <= _MOST_FOR_WAVES:
            rng = np.random.default_rng(seed)
            self.direction = rng.normal(size=(a.shape[1], _WAVES)) / np.sqrt(a.shape[1]) * 1.5
            self.phase = rng.uniform(0, 2 * np.pi, _WAVES)

    def _scores(self, a: Array) -> Array:
        """Ranks among the training rows, in [-1, 1]."""
        n = len(self.sorted)
        even = np.linspace(-1.0, 1.0, n)
        columns = [
            np.interp(a[:, column], ordered, even)
            for column, ordered in zip(self.numbers, self.sorted.T, strict=True)
        ]
        return np.column_stack([*columns, np.empty((len(a), 0))])

    def __call__(self, a: Array) -> Array:
        scores = self._scores(a)
        hinges = [np.maximum(scores - knots, 0.0) for knots in self.knots]
        waves = np.cos(a @ self.direction + self.phase)
        return np.hstack([a, second_order(a), scores, *hinges, waves])
