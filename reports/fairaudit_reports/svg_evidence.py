"""The evidence of a monitor over its batches, as an inline chart."""

from __future__ import annotations

import math
from itertools import pairwise

from fairaudit.monitoring.monitoring_result import MonitorResult
from fairaudit_reports.markup import Markup, tag
from fairaudit_reports.svg import Scale

__all__ = ["STYLE", "evidence_chart"]

STYLE = """
.path { stroke: var(--link); stroke-width: 2; }
.alarm { stroke: var(--verdict); stroke-width: 1.5; stroke-dasharray: 6 4; }
.since { fill: var(--verdict-soft); }
.chosen { fill: var(--verdict); stroke: var(--page); stroke-width: 2; }
"""
_MOST_DOTS = 60
_MOST_POWERS = 6


def evidence_chart(result: MonitorResult, *, title: str, description: str) -> Markup:
    """Evidence on a logarithmic scale, the line of the alarm, and since when."""
    top, base = 24.0, 300.0
    sizes = [0.0, *(batch.log10_evidence for batch in result.batches)]
    needed = -math.log10(result.alpha)
    low, high = min(-0.5, *sizes), max(needed, *sizes)
    pad = (high - low) / 12
    upwards = Scale(low - pad, high + pad, base, top)
    across = Scale(0, max(len(result.batches), 2), 9.0, 97.0)
    marks: list[Markup] = []
    if result.since is not None:
        left = across(result.since - 0.5)
        marks.append(
            tag(
                "rect",
                x=f"{left:.3f}%",
                width=f"{97.0 - left:.3f}%",
                y=top,
                height=base - top,
                class_="since",
            )
        )
    step = max(1, math.ceil((math.floor(high) - math.ceil(low)) / _MOST_POWERS))
    for power in range(math.ceil(low), math.floor(high) + 1, step):
        y = upwards(power)
        marks.append(tag("line", x1="9%", x2="97%", y1=y, y2=y, class_="grid"))
        marks.append(_text("8%", y + 4, _power(power), "end", "tick"))
    y = upwards(needed)
    marks.append(tag("line", x1="9%", x2="97%", y1=y, y2=y, class_="alarm"))
    marks.append(_text("9.5%", y - 6, f"alarm at {1 / result.alpha:.4g}", "start", "strong"))
    marks.append(tag("line", x1="9%", x2="97%", y1=base, y2=base, class_="axis"))
    for tick in across.ticks(8):
        if tick == int(tick):
            marks.append(_text(f"{across(tick):.3f}%", base + 18, f"{tick:.0f}", "middle", "tick"))
    marks.append(_text("97%", base + 38, "batch", "end", "tick"))
    places = [(across(k), upwards(size)) for k, size in enumerate(sizes)]
    marks += [
        tag("line", x1=f"{a[0]:.3f}%", y1=a[1], x2=f"{b[0]:.3f}%", y2=b[1], class_="path")
        for a, b in pairwise(places)
    ]
    for k, (x, height) in enumerate(places):
        strong = k > 0 and k == result.alarm
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
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        *marks,
        class_="chart",
        role="img",
        width="100%",
        height=base + 46,
    )


def _power(power: int) -> str:
    return f"{10**power:g}" if -4 < power < 5 else f"1e{power}".replace("-", "−")


def _text(x: str, y: float, text: str, anchor: str, class_: str) -> Markup:
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_=class_)
