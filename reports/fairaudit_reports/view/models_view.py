"""What is said of several audited models in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairaudit_reports.view.audit_view import measured_value
from fairaudit_reports.view.numerals import fixed, loss_text, p_text
from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["Compared", "models_section"]


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


def models_section(models: Sequence[Compared]) -> Section:
    """One row per model: name, loss, sizes, p-value, and the verdict last."""
    sizes = [measured_value(model.audit, "deo") for model in models]
    deo = any(size is not None for size in sizes)
    rows = [
        [
            clean(model.name),
            loss_text(model.loss, model.loss_name),
            fixed(model.audit.joint.kpc),
            *([fixed(size)] if deo else []),
            p_text(model.audit.p_value),
            str(model.audit.verdict),
        ]
        for model, size in zip(models, sizes, strict=True)
    ]
    head = ["model", models[0].loss_name, "KPC", *(["DEO"] if deo else []), "p", "verdict"]
    return Section(
        title="Models",
        head=head,
        rows=rows,
        right=frozenset(range(1, len(head) - 1)),
        lines=(_about(models[0].audit),),
    )


def _about(audit: AuditResult) -> str:
    names = ", ".join(column.name for column in audit.table.attributes)
    return clean(
        f"{audit.table.rows:,} rows; outcome {audit.table.outcome.name}; sensitive: {names}; "
        f"level {audit.alpha:g}, {audit.capsule.copies:,} copies, seed {audit.capsule.seed}. "
        "p-values are for each model alone and not adjusted for the number of models."
    )
