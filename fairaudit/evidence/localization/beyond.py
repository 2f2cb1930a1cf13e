"""Which attribute adds beyond the others: Ŷ ⟂ A_j | Y, A_-j, by closed testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode, second_order
from fairaudit.data.table import AuditTable
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.permute.copies import CopySampler, stream
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.multiplicity import adjust_p_values
from fairaudit.testing.p_value import PValue, reaches
from fairaudit.testing.permutations import Permutations

__all__ = ["Beyond", "beyond_others", "conditional_p"]

MOST_FOR_CLOSURE = 4  # attributes; 15 sets of them
BLOCK = 12  # rows that count as equal in numbers
_MOST_FEATURES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """One attribute given the others.

    `p_adjusted` holds for all attributes together; both are None where the attribute does not
    vary among rows that agree in everything else.
    """

    name: str
    p_value: float | None
    p_adjusted: float | None
    exact: bool
    movable: float


def beyond_others(
    table: AuditTable, joint: float, permutations: Permutations
) -> tuple[Beyond, ...]:
    """Every attribute given the others; `joint` is the p-value of all together.

    Notes
    -----
    Closed testing: H_j is rejected if every set S of attributes that contains j is, where H_S is
    Ŷ ⟂ A_S | Y, A_-S. That keeps the family-wise error if H_S is the intersection of its H_j,
    which holds unless attributes share a part (as age and age group do). More than 4 attributes
    are adjusted by Holm, which needs nothing.
    """
    names = [column.name for column in table.attributes]
    closed = len(names) <= MOST_FOR_CLOSURE
    sizes = range(1, len(names)) if closed else (1,)
    sets = [chosen for size in sizes for chosen in combinations(range(len(names)), size)]
    tests = {chosen: conditional_p(table, chosen, permutations) for chosen in sets}
    single = [tests[(j,)] for j in range(len(names))]
    if closed:
        raised = [
            max(
                [
                    joint,
                    *(
                        p if p is not None else 1.0
                        for chosen, (p, _, _) in tests.items()
                        if j in chosen
                    ),
                ]
            )
            for j in range(len(names))
        ]
    else:
        raised = adjust_p_values([1.0 if p is None else p for p, _, _ in single], "holm")
    return tuple(
        Beyond(
            name=name, p_value=p, p_adjusted=None if p is None else up, exact=exact, movable=movable
        )
        for name, (p, exact, movable), up in zip(names, single, raised, strict=True)
    )


def conditional_p(
    table: AuditTable, chosen: Sequence[int], permutations: Permutations
) -> tuple[float | None, bool, float]:
    """p of Ŷ ⟂ A_S | Y, A_-S; whether the copies are exact; the share of rows that can move.

    The chosen attributes are permuted among rows that agree in the outcome and in all other
    attributes. Numbers agree if they fall into one block of about 12 neighbors: that is
    approximate, and the prediction's smooth dependence on them is taken out first.
    """
    outcome = table.require_outcome()
    moved = [column for k, column in enumerate(table.attributes) if k in chosen]
    fixed_columns = [
        outcome,
        *(column for k, column in enumerate(table.attributes) if k not in chosen),
    ]
    strata, exact = _strata(fixed_columns)
    features = _features(moved)
    features = features - _means(features, strata)[strata]
    varies = (np.abs(features) > 1e-9).any(axis=1)
    movable = float(varies.mean())
    if not varies.any():
        return None, exact, 0.0
    score = _centered_products(table, fixed_columns, strata, exact)
    seed = permutations.seed
    units = None if table.ids is None else table.ids.codes
    sampler: CopySampler = _Shuffle(strata, seed)
    if units is not None:
        sampler = whole = WithinOutcome(strata, seed, units)
        if whole.movable == 0:
            return None, exact, 0.0
    scale = _spread(features, score, strata)
    observed = _largest(features, score, scale)
    reached, n_copies = 0, permutations.n
    batch = max(1, permutations.batch_for(len(table)) // 4)
    for start in range(0, n_copies, batch):
        for copy in sampler.block(range(start, min(start + batch, n_copies))):
            value = _largest(features[copy], score, scale)
            reached += int(reaches(value, observed))
    return PValue(reached, n_copies).value, exact, movable


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


def _strata(fixed_columns: Sequence[Column]) -> tuple[Index, bool]:
    """Tied blocks of the categories, cut into neighbors where numbers are among the columns."""
    n = len(fixed_columns[0])
    blocks = find_tied_blocks(
        [column for column in fixed_columns if column.kind.is_categorical], n
    ).of_row
    numbers = [column for column in fixed_columns if not column.kind.is_categorical]
    if not numbers:
        return blocks, True
    x = encode(numbers)
    result = np.empty(n, dtype=np.intp)
    order = np.argsort(blocks, kind="stable")
    waiting = np.split(order, np.cumsum(np.bincount(blocks))[:-1])
    count = 0
    while waiting:
        rows = waiting.pop()
        spread = np.ptp(x[rows], axis=0)
        if len(rows) < 2 * BLOCK or not spread.any():
            result[rows] = count
            count += 1
            continue
        axis = int(spread.argmax())
        low, high = _halves(rows, x[rows, axis])
        waiting += [low, high]
    return result, False


def _halves(rows: Index, values: Array) -> tuple[Index, Index]:
    """Rows below and above the middle; equal values stay together where that is possible."""
    middle = np.median(values)
    below = values < middle
    if not below.any() or below.all():
        below = values <= middle
    if min(below.sum(), (~below).sum()) == 0:
        below = values < values.max()
    return rows[below], rows[~below]


def _features(columns: Sequence[Column]) -> Array:
    """What is moved: the attributes, squares of numbers, and products of several."""
    encoded = encode(columns)
    width = encoded.shape[1]
    if width * (width + 3) // 2 <= _MOST_FEATURES:
        encoded = np.hstack([encoded, second_order(encoded)])
    spread = encoded.std(axis=0)
    return encoded[:, spread > 1e-9] / spread[spread > 1e-9]


def _centered_products(
    table: AuditTable, fixed_columns: Sequence[Column], strata: Index, exact: bool
) -> Array:
    """Residuals of the prediction and their squares, times what stays fixed, centered in strata."""
    u = table.prediction.matrix()
    u = (u - u.mean(axis=0)) / np.where(u.std(axis=0) > 0, u.std(axis=0), 1.0)
    fixed = encode(fixed_columns)
    if not exact:
        basis = np.hstack([np.ones((len(u), 1)), fixed, second_order(fixed), fixed**3])
        u = u - basis @ np.linalg.lstsq(basis, u, rcond=None)[0]
    u = u - _means(u, strata)[strata]
    spread = u**2
    if table.prediction.form != "labels":  # for labels it says nothing new
        u = np.hstack([u, spread - _means(spread, strata)[strata]])
    fixed = _means(fixed, strata)[strata]  # constant where rows are exchanged
    fixed = fixed[:, fixed.std(axis=0) > 1e-9]
    fixed = np.hstack([np.ones((len(u), 1)), fixed[:, :_MOST_FEATURES]])
    return np.asarray((u[:, :, None] * fixed[:, None, :]).reshape(len(u), -1))


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


def _largest(features: Array, score: Array, scale: Array) -> float:
    """The largest studentized sum of products."""
    sums = np.abs(features.T @ score)
    return float(np.divide(sums, scale, out=np.zeros_like(sums), where=scale > 1e-12).max())
