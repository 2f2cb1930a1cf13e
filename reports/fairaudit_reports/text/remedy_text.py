"""A remedy as plain text: both verdicts, the answers, what changed, and the curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import aligned_table, rows_table, wrap_line
from fairaudit_reports.view.power_view import build_power_section
from fairaudit_reports.view.remedy_answer_view import list_answers, title_advice
from fairaudit_reports.view.remedy_view import (
    build_curve_columns,
    describe_mixture,
    describe_models,
    describe_rows,
    list_audits,
    list_changes,
    list_models,
    select_models,
)
from fairaudit_reports.view.wording import LONGEST, LONGEST_NOTE, clean, end_sentence

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.remedy.remedy_result import RemedyResult
    from fairaudit_reports.view.remedy_view import Model

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
    """The answers, what changed, the curve, what could have been found, advice and notes."""
    rows = result.rows
    changes = [[change.name, change.before, change.after] for change in list_changes(result)]
    models = list_models(result)
    shown = select_models(models)
    lines = [
        *_format_answers(result),
        "",
        f"On {rows['audit']:,} rows that neither training nor the choice of a model has seen",
        aligned_table([["", "before", "after"], *changes], indent="  "),
        "",
        *wrap_line(f"Models, on {describe_rows(result)}{_describe_training(result)}", indent=""),
        aligned_table(_build_curve_rows(result, shown), indent="  "),
        *wrap_line(clean(f"Chosen: {result.because}.", LONGEST_NOTE)),
        *(
            line
            for text in (describe_mixture(result), *describe_models(models, shown))
            if text
            for line in wrap_line(text)
        ),
        *_format_detectable(result),
    ]
    for title, sentences in ((title_advice(result), result.advice), ("Notes", result.notes)):
        if title and sentences:
            lines += ["", title]
            lines += [
                x for text in sentences for x in wrap_line(clean(text, 2 * LONGEST), mark="- ")
            ]
    return lines


def _format_answers(result: RemedyResult) -> list[str]:
    return [
        line
        for question, answer in list_answers(result)
        for line in wrap_line(clean(f"{question} {end_sentence(answer)}", LONGEST_NOTE), indent="")
    ]


def _describe_training(result: RemedyResult) -> str:
    return (
        "" if result.goal and not result.rows["choice"] else f" ({result.rows['train']:,} to train)"
    )


def _build_curve_rows(result: RemedyResult, models: Sequence[Model]) -> list[list[str]]:
    columns = build_curve_columns(result, models, narrow=True)
    heads, texts = zip(*columns, strict=True)
    return [list(heads), *map(list, zip(*texts, strict=True))]


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
