"""Several audited models in one table: text, Markdown, JSON, HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairaudit_reports.terminal import clean, fixed, p_text

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["Compared", "rendered"]

SCHEMA = "fairaudit/compare/1"


@dataclass(frozen=True, slots=True)
class Compared:
    """One model: its name, its loss (None where the scores are no labels) and its audit."""

    name: str
    loss: float | None
    loss_name: str
    audit: AuditResult

    def suppressed(self, fewest: int) -> Compared:
        """The same with groups of fewer than `fewest` people masked, and the loss rounded."""
        from fairaudit.evidence.disclosure import coarse_loss, step_of

        audit = self.audit.suppressed(fewest)
        loss = self.loss
        if audit.masked:
            loss = coarse_loss(loss, step_of(fewest, audit.table.people))
        return replace(self, audit=audit, loss=loss)


def rendered(models: Sequence[Compared], form: str) -> str:
    """The table as ``"txt"``, ``"md"``, ``"json"`` or ``"html"``."""
    if form == "json":
        from fairaudit_reports.text import json_text

        return json_text(_record(models)) + "\n"
    if form == "html":
        return _page(models)
    head, rows = _rows(models)
    about = _about(models)
    if form == "md":
        from fairaudit_reports.markdown import escape
        from fairaudit_reports.text import markdown_table

        # the table escapes its bars itself
        cells = [[escape(cell).replace("\\|", "|") for cell in row] for row in rows]
        return f"{markdown_table([head, *cells])}\n\n{escape(about)}\n"
    from fairaudit_reports.text import table

    return f"{table([head, *rows])}\n\n{about}\n"


def _rows(models: Sequence[Compared]) -> tuple[list[str], list[list[str]]]:
    from fairaudit_reports.remedy_text import loss_text

    head = ["model", models[0].loss_name, "KPC", "DEO", "p", "verdict"]
    rows = [
        [
            clean(one.name),
            loss_text(one.loss, one.loss_name),
            fixed(one.audit.joint.kpc),
            fixed(_measured(one.audit, "deo")),
            p_text(one.audit.p_value),
            str(one.audit.verdict),
        ]
        for one in models
    ]
    if all(row[3] == "–" for row in rows):
        return head[:3] + head[4:], [row[:3] + row[4:] for row in rows]
    return head, rows


def _measured(audit: AuditResult, key: str) -> float | None:
    return next((one.value for one in audit.measures if one.key == key), None)


def _about(models: Sequence[Compared]) -> str:
    audit = models[0].audit
    names = ", ".join(one.name for one in audit.table.attributes)
    return clean(
        f"{audit.table.rows:,} rows; outcome {audit.table.outcome.name}; sensitive: {names}; "
        f"level {audit.alpha:g}, {audit.capsule.copies:,} copies, seed {audit.capsule.seed}. "
        "p-values are of each model alone and not adjusted for their number."
    )


def _record(models: Sequence[Compared]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "models": [
            {
                "model": one.name,
                "loss": one.loss,
                "loss_name": one.loss_name,
                "kpc": one.audit.joint.kpc,
                "deo": _measured(one.audit, "deo"),
                "p_value": one.audit.p_value,
                "verdict": str(one.audit.verdict),
                "audit": one.audit.to_dict(),
            }
            for one in models
        ],
    }


def _page(models: Sequence[Compared]) -> str:
    from fairaudit_reports import html_parts as h
    from fairaudit_reports.markup import tag
    from fairaudit_reports.remedy_html import TONES, page

    head, rows = _rows(models)
    columns = [(name, None if name in ("model", "verdict") else "n") for name in head]
    columns = [
        (name if name.isupper() or name == "p" else name.capitalize(), kind)
        for name, kind in columns
    ]
    body = (
        h.row(
            h.row_head(row[0]),
            *(h.cell(text, *column) for text, column in zip(row[1:-1], columns[1:-1], strict=True)),
            h.cell(tag("span", row[-1], class_=f"verdict {TONES[row[-1]]}"), "Verdict"),
        )
        for row in rows
    )
    names = h.names([one.name for one in models[0].audit.table.attributes])
    return page(
        f"Comparison of {h.several(len(models), 'model')} – fairaudit",
        "comparison of models",
        models[0].audit.capsule,
        tag("h1", f"Equalized odds of {names}"),
        h.table("All models on the same rows, by the same copies", columns, [h.body(body)]),
        h.paragraph(_about(models), class_="quiet name"),
    )
