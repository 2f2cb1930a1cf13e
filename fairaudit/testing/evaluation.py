"""How the statistics of the questions are computed on copies: row by row, or from tied blocks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.permute.copies import CopySampler, FittedCopies
from fairaudit.permute.monotone import MONOTONE, get_pairs
from fairaudit.testing.block_evaluation import BlockEvaluation
from fairaudit.testing.diagnostics import CHECKED_COPIES, CopyCheck, see_enough
from fairaudit.testing.p_value import Combination
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.scope import Scope
from fairaudit.testing.shift_evaluation import ShiftEvaluation
from fairaudit.testing.statistic import Bound, Statistic, list_parts
from fairaudit.testing.trust import Trust

__all__ = [
    "CombinedParts",
    "Evaluation",
    "Scope",
    "bind_combined",
    "bind_gate",
    "bind_parts",
    "bind_statistic",
    "make_evaluation",
]


class Evaluation(Protocol):
    """The questions, bound to their statistics and to the copies.

    Attributes
    ----------
    observed : list of arrays
        Per question the statistics of the data.
    batch : int
        Copies that are evaluated at once.
    """

    observed: list[Array]
    batch: int

    def values(self, numbers: range) -> list[Array]:
        """Per question the statistics of these copies, one row per copy."""
        ...

    def see(self, numbers: range, questions: Sequence[int]) -> list[Array]:
        """The same for some questions; the copies are looked at by the diagnostics too."""
        ...

    def trust(self, question: int) -> Trust: ...

    def summarize_check(self, question: int) -> tuple[float, Array | None]:
        """Share of rows moved by the copies seen, and what the check of copies compares."""
        ...

    def seconds(self, question: int) -> float:
        """CPU that binding the question took."""
        ...


def make_evaluation(
    scopes: Sequence[Scope],
    fitted: FittedCopies,
    statistics: list[Statistic],
    permutations: Permutations,
) -> Evaluation:
    """By tied blocks where rows are many and tied, by groups of blocks, otherwise by rows."""
    return (
        BlockEvaluation.of(scopes, fitted, statistics, permutations)
        or ShiftEvaluation.of(scopes, fitted, statistics, permutations)
        or RowEvaluation(scopes, fitted, statistics, permutations)
    )


def bind_statistic(
    statistic: Statistic, table: AuditTable, sampler: CopySampler, seed: int
) -> Bound:
    """The statistic for copies that move as this sampler's do."""
    pairs = get_pairs(sampler)
    if pairs is not None:
        return cast("Bound", statistic.bind_pairs(table, pairs, seed=seed))  # type: ignore[attr-defined]
    if sampler.moves == "prediction":
        return cast("Bound", statistic.bind_moved_prediction(table, seed=seed))  # type: ignore[attr-defined]
    if sampler.near_outcome and hasattr(statistic, "bind_near_outcome"):
        return cast("Bound", statistic.bind_near_outcome(table, seed=seed))
    return statistic.bind(table, within_outcome=sampler.within_outcome, seed=seed)


def bind_parts(
    statistics: Sequence[Statistic], table: AuditTable, sampler: CopySampler, seed: int
) -> Bound:
    """All parts of the statistics, a column each."""
    bound = [bind_statistic(statistic, table, sampler, seed) for statistic in statistics]
    return lambda rows: np.column_stack([statistic(rows) for statistic in bound])


class CombinedParts:
    """Statistics in one number, calibrated on copies where they have several parts.

    Attributes
    ----------
    pool : array or None
        All parts on these copies, one row each.
    """

    def __init__(self, parts: Bound, sampler: CopySampler, weights: Sequence[float]) -> None:
        self.parts, self.weights = parts, weights
        self.combination: Combination | None = None
        self.pool: Array | None = None
        if len(weights) > 1:
            self.pool = parts(sampler.block(range(CHECKED_COPIES)))
            self.combination = Combination(self.pool, weights)

    def __call__(self, rows: Index) -> Array:
        return self.combine(self.parts(rows))

    def combine(self, values: Array) -> Array:
        """One number per row, from the values of all parts."""
        return values[:, 0] if self.combination is None else self.combination(values)


def bind_combined(
    statistics: Sequence[Statistic], table: AuditTable, sampler: CopySampler, seed: int
) -> CombinedParts:
    """The statistics in one number, calibrated on copies of this sampler where they are several."""
    parts = bind_parts(statistics, table, sampler, seed)
    return CombinedParts(parts, sampler, list_parts(statistics)[1])


def bind_gate(
    statistics: list[Statistic], table: AuditTable, fitted: FittedCopies, seed: int
) -> CombinedParts:
    """The same as the gate computes it: by tied blocks where rows are many and tied."""
    by_blocks = BlockEvaluation.of([Scope(table)], fitted, statistics, Permutations(seed=seed))
    if by_blocks is None:
        return bind_combined(statistics, table, fitted.sampler, seed)
    weights = list_parts(statistics)[1]
    return CombinedParts(lambda rows: by_blocks.evaluate_copies(rows)[0], fitted.sampler, weights)


def _require_able(statistics: Sequence[Statistic], fitted: FittedCopies) -> None:
    """Refuse statistics that cannot work with what the copies of this law move."""
    for statistic in statistics:
        if fitted.law.kind == MONOTONE.kind and not getattr(statistic, "ordered", False):
            raise InputError(
                "The law 'monotone' is exact with the statistic 'ordered' only. Got "
                f"{statistic.name!r}.",
                argument="statistic",
            )
        if fitted.sampler.moves == "prediction" and not (
            hasattr(statistic, "bind_moved_prediction") or hasattr(statistic, "bind_pairs")
        ):
            raise InputError(
                f"The statistic {statistic.name!r} needs copies of the attributes, and the law "
                f"{fitted.law.kind!r} moves the prediction. Choose another statistic (omnibus, "
                "kpc, features, correlation) or another law.",
                argument="statistic",
            )


def _get_moving_columns(table: AuditTable, fitted: FittedCopies) -> tuple[Column, ...]:
    """What a copy gives to the outcomes."""
    moves_attributes = fitted.sampler.moves == "attributes"
    return table.attributes if moves_attributes else table.prediction.columns


class RowEvaluation:
    """Copies are row numbers, and every statistic has its own way with them."""

    def __init__(
        self,
        scopes: Sequence[Scope],
        fitted: FittedCopies,
        statistics: list[Statistic],
        permutations: Permutations,
    ) -> None:
        self.sampler = fitted.sampler
        self.batch = permutations.batch_for(fitted.sampler.n)
        self.questions = [_Bound(scope, fitted, statistics, permutations.seed) for scope in scopes]
        self.observed = [question.observed for question in self.questions]

    def values(self, numbers: range) -> list[Array]:
        block = self.sampler.block(numbers)
        return [question.values(block) for question in self.questions]

    def see(self, numbers: range, questions: Sequence[int]) -> list[Array]:
        block = self.sampler.block(numbers)
        bound_questions = [self.questions[k] for k in questions]
        for question in bound_questions:
            question.check.see(numbers, question.local(block))
        return [question.values(block) for question in bound_questions]

    def trust(self, question: int) -> Trust:
        see_enough([bound.check for bound in self.questions], self.sampler)
        return self.questions[question].check.trust()

    def summarize_check(self, question: int) -> tuple[float, Array | None]:
        check = self.questions[question].check
        return float(np.mean(check.moved)), np.array(check.products) if check.products else None

    def seconds(self, question: int) -> float:
        return self.questions[question].seconds

    def __getstate__(self) -> dict[str, Any]:
        """For other processes: what they need to evaluate, without the diagnostics."""
        return {
            "sampler": self.sampler,
            "questions": [question.without_check() for question in self.questions],
        }


class _Bound:
    """A question bound to its statistics and to its view of the copies."""

    def __init__(
        self, scope: Scope, fitted: FittedCopies, statistics: list[Statistic], seed: int
    ) -> None:
        start = time.process_time()
        table = scope.tested or scope.table
        view = fitted if scope.rows is None else fitted.limited_to(scope.rows)
        _require_able(statistics, fitted)
        self.bound = [bind_statistic(s, scope.table, view.sampler, seed) for s in statistics]
        self.local = view.sampler.local
        moving = _get_moving_columns(table, fitted)
        self.check = CopyCheck(table.require_outcome(), moving, view, seed)
        identity = np.arange(len(table))[None, :]
        self.observed = self._evaluate(identity)[0]
        self.seconds = time.process_time() - start

    def values(self, block: Index) -> Array:
        return self._evaluate(self.local(block))

    def _evaluate(self, rows: Index) -> Array:
        return np.column_stack([statistic(rows) for statistic in self.bound])

    def without_check(self) -> _Bound:
        result = object.__new__(_Bound)
        result.bound, result.local = self.bound, self.local
        return result
