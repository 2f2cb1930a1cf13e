"""Parts of the omnibus statistic, from residuals of the prediction and functions of attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.testing.attribute_functions import AttributeFunctions, RandomTrees
from fairaudit.testing.subgroup_scan import SubgroupScan

__all__ = [
    "ProductParts",
    "count_in_tile",
    "find_places",
    "invert_lines",
    "multiply_along",
    "pair_along",
    "raise_residuals",
]

_FARTHEST = 3.0  # residuals count up to this in their powers
_MANY_ROWS = 50_000  # from here on fewer functions are enough, and what is moved is smaller
_MOST_ALONG = 24  # columns of residuals times functions along the outcome
_TILE = 48  # rows of a matrix product; a multiple of what processors take at once
_ALIKE = 1e-9  # lines that add up to one another differ by less


class ProductParts:
    """Functions of the attributes, at rows of a table or at blocks of tied rows.

    Attributes
    ----------
    n : int
        Rows of the table.
    parts : tuple of str
    rows : dict
        Kind of residuals (level, spread, along, basis) → their columns.
    columns : dict
        Family of functions → their columns.
    right : array
        The functions.
    square, inverse : array
        Second moments of the lines given the outcome; no inverse where every copy has its own.
    second : array
        Mean squares of the functions.
    scan : SubgroupScan, optional
    """

    n: int
    parts: tuple[str, ...]
    rows: dict[str, slice]
    columns: dict[str, slice]
    right: Array
    square: Array
    inverse: Array | None
    second: Array
    scan: SubgroupScan | None

    def look_at_attributes(
        self,
        a: Array,
        shown: Array,
        rng: np.random.Generator,
        *,
        remove: Callable[[Array], Array],
        strata: Index | None,
        counts: Array | None = None,
    ) -> None:
        """Draw functions of the attributes and prepare what they need of all rows.

        Parameters
        ----------
        a : array
            Attributes as numbers.
        shown : array
            Those that functions are drawn and scaled on.
        rng : Generator
        remove : callable
            Columns → what the outcome does not explain of them.
        strata : int array or None
            Stretches of the outcome, for the scan; without them there is none.
        counts : array, optional
            How many rows of the table each row here stands for.
        """
        functions = self.draw_functions(shown, rng)
        self.right = remove(functions(a))
        lines = self.right[:, self.columns["lines"]]
        spread = _find_deviations(lines, counts)
        lines /= np.where(spread > 1e-12, spread, np.inf)
        weighted = lines if counts is None else lines * counts[:, None]
        self.square = weighted.T @ lines / self.n
        self.inverse = invert_lines(self.square)
        products = self.right[:, self.columns["products"]]
        alone = products - lines @ (self.inverse @ (weighted.T @ products / self.n))
        self.columns = {**self.columns, "products alone": slice(self.right.shape[1], None)}
        self.right = np.hstack([self.right, alone])
        squares = self.right**2 if counts is None else self.right**2 * counts[:, None]
        self.second = squares.sum(axis=0) / self.n
        self.scan = None
        if strata is not None and any("scan" in part for part in self.parts):
            self.scan = SubgroupScan(self.draw_trees(shown, rng), a, strata, counts)

    def draw_functions(self, shown: Array, rng: np.random.Generator) -> AttributeFunctions:
        """Functions of the attributes; fewer where rows are many."""
        functions = AttributeFunctions(shown, waves=50 if self.n < _MANY_ROWS else 25, rng=rng)
        self.columns = functions.places
        return functions

    def draw_trees(self, shown: Array, rng: np.random.Generator) -> RandomTrees:
        """Whose nodes are subgroups; fewer where rows are many."""
        few = self.n < _MANY_ROWS
        return RandomTrees(shown, count=14 if few else 6, depth=4 if few else 3, rng=rng)

    def evaluate(self, moved: Array) -> Array:
        """Every part (columns) of every copy (rows).

        `moved` has per copy the columns of residuals that the attributes of each row meet: copies
        × columns × rows.
        """
        products = _multiply(moved, self.right) / np.sqrt(self.n)
        return self.combine(products, partial(self._scan, moved))

    def combine(self, products: Array, scan: Callable[[str], Array]) -> Array:
        """Every part of every copy from products of residuals (rows) and functions (columns).

        `scan` finds the subgroups of a kind of residuals.
        """
        inverse, variances = self._find_inverse(products), self._find_variances(products)

        def square(rows: str) -> Array:
            return _square_of_lines(products[:, self.rows[rows], self.columns["lines"]], inverse)

        def of(rows: str, family: str) -> tuple[Array, Array]:
            columns = self.columns[family]
            return products[:, self.rows[rows], columns], variances[:, columns]

        kinds: dict[str, Callable[[], Array]] = {
            "linear": lambda: square("level"),
            "linear, one attribute": lambda: _find_largest(*of("level", "lines")),
            "linear along the outcome": lambda: square("along"),
            "linear, one attribute along the outcome": lambda: _find_largest(*of("along", "lines")),
            "linear in spread": lambda: square("spread"),
            "linear in skewness": lambda: square("skewness"),
            "products": lambda: np.maximum(
                _find_largest(*of("level", "products")),
                _find_largest(*of("level", "products alone")),
            ),
            "smooth": lambda: _mean_square(*of("level", "waves")),
            "curves": lambda: _mean_square(*of("level", "curves")),
            "smooth along the outcome": lambda: _mean_square(*of("along", "waves")),
            "scan": lambda: scan("level"),
            "scan in spread": lambda: scan("spread"),
        }
        return np.column_stack([kinds[part]() for part in self.parts])

    def _find_inverse(self, products: Array) -> Array:
        """Of the lines' second moments given the outcome, in every copy."""
        if self.inverse is not None:
            return self.inverse
        explained = products[:, self.rows["basis"], self.columns["lines"]]
        square = self.square - explained.transpose(0, 2, 1) @ explained / self.n
        return _invert(square, 1e-6)

    def _find_variances(self, products: Array) -> Array:
        """Of all functions given the outcome (copies × functions)."""
        explained = products[:, self.rows["basis"]]
        return np.asarray(self.second - (explained**2).sum(axis=1) / self.n)

    def _scan(self, moved: Array, rows: str) -> Array:
        if self.scan is None:
            return np.zeros(len(moved))
        return self.scan.find_largest(moved[:, self.rows[rows]])


def _multiply(moved: Array, right: Array) -> Array:
    """`moved @ right` by tiles of equal size: many copies at once, and each to the same last bit
    whichever others it is computed with."""
    copies, width, rows = moved.shape
    if rows > _MANY_ROWS or not 0 < width <= _TILE:
        return np.asarray(moved @ right)
    result = np.empty((copies, width, right.shape[1]))
    together = count_in_tile(width)
    for at in range(0, copies, together):
        some = moved[at : at + together]
        filled = len(some) * width
        tile = some.reshape(filled, rows)
        if filled < _TILE:
            tile = np.zeros((_TILE, rows))
            tile[:filled] = some.reshape(filled, rows)
        result[at : at + together] = (tile @ right)[:filled].reshape(len(some), width, -1)
    return result


def count_in_tile(width: int) -> int:
    """Copies with so many columns that are multiplied together."""
    return max(1, _TILE // max(width, 1))


def find_places(widths: Mapping[str, int]) -> dict[str, slice]:
    """The columns of each, side by side."""
    ends = np.cumsum(list(widths.values())).tolist()
    return {
        name: slice(end - width, end)
        for (name, width), end in zip(widths.items(), ends, strict=True)
    }


def raise_residuals(level: Array) -> dict[str, Array]:
    """Powers of standardized residuals in which a spread and a skewness show."""
    near = np.clip(level, -_FARTHEST, _FARTHEST)
    return {"spread": near**2, "skewness": near**3 - 3 * near}


def pair_along(levels: int, functions: int) -> list[tuple[int, int]]:
    """Which columns of residuals meet which functions along the outcome."""
    if levels * functions > _MOST_ALONG:  # every function with one column, in turn
        return [(j % levels, j) for j in range(functions)]
    return [(i, j) for j in range(functions) for i in range(levels)]


def multiply_along(level: Array, along: Array) -> Array:
    """Columns of residuals times functions along the outcome; not all pairs of very many."""
    pairs = pair_along(level.shape[1], along.shape[1])
    return np.column_stack([level[:, :0], *(level[:, i] * along[:, j] for i, j in pairs)])


def _find_deviations(columns: Array, counts: Array | None) -> Array:
    if counts is None:
        return np.asarray(columns.std(axis=0))
    centered = columns - np.average(columns, axis=0, weights=counts)
    return np.asarray(np.sqrt(np.average(centered**2, axis=0, weights=counts)))


def invert_lines(square: Array) -> Array:
    """Of their second moments, without lines that add up to one another."""
    return _invert(square, _ALIKE)


def _invert(square: Array, alike: float) -> Array:
    """Without directions in which lines hardly vary."""
    return np.asarray(np.linalg.pinv(square, rcond=alike, hermitian=True), dtype=np.float64)


def _square_of_lines(products: Array, inverse: Array) -> Array:
    """In units of the lines' own spread given the outcome."""
    return np.asarray((products * (products @ inverse)).sum(axis=(1, 2)))


def _find_largest(products: Array, variances: Array) -> Array:
    """The largest square in units of the functions' variances."""
    scale = np.where(variances > 1e-6, variances, np.inf)[:, None]
    return np.asarray(np.max(products**2 / scale, axis=(1, 2), initial=0.0))


def _mean_square(products: Array, variances: Array) -> Array:
    """In units of the functions' mean variance."""
    if not products[0].size:
        return np.zeros(len(products))
    return np.asarray((products**2).mean(axis=(1, 2)) / np.maximum(variances.mean(axis=1), _ALIKE))
