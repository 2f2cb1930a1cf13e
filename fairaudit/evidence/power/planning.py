"""How many rows it takes: power against rows, from a pilot table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.power.detect import Trial
from fairaudit.evidence.power.plant import (
    MOST_SHIFT,
    Field,
    Group,
    amount_for,
    field_of,
    groups_in,
    largest_gap,
    shifted,
    with_gap,
)
from fairaudit.evidence.power.power_result import GroupPlan, PowerPoint, SamplePlan
from fairaudit.permute.copies import CopyLaw, FittedCopies, stream
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.statistic import Statistic, statistic_named

__all__ = ["EFFECTS", "plan_certificate", "plan_rows"]

EFFECTS = ("tpr_gap", "fpr_gap", "score_shift", "kpc")
COPIES = 199
TABLES, PLANTED = 24, 25  # tables of each size, and violations planted in each
CERTIFIED = 100  # tables of each size for a certificate
_SMALL_TABLES, _SMALL_COPIES = 12, 10  # that show how large a planted shift is
FIRST, GROWTH = 200, 1.5
MOST_GROUPS = 8

Progress = Callable[[str, int, int], None]


def plan_rows(
    table: AuditTable,
    effect: str,
    size: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    statistic: str | Sequence[str] = "kpc",
    threshold: float | None = None,
    groups: Sequence[str] = (),
    most_rows: int = 100_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> SamplePlan:
    """Rows with which the joint test finds a violation of this size with this power.

    Parameters
    ----------
    table : AuditTable
        The pilot: predictions, outcomes and attributes like those to come.
    effect : {"tpr_gap", "fpr_gap", "score_shift", "kpc"}
        Between one group and all others; each group in its turn.
    size : float
        `score_shift` in standard deviations of the score given the outcome.
    power, alpha : float
    statistic : str or list
        Of the test.
    threshold : float, optional
        Turns scores into labels.
    groups : sequence of str, optional
        ``"sex = f"``: only these.
    most_rows : int
        Where the search ends.
    seed : int
    progress : callable, optional
        Called with (what, done, total).

    Returns
    -------
    SamplePlan

    Notes
    -----
    For 200, 300, 450, … rows, 24 tables are drawn from the pilot with replacement, made null by
    permutation within the outcome, and 25 violations are planted in each; each is tested against
    199 copies. Power is then a probit curve in the logarithm of the rows. With a continuous
    outcome, rows are permuted within blocks of 20 neighbours in the outcome: the plan does
    not pay for the estimation of q(y|a).
    """
    start = time.process_time()
    _check(effect, size, power, alpha)
    found = _chosen(table, groups)
    field = field_of(table, threshold)
    if effect in ("tpr_gap", "fpr_gap") and field.label is None:
        raise InputError(
            f"{effect} needs labels of two classes. Pass 'threshold', or plan with score_shift.",
            argument="threshold",
        )
    statistics = statistic_named(statistic)
    hear = progress or (lambda what, done, total: None)
    amounts = {
        one.name: _amount(table, field, group=one, effect=effect, size=size, seed=seed)
        for one in found
    }
    plant = _Plant(effect, size, amounts)
    points: dict[str, list[PowerPoint]] = {one.name: [] for one in found}
    sizes = _sizes(most_rows)
    for step, n in enumerate(sizes):
        left = [one for one in found if not _enough(points[one.name], power)]
        if not left:
            break
        hear(f"tables of {n:,} rows", step, len(sizes))
        shares = _shares(
            table,
            n,
            groups=left,
            plant=plant,
            statistics=statistics,
            alpha=alpha,
            threshold=threshold,
            seed=seed,
        )
        for one in left:
            points[one.name].append(PowerPoint(n, shares[one.name], TABLES * PLANTED))
    for step, one in enumerate(found):
        for n in _near(points[one.name], power, alpha, most_rows):
            hear(f"{one.name}: tables of {n:,} rows", step, len(found))
            share = _shares(
                table,
                n,
                groups=[one],
                plant=plant,
                statistics=statistics,
                alpha=alpha,
                threshold=threshold,
                seed=seed,
            )
            points[one.name].append(PowerPoint(n, share[one.name], TABLES * PLANTED))
    hear("done", 1, 1)
    plans = tuple(
        _group_plan(table, one, points=points[one.name], power=power, alpha=alpha, most=most_rows)
        for one in found
    )
    unit = " sd" if effect == "score_shift" else ""
    goal = f"find {_NAMES[effect]} of {size:g}{unit} between a group and all others"
    names = ", ".join(one.name for one in statistics)
    return SamplePlan(
        effect=effect,
        size=size,
        power=power,
        alpha=alpha,
        goal=goal,
        groups=plans,
        pilot_rows=len(table),
        most_rows=most_rows,
        statistic=names,
        seconds=time.process_time() - start,
    )


_NAMES = {
    "tpr_gap": "a TPR gap",
    "fpr_gap": "an FPR gap",
    "kpc": "a KPC",
    "score_shift": "a score shift",
}


def plan_certificate(
    table: AuditTable,
    limits: Mapping[str, float],
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    threshold: float | None = None,
    most_rows: int = 100_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> SamplePlan:
    """Rows with which a model that satisfies equalized odds is certified with this power."""
    from fairaudit.evidence.intervals.certify import certificates

    start = time.process_time()
    _check(None, min(limits.values(), default=0.0), power, alpha)
    cut = default_threshold(table) if threshold is None else threshold
    certificates(table, limits, alpha=alpha, threshold=cut)  # refuses what cannot be
    hear = progress or (lambda what, done, total: None)
    points: list[PowerPoint] = []
    sizes = _sizes(most_rows)

    def certified(n: int) -> PowerPoint:
        nulls = (_null_table(table, n, seed, n, number) for number in range(CERTIFIED))
        held = [
            all(one.holds for one in certificates(null, limits, alpha=alpha, threshold=cut))
            for null in nulls
        ]
        return PowerPoint(n, float(np.mean(held)), CERTIFIED)

    for step, n in enumerate(sizes):
        if _enough(points, power):
            break
        hear(f"tables of {n:,} rows", step, len(sizes))
        points.append(certified(n))
    points += [certified(n) for n in _near(points, power, None, most_rows)]
    hear("done", 1, 1)
    named = ", ".join(f"{name} ≤ {limit:g}" for name, limit in limits.items())
    everybody = Group("all groups", np.ones(len(table), dtype=bool))
    plan = _group_plan(table, everybody, points=points, power=power, alpha=None, most=most_rows)
    return SamplePlan(
        effect="certify " + ", ".join(limits),
        size=min(limits.values()),
        power=power,
        alpha=alpha,
        goal=f"certify {named} where equalized odds holds",
        groups=(plan,),
        pilot_rows=len(table),
        most_rows=most_rows,
        statistic="upper bounds",
        seconds=time.process_time() - start,
    )


class _Plant:
    """How the wanted effect gets into a copy."""

    def __init__(self, effect: str, size: float, amounts: dict[str, float]) -> None:
        self.effect, self.size, self.amounts = effect, size, amounts

    def for_rows(
        self, table: AuditTable, n: int, groups: list[Group], threshold: float | None, seed: int
    ) -> _Plant:
        """The same for tables of n rows: in small ones ranks leave a little less of a shift."""
        if self.effect != "score_shift":
            return self
        amounts = dict(self.amounts)
        for one in groups:
            reached = []
            for number in range(_SMALL_TABLES):
                drawn, rows = _drawn(table, n, seed, n, number)
                field, here = field_of(drawn, threshold), Group(one.name, one.member[rows])
                rng = stream(seed, 14, n, number)
                for copy in WithinOutcome(field.strata, seed).block(range(_SMALL_COPIES)):
                    planted = shifted(copy, here, field, amounts[one.name], rng)
                    reached.append(field.shift(planted, here) - field.shift(copy, here))
            amounts[one.name] *= self.size / max(float(np.mean(reached)), 0.5 * self.size)
        return _Plant(self.effect, self.size, amounts)

    def __call__(self, copy: Index, group: Group, field: Field, rng: np.random.Generator) -> Index:
        if self.effect in ("tpr_gap", "fpr_gap"):
            return with_gap(
                copy, group, field=field, outcome=self.effect == "tpr_gap", size=self.size, rng=rng
            )
        return shifted(copy, group, field, self.amounts[group.name], rng)


def _check(effect: str | None, size: float, power: float, alpha: float) -> None:
    if effect is not None and effect not in EFFECTS:
        raise InputError(f"There is no effect {effect!r}. Use one of: {', '.join(EFFECTS)}.")
    if not size > 0:
        raise InputError(f"The size to plan for must be above 0. Got {size:g}.")
    if effect not in (None, "score_shift") and size > 1:
        raise InputError(f"A {effect} cannot be larger than 1. Got {size:g}.")
    for name, value in (("power", power), ("alpha", alpha)):
        if not 0 < value < 1:
            raise InputError(f"The '{name}' must lie between 0 and 1. Got {value:g}.")
    if power <= alpha:
        raise InputError(f"The power ({power:g}) must be larger than alpha ({alpha:g}).")


def _chosen(table: AuditTable, names: Sequence[str]) -> list[Group]:
    """The groups that are asked for, or the largest."""
    if not names:
        return groups_in(table, MOST_GROUPS)
    every = {"".join(one.name.split()): one for one in groups_in(table, 10_000)}
    for column in table.attributes:  # of two levels `groups_in` names one
        if column.kind.is_categorical:
            for k, level in enumerate(column.levels):
                name = f"{column.name} = {level_text(level)}"
                every.setdefault("".join(name.split()), Group(name, column.codes == k))
    for name in names:
        if "".join(name.split()) not in every:
            known = ", ".join(one.name for one in list(every.values())[:12])
            raise InputError(f"There is no group {name!r}. Groups: {known}.")
    return [every["".join(name.split())] for name in names]


def _sizes(most: int) -> list[int]:
    sizes = [FIRST]
    while sizes[-1] * GROWTH < most:
        sizes.append(int(sizes[-1] * GROWTH))
    return sizes if sizes[-1] == most or most <= FIRST else [*sizes, most]


def _drawn(table: AuditTable, n: int, seed: int, *key: int) -> tuple[AuditTable, Index]:
    rows = stream(seed, 9, *key).integers(0, len(table), n)
    return replace(table, ids=None).take(rows), rows


def _null_table(table: AuditTable, n: int, seed: int, *key: int) -> AuditTable:
    """A table of n rows whose predictions are permuted among rows of one outcome."""
    drawn, _ = _drawn(table, n, seed, *key)
    field_strata = np.asarray(drawn.require_outcome().codes, dtype=np.intp)
    copy = WithinOutcome(field_strata, seed).block(range(1))[0]
    return replace(drawn, prediction=drawn.take(copy).prediction)


def _shares(
    table: AuditTable,
    n: int,
    groups: list[Group],
    plant: _Plant,
    statistics: list[Statistic],
    alpha: float,
    threshold: float | None,
    seed: int,
) -> dict[str, float]:
    """For every group the share of planted violations that are found among n rows."""
    found = {one.name: 0.0 for one in groups}
    plant = plant.for_rows(table, n, groups, threshold, seed)
    for number in range(TABLES):
        drawn, rows = _drawn(table, n, seed, n, number)
        field = field_of(drawn, threshold)
        trial, sampler = _trial(drawn, field, statistics, alpha, seed)
        first = COPIES
        for one in groups:
            here = Group(one.name, one.member[rows])
            rng = stream(seed, 10, n, number, first)
            copies = sampler.block(range(first, first + PLANTED))
            planted = np.array([plant(copy, here, field, rng) for copy in copies])
            found[one.name] += float(trial.rejects(planted).mean()) / TABLES
            first += PLANTED
    return found


def _trial(
    drawn: AuditTable, field: Field, statistics: list[Statistic], alpha: float, seed: int
) -> tuple[Trial, WithinOutcome]:
    sampler = WithinOutcome(field.strata, seed)
    # blocks of neighbours do not have one outcome each: statistics must follow the copies
    sampler.within_outcome = drawn.require_outcome().kind.is_categorical
    fitted = FittedCopies(sampler, CopyLaw("exact", "within the outcome"))
    cut = [_with_threshold(one, drawn) for one in statistics]
    null = np.zeros((COPIES, 1))
    if len(cut) == 1:
        bound = cut[0].bind(drawn, within_outcome=sampler.within_outcome, seed=seed)
        null = bound(sampler.block(range(COPIES)))[:, None]
    return Trial(drawn, fitted, cut, null, alpha, seed), sampler


def _with_threshold(statistic: Statistic, table: AuditTable) -> Statistic:
    missing = getattr(statistic, "threshold", 0.0) is None
    if not missing or table.prediction.form == "labels":
        return statistic
    return replace(statistic, threshold=default_threshold(table))  # type: ignore[type-var]


def _amount(
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

    sizes = (
        (lambda one: float(kpc(one[None])[0]))
        if effect == "kpc"
        else (lambda one: field.shift(one, group))
    )
    amount = amount_for(sizes, copies, group=group, field=field, size=size, seed=seed)
    if amount >= MOST_SHIFT:
        raise InputError(
            f"A {effect} of {size:g} cannot be planted for {group.name}: it is more than a "
            "complete separation. Plan for less."
        )
    return amount


def _enough(points: list[PowerPoint], power: float) -> bool:
    """Two sizes well beyond the wanted power: the curve can be drawn."""
    beyond = min(0.97, power + 0.12)
    return len(points) > 2 and all(point.found >= beyond for point in points[-2:])


def _near(points: list[PowerPoint], power: float, alpha: float | None, most: int) -> list[int]:
    """Sizes around the answer, for a closer look."""
    rows = _curve(points, power, alpha)[1]
    return (
        []
        if rows is None or rows > most
        else [int(rows * x) for x in (0.75, 0.85, 0.95, 1.05, 1.2)]
    )


def _group_plan(
    table: AuditTable,
    group: Group,
    points: list[PowerPoint],
    power: float,
    alpha: float | None,
    most: int,
) -> GroupPlan:
    points = sorted(points, key=lambda point: point.rows)
    fitted, rows = _curve(points, power, alpha)
    rows = None if rows is None or rows > most else rows
    outcome = table.require_outcome()
    share = float(group.member.mean())
    by_outcome: tuple[tuple[str, int], ...] = ()
    if rows is not None and outcome.kind.is_categorical:
        by_outcome = tuple(
            (
                f"{outcome.name} = {level_text(level)}",
                round(rows * float((group.member & (outcome.codes == k)).mean())),
            )
            for k, level in enumerate(outcome.levels)
        )
    curve = tuple(replace(point, fitted=value) for point, value in zip(points, fitted, strict=True))
    mine = None if rows is None else round(rows * share)
    return GroupPlan(
        group=group.name,
        share=share,
        rows=rows,
        rows_of_group=mine,
        rows_by_outcome=by_outcome,
        curve=curve,
    )


def _curve(
    points: list[PowerPoint], power: float, alpha: float | None
) -> tuple[list[float], int | None]:
    """A smooth curve through the points by maximum likelihood, and where it reaches `power`.

    Of a test (`alpha` given) the power of a chi-square test: noncentrality in proportion to the
    rows; its factor and the degrees of freedom are fitted. Else a normal law of log rows.
    """
    from scipy.optimize import minimize
    from scipy.stats import chi2, ncx2, norm

    n = np.array([point.rows for point in points], dtype=np.float64)
    hits = np.array([point.found * point.tables for point in points])
    tables = np.array([point.tables for point in points])

    def curve(line: Array, at: Array) -> Array:
        if alpha is None:
            return np.asarray(norm.cdf((np.log(at) - line[0]) * np.exp(line[1])))
        df = np.exp(np.clip(line[1], -1, 6))
        return np.asarray(ncx2.sf(chi2.isf(alpha, df), df, np.exp(line[0]) * at))

    def loss(line: Array) -> float:
        p = np.clip(curve(line, n), 1e-6, 1 - 1e-6)
        return -float((hits * np.log(p) + (tables - hits) * np.log1p(-p)).sum())

    middle = n[int(np.argmin(np.abs(hits / tables - 0.5)))]
    first = np.log(middle if alpha is None else 8 / middle)
    line = minimize(loss, [first, 1.0], method="Nelder-Mead").x
    fitted = [float(value) for value in curve(line, n)]
    if max(point.found for point in points) < power - 0.1:
        return fitted, None
    fine = np.geomspace(n[0] / 4, 4 * n[-1], 2_000)
    reached = np.flatnonzero(curve(line, fine) >= power)
    return fitted, int(np.ceil(fine[reached[0]])) if len(reached) else None
