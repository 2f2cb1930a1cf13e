"""What a reader of an audit in shards must know: what is absent, and tiny groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairaudit.auditing.engines.schema import Schema
from fairaudit.auditing.engines.survey import Survey, count_levels
from fairaudit.auditing.examination import Absent
from fairaudit.data.cautions import FEW
from fairaudit.data.columns import level_text

if TYPE_CHECKING:
    from fairaudit.data.roles import Roles

__all__ = ["ABSENT", "explain_no_rates", "list_small_levels"]


def _lack_rates(why: str) -> Absent:
    return Absent("rates, gaps and errors of groups", why)


#: What one piece reports and shards do not, and why.
ABSENT = {
    "codec": Absent("CODEC", "it ranks all rows at once"),
    "power": Absent("the smallest detectable violation", "it plants violations in the whole table"),
    "localization": Absent("where the violation sits", "it searches the whole table"),
    "people": _lack_rates("they are not counted by people"),
    "continuous": _lack_rates("the outcome is continuous: its curve is fitted to all rows at once"),
    "no groups": _lack_rates("no attribute is categorical"),
    "many groups": _lack_rates("there are too many groups to list"),
    "no positive": _lack_rates("the outcome has more than two classes: pass 'positive'"),
    "other class": _lack_rates("the scores are not those of the positive class"),
    "no labels": _lack_rates("the scores do not lie in [0, 1]: pass 'threshold'"),
}


def explain_no_rates(schema: Schema, roles: Roles) -> Absent:
    """Why there are no rates of groups."""
    groups = [column for column in schema.attributes if column.kind.is_categorical]
    reasons = {
        "people": roles.ids is not None,
        "continuous": not schema.outcome.kind.is_categorical,
        "no groups": not groups,
        "many groups": count_levels((schema.outcome, *groups)) is None,
        "no positive": schema.positive is None,
        "other class": schema.form != "labels" and schema.positive not in schema.class_levels,
    }
    return ABSENT[next((name for name, holds in reasons.items() if holds), "no labels")]


def list_small_levels(survey: Survey, schema: Schema) -> list[str]:
    """Levels of attributes that very few rows have, where tied blocks were counted."""
    columns = (schema.outcome, *schema.attributes)
    shape = count_levels(columns)
    if shape is None or not survey.blocks:
        return []
    keys = np.array(list(survey.blocks), dtype=np.int64)
    rows = np.array(list(survey.blocks.values()), dtype=np.float64)
    codes = np.unravel_index(keys, shape)
    levels = []
    for column, code in zip(columns[1:], codes[1:], strict=True):
        if not column.kind.is_categorical or column.levels is None:
            continue
        counts = np.bincount(code, rows, minlength=len(column.levels))
        levels += [
            f"{column.name} = {level_text(level)}"
            for level, count in zip(column.levels, counts, strict=True)
            if 0 < count < min(FEW, survey.rows / 4)
        ]
    return levels
