"""A remedy as plain text: both verdicts, what changed, and the curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import aligned_table, rows_table, wrap_line
from fairaudit_reports.view.numerals import fixed, loss_text, p_text
from fairaudit_reports.view.power_view import build_power_section
from fairaudit_reports.view.remedy_view import (
    describe_rows,
    list_audits,
    list_changes,
    list_gap_sizes,
    list_models,
)
from fairaudit_reports.view.wording import LONGEST, LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["format_details", "format_headline", "list_verdicts", "render"]


def render(result: RemedyResult) -> str:
    """Plain text of at most 96 columns."""
    verdicts = [f"{name} {mark}: {model}" for name, _, mark, model in list_verdicts(result)]
    lines = [*format_headline(result), "", *verdicts, "", *format_details(result)]
    return "\n".join(lines) + "\n"


def format_headline(result: RemedyResult) -> list[str]:
    """What may be said of the repair as a whole."""
    return wrap_line(clean(result.headline, 2 * LONGEST), indent="")


def list_verdicts(result: RemedyResult) -> list[tuple[str, AuditResult, str, str]]:
    """Before and after: the name, the audit, the verdict in capitals, the model."""
    return [
        (f"{when}:".ljust(7), audit, str(audit.verdict).upper(), clean(model))
        for when, model, audit in list_audits(result)
    ]


def format_details(result: RemedyResult) -> list[str]:
    """What changed, the curve, what could have been found, advice and notes."""
    rows = result.rows
    changes = [[change.name, change.before, change.after] for change in list_changes(result)]
    lines = [
        f"On {rows['audit']:,} rows that neither training nor the choice of a model has seen",
        aligned_table([["", "before", "after"], *changes], indent="  "),
        "",
        f"Curve, on {describe_rows(result)} ({rows['train']:,} to train)",
        aligned_table(_build_curve_rows(result), indent="  "),
        *wrap_line(clean(f"Chosen: {result.because}.", LONGEST_NOTE)),
        *_format_detectable(result),
    ]
    for title, sentences in (("What would help", result.advice), ("Notes", result.notes)):
        if sentences:
            lines += ["", title]
            lines += [
                x for text in sentences for x in wrap_line(clean(text, 2 * LONGEST), mark="- ")
            ]
    return lines


def _build_curve_rows(result: RemedyResult) -> list[list[str]]:
    models = list_models(result)
    gaps = list_gap_sizes(models)
    size = [] if gaps is None else [gaps[0]]
    head = [result.symbol, "loss", "KPC", *size, "p", "p, training rows", ""]
    rows = [
        [
            f"{model.mu:g}",
            loss_text(model.loss, result.loss_name),
            fixed(model.kpc),
            *([] if gaps is None else [gaps[1][k]]),
            p_text(model.p_value),
            p_text(model.p_train),
            model.fate,
        ]
        for k, model in enumerate(models)
    ]
    return [head, *rows]


def _format_detectable(result: RemedyResult) -> list[str]:
    """What the audit after the repair could have found, group by group."""
    power, section = result.after.power, build_power_section(result.after.power)
    if power is None or section is None or not section.rows:
        return []
    return [
        "",
        f"What the audit after the repair could have found with {100 * power.power:g} % power",
        rows_table(section, indent="  "),
    ]
