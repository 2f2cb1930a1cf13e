"""A remedy as Markdown: the outcome, the answers, what changed, the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.markdown import markdown_parts as m
from fairaudit_reports.view.remedy_answer_view import list_answers, title_advice
from fairaudit_reports.view.remedy_view import (
    build_curve_columns,
    describe_mixture,
    describe_models,
    describe_rows,
    list_audits,
    list_changes,
    list_models,
    list_notes,
    select_models,
)
from fairaudit_reports.view.wording import LONGEST_NOTE, capitalize, clean, end_sentence

if TYPE_CHECKING:
    from fairaudit.remedy.remedy_result import RemedyResult

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
        f"- **{question}** {m.escape(clean(end_sentence(answer), LONGEST_NOTE))}"
        for question, answer in list_answers(result)
    ]
    changes = [[change.name, change.before, change.after] for change in list_changes(result)]
    title = title_advice(result)
    parts = [
        f"## {_MARKS.get(outcome, '❔')} Remedy toward equalized odds: {capitalize(outcome)}",
        m.escape(clean(result.headline, LONGEST_NOTE)),
        "\n".join(audits),
        "\n".join(answers),
        m.table(["", "before", "after"], changes, right=[1, 2]),
        f"Both on the same {result.rows['audit']:,} rows, which nothing else has seen.",
        *([f"### {title}", m.line_list(_clean(result.advice))] if title else []),
        _models(result),
        m.folded("Notes", [m.line_list(_clean(list_notes(result)))]) if list_notes(result) else "",
        m.code_block(result.command) if result.command else "",
    ]
    return m.join_parts(parts) + "\n"


def _models(result: RemedyResult) -> str:
    models = list_models(result)
    shown = select_models(models)
    heads, texts = zip(*build_curve_columns(result, shown), strict=True)
    table = m.table(heads, zip(*texts, strict=True), right=range(1, len(heads) - 1))
    said = (describe_mixture(result), *describe_models(models, shown))
    return m.folded(
        f"Models ({len(models)})",
        [
            m.escape(f"On {describe_rows(result)}. Chosen: {clean(result.because, LONGEST_NOTE)}."),
            table,
            *(m.escape(text) for text in said if text),
        ],
    )


def _clean(sentences: tuple[str, ...] | list[str]) -> list[str]:
    return [clean(text, LONGEST_NOTE) for text in sentences]
