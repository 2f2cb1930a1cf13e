"""What a reader of an audit in shards must know: how rows moved, and what is absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairaudit.auditing.engines.schema import Schema
from fairaudit.auditing.engines.survey import Survey, joint_shape
from fairaudit.data.cautions import FEW
from fairaudit.data.columns import level_text

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.roles import Roles

__all__ = ["few_people", "shard_notes"]


def shard_notes(
    schema: Schema, plan: Plan, roles: Roles, shards: int, *, by_cells: bool, rates: bool
) -> list[str]:
    """How the audit differs from one of the table in one piece."""
    several = f"{shards} shards" if shards > 1 else "1 shard"
    notes = [f"Rows exchanged attributes within {several}, dealt by a hash."]
    if roles.ids is not None:
        notes.append("People with several rows stayed in one shard and were permuted as a whole.")
    if not by_cells and shards > 1:
        notes.append("Statistics and KPC are means over the shards, weighted by rows.")
    absent = ["CODEC (it ranks all rows at once)"]
    if plan.power:
        absent.append("the smallest detectable violation (it plants violations in the whole table)")
    if plan.locate:
        absent.append("where the violation sits (it searches the whole table)")
    if not rates:
        absent.append(f"rates, gaps and errors of groups ({_no_rates(schema, roles)})")
    notes.append(f"Not computed in shards: {'; '.join(absent)}. Audit in one piece for them.")
    return notes


def _no_rates(schema: Schema, roles: Roles) -> str:
    if roles.ids is not None:
        return "they are not counted by people"
    if not schema.outcome.kind.is_categorical:
        return "the outcome is continuous"
    groups = [one for one in schema.attributes if one.kind.is_categorical]
    if not groups:
        return "no attribute is categorical"
    if joint_shape((schema.outcome, *groups)) is None:
        return "the groups are too many to be listed"
    if schema.positive is None:
        return "the outcome has more than two classes: pass 'positive'"
    if schema.form != "labels" and schema.positive not in schema.said:
        return "the scores do not speak of the positive class"
    return "the scores do not lie in [0, 1]: pass 'threshold'"


def few_people(seen: Survey, schema: Schema) -> list[str]:
    """Levels of attributes that very few rows have, where cells were counted."""
    columns = (schema.outcome, *schema.attributes)
    shape = joint_shape(columns)
    if shape is None or not seen.cells:
        return []
    keys = np.array(list(seen.cells), dtype=np.int64)
    rows = np.array(list(seen.cells.values()), dtype=np.float64)
    codes = np.unravel_index(keys, shape)
    found = []
    for column, code in zip(columns[1:], codes[1:], strict=True):
        if not column.kind.is_categorical or column.levels is None:
            continue
        counts = np.bincount(code, rows, minlength=len(column.levels))
        found += [
            f"{column.name} = {level_text(level)}"
            for level, count in zip(column.levels, counts, strict=True)
            if 0 < count < min(FEW, seen.rows / 4)
        ]
    return found
