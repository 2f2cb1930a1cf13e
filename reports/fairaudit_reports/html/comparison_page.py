"""A candidate beside production as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import page as p
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.chart_parts import Scale, chart, level_line, place, upright_line, word
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.comparison_view import (
    build_differences_section,
    build_groups_section,
    describe_comparison,
)
from fairaudit_reports.view.numerals import percent, typeset
from fairaudit_reports.view.sections import COMPARISON

if TYPE_CHECKING:
    from fairaudit.comparison.comparison_result import Comparison, Difference

__all__ = ["LIKE", "STYLE", "draw_differences", "render"]

LIMIT = (
    "Not less fair than production does not mean fair: production may itself violate equalized "
    "odds."
)
MOST = 400
_STEP = 46.0
#: The verdict of an audit that a verdict looks like.
LIKE = {
    "not less fair": "no violation found",
    "less fair": "violation",
    "inconclusive": "inconclusive",
}
STYLE = """
.margin { stroke: var(--verdict); stroke-width: 1.5; stroke-dasharray: 6 4; }
.over { paint-order: stroke; stroke: var(--page); stroke-width: 5px; }
"""


def render(result: Comparison) -> str:
    """The report as one HTML document."""
    verdict = result.verdict.value
    frame = p.Frame(
        title=f"{verdict}: a candidate beside production – fairaudit",
        about="comparison with production",
        version=result.version,
        created=result.created,
        limit=LIMIT,
        tone=p.TONES[LIKE[verdict]],
        style=STYLE,
    )
    inside = [
        p.banner(LIKE[verdict], verdict, result.because),
        _facts(result),
        _differences(result),
        _groups(result),
        h.notes_section(COMPARISON, [describe_comparison(result), *result.notes]),
        _repeat(result),
    ]
    return p.page(frame, inside)


def _facts(result: Comparison) -> Markup:
    first = result.differences[0]
    confidence = f"{percent(1 - result.alpha)} confidence"
    return h.facts(
        [
            ("Measure", first.name, ""),
            ("Production", typeset(first.baseline), ""),
            ("Candidate", typeset(first.candidate), ""),
            ("Change at most", typeset(result.at_most), confidence),
            ("Margin", typeset(result.margin), ""),
            ("Rows", f"{result.rows:,}", ""),
        ]
    )


def _differences(result: Comparison) -> Markup:
    part = build_differences_section(result)
    caption = (
        "Candidate minus production, with intervals; to the right is less fair. Dashed: the margin "
        "of the measure that decides."
    )
    heads = [h.heading(name) for name in part.head or []]
    return h.section(
        "differences",
        COMPARISON,
        [
            tag("figure", draw_differences(result), tag("figcaption", caption)),
            h.section_table("Measures of both models", part, heads),
        ],
    )


def draw_differences(result: Comparison) -> Markup:
    """Differences of the measures of gaps, each with its interval."""
    differences = [
        (difference, difference.low, difference.high)
        for difference in result.differences
        if difference.low is not None and difference.high is not None and _is_gap(difference)
    ]
    ends = [0.0, result.margin, *(end for _, low, high in differences for end in (low, high))]
    pad = (max(ends) - min(ends)) / 20 or 0.01
    scale = Scale(min(ends) - pad, max(ends) + pad, 2.0, 98.0)
    base = _STEP * len(differences) + 12
    marks = [
        upright_line(place(scale, 0.0), 0, base, class_="axis"),
        upright_line(place(scale, result.margin), 0, _STEP, class_="margin"),
    ]
    for k, (difference, low, high) in enumerate(differences):
        y = _STEP * k + 32
        marks += [
            word(difference.name, "0%", y - 14, anchor="start", class_="tick over"),
            level_line(place(scale, low), place(scale, high), y, class_="reach"),
            tag("circle", cx=place(scale, difference.value), cy=y, r=5, class_="dot"),
        ]
    marks.append(level_line("0%", "100%", base, class_="axis"))
    for tick in scale.ticks(5):
        text = f"{tick:+g}".replace("-", "−") if tick else "0"
        marks.append(word(text, place(scale, tick), base + 18, anchor="middle", class_="tick"))
    description = "; ".join(
        f"{difference.name} {difference.value:+.3f}" for difference, _, _ in differences
    )
    return chart(marks, base + 26, title="Candidate minus production", description=description)


def _is_gap(difference: Difference) -> bool:
    """Losses and mean errors are in another unit."""
    return not difference.key.startswith(("loss", "mean_error"))


def _groups(result: Comparison) -> Markup:
    part, left = build_groups_section(result, MOST)
    names, heads = len(result.attributes), part.head or []
    titles = [*heads[:names], *(h.heading(name) for name in heads[names:])]
    return h.section(
        "groups",
        COMPARISON,
        [
            h.section_table("Every group that has enough people", part, titles),
            h.paragraph(f"{left:,} more are in the JSON report.") if left else None,
        ],
    )


def _repeat(result: Comparison) -> Markup:
    if result.command:
        command = h.command_block(result.command)
    else:
        command = h.paragraph("The comparison was called from Python; no command repeats it.")
    sources = [
        ("Production", result.models[0]),
        ("Candidate", result.models[1]),
        *(("Data", source) for source in result.data),
    ]
    facts = [
        (
            name,
            f"{source.path or source.kind} – "
            + (f"SHA-256 {source.sha256}" if source.sha256 else "no hash"),
        )
        for name, source in sources
    ]
    return h.section("repeat", COMPARISON, [command, h.listing(facts)])
