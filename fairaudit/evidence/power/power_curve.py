"""The curve of power against rows, and the rows at which it reaches the wanted power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairaudit._types import Array
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.evidence.power.plant import Group
from fairaudit.evidence.power.power_result import GroupPlan, PowerPoint

__all__ = ["fit_curve", "has_enough", "plan_group", "rows_near", "rows_to_try"]

FIRST, GROWTH = 200, 1.5


def rows_to_try(most: int) -> list[int]:
    """Growing sizes, up to `most`."""
    sizes = [FIRST]
    while sizes[-1] * GROWTH < most:
        sizes.append(int(sizes[-1] * GROWTH))
    return sizes if sizes[-1] == most or most <= FIRST else [*sizes, most]


def has_enough(points: list[PowerPoint], power: float) -> bool:
    """Two sizes well beyond the wanted power: the curve can be drawn."""
    beyond = min(0.97, power + 0.12)
    return len(points) > 2 and all(point.found >= beyond for point in points[-2:])


def rows_near(points: list[PowerPoint], power: float, alpha: float | None, most: int) -> list[int]:
    """Sizes around the answer, for a closer look."""
    rows = fit_curve(points, power, alpha)[1]
    if rows is None or rows > most:
        return []
    return [int(rows * x) for x in (0.75, 0.85, 0.95, 1.05, 1.2)]


def plan_group(
    table: AuditTable,
    group: Group,
    points: list[PowerPoint],
    power: float,
    alpha: float | None,
    most: int,
) -> GroupPlan:
    """What the curve of a group says: rows in all, of the group, and of its outcomes."""
    points = sorted(points, key=lambda point: point.rows)
    fitted, rows = fit_curve(points, power, alpha)
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


def fit_curve(
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
