"""Rates of groups from the counts of all partitions."""

from __future__ import annotations

from dataclasses import dataclass

from fairaudit.auditing.engines.schema import Schema
from fairaudit.data.columns import level_text
from fairaudit.data.groups import GroupTable
from fairaudit.data.rates import RateTable
from fairaudit.evidence.measured import CellTable, MeasuredValue
from fairaudit.evidence.measurements import measure_labels, tabulate_rates

__all__ = ["ShardRates", "rates_of"]


@dataclass(frozen=True, slots=True, eq=False)
class ShardRates:
    """Measures of labels, the groups behind them, and the same for intervals of gaps."""

    measures: list[MeasuredValue]
    cells: CellTable
    by_group: RateTable


def rates_of(groups: GroupTable | None, schema: Schema, cut: float | None) -> ShardRates | None:
    """DEO, equalized odds, and the groups behind them; None where there are no labels."""
    if groups is None:
        return None
    note = "" if cut is None or schema.form == "labels" else f"labels: scores at or above {cut:g}"
    cells = tabulate_rates(groups, level_text(schema.positive), note)
    return ShardRates(measure_labels(groups, note), cells, groups.rates())
