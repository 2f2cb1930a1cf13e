"""Lines over a number, one per group, with bands: curves of scores, rates and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairaudit_reports.html.chart_parts import Scale, chart, level_line, upright_line, word
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.numerals import number

__all__ = ["Line", "legend", "line_chart", "span_of"]

_TOP, _BASE = 24.0, 172.0
_LEFT, _RIGHT = 14.0, 97.0
COLORS = 6  # classes of the style sheet: series-0 to series-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A curve; `low` and `high` are its band. Places without a value divide it."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


def span_of(values: Iterable[float | None], *, zero: bool = False) -> tuple[float, float]:
    """From the smallest to the largest, never of width 0."""
    known = [value for value in values if value is not None]
    if zero:
        known.append(0.0)
    low, high = min(known, default=0.0), max(known, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def line_chart(
    lines: Sequence[Line],
    *,
    across: tuple[float, float],
    upwards: tuple[float, float],
    title: str,
    about_y: str,
    mark: float | None = None,
    diagonal: bool = False,
) -> Markup:
    """The lines in one picture; `mark` is a place on the axis, the threshold say."""
    horizontal = Scale(*across, _LEFT, _RIGHT)
    vertical = Scale(*upwards, _BASE, _TOP)
    marks = [word(about_y, "0%", 12, anchor="start", class_="tick")]
    for tick in vertical.ticks(4):
        y = vertical(tick)
        kind = "axis" if tick == 0 else "grid"
        marks.append(level_line(f"{_LEFT:g}%", f"{_RIGHT:g}%", y, class_=kind))
        marks.append(word(number(tick), f"{_LEFT - 1.5:g}%", y + 4, anchor="end", class_="tick"))
    for tick in horizontal.ticks(4):
        x = horizontal(tick)
        anchor = "end" if x > 93 else "middle"
        marks.append(word(number(tick), f"{x:.2f}%", _BASE + 17, anchor=anchor, class_="tick"))
    if mark is not None and across[0] <= mark <= across[1]:
        marks.append(upright_line(f"{horizontal(mark):.2f}%", _TOP, _BASE, class_="threshold"))
    marks.append(_stretched(lines, horizontal, vertical, diagonal=diagonal))
    names = ", ".join(line.label for line in lines)
    return chart(marks, _BASE + 22, title=title, description=f"{len(lines)} lines: {names}.")


def legend(labels: Sequence[str]) -> Markup:
    """What the colors and dashes are."""
    items = (tag("li", _sample(place), tag("span", label)) for place, label in enumerate(labels))
    return tag("ul", *items, class_="key")


def _sample(place: int) -> Markup:
    return tag(
        "svg",
        tag("line", x1=0, x2=28, y1=6, y2=6, class_=f"series series-{place % COLORS}"),
        width=28,
        height=12,
        class_="sample",
        aria_hidden="true",
        focusable="false",
    )


def _stretched(lines: Sequence[Line], across: Scale, upwards: Scale, *, diagonal: bool) -> Markup:
    """Bands and lines, stretched in width only: text beside them keeps its shape."""
    marks = []
    if diagonal:
        ends = [(across.low, upwards.low), (across.high, upwards.high)]
        marks.append(_polyline(ends, across, upwards, "diagonal"))
    for place, line in enumerate(lines):
        if line.low and line.high:
            marks.append(_band(line, across, upwards, place))
    for place, line in enumerate(lines):
        kind = f"series series-{place % COLORS}"
        marks += [_polyline(part, across, upwards, kind) for part in _unbroken(line.x, line.y)]
    return tag(
        "svg",
        join(marks),
        x=0,
        y=0,
        width="100%",
        height=_BASE + 1,
        viewBox=f"0 0 100 {_BASE + 1:g}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _unbroken(x: Sequence[float], y: Sequence[float | None]) -> list[list[tuple[float, float]]]:
    parts: list[list[tuple[float, float]]] = [[]]
    for place, value in zip(x, y, strict=True):
        if value is None:
            parts.append([])
        else:
            parts[-1].append((place, value))
    return [part for part in parts if len(part) > 1]


def _polyline(
    points: Iterable[tuple[float, float]], across: Scale, upwards: Scale, kind: str
) -> Markup:
    text = " ".join(f"{across(x):.2f},{upwards(y):.1f}" for x, y in points)
    return tag("polyline", points=text, class_=kind, vector_effect="non-scaling-stroke")


def _band(line: Line, across: Scale, upwards: Scale, place: int) -> Markup:
    ends = [
        (x, low, high)
        for x, low, high in zip(line.x, line.low, line.high, strict=True)
        if low is not None and high is not None
    ]
    around = [(x, high) for x, _, high in ends] + [(x, low) for x, low, _ in reversed(ends)]
    points = " ".join(f"{across(x):.2f},{upwards(y):.1f}" for x, y in around)
    return tag("polygon", points=points, class_=f"band band-{place % COLORS}")
