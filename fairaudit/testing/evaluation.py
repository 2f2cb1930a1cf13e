"""How the statistics of the questions are computed on copies: row by row, or from tied blocks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.block_sums import (
    DRAWN_BYTES,
    BlockFeatures,
    BlockKPC,
    BlockQuestion,
    BlockSpace,
    add_sums,
    blocks_pay,
    draw_blocks,
)
from fairaudit.geometry.kernels import FeatureMap, GridFeatures, feature_map, kernel_named
from fairaudit.permute.copies import CopyLaw, CopySampler, FittedCopies, stream
from fairaudit.permute.monotone import MONOTONE, get_pairs
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.diagnostics import CHECKED_COPIES, CopyCheck, judge_copies, see_enough
from fairaudit.testing.neighbor_statistics import KPCStatistic, default_knn
from fairaudit.testing.p_value import Combination
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import Bound, Statistic, list_parts
from fairaudit.testing.trust import Trust

__all__ = ["Evaluation", "Scope", "bind_combined", "bind_statistic", "make_evaluation"]

_MANY_COPIES = 60.0  # log of a number of copies of which no two drawn ones are alike
_MEMORY = 1 << 30
_CHUNK = 1 << 18  # rows whose features are made at once
_MOST_COPIES = 128  # drawn together: progress is told, and kept for `resume`, between them


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows and attributes that a question is about.

    Attributes
    ----------
    table : AuditTable
        The prediction, the outcome and the attributes that the statistic sees.
    rows : int array, optional
        The rows of the copies' table that `table` consists of; they must exchange attributes
        among themselves only. Default: all.
    tested : AuditTable, optional
        The rows of `table` that are permuted, where a statistic keeps some for fitting.
    """

    table: AuditTable
    rows: Index | None = None
    tested: AuditTable | None = None


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
    """By tied blocks where rows are many and tied, otherwise by rows."""
    return BlockEvaluation.of(scopes, fitted, statistics, permutations) or RowEvaluation(
        scopes, fitted, statistics, permutations
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


def bind_combined(
    statistics: Sequence[Statistic], table: AuditTable, sampler: CopySampler, seed: int
) -> Bound:
    """The statistics in one number, calibrated on copies of this sampler where they are several."""
    bound = [bind_statistic(statistic, table, sampler, seed) for statistic in statistics]

    def see(rows: Index) -> Array:
        return np.column_stack([statistic(rows) for statistic in bound])

    names, weights = list_parts(statistics)
    if len(names) == 1:
        return lambda rows: see(rows)[:, 0]
    combination = Combination(see(sampler.block(range(CHECKED_COPIES))), weights)
    return lambda rows: combination(see(rows))


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


class BlockEvaluation:
    """KPC within classes, from the sums of kernel features over tied blocks.

    The copies are those of `WithinOutcome`, drawn as blocks of rows instead of numbers of rows.
    Features of all rows are kept if they take less than half of the memory that was allowed, and
    computed again for every batch of copies otherwise.
    """

    def __init__(
        self,
        sampler: WithinOutcome,
        space: BlockSpace,
        blocks: Index,
        questions: list[BlockQuestion],
        prediction: Array,
        maps: BlockFeatures,
        permutations: Permutations,
        law: CopyLaw,
    ) -> None:
        start = time.process_time()
        self.law = law
        self.seed, self.space, self.maps = permutations.seed, space, maps
        members = [rows[:, 0] for rows in sampler.strata]
        self.prediction = [prediction[rows] for rows in members]
        self.blocks = [blocks[rows].astype(np.min_scalar_type(len(space) - 1)) for rows in members]
        memory = permutations.memory or _MEMORY
        self.features: list[Any] | None = None
        if maps.row_bytes() * sampler.n <= memory // 2:
            self.features = [maps.of_rows(u, code) for code, u in enumerate(self.prediction)]
        left = memory // (2 if self.features is None else 8)
        per_copy = maps.copy_bytes(len(space), sampler.n) + DRAWN_BYTES
        self.batch = permutations.batch or max(1, min(_MOST_COPIES, left // per_copy))
        sums = maps.no_sums(1, len(space))
        for code, own in enumerate(self.blocks):
            for at in range(0, len(own), _CHUNK):
                some = slice(at, at + _CHUNK)
                add_sums(sums, own[None, some], self._features(code, some))
        self.questions = []
        for question in questions:
            part = sums[0][:, maps.part(question.of_class)]
            alone = BlockQuestion(space, (), question.of_class, question.knn)
            self.questions.append(BlockKPC(question, alone, part))
        self.observed = [value[0] for value in self._answers(sums)]
        self.spent = (time.process_time() - start) / len(questions)

    @classmethod
    def of(
        cls,
        scopes: Sequence[Scope],
        fitted: FittedCopies,
        statistics: list[Statistic],
        permutations: Permutations,
    ) -> BlockEvaluation | None:
        """None where rows are few or hardly tied, or the statistic is another."""
        sampler, table = fitted.sampler, scopes[0].table
        statistic = statistics[0]
        if not isinstance(sampler, WithinOutcome) or not isinstance(statistic, KPCStatistic):
            return None
        fits = (
            len(table) == sampler.n
            and blocks_pay(sampler.n, 1)
            and all(rows.shape[1] == 1 for rows in sampler.strata)
            and len(statistics) == 1
            and (statistic.ties, statistic.how) == ("average", "standard")
            and all(scope.tested is None for scope in scopes)
        )
        if not fits:
            return None
        table.require_varying_prediction()
        space, blocks = BlockSpace.of(table.require_outcome(), table.attributes)
        if not blocks_pay(sampler.n, len(space)):
            return None
        questions = [_make_block_question(scope, space, statistic) for scope in scopes]
        known = [question for question in questions if question is not None]
        if len(known) < len(questions) or any(
            question.log_copies() < _MANY_COPIES for question in known
        ):
            return None
        prediction = table.prediction.matrix()
        maps = _make_feature_maps(known, prediction, table.require_outcome().codes)
        return cls(
            sampler,
            space,
            blocks=blocks,
            questions=known,
            prediction=prediction,
            maps=maps,
            permutations=permutations,
            law=fitted.law,
        )

    def values(self, numbers: range) -> list[Array]:
        generators = [stream(self.seed, 1, number) for number in numbers]
        sums = self.maps.no_sums(len(numbers), len(self.space))
        for code, own in enumerate(self.blocks):
            for rows, blocks in draw_blocks(own, len(self.space), generators):
                add_sums(sums, blocks, self._features(code, rows))
        return self._answers(sums)

    def see(self, numbers: range, questions: Sequence[int]) -> list[Array]:
        values = self.values(numbers)
        return [values[k] for k in questions]

    def _features(self, code: int, rows: slice) -> Any:
        if self.features is not None:
            return self.features[code][rows]
        return self.maps(self.prediction[code][rows], code)

    def _answers(self, sums: Any) -> list[Array]:
        return [
            np.array([[kpc.value(copy[:, self.maps.part(kpc.question.of_class)])] for copy in sums])
            for kpc in self.questions
        ]

    def trust(self, question: int) -> Trust:
        # so many copies are possible that no two of those drawn are alike
        moved = self.questions[question].question.moved()
        return judge_copies(self.law, moved=moved, distinct=CHECKED_COPIES)

    def summarize_check(self, question: int) -> tuple[float, Array | None]:
        return self.questions[question].question.moved(), None

    def seconds(self, question: int) -> float:
        return self.spent


def _make_block_question(
    scope: Scope, space: BlockSpace, statistic: KPCStatistic
) -> BlockQuestion | None:
    """The question over tied blocks; None where its rows are not one class or all."""
    table = scope.table
    names = [column.name for column in table.attributes]
    known = {column.name for column in space.attributes}
    of_class = None
    if scope.rows is not None:
        outcome = table.require_outcome()
        codes = np.flatnonzero(space.outcome.levels == outcome.levels[0])
        if len(outcome.levels) > 1 or len(codes) != 1:
            return None
        of_class = int(codes[0])
        if len(table) != space.counts[space.outcome.codes == of_class].sum():
            return None
    if not known.issuperset(names):
        return None
    knn = statistic.knn or default_knn(len(table))
    return BlockQuestion(space, names, of_class, knn) if knn < len(table) else None


def _make_feature_maps(
    questions: list[BlockQuestion], prediction: Array, codes: Index
) -> BlockFeatures:
    """Kernels with the median bandwidth of the rows they are for."""

    def make_map(u: Array) -> FeatureMap | GridFeatures:
        return feature_map(kernel_named("rbf", u)[0], u)

    classes = {question.of_class for question in questions if question.of_class is not None}
    of_class = [
        make_map(prediction[codes == code]) if code in classes else None
        for code in range(int(codes.max()) + 1)
    ]
    return BlockFeatures(make_map(prediction), of_class)
