"""Whether the p-value can be believed: the checks of the copies, the calibration on the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.chart_parts import chart, level_line, word
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.numerals import typeset
from fairaudit_reports.view.sections import AUDIT
from fairaudit_reports.view.trust_view import (
    describe_moved,
    list_calibration_facts,
    list_check_facts,
    list_witness_facts,
    rank_scores,
)

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.power.power_result import Calibration
    from fairaudit.testing.trust import Trust

__all__ = ["belief_section"]

_TOP, _BASE = 8.0, 128.0


def belief_section(result: AuditResult) -> Markup:
    quality = result.quality
    mark = tag("span", class_="mark", aria_hidden="true")
    answer, tone = ("Yes", "good") if quality.trustworthy else ("No", "maybe")
    because = f", because {quality.because}."
    checks = (
        (name, join([text, tag("p", about, class_="quiet") if about else None]))
        for name, text, about in (*list_check_facts(quality), *list_witness_facts(quality))
    )
    facts = [
        ("Copies by", quality.copies_by),
        *checks,
        ("Rows that moved", describe_moved(quality)),
        ("Different copies", f"at least {quality.distinct:,}"),
    ]
    return h.section(
        "belief",
        AUDIT,
        [
            h.paragraph(tag("strong", mark, answer, class_=tone), because, class_="lead name"),
            h.paragraph(
                "A p-value is only as good as its copies: apart from the prediction they must look "
                "like the data. These checks never look at the prediction."
            ),
            h.listing(facts),
            _calibration(result.calibration, result.alpha),
            _scores(quality),
        ],
    )


def _scores(quality: Trust) -> Markup | None:
    if not quality.scores:
        return None
    rows = (
        h.row(
            h.row_head(name),
            h.cell(typeset(score), "Log-likelihood per row", "n"),
            h.cell("used" if used else None, "Choice"),
        )
        for name, score, used in rank_scores(quality)
    )
    return h.table(
        "Models tried for the outcome given the attributes; higher fits better",
        [("Model", None), ("Log-likelihood per row, held out", "n"), ("Choice", None)],
        [h.body(rows)],
    )


def _calibration(calibration: Calibration | None, alpha: float) -> Markup | None:
    if calibration is None:
        return None
    return join(
        [
            tag("h3", "Calibration on this table"),
            h.paragraph(
                "Placebos are the model’s own predictions, exchanged between rows with the same "
                "outcome: they carry nothing about the attributes beyond it. Their p-values must "
                "be spread evenly from 0 to 1; and a violation that is planted must be found."
            ),
            h.listing(list_calibration_facts(calibration, alpha)),
            _placebo_bars(calibration.p_values),
        ]
    )


def _placebo_bars(p_values: Sequence[float]) -> Markup:
    """Counts in tenths, and the count that each tenth would have if they were even."""
    bins = 10
    counts = [0] * bins
    for p in p_values:
        counts[min(bins - 1, math.ceil(p * bins - 1e-9) - 1)] += 1
    scale = (_BASE - _TOP) / max(counts)
    marks = [
        tag(
            "rect",
            x=f"{10 * k + 0.4:.1f}%",
            width="9.2%",
            y=_BASE - scale * count,
            height=scale * count,
            class_="bar",
        )
        for k, count in enumerate(counts)
    ]
    marks.append(level_line("0%", "100%", _BASE - scale * len(p_values) / bins, class_="reach"))
    marks.append(level_line("0%", "100%", _BASE, class_="axis"))
    for share, anchor in ((0, "start"), (50, "middle"), (100, "end")):
        text = f"{share / 100:g}"
        marks.append(word(text, f"{share}%", _BASE + 17, anchor=anchor, class_="tick"))
    bars = chart(
        marks,
        _BASE + 24,
        title="p-values of the placebos",
        description=f"Counts in tenths from 0 to 1: {', '.join(map(str, counts))}.",
    )
    caption = "p-values of the placebos in tenths; the line is an even spread"
    return tag("figure", bars, tag("figcaption", caption))
