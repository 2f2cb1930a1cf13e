"""The questions of an audit from sums over tied blocks, for copies within classes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.geometry.block_sums import (
    DRAWN_BYTES,
    BlockSpace,
    ClassRows,
    CoarseBlocks,
    SeenRows,
    add_sums,
    blocks_pay,
    sum_copies,
)
from fairaudit.permute.copies import CopyLaw, FittedCopies, stream
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.diagnostics import CHECKED_COPIES, judge_copies
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.scope import Scope
from fairaudit.testing.statistic import OverBlocks, Statistic
from fairaudit.testing.trust import Trust

__all__ = ["BlockEvaluation", "evaluate_sums"]

_MANY_COPIES = 60.0  # log of a number of copies of which no two drawn ones are alike
_MEMORY = 1 << 30
_MOST_COPIES = 128  # drawn together: progress is told, and kept for `resume`, between them


class BlockEvaluation:
    """Copies within classes, of which statistics need nothing but sums over tied blocks.

    The copies are those of `WithinOutcome`, drawn as blocks of rows instead of numbers of rows.
    The columns that are summed are kept if they take less than half of the memory that was
    allowed, and computed again for every batch of copies otherwise.
    """

    def __init__(
        self,
        sampler: WithinOutcome,
        seen: SeenRows,
        questions: Sequence[CoarseBlocks],
        form: OverBlocks,
        permutations: Permutations,
        law: CopyLaw,
    ) -> None:
        start = time.process_time()
        self.law, self.seed = law, permutations.seed
        self.questions, self.columns = questions, form.columns
        self.blocks = len(questions[0].space)
        memory = permutations.memory or _MEMORY
        kept = self.columns.row_bytes() * sampler.n <= memory // 2
        small = np.min_scalar_type(self.blocks - 1)
        self.block_of_row = seen.blocks.astype(small)
        self.rows = [members[:, 0] for members in sampler.strata]
        self.classes = []
        for rows in self.rows:
            code = int(seen.codes[rows[0]])
            columns = _Columns(form, seen.prediction[rows], code)
            self.classes.append(
                ClassRows(self.block_of_row[rows], columns.keep() if kept else columns)
            )
        left = memory // (8 if kept else 2)
        per_copy = self.columns.copy_bytes(self.blocks, sampler.n) + DRAWN_BYTES
        self.batch = permutations.batch or max(1, min(_MOST_COPIES, left // per_copy))
        sums = sum_copies(self.classes, self.columns, self.blocks, [None])
        self.bound = form.bind(sums[0])
        self.observed = [values[0] for values in evaluate_sums(self.bound, sums)]
        self.spent = (time.process_time() - start) / len(questions)

    @classmethod
    def of(
        cls,
        scopes: Sequence[Scope],
        fitted: FittedCopies,
        statistics: list[Statistic],
        permutations: Permutations,
    ) -> BlockEvaluation | None:
        """None where rows are few or hardly tied, or the statistic needs more than sums."""
        sampler, table = fitted.sampler, scopes[0].table
        over_blocks = getattr(statistics[0], "over_blocks", None)
        if not isinstance(sampler, WithinOutcome) or over_blocks is None:
            return None
        narrow = getattr(statistics[0], "narrow_sums", False)
        fits = (
            len(table) == sampler.n
            and blocks_pay(sampler.n, 1, narrow=narrow)
            and all(rows.shape[1] == 1 for rows in sampler.strata)
            and len(statistics) == 1
            and all(scope.tested is None for scope in scopes)
        )
        if not fits:
            return None
        table.require_varying_prediction()
        outcome = table.require_outcome()
        space, blocks = BlockSpace.of(outcome, table.attributes)
        if not blocks_pay(sampler.n, len(space), narrow=narrow):
            return None
        questions = [_find_blocks(scope, space) for scope in scopes]
        known = [question for question in questions if question is not None]
        if len(known) < len(questions) or any(
            question.log_copies() < _MANY_COPIES for question in known
        ):
            return None
        prediction = table.prediction.matrix()
        seen = SeenRows(prediction=prediction, codes=outcome.codes, blocks=blocks, whole=True)
        form = over_blocks(known, seen, seed=permutations.seed)
        if form is None:
            return None
        return cls(sampler, seen, known, form=form, permutations=permutations, law=fitted.law)

    def values(self, numbers: range) -> list[Array]:
        generators = [stream(self.seed, 1, number) for number in numbers]
        sums = sum_copies(self.classes, self.columns, self.blocks, generators)
        return evaluate_sums(self.bound, sums)

    def evaluate_copies(self, copies: Index) -> list[Array]:
        """The same for copies that are given as row numbers."""
        values = []
        for at in range(0, len(copies), self.batch):
            some = copies[at : at + self.batch]
            sums = self.columns.no_sums(len(some), self.blocks)
            for rows, members in zip(self.rows, self.classes, strict=True):
                add_sums(sums, self.block_of_row[some[:, rows]], members.columns(slice(len(rows))))
            values.append(evaluate_sums(self.bound, sums))
        return [np.vstack(parts) for parts in zip(*values, strict=True)]

    def see(self, numbers: range, questions: Sequence[int]) -> list[Array]:
        values = self.values(numbers)
        return [values[k] for k in questions]

    def trust(self, question: int) -> Trust:
        # so many copies are possible that no two of those drawn are alike
        moved = self.questions[question].moved()
        return judge_copies(self.law, moved=moved, distinct=CHECKED_COPIES)

    def summarize_check(self, question: int) -> tuple[float, Array | None]:
        return self.questions[question].moved(), None

    def seconds(self, question: int) -> float:
        return self.spent


def evaluate_sums(bound: Sequence[Callable[[Any], Array]], sums: Any) -> list[Array]:
    """Per question the statistics of copies, one row per copy, from their sums."""
    return [
        value.evaluate_many(sums)  # type: ignore[attr-defined]
        if isinstance(sums, np.ndarray) and hasattr(value, "evaluate_many")
        else np.array([value(copy) for copy in sums])
        for value in bound
    ]


class _Columns:
    """The columns of the rows of a class, made when they are asked for."""

    def __init__(self, form: OverBlocks, prediction: Array, code: int) -> None:
        self.form, self.prediction, self.code = form, prediction, code

    def __call__(self, rows: slice) -> Any:
        return self.form.columns(self.prediction[rows], self.code)

    def keep(self) -> Callable[[slice], Any]:
        """The same, made once."""
        return partial(_take_slice, self.form.columns.of_rows(self.prediction, self.code))


def _take_slice(matrix: Any, rows: slice) -> Any:
    return matrix[rows]


def _find_blocks(scope: Scope, space: BlockSpace) -> CoarseBlocks | None:
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
    return CoarseBlocks(space, names, of_class) if known.issuperset(names) else None
