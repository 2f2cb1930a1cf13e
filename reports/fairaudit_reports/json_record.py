"""The whole result as JSON, by the committed schema `audit.schema.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.text import json_text

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["render"]


def render(result: AuditResult) -> str:
    return json_text(result.to_dict()) + "\n"
