"""What is said of several audited models in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.view.audit_view import find_measure
from fairaudit_reports.view.cover import name_label
from fairaudit_reports.view.numerals import figures_after_point, fixed, loss_text, p_text
from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.comparison.audited_models import AuditedModels
    from fairaudit.data.facts import Source

__all__ = ["build_models_section", "list_sources"]


def build_models_section(result: AuditedModels) -> Section:
    """One row per model: name, loss, sizes, p-value, and the verdict last."""
    models = result.models
    key, name = ("deo", "DEO")
    if all(model.deo is None for model in models):
        key, name = "prediction_gap", "prediction gap"
    sizes = [find_measure(model.audit, key) for model in models]
    known = [abs(size) for size in sizes if size is not None]
    digits = figures_after_point(max(known, default=0.0)) if key != "deo" else 3
    rows = [
        [
            clean(model.name),
            loss_text(model.loss, model.loss_name),
            fixed(model.audit.joint.kpc),
            *([fixed(size, digits)] if known else []),
            p_text(model.audit.p_value),
            str(model.audit.verdict),
        ]
        for model, size in zip(models, sizes, strict=True)
    ]
    head = ["model", models[0].loss_name, "KPC", *([name] if known else []), "p", "verdict"]
    return Section(
        title="Models",
        head=head,
        rows=rows,
        right=frozenset(range(1, len(head) - 1)),
        lines=(
            _explain_models(models[0].audit),
            *(clean(note, LONGEST_NOTE) for note in result.notes),
        ),
    )


def list_sources(result: AuditedModels) -> list[tuple[str, Source]]:
    """The files of the models, then of the table."""
    capsules = [model.audit.capsule for model in result.models]
    models = [("Model", capsule.model) for capsule in capsules if capsule.model is not None]
    return [*models, *(("Data", source) for source in capsules[0].data)]


def _explain_models(audit: AuditResult) -> str:
    names = ", ".join(name_label(column.name) for column in audit.table.attributes)
    return clean(
        f"{audit.table.rows:,} rows; outcome {name_label(audit.table.outcome.name)}; "
        f"sensitive: {names}; level {audit.alpha:g}, {audit.capsule.copies:,} copies, "
        f"seed {audit.capsule.seed}. p-values are for each model alone and not adjusted for the "
        "number of models."
    )
