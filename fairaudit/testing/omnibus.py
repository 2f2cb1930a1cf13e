"""The statistic of the gate: effects of many shapes, looked for in the same products.

What the outcome does not explain of the prediction (its level and its spread) is multiplied with
functions of the attributes (lines, products, waves, subgroups) and with functions along the
outcome. Each part is a statistic of its own; they are combined after they have been calibrated
on the same copies (`fairaudit.testing.p_value.Null`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from fairaudit._types import Array, Index
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.permute.copies import gathered, stream
from fairaudit.testing.attribute_functions import AttributeFunctions, RandomTrees, show_rows
from fairaudit.testing.given_outcome import GivenOutcome, look_at_outcome, standardize
from fairaudit.testing.statistic import Bound
from fairaudit.testing.subgroup_scan import SubgroupScan

__all__ = ["PARTS", "Omnibus"]

#: Part → its weight in the combination.
PARTS = {
    "linear": 3.0,
    "linear, one attribute": 8.0,
    "linear along the outcome": 2.0,
    "linear in spread": 2.0,
    "products": 2.0,
    "smooth": 1.0,
    "curves": 1.0,
    "smooth along the outcome": 1.0,
    "scan": 2.0,
    "scan in spread": 1.0,
}
_QUICK = ("linear", "linear, one attribute", "linear in spread", "products", "curves", "smooth")
_MANY_ROWS = 50_000  # from here on fewer functions are enough, and what is moved is smaller
_FARTHEST_SQUARE = 9.0  # squared residuals count up to this
_MOST_ALONG = 24  # columns of residuals times functions along the outcome
_STRETCHES = 64  # of a continuous outcome, for subgroups
_ROWS_PER_STRETCH = 16


@dataclass(frozen=True, slots=True)
class Omnibus:
    """Effects of many shapes at once.

    Parameters
    ----------
    parts : tuple of str
        Some of `PARTS`.
    name : str

    Notes
    -----
    With residuals of the prediction on one side and attributes on the other, and both without what
    the outcome explains, an error in either (a wrong density behind the copies, a smooth curve
    that is not followed) enters only as the product of both errors.
    """

    parts: tuple[str, ...] = tuple(PARTS)
    name: str = "omnibus"

    @property
    def quick(self) -> Omnibus:
        """The parts that cost least."""
        kept = tuple(part for part in self.parts if part in _QUICK)
        return Omnibus(kept or self.parts, self.name)

    @property
    def weights(self) -> tuple[float, ...]:
        return tuple(PARTS[part] for part in self.parts)

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        return self._bind(table, "within" if within_outcome else "anywhere", seed)

    def bind_near_outcome(self, table: AuditTable, *, seed: int) -> Bound:
        """For copies that exchange attributes between neighbors in the outcome.

        Attributes move without what the outcome explains of them.
        """
        return self._bind(table, "near", seed)

    def bind_moved_prediction(self, table: AuditTable, *, seed: int) -> Bound:
        """For copies that move the prediction.

        What the outcome explains is taken out of the attributes, which stay, and twice. Subgroups
        are not looked for: their parts are constant.
        """
        return self._bind(table, "prediction", seed)

    def _bind(self, table: AuditTable, moves: str, seed: int) -> Bound:
        table.require_varying_prediction()
        given = look_at_outcome(table.require_outcome())
        products = _Products(table, given, moves, self.parts, seed)
        return lambda rows: np.array([products.values(copy) for copy in rows])


class _Products:
    """A table bound to the functions that its copies are evaluated with."""

    def __init__(
        self, table: AuditTable, given: GivenOutcome, moves: str, parts: tuple[str, ...], seed: int
    ) -> None:
        rng = stream(seed, 2)
        self.n, self.parts, self.moves = len(table), parts, moves
        self._make_left(table, given)
        a = encode(table.attributes)
        few = self.n < _MANY_ROWS
        shown = a[show_rows(self.n, rng)]
        self._make_right(AttributeFunctions(shown, waves=50 if few else 25, rng=rng), a, given)
        self.scan: SubgroupScan | None = None
        if moves != "prediction" and any("scan" in part for part in parts):
            stretches = 1 if moves == "anywhere" else min(_STRETCHES, self.n // _ROWS_PER_STRETCH)
            trees = RandomTrees(shown, count=14 if few else 6, depth=4 if few else 3, rng=rng)
            self.scan = SubgroupScan(trees, a, given.find_stretches(max(1, stretches)))

    def _make_left(self, table: AuditTable, given: GivenOutcome) -> None:
        """What is known of the prediction, side by side."""
        level, spread, along = _take_residuals(table, given, self.moves)
        if self.moves == "anywhere":  # again: copies' attributes have the outcome's part
            level, spread = (standardize(given.remove(side)) for side in (level, spread))
            along = standardize(given.remove(along)) if along.shape[1] else along
        basis = given.basis * np.sqrt(self.n) if self.moves == "anywhere" else level[:, :0]
        self.left = np.hstack([level, spread, along, basis])
        self.along = given.along
        widths = [level.shape[1], spread.shape[1], along.shape[1], basis.shape[1]]
        if self.moves == "prediction":
            widths[2] = given.along.shape[1]
        places = zip(("level", "spread", "along", "basis"), widths, np.cumsum(widths), strict=True)
        self.rows = {name: slice(end - width, end) for name, width, end in places}

    def _make_right(self, functions: AttributeFunctions, a: Array, given: GivenOutcome) -> None:
        """Functions of the attributes, side by side, and the spread of the lines among them."""
        right = functions(a)
        right = right - right.mean(axis=0) if self.moves == "anywhere" else given.remove(right)
        if self.moves == "prediction":
            right = given.remove(right)
        self.columns = functions.places
        lines = right[:, self.columns["lines"]]
        lines /= np.where(lines.std(axis=0) > 1e-12, lines.std(axis=0), np.inf)
        self.right, self.square = right, lines.T @ lines / self.n
        self.inverse: Array | None = None
        if self.moves != "anywhere":
            self.inverse = np.asarray(np.linalg.pinv(self.square, hermitian=True), np.float64)

    def values(self, copy: Index) -> Array:
        """Every part on a copy."""
        moved = self._move(copy)
        products = moved.T @ self.right / np.sqrt(self.n)
        square, inverse = self._find_spread(products)
        lines = products[:, self.columns["lines"]]
        kinds = {
            "linear": lambda: _square_of_lines(lines[self.rows["level"]], inverse),
            "linear, one attribute": lambda: _largest_line(lines[self.rows["level"]], square),
            "linear along the outcome": lambda: _square_of_lines(
                lines[self.rows["along"]], inverse
            ),
            "linear in spread": lambda: _square_of_lines(lines[self.rows["spread"]], inverse),
            "products": lambda: self._mean_square(products, "level", "products"),
            "smooth": lambda: self._mean_square(products, "level", "waves"),
            "curves": lambda: self._mean_square(products, "level", "curves"),
            "smooth along the outcome": lambda: self._mean_square(products, "along", "waves"),
            "scan": lambda: self._scan(moved, "level"),
            "scan in spread": lambda: self._scan(moved, "spread"),
        }
        return np.array([kinds[part]() for part in self.parts])

    def _move(self, copy: Index) -> Array:
        """What is multiplied with functions of the attributes, row by row of these."""
        if self.moves != "prediction":
            return gathered(copy, self.left)
        moved = self.left[copy]
        first = moved[:, :1] * self.along  # of several columns the first stands for all
        return np.hstack([moved, first])

    def _mean_square(self, products: Array, rows: str, columns: str) -> float:
        part = products[self.rows[rows], self.columns[columns]]
        return float(np.mean(part**2)) if part.size else 0.0

    def _find_spread(self, products: Array) -> tuple[Array, Array]:
        """Second moments of the lines given the outcome, and their inverse."""
        if self.inverse is not None:
            return self.square, self.inverse
        explained = products[self.rows["basis"], self.columns["lines"]]
        square = self.square - explained.T @ explained / self.n
        inverse = np.linalg.pinv(square, rcond=1e-6, hermitian=True)
        return square, np.asarray(inverse, np.float64)

    def _scan(self, moved: Array, rows: str) -> float:
        return 0.0 if self.scan is None else self.scan.largest(moved[:, self.rows[rows]])


def _take_residuals(
    table: AuditTable, given: GivenOutcome, moves: str
) -> tuple[Array, Array, Array]:
    """Level and spread of the prediction given the outcome, and its level along the outcome.

    Where it is the prediction that moves: its scores and their squares, with the outcome's part.
    """
    u = table.prediction.matrix()
    scores = np.column_stack([ndtri((rankdata(column) - 0.5) / len(u)) for column in u.T])
    if moves == "prediction":
        level = standardize(scores)
        return level, standardize(np.minimum(level**2, _FARTHEST_SQUARE)), level[:, :0]
    level = standardize(given.remove(standardize(scores)))
    spread = standardize(given.remove(np.minimum(level**2, _FARTHEST_SQUARE)))
    pairs = [(i, j) for j in range(given.along.shape[1]) for i in range(level.shape[1])]
    if len(pairs) > _MOST_ALONG:  # every function with one column, in turn
        pairs = [(j % level.shape[1], j) for j in range(given.along.shape[1])]
    along = np.column_stack([level[:, :0], *(level[:, i] * given.along[:, j] for i, j in pairs)])
    return level, spread, along


def _square_of_lines(products: Array, inverse: Array) -> float:
    """In units of the lines' own spread given the outcome."""
    return float((products * (products @ inverse)).sum()) if products.size else 0.0


def _largest_line(products: Array, square: Array) -> float:
    spread = np.diag(square)
    return float(np.max(products**2 / np.where(spread > 1e-6, spread, np.inf), initial=0.0))
