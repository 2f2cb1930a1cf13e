"""Tables drawn from a pilot, with violations planted in them: how often are they found?"""

from __future__ import annotations

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
from fairaudit.testing.evaluation import bind_combined
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.rate_statistics import set_threshold
from fairaudit.testing.statistic import Statistic, list_parts

__all__ = ["Pilot", "PlantedEffect", "null_table", "planted_amount"]

COPIES = 199
TABLES, PLANTED = 24, 25  # tables of each size, and violations planted in each
_SMALL_TABLES, _SMALL_COPIES = 12, 10  # that show how large a planted shift is


@dataclass(frozen=True, slots=True)
class PlantedEffect:
    """The wanted effect, and by group the amount of `shifted` that gives it."""

    name: str
    size: float
    amounts: dict[str, float]

    def plant(self, copy: Index, group: Group, field: Field, rng: np.random.Generator) -> Index:
        """The copy with the effect in it."""
        if self.name in ("tpr_gap", "fpr_gap"):
            return with_gap(
                copy, group, field=field, outcome=self.name == "tpr_gap", size=self.size, rng=rng
            )
        return shifted(copy, group, field, self.amounts[group.name], rng)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """A table like those to come, the effect to find in them, and the test that looks for it."""

    table: AuditTable
    effect: PlantedEffect
    statistics: list[Statistic]
    alpha: float
    threshold: float | None
    seed: int

    def power(self, n: int, groups: list[Group]) -> dict[str, PowerPoint]:
        """For every group the share of planted violations that are found among n rows."""
        shares = {group.name: 0.0 for group in groups}
        effect = self._effect_among(n, groups)
        for number in range(TABLES):
            drawn, rows = _draw_table(self.table, n, self.seed, number)
            field = field_of(drawn, self.threshold)
            trial, sampler = self._trial(drawn, field)
            first = COPIES
            for group in groups:
                here = Group(group.name, group.member[rows])
                rng = stream(self.seed, 10, n, number, first)
                copies = sampler.block(range(first, first + PLANTED))
                planted = np.array([effect.plant(copy, here, field, rng) for copy in copies])
                shares[group.name] += float(trial.rejects(planted).mean()) / TABLES
                first += PLANTED
        return {name: PowerPoint(n, share, TABLES * PLANTED) for name, share in shares.items()}

    def _effect_among(self, n: int, groups: list[Group]) -> PlantedEffect:
        """The effect among n rows: in small tables ranks leave a little less of a shift."""
        if self.effect.name != "score_shift":
            return self.effect
        size, amounts = self.effect.size, dict(self.effect.amounts)
        for group in groups:
            reached = []
            for number in range(_SMALL_TABLES):
                drawn, rows = _draw_table(self.table, n, self.seed, number)
                field = field_of(drawn, self.threshold)
                here = Group(group.name, group.member[rows])
                rng = stream(self.seed, 14, n, number)
                for copy in WithinOutcome(field.strata, self.seed).block(range(_SMALL_COPIES)):
                    planted = shifted(copy, here, field, amounts[group.name], rng)
                    reached.append(field.shift(planted, here) - field.shift(copy, here))
            amounts[group.name] *= size / max(float(np.mean(reached)), 0.5 * size)
        return replace(self.effect, amounts=amounts)

    def _trial(self, drawn: AuditTable, field: Field) -> tuple[Trial, WithinOutcome]:
        sampler = WithinOutcome(field.strata, self.seed)
        # blocks of neighbors do not have one outcome each: statistics must follow the copies
        sampler.within_outcome = drawn.require_outcome().kind.is_categorical
        sampler.near_outcome = not sampler.within_outcome
        fitted = FittedCopies(sampler, CopyLaw("exact", "within the outcome"))
        statistics = [set_threshold(statistic, drawn) for statistic in self.statistics]
        null = np.zeros(COPIES)
        if len(list_parts(statistics)[0]) == 1:
            bound = bind_combined(statistics, drawn, sampler, self.seed)
            null = bound(sampler.block(range(COPIES)))
        trial = Trial(drawn, fitted, statistics, null, alpha=self.alpha, seed=self.seed)
        return trial, sampler


def null_table(table: AuditTable, n: int, seed: int, number: int) -> AuditTable:
    """A table of n rows whose predictions are permuted among rows of one outcome.

    Weights stay what they are on average in a group and outcome; how much more or less a row weighs
    goes with its prediction, to which it may be related.
    """
    drawn, _ = _draw_table(table, n, seed, number)
    strata = np.asarray(drawn.require_outcome().codes, dtype=np.intp)
    copy = WithinOutcome(strata, seed).block(range(1))[0]
    weights = drawn.weights
    if weights is not None:
        place = Groups.of(drawn.attributes).of_row * (strata.max() + 1) + strata
        mean = (np.bincount(place, weights) / np.maximum(np.bincount(place), 1))[place]
        relative = np.divide(weights, mean, out=np.zeros_like(mean), where=mean > 0)
        weights = mean * relative[copy]
    return replace(drawn, prediction=drawn.take(copy).prediction, weights=weights)


def _draw_table(table: AuditTable, n: int, seed: int, number: int) -> tuple[AuditTable, Index]:
    """A table of n rows drawn with replacement, and the rows."""
    rows = stream(seed, 9, n, number).integers(0, len(table), n)
    return replace(table, ids=None).take(rows), rows


def planted_amount(
    table: AuditTable, field: Field, group: Group, effect: str, size: float, seed: int
) -> float:
    """Of `shifted`, for a score shift or a KPC of this size, by bisection on the pilot."""
    if effect in ("tpr_gap", "fpr_gap"):
        most = largest_gap(group, field, effect == "tpr_gap")
        if size > most:
            raise InputError(
                f"{group.name} cannot have a {effect} of {size:g}: with the pilot's share of "
                f"positive labels the largest is {most:.2g}. Plan for less."
            )
        return 0.0
    sampler = WithinOutcome(field.strata, seed)
    copies = sampler.block(range(16))
    within = table.require_outcome().kind.is_categorical
    kpc = KPCStatistic(knn=1).bind(table, within_outcome=within, seed=seed)
    of_copies = float(kpc(copies).mean()) if effect == "kpc" else 0.0  # centered, as reported

    def measure(copy: Index) -> float:
        if effect == "kpc":
            return float(kpc(copy[None])[0]) - of_copies
        return field.shift(copy, group)

    amount = amount_for(measure, copies, group=group, field=field, size=size, seed=seed)
    if amount >= MOST_SHIFT:
        raise InputError(
            f"A {effect} of {size:g} cannot be planted for {group.name}: it is more than a "
            "complete separation. Plan for less."
        )
    return amount
