"""Certificates, and the gaps of all groups with simultaneous intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit.evidence.intervals.certificates import PREDICTION
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.chart_parts import Scale
from fairaudit_reports.html.interval_chart import Dot, intervals
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.gaps_view import (
    build_certificates_section,
    build_curve_section,
    build_gaps_section,
    describe_ends,
    list_curves,
    select_curves,
)
from fairaudit_reports.view.numerals import typeset
from fairaudit_reports.view.sections import AUDIT, Section
from fairaudit_reports.view.statements_view import describe_group
from fairaudit_reports.view.wording import several

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.intervals.certificates import GapTable

__all__ = ["gaps_section"]

MOST_DRAWN = 40
MOST_LISTED = 400
MOST_CURVES, MOST_IN_CURVES = 4, 40
_RATES = {"TPR": "among those who are positive", "FPR": "among those who are negative"}


def gaps_section(result: AuditResult) -> Markup:
    table, part = result.gaps, build_gaps_section(result, MOST_LISTED)
    inside: list[Markup | None] = [_certificates(result)]
    if table is None or part is None:
        inside.append(h.paragraph("There are no groups to compare; the notes say why."))
        return h.section("gaps", AUDIT, inside)
    inside += [h.paragraph(line) for line in part.lines]
    if part.rows:
        inside += [
            _figure(table, _list_tolerances(result)),
            _gap_table("Gaps with simultaneous intervals", table, part),
        ]
    curve = build_curve_section(result, MOST_LISTED)
    if curve is not None:
        inside += [h.paragraph(line) for line in curve.lines]
        inside += [_curve_figure(table), _gap_table("Gaps over the outcome", table, curve)]
    return h.section("gaps", AUDIT, inside)


def _certificates(result: AuditResult) -> Markup:
    part = build_certificates_section(result, typeset)
    if part is None:
        text = "No size was declared tolerable, so none is certified"
        if result.verdict.value == "no violation found":
            text += ": that nothing was found is not evidence that there is nothing"
        return h.paragraph(f"{text} (the option certify).", class_="quiet")
    heads = [*(h.heading(name) for name in (part.head or [])[:-1]), "Note"]
    kinds = ["n" if k in part.right else None for k in range(len(heads))]
    cell_kinds = [*kinds[:-1], "name"]
    rows = (
        h.row(
            h.row_head(row[0]),
            *(
                h.cell(text, name, kind)
                for text, name, kind in zip(row[1:], heads[1:], cell_kinds[1:], strict=True)
            ),
        )
        for row in part.rows
    )
    level = f"{100 * result.certificates[0].confidence:g} %"
    return h.table(
        f"Upper bounds with {level} confidence, and the tolerances declared before the audit",
        list(zip(heads, kinds, strict=True)),
        [h.body(rows)],
    )


def _list_tolerances(result: AuditResult) -> dict[str, float]:
    """Sizes of gaps that were declared tolerable, by rate."""
    declared = {c.measure: c.limit for c in result.certificates} | result.tolerance
    both = declared.get("equalized_odds_difference")
    limits = {
        "TPR": declared.get("tpr_gap", both),
        "FPR": declared.get("fpr_gap", both),
        PREDICTION: declared.get("prediction_gap"),
    }
    return {rate: limit for rate, limit in limits.items() if limit is not None}


def _figure(table: GapTable, tolerances: dict[str, float]) -> Markup | None:
    """A panel for each rate with a scale of its own; the groups with the widest gaps first."""
    gap_of = {(gap.levels, gap.rate): gap for gap in table.gaps if gap.value is not None}
    sizes: dict[tuple[str, ...], float] = {}
    for (levels, _), gap in gap_of.items():
        sizes[levels] = max(sizes.get(levels, 0.0), abs(gap.value or 0.0))
    groups = sorted(sizes, key=lambda levels: -sizes[levels])
    if not groups or len(groups) > MOST_DRAWN or table.of_classes:
        return None
    labels = [describe_group(table.attributes, levels) for levels in groups]
    charts = []
    panels = {PREDICTION: "given the outcome"} if table.of_predictions else _RATES
    for rate, among in panels.items():
        gaps = [gap_of.get((levels, rate)) for levels in groups]
        dots = [
            Dot(label) if gap is None else Dot(label, gap.value, gap.low, gap.high)
            for label, gap in zip(labels, gaps, strict=True)
        ]
        description = f"{several(len(dots), 'group')}; the table has the numbers."
        ends = [end for gap in gaps if gap is not None for end in (gap.low, gap.high) if end]
        far = max([0.0 if table.of_predictions else 0.05, *map(abs, ends)]) or 1.0
        chart = intervals(
            dots,
            Scale(-far, far),
            title=f"Gaps in {rate}",
            description=description,
            tolerated=tolerances.get(rate),
        )
        charts.append((f"{rate}, {among}", chart))
    caption = "Dots are gaps between a group and all others, lines their intervals."
    if len(charts) > 1:
        caption += " Each panel has its own scale."
    if tolerances:
        caption += " Shaded: the sizes that were declared tolerable."
    return tag("figure", h.panels(labels, charts), tag("figcaption", caption))


def _curve_figure(table: GapTable) -> Markup | None:
    """A panel for each of the groups with the widest gaps, the ranges in the same order."""
    curves = list_curves(table)
    groups = select_curves(table, MOST_IN_CURVES)[:MOST_CURVES]
    ranges = list(dict.fromkeys(describe_ends(gap) for gap in table.curve))
    ends = [
        end
        for levels in groups
        for gap in curves[levels]
        for end in (gap.value, gap.low, gap.high)
        if end is not None
    ]
    far = max(map(abs, ends), default=0.0) or 1.0
    charts = []
    for levels in groups:
        gaps = {describe_ends(gap): gap for gap in curves[levels]}
        dots = [
            Dot(name, gap.value, gap.low, gap.high)
            if (gap := gaps.get(name)) is not None
            else Dot(name)
            for name in ranges
        ]
        label = describe_group(table.attributes, levels)
        description = f"{several(len(dots), 'range')} of the outcome; the table has the numbers."
        title = f"Gaps of {label} over the outcome"
        charts.append(
            (label, intervals(dots, Scale(-far, far), title=title, description=description))
        )
    caption = "One panel a group, one row a range of the outcome; lines are intervals."
    return tag("figure", h.panels(ranges, charts), tag("figcaption", caption))


def _gap_table(caption: str, table: GapTable, part: Section) -> Markup:
    names, heads = len(table.attributes), part.head or []
    columns = [(name, "wide" if k < names else "n") for k, name in enumerate(heads)]
    rows = (
        h.row(
            *h.level_heads(row[:names]),
            *(
                h.cell(text, name, "n")
                for text, name in zip(row[names:-1], heads[names:-1], strict=True)
            ),
            h.cell(row[-1].replace("-", "−"), heads[-1], "n"),
        )
        for row in part.rows
    )
    return h.table(caption, columns, [h.body(rows)], scrolls=True, sorts=True)
