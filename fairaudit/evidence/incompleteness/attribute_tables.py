"""A table for each attribute: with missing values as a level, or with probabilities of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairaudit.data.columns import Kind
from fairaudit.data.missing_values import MISSING_LEVEL, RoleColumn
from fairaudit.data.preparation import prepare_resolved
from fairaudit.data.reading.frames import as_pandas
from fairaudit.data.roles import ResolvedRoles, Roles
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import as_labels

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.models import Predictor

__all__ = ["attribute_tables"]


def attribute_tables(
    frame: Any,
    roles: Roles,
    probabilities: Mapping[str, Sequence[str]],
    predictor: Predictor | None,
) -> tuple[dict[str, tuple[AuditTable, bool]], dict[str, AuditTable], list[str]]:
    """The table of each attribute and whether it is a number, those of attributes that are known
    as probabilities, and the numbers that are known in every row, which have none.

    Numbers make no groups that could be masked.
    """
    frame = as_pandas(frame)
    resolved, columns = _resolve_roles(list(frame.columns), roles, probabilities, predictor)
    tables, known = {}, []
    for name in resolved.sensitive:
        number = _is_number(frame, name, resolved.kinds.get(name))
        if number and not frame[name].isna().any():
            known.append(name)
        else:
            tables[name] = (
                _prepare_with_missing_level(frame, resolved, name, number, predictor),
                number,
            )
    likely = {}
    for name, some in columns.items():
        continuous = resolved.with_sensitive(some, Kind.CONTINUOUS)
        table = prepare_resolved(frame, continuous, predictor).table
        likely[name] = as_labels(table, roles.threshold) if roles.on == "labels" else table
    return tables, likely, known


def _resolve_roles(
    columns: Sequence[str],
    roles: Roles,
    probabilities: Mapping[str, Sequence[str]],
    predictor: Predictor | None,
) -> tuple[ResolvedRoles, dict[str, list[str]]]:
    """The roles in the columns of the table, and the columns of probabilities by attribute."""
    specs = [*roles.sensitive, *(spec for some in probabilities.values() for spec in some)]
    every = tuple(dict.fromkeys(specs))
    resolved = replace(roles, sensitive=every, on="scores").resolve(columns, predictor)
    column = dict(zip(every, resolved.sensitive, strict=True))
    likely = {name: [column[spec] for spec in some] for name, some in probabilities.items()}
    return resolved.with_sensitive([column[spec] for spec in roles.sensitive]), likely


def _prepare_with_missing_level(
    frame: pd.DataFrame, roles: ResolvedRoles, name: str, number: bool, predictor: Predictor | None
) -> AuditTable:
    """The table with missing values as a level; of a number only whether it is missing."""
    roles = replace(roles, request=replace(roles.request, missing="category"))
    if not number:
        return prepare_resolved(frame, roles.with_sensitive([name]), predictor).table
    known = frame[name].notna().map({True: "known", False: MISSING_LEVEL})
    return prepare_resolved(
        frame, roles.with_sensitive([]), predictor, [RoleColumn("sensitive", name, known)]
    ).table


def _is_number(frame: pd.DataFrame, name: str, kind: str | None) -> bool:
    import pandas as pd

    number = pd.api.types.is_numeric_dtype(frame[name])
    return number and (kind is None or not Kind(kind).is_categorical) and frame[name].nunique() > 2
