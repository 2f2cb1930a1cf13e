"""A candidate beside production as one HTML page."""

from __future__ import annotations

from fairaudit._words import quiet
from fairaudit.comparison.comparison_result import Comparison
from fairaudit_reports import html_parts as h
from fairaudit_reports import verdict_page as v
from fairaudit_reports.comparison_text import about, cell_rows, difference_rows
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.svg import Scale

__all__ = ["render"]

LIMIT = "Not less fair than production is not fair: production may violate equalized odds itself."
MOST = 400
_TONES = {
    "not less fair": "no violation found",
    "less fair": "violation",
    "inconclusive": "inconclusive",
}
_STYLE = """
.margin { stroke: var(--verdict); stroke-width: 1.5; stroke-dasharray: 6 4; }
.over { paint-order: stroke; stroke: var(--page); stroke-width: 5px; }
"""


def render(result: Comparison) -> str:
    """The report as one HTML document."""
    verdict, tone = result.verdict.value, _TONES[result.verdict.value]
    return v.page(
        f"{verdict}: a candidate beside production – fairaudit",
        "comparison with production",
        tone,
        result.version,
        result.created,
        LIMIT,
        v.banner(tone, verdict, result.because),
        _facts(result),
        _differences(result),
        _groups(result),
        v.notes([about(result), *result.notes]),
        _repeat(result),
        style=_STYLE,
    )


def _facts(result: Comparison) -> Markup:
    first = result.differences[0]
    return v.facts(
        [
            ("Measure", first.name, ""),
            ("Production", h.fixed(first.baseline), ""),
            ("Candidate", h.fixed(first.candidate), ""),
            (
                "Change at most",
                h.fixed(result.at_most),
                h.percent(1 - result.alpha) + " confidence",
            ),
            ("Margin", h.fixed(result.margin), ""),
            ("Rows", f"{result.rows:,}", ""),
        ]
    )


def _differences(result: Comparison) -> Markup:
    return v.section(
        "differences",
        "What changes",
        tag(
            "figure",
            _chart(result),
            tag(
                "figcaption",
                "Candidate minus production, with intervals; to the right is less "
                "fair. Dashed: the margin of the measure that decides.",
            ),
        ),
        _table("Measures of both models", difference_rows(result), names=1),
    )


def _chart(result: Comparison) -> Markup:
    """Differences of the measures of gaps, each with its interval."""
    drawn = [
        one
        for one in result.differences
        if one.low is not None
        and one.high is not None
        and not one.key.startswith(("loss", "mean_error"))
    ]
    ends = [
        0.0,
        result.margin,
        *(one.low or 0.0 for one in drawn),
        *(one.high or 0.0 for one in drawn),
    ]
    pad = (max(ends) - min(ends)) / 20 or 0.01
    scale = Scale(min(ends) - pad, max(ends) + pad, 2.0, 98.0)
    base = 46.0 * len(drawn) + 12
    marks = [_upright(scale(0.0), base, "axis"), _upright(scale(result.margin), 46, "margin")]
    for k, one in enumerate(drawn):
        y = 46.0 * k + 32
        marks += [
            tag("text", one.name, x="0%", y=y - 14, text_anchor="start", class_="tick over"),
            tag(
                "line", x1=_at(scale, one.low), x2=_at(scale, one.high), y1=y, y2=y, class_="reach"
            ),
            tag("circle", cx=_at(scale, one.value), cy=y, r=5, class_="dot"),
        ]
    marks.append(tag("line", x1="0%", x2="100%", y1=base, y2=base, class_="axis"))
    marks += [
        tag(
            "text",
            f"{tick:+g}".replace("-", "−") if tick else "0",
            x=_at(scale, tick),
            y=base + 18,
            text_anchor="middle",
            class_="tick",
        )
        for tick in scale.ticks(5)
    ]
    told = "; ".join(f"{one.name} {one.value:+.3f}" for one in drawn)
    return tag(
        "svg",
        tag("title", "Candidate minus production"),
        tag("desc", told),
        *marks,
        class_="chart",
        role="img",
        width="100%",
        height=base + 26,
    )


def _at(scale: Scale, value: float | None) -> str:
    return f"{scale(value or 0.0):.3f}%"


def _upright(x: float, height: float, class_: str) -> Markup:
    return tag("line", x1=f"{x:.3f}%", x2=f"{x:.3f}%", y1=0, y2=height, class_=class_)


def _groups(result: Comparison) -> Markup:
    rows, left = cell_rows(result, MOST)
    more = h.paragraph(f"{left:,} more are in the JSON report.") if left else None
    caption = "Every group that has enough people"
    return v.section(
        "groups", "Groups", _table(caption, rows, names=len(result.attributes) + 1), more
    )


def _table(caption: str, rows: list[list[str]], names: int) -> Markup:
    """The first `names` columns are text, the others numbers, but for a last one of notes."""
    head = [*rows[0][: names - 1], *(text.capitalize() for text in rows[0][names - 1 :])]
    kinds = [None if k < names or text == "Note" else "n" for k, text in enumerate(head)]
    body = (
        h.row(
            h.row_head(row[0]),
            *(h.cell(text, head[k + 1], kinds[k + 1]) for k, text in enumerate(row[1:])),
        )
        for row in rows[1:]
    )
    return h.table(caption, list(zip(head, kinds, strict=True)), [h.body(body)])


def _repeat(result: Comparison) -> Markup:
    if result.command:
        told = "The command that was run, in the folder in which its paths begin:"
        command = join([h.paragraph(told), tag("pre", tag("code", quiet(result.command)))])
    else:
        command = h.paragraph("The comparison was called from Python; no command repeats it.")
    sources = [
        ("Production", result.models[0]),
        ("Candidate", result.models[1]),
        *(("Data", one) for one in result.data),
    ]
    return v.section(
        "repeat",
        "How to repeat it",
        command,
        h.listing(
            [
                (
                    name,
                    f"{one.path or one.kind} – "
                    + (f"SHA-256 {one.sha256}" if one.sha256 else "no hash"),
                )
                for name, one in sources
            ]
        ),
    )
