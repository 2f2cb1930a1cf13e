"""Gaps of predictions given a continuous outcome, over fillings of missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairaudit._types import Index
from fairaudit.data.columns import level_text
from fairaudit.data.missing_values import MISSING_LEVEL
from fairaudit.errors import InputError
from fairaudit.evidence.disclosure import coarse, step_of
from fairaudit.evidence.incompleteness.incompleteness_result import Bounds
from fairaudit.evidence.incompleteness.worst_case import Filling
from fairaudit.evidence.intervals.certificates import PREDICTION
from fairaudit.metrics._errors import numeric_pair
from fairaudit.metrics._gap_regression import gaps_given_outcome, outcome_basis
from fairaudit.metrics._prediction_gap import GapFits

if TYPE_CHECKING:
    from fairaudit.data.table import AuditTable
    from fairaudit.evidence.incompleteness.masked_levels import Masked

__all__ = ["NumberGroups", "number_groups"]

_SHARES_TRIED = np.linspace(0, 1, 11)


class NumberGroups:
    """The groups of one attribute that are known, and the rows of which it is missing.

    Fillings are made along what a prediction is above the mean of its outcome: a search, and no
    proof that no filling has a larger or a smaller gap.
    """

    def __init__(self, table: AuditTable) -> None:
        self.table, self.column = table, table.attributes[0]
        self.names = np.array([level_text(level) for level in self.column.levels], dtype=object)
        self.codes = np.flatnonzero(self.names != MISSING_LEVEL)
        self.missing = (self.names == MISSING_LEVEL)[self.column.codes]
        self.prediction, self.outcome = numeric_pair(table)
        basis = outcome_basis(self.outcome)
        common = basis @ np.linalg.lstsq(basis, self.prediction, rcond=None)[0]
        self.above = self.prediction - common
        self.unit = GapFits.of(table, ranges=False).unit

    def bounds(self, masked: Masked) -> tuple[list[Bounds], int]:
        """Of the groups that are not masked, and how many are."""
        hidden = masked.levels.get(self.column.name, ())
        open_codes = np.array([k for k in self.codes if self.names[k] not in hidden], dtype=int)
        left_out = len(self.codes) - len(open_codes)
        if len(open_codes) < 2:
            return [], left_out
        known = self._gap(self.column.codes, open_codes)
        worst, pair = self._worst(open_codes)
        best = self._gap(self._best(open_codes, np.random.default_rng(0)), open_codes)
        if masked.any and (unit := self.unit):
            step = unit * step_of(masked.fewest, len(self.table))
            known = coarse(known, step) or 0.0
            best, worst = (coarse(size, step, up=True) or 0.0 for size in (best, worst))
        names = (str(self.names[pair[0]]), str(self.names[pair[1]]))
        bounds = Bounds(
            attribute=self.column.name,
            rate=PREDICTION,
            known=known,
            best=min(best, known),
            worst=worst,
            worst_pair=names,
        )
        return [bounds], left_out

    def fill(self, how: Filling, rng: np.random.Generator) -> Index:
        """Codes without missing ones: the worst and the best of those tried, or at random."""
        if how is Filling.WORST:
            return self._apart(self._worst(self.codes)[1])
        if how is Filling.BEST:
            return self._best(self.codes, rng)
        return self._at_random(self.column.codes, np.flatnonzero(self.missing), rng)

    def _gap(self, codes: Index, open_codes: Index) -> float:
        """The largest difference between two of these groups."""
        rows = np.isin(codes, open_codes)
        _, group = np.unique(codes[rows], return_inverse=True)
        weights = np.ones(len(group))
        gaps, _, _ = gaps_given_outcome(
            self.prediction[rows, None], self.outcome[rows], group, weights
        )
        return float(np.ptp(gaps))

    def _apart(self, pair: tuple[int, int]) -> Index:
        """Missing rows with high predictions given their outcome go to the first of two groups."""
        codes = self.column.codes.copy()
        codes[self.missing] = np.where(self.above[self.missing] > 0, *pair)
        return codes

    def _worst(self, open_codes: Index) -> tuple[float, tuple[int, int]]:
        pairs = [(int(g), int(h)) for g in open_codes for h in open_codes if g != h]
        sizes = [self._gap(self._apart(pair), open_codes) for pair in pairs]
        k = int(np.argmax(sizes))
        return sizes[k], pairs[k]

    def _best(self, open_codes: Index, rng: np.random.Generator) -> Index:
        """Some of the missing rows close the gap of the two extreme groups, the rest at random."""
        known = ~self.missing & np.isin(self.column.codes, open_codes)
        means = [self.above[known & (self.column.codes == k)].mean() for k in open_codes]
        low, high = open_codes[int(np.argmin(means))], open_codes[int(np.argmax(means))]
        rows = rng.permutation(np.flatnonzero(self.missing))
        tried = []
        for share in _SHARES_TRIED:
            some = rows[: round(share * len(rows))]
            codes = self._at_random(self.column.codes, rows[len(some) :], rng)
            codes[some] = np.where(self.above[some] > 0, low, high)
            tried.append((self._gap(codes, open_codes), codes))
        return min(tried, key=lambda pair: pair[0])[1]

    def _at_random(self, codes: Index, rows: Index, rng: np.random.Generator) -> Index:
        counts = np.bincount(self.column.codes, minlength=len(self.names))[self.codes]
        filled = codes.copy()
        filled[rows] = rng.choice(self.codes, len(rows), p=counts / counts.sum())
        return filled


def number_groups(table: AuditTable) -> NumberGroups | None:
    """The groups of a table with a continuous outcome that they share; None: there are none."""
    if table.require_outcome().kind.is_categorical:
        return None
    try:
        return NumberGroups(table)
    except InputError:
        return None
