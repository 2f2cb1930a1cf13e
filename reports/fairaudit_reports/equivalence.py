"""Certificates, and the gaps of all groups with simultaneous intervals, as rows and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.html_parts import several
from fairaudit_reports.markup import Markup, tag
from fairaudit_reports.selection import shown_gaps
from fairaudit_reports.svg import Dot, Scale, intervals
from fairaudit_reports.terminal import clean, fixed

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.intervals.certificates import Gap, GapTable

__all__ = ["certificate_rows", "gap_rows", "gaps"]

MOST_DRAWN = 40
MOST_LISTED = 400
_RATES = {"TPR": "among those who are positive", "FPR": "among those who are negative"}


def certificate_rows(result: AuditResult) -> tuple[list[str], list[list[str]]]:
    """Header and one row per tolerance that was to be certified."""
    rows = [
        [
            one.measure,
            f"{one.limit:g}",
            fixed(one.value),
            fixed(one.upper),
            "yes" if one.holds else "no",
            clean(one.note) if one.note else "",
        ]
        for one in result.certificates
    ]
    return ["measure", "tolerance", "estimate", "at most", "certified", ""], rows


def gap_rows(result: AuditResult, most: int) -> tuple[list[str], list[list[str]], str]:
    """Header, rows with the widest gaps first, and what must be said about them."""
    table = result.gaps
    if table is None:
        return [], [], ""
    shown, left, masked = shown_gaps(table, result.cells, most)
    rows = [[*map(clean, one.levels), one.rate, _interval(one)] for one in shown]
    head = [*map(clean, table.attributes), "rate", "gap"]
    return head, rows, about_gaps(table, left, masked)


def _interval(gap: Gap) -> str:
    if gap.value is None:
        return "–"
    return f"{_signed(gap.value)} [{_signed(gap.low)}, {_signed(gap.high)}]"


def _signed(value: float | None) -> str:
    text = fixed(value)
    return f"+{text}" if value is not None and value > 0 and float(text) else text


def about_gaps(table: GapTable, left: int, masked: int) -> str:
    """What the intervals are, and which gaps are not there."""
    if masked == len(table.gaps):
        return "All gaps are those of hidden groups."
    others = "all others shown," if masked else "all others"
    text = (
        f"Rate of the group minus that of {others} with the same outcome. With "
        f"{100 * table.confidence:g} % confidence all intervals hold at once (critical value "
        f"{table.critical:.2f} instead of {_single(table.confidence):.2f})."
    )
    if left:
        text += f" {several(left, 'more gap')}: see the HTML or JSON report."
    return text + (f" {several(masked, 'gap')} of hidden groups left out." if masked else "")


def _single(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + confidence) / 2)


def gaps(result: AuditResult) -> Markup:
    """The section of the HTML report."""
    table = result.gaps
    inside: list[Markup | None] = [_certificates(result)]
    if table is None or not table.gaps:
        inside.append(h.paragraph("There are no rates of groups to compare; the notes say why."))
        return h.section("gaps", *inside)
    head, rows, about = gap_rows(result, MOST_LISTED)
    if not rows:
        return h.section("gaps", *inside, h.paragraph(about))
    return h.section(
        "gaps", *inside, h.paragraph(about), _figure(table), _numbers(table, head, rows)
    )


def _certificates(result: AuditResult) -> Markup:
    if not result.certificates:
        return h.paragraph(
            "No tolerance was to be certified (--certify): a verdict of no violation found is no "
            "evidence that there is none.",
            class_="quiet",
        )
    rows = (
        h.row(
            h.row_head(one.measure),
            h.cell(f"{one.limit:g}", "Tolerance", "n"),
            h.cell(h.fixed(one.value), "Estimate", "n"),
            h.cell(h.fixed(one.upper), "At most", "n"),
            h.cell("yes" if one.holds else "no", "Certified"),
            h.cell(one.note or None, "Note", "name"),
        )
        for one in result.certificates
    )
    level = f"{100 * result.certificates[0].confidence:g} %"
    return h.table(
        f"Upper bounds with {level} confidence, and the tolerances declared before the audit",
        [
            ("Measure", None),
            ("Tolerance", "n"),
            ("Estimate", "n"),
            ("At most", "n"),
            ("Certified", None),
            ("Note", None),
        ],
        [h.body(rows)],
    )


def _figure(table: GapTable) -> Markup | None:
    """A panel for each rate, the groups in the same order."""
    found = {(one.levels, one.rate): one for one in table.gaps if one.value is not None}
    groups = list(dict.fromkeys(levels for levels, _ in found))
    if not groups or len(groups) > MOST_DRAWN:
        return None
    ends = [x for one in found.values() for x in (one.low, one.high) if x is not None]
    far = max([0.05, *map(abs, ends)])
    labels = [", ".join(levels) for levels in groups]
    panels = []
    for rate, among in _RATES.items():
        known = [found.get((levels, rate)) for levels in groups]
        dots = [
            Dot(label, None, None, None)
            if one is None
            else Dot(label, one.value, one.low, one.high)
            for label, one in zip(labels, known, strict=True)
        ]
        chart = intervals(
            dots,
            Scale(-far, far),
            title=f"Gaps in {rate}",
            description=f"{h.several(len(dots), 'group')}; the table has the numbers.",
        )
        panels.append(tag("div", h.paragraph(f"{rate}, {among}"), chart))
    side = tag("ul", *(tag("li", label) for label in labels), class_="labels", aria_hidden="true")
    return tag(
        "figure",
        tag("div", side, *panels, class_="panels", style=f"--panels:{len(panels)}"),
        tag("figcaption", "Dots are gaps between a group and all others, lines their intervals."),
    )


def _numbers(table: GapTable, head: list[str], rows: list[list[str]]) -> Markup:
    columns = [(name, "wide" if k < len(table.attributes) else "n") for k, name in enumerate(head)]
    body = (
        h.row(
            *(
                tag("th", x, scope="row", role="rowheader", class_="wide")
                for x in row[: len(table.attributes)]
            ),
            *(h.cell(x, name, "n") for x, name in zip(row[-2:], head[-2:], strict=True)),
        )
        for row in rows
    )
    return h.table("Gaps with simultaneous intervals", columns, [h.body(body)], scrolls=True)
