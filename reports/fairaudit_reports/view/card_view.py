"""A part of a model card: metadata as Hugging Face reads them, and the result in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fairaudit_reports.view.audit_view import split_verdict
from fairaudit_reports.view.cover import current_cover
from fairaudit_reports.view.statements_view import describe_statements

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["write_card"]


def write_card(result: AuditResult) -> str:
    """YAML between dashes, then Markdown: what a model card begins with and a section of it."""
    cover = current_cover()
    measures = [
        (measure.name, measure.key, measure.value)
        for measure in result.measures
        if measure.value is not None and measure.key in ("kpc", "deo", "prediction_gap")
    ]
    seen: dict[str, tuple[str, float]] = {}
    for name, key, value in measures:
        seen.setdefault(key, (name, value))
    lines = [
        "---",
        "model-index:",
        f"- name: {_quoted(cover.model or 'model')}",
        "  results:",
        "  - task:",
        "      type: tabular-classification"
        if result.table.outcome.levels
        else "      type: tabular-regression",
        "    dataset:",
        f"      name: {_quoted(_name_data(result))}",
        f"      type: {_quoted('held-out rows')}",
        "    metrics:",
        *(
            f"    - {{type: {key}, name: {_quoted(name)}, value: {value:.4g}}}"
            for key, (name, value) in seen.items()
        ),
        f"    - {{type: p_value, name: {_quoted('equalized odds, p-value')}, "
        f"value: {_number(result.p_value)}}}",
        "---",
        "",
        "## Equalized odds",
        "",
        " ".join(split_verdict(result)),
        "",
        *(f"- {sentence}" for sentence in describe_statements(result)),
        "",
        f"{result.table.rows:,} rows, audited with fairaudit {result.capsule.version}; audited "
        f"columns: SHA-256 {result.capsule.table_sha256}.",
    ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:.4g}"


def _name_data(result: AuditResult) -> str:
    paths = [source.path or source.kind for source in result.capsule.data]
    return ", ".join(paths[:3]) or "rows given from Python"
