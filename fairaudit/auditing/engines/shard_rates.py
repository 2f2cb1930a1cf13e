"""Rates of groups from counts of (outcome, groups, label)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.auditing.engines.schema import Schema
from fairaudit.auditing.engines.survey import joint_shape
from fairaudit.data.columns import level_text
from fairaudit.evidence.intervals.rate_intervals import RateCells
from fairaudit.evidence.measured import Cell, CellTable, Estimate, MeasuredValue
from fairaudit.metrics._labels import ratio

__all__ = ["ShardRates", "rates_of"]


@dataclass(frozen=True, slots=True, eq=False)
class ShardRates:
    """Measures of labels, the cells behind them, and the same cells for intervals of gaps."""

    measures: list[MeasuredValue]
    cells: CellTable
    by_group: RateCells


def rates_of(counts: Mapping[int, int], schema: Schema, cut: float | None) -> ShardRates | None:
    """DEO, equalized odds, and the cells behind them; None where there are no labels."""
    import fairaudit as fa

    outcome = schema.outcome
    groups = [one for one in schema.attributes if one.kind.is_categorical]
    shape = joint_shape((outcome, *groups))
    if not counts or shape is None or outcome.levels is None:
        return None
    keys = np.array(sorted(counts), dtype=np.int64)
    rows = np.array([counts[key] for key in keys.tolist()])
    label, codes = keys % 2, np.unravel_index(keys // 2, shape)
    actual = (outcome.levels == schema.positive)[codes[0]].astype(np.int64)
    names = tuple(one.name for one in groups)
    values = {
        one.name: np.asarray(one.levels)[code] for one, code in zip(groups, codes[1:], strict=True)
    }
    note = "" if cut is None or schema.form == "labels" else f"labels: scores at or above {cut:g}"
    measures = []
    for key, name in (
        ("deo", "DEO"),
        ("equalized_odds_difference", "equalized-odds difference"),
        ("equalized_odds_ratio", "equalized-odds ratio"),
    ):
        value = getattr(fa.metrics, key)(
            label,
            sensitive=values,
            y_true=actual,
            weights=rows.astype(float),
            kinds=dict.fromkeys(names, "categorical"),
        )
        measures.append(
            MeasuredValue(key=key, name=name, value=float(value), attributes=names, note=note)
        )
    sizes = shape[1:]
    occurs, group = np.unique(np.ravel_multi_index(codes[1:], sizes), return_inverse=True)
    total, hits = (
        _sums(2 * group + actual, weight, len(occurs)) for weight in (rows, rows * label)
    )
    levels = tuple(
        tuple(
            level_text(np.asarray(one.levels)[code])
            for one, code in zip(groups, np.unravel_index(cell, sizes), strict=True)
        )
        for cell in occurs
    )
    about = (
        f"TPR and FPR: share predicted {level_text(schema.positive)} among those who are and are "
        "not"
    )
    told = "; ".join(filter(None, [note, about]))
    unlisted = int(np.prod(sizes)) - len(occurs)
    cells = tuple(_cell(*one) for one in zip(levels, total, hits, strict=True))
    table = CellTable(
        attributes=names,
        columns=("selected", "TPR", "FPR"),
        cells=cells,
        unlisted=unlisted,
        note=told,
    )
    by_group = RateCells(
        levels=levels,
        rate=ratio(hits, total),
        size=total,
        weight=total,
        groups_apart=True,
        outcomes_apart=True,
    )
    return ShardRates(measures, table, by_group)


def _sums(key: Index, weight: NDArray[Any], groups: int) -> Array:
    sums = np.bincount(key, weight, minlength=2 * groups)
    return np.asarray(sums, dtype=np.float64).reshape(-1, 2)


def _cell(levels: tuple[str, ...], total: Array, hits: Array) -> Cell:
    """Of everybody, of the positives (TPR) and of the negatives (FPR)."""
    people = int(total.sum())
    pairs = ((total.sum(), hits.sum()), (total[1], hits[1]), (total[0], hits[0]))
    return Cell(
        levels=levels,
        rows=people,
        people=people,
        estimates=tuple(_rate(int(n), int(k)) for n, k in pairs),
    )


def _rate(n: int, hits: int) -> Estimate:
    from statsmodels.stats.proportion import proportion_confint

    if n == 0:
        return Estimate(value=None, low=None, high=None, rows=0, people=0)
    low, high = proportion_confint(hits, n, method="wilson")
    return Estimate(value=hits / n, low=float(low), high=float(high), rows=n, people=n)
