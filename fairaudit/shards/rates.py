"""Rates of groups from counts of (outcome, groups, label)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairaudit.columns import level_text
from fairaudit.result import Cell, CellTable, Estimate, MeasuredValue
from fairaudit.shards.schema import Schema
from fairaudit.shards.survey import joint_shape

__all__ = ["rates_of"]


def rates_of(
    counts: Mapping[int, int], schema: Schema, cut: float | None
) -> tuple[list[MeasuredValue], CellTable | None]:
    """DEO, equalized odds, and the cells behind them; nothing where there are no labels."""
    import fairaudit as fa

    outcome = schema.outcome
    groups = [one for one in schema.attributes if one.kind.is_categorical]
    shape = joint_shape((outcome, *groups))
    if not counts or shape is None or outcome.levels is None:
        return [], None
    keys = np.array(sorted(counts), dtype=np.int64)
    rows = np.array([counts[key] for key in keys.tolist()])
    label, codes = keys % 2, np.unravel_index(keys // 2, shape)
    actual = codes[0]
    names = tuple(one.name for one in groups)
    values = {
        one.name: np.asarray(one.levels)[code]
        for one, code in zip(groups, codes[1:], strict=True)
    }  # fmt: skip
    classes = outcome.levels
    note = "" if cut is None or schema.form == "labels" else f"labels: scores at or above {cut:g}"
    measures = []
    for key, name in (
        ("deo", "DEO"),
        ("equalized_odds_difference", "equalized-odds difference"),
        ("equalized_odds_ratio", "equalized-odds ratio"),
    ):
        value = getattr(fa.metrics, key)(
            classes[label], values, classes[actual], weights=rows.astype(float),
            kinds=dict.fromkeys(names, "categorical"),
        )  # fmt: skip
        measures.append(MeasuredValue(key, name, float(value), names, note))
    cells = []
    sizes = shape[1:]
    group = np.ravel_multi_index(codes[1:], sizes)
    for cell in np.unique(group):
        inside = group == cell
        picked = [inside, inside & (actual == 1), inside & (actual == 0)]
        levels = tuple(
            level_text(np.asarray(one.levels)[code])
            for one, code in zip(groups, np.unravel_index(cell, sizes), strict=True)
        )
        estimates = tuple(_rate(rows[some], label[some]) for some in picked)
        total = int(rows[inside].sum())
        cells.append(Cell(levels, total, total, estimates))
    unlisted = int(np.prod(sizes)) - len(cells)
    about = (
        f"TPR and FPR: share predicted {level_text(classes[-1])} among those who are and are not"
    )
    columns = ("selected", "TPR", "FPR")
    told = "; ".join(filter(None, [note, about]))
    return measures, CellTable(names, columns, tuple(cells), unlisted, told)


def _rate(rows: np.ndarray, label: np.ndarray) -> Estimate:
    from statsmodels.stats.proportion import proportion_confint

    n, hits = int(rows.sum()), int(rows[label == 1].sum())
    if n == 0:
        return Estimate(None, None, None, 0, 0)
    low, high = proportion_confint(hits, n, method="wilson")
    return Estimate(hits / n, float(low), float(high), n, n)
