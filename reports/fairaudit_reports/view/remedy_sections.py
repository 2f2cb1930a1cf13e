"""The tables of a remedy that all formats but the page show alike: what changed, and the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.view.remedy_view import (
    build_curve_columns,
    describe_mixture,
    describe_models,
    describe_rows,
    list_changes,
    list_models,
    select_models,
)
from fairaudit_reports.view.sections import Section

if TYPE_CHECKING:
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["build_changes_section", "build_models_section"]


def build_changes_section(result: RemedyResult) -> Section:
    """Every measure before and after."""
    return Section(
        title="What changed",
        head=["", "before", "after"],
        rows=[[change.name, change.before, change.after] for change in list_changes(result)],
        right=frozenset({1, 2}),
        lines=(f"Both on the same {result.rows['audit']:,} rows, which nothing else has seen.",),
    )


def build_models_section(result: RemedyResult, *, narrow: bool = False) -> Section:
    """The best models of the curve, the rule that chose, and what a reader must know of them."""
    models = list_models(result)
    shown = select_models(models)
    heads, texts = zip(*build_curve_columns(result, shown, narrow=narrow), strict=True)
    said = (describe_mixture(result), *describe_models(models, shown))
    return Section(
        title=f"Models ({len(models):,}), on {describe_rows(result)}",
        head=list(heads),
        rows=[list(row) for row in zip(*texts, strict=True)],
        right=frozenset(range(1, len(heads) - 1)),
        lines=(f"Chosen: {result.because}.", *(text for text in said if text)),
    )
