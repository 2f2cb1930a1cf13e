"""Several audited models as one HTML page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fairaudit_reports.html import page as p
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.cover_parts import provenance_section
from fairaudit_reports.html.markup import tag
from fairaudit_reports.html.remedy_style import LIMIT, STYLE
from fairaudit_reports.view.cover import name_label
from fairaudit_reports.view.models_view import build_models_section, list_sources
from fairaudit_reports.view.wording import join_names, several

if TYPE_CHECKING:
    from fairaudit.comparison.audited_models import AuditedModels

__all__ = ["render"]


def render(result: AuditedModels) -> str:
    """One table, and what it rests on."""
    models = result.models
    audit, part = models[0].audit, build_models_section(result)
    rows = [
        [*row[:-1], tag("span", row[-1], class_=f"verdict {p.TONES[model.audit.verdict.value]}")]
        for row, model in zip(part.rows, models, strict=True)
    ]
    frame = p.Frame(
        title=f"Comparison of {several(len(models), 'model')} – fairaudit",
        about="comparison of models",
        version=audit.capsule.version,
        created=audit.capsule.created,
        limit=LIMIT,
        style=STYLE,
    )
    names = join_names([name_label(column.name) for column in audit.table.attributes])
    inside = [
        tag("h1", f"Equalized odds of {names}"),
        h.section_table(
            "All models on the same rows, by the same copies",
            replace(part, rows=rows),
            [h.heading(name) for name in part.head or []],
        ),
        *(h.paragraph(line, class_="quiet name") for line in part.lines),
        provenance_section(frame.version, list_sources(result)),
    ]
    return p.page(frame, inside)
