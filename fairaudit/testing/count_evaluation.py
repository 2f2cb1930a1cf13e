"""The questions of an audit from counts: copies are tables with fixed sums of rows and columns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.geometry.block_sums import BlockSpace, CoarseBlocks, SeenRows
from fairaudit.permute.copies import EXACT
from fairaudit.permute.count_copies import TOGETHER, TableSampler
from fairaudit.testing.block_evaluation import evaluate_sums
from fairaudit.testing.diagnostics import CHECKED_COPIES, judge_copies
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import OverBlocks
from fairaudit.testing.trust import Trust

__all__ = ["CountEvaluation", "CountedBlocks"]


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """An outcome class: its blocks, its predictions, and how many rows have both."""

    code: int
    blocks: slice
    predictions: slice
    table: Index


class CountedBlocks:
    """A table of counts by class: tied blocks × different predictions.

    Parameters
    ----------
    table : AuditTable
        Of counts (`times`); see `fairaudit.data.counted_table.merge_rows`.

    Attributes
    ----------
    space : BlockSpace
    seen : SeenRows
        The different predictions of every class.
    classes : list
    """

    def __init__(self, table: AuditTable) -> None:
        outcome, times = table.require_outcome(), table.times
        assert times is not None  # noqa: S101  for mypy: a table of counts
        self.space, block = BlockSpace.of(outcome, table.attributes, times)
        place = np.zeros(len(table), dtype=np.intp)
        for column in (outcome, *table.prediction.columns):  # sorted by class
            place = np.unique(place * len(column.levels) + column.codes, return_inverse=True)[1]
        first = np.unique(place, return_index=True)[1]
        of_prediction = outcome.codes[first]
        sums = np.zeros(len(first), dtype=np.intp)
        np.add.at(sums, place, times)
        self.seen = SeenRows(
            prediction=table.prediction.matrix()[first],
            codes=of_prediction,
            blocks=np.zeros(0, dtype=np.intp),
            whole=True,
            times=sums,
        )
        self.classes = []
        for code in np.unique(of_prediction).tolist():
            blocks = _find_slice(self.space.outcome.codes, code)
            predictions = _find_slice(of_prediction, code)
            counts = np.zeros(
                (blocks.stop - blocks.start, predictions.stop - predictions.start), dtype=np.intp
            )
            rows = outcome.codes == code
            np.add.at(
                counts, (block[rows] - blocks.start, place[rows] - predictions.start), times[rows]
            )
            self.classes.append(_Class(code, blocks, predictions, counts))

    def sum_data(self, columns: Any) -> Any:
        """The sums over blocks of these columns for the data."""
        return self.sum_tables([[own.table for own in self.classes]], self.make_columns(columns))

    def make_columns(self, columns: Any) -> list[Any]:
        """Per class the columns of its predictions."""
        made = []
        for own in self.classes:
            matrix = columns(self.seen.prediction[own.predictions], own.code)
            made.append(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
        return made

    def make_sampler(self, seed: int) -> TableSampler:
        return TableSampler([own.table for own in self.classes], seed)

    def sum_tables(self, copies: Sequence[Sequence[Index]], columns: list[Any]) -> Array:
        """The sums of copies, given as tables per class: copies × blocks × columns."""
        sums = np.zeros((len(copies), len(self.space), columns[0].shape[1]))
        for copy, tables in enumerate(copies):
            for own, table, matrix in zip(self.classes, tables, columns, strict=True):
                np.matmul(table.astype(np.float64), matrix, out=sums[copy, own.blocks])
        return sums


def _find_slice(codes: Index, code: int) -> slice:
    return slice(*np.searchsorted(codes, [code, code + 1]).tolist())


class CountEvaluation:
    """Copies of counts, of which statistics need nothing but sums over tied blocks."""

    batch = TOGETHER

    def __init__(
        self,
        counted: CountedBlocks,
        questions: Sequence[CoarseBlocks],
        form: OverBlocks,
        permutations: Permutations,
    ) -> None:
        start = time.process_time()
        self.counted, self.questions = counted, questions
        self.sampler = counted.make_sampler(permutations.seed)
        observed = counted.sum_data(form.columns)
        self.columns = counted.make_columns(form.columns)
        self.bound = form.bind(observed[0])
        self.observed = [values[0] for values in evaluate_sums(self.bound, observed)]
        self.last: tuple[int, list[Array]] | None = None
        self.spent = (time.process_time() - start) / len(questions)

    def values(self, numbers: range) -> list[Array]:
        parts = []
        for chunk in range(numbers.start // TOGETHER, (numbers.stop - 1) // TOGETHER + 1):
            first = chunk * TOGETHER
            some = slice(max(numbers.start - first, 0), min(numbers.stop - first, TOGETHER))
            parts.append([values[some] for values in self._evaluate(chunk)])
        return [np.vstack(values) for values in zip(*parts, strict=True)]

    def _evaluate(self, chunk: int) -> list[Array]:
        if self.last is None or self.last[0] != chunk:
            sums = self.counted.sum_tables(self.sampler.draw(chunk), self.columns)
            self.last = chunk, evaluate_sums(self.bound, sums)
        return self.last[1]

    def see(self, numbers: range, questions: Sequence[int]) -> list[Array]:
        values = self.values(numbers)
        return [values[k] for k in questions]

    def trust(self, question: int) -> Trust:
        asked = self.questions[question]
        possible = np.exp(min(asked.log_copies(), 50.0))
        distinct = int(min(CHECKED_COPIES, round(possible) - 1))
        return judge_copies(EXACT, moved=asked.moved(), distinct=distinct)

    def summarize_check(self, question: int) -> tuple[float, Array | None]:
        return self.questions[question].moved(), None

    def seconds(self, question: int) -> float:
        return self.spent
