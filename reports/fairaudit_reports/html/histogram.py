"""The copies' statistics as bars, the observed one as a marked line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairaudit_reports.html.chart_parts import (
    Scale,
    axis_ticks,
    chart,
    level_line,
    upright_line,
    word,
)
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.numerals import number

__all__ = ["far_away", "histogram"]

NARROWEST = 0.1  # share of the histogram's width that the copies need, or the axis is broken
_BROKEN = 0.7  # their share of a broken axis
_TOP, _BASE = 44.0, 244.0


def histogram(
    null: Sequence[float], observed: float | None, *, title: str, description: str
) -> Markup:
    """Bars and line.

    Where the observed value is so far away that the copies would shrink to a sliver, the axis is
    broken between them.
    """
    scale, broken = _scale(null, observed)
    edges, counts = _bins(null, observed, scale)
    line = None if observed is None else _place(observed, scale, broken)
    marks = [
        *_grid(edges, counts, scale, line),
        *_bars(edges, counts, scale, observed),
        level_line("0%", "100%", _BASE, class_="axis"),
        *axis_ticks(scale, _BASE),
    ]
    if observed is not None and line is not None:
        marks += _observed(line, observed)
    if broken:
        marks.append(_break(broken))
    return chart(marks, _BASE + 26, title=title, description=description)


def _grid(edges: list[float], counts: list[int], scale: Scale, line: float | None) -> list[Markup]:
    """Lines at round counts, with their numbers where nothing else stands."""
    highest = max(counts)
    height = (_BASE - _TOP) / highest
    x, anchor = _free_place(edges, counts, scale, line)
    marks = []
    for tick in Scale(0, highest).ticks(3):
        if not 0 < tick == int(tick):
            continue
        y = _BASE - tick * height
        marks.append(level_line("0%", "100%", y, class_="grid"))
        copies = "1 copy" if tick == 1 else f"{tick:,.0f} copies"
        marks.append(word(copies, x, y - 4, anchor=anchor, class_="tick"))
    return marks


def _bars(
    edges: list[float], counts: list[int], scale: Scale, observed: float | None
) -> list[Markup]:
    height = (_BASE - _TOP) / max(counts)
    marks = []
    for left, right, count in zip(edges, edges[1:], counts, strict=False):
        if count:
            start, tall = scale(left), count * height
            wide = max(scale(right) - start - 0.12, 0.2)
            reached = observed is not None and left >= observed - (right - left) / 2
            marks.append(
                tag(
                    "rect",
                    x=f"{start:.3f}%",
                    width=f"{wide:.3f}%",
                    y=_BASE - tall,
                    height=tall,
                    class_="bar reached" if reached else "bar",
                )
            )
    return marks


def far_away(null: Sequence[float], observed: float | None) -> bool:
    """Whether the axis is broken between the copies and the observed value."""
    return bool(_scale(null, observed)[1])


def _scale(null: Sequence[float], observed: float | None) -> tuple[Scale, str]:
    """Where the copies lie, and on which side the axis is broken (``""``: not at all)."""
    low, high = min(null), max(null)
    span = high - low
    if span <= 1e-9 * max(abs(low), abs(high)):  # constant
        span = max(abs(high - observed) if observed is not None else 0.0, abs(high) / 10, 1e-3)
        low, high = low - span / 4, high + span / 4
    pad = (high - low) / 12
    low, high = low - pad, high + pad
    if observed is None or low < observed < high:
        return Scale(low, high), ""
    far = observed - low if observed >= high else high - observed
    if (high - low) / (far * 1.1) >= NARROWEST:
        return (
            Scale(low, observed + far / 10)
            if observed >= high
            else Scale(observed - far / 10, high)
        ), ""
    if observed >= high:
        return Scale(low, high, 0.0, 100 * _BROKEN), "right"
    return Scale(low, high, 100 * (1 - _BROKEN), 100.0), "left"


def _bins(
    null: Sequence[float], observed: float | None, scale: Scale
) -> tuple[list[float], list[int]]:
    """Equal bins over the copies, with the observed value on an edge where it lies among them."""
    low, high = min(null), max(null)
    wanted = min(36, max(12, 2 * math.isqrt(len(null))))
    share = (scale(high) - scale(low)) / 100
    width = (high - low) / min(wanted, max(8, round(1.5 * wanted * share)))
    start = low
    if width <= 1e-9 * max(abs(low), abs(high)):  # constant
        width = (scale.high - scale.low) / 24
        start = low - width / 2
    slack = 0.0 if observed is None else 1e-12 * max(1.0, abs(observed))
    if observed is not None and start < observed <= high + slack:
        start = observed - math.ceil((observed - start) / width - 1e-9) * width
        size = math.floor((high - start + slack) / width) + 1
    else:
        size = max(1, math.ceil((high - start) / width - 1e-6))
    counts = [0] * size
    for value in null:
        counts[min(size - 1, max(0, math.floor((value - start + slack) / width)))] += 1
    return [start + width * k for k in range(size + 1)], counts


def _free_place(
    edges: list[float], counts: list[int], scale: Scale, line: float | None
) -> tuple[str, str]:
    """Where words leave bars and line alone: a position and an anchor."""

    def crowd(first: float, last: float) -> float:
        bars = (
            count / max(counts)
            for edge, count in zip(edges, counts, strict=False)
            if first <= scale(edge) <= last
        )
        return max(bars, default=0.0) + (line is not None and first <= line <= last)

    places = [
        (crowd(76, 100), "100%", "end"),
        (crowd(0, 24), "0%", "start"),
        *((crowd(x - 13, x + 13) + 0.1, f"{x}%", "middle") for x in (50, 30, 70)),
    ]
    _, x, anchor = min(places, key=lambda place: place[0])
    return x, anchor


def _place(observed: float, scale: Scale, broken: str) -> float:
    """Where the observed value stands, in percent."""
    return {"": scale(observed), "right": 92.0, "left": 8.0}[broken]


def _observed(x: float, observed: float) -> list[Markup]:
    anchor = "start" if x < 20 else "end" if x > 80 else "middle"
    point = tag("path", d="M-6 0h12l-6 9z", class_="pointer")
    label = f"observed {number(observed)}"
    return [
        upright_line(f"{x:.3f}%", 26, _BASE, class_="observed"),
        tag("svg", point, x=f"{x:.3f}%", y=20, overflow="visible", width=1, height=1),
        word(label, f"{x:.3f}%", 13, anchor=anchor, class_="strong"),
    ]


def _break(side: str) -> Markup:
    """Two strokes through the axis."""
    x = (100 * _BROKEN + 92) / 2 if side == "right" else (100 * (1 - _BROKEN) + 8) / 2
    strokes = tag("path", d="M-7 8l6-16M1 8l6-16", class_="axis")
    gap = tag("rect", x=-3, y=-3, width=6, height=6, class_="gap")
    return tag("svg", gap, strokes, x=f"{x:.3f}%", y=_BASE, overflow="visible", width=1, height=1)
