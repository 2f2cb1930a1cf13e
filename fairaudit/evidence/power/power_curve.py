"""The curve of power against rows, and the rows at which it reaches the wanted power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fairaudit._types import Array
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.evidence.power.plant import Group
from fairaudit.evidence.power.power_result import GroupPlan, PowerPoint

__all__ = [
    "describe_group",
    "first_reached",
    "fit_curve",
    "fit_power",
    "has_enough",
    "plan_group",
    "rows_near",
    "rows_to_try",
]

FIRST, GROWTH = 200, 2
FINE = 1.15  # steps of a closer look, the same for all groups


def rows_to_try(most: int) -> list[int]:
    """Growing sizes, up to `most`."""
    sizes = [FIRST]
    while sizes[-1] * GROWTH < most:
        sizes.append(sizes[-1] * GROWTH)
    return sizes if sizes[-1] == most or most <= FIRST else [*sizes, most]


def has_enough(points: list[PowerPoint], power: float) -> bool:
    """The last size is well beyond the wanted power: the answer lies below."""
    return len(points) > 1 and points[-1].found >= min(0.97, power + 0.12)


def rows_near(points: list[PowerPoint], power: float, alpha: float | None, most: int) -> list[int]:
    """Sizes around the answer that have not been looked at."""
    rows = fit_curve(points, power, alpha)[1]
    if rows is None or rows > most:
        return []
    below = int(np.floor(np.log(rows / FIRST) / np.log(FINE)))
    near = [round(FIRST * FINE**step) for step in range(below - 1, below + 3)]
    known = {point.rows for point in points}
    return [n for n in near if n not in known]


def plan_group(
    table: AuditTable,
    group: Group,
    points: list[PowerPoint],
    power: float,
    alpha: float | None,
    most: int,
) -> GroupPlan:
    """What the curve of a group says."""
    points = sorted(points, key=lambda point: point.rows)
    fitted, rows = fit_curve(points, power, alpha)
    curve = tuple(replace(point, fitted=value) for point, value in zip(points, fitted, strict=True))
    return describe_group(table, group, None if rows is None or rows > most else rows, curve)


def describe_group(
    table: AuditTable, group: Group, rows: int | None, curve: tuple[PowerPoint, ...]
) -> GroupPlan:
    """Rows in all, of the group, and of its outcomes."""
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
    mine = None if rows is None else round(rows * share)
    return GroupPlan(
        group=group.name,
        share=share,
        rows=rows,
        rows_of_group=mine,
        rows_by_outcome=by_outcome,
        curve=curve,
    )


def fit_curve(
    points: list[PowerPoint], power: float, alpha: float | None
) -> tuple[list[float], int | None]:
    """A smooth curve through the points, and where it reaches `power`."""
    n = np.array([point.rows for point in points], dtype=np.float64)
    found = np.array([point.found for point in points])
    curve = fit_power(n, found, np.array([point.tables for point in points]), alpha)
    fitted = [float(value) for value in curve(n)]
    if found.max() < power - 0.1:
        return fitted, None
    rows = first_reached(curve, power, n[0] / 4, 4 * n[-1])
    return fitted, None if rows is None else int(np.ceil(rows))


def fit_power(
    x: Array, found: Array, tables: Array, alpha: float | None
) -> Callable[[Array], Array]:
    """The share found as a function of x, by maximum likelihood.

    Of a test (`alpha` given) the power of a chi-square test: noncentrality in proportion to x (rows
    or squared size); its factor and the degrees of freedom are fitted. Else a normal law of log x.
    """
    from scipy.optimize import minimize
    from scipy.special import chdtri, chndtr, ndtr

    def curve(line: Array, at: Array) -> Array:
        if alpha is None:
            return np.asarray(ndtr((np.log(at) - line[0]) * np.exp(line[1])))
        df = np.exp(np.clip(line[1], -1, 6))
        return np.asarray(1 - chndtr(chdtri(df, alpha), df, np.exp(line[0]) * at))

    def loss(line: Array) -> float:
        p = np.clip(curve(line, x), 1e-6, 1 - 1e-6)
        return -float((tables * (found * np.log(p) + (1 - found) * np.log1p(-p))).sum())

    middle = x[int(np.argmin(np.abs(found - 0.5)))]
    first = np.log(middle if alpha is None else 8 / middle)
    line = minimize(loss, [first, 1.0], method="Nelder-Mead").x
    return lambda at: curve(line, at)


def first_reached(
    curve: Callable[[Array], Array], power: float, low: float, high: float
) -> float | None:
    """The smallest x between low and high with this power."""
    fine = np.geomspace(low, high, 2_000)
    reached = np.flatnonzero(curve(fine) >= power)
    return float(fine[reached[0]]) if len(reached) else None
