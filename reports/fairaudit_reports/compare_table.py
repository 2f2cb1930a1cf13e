"""Several audited models in one table: text, Markdown, HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports.terminal import clean, fixed, p_text

if TYPE_CHECKING:
    from fairaudit.comparison.audited_models import AuditedModel, AuditedModels

__all__ = ["render_html", "render_markdown", "render_text"]


def render_text(result: AuditedModels) -> str:
    from fairaudit_reports.text import table

    head, rows = _rows(result.models)
    return f"{table([head, *rows])}\n\n{_about(result.models)}\n"


def render_markdown(result: AuditedModels) -> str:
    from fairaudit_reports.markdown import escape
    from fairaudit_reports.text import markdown_table

    head, rows = _rows(result.models)
    # the table escapes its bars itself
    cells = [[escape(cell).replace("\\|", "|") for cell in row] for row in rows]
    return f"{markdown_table([head, *cells])}\n\n{escape(_about(result.models))}\n"


def _rows(models: Sequence[AuditedModel]) -> tuple[list[str], list[list[str]]]:
    from fairaudit_reports.remedy_text import loss_text

    head = ["model", models[0].loss_name, "KPC", "DEO", "p", "verdict"]
    rows = [
        [
            clean(one.name),
            loss_text(one.loss, one.loss_name),
            fixed(one.audit.joint.kpc),
            fixed(one.deo),
            p_text(one.audit.p_value),
            str(one.audit.verdict),
        ]
        for one in models
    ]
    if all(row[3] == "–" for row in rows):
        return head[:3] + head[4:], [row[:3] + row[4:] for row in rows]
    return head, rows


def _about(models: Sequence[AuditedModel]) -> str:
    audit = models[0].audit
    names = ", ".join(one.name for one in audit.table.attributes)
    return clean(
        f"{audit.table.rows:,} rows; outcome {audit.table.outcome.name}; sensitive: {names}; "
        f"level {audit.alpha:g}, {audit.capsule.copies:,} copies, seed {audit.capsule.seed}. "
        "p-values are of each model alone and not adjusted for their number."
    )


def render_html(result: AuditedModels) -> str:
    from fairaudit_reports import html_parts as h
    from fairaudit_reports.markup import tag
    from fairaudit_reports.remedy_html import TONES, page

    models = result.models
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
