"""A part of a model card: metadata as Hugging Face reads them, and the result in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fairaudit_reports.view.audit_view import split_verdict
from fairaudit_reports.view.cover import current_cover
from fairaudit_reports.view.statements_view import describe_statements

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["describe_card", "list_card_metrics", "name_rows", "write_card"]


def list_card_metrics(result: AuditResult) -> list[tuple[str, str, float]]:
    """Keys, names and values that a card states: one of each measure, then the p-value."""
    seen: dict[str, tuple[str, str, float]] = {}
    for measure in result.measures:
        if measure.value is not None and measure.key in ("kpc", "deo", "prediction_gap"):
            seen.setdefault(measure.key, (measure.key, measure.name, measure.value))
    p = result.p_value
    return [*seen.values(), *([] if p is None else [("p_value", "equalized odds, p-value", p)])]


def describe_card(result: AuditResult) -> list[str]:
    """The verdict and the first sentences."""
    return [" ".join(split_verdict(result)), *(f"- {s}" for s in describe_statements(result))]


def name_rows(result: AuditResult) -> str:
    """What was audited, and with what."""
    return (
        f"{result.table.rows:,} rows, audited with fairaudit {result.capsule.version}; audited "
        f"columns: SHA-256 {result.capsule.table_sha256}."
    )


def write_card(result: AuditResult) -> str:
    """YAML between dashes, then Markdown: what a model card begins with and a section of it."""
    verdict, *sentences = describe_card(result)
    task = "classification" if result.table.outcome.levels else "regression"
    lines = [
        "---",
        "model-index:",
        f"- name: {_quoted(current_cover().model or 'model')}",
        "  results:",
        "  - task:",
        f"      type: tabular-{task}",
        "    dataset:",
        f"      name: {_quoted(_name_data(result))}",
        f"      type: {_quoted('held-out rows')}",
        "    metrics:",
        *(
            f"    - {{type: {key}, name: {_quoted(name)}, value: {value:.4g}}}"
            for key, name, value in list_card_metrics(result)
        ),
        "---",
        "",
        "## Equalized odds",
        "",
        verdict,
        "",
        *sentences,
        "",
        name_rows(result),
    ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _name_data(result: AuditResult) -> str:
    paths = [source.path or source.kind for source in result.capsule.data]
    return ", ".join(paths[:3]) or "rows given from Python"
