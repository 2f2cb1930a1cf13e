"""The omnibus statistic from sums over tied blocks.

For copies within classes its products need of the predictions no more than the sums of their level,
spread and skewness over the blocks of equal outcome and attributes. Functions of attributes are
taken at the blocks, with rows as weights. What they have in common within a class has been removed
from them, so that residuals may be centered and scaled by a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from fairaudit._types import Array, Index
from fairaudit.geometry.block_sums import CoarseBlocks, RowColumns, SeenRows
from fairaudit.permute.copies import stream
from fairaudit.testing.attribute_functions import show_counted, show_rows
from fairaudit.testing.given_outcome import Scale
from fairaudit.testing.product_parts import ProductParts, find_places, pair_along, raise_residuals

__all__ = ["OmnibusOverBlocks"]

_AT_ONCE = 1 << 15  # blocks of copies


class OmnibusOverBlocks:
    """The parts of the statistic for questions, by blocks.

    Parameters
    ----------
    questions : sequence of CoarseBlocks
    parts : tuple of str
    seen : SeenRows
    seed : int
    """

    def __init__(
        self, questions: Sequence[CoarseBlocks], parts: tuple[str, ...], seen: SeenRows, seed: int
    ) -> None:
        asked = {question.of_class for question in questions}
        classes = len(questions[0].space.outcome.levels)
        residuals = {}
        for code in (None, *sorted(code for code in asked if code is not None)):
            rows = seen.inside(code)
            times = None if seen.times is None else seen.times[rows]
            residuals[code] = _Residuals(seen.prediction[rows], seen.codes[rows], classes, times)
        self.columns = _ResidualColumns(residuals)
        self.products = [
            _BlockProducts(question, residuals[question.of_class].widths, parts, seen, seed)
            for question in questions
        ]

    def bind(self, observed: Any) -> list[Callable[[Any], Array]]:
        return [
            _Bound(products, self.columns.part(products.question.of_class))
            for products in self.products
        ]


class _Bound:
    """A question and its columns of the sums."""

    def __init__(self, products: _BlockProducts, part: slice) -> None:
        self.products, self.part = products, part

    def __call__(self, sums: Array) -> Array:
        return np.asarray(self.evaluate_many(sums[None])[0])

    def evaluate_many(self, sums: Array) -> Array:
        """Every part (columns) of every copy (rows), from sums of copies × blocks × columns."""
        some = max(1, _AT_ONCE // sums.shape[1])
        return np.vstack(
            [
                self.products.values(sums[at : at + some, :, self.part])
                for at in range(0, len(sums), some)
            ]
        )


class _Residuals:
    """Level, spread and skewness of predictions given their class, as functions of both.

    The level comes from normal scores of ranks among the rows seen.
    """

    def __init__(self, u: Array, codes: Index, classes: int, times: Index | None = None) -> None:
        order = np.argsort(u, axis=0, kind="stable")
        self.known = np.take_along_axis(u, order, axis=0)
        self.below = np.zeros((len(u) + 1, u.shape[1]), dtype=np.intp)  # rows up to each place
        np.cumsum(np.ones_like(order) if times is None else times[order], 0, out=self.below[1:])
        scores = self._find_scores(u)
        self.scale = Scale(scores, times)
        level = self.scale(scores)
        self.mean = _find_means(level, codes, classes, times)
        self.scale_of_level = Scale(level - self.mean[codes], times)
        level = self.scale_of_level(level - self.mean[codes])
        self.means, self.scales = {}, {}
        for name, power in raise_residuals(level).items():
            self.means[name] = _find_means(power, codes, classes, times)
            self.scales[name] = Scale(power - self.means[name][codes], times)
        self.widths = {"level": level.shape[1]}
        self.widths |= {name: int(scale.varying.sum()) for name, scale in self.scales.items()}

    def __call__(self, u: Array, code: int) -> Array:
        level = self.scale_of_level(self.scale(self._find_scores(u)) - self.mean[code])
        powers = [
            self.scales[name](power - self.means[name][code])
            for name, power in raise_residuals(level).items()
        ]
        return np.hstack([level, *powers])

    def _find_scores(self, u: Array) -> Array:
        seen = int(self.below[-1, 0])
        ranks = [
            (below[np.searchsorted(known, x)] + below[np.searchsorted(known, x, side="right")]) / 2
            for known, below, x in zip(self.known.T, self.below.T, u.T, strict=True)
        ]
        return np.asarray(ndtri(np.clip(np.column_stack(ranks), 0.5, seen - 0.5) / seen))


def _find_means(columns: Array, codes: Index, classes: int, times: Index | None = None) -> Array:
    """By class, for every column; 0 where no row is of the class."""
    sizes = np.maximum(np.bincount(codes, times, minlength=classes), 1)
    weighted = columns if times is None else columns * times[:, None]
    sums = [np.bincount(codes, column, classes) for column in weighted.T]
    return np.column_stack([np.zeros((len(sizes), 0)), *sums]) / sizes[:, None]


class _ResidualColumns(RowColumns):
    """Residuals for all rows, then those for the question about their class."""

    def __init__(self, residuals: dict[int | None, _Residuals]) -> None:
        self.residuals = residuals
        sizes = {code: sum(each.widths.values()) for code, each in residuals.items()}
        self.split = sizes[None]
        self.width = self.split + max(
            (sizes[code] for code in sizes if code is not None), default=0
        )

    def __call__(self, u: Array, code: int) -> Array:
        result = np.zeros((len(u), self.width))
        result[:, : self.split] = self.residuals[None](u, code)
        if code in self.residuals:
            own = self.residuals[code](u, code)
            result[:, self.split : self.split + own.shape[1]] = own
        return result

    def part(self, of_class: int | None) -> slice:
        """The columns for all rows, or for a class."""
        return slice(0, self.split) if of_class is None else slice(self.split, self.width)


def _show_blocks(question: CoarseBlocks, seen: SeenRows, rng: np.random.Generator) -> Index:
    """The blocks of rows that functions are drawn on."""
    if seen.times is None:
        rows = seen.inside(question.of_class)
        return seen.blocks[rows[show_rows(len(rows), rng)]]
    inside = np.flatnonzero(question.place >= 0)
    return inside[show_counted(question.space.counts[inside], rng)]


class _BlockProducts(ProductParts):
    """A question bound to the functions of attributes at its blocks."""

    def __init__(
        self,
        question: CoarseBlocks,
        widths: dict[str, int],
        parts: tuple[str, ...],
        seen: SeenRows,
        seed: int,
    ) -> None:
        rng = stream(seed, 2)
        self.question, self.parts, self.n = question, parts, question.n
        counts = question.counts.astype(np.float64)
        present, codes = np.unique(question.classes, return_inverse=True)
        sizes = np.bincount(codes, counts)
        members = np.eye(len(present))[codes]
        self.along = members / np.sqrt(sizes / self.n) if len(present) > 1 else members[:, :0]
        self.sums, self.width = find_places(widths), sum(widths.values())
        self.pairs = pair_along(widths["level"], self.along.shape[1])
        self.rows = find_places({**widths, "along": len(self.pairs), "basis": 0})
        a = question.encode_attributes()
        shown = _show_blocks(question, seen, rng)

        def remove(columns: Array) -> Array:
            return columns - ((members * counts[:, None]).T @ columns / sizes[:, None])[codes]

        self.look_at_attributes(
            a, a[question.place[shown]], rng, remove=remove, strata=codes, counts=counts
        )

    def values(self, sums: Array) -> Array:
        """Every part of every copy, from the sums over the blocks of the space."""
        copies, blocks, width = sums.shape
        by_block = sums.transpose(1, 0, 2).reshape(blocks, copies * width)
        count = len(self.question.counts)
        own = (self.question.gather @ by_block).reshape(count, copies, width).transpose(1, 2, 0)
        level = own[:, self.sums["level"]]
        columns = np.empty((copies, self.width + len(self.pairs), count))
        columns[:, : self.width] = own[:, : self.width]
        for place, (i, j) in enumerate(self.pairs, self.width):
            np.multiply(level[:, i], self.along[:, j], out=columns[:, place])
        return self.evaluate(columns)
