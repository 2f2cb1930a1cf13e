"""How many rows it takes: power against rows, from a pilot table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fairaudit._types import Progress
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.power.pilot import Pilot, null_table, plan_effect
from fairaudit.evidence.power.plant import Group, groups_in
from fairaudit.evidence.power.power_curve import has_enough, plan_group, rows_near, rows_to_try
from fairaudit.evidence.power.power_result import (
    CERTIFY,
    WEIGHTS_LEFT_OUT,
    PowerPoint,
    SamplePlan,
    describe_weights,
)
from fairaudit.permute.copies import stream
from fairaudit.testing.statistic import statistic_named

__all__ = ["EFFECTS", "plan_certificate", "plan_rows"]

EFFECTS = ("tpr_gap", "fpr_gap", "score_shift", "kpc", "prediction_gap")
CERTIFIED = 100  # tables of each size for a certificate
FIRST_LOOK, CLOSER_LOOK = 12, 40  # violations planted in each table
_LOOKS, _NEAR = 3, 5  # closer ones, at most; sizes that these come to
_TIMED = (300, 1_500)  # rows of the tables by which the time is estimated
MOST_GROUPS = 8

_NAMES = {
    "tpr_gap": "a TPR gap",
    "fpr_gap": "an FPR gap",
    "kpc": "a KPC",
    "score_shift": "a score shift",
    "prediction_gap": "a gap in predictions given the outcome",
}

#: Rows, groups and violations per table → the share found in every group.
Measure = Callable[[int, list[Group], int], dict[str, PowerPoint]]


def plan_rows(
    table: AuditTable,
    effect: str,
    size: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    statistic: str | Sequence[str] = "omnibus",
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
    effect : {"tpr_gap", "fpr_gap", "score_shift", "kpc", "prediction_gap"}
        Between one group and all others; each group in its turn.
    size : float
        `score_shift` in standard deviations of the score given the outcome, on the normal scale of
        its ranks; `prediction_gap` (of the predicted numbers given the outcome, see
        `fairaudit.metrics.prediction_gap`) in units of the outcome.
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
    For 200, 400, 800, … rows, 8 tables are drawn from the pilot with replacement, made null by
    permutation within the outcome, and violations are planted in each; each is tested against
    199 copies. Then up to 12 sizes near the answer of each group are looked at closer, with 320
    violations each. Power is the curve of a chi-square test with fitted degrees of freedom.
    Tables of more than 4,000 rows are not drawn for statistics that are sums of squares: the
    effect grows in the place of the rows (see `fairaudit.evidence.power.pilot.Pilot`).

    With a continuous outcome, rows are permuted within blocks of 20 neighbors in the outcome: the
    plan does not pay for the estimation of q(y|a). Of people with several rows one row each is
    used, drawn at random: the plan counts people, and their further rows are not relied on.
    """
    start = time.process_time()
    _check_plan(effect, size, power, alpha)
    table = table.keep_one_row_each(stream(seed, 16))
    chosen = _choose_groups(table, groups)
    statistics = statistic_named(statistic)
    pilot = Pilot(
        table,
        plan_effect(table, chosen, effect, size, threshold=threshold, seed=seed),
        statistics,
        alpha=alpha,
        threshold=threshold,
        seed=seed,
    )
    if progress is not None:
        seconds = _estimate_seconds(pilot, chosen, most_rows)
        progress(f"planning takes up to about {seconds:,.0f} CPU s", 0, 1)
    points = _measure_power(
        chosen, pilot.find_power, power=power, alpha=alpha, most=most_rows, progress=progress
    )
    unit = " sd" if effect == "score_shift" else ""
    return SamplePlan(
        effect=effect,
        size=size,
        power=power,
        alpha=alpha,
        goal=f"find {_NAMES[effect]} of {size:g}{unit} between a group and all others",
        groups=tuple(
            plan_group(
                table, group, points=points[group.name], power=power, alpha=alpha, most=most_rows
            )
            for group in chosen
        ),
        pilot_rows=len(table),
        most_rows=most_rows,
        statistic=", ".join(statistic.name for statistic in statistics),
        seconds=time.process_time() - start,
        notes=() if table.weights is None else (WEIGHTS_LEFT_OUT,),
    )


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
    _check_plan(None, min(limits.values(), default=0.0), power, alpha)
    table = table.keep_one_row_each(stream(seed, 16))
    cut = default_threshold(table) if threshold is None else threshold
    certificates(table, limits, alpha=alpha, threshold=cut)  # refuses what cannot be
    everybody = Group("all groups", np.ones(len(table), dtype=bool))

    def certify_nulls(n: int, groups: list[Group], planted: int) -> dict[str, PowerPoint]:
        held = [
            all(bound.holds for bound in certificates(null, limits, alpha=alpha, threshold=cut))
            for null in (null_table(table, n, seed, number) for number in range(CERTIFIED))
        ]
        return {everybody.name: PowerPoint(n, float(np.mean(held)), CERTIFIED)}

    points = _measure_power(
        [everybody], certify_nulls, power=power, alpha=None, most=most_rows, progress=progress
    )[everybody.name]
    named = ", ".join(f"{name} ≤ {limit:g}" for name, limit in limits.items())
    plan = plan_group(table, everybody, points=points, power=power, alpha=None, most=most_rows)
    return SamplePlan(
        effect=CERTIFY + ", ".join(limits),
        size=min(limits.values()),
        power=power,
        alpha=alpha,
        goal=f"certify {named} where equalized odds holds",
        groups=(plan,),
        pilot_rows=len(table),
        most_rows=most_rows,
        statistic="upper bounds",
        seconds=time.process_time() - start,
        notes=describe_weights(table),
    )


def _measure_power(
    groups: list[Group],
    measure: Measure,
    *,
    power: float,
    alpha: float | None,
    most: int,
    progress: Progress | None,
) -> dict[str, list[PowerPoint]]:
    """Points of every group's curve: with ever more rows, then around the answer."""
    tell = progress or (lambda what, done, total: None)
    points: dict[str, list[PowerPoint]] = {group.name: [] for group in groups}
    sizes = rows_to_try(most)
    for step, n in enumerate(sizes):
        left = [group for group in groups if not has_enough(points[group.name], power)]
        if not left:
            break
        tell(f"tables of {n:,} rows", step, len(sizes))
        for name, point in measure(n, left, FIRST_LOOK).items():
            points[name].append(point)
    for _ in range(_LOOKS):
        near: dict[int, list[Group]] = {}
        for group in groups:
            for n in rows_near(points[group.name], power, alpha, most):
                near.setdefault(n, []).append(group)
        for step, (n, some) in enumerate(sorted(near.items())):
            tell(f"a closer look at {n:,} rows", step, len(near))
            for name, point in measure(n, some, CLOSER_LOOK).items():
                points[name].append(point)
    tell("done", 1, 1)
    return points


def _estimate_seconds(pilot: Pilot, groups: list[Group], most: int) -> float:
    """CPU for a search that goes on up to the largest table, by the time that small ones take."""
    lines = []
    for planted in (1, 1 + FIRST_LOOK):
        seconds = []
        for rows in _TIMED:
            start = time.process_time()
            pilot.find_power(rows, groups, planted)
            seconds.append(time.process_time() - start)
        slope = max(seconds[1] - seconds[0], 0.0) / (_TIMED[1] - _TIMED[0])
        lines.append(np.array([max(seconds[0] - slope * _TIMED[0], 0.0), slope]))
    drawing, planting = lines[0], np.maximum(lines[1] - lines[0], 0.0) / FIRST_LOOK
    sizes = rows_to_try(most)
    looks = [(n, FIRST_LOOK) for n in sizes] + [(sizes[-1], CLOSER_LOOK)] * _NEAR
    total, known = 0.0, set()
    for n, planted in looks:
        rows = max(pilot.count_simulated(n, group) for group in groups)
        work = planting * planted + drawing * (rows == n or rows not in known)
        total += float(work @ (1, rows))
        known.add(rows)
    return total


def _check_plan(effect: str | None, size: float, power: float, alpha: float) -> None:
    if effect is not None and effect not in EFFECTS:
        raise InputError(f"There is no effect {effect!r}. Use one of: {', '.join(EFFECTS)}.")
    if not size > 0:
        raise InputError(f"The size to plan for must be above 0. Got {size:g}.")
    if effect in ("tpr_gap", "fpr_gap", "kpc") and size > 1:
        raise InputError(f"A {effect} cannot be larger than 1. Got {size:g}.")
    for name, value in (("power", power), ("alpha", alpha)):
        if not 0 < value < 1:
            raise InputError(f"The '{name}' must lie between 0 and 1. Got {value:g}.")
    if power <= alpha:
        raise InputError(f"The power ({power:g}) must be larger than alpha ({alpha:g}).")


def _choose_groups(table: AuditTable, names: Sequence[str]) -> list[Group]:
    """The groups that are asked for, or the largest."""
    if not names:
        return groups_in(table, MOST_GROUPS)
    every = {"".join(group.name.split()): group for group in groups_in(table, 10_000)}
    for column in table.attributes:  # of two levels `groups_in` names one
        if column.kind.is_categorical:
            for k, level in enumerate(column.levels):
                name = f"{column.name} = {level_text(level)}"
                every.setdefault("".join(name.split()), Group(name, column.codes == k))
    for name in names:
        if "".join(name.split()) not in every:
            known = ", ".join(group.name for group in list(every.values())[:12])
            raise InputError(f"There is no group {name!r}. Groups: {known}.")
    return [every["".join(name.split())] for name in names]
