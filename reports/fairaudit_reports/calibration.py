"""What the test says about placebos and planted violations, as facts and as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.terminal import clean, p_text

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import Calibration

__all__ = ["calibration_facts", "calibration_part"]


def calibration_facts(found: Calibration, alpha: float) -> list[tuple[str, str]]:
    """Names and facts."""
    placebos = len(found.p_values)
    return [
        ("calibrated", "yes" if found.passed else clean(f"no; {found.because}")),
        (
            "placebo",
            f"{found.alarms:.1%} of {placebos} placebos have p ≤ {alpha:g}; p-values not "
            f"too small: p = {p_text(found.uniform)}",
        ),
        (
            "planted",
            clean(
                f"a violation of {found.shift:.2f} sd for {found.group} was found in "
                f"{found.found:.0%} of the tables"
            ),
        ),
    ]


def calibration_part(found: Calibration | None, alpha: float) -> Markup | None:
    """A part of the section about belief."""
    if found is None:
        return None
    return join(
        [
            tag("h3", "Calibration on this table"),
            h.paragraph(
                "Placebos are the model’s own predictions, exchanged between rows with the same "
                "outcome: they carry nothing about the attributes beyond it. Their p-values must "
                "be "
                "spread evenly from 0 to 1; and a violation that is planted must be found."
            ),
            h.listing(calibration_facts(found, alpha)),
            _bars(found.p_values),
        ]
    )


def _bars(p_values: Sequence[float]) -> Markup:
    """Counts in tenths, and the count that each tenth would have if they were even."""
    bins = 10
    counts = [0] * bins
    for p in p_values:
        counts[min(bins - 1, math.ceil(p * bins - 1e-9) - 1)] += 1
    top, base = 8.0, 128.0
    scale = (base - top) / max(counts)
    even = base - scale * len(p_values) / bins
    marks = [
        tag(
            "rect",
            x=f"{10 * k + 0.4:.1f}%",
            width="9.2%",
            y=base - scale * count,
            height=scale * count,
            class_="bar",
        )
        for k, count in enumerate(counts)
    ]
    marks.append(tag("line", x1="0%", x2="100%", y1=even, y2=even, class_="reach"))
    marks.append(tag("line", x1="0%", x2="100%", y1=base, y2=base, class_="axis"))
    for share, anchor in ((0, "start"), (50, "middle"), (100, "end")):
        marks.append(
            tag(
                "text",
                f"{share / 100:g}",
                x=f"{share}%",
                y=base + 17,
                text_anchor=anchor,
                class_="tick",
            )
        )
    chart = tag(
        "svg",
        tag("title", "p-values of the placebos"),
        tag("desc", f"Counts in tenths from 0 to 1: {', '.join(map(str, counts))}."),
        join(marks),
        class_="chart",
        role="img",
        width="100%",
        height=base + 24,
    )
    caption = "p-values of the placebos in tenths; the line is an even spread"
    return tag("figure", chart, tag("figcaption", caption))
