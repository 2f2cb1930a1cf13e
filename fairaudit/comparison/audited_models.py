"""Several models, each audited on the same rows by the same copies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from fairaudit.auditing.audit_result import AuditResult
from fairaudit.results import Result

__all__ = ["AuditedModel", "AuditedModels"]


@dataclass(frozen=True, slots=True)
class AuditedModel:
    """One model: its name, its loss (None where the scores are no labels) and its audit."""

    name: str = field(metadata={"key": "model"})
    loss: float | None
    loss_name: str
    audit: AuditResult

    @property
    def deo(self) -> float | None:
        return next(
            (measure.value for measure in self.audit.measures if measure.key == "deo"), None
        )

    def suppressed(self, fewest: int) -> AuditedModel:
        """The same with groups of fewer than `fewest` people masked, and the loss rounded."""
        from fairaudit.evidence.disclosure import coarse_loss, step_of

        audit = self.audit.suppressed(fewest)
        loss = self.loss
        if audit.masked:
            loss = coarse_loss(loss, step_of(fewest, audit.table.people))
        return replace(self, audit=audit, loss=loss)


@dataclass(frozen=True, slots=True)
class AuditedModels(Result):
    """All of them, in the order that they were given in."""

    models: tuple[AuditedModel, ...]
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})

    schema: ClassVar[str] = "fairaudit/compare/1"
    plural: ClassVar[str] = "tables of models"

    def suppressed(self, fewest: int) -> AuditedModels:
        """The same with groups of fewer than `fewest` people masked, and losses rounded."""
        return replace(self, models=tuple(model.suppressed(fewest) for model in self.models))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; the numbers of every audit stand before it too."""
        record = Result.to_dict(self)
        for row, model in zip(record["models"], self.models, strict=True):
            audit = row.pop("audit")
            row["kpc"], row["deo"] = model.audit.joint.kpc, model.deo
            row |= {"p_value": model.audit.p_value, "verdict": audit["verdict"], "audit": audit}
        return record
