"""The evidence of a monitor over its batches, as an inline chart."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from fairaudit_reports.html.chart_parts import Scale, chart, level_line, place, word
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.monitor_view import format_alarm

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["STYLE", "evidence_chart"]

STYLE = """
.path { stroke: var(--link); stroke-width: 2; }
.alarm { stroke: var(--verdict); stroke-width: 1.5; stroke-dasharray: 6 4; }
.since { fill: var(--verdict-soft); }
.chosen { fill: var(--verdict); stroke: var(--page); stroke-width: 2; }
"""
_TOP, _BASE = 24.0, 300.0
_LEFT, _RIGHT = 9.0, 97.0
_MOST_DOTS = 60
_MOST_POWERS = 6


def evidence_chart(result: MonitorResult, *, title: str, description: str) -> Markup:
    """Evidence on a logarithmic scale, the line of the alarm, and since when."""
    sizes = [0.0, *(batch.log10_evidence for batch in result.batches)]
    needed = -math.log10(result.alpha)
    low, high = min(-0.5, *sizes), max(needed, *sizes)
    pad = (high - low) / 12
    upwards = Scale(low - pad, high + pad, _BASE, _TOP)
    across = Scale(0, max(len(result.batches), 2), _LEFT, _RIGHT)
    marks = [
        *([] if result.since is None else [_since(across(result.since - 0.5))]),
        *_powers(low, high, upwards),
        level_line("9%", "97%", upwards(needed), class_="alarm"),
        word(
            f"alarm at {format_alarm(result)}",
            "9.5%",
            upwards(needed) - 6,
            anchor="start",
            class_="strong",
        ),
        level_line("9%", "97%", _BASE, class_="axis"),
    ]
    for tick in across.ticks(8):
        if tick == int(tick):
            x = place(across, tick)
            marks.append(word(f"{tick:.0f}", x, _BASE + 18, anchor="middle", class_="tick"))
    marks.append(word("batch", "97%", _BASE + 38, anchor="end", class_="tick"))
    places = [(across(k), upwards(size)) for k, size in enumerate(sizes)]
    marks += _path(places, result.alarm)
    return chart(marks, _BASE + 46, title=title, description=description)


def _since(left: float) -> Markup:
    """The shade from the batch with which the violation most likely began."""
    return tag(
        "rect",
        x=f"{left:.3f}%",
        width=f"{_RIGHT - left:.3f}%",
        y=_TOP,
        height=_BASE - _TOP,
        class_="since",
    )


def _powers(low: float, high: float, upwards: Scale) -> list[Markup]:
    """Lines at powers of ten."""
    marks = []
    step = max(1, math.ceil((math.floor(high) - math.ceil(low)) / _MOST_POWERS))
    for power in range(math.ceil(low), math.floor(high) + 1, step):
        y = upwards(power)
        label = f"{10**power:g}" if -4 < power < 5 else f"1e{power}".replace("-", "−")
        marks.append(level_line("9%", "97%", y, class_="grid"))
        marks.append(word(label, "8%", y + 4, anchor="end", class_="tick"))
    return marks


def _path(places: list[tuple[float, float]], alarm: int | None) -> list[Markup]:
    """The evidence from batch to batch; dots where they are few, and at the alarm."""
    marks = [
        tag("line", x1=f"{a[0]:.3f}%", y1=a[1], x2=f"{b[0]:.3f}%", y2=b[1], class_="path")
        for a, b in pairwise(places)
    ]
    for k, (x, height) in enumerate(places):
        strong = k > 0 and k == alarm
        if strong or len(places) <= _MOST_DOTS:
            marks.append(
                tag(
                    "circle",
                    cx=f"{x:.3f}%",
                    cy=height,
                    r=7 if strong else 3.5,
                    class_="chosen" if strong else "dot",
                )
            )
    return marks
