"""A remedy as plain text: both verdicts, the answers, what changed, and the curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import rows_table, wrap_line
from fairaudit_reports.view.power_view import build_power_section
from fairaudit_reports.view.remedy_answer_view import list_answers, title_advice
from fairaudit_reports.view.remedy_sections import build_changes_section, build_models_section
from fairaudit_reports.view.remedy_view import list_audits
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
    """The answers, what changed, the curve, what could have been found, advice and notes."""
    changes, models = build_changes_section(result), build_models_section(result, narrow=True)
    lines = [
        *_format_answers(result),
        "",
        *changes.lines,
        rows_table(changes, indent="  "),
        "",
        *wrap_line(f"{models.title}{_describe_training(result)}", indent=""),
        rows_table(models, indent="  "),
        *(line for text in models.lines for line in wrap_line(clean(text, LONGEST_NOTE))),
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
        for line in wrap_line(clean(f"{question} {answer}", LONGEST_NOTE), indent="")
    ]


def _describe_training(result: RemedyResult) -> str:
    return (
        "" if result.goal and not result.rows["choice"] else f" ({result.rows['train']:,} to train)"
    )


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
