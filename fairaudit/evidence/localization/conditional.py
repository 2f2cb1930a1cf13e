"""The test of Ŷ ⟂ A_S | Y, A_-S: what some attributes add for people who agree in all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode, second_order
from fairaudit.data.table import AuditTable
from fairaudit.evidence.localization.differences import people_of
from fairaudit.evidence.localization.flexible_fit import FlexibleFit, place_rows
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.permute.copies import CopySampler, stream
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.p_value import PValue, reaches
from fairaudit.testing.permutations import Permutations

__all__ = ["MOST_ROWS", "ConditionalP", "conditional_p"]

MOST_ROWS = 10_000  # to which flexible regressions are fitted
_MOST_FEATURES = 40
_WAVES = (1.5, 3.0)  # per standard deviation of a number
_NOTHING_LEFT = 1e-3  # of the variance of every feature


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalP:
    """The answer for one set of attributes.

    Attributes
    ----------
    value : float or None
        None where the attributes do not vary among those who agree in everything else.
    exact : bool
        By permutation within tied blocks; else by residuals of flexible regressions.
    free : float
        Exact: the share of the rows that have another value to exchange. Else: the largest share
        of an attribute's variance that outcome and other attributes do not explain.
    statistic, null
        Of the data and of what was drawn.
    """

    value: float | None
    exact: bool
    free: float
    statistic: float = float("nan")
    null: tuple[float, ...] = ()


def conditional_p(
    table: AuditTable, chosen: Sequence[int], permutations: Permutations
) -> ConditionalP:
    r"""Test whether the attributes with these numbers add to the outcome and the other attributes.

    Notes
    -----
    Where outcome and other attributes are categories, the chosen attributes are permuted among
    rows that agree in them: exact.

    Where one of them is a number, hardly any rows agree. Prediction and functions of the chosen
    attributes are then both freed from what a flexible regression on outcome and other attributes
    explains (the generalized covariance measure of Shah and Peters 2020, with weights): products
    of the residuals have mean 0 under the null as far as the product of both errors is small, so
    that neither must be perfect. The signs of the products are drawn anew for the null, those of
    one person together; the sum of the products themselves varies more (residuals of both have lost
    the same directions), and is divided by as much.

    Either way the statistic is the largest studentized sum over (score, and its spread) × (what
    stays fixed) × (functions of what is chosen).
    """
    outcome = table.require_outcome()
    moved = [column for k, column in enumerate(table.attributes) if k in chosen]
    fixed = [outcome, *(c for k, c in enumerate(table.attributes) if k not in chosen)]
    if all(column.kind.is_categorical for column in fixed):
        return _by_permutation(table, moved, fixed, permutations)
    if len(table) > MOST_ROWS:
        rows = np.sort(stream(permutations.seed, 13).permutation(len(table))[:MOST_ROWS])
        table = table.take(rows)
        moved, fixed = ([column.take(rows) for column in some] for some in (moved, fixed))
    return _by_residuals(table, moved, fixed, permutations)


def _by_permutation(
    table: AuditTable, moved: Sequence[Column], fixed: Sequence[Column], permutations: Permutations
) -> ConditionalP:
    strata = find_tied_blocks(fixed, len(table)).of_row
    features = _features(moved)
    centered = features - _means(features, strata)[strata]
    varies = (np.abs(centered) > 1e-9).any(axis=1)
    if not varies.any():
        return ConditionalP(value=None, exact=True, free=0.0)
    score = _centered_products(table, fixed, strata)
    sampler: CopySampler = _Shuffle(strata, permutations.seed)
    if table.ids is not None:
        sampler = whole = WithinOutcome(strata, permutations.seed, table.ids.codes)
        if whole.movable == 0:
            return ConditionalP(value=None, exact=True, free=0.0)
    scale = _spread(centered, score, strata)
    # scores add up to 0 in every stratum: features count as they are, once per tied block
    blocks = find_tied_blocks(moved, len(table))
    largest = _LargestSum(features[blocks.first], score, scale)
    observed = largest.of(blocks.of_row)
    reached, n_copies = 0, permutations.n
    of_row = blocks.of_row.astype(np.int32)
    batch = max(1, permutations.batch_for(len(table)) // 4)
    for start in range(0, n_copies, batch):
        for copy in sampler.block(range(start, min(start + batch, n_copies))):
            reached += int(reaches(largest.of(of_row[copy]), observed))
    p = PValue(reached, n_copies).value
    return ConditionalP(value=p, exact=True, free=float(varies.mean()))


def _by_residuals(
    table: AuditTable, moved: Sequence[Column], fixed: Sequence[Column], permutations: Permutations
) -> ConditionalP:
    seed = permutations.seed
    fit = FlexibleFit(fixed, stream(seed, 14))
    features, taken = fit.leave_rows_out(_features(moved))
    own = features[:, : place_rows(moved).shape[1]].var(axis=0)
    left = features.var(axis=0) > _NOTHING_LEFT
    if not left.any():
        return ConditionalP(value=None, exact=False, free=0.0)
    score, of_score = fit.leave_rows_out(_standard_prediction(table))
    if table.prediction.form != "labels":  # for labels it says nothing new
        spread, of_spread = fit.leave_rows_out(np.abs(score))
        score, of_score = np.hstack([score, spread]), np.hstack([of_score, of_spread])
    weights = _with_constant(place_rows(fixed))
    ratios = fit.variance_ratios(of_score, taken[:, left])[:, None, :]
    ratios = np.broadcast_to(ratios, (len(ratios), weights.shape[1], int(left.sum()))).ravel()
    products = np.einsum("ia,ib,ic->iabc", score, weights, features[:, left])
    products = products.reshape(len(table), -1)
    people = np.unique(people_of(table), return_inverse=True)[1]
    if len(people) > people.max() + 1:
        products = np.column_stack([np.bincount(people, column) for column in products.T])
    size = np.sqrt((products**2).sum(axis=0))
    some = size > 1e-9
    products = products[:, some] / size[some]
    observed = float(np.abs(products.sum(axis=0) / np.sqrt(ratios[some])).max(initial=0.0))
    null, rng = np.empty(permutations.n), stream(seed, 9)
    for start in range(0, permutations.n, 256):
        copies = min(256, permutations.n - start)
        signs = 2.0 * rng.integers(0, 2, (copies, len(products))) - 1.0
        null[start : start + copies] = np.abs(signs @ products).max(axis=1, initial=0.0)
    return ConditionalP(
        value=PValue.of(observed, null).value,
        exact=False,
        free=float(min(own.max(), 1.0)),
        statistic=observed,
        null=tuple(null.tolist()),
    )


class _Shuffle(CopySampler):
    """Uniform permutations within strata, one sort per copy: fast for very many strata."""

    within_outcome = True

    def __init__(self, strata: Index, seed: int) -> None:
        self.n = len(strata)
        self.strata, self.seed = strata, seed
        self.order = np.argsort(strata, kind="stable")

    def block(self, copies: range) -> Index:
        result = np.empty((len(copies), len(self.strata)), dtype=np.intp)
        for place, copy in enumerate(copies):
            keys = self.strata + stream(self.seed, 9, copy).random(len(self.strata))
            result[place, self.order] = np.argsort(keys)
        return result


def _features(columns: Sequence[Column]) -> Array:
    """Functions of what is chosen, of variance 1: the attributes first, then squares, products of
    several and waves of numbers."""
    encoded = place_rows(columns)
    numbers = [column for column in columns if not column.kind.is_categorical]
    parts, width = [encoded], encoded.shape[1]
    if width * (width + 3) // 2 <= _MOST_FEATURES:
        parts.append(second_order(encoded))
    if numbers:
        z = place_rows(numbers)
        parts += [wave(rate * z) for rate in _WAVES for wave in (np.sin, np.cos)]
    functions = np.hstack(parts)
    spread = functions.std(axis=0)
    return functions[:, spread > 1e-9] / spread[spread > 1e-9]


def _standard_prediction(table: AuditTable) -> Array:
    u = table.prediction.matrix()
    return np.asarray((u - u.mean(axis=0)) / np.where(u.std(axis=0) > 0, u.std(axis=0), 1.0))


def _with_constant(x: Array) -> Array:
    """1, and the columns that vary."""
    x = x[:, x.std(axis=0) > 1e-9]
    return np.hstack([np.ones((len(x), 1)), x[:, :_MOST_FEATURES]])


def _centered_products(table: AuditTable, fixed: Sequence[Column], strata: Index) -> Array:
    """Residuals of the prediction and their squares, times what stays fixed, centered in strata."""
    u = _standard_prediction(table)
    u = u - _means(u, strata)[strata]
    spread = u**2
    if table.prediction.form != "labels":  # for labels it says nothing new
        u = np.hstack([u, spread - _means(spread, strata)[strata]])
    weights = _with_constant(_means(encode(fixed), strata)[strata])
    return np.asarray((u[:, :, None] * weights[:, None, :]).reshape(len(u), -1))


def _means(x: Array, strata: Index) -> Array:
    counts = np.bincount(strata)
    return np.column_stack([np.bincount(strata, column) / counts for column in x.T])


def _spread(features: Array, score: Array, strata: Index) -> Array:
    """Standard deviation of every product sum over the permutations."""
    counts = np.bincount(strata)
    more = counts > 1
    weight = np.zeros(len(counts))
    weight[more] = 1 / (counts[more] - 1)
    squares = [_means(x**2, strata) * counts[:, None] for x in (features, score)]
    variance = (squares[0] * weight[:, None]).T @ squares[1]
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


class _LargestSum:
    """The largest studentized sum of products; `features` are those of the blocks."""

    def __init__(self, features: Array, score: Array, scale: Array) -> None:
        from scipy.sparse import csc_array

        rows = len(score)
        ends, place = np.arange(rows + 1, dtype=np.int32), np.zeros(rows, dtype=np.int32)
        self.members = csc_array((np.ones(rows), place, ends), shape=(len(features), rows))
        self.features, self.score = features, score
        self.scale = np.where(scale > 1e-12, scale, np.inf)

    def of(self, block_of_row: Index) -> float:
        self.members.indices[:] = block_of_row  # of a column per row, in the same places
        sums = self.features.T @ (self.members @ self.score)
        return float((np.abs(sums) / self.scale).max())
