"""Where the dependence shows: the joint test and the questions behind it, and the place."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.chart_parts import Scale, bar
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.html.place_part import place_part
from fairaudit_reports.view.evidence_view import FAMILIES, describe_adjusting, describe_gate
from fairaudit_reports.view.numerals import p_decimal, typeset
from fairaudit_reports.view.sections import AUDIT

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Finding

__all__ = ["where_section"]

_COLUMNS = (
    ("Question", None),
    ("Rows", "n"),
    ("Size (KPC)", None),
    ("Statistic", "n"),
    ("p", "n"),
    ("Adjusted p", "n"),
    ("Significant", None),
)


def where_section(result: AuditResult) -> Markup:
    if len(result.findings) == 1:
        parts = [
            h.paragraph(
                "The joint test was the only question, so there is nothing to break it down into."
            )
        ]
    else:
        scale = _effects(finding.kpc for finding in result.findings)
        families = dict.fromkeys(finding.family for finding in result.findings)
        bodies = (_family(family, result, scale) for family in families)
        parts = [
            h.paragraph(describe_gate(result), class_="said name"),
            h.table("The joint test and the questions behind it", _COLUMNS, bodies),
            h.paragraph(describe_adjusting(result), class_="quiet"),
        ]
    return h.section("where", AUDIT, [*parts, place_part(result.localisation)])


def _effects(values: Iterable[float | None]) -> Scale:
    """From 0 to the largest effect, but at least to 0.1: noise should look like noise."""
    numbers = [value for value in values if value is not None and math.isfinite(value)]
    high = max([0.1, *numbers])
    return Scale(min([-high / 12, *numbers]), high)


def _family(family: str, result: AuditResult, scale: Scale) -> Markup:
    title = FAMILIES.get(family, family)
    head = tag("th", title, scope="rowgroup", role="rowheader", colspan=len(_COLUMNS))
    rows = (_finding(finding, scale) for finding in result.findings if finding.family == family)
    return h.body([h.row(head), *rows])


def _finding(finding: Finding, scale: Scale) -> Markup:
    amount = tag("span", typeset(finding.kpc), class_="amount")
    size = join([amount, bar(finding.kpc, scale, strong=finding.significant)])
    cells = [
        h.row_head(finding.name),
        h.cell(f"{finding.rows:,}", "Rows", "n"),
        h.cell(tag("span", size), "Size (KPC)", "size"),
        h.cell(typeset(finding.value), "Statistic", "n"),
        h.cell(p_decimal(finding.p_value), "p", "n"),
        h.cell(p_decimal(finding.p_adjusted), "Adjusted p", "n"),
        h.cell(_significant(finding), "Significant"),
    ]
    return h.row(*cells)


def _significant(finding: Finding) -> Markup:
    mark = tag("span", class_="mark", aria_hidden="true")
    if finding.inconclusive:
        why = tag("small", finding.inconclusive)
        return tag("span", mark, "inconclusive", why, class_="maybe")
    if finding.p_value is None:
        return tag("span", mark, "not tested", class_="maybe")
    answer = "yes" if finding.significant else "no"
    return tag("span", mark, answer, class_="yes" if finding.significant else None)
