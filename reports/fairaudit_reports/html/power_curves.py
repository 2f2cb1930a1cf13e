"""Curves of power against rows as one SVG picture that stands alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from fairaudit_reports.html.markup import Markup, join, tag

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import GroupPlan, SamplePlan

__all__ = ["power_curves"]

WIDTH, HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BASE = 48, 560, 36, 352
_COLORS = ("#14568c", "#b2500f", "#1d6b34", "#7a3b9a", "#9f1f1b", "#56606c", "#8a6d00", "#0b7a75")
_INK = "#56606c"


def power_curves(plan: SamplePlan) -> Markup:
    """One curve and its dots per group; the wanted power dotted."""
    rows = [point.rows for group in plan.groups for point in group.curve]
    low, high = math.log(min(rows)), math.log(max(rows))

    def x(n: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (math.log(n) - low) / (high - low or 1.0)

    marks = [_text("power", _LEFT - 40, 20, "start"), _text("rows", _RIGHT, _BASE + 40, "end")]
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        marks.append(_line(_y(share), "#d8dde3"))
        marks.append(_text(f"{share:g}", _LEFT - 8, _y(share) + 4, "end"))
    for n in _ticks(min(rows), max(rows)):
        marks.append(_text(f"{n:,}", x(n), _BASE + 20, "middle"))
    marks.append(_line(_y(plan.power), _INK, dash="3 4"))
    for k, group in enumerate(plan.groups):
        marks += _curve(group, _COLORS[k % len(_COLORS)], x)
        name = group.group if len(group.group) < 26 else group.group[:25] + "…"
        marks.append(
            tag(
                "text",
                name,
                x=_RIGHT + 16,
                y=_TOP + 12 + 20 * k,
                font_size=13,
                fill=_COLORS[k % len(_COLORS)],
            )
        )
    return tag(
        "svg",
        tag("title", f"Power against rows: {plan.goal}"),
        tag("rect", width=WIDTH, height=HEIGHT, fill="#ffffff"),
        join(marks),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width="100%",
        role="img",
        font_family="system-ui, sans-serif",
        style="max-width:760px",
    )


def _curve(group: GroupPlan, color: str, x: Callable[[float], float]) -> list[Markup]:
    def stroke(start: tuple[float, float], end: tuple[float, float]) -> Markup:
        (x1, y1), (x2, y2) = start, end
        return tag("line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=color, stroke_width=2)

    marks = [
        stroke((x(a.rows), _y(a.fitted)), (x(b.rows), _y(b.fitted)))
        for a, b in pairwise(group.curve)
        if a.fitted is not None and b.fitted is not None
    ]
    marks += [
        tag("circle", cx=x(point.rows), cy=_y(point.found), r=3, fill=color)
        for point in group.curve
    ]
    if group.rows is not None:
        marks.append(stroke((x(group.rows), _BASE), (x(group.rows), _BASE - 8)))
    return marks


def _y(share: float) -> float:
    return _BASE - (_BASE - _TOP) * share


def _ticks(low: int, high: int) -> Sequence[int]:
    ticks = [m * 10**k for k in range(1, 9) for m in (1, 2, 5) if low <= m * 10**k <= high]
    return ticks if len(ticks) < 8 else ticks[::2]


def _line(y: float, color: str, dash: str | None = None) -> Markup:
    return tag("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, stroke=color, stroke_dasharray=dash)


def _text(text: str, x: float, y: float, anchor: str) -> Markup:
    return tag("text", text, x=x, y=y, text_anchor=anchor, font_size=12, fill=_INK)
