"""A remedy as Markdown: the outcome, the answers, what changed, the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.markdown import markdown_parts as m
from fairaudit_reports.view.remedy_answer_view import list_answers, title_advice
from fairaudit_reports.view.remedy_sections import build_changes_section, build_models_section
from fairaudit_reports.view.remedy_view import list_audits, list_notes
from fairaudit_reports.view.wording import LONGEST_NOTE, capitalize, clean

if TYPE_CHECKING:
    from fairaudit.remedy.remedy_result import RemedyResult
    from fairaudit_reports.view.sections import Section

__all__ = ["render"]

_MARKS = {"repaired": "✅", "not repaired": "❌"}


def render(result: RemedyResult) -> str:
    """For a file, a step's summary or a comment."""
    outcome = str(result.outcome)
    audits = [
        f"- {when}: **{audit.verdict}** ({m.escape(clean(model))})"
        for when, model, audit in list_audits(result)
    ]
    answers = [
        f"- **{question}** {m.escape(clean(answer, LONGEST_NOTE))}"
        for question, answer in list_answers(result)
    ]
    changes, title = build_changes_section(result), title_advice(result)
    parts = [
        f"## {_MARKS.get(outcome, '❔')} Remedy toward equalized odds: {capitalize(outcome)}",
        m.escape(clean(result.headline, LONGEST_NOTE)),
        "\n".join(audits),
        "\n".join(answers),
        _table(changes),
        *changes.lines,
        *([f"### {title}", m.line_list(_clean(result.advice))] if title else []),
        _models(result),
        m.folded("Notes", [m.line_list(_clean(list_notes(result)))]) if list_notes(result) else "",
        m.code_block(result.command) if result.command else "",
    ]
    return m.join_parts(parts) + "\n"


def _models(result: RemedyResult) -> str:
    section = build_models_section(result)
    return m.folded(section.title, [_table(section), m.line_list(_clean(section.lines))])


def _table(section: Section) -> str:
    return m.table(section.head or [], section.rows, right=section.right)


def _clean(sentences: tuple[str, ...] | list[str]) -> list[str]:
    return [clean(text, LONGEST_NOTE) for text in sentences]
