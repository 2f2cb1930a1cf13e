"""How many rows it takes until intervals are as narrow as wanted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairaudit._types import Array, Progress
from fairaudit.data.columns import level_text
from fairaudit.data.groups import Groups
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.intervals.gaps import gap_table
from fairaudit.evidence.power.pilot import draw_table
from fairaudit.evidence.power.plant import Group
from fairaudit.evidence.power.power_curve import describe_group, rows_to_try
from fairaudit.evidence.power.power_result import WIDTH, PowerPoint, SamplePlan, describe_weights
from fairaudit.metrics._labels import label_groups
from fairaudit.metrics._prediction_gap import _prediction_gap
from fairaudit.permute.copies import stream

__all__ = ["MEASURES", "plan_width"]

#: Gaps of a group to all others, and what they are called.
MEASURES = {
    "tpr_gap": "TPR gap",
    "fpr_gap": "FPR gap",
    "prediction_gap": "gap in predictions given the outcome",
}
TABLES = 40  # of each size

#: Half the width of the interval of every group that has one.
Widths = dict[tuple[str, ...], float]


def plan_width(
    table: AuditTable,
    measure: str,
    width: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    threshold: float | None = None,
    most_rows: int = 100_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> SamplePlan:
    """Rows with which the interval of every group's gap is no wider than ± `width`.

    Parameters
    ----------
    table : AuditTable
        The pilot: predictions, outcomes and attributes like those to come.
    measure : {"tpr_gap", "fpr_gap", "prediction_gap"}
        Of every group against all others; groups are those of all categorical attributes together.
    width : float
        Half of the interval: 0.05 for ±0.05. `prediction_gap` in units of the outcome.
    power : float
        Share of samples in which the interval is no wider.
    alpha : float
        Intervals hold together with confidence 1 − alpha.
    threshold, most_rows, seed, progress
        As for `plan_rows`.

    Returns
    -------
    SamplePlan

    Notes
    -----
    40 tables of 200, 400, 800, … rows are drawn from the pilot with replacement. The intervals of
    rates are those of `fairaudit.gap_intervals`; of prediction gaps the
    standard errors are those of `fairaudit.metrics.prediction_gap`, with Bonferroni's critical
    value. Between two sizes the wanted quantile of the width follows a power of the rows.
    """
    start = time.process_time()
    _check_width(measure, width, power, alpha)
    table = _keep_groups(table.keep_one_row_each(stream(seed, 16)))
    find_widths = _choose_widths(table, measure, alpha, threshold, seed)
    groups = _list_groups(table, find_widths(table))
    tell = progress or (lambda what, done, total: None)
    sizes, sampled = rows_to_try(most_rows), []
    for step, n in enumerate(sizes):
        tell(f"intervals of {n:,} rows", step, len(sizes))
        drawn = (draw_table(table, n, seed, number)[0] for number in range(TABLES))
        sampled.append(_Sampled(n, [find_widths(each) for each in drawn]))
        if all(sampled[-1].quantile(group.levels, power) <= width for group in groups):
            break
    tell("done", 1, 1)
    name = MEASURES[measure]
    return SamplePlan(
        effect=WIDTH + measure,
        size=width,
        power=power,
        alpha=alpha,
        goal=f"know the {name} of every group to ±{width:g}",
        groups=tuple(
            describe_group(
                table,
                group.group,
                _find_rows(sampled, group.levels, width, power),
                tuple(each.point(group.levels, width) for each in sampled),
            )
            for group in groups
        ),
        pilot_rows=len(table),
        most_rows=most_rows,
        statistic="intervals",
        seconds=time.process_time() - start,
        notes=describe_weights(table),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _KnownGroup:
    levels: tuple[str, ...]
    group: Group


@dataclass(frozen=True, slots=True, eq=False)
class _Sampled:
    """Widths of all groups in tables of n rows."""

    n: int
    widths: list[Widths]

    def of(self, levels: tuple[str, ...]) -> Array:
        """Infinite where the group has no interval."""
        return np.array([widths.get(levels, np.inf) for widths in self.widths])

    def quantile(self, levels: tuple[str, ...], share: float) -> float:
        widths = np.sort(self.of(levels))
        return float(widths[int(np.ceil(share * len(widths))) - 1])

    def point(self, levels: tuple[str, ...], width: float) -> PowerPoint:
        found = float((self.of(levels) <= width).mean())
        return PowerPoint(self.n, found, len(self.widths), fitted=found)


def _find_rows(
    sampled: list[_Sampled], levels: tuple[str, ...], width: float, power: float
) -> int | None:
    """Where the quantile of the width crosses the wanted one, on lines of logarithms."""
    reached = [each for each in sampled if each.quantile(levels, power) <= width]
    if not reached:
        return None
    at = sampled.index(reached[0])
    above = reached[0].quantile(levels, power)
    before = sampled[at - 1].quantile(levels, power) if at else np.inf
    slope = -0.5  # of the logarithm of the width in that of the rows, without another size
    if np.isfinite(before) and before > above:
        slope = np.log(above / before) / np.log(reached[0].n / sampled[at - 1].n)
    return int(np.ceil(reached[0].n * (width / above) ** (1 / slope)))


def _choose_widths(
    table: AuditTable, measure: str, alpha: float, threshold: float | None, seed: int
) -> Callable[[AuditTable], Widths]:
    if measure == "prediction_gap":
        return lambda drawn: _find_prediction_widths(drawn, alpha)
    cut = default_threshold(table) if threshold is None else threshold
    rate = "TPR" if measure == "tpr_gap" else "FPR"

    def find_rate_widths(drawn: AuditTable) -> Widths:
        groups = label_groups(drawn, threshold=cut)
        gaps = gap_table(groups.rates(), groups.attributes, 1 - alpha, seed).gaps
        return {
            gap.levels: (gap.high - gap.low) / 2
            for gap in gaps
            if gap.rate == rate and gap.low is not None and gap.high is not None
        }

    return find_rate_widths


def _find_prediction_widths(table: AuditTable, alpha: float) -> Widths:
    from scipy.special import ndtri

    cells = _prediction_gap(table).cells
    critical = float(ndtri(1 - alpha / (2 * len(cells))))
    widths = {}
    for cell in cells:
        others = 1 - cell.n / len(table)  # a gap to all others is larger than one to all
        width = critical * cell.standard_error / max(others, 1e-12)
        if np.isfinite(width):
            widths[tuple(map(level_text, cell.levels))] = width
    return widths


def _keep_groups(table: AuditTable) -> AuditTable:
    kept = tuple(column for column in table.attributes if column.kind.is_categorical)
    if not kept:
        raise InputError(
            "Gaps are between groups, and there are none: all attributes are numbers. Put them "
            "into bins.",
            argument="sensitive",
        )
    return replace(table, attributes=kept)


def _list_groups(table: AuditTable, widths: Widths) -> list[_KnownGroup]:
    """Those that have an interval in the pilot."""
    groups = Groups.of(table.attributes)
    known = []
    for k, levels in enumerate(groups.levels):
        texts = tuple(map(level_text, levels))
        if texts in widths:
            name = ", ".join(
                f"{attribute} = {text}"
                for attribute, text in zip(groups.attributes, texts, strict=True)
            )
            known.append(_KnownGroup(texts, Group(name, groups.of_row == k)))
    if not known:
        raise InputError("No group of the pilot has an interval: its rows are too few.")
    return known


def _check_width(measure: Any, width: float, power: float, alpha: float) -> None:
    if measure not in MEASURES:
        raise InputError(
            f"There is no interval of {measure!r} to plan for. Use one of: {', '.join(MEASURES)}."
        )
    if not width > 0:
        raise InputError(f"The width to plan for must be above 0. Got {width:g}.")
    for name, value in (("power", power), ("alpha", alpha)):
        if not 0 < value < 1:
            raise InputError(f"The '{name}' must lie between 0 and 1. Got {value:g}.")
