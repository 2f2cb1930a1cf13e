"""What an audit could have found, as rows and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.markup import Markup
from fairaudit_reports.terminal import clean, fixed

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.power.power_result import Power

__all__ = ["about_power", "power_rows", "power_section"]


def power_rows(power: Power) -> tuple[list[str], list[list[str]]]:
    """Header and one row per group."""
    rows = [
        [
            clean(one.group),
            "hidden" if one.rows is None else f"{one.rows:,}",
            "nothing" if one.shift is None else f"{fixed(one.shift, 2)} sd",
            fixed(one.tpr_gap),
            fixed(one.fpr_gap),
            fixed(one.kpc),
        ]
        for one in power.detectable
    ]
    return ["group", "rows", "score shift", "TPR gap", "FPR gap", "KPC"], rows


def about_power(power: Power) -> str:
    """What the rows say."""
    return (
        f"A violation of this size between the group and all others would have been found in "
        f"{100 * power.power:g} % of such tables, a smaller one less often. Sizes of one and the "
        "same violation: mean scores given the outcome, in standard deviations, and what that "
        f"means for the rates and for KPC. From {power.planted:,} tables with planted violations."
    )


def power_section(result: AuditResult) -> Markup:
    """The section of the HTML report."""
    if result.power is None:
        return h.section(
            "power",
            h.paragraph(
                "Not computed: it was switched off, the audit is inconclusive, it drew fewer than "
                "99 "
                "copies, or people have several rows."
            ),
        )
    head, rows = power_rows(result.power)
    columns = [(name, None if k == 0 else "n") for k, name in enumerate(head)]
    body = (
        h.row(
            h.row_head(row[0]),
            *(h.cell(text, name, "n") for text, name in zip(row[1:], head[1:], strict=True)),
        )
        for row in rows
    )
    return h.section(
        "power",
        h.paragraph("The smallest violation that this audit could have found.", class_="lead"),
        h.table("Smallest detectable violation by group", columns, [h.body(body)]),
        h.paragraph(about_power(result.power), class_="quiet"),
    )
