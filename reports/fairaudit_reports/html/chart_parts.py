"""What charts are made of: a scale, lines, words, an axis, the frame."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.numerals import number

__all__ = ["Scale", "axis_ticks", "bar", "chart", "level_line", "place", "upright_line", "word"]


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


def place(scale: Scale, value: float) -> str:
    """Where a number stands, in percent."""
    return f"{scale(value):.3f}%"


def chart(marks: Iterable[Markup], height: float, *, title: str, description: str) -> Markup:
    """A picture as wide as its box, so that text keeps its size on a phone and on paper."""
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


def level_line(x1: str, x2: str, y: float, *, class_: str) -> Markup:
    return tag("line", x1=x1, x2=x2, y1=y, y2=y, class_=class_)


def upright_line(x: str, y1: float, y2: float, *, class_: str) -> Markup:
    return tag("line", x1=x, x2=x, y1=y1, y2=y2, class_=class_)


def word(text: str, x: str, y: float, *, anchor: str, class_: str) -> Markup:
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_=class_)


def axis_ticks(scale: Scale, base: float) -> list[Markup]:
    """Short lines below the axis, with their numbers."""
    marks = []
    for tick in scale.ticks():
        x = scale(tick)
        marks.append(upright_line(f"{x:.3f}%", base, base + 5, class_="axis"))
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        marks.append(word(number(tick), f"{x:.3f}%", base + 20, anchor=anchor, class_="tick"))
    return marks


def bar(value: float | None, scale: Scale, *, strong: bool) -> Markup:
    """An effect size beside its number; decoration."""
    zero = scale(0.0)
    marks = [upright_line(f"{zero:.2f}%", 0, 14, class_="axis")]
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
