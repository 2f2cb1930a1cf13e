"""The questions of an audit from sums per group of blocks, for very many rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.permute.copies import FittedCopies
from fairaudit.permute.local import NearOutcome
from fairaudit.testing.diagnostics import CHECKED_COPIES, judge_copies
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.scope import Scope
from fairaudit.testing.statistic import Statistic
from fairaudit.testing.trust import Trust

__all__ = ["OverShifts", "ShiftEvaluation", "find_moved", "limit_groups"]

_FEWEST_GROUPS = 8  # in which attributes vary: copies are then many
_AT_ONCE = 64  # copies


class OverShifts(Protocol):
    """A statistic that knows what every shift of every group of blocks does."""

    def values(self, shifts: Index) -> Array:
        """Parts (columns) of copies (rows), whose groups shift so far (copies × groups)."""
        ...


class ShiftEvaluation:
    """Copies that shift groups of blocks of neighbors in the outcome."""

    def __init__(
        self,
        scopes: Sequence[Scope],
        fitted: FittedCopies,
        sampler: NearOutcome,
        bound: Sequence[OverShifts],
        moved: Sequence[float],
        spent: Sequence[float],
    ) -> None:
        self.fitted, self.sampler, self.bound = fitted, sampler, bound
        self.moved, self.spent = moved, spent
        still = np.zeros((1, len(sampler.turns)), dtype=np.intp)
        self.observed = [question.values(still)[0] for question in bound]
        self.batch = _AT_ONCE

    @classmethod
    def of(
        cls,
        scopes: Sequence[Scope],
        fitted: FittedCopies,
        statistics: list[Statistic],
        permutations: Permutations,
    ) -> ShiftEvaluation | None:
        """None where blocks shift by themselves, or the statistic needs more than sums."""
        sampler = fitted.sampler
        over_shifts = getattr(statistics[0], "over_shifts", None)
        if not isinstance(sampler, NearOutcome) or not sampler.shared or over_shifts is None:
            return None
        if len(statistics) > 1 or any(scope.tested is not None for scope in scopes):
            return None
        everything = sampler.list_groups()
        bound, moved, spent = [], [], []
        for scope in scopes:
            start = time.process_time()
            groups = limit_groups(everything, scope.rows, sampler.n)
            share, varying = find_moved(scope, groups)
            if varying < _FEWEST_GROUPS:
                return None
            moved.append(share)
            bound.append(over_shifts(scope.table, groups, seed=permutations.seed))
            spent.append(time.process_time() - start)
        return cls(scopes, fitted, sampler, bound=bound, moved=moved, spent=spent)

    def values(self, numbers: range) -> list[Array]:
        return self.see(numbers, range(len(self.bound)))

    def see(self, numbers: range, questions: Sequence[int]) -> list[Array]:
        shifts = np.array([self.sampler.draw_shifts(number) for number in numbers])
        return [self.bound[question].values(shifts) for question in questions]

    def trust(self, question: int) -> Trust:
        # so many copies are possible that no two of those drawn are alike
        return judge_copies(
            self.fitted.law,
            moved=self.moved[question],
            distinct=CHECKED_COPIES,
            reason=self.fitted.reason,
        )

    def summarize_check(self, question: int) -> tuple[float, Array | None]:
        return self.moved[question], None

    def seconds(self, question: int) -> float:
        return self.spent[question]


def limit_groups(groups: Sequence[Index], rows: Index | None, n: int) -> list[Index]:
    """The groups among some rows, by their numbers there; no block is divided."""
    if rows is None:
        return list(groups)
    place = np.full(n, -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    own = [place[group] for group in groups]
    return [group[group[:, 0, 0] >= 0] for group in own]


def find_moved(scope: Scope, groups: Sequence[Index]) -> tuple[float, int]:
    """Share of the rows whose attributes a copy changes, and the groups that have such rows."""
    tied = find_tied_blocks(scope.table.attributes, len(scope.table)).of_row
    changed, varying = 0.0, 0
    for group in groups:
        own = tied[group]
        turns = own.shape[1]
        differ = sum(int((np.roll(own, shift, axis=1) != own).sum()) for shift in range(1, turns))
        changed += differ / turns
        varying += differ > 0
    return changed / len(scope.table), varying
