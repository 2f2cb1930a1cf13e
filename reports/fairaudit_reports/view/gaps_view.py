"""What is said of certificates, and of the gaps of all groups with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fairaudit_reports.view.numerals import fixed, signed
from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.selection import select_gaps
from fairaudit_reports.view.wording import clean, several

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.intervals.certificates import Gap, GapTable

__all__ = ["build_certificates_section", "build_gaps_section"]


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
    rows = [[*map(clean, gap.levels), gap.rate, _format_interval(gap)] for gap in gaps]
    return Section(
        title="Gaps",
        head=[*map(clean, table.attributes), "rate", "gap"] if rows else None,
        rows=rows,
        lines=(_explain_gaps(table, left, masked),),
    )


def _format_interval(gap: Gap) -> str:
    if gap.value is None:
        return "–"
    return f"{signed(gap.value)} [{signed(gap.low)}, {signed(gap.high)}]"


def _explain_gaps(table: GapTable, left: int, masked: int) -> str:
    """What the intervals are, and which gaps are not there."""
    if masked == len(table.gaps):
        return "All gaps are those of hidden groups."
    others = "all others shown," if masked else "all others"
    text = (
        f"Rate of the group minus that of {others} with the same outcome. With "
        f"{100 * table.confidence:g} % confidence all intervals hold at once (critical value "
        f"{table.critical:.2f} instead of {_find_single_critical_value(table.confidence):.2f})."
    )
    if left:
        text += f" {several(left, 'more gap')}: see the HTML or JSON report."
    return text + (f" {several(masked, 'gap')} of hidden groups left out." if masked else "")


def _find_single_critical_value(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + confidence) / 2)
