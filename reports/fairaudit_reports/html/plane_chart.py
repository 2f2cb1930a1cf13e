"""Models in a plane of two sizes, joined in their order as far as they have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fairaudit_reports.html.chart_parts import (
    Scale,
    axis_ticks,
    chart,
    level_line,
    place,
    upright_line,
    word,
)
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.numerals import number

__all__ = ["Point", "plane"]

_TOP, _BASE = 40.0, 320.0
_NARROW = 3.4  # pixels of one percent on a phone
_SAME = 6  # pixels between points that share a label
_WORSE = 4  # a dot below a label, beside a place of a line


@dataclass(frozen=True, slots=True)
class Point:
    """One model in a plane of two sizes."""

    label: str
    x: float
    y: float
    strong: bool = False


def plane(
    points: Sequence[Point],
    other: Sequence[Point],
    *,
    x_name: str,
    y_name: str,
    title: str,
    description: str,
    joined: Sequence[Point] | None = None,
) -> Markup:
    """Points, joined in their order, beside a dashed line through `other`.

    `joined` are the points of the line where it does not run through all.
    """
    line = points if joined is None else joined
    xs = [0.0, *(point.x for point in (*points, *other))]
    ys = [point.y for point in (*points, *other)]
    across = _padded(min(xs), max(xs), 15.0, 95.0)  # numbers on the left
    upwards = _padded(min(ys), max(ys), _BASE - 30, _TOP + 16)
    marks = _axes(across, upwards, x_name, y_name)
    for path, kind in ((other, "trivial"), (line, "path")):
        marks += [
            tag(
                "line",
                x1=place(across, start.x),
                y1=upwards(start.y),
                x2=place(across, end.x),
                y2=upwards(end.y),
                class_=kind,
            )
            for start, end in pairwise(path)
        ]
    for point in sorted(points, key=lambda point: point.strong):
        marks.append(
            tag(
                "circle",
                cx=place(across, point.x),
                cy=upwards(point.y),
                r=8 if point.strong else 5 if point.label or joined is None else 3,
                class_="chosen" if point.strong else "dot",
            )
        )
    places = [(across(point.x), upwards(point.y)) for point in points]
    lines = [[(across(point.x), upwards(point.y)) for point in path] for path in (line, other)]
    numbers = [
        (0.0, upwards(tick) - 15, 7.5 * len(number(tick)), upwards(tick))
        for tick in upwards.ticks(5)
    ]
    for point, (x, y, anchor) in _labels(points, places, lines, numbers):
        kind = "strong" if point.strong else "tick"
        away = _away(point)
        dx = {"start": away, "end": -away, "middle": 0}[anchor]
        marks.append(
            tag("text", point.label, x=f"{x:.3f}%", dx=dx, y=y, text_anchor=anchor, class_=kind)
        )
    return chart(marks, _BASE + 46, title=title, description=description)


def _axes(across: Scale, upwards: Scale, x_name: str, y_name: str) -> list[Markup]:
    marks = [word(y_name, "0%", 14, anchor="start", class_="tick")]
    for tick in upwards.ticks(5):
        marks.append(level_line("0%", "100%", upwards(tick), class_="grid"))
        label = number(tick)
        marks.append(word(label, "0%", upwards(tick) - 4, anchor="start", class_="tick"))
    return [
        *marks,
        upright_line(place(across, 0.0), _TOP, _BASE, class_="axis"),
        level_line("0%", "100%", _BASE, class_="axis"),
        *axis_ticks(across, _BASE),
        word(x_name, "100%", _BASE + 40, anchor="end", class_="tick"),
    ]


def _padded(low: float, high: float, first: float, last: float) -> Scale:
    if high - low < 1e-9:
        low, high = low - 0.5 * abs(low) - 1e-3, high + 0.5 * abs(high) + 1e-3
    return Scale(low, high, first, last)


def _labels(
    points: Sequence[Point],
    places: Sequence[tuple[float, float]],
    lines: Sequence[Sequence[tuple[float, float]]],
    taken: Sequence[tuple[float, float, float, float]],
) -> list[tuple[Point, tuple[float, float, str]]]:
    """Labels where even on a phone they touch no other label, nothing `taken` and no dot that has
    a label.

    Of these places the one with the fewest dots and lines below; the rest is left out.
    """
    boxes = [*taken] + [
        (x * _NARROW - 6, y - 6, x * _NARROW + 6, y + 6)
        for point, (x, y) in zip(points, places, strict=True)
        if point.label
    ]
    crossings = [crossing for line in lines for crossing in _along(line)]
    crossings += _WORSE * [
        (x * _NARROW, y) for point, (x, y) in zip(points, places, strict=True) if not point.label
    ]
    spots = []
    named = _share_labels([pair for pair in zip(points, places, strict=True) if pair[0].label])
    for point, (x, y) in sorted(named, key=lambda pair: -pair[0].strong):
        wide, best = 7.5 * len(point.label), None
        for spot in (
            (x, y - 12, "middle"),
            (x, y + 22, "middle"),
            (x, y + 4, "start"),
            (x, y + 4, "end"),
            (x, y - 8, "start"),
            (x, y + 16, "start"),
            (x, y - 8, "end"),
            (x, y + 16, "end"),
        ):
            away = _away(point)
            aside = {"start": away, "end": -away - wide, "middle": -wide / 2}[spot[2]]
            left = x * _NARROW + aside
            box = (left, spot[1] - 11, left + wide, spot[1] + 3)
            if left < 0 or box[2] > 100 * _NARROW or any(_touch(box, other) for other in boxes):
                continue
            crossed = sum(box[0] < a < box[2] and box[1] < b < box[3] for a, b in crossings)
            if best is None or crossed < best[0]:
                best = (crossed, spot, box)
        if best is not None:
            boxes.append(best[2])
            spots.append((point, best[1]))
    return spots


def _share_labels(
    named: Sequence[tuple[Point, tuple[float, float]]],
) -> list[tuple[Point, tuple[float, float]]]:
    """One label for points at the same place: μ 0.7, 0.95, 0.99."""
    shared: list[tuple[Point, tuple[float, float]]] = []
    for point, (x, y) in named:
        same = [
            k
            for k, (other, (a, b)) in enumerate(shared)
            if abs(x - a) * _NARROW < _SAME and abs(y - b) < _SAME and not other.strong
        ]
        if not same or point.strong:
            shared.append((point, (x, y)))
            continue
        first = shared[same[0]][0].label
        symbol = first.split(" ")[0] + " "
        label = f"{first}, {point.label.removeprefix(symbol)}"
        shared[same[0]] = (replace(point, label=label), shared[same[0]][1])
    return shared


def _away(point: Point) -> int:
    """Pixels between the middle of a dot and a label beside it."""
    return 14 if point.strong else 10


def _along(line: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places along a line, in pixels."""
    return [
        ((a[0] + (b[0] - a[0]) * k / 24) * _NARROW, a[1] + (b[1] - a[1]) * k / 24)
        for a, b in pairwise(line)
        for k in range(25)
    ]


def _touch(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
