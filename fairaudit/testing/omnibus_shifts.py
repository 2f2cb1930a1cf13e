"""The omnibus statistic for copies that shift groups of blocks: from sums per group and shift.

A copy turns every group of blocks of neighbors in the outcome by a number of places. The products
of residuals and functions of attributes are sums over rows, so that those of a copy are sums over
the groups, each at its shift. They are computed once for every group and shift: as much work as 16
copies, whatever their number. Functions of attributes are made for the rows of a group at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from fairaudit._types import Array, Index
from fairaudit.geometry.outcome_smoother import OutcomeSmoother
from fairaudit.testing.product_parts import ProductParts, find_places, invert_lines
from fairaudit.testing.subgroup_scan import SubgroupScan, TreeNodes, add_up_leaves

__all__ = ["GivenRows", "OmnibusOverShifts", "SeenAttributes", "ShiftedProducts"]

_AT_ONCE = 1 << 13  # rows


@dataclass(frozen=True, slots=True, eq=False)
class SeenAttributes:
    """Attributes as numbers.

    Attributes
    ----------
    numbers : array
        Of all rows of a table.
    shown : array
        Rows that functions are drawn on.
    total : int
        Rows of all tables whose sums are added; how many functions are drawn depends on them.
    """

    numbers: Array
    shown: Array
    total: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GivenRows:
    """What shifted products are made of.

    Attributes
    ----------
    seen : SeenAttributes
    smoother : OutcomeSmoother
    strata : int array
        Stretches of the outcome.
    sides : dict
        Kind of residuals (level, spread, skewness, along) → columns.
    """

    seen: SeenAttributes
    smoother: OutcomeSmoother
    strata: Index
    sides: dict[str, Array]


class ShiftForm(ProductParts):
    """The functions and trees that sums belong to, the same in all tables that show the same rows.

    Parameters
    ----------
    seen : SeenAttributes
    widths : mapping
        Kind of residuals → how many.
    parts : tuple of str
    rng : Generator
    """

    def __init__(
        self,
        seen: SeenAttributes,
        widths: Mapping[str, int],
        parts: tuple[str, ...],
        rng: np.random.Generator,
    ) -> None:
        self.n, self.parts = seen.total, parts
        self.rows = find_places({**widths, "basis": 0})
        self.functions = self.draw_functions(seen.shown, rng)
        self.trees = self.draw_trees(seen.shown, rng)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShiftedProducts:
    """Sums over rows: of one table, or of several that were permuted apart.

    Attributes
    ----------
    form : ShiftForm
    n : int
        Rows.
    products : array
        Per copy residuals × functions.
    leaves : array
        Per copy residuals (level and spread) × leaves of the trees.
    lines, cross, second : array
        Sums over rows: of the lines, of lines × functions, and of squared functions.
    inside, variance : array
        Of every node of the trees; see `TreeNodes`.
    """

    form: ShiftForm
    n: int
    products: Array
    leaves: Array
    lines: Array
    cross: Array
    second: Array
    inside: Array
    variance: Array

    def __add__(self, other: ShiftedProducts) -> ShiftedProducts:
        """Those of both; of the larger one where predictions of the other lack a column."""
        if self.products.shape != other.products.shape:
            return self if self.n >= other.n else other
        return ShiftedProducts(
            form=self.form,
            n=self.n + other.n,
            products=self.products + other.products,
            leaves=self.leaves + other.leaves,
            lines=self.lines + other.lines,
            cross=self.cross + other.cross,
            second=self.second + other.second,
            inside=self.inside + other.inside,
            variance=self.variance + other.variance,
        )

    def evaluate(self) -> Array:
        """Every part (columns) on every copy (rows)."""
        return _Scaled(self).combine_parts()


class OmnibusOverShifts:
    """A table bound to functions, with its sums per group and shift.

    Parameters
    ----------
    given : GivenRows
    groups : sequence of int arrays
        Rows of each group of blocks: blocks × places × rows of a person.
    parts : tuple of str
    rng : Generator
    """

    def __init__(
        self,
        given: GivenRows,
        groups: Sequence[Index],
        parts: tuple[str, ...],
        rng: np.random.Generator,
    ) -> None:
        widths = {name: side.shape[1] for name, side in given.sides.items()}
        form = ShiftForm(given.seen, widths, parts, rng)
        columns = _Columns(given, form)
        left = np.hstack(list(given.sides.values()))
        scanned = form.rows["spread"].stop  # level and spread come first
        self.starts = np.cumsum([0, *(group.shape[1] for group in groups)])
        self.products = np.zeros((self.starts[-1], left.shape[1], columns.known))
        self.leaves = np.zeros((self.starts[-1], scanned, columns.width - columns.known))
        count = len(given.seen.numbers.T)
        lines, cross = np.zeros(count), np.zeros((count, columns.known))
        second = np.zeros(columns.known)
        for group, start in zip(groups, self.starts[:-1], strict=True):
            for rows in _split_blocks(group):
                right = columns(rows.ravel())
                known, line = right[:, : columns.known], right[:, form.columns["lines"]]
                lines += line.sum(axis=0)
                cross += line.T @ known
                second += (known**2).sum(axis=0)
                own = slice(start, start + rows.shape[1])
                self.products[own] += _multiply_shifted(left[rows], known)
                self.leaves[own] += _multiply_shifted(
                    left[rows][..., :scanned], right[:, columns.known :]
                )
        self.base = ShiftedProducts(
            form=form,
            n=len(left),
            products=self.products[:0],
            leaves=self.leaves[:0],
            lines=lines,
            cross=cross,
            second=second,
            inside=columns.scan.inside,
            variance=columns.scan.variance,
        )

    def see(self, shifts: Index) -> ShiftedProducts:
        """The sums of copies, whose groups shift so far (copies × groups)."""
        copies, groups = shifts.shape
        chosen = sparse.csr_array(
            (
                np.ones(copies * groups),
                (shifts + self.starts[:-1]).ravel(),
                np.arange(0, copies * groups + 1, groups),
            ),
            shape=(copies, self.starts[-1]),
        )
        products, leaves = (
            (chosen @ sums.reshape(len(sums), -1)).reshape(copies, *sums.shape[1:])
            for sums in (self.products, self.leaves)
        )
        return replace(self.base, products=products, leaves=leaves)

    def values(self, shifts: Index) -> Array:
        """Every part (columns) on every copy (rows)."""
        return self.see(shifts).evaluate()


class _Columns:
    """Functions of attributes and leaves of trees, without what the outcome explains of them.

    Lines come first.
    """

    def __init__(self, given: GivenRows, form: ShiftForm) -> None:
        self.given, self.functions = given, form.functions
        a, functions = given.seen.numbers, form.functions
        self.scan = SubgroupScan(form.trees, a, given.strata)
        leaves = self.scan.count * self.scan.width
        self.leaves = self.scan.places
        self.share = self.scan.share_of_leaves.reshape(leaves, -1).T
        self.lines = given.smoother.fit(lambda rows: functions(a[rows]))
        self.known = len(self.lines.windows)
        self.width = self.known + leaves

    def __call__(self, rows: Index) -> Array:
        given = self.given
        right = np.empty((len(rows), self.width))
        columns = self.functions(given.seen.numbers[rows])
        right[:, : self.known] = self.lines.find_residuals(rows, columns)
        np.negative(self.share[given.strata[rows]], out=right[:, self.known :])
        for leaf in self.leaves[:, rows]:
            right[np.arange(len(rows)), self.known + leaf] += 1.0
        return right


class _Scaled(ProductParts):
    """Sums with what they are compared to."""

    def __init__(self, sums: ShiftedProducts) -> None:
        form, self.n = sums.form, sums.n
        self.parts, self.rows = form.parts, form.rows
        self.nodes = TreeNodes(form.trees, sums.n, sums.inside, sums.variance)
        count = len(sums.second)
        self.leaves = sums.leaves
        lines, others = form.columns["lines"], form.columns["products"]
        variance = sums.second[lines] / self.n - (sums.lines / self.n) ** 2
        spread = np.sqrt(np.maximum(variance, 0.0))
        scale = np.ones(count)
        scale[lines] = np.where(spread > 1e-12, spread, np.inf)
        products = sums.products / np.sqrt(self.n) / scale
        cross = sums.cross / self.n / scale[lines, None] / scale
        self.square = cross[:, lines]
        self.inverse = invert_lines(self.square)
        # of products what is left beside the lines, as `look_at_attributes` has it
        part = self.inverse @ cross[:, others]
        alone = products[..., others] - products[..., lines] @ part
        second = sums.second / self.n / scale**2
        rest = second[others] + (part * (self.square @ part - 2 * cross[:, others])).sum(axis=0)
        self.columns = {**form.columns, "products alone": slice(count, None)}
        self.products = np.concatenate([products, alone], axis=2)
        self.second = np.concatenate([second, np.maximum(rest, 0.0)])

    def combine_parts(self) -> Array:
        return self.combine(self.products, self._find_subgroups)

    def _find_subgroups(self, rows: str) -> Array:
        best = np.zeros(len(self.leaves))
        for column in self.leaves[:, self.rows[rows]].transpose(1, 2, 0):
            leaves = column.reshape(self.nodes.count, 1 << self.nodes.depth, -1)
            best = np.maximum(best, self.nodes.find_largest(add_up_leaves(leaves)))
        return best


def _split_blocks(group: Index) -> list[Index]:
    """Some blocks at a time."""
    some = max(1, _AT_ONCE // (group.shape[1] * group.shape[2]))
    return [group[at : at + some] for at in range(0, len(group), some)]


def _multiply_shifted(left: Array, right: Array) -> Array:
    """Per shift the products of both; `left` is blocks × places × rows × columns.

    Shifted by s, outcomes at place k meet the attributes at place k + s.
    """
    turns, columns = left.shape[1], left.shape[3]
    turned = [np.roll(left, shift, axis=1).reshape(-1, columns) for shift in range(turns)]
    return np.asarray((np.hstack(turned).T @ right).reshape(turns, columns, -1))
