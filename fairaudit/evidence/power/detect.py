"""The smallest violation that an audit could have found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairaudit._types import Array, Index, Progress
from fairaudit.data.table import AuditTable
from fairaudit.evidence.power.plant import Field, Group, field_of, groups_in, shifted
from fairaudit.evidence.power.power_curve import first_reached, fit_power
from fairaudit.evidence.power.power_result import Detectable, Power
from fairaudit.permute.copies import FittedCopies, stream
from fairaudit.testing.diagnostics import CHECKED_COPIES
from fairaudit.testing.evaluation import bind_gate
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.p_value import combined_p_values, p_values
from fairaudit.testing.statistic import Bound, Statistic

__all__ = ["FEWEST_COPIES", "Trial", "smallest_detectable"]

POWER = 0.8
#: Share of planted tables that are found at the size that is stated. A size comes from a few
#: hundred of them, and is off by a twentieth in one audit: stated too small it costs more power
#: than it wins stated too large, and an audit promises no more than `POWER`.
_AIM = 0.85
FEWEST_COPIES = 99  # with fewer, power is lost to the copies themselves
MOST_GROUPS = 8
MOST_PLANTED_ROWS = 30_000_000  # rows of all planted tables together; one group is always looked at
_AMOUNTS = np.geomspace(0.02, 5.0, 10)  # of `shifted`, in standard deviations
#: Planted tables per amount: to bracket, at the ends of the bracket, and at what these say.
_FIRST, _SECOND, _THIRD = 12, 30, 60
#: Of a planted violation, beside KPC, as `Field.sizes` has them.
_SIZES = ("shift", "tpr_gap", "fpr_gap", "prediction_gap")
_SIZED_ROWS, _FEWEST_SIZED = 40_000, 4  # in which KPC is measured; of many rows it hardly varies


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """At one amount: planted tables, the share found, and the sizes that planting adds.

    Looks that bracket have no sizes. KPC is dear where every copy has its own neighbors: it is
    computed when it is asked for.
    """

    amount: float
    tables: int
    found: float
    sizes: Array | None
    kpc: Callable[[], float] | None = None


class Trial:
    """Would the test reject this copy?

    By the null distribution that is already there. Where it has several parts, or is not there
    (`null` is None), by 199 copies; each copy to be judged then stands among them as the data do.
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
        self.sampler, self.alpha = fitted.sampler, alpha
        if self.value.pool is not None:  # the record has one number for all parts
            self.null = self.value.pool[: CHECKED_COPIES if null is None else len(null)]
        elif null is None:
            self.null = np.sort(self.value(self.sampler.block(range(CHECKED_COPIES))))
        else:
            self.null = np.sort(null)

    def rejects(self, copies: Index) -> Array:
        """For every copy, whether its p-value is at most alpha."""
        if self.value.pool is None:
            p = p_values(self.value(copies), self.null)
        else:
            p = combined_p_values(self.value.parts(copies), self.null, self.value.weights)
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
    """What the joint test would have found in at least 80 % of tables like this one.

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
    cost = 5 * _FIRST + 2 * _SECOND + _THIRD
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
        """Bracket the power among amounts, look closer at both ends and at what they say."""
        rng = stream(self.seed, 8, number)
        looks: list[_Look] = []

        def power_at(amount: float, count: int) -> float:
            looks.append(self._look(group, amount, count, rng))
            return looks[-1].found

        low, high = 0, len(_AMOUNTS) - 1
        while high - low > 1:  # amounts are few: halve them
            middle = (low + high) // 2
            if power_at(_AMOUNTS[middle], _FIRST) < _AIM:
                low = middle
            else:
                high = middle
        below, above = (power_at(_AMOUNTS[k], _SECOND) for k in (low, high))
        if above < _AIM and high + 1 < len(_AMOUNTS):
            high += 1
            above = power_at(_AMOUNTS[high], _SECOND)
        elif below >= _AIM and low > 0:
            low -= 1
            power_at(_AMOUNTS[low], _SECOND)
        ends, rows = (_AMOUNTS[low], _AMOUNTS[high]), int(group.member.sum())
        if above < POWER:
            sizes = dict.fromkeys((*_SIZES, "kpc"))
            return Detectable(group=group.name, rows=rows, **sizes)
        power_at(_amount_with_power(looks, self.trial.alpha, ends), _THIRD)
        amount = _amount_with_power(looks, self.trial.alpha, ends)
        sizes = {
            name: None if np.isnan(size) else float(size)
            for name, size in zip((*_SIZES, "kpc"), _sizes_at(looks, amount), strict=True)
        }
        return Detectable(group=group.name, rows=rows, **sizes)

    def _look(self, group: Group, amount: float, count: int, rng: np.random.Generator) -> _Look:
        """Plant violations in copies, and count those that are found."""
        copies = self.trial.sampler.block(range(self.first, self.first + count))
        self.first += count
        self.planted += count
        planted = np.array([shifted(copy, group, self.field, amount, rng) for copy in copies])
        share = float(self.trial.rejects(planted).mean())
        if count == _FIRST:
            return _Look(amount, count, share, None)
        some = max(_FEWEST_SIZED, min(_FIRST, _SIZED_ROWS // copies.shape[1]))
        added = partial(self._added_kpc, copies[:some].copy(), planted[:some].copy())
        return _Look(amount, count, share, self._added_sizes(group, copies, planted), added)

    def _added_kpc(self, copies: Index, planted: Index) -> float:
        return float((self.size(planted) - self.size(copies)).mean())  # centered, as reported

    def _added_sizes(self, group: Group, copies: Index, planted: Index) -> Array:
        """What planting adds to every size but KPC on average."""
        sizes = np.mean(
            [
                np.subtract(self.field.sizes(after, group), self.field.sizes(before, group))
                for after, before in zip(planted, copies, strict=True)
            ],
            axis=0,
        )
        return np.asarray(sizes)


def _amount_with_power(looks: list[_Look], alpha: float, ends: tuple[float, float]) -> float:
    """Where the power of a chi-square test through all looks is the wanted one."""
    amounts = np.array([look.amount for look in looks])
    found = np.array([look.found for look in looks])
    tables = np.array([look.tables for look in looks])
    curve = fit_power(amounts**2, found, tables, alpha)
    squared = first_reached(curve, _AIM, ends[0] ** 2, ends[1] ** 2)
    return ends[1] if squared is None else float(np.sqrt(squared))


def _sizes_at(looks: list[_Look], amount: float) -> Array:
    """Between those of the nearest amounts; looks at the same amount count by their tables."""
    sized = [look for look in looks if look.kpc is not None]
    amounts = np.unique([look.amount for look in sized])
    above = min(int(np.searchsorted(amounts, amount)), len(amounts) - 1)
    nearest = amounts[max(above - 1, 0) : above + 1]  # others would not enter
    sized = [look for look in sized if look.amount in nearest]
    amounts, place = np.unique([look.amount for look in sized], return_inverse=True)
    tables = np.array([float(look.tables) for look in sized])
    sizes = np.array(
        [
            np.append(look.sizes, look.kpc())
            for look in sized
            if look.sizes is not None and look.kpc is not None
        ]
    )
    total = np.bincount(place, tables)
    means = [np.bincount(place, tables * column) / total for column in sizes.T]
    return np.array([np.interp(amount, [0.0, *amounts], [0.0, *column]) for column in means])
