"""Tables drawn from a pilot, with violations planted in them: how often are they found?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairaudit._types import Index
from fairaudit.data.groups import Groups
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.evidence.power.detect import Trial
from fairaudit.evidence.power.plant import (
    MOST_SHIFT,
    Field,
    Group,
    amount_for,
    field_of,
    largest_gap,
    shifted,
    with_gap,
)
from fairaudit.evidence.power.power_result import PowerPoint
from fairaudit.permute.copies import CopyLaw, FittedCopies, stream
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.diagnostics import CHECKED_COPIES
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.omnibus import Omnibus
from fairaudit.testing.rate_statistics import set_threshold
from fairaudit.testing.statistic import Statistic

__all__ = ["Pilot", "PlantedEffect", "draw_table", "null_table", "plan_effect"]

TABLES = 8  # of each size
MOST_SIMULATED = 4_000  # rows; of more, the effect grows in their place
_FEWEST_IN_CELL = 100  # rows of a group with one outcome, in the place of more
_MOST_OF_ROOM = 0.7  # of the largest gap, that one may grow to
_SMALL = 2_000  # rows, below which ranks leave less of a shift
_SMALL_TABLES, _SMALL_COPIES = 12, 10  # that show how large a planted shift is
_SEEN, _SEEN_COPIES = 5_000, 8  # rows and copies of the pilot that amounts are found on


class BlockCopies(WithinOutcome):
    """The same permutations where strata are many: all at once, by random numbers."""

    def __init__(self, strata: Index, seed: int) -> None:
        super().__init__(strata, seed)
        self.order, self.number = np.argsort(strata, kind="stable"), strata

    def block(self, copies: range) -> Index:
        result = np.empty((len(copies), self.n), dtype=np.intp)
        for place, copy in enumerate(copies):
            keys = self.number + stream(self.seed, 1, copy).random(self.n)
            result[place, self.order] = np.argsort(keys)
        return result


@dataclass(frozen=True, slots=True)
class PlantedEffect:
    """The wanted effect, and by group the amount of `shifted` that gives it.

    Attributes
    ----------
    name : str
    size : float
    amounts : dict
    most : dict
        By group how far the size (of a gap in rates) can go.
    """

    name: str
    size: float
    amounts: dict[str, float]
    most: dict[str, float]

    @property
    def is_gap_in_rates(self) -> bool:
        return self.name in ("tpr_gap", "fpr_gap")

    def plant(self, copy: Index, group: Group, field: Field, rng: np.random.Generator) -> Index:
        """The copy with the effect in it."""
        if self.is_gap_in_rates:
            return with_gap(
                copy, group, field=field, outcome=self.name == "tpr_gap", size=self.size, rng=rng
            )
        return shifted(copy, group, field, self.amounts[group.name], rng)

    def grow(self, factor: float) -> PlantedEffect:
        """The effect whose linear statistics are so many times as large."""
        amounts = {name: amount * factor for name, amount in self.amounts.items()}
        return replace(self, size=self.size * factor, amounts=amounts)

    def find_room(self, group: Group) -> float:
        """By what factor it can grow in a group."""
        if self.is_gap_in_rates:
            return _MOST_OF_ROOM * self.most[group.name] / self.size
        return 1 / self.amounts[group.name]  # up to a standard deviation


@dataclass(eq=False)
class _DrawnTable:
    """A table like those to come, and its test; `drawn` copies are used up."""

    rows: Index
    field: Field
    trial: Trial
    drawn: int = CHECKED_COPIES

    def draw(self, count: int) -> Index:
        self.drawn += count
        return self.trial.sampler.block(range(self.drawn - count, self.drawn))


class Pilot:
    """A table like those to come, the effect to find in them, and the test that looks for it.

    Statistics that are sums of squares of products (all parts of `omnibus`) depend on rows n and
    size s through n·s² only, as long as the size is small. Of n beyond 4,000 rows (beyond 100 of
    the group with each outcome) they are computed on so many, with an effect that is larger by
    the root of the ratio.
    """

    def __init__(
        self,
        table: AuditTable,
        effect: PlantedEffect,
        statistics: list[Statistic],
        *,
        alpha: float,
        threshold: float | None,
        seed: int,
    ) -> None:
        self.table, self.effect, self.statistics = table, effect, statistics
        self.alpha, self.threshold, self.seed = alpha, threshold, seed
        self.scales = all(isinstance(statistic, Omnibus) for statistic in statistics)
        self._kept: dict[int, list[_DrawnTable]] = {}

    def find_power(self, n: int, groups: list[Group], planted: int) -> dict[str, PowerPoint]:
        """For every group the share of planted violations that are found among n rows."""
        by_rows: dict[int, list[Group]] = {}
        for group in groups:
            by_rows.setdefault(self.count_simulated(n, group), []).append(group)
        found: dict[str, PowerPoint] = {}
        for rows, some in by_rows.items():
            tables = self._kept.get(rows) or [self._draw(rows, k) for k in range(TABLES)]
            if rows < n:
                self._kept[rows] = tables  # for other sizes
            effect = self._correct_for_ranks(n, some).grow(np.sqrt(n / rows))
            for group in some:
                shares = [
                    self._share_found(table, effect, group, stream(self.seed, 10, n, k), planted)
                    for k, table in enumerate(tables)
                ]
                found[group.name] = PowerPoint(n, float(np.mean(shares)), TABLES * planted)
        return found

    def count_simulated(self, n: int, group: Group) -> int:
        """Rows of the tables that stand for tables of n rows."""
        if not self.scales or n <= MOST_SIMULATED:
            return n
        outcome = self.table.require_outcome()
        share = float(group.member.mean())
        if outcome.kind.is_categorical:
            by_outcome = np.bincount(outcome.codes[group.member], minlength=len(outcome.levels))
            share = float(by_outcome[by_outcome > 0].min()) / len(self.table)
        room = max(self.effect.find_room(group), 1.0)
        rows = max(MOST_SIMULATED, _FEWEST_IN_CELL / share, n / room**2)
        return min(n, int(np.ceil(rows)))

    def _share_found(
        self,
        table: _DrawnTable,
        effect: PlantedEffect,
        group: Group,
        rng: np.random.Generator,
        planted: int,
    ) -> float:
        here = Group(group.name, group.member[table.rows])
        copies = [effect.plant(copy, here, table.field, rng) for copy in table.draw(planted)]
        return float(table.trial.rejects(np.array(copies)).mean())

    def _draw(self, n: int, number: int) -> _DrawnTable:
        drawn, rows = draw_table(self.table, n, self.seed, number)
        field = field_of(drawn, self.threshold)
        sampler = _make_sampler(drawn, field, self.seed)
        fitted = FittedCopies(sampler, CopyLaw("exact", "within the outcome"))
        statistics = [set_threshold(statistic, drawn) for statistic in self.statistics]
        trial = Trial(drawn, fitted, statistics, None, alpha=self.alpha, seed=self.seed)
        return _DrawnTable(rows, field, trial)

    def _correct_for_ranks(self, n: int, groups: list[Group]) -> PlantedEffect:
        """The effect among n rows: in small tables ranks leave a little less of a shift."""
        if n >= _SMALL or self.effect.is_gap_in_rates or self.effect.name == "kpc":
            return self.effect
        size, amounts = self.effect.size, dict(self.effect.amounts)
        for group in groups:
            reached = []
            for number in range(_SMALL_TABLES):
                drawn, rows = draw_table(self.table, n, self.seed, number)
                field = field_of(drawn, self.threshold)
                here = Group(group.name, group.member[rows])
                copies = _make_sampler(drawn, field, self.seed).block(range(_SMALL_COPIES))
                measure = measure_effect(self.effect.name, drawn, field, here, copies)
                rng = stream(self.seed, 14, n, number)
                for copy in copies:
                    planted = shifted(copy, here, field, amounts[group.name], rng)
                    reached.append(measure(planted) - measure(copy))
            amounts[group.name] *= size / max(float(np.mean(reached)), 0.5 * size)
        return replace(self.effect, amounts=amounts)


def _make_sampler(table: AuditTable, field: Field, seed: int) -> WithinOutcome:
    if table.require_outcome().kind.is_categorical:
        return WithinOutcome(field.strata, seed)
    # blocks of neighbors do not have one outcome each: statistics must follow the copies
    sampler = BlockCopies(field.strata, seed)
    sampler.within_outcome, sampler.near_outcome = False, True
    return sampler


def null_table(table: AuditTable, n: int, seed: int, number: int) -> AuditTable:
    """A table of n rows whose predictions are permuted among rows of one outcome.

    Weights stay what they are on average in a group and outcome; how much more or less a row weighs
    goes with its prediction, to which it may be related.
    """
    drawn, _ = draw_table(table, n, seed, number)
    strata = np.asarray(drawn.require_outcome().codes, dtype=np.intp)
    copy = WithinOutcome(strata, seed).block(range(1))[0]
    weights = drawn.weights
    if weights is not None:
        place = Groups.of(drawn.attributes).of_row * (strata.max() + 1) + strata
        mean = (np.bincount(place, weights) / np.maximum(np.bincount(place), 1))[place]
        relative = np.divide(weights, mean, out=np.zeros_like(mean), where=mean > 0)
        weights = mean * relative[copy]
    return replace(drawn, prediction=drawn.take(copy).prediction, weights=weights)


def draw_table(table: AuditTable, n: int, seed: int, number: int) -> tuple[AuditTable, Index]:
    """A table of n rows drawn with replacement, and the rows."""
    rows = stream(seed, 9, n, number).integers(0, len(table), n)
    return table.take(rows), rows


def plan_effect(
    table: AuditTable,
    groups: list[Group],
    effect: str,
    size: float,
    *,
    threshold: float | None,
    seed: int,
) -> PlantedEffect:
    """What is planted so that every group in its turn has an effect of this size."""
    if effect in ("tpr_gap", "fpr_gap"):
        field = field_of(table, threshold)
        if field.label is None:
            raise InputError(
                f"{effect} needs labels of two classes. Pass 'threshold', or plan with "
                "score_shift.",
                argument="threshold",
            )
        most = {group.name: largest_gap(group, field, effect == "tpr_gap") for group in groups}
        for name, largest in most.items():
            if size > largest:
                raise InputError(
                    f"{name} cannot have a {effect} of {size:g}: with the pilot's share of "
                    f"positive labels the largest is {largest:.2g}. Plan for less."
                )
        return PlantedEffect(effect, size, {}, most)
    rows = np.arange(len(table))
    if len(table) > _SEEN:
        rows = np.sort(stream(seed, 17).permutation(len(table))[:_SEEN])
    seen = table.take(rows)
    here = [Group(group.name, group.member[rows]) for group in groups]
    field = field_of(seen, threshold)
    amounts = {
        group.name: _find_amount(seen, field, group, effect=effect, size=size, seed=seed)
        for group in here
    }
    return PlantedEffect(effect, size, amounts, {})


def _find_amount(
    table: AuditTable, field: Field, group: Group, *, effect: str, size: float, seed: int
) -> float:
    """Of `shifted`, for an effect of this size."""
    copies = _make_sampler(table, field, seed).block(range(_SEEN_COPIES))
    measure = measure_effect(effect, table, field, group, copies)
    amount = amount_for(measure, copies, group=group, field=field, size=size, seed=seed)
    if amount >= MOST_SHIFT:
        raise InputError(
            f"A {effect} of {size:g} cannot be planted for {group.name}: it is more than a "
            "complete separation. Plan for less."
        )
    return amount


def measure_effect(
    effect: str, table: AuditTable, field: Field, group: Group, null: Index
) -> Callable[[Index], float]:
    """How large the effect is in a copy; KPC less its mean over copies without one."""
    if effect == "kpc":
        within = table.require_outcome().kind.is_categorical
        kpc = KPCStatistic(knn=1).bind(table, within_outcome=within, seed=0)
        of_copies = float(kpc(null).mean())
        return lambda copy: float(kpc(copy[None])[0]) - of_copies
    if effect == "score_shift":
        return lambda copy: field.shift(copy, group)
    return lambda copy: field.prediction_gap(copy, group)
