"""The rows and attributes that a question is about."""

from __future__ import annotations

from dataclasses import dataclass

from fairaudit._types import Index
from fairaudit.data.table import AuditTable

__all__ = ["Scope"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows and attributes that a question is about.

    Attributes
    ----------
    table : AuditTable
        The prediction, the outcome and the attributes that the statistic sees.
    rows : int array, optional
        The rows of the copies' table that `table` consists of; they must exchange attributes
        among themselves only. Default: all.
    tested : AuditTable, optional
        The rows of `table` that are permuted, where a statistic keeps some for fitting.
    """

    table: AuditTable
    rows: Index | None = None
    tested: AuditTable | None = None
