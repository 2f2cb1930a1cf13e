"""Curves of power against rows as one SVG picture that stands alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from fairaudit_reports.markup import Markup, join, tag

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import GroupPlan, SamplePlan

__all__ = ["power_curves"]

WIDTH, HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BASE = 48, 560, 36, 352
_COLOURS = ("#14568c", "#b2500f", "#1d6b34", "#7a3b9a", "#9f1f1b", "#56606c", "#8a6d00", "#0b7a75")
_INK = "#56606c"


def power_curves(plan: SamplePlan) -> Markup:
    """One curve and its dots per group; the wanted power dotted."""
    rows = [point.rows for one in plan.groups for point in one.curve]
    low, high = math.log(min(rows)), math.log(max(rows))

    def x(n: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (math.log(n) - low) / (high - low or 1.0)

    marks = [_text(_LEFT - 40, 20, "power", "start"), _text(_RIGHT, _BASE + 40, "rows", "end")]
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        marks.append(_line(_LEFT, _RIGHT, _y(share), _y(share), "#d8dde3"))
        marks.append(_text(_LEFT - 8, _y(share) + 4, f"{share:g}", "end"))
    for n in _ticks(min(rows), max(rows)):
        marks.append(_text(x(n), _BASE + 20, f"{n:,}", "middle"))
    marks.append(_line(_LEFT, _RIGHT, _y(plan.power), _y(plan.power), _INK, dash="3 4"))
    for k, one in enumerate(plan.groups):
        marks += _curve(one, _COLOURS[k % len(_COLOURS)], x)
        name = one.group if len(one.group) < 26 else one.group[:25] + "…"
        marks.append(
            tag(
                "text",
                name,
                x=_RIGHT + 16,
                y=_TOP + 12 + 20 * k,
                font_size=13,
                fill=_COLOURS[k % len(_COLOURS)],
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


def _curve(one: GroupPlan, colour: str, x) -> list[Markup]:  # type: ignore[no-untyped-def]
    marks = []
    for a, b in pairwise(one.curve):
        if a.fitted is not None and b.fitted is not None:
            marks.append(
                tag(
                    "line",
                    x1=x(a.rows),
                    x2=x(b.rows),
                    y1=_y(a.fitted),
                    y2=_y(b.fitted),
                    stroke=colour,
                    stroke_width=2,
                )
            )
    marks += [
        tag("circle", cx=x(point.rows), cy=_y(point.found), r=3, fill=colour) for point in one.curve
    ]
    if one.rows is not None:
        marks.append(
            tag(
                "line",
                x1=x(one.rows),
                x2=x(one.rows),
                y1=_BASE,
                y2=_BASE - 8,
                stroke=colour,
                stroke_width=2,
            )
        )
    return marks


def _y(share: float) -> float:
    return _BASE - (_BASE - _TOP) * share


def _ticks(low: int, high: int) -> Sequence[int]:
    found = [m * 10**k for k in range(1, 9) for m in (1, 2, 5) if low <= m * 10**k <= high]
    return found if len(found) < 8 else found[::2]


def _line(
    x1: float, x2: float, y1: float, y2: float, colour: str, dash: str | None = None
) -> Markup:
    return tag("line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=colour, stroke_dasharray=dash)


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return tag("text", text, x=x, y=y, text_anchor=anchor, font_size=12, fill=_INK)
