"""What is said of a remedy: both verdicts, what changed, and the models of the curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairaudit_reports.view.audit_view import find_measure
from fairaudit_reports.view.numerals import figures_after_point, fixed, loss_text, p_text

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = [
    "Change",
    "Model",
    "describe_rows",
    "list_audits",
    "list_changes",
    "list_gap_sizes",
    "list_models",
    "list_notes",
    "name_chosen",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One measure before and after, and what it means; `is_verdict` where it is the verdict."""

    name: str
    before: str
    after: str
    about: str | None = None
    is_verdict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of the curve; undefined numbers are None."""

    mu: float
    loss: float
    kpc: float
    deo: float | None
    prediction_gap: float | None
    p_value: float | None
    p_train: float | None
    chosen: bool
    fate: str


def name_chosen(result: RemedyResult) -> str:
    """``hgr, λ = 3``."""
    return f"{result.method}, {result.symbol} = {result.mu:g}"


def list_audits(result: RemedyResult) -> list[tuple[str, str, AuditResult]]:
    """When, which model, and its audit; before comes first."""
    old = "plain training" if result.old is None else result.old
    return [("Before", old, result.before), ("After", name_chosen(result), result.after)]


def list_changes(result: RemedyResult) -> list[Change]:
    """Every measure before and after."""
    before, after = result.before, result.after
    changes = [
        Change(
            name="verdict", before=str(before.verdict), after=str(after.verdict), is_verdict=True
        ),
        Change(
            name="joint test, p",
            before=p_text(before.p_value),
            after=p_text(after.p_value),
            about="Small: evidence against equalized odds.",
        ),
        Change(
            name="KPC",
            before=fixed(before.joint.kpc),
            after=fixed(after.joint.kpc),
            about="Size of the dependence on the attributes given the outcome; 0 is none.",
        ),
    ]
    for key, name, in_units, about in (
        ("deo", "DEO", False, "Distances of the groups’ rates from the common rate, summed."),
        (
            "prediction_gap",
            "prediction gap",
            True,
            "Largest difference of two groups’ predictions given the outcome, in its units; 0 is "
            "none.",
        ),
        ("mean_error_difference", "mean errors (calibration)", True, None),
    ):
        sizes = [find_measure(audit, key) for audit in (before, after)]
        known = [abs(size) for size in sizes if size is not None]
        if known:
            digits = figures_after_point(max(known)) if in_units else 3
            old, new = (fixed(size, digits) for size in sizes)
            changes.append(Change(name=name, before=old, after=new, about=about))
    old, new = (loss_text(value, result.loss_name) for value in result.loss)
    share = "Share of rows with a wrong label." if result.loss_name == "misclassified" else None
    return [*changes, Change(name=result.loss_name, before=old, after=new, about=share)]


def list_models(result: RemedyResult) -> list[Model]:
    """The models of the curve."""
    return [
        Model(
            mu=record["mu"],
            loss=record["loss"],
            kpc=record["kpc"],
            deo=_keep_number(record["deo"]),
            prediction_gap=_keep_number(record.get("prediction_gap")),
            p_value=_keep_number(record["p_value"]),
            p_train=_keep_number(record["p_train"]),
            chosen=record["chosen"],
            fate=_describe_fate(record),
        )
        for record in result.curve.to_dict("records")
    ]


def _keep_number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _describe_fate(record: dict[Any, Any]) -> str:
    """What became of a model."""
    fates = (
        ("chosen", record["chosen"]),
        ("collapsed", record["collapsed"] is not None),
        ("worse than the mixture", record["dominated"]),
    )
    return ", ".join(name for name, holds in fates if holds)


def list_gap_sizes(models: Sequence[Model]) -> tuple[str, list[str]] | None:
    """The size of gaps that the models have, and that of each: DEO, or the prediction gap."""
    if any(model.deo is not None for model in models):
        return "DEO", [fixed(model.deo) for model in models]
    gaps = [abs(model.prediction_gap) for model in models if model.prediction_gap is not None]
    if not gaps:
        return None
    digits = figures_after_point(max(gaps))
    return "prediction gap", [fixed(model.prediction_gap, digits) for model in models]


def describe_rows(result: RemedyResult) -> str:
    """On which rows the curve was measured."""
    if result.rows["choice"]:
        return f"the {result.rows['choice']:,} rows for choosing"
    return "the audited rows, since nothing was chosen"


def list_notes(result: RemedyResult) -> list[str]:
    """Of the remedy, then of both audits; those of one audit say of which."""
    before, after = result.before.notes, result.after.notes
    return [
        *result.notes,
        *(note for note in after if note in before),
        *(f"Before: {note}" for note in before if note not in after),
        *(f"After: {note}" for note in after if note not in before),
    ]
