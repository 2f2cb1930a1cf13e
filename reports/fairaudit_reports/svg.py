"""Inline charts: fluid in width, so that text keeps its size on a phone and on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fairaudit_reports.markup import Markup, join, tag

__all__ = [
    "Dot",
    "Point",
    "Scale",
    "bar",
    "changes",
    "far_away",
    "histogram",
    "icon",
    "intervals",
    "number",
    "plane",
    "reaching",
]

NARROWEST = 0.1  # share of the histogram's width that the copies need, or the axis is broken
_BROKEN = 0.7  # their share of a broken axis
_ICONS = {
    "violation": "M15 3h18l12 12v18L33 45H15L3 33V15z",  # octagon
    "no violation found": "M24 3a21 21 0 1 0 0 42a21 21 0 1 0 0-42z",  # circle
    "inconclusive": "M24 2l22 22-22 22L2 24z",  # diamond
    "equivalent within tolerance": "M7 5h34v22c0 9-7 14-17 18C14 41 7 36 7 27z",  # shield
}
_SIGNS = {
    "violation": "M24 13v14M24 34.5v.5",  # exclamation mark
    "no violation found": "M15 24h18",  # dash: nothing found, which is not a tick
    "inconclusive": "M18.5 19a5.5 5.5 0 1 1 8 5c-1.8 1-2.5 2-2.5 4M24 34.5v.5",  # question mark
    "equivalent within tolerance": "M15 23l7 7 12-13",  # tick: shown
}


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high` as percentages of a chart's width."""

    low: float
    high: float
    first: float = 0.0
    last: float = 100.0

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.first + (self.last - self.first) * min(1.0, max(0.0, share))

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers within the scale.

        Examples
        --------
        >>> Scale(0, 1).ticks(), Scale(-0.013, 0.1).ticks()
        ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.025, 0.05, 0.075, 0.1])
        """
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / most))
        for step in (power * k for k in (1, 2, 2.5, 5, 10, 20, 25, 50)):
            start, end = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            if end - start < most:
                break
        return [float(f"{k * step:.10g}") for k in range(start, end + 1)]


@dataclass(frozen=True, slots=True)
class Dot:
    """One estimate in a chart of intervals."""

    label: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """One model in a plane of two sizes."""

    label: str
    x: float
    y: float
    strong: bool = False


def number(value: float, digits: int = 3) -> str:
    """Significant digits without an exponent where that stays short; a true minus sign.

    Examples
    --------
    >>> number(-0.0234567), number(1234567), number(0.05, 2), number(2.4e-14)
    ('−0.0235', '1,234,567', '0.05', '2.4e−14')
    """
    small = 0 < abs(value) < 1e-5
    large = abs(value) >= 1000
    text = f"{value:,.0f}" if large and abs(value) < 1e15 else f"{value:.{digits}g}"
    if not small and "e" in text:
        text = f"{value:.{digits + 4}f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


def reaching(null: Sequence[float], observed: float) -> int:
    """Copies at least as large as the data, up to rounding: what the p-value counts."""
    least = observed - 1e-12 * max(1.0, abs(observed))
    return sum(value >= least for value in null)


def icon(verdict: str) -> Markup:
    """The verdict's own shape; decoration, since the word stands beside it."""
    return tag(
        "svg",
        tag("path", d=_ICONS[verdict], class_="shape"),
        tag("path", d=_SIGNS[verdict], class_="sign"),
        viewBox="0 0 48 48",
        class_="icon",
        aria_hidden="true",
        focusable="false",
    )


def histogram(
    null: Sequence[float], observed: float | None, *, title: str, description: str
) -> Markup:
    """The copies' statistics as bars, the observed one as a marked line.

    Where the observed value is so far away that the copies would shrink to a sliver, the axis is
    broken between them.
    """
    scale, broken = _scale(null, observed)
    edges, counts = _bins(null, observed, scale)
    top, base = 44.0, 244.0
    highest = max(counts)
    steps = [tick for tick in Scale(0, highest).ticks(3) if 0 < tick == int(tick)]
    height = (base - top) / highest
    line = None if observed is None else _place(observed, scale, broken)
    x, anchor = _free_place(edges, counts, scale, line)
    marks = []
    for tick in steps:
        y = base - tick * height
        marks.append(_line("0%", "100%", y, class_="grid"))
        copies = "1 copy" if tick == 1 else f"{tick:,.0f} copies"
        marks.append(_text(x, y - 4, copies, anchor, "tick"))
    for left, right, count in zip(edges, edges[1:], counts, strict=False):
        if count:
            place, tall = scale(left), count * height
            wide = max(scale(right) - place - 0.12, 0.2)
            reached = observed is not None and left >= observed - (right - left) / 2
            marks.append(
                tag(
                    "rect",
                    x=f"{place:.3f}%",
                    width=f"{wide:.3f}%",
                    y=base - tall,
                    height=tall,
                    class_="bar reached" if reached else "bar",
                )
            )
    marks.append(_line("0%", "100%", base, class_="axis"))
    marks += _axis(scale, base)
    if observed is not None and line is not None:
        marks += _observed(line, observed, base)
    if broken:
        marks.append(_break(broken, base))
    return _svg(marks, base + 26, title, description)


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


def _observed(x: float, observed: float, base: float) -> list[Markup]:
    anchor = "start" if x < 20 else "end" if x > 80 else "middle"
    point = tag("path", d="M-6 0h12l-6 9z", class_="pointer")
    return [
        tag("line", x1=f"{x:.3f}%", x2=f"{x:.3f}%", y1=26, y2=base, class_="observed"),
        tag("svg", point, x=f"{x:.3f}%", y=20, overflow="visible", width=1, height=1),
        _text(f"{x:.3f}%", 13, f"observed {number(observed)}", anchor, "strong"),
    ]


def _break(side: str, base: float) -> Markup:
    """Two strokes through the axis."""
    x = (100 * _BROKEN + 92) / 2 if side == "right" else (100 * (1 - _BROKEN) + 8) / 2
    strokes = tag("path", d="M-7 8l6-16M1 8l6-16", class_="axis")
    gap = tag("rect", x=-3, y=-3, width=6, height=6, class_="gap")
    return tag("svg", gap, strokes, x=f"{x:.3f}%", y=base, overflow="visible", width=1, height=1)


def _axis(scale: Scale, base: float) -> list[Markup]:
    marks = []
    for tick in scale.ticks():
        x = scale(tick)
        marks.append(
            tag("line", x1=f"{x:.3f}%", x2=f"{x:.3f}%", y1=base, y2=base + 5, class_="axis")
        )
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        marks.append(_text(f"{x:.3f}%", base + 20, number(tick), anchor, "tick"))
    return marks


def intervals(dots: Sequence[Dot], scale: Scale, *, title: str, description: str) -> Markup:
    """One row per group: its label, its estimate as a dot, its interval as a line."""
    step, top = 36.0, 4.0
    base = top + step * len(dots)
    inner = Scale(scale.low, scale.high, 3.0, 97.0)
    marks = _upright(inner, top, base, scale.low)
    for row, dot in enumerate(dots):
        y = top + step * row + 26
        marks.append(_text("0%", y - 9, _short(dot.label), "start", "tick inrow"))
        if dot.value is None:
            marks.append(_text("50%", y + 4, "no rows", "middle", "tick"))
            continue
        if dot.low is not None and dot.high is not None:
            left, right = f"{inner(dot.low):.3f}%", f"{inner(dot.high):.3f}%"
            marks.append(_line(left, right, y, class_="reach"))
            for end in (left, right):
                marks.append(tag("line", x1=end, x2=end, y1=y - 4, y2=y + 4, class_="reach"))
        marks.append(tag("circle", cx=f"{inner(dot.value):.3f}%", cy=y, r=4.5, class_="dot"))
    marks += _below(inner, base)
    return _svg(marks, base + 24, title, description)


def changes(
    before: Sequence[Dot], after: Sequence[Dot], scale: Scale, *, title: str, description: str
) -> Markup:
    """One row per group: a ring before, a dot with its interval after, a line between them."""
    step, top = 36.0, 4.0
    base = top + step * len(after)
    inner = Scale(scale.low, scale.high, 3.0, 97.0)
    marks = _upright(inner, top, base, scale.low)
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        y = top + step * row + 26
        marks.append(_text("0%", y - 9, _short(new.label), "start", "tick inrow"))
        if new.low is not None and new.high is not None:
            marks.append(_line(_at(inner, new.low), _at(inner, new.high), y, class_="reach thin"))
        if old.value is not None and new.value is not None:
            marks.append(_line(_at(inner, old.value), _at(inner, new.value), y, class_="moved"))
        for dot, kind in ((old, "ring"), (new, "dot")):
            if dot.value is not None:
                marks.append(tag("circle", cx=_at(inner, dot.value), cy=y, r=4.5, class_=kind))
        if old.value is None and new.value is None:
            marks.append(_text("50%", y + 4, "no rows", "middle", "tick"))
    marks += _below(inner, base)
    return _svg(marks, base + 24, title, description)


def _at(scale: Scale, value: float) -> str:
    return f"{scale(value):.3f}%"


def _upright(scale: Scale, top: float, base: float, low: float) -> list[Markup]:
    """Lines at the ticks; zero is an axis where it lies within."""
    return [
        tag(
            "line",
            x1=_at(scale, t),
            x2=_at(scale, t),
            y1=top,
            y2=base,
            class_="axis" if t == 0 > low else "grid",
        )
        for t in scale.ticks(3)
    ]


def _below(scale: Scale, base: float) -> list[Markup]:
    """The axis with its numbers."""
    marks = [_line("0%", "100%", base, class_="axis")]
    for tick in scale.ticks(3):
        x, shown = scale(tick), number(tick)
        anchor = "middle" if len(shown) < 4 or 4 < x < 96 else "start" if x < 4 else "end"
        marks.append(_text(f"{x:.3f}%", base + 17, shown, anchor, "tick"))
    return marks


def plane(
    points: Sequence[Point],
    other: Sequence[Point],
    *,
    x_name: str,
    y_name: str,
    title: str,
    description: str,
) -> Markup:
    """Points joined in their order, beside a dashed line through `other`."""
    top, base = 40.0, 320.0
    every = [*points, *other]
    xs = [0.0, *(one.x for one in every)]
    ys = [one.y for one in every]
    across = _padded(min(xs), max(xs), 15.0, 95.0)  # numbers on the left
    upwards = _padded(min(ys), max(ys), base - 30, top + 16)
    marks = [_text("0%", 14, y_name, "start", "tick")]
    for tick in upwards.ticks(5):
        marks.append(_line("0%", "100%", upwards(tick), class_="grid"))
        marks.append(_text("0%", upwards(tick) - 4, number(tick), "start", "tick"))
    zero = _at(across, 0.0)
    marks.append(tag("line", x1=zero, x2=zero, y1=top, y2=base, class_="axis"))
    marks.append(_line("0%", "100%", base, class_="axis"))
    marks += _axis(across, base)
    marks.append(_text("100%", base + 40, x_name, "end", "tick"))
    for some, kind in ((other, "trivial"), (points, "path")):
        marks += [
            tag(
                "line",
                x1=_at(across, a.x),
                y1=upwards(a.y),
                x2=_at(across, b.x),
                y2=upwards(b.y),
                class_=kind,
            )
            for a, b in pairwise(some)
        ]
    for one in sorted(points, key=lambda one: one.strong):
        marks.append(
            tag(
                "circle",
                cx=_at(across, one.x),
                cy=upwards(one.y),
                r=8 if one.strong else 5,
                class_="chosen" if one.strong else "dot",
            )
        )
    places = [(across(one.x), upwards(one.y)) for one in points]
    lines = [[(across(one.x), upwards(one.y)) for one in some] for some in (points, other)]
    for one, (x, y, anchor) in _labels(points, places, lines):
        kind = "strong" if one.strong else "tick"
        dx = {"start": 10, "end": -10, "middle": 0}[anchor]
        marks.append(
            tag("text", one.label, x=f"{x:.3f}%", dx=dx, y=y, text_anchor=anchor, class_=kind)
        )
    return _svg(marks, base + 46, title, description)


def _padded(low: float, high: float, first: float, last: float) -> Scale:
    if high - low < 1e-9:
        low, high = low - 0.5 * abs(low) - 1e-3, high + 0.5 * abs(high) + 1e-3
    return Scale(low, high, first, last)


_NARROW = 3.4  # pixels of one percent on a phone


def _labels(
    points: Sequence[Point],
    places: Sequence[tuple[float, float]],
    lines: Sequence[Sequence[tuple[float, float]]],
) -> list[tuple[Point, tuple[float, float, str]]]:
    """Labels where even on a phone they touch no dot and no other label; the rest is left out."""
    taken = [(x * _NARROW - 6, y - 6, x * _NARROW + 6, y + 6) for x, y in places]
    spots = [spot for line in lines for spot in _along(line)]
    found = []
    for one, (x, y) in sorted(zip(points, places, strict=True), key=lambda pair: -pair[0].strong):
        wide, best = 7.5 * len(one.label), None
        for place in (
            (x, y - 12, "middle"),
            (x, y + 22, "middle"),
            (x, y + 4, "start"),
            (x, y + 4, "end"),
            (x, y - 8, "start"),
            (x, y + 16, "start"),
            (x, y - 8, "end"),
            (x, y + 16, "end"),
        ):
            left = x * _NARROW + {"start": 10, "end": -10 - wide, "middle": -wide / 2}[place[2]]
            box = (left, place[1] - 11, left + wide, place[1] + 3)
            if left < 0 or box[2] > 100 * _NARROW or any(_touch(box, other) for other in taken):
                continue
            crossed = sum(box[0] < a < box[2] and box[1] < b < box[3] for a, b in spots)
            if best is None or crossed < best[0]:
                best = (crossed, place, box)
        if best is not None:
            taken.append(best[2])
            found.append((one, best[1]))
    return found


def _along(line: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places along a line, in pixels."""
    return [
        ((a[0] + (b[0] - a[0]) * k / 24) * _NARROW, a[1] + (b[1] - a[1]) * k / 24)
        for a, b in pairwise(line)
        for k in range(25)
    ]


def _touch(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def bar(value: float | None, scale: Scale, *, strong: bool) -> Markup:
    """An effect size beside its number; decoration."""
    zero = scale(0.0)
    marks = [tag("line", x1=f"{zero:.2f}%", x2=f"{zero:.2f}%", y1=0, y2=14, class_="axis")]
    if value is not None:
        end = scale(value)
        marks.append(
            tag(
                "rect",
                x=f"{min(zero, end):.2f}%",
                width=f"{max(abs(end - zero), 0.8):.2f}%",
                y=3.5,
                height=7,
                class_="bar reached" if strong else "bar",
            )
        )
    return tag("svg", *marks, class_="spark", height=14, aria_hidden="true", focusable="false")


def _svg(marks: Sequence[Markup], height: float, title: str, description: str) -> Markup:
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        join(marks),
        class_="chart",
        role="img",
        width="100%",
        height=height,
    )


def _line(x1: str, x2: str, y: float, *, class_: str) -> Markup:
    return tag("line", x1=x1, x2=x2, y1=y, y2=y, class_=class_)


def _text(x: str, y: float, text: str, anchor: str, class_: str) -> Markup:
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_=class_)


def _short(text: str, most: int = 44) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
