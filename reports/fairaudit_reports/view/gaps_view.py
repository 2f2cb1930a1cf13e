"""What is said of certificates, and of the gaps of all groups with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fairaudit_reports.view.cover import level_labels, name_label, name_labels
from fairaudit_reports.view.numerals import figures_after_point, fixed, signed
from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.selection import select_gaps
from fairaudit_reports.view.wording import clean, several

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.intervals.certificates import Gap, GapInRange, GapTable

__all__ = [
    "build_certificates_section",
    "build_curve_section",
    "build_gaps_section",
    "describe_ends",
    "list_curves",
    "select_curves",
]


def build_certificates_section(
    result: AuditResult, number: Callable[[float | None], str] = fixed
) -> Section | None:
    """One row per tolerance that was to be certified."""
    if not result.certificates:
        return None
    rows = [
        [
            certificate.measure,
            f"{certificate.limit:g}",
            number(certificate.value),
            number(certificate.upper),
            "yes" if certificate.holds else "no",
            clean(certificate.note) if certificate.note else "",
        ]
        for certificate in result.certificates
    ]
    head = ["measure", "tolerance", "estimate", "at most", "certified", ""]
    return Section(title="Certificates", head=head, rows=rows, right=frozenset({1, 2, 3}))


def build_gaps_section(result: AuditResult, most: int) -> Section | None:
    """The widest gaps first, and what must be said about them."""
    table = result.gaps
    if table is None or not table.gaps:
        return None
    gaps, left, masked = select_gaps(table, result.cells, most)
    digits = _count_decimals(table)
    rates = [] if table.of_predictions else ["rate"]
    rows = [
        [*_label(table, gap.levels), *(gap.rate for _ in rates), _format_interval(gap, digits)]
        for gap in gaps
    ]
    return Section(
        title="Gaps",
        head=[*map(clean, name_labels(table.attributes)), *rates, "gap"] if rows else None,
        rows=rows,
        lines=(_explain_gaps(table, left, masked),),
    )


def build_curve_section(result: AuditResult, most: int) -> Section | None:
    """The gaps of predictions over the outcome, of the groups with the widest first."""
    table = result.gaps
    if table is None or not list_curves(table):
        return None
    curves = list_curves(table)
    shown = select_curves(table, most)
    digits, name = _count_decimals(table), clean(name_label(result.table.outcome.name))
    rows = [
        [*_label(table, levels), describe_ends(gap), _format_interval(gap, digits)]
        for levels in shown
        for gap in curves[levels]
    ]
    more = len(curves) - len(shown)
    text = (
        f"The same gaps among people whose {name} lies in a range. With "
        f"{100 * table.confidence:g} % confidence all intervals of these hold at once."
    )
    if more:
        text += f" {several(more, 'more group')}: see the HTML or JSON report."
    head = [*map(clean, name_labels(table.attributes)), name, "gap"]
    return Section(title="Gaps over the outcome", head=head, rows=rows, lines=(text,))


def _label(table: GapTable, levels: tuple[str, ...]) -> list[str]:
    return [clean(level) for level in level_labels(table.attributes, levels)]


def list_curves(table: GapTable) -> dict[tuple[str, ...], list[GapInRange]]:
    """The gaps of every group that is not masked, range by range."""
    curves: dict[tuple[str, ...], list[GapInRange]] = {}
    for gap in table.curve:
        if gap.value is not None:
            curves.setdefault(gap.levels, []).append(gap)
    return curves


def select_curves(table: GapTable, most: int) -> list[tuple[str, ...]]:
    """Groups with so many gaps in ranges together, one group at least; the widest gaps first."""
    curves = list_curves(table)
    widest = sorted(curves, key=lambda levels: -max(abs(g.value or 0.0) for g in curves[levels]))
    shown: list[tuple[str, ...]] = []
    count = 0
    for levels in widest:
        count += len(curves[levels])
        if shown and count > most:
            break
        shown.append(levels)
    return shown


def describe_ends(gap: GapInRange) -> str:
    """``19.9 to 38.1``."""
    if gap.start == gap.stop:
        return f"{gap.start:,g}"
    return f"{gap.start:,g} to {gap.stop:,g}"


def _count_decimals(table: GapTable) -> int:
    """Three for rates; for predictions as many as give the widest interval three figures."""
    if not table.of_predictions:
        return 3
    ends = [end for gap in table.gaps for end in (gap.value, gap.low, gap.high) if end is not None]
    return figures_after_point(max(map(abs, ends), default=0.0))


def _format_interval(gap: Gap | GapInRange, digits: int) -> str:
    if gap.value is None:
        return "–"
    value = signed(gap.value, digits)
    if gap.low is None or gap.high is None:
        return f"{value} (too few people for an interval)"
    return f"{value} [{signed(gap.low, digits)}, {signed(gap.high, digits)}]"


def _explain_gaps(table: GapTable, left: int, masked: int) -> str:
    """What the intervals are, and which gaps are not there."""
    if masked == len(table.gaps):
        return "All gaps are those of hidden groups."
    others = "all others shown," if masked and not table.of_predictions else "all others"
    what = "Mean prediction" if table.of_predictions else "Rate"
    if table.of_classes:
        what = "Share of the people of a class that is predicted to be of another (or of it): that"
    unit = ", in units of the outcome" if table.of_predictions else ""
    critical = (table.critical, _find_single_critical_value(table.confidence))
    together, alone = (f"{value:.2f}" for value in critical)
    price = "" if together == alone else f" (critical value {together} instead of {alone})"
    text = (
        f"{what} of the group minus that of {others} with the same outcome{unit}. With "
        f"{100 * table.confidence:g} % confidence all intervals hold at once{price}."
    )
    if left:
        text += f" {several(left, 'more gap')}: see the HTML or JSON report."
    return text + (f" {several(masked, 'gap')} of hidden groups left out." if masked else "")


def _find_single_critical_value(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + confidence) / 2)
