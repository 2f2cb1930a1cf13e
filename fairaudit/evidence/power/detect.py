"""The smallest violation that an audit could have found."""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index, Progress
from fairaudit.data.table import AuditTable
from fairaudit.evidence.power.plant import Field, Group, field_of, groups_in, shifted
from fairaudit.evidence.power.power_result import Detectable, Power
from fairaudit.permute.copies import FittedCopies, stream
from fairaudit.testing.diagnostics import CHECKED_COPIES
from fairaudit.testing.evaluation import bind_gate
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.p_value import p_values
from fairaudit.testing.statistic import Bound, Statistic

__all__ = ["FEWEST_COPIES", "Trial", "smallest_detectable"]

POWER = 0.8
FEWEST_COPIES = 99  # with fewer, power is lost to the copies themselves
MOST_GROUPS = 8
MOST_PLANTED_ROWS = 30_000_000  # rows of all planted tables together; one group is always looked at
_AMOUNTS = np.geomspace(0.02, 5.0, 10)  # of `shifted`, in standard deviations
_FIRST, _SECOND = 12, 60  # planted tables per amount: to bracket, and within the bracket
_SIZED_ROWS, _FEWEST_SIZED = 60_000, 4  # in which KPC is measured; of many rows it hardly varies


class Trial:
    """Would the test reject this copy?

    By the null distribution that is already there; without it (`null` is None) 199 copies are
    drawn.
    """

    def __init__(
        self,
        table: AuditTable,
        fitted: FittedCopies,
        statistics: list[Statistic],
        null: Array | None,
        *,
        alpha: float,
        seed: int,
    ) -> None:
        self.value = bind_gate(statistics, table, fitted, seed)
        self.sampler = fitted.sampler
        if self.value.pool is not None:  # the record holds them combined with the data
            drawn = CHECKED_COPIES if null is None else len(null)
            null = self.value.combine(self.value.pool[:drawn])
        elif null is None:
            null = self.value(self.sampler.block(range(CHECKED_COPIES)))
        self.null = np.sort(null)
        self.alpha = alpha

    def rejects(self, copies: Index) -> Array:
        """For every copy, whether its p-value is at most alpha."""
        p = p_values(self.value(copies), self.null)
        return np.asarray(p <= self.alpha, dtype=np.float64)


def smallest_detectable(
    table: AuditTable,
    fitted: FittedCopies,
    statistics: list[Statistic],
    null: Array,
    *,
    alpha: float,
    seed: int,
    threshold: float | None,
    first: int,
    progress: Progress | None = None,
) -> Power | None:
    """What the joint test would have found in 80 % of tables like this one.

    `null` are the statistics of the audit's copies, `first` the number of one that it has not
    used. At most two planted tables per copy are tested, half a table where copies are dear (a
    fitted density); None where copies (they move the prediction) or people (several rows each) do
    not allow it.
    """
    if fitted.sampler.moves != "attributes":
        return None
    if len(null) < FEWEST_COPIES or table.ids is not None or not np.isfinite(null).all():
        return None
    within = fitted.sampler.within_outcome
    budget = min(2 * len(null) if within else len(null) // 2, MOST_PLANTED_ROWS // len(table))
    trial = Trial(table, fitted, statistics, null, alpha=alpha, seed=seed)
    field = field_of(table, threshold)
    size = KPCStatistic(knn=1).bind(table, within_outcome=within, seed=seed)
    cost = 5 * _FIRST + 2 * _SECOND
    groups = groups_in(table, min(MOST_GROUPS, max(1, budget // cost)))
    search = _Search(trial, field, size, seed, first)
    detectable = []
    for number, group in enumerate(groups):
        if progress is not None:
            progress("planted violations", number, len(groups))
        detectable.append(search.smallest(group, number))
    if progress is not None:
        progress("planted violations", len(groups), len(groups))
    return Power(POWER, search.planted, tuple(detectable))


class _Search:
    def __init__(self, trial: Trial, field: Field, size: Bound, seed: int, first: int) -> None:
        self.trial, self.field, self.size, self.seed = trial, field, size, seed
        self.first, self.planted = first, 0

    def smallest(self, group: Group, number: int) -> Detectable:
        """Bracket the power among amounts, look closer at both ends, interpolate."""
        rng = stream(self.seed, 8, number)
        low, high = 0, len(_AMOUNTS) - 1
        while high - low > 1:  # amounts are few: halve them
            middle = (low + high) // 2
            if self._plant(group, _AMOUNTS[middle], _FIRST, rng)[0] < POWER:
                low = middle
            else:
                high = middle
        ends = [self._power(group, _AMOUNTS[k], _SECOND, rng) for k in (low, high)]
        if ends[1][0] < POWER and high + 1 < len(_AMOUNTS):
            ends = [ends[1], self._power(group, _AMOUNTS[high + 1], _SECOND, rng)]
        elif ends[0][0] >= POWER and low > 0:
            ends = [self._power(group, _AMOUNTS[low - 1], _SECOND, rng), ends[0]]
        rows = int(group.member.sum())
        if ends[1][0] < POWER:
            return Detectable(
                group=group.name, rows=rows, shift=None, tpr_gap=None, fpr_gap=None, kpc=None
            )
        shift, tpr_gap, fpr_gap, kpc = (
            None if np.isnan(size) else float(size) for size in _between(*ends)
        )
        return Detectable(
            group=group.name, rows=rows, shift=shift, tpr_gap=tpr_gap, fpr_gap=fpr_gap, kpc=kpc
        )

    def _power(
        self, group: Group, amount: float, count: int, rng: np.random.Generator
    ) -> tuple[float, Array]:
        """Share found, and the mean shift, TPR gap, FPR gap and KPC that were planted."""
        share, copies, planted = self._plant(group, amount, count, rng)
        sizes = [
            (
                self.field.shift(copy, group),
                self.field.gap(copy, group, True),
                self.field.gap(copy, group, False),
            )
            for copy in planted
        ]
        some = max(_FEWEST_SIZED, min(_FIRST, _SIZED_ROWS // copies.shape[1]))
        kpc = (self.size(planted[:some]) - self.size(copies[:some])).mean()  # centered, as reported
        return share, np.append(np.mean(sizes, axis=0), kpc)

    def _plant(
        self, group: Group, amount: float, count: int, rng: np.random.Generator
    ) -> tuple[float, Index, Index]:
        """Share found, the copies, and what was made of them."""
        copies = self.trial.sampler.block(range(self.first, self.first + count))
        self.first += count
        self.planted += count
        planted = np.array([shifted(copy, group, self.field, amount, rng) for copy in copies])
        return float(self.trial.rejects(planted).mean()), copies, planted


def _between(low: tuple[float, Array], high: tuple[float, Array]) -> Array:
    """Sizes at the wanted power, on the line between two probits of power."""
    from scipy.stats import norm

    ends = [float(norm.ppf(np.clip(end[0], 0.02, 0.98))) for end in (low, high)]
    wanted = float(norm.ppf(POWER))
    share = 1.0 if ends[1] <= ends[0] else (wanted - ends[0]) / (ends[1] - ends[0])
    share = float(np.clip(share, 0.0, 1.0))
    return np.asarray((1 - share) * low[1] + share * high[1])
