"""One row per group: estimates as dots, intervals as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairaudit.evidence.measured import GIVEN_OUTCOME
from fairaudit_reports.html.chart_parts import Scale, chart, level_line, place, upright_line, word
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.groups_view import are_rates
from fairaudit_reports.view.numerals import number

if TYPE_CHECKING:
    from fairaudit.evidence.measured import CellTable

__all__ = ["Dot", "changes", "intervals", "scale_of_column"]

_STEP, _TOP = 36.0, 4.0


@dataclass(frozen=True, slots=True)
class Dot:
    """One estimate in a chart of intervals."""

    label: str
    value: float | None = None
    low: float | None = None
    high: float | None = None


def scale_around(values: Sequence[float]) -> Scale:
    """From the smallest to the largest number, with 0."""
    low, high = min(0.0, *values), max(0.0, *values)
    return Scale(low, high) if high > low else Scale(-1.0, 1.0)


def scale_of_column(table: CellTable, column: int, values: Sequence[float]) -> Scale:
    """Of rates from 0 to 1; of errors around 0; of predictions from the smallest to the largest."""
    if are_rates(table):
        return Scale(0.0, 1.0)
    if table.columns[column] == GIVEN_OUTCOME and max(values) > min(values):
        return Scale(min(values), max(values))
    return scale_around(values)


def intervals(
    dots: Sequence[Dot],
    scale: Scale,
    *,
    title: str,
    description: str,
    tolerated: float | None = None,
) -> Markup:
    """One row per group: its label, its estimate as a dot, its interval as a line.

    Sizes up to `tolerated` are shaded.
    """
    base = _TOP + _STEP * len(dots)
    inner = Scale(scale.low, scale.high, 3.0, 97.0)
    marks = [] if tolerated is None else [_shade(inner, tolerated, base)]
    marks += _upright(inner, base, scale.low)
    for row, dot in enumerate(dots):
        y = _row_place(row)
        marks.append(_label(dot, y))
        if dot.value is None:
            marks.append(_no_rows(y))
            continue
        if dot.low is not None and dot.high is not None:
            left, right = place(inner, dot.low), place(inner, dot.high)
            marks.append(level_line(left, right, y, class_="reach"))
            for end in (left, right):
                marks.append(upright_line(end, y - 4, y + 4, class_="reach"))
        marks.append(tag("circle", cx=place(inner, dot.value), cy=y, r=4.5, class_="dot"))
    marks += _below(inner, base)
    return chart(marks, base + 24, title=title, description=description)


def changes(
    before: Sequence[Dot], after: Sequence[Dot], scale: Scale, *, title: str, description: str
) -> Markup:
    """One row per group: a ring before, a dot with its interval after, a line between them."""
    base = _TOP + _STEP * len(after)
    inner = Scale(scale.low, scale.high, 3.0, 97.0)
    marks = _upright(inner, base, scale.low)
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        y = _row_place(row)
        marks.append(_label(new, y))
        if new.low is not None and new.high is not None:
            marks.append(
                level_line(place(inner, new.low), place(inner, new.high), y, class_="reach thin")
            )
        if old.value is not None and new.value is not None:
            marks.append(
                level_line(place(inner, old.value), place(inner, new.value), y, class_="moved")
            )
        for dot, kind in ((old, "ring"), (new, "dot")):
            if dot.value is not None:
                marks.append(tag("circle", cx=place(inner, dot.value), cy=y, r=4.5, class_=kind))
        if old.value is None and new.value is None:
            marks.append(_no_rows(y))
    marks += _below(inner, base)
    return chart(marks, base + 24, title=title, description=description)


def _shade(scale: Scale, tolerated: float, base: float) -> Markup:
    left, right = scale(-tolerated), scale(tolerated)
    return tag(
        "rect",
        x=f"{left:.2f}%",
        width=f"{right - left:.2f}%",
        y=_TOP,
        height=base - _TOP,
        class_="tolerated",
    )


def _row_place(row: int) -> float:
    return _TOP + _STEP * row + 26


def _label(dot: Dot, y: float) -> Markup:
    short = dot.label if len(dot.label) <= 44 else dot.label[:43] + "…"
    return word(short, "0%", y - 9, anchor="start", class_="tick inrow")


def _no_rows(y: float) -> Markup:
    return word("no rows", "50%", y + 4, anchor="middle", class_="tick")


def _upright(scale: Scale, base: float, low: float) -> list[Markup]:
    """Lines at the ticks; zero is an axis where it lies within."""
    return [
        upright_line(place(scale, tick), _TOP, base, class_="axis" if tick == 0 > low else "grid")
        for tick in scale.ticks(3)
    ]


def _below(scale: Scale, base: float) -> list[Markup]:
    """The axis with its numbers."""
    marks = [level_line("0%", "100%", base, class_="axis")]
    for tick in scale.ticks(3):
        x, label = scale(tick), number(tick)
        anchor = "middle" if len(label) < 4 or 4 < x < 96 else "start" if x < 4 else "end"
        marks.append(word(label, f"{x:.3f}%", base + 17, anchor=anchor, class_="tick"))
    return marks
