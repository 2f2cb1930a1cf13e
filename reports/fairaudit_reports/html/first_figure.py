"""The picture beside the first sentences: both sides of every difference that they tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html.chart_parts import Scale, chart, upright_line, word
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.cover import level_label, name_label
from fairaudit_reports.view.numerals import number
from fairaudit_reports.view.statements_view import describe_group

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.portrait.contrast import Contrast

__all__ = ["first_figure", "list_first_pictures"]

_ROW, _TOP = 22.0, 20.0


def first_figure(result: AuditResult) -> Markup | None:
    """None where no sentence compares people."""
    charts = [chart for _, chart in list_first_pictures(result)]
    return tag("figure", *charts, class_="beside") if charts else None


def list_first_pictures(result: AuditResult) -> list[tuple[str, Markup]]:
    """Titles and pictures, one per sentence that compares people."""
    outcome = result.table.outcome.name
    contrasts = [s.contrast for s in result.statements if s.contrast is not None]
    return [(_title(contrast, outcome), _picture(contrast, outcome)) for contrast in contrasts]


def _picture(contrast: Contrast, outcome: str) -> Markup:
    rate = contrast.quantity == "rate"
    group = describe_group(contrast.attributes, contrast.levels)
    others = (
        "all others"
        if contrast.others is None
        else describe_group(contrast.attributes, contrast.others)
    )
    values = (contrast.own, contrast.other)
    if rate:
        scale = Scale(0.0, 1.0, 0.0, 88.0)
    else:
        low, high = min(0.0, *values), max(0.0, *values)
        scale = Scale(low, high if high > low else low + 1.0, 0.0, 88.0)
    title = _title(contrast, outcome)
    marks = [word(title, "0%", 12, anchor="start", class_="tick")]
    y = _TOP
    for place, (label, value) in enumerate(zip((group, others), values, strict=True)):
        short = label if len(label) <= 40 else label[:39] + "…"
        marks.append(word(short, "0%", y + 13, anchor="start", class_="label"))
        left, right = sorted((scale(0.0), scale(value)))
        marks.append(
            tag(
                "rect",
                x=f"{left:.2f}%",
                width=f"{max(right - left, 0.5):.2f}%",
                y=y + 18,
                height=12,
                class_="bar" if place else "bar reached",
            )
        )
        marks.append(upright_line(f"{scale(0.0):.2f}%", y + 16, y + 32, class_="axis"))
        text = f"{100 * value:.0f} %" if rate else number(value, 3)
        marks.append(word(text, f"{right + 1.5:.2f}%", y + 28, anchor="start", class_="tick"))
        y += _ROW + 14
    description = f"{group}: {number(values[0], 3)}; {others}: {number(values[1], 3)}."
    return chart(marks, y + 10, title=title, description=description)


def _title(contrast: Contrast, outcome: str) -> str:
    name = name_label(outcome)
    among = (
        f"given {name}"
        if contrast.outcome is None
        else (f"among {name} = {level_label(outcome, contrast.outcome)}")
    )
    if contrast.quantity == "rate":
        predicted = level_label(outcome, contrast.predicted or "positive")
        return f"Predicted {predicted}, {among}"
    what = "Mean score" if contrast.quantity == "score" else "Mean prediction"
    return f"{what}, {among}"
