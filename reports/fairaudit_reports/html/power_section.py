"""What an audit could have found, on its page and on that of a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import Markup
from fairaudit_reports.view.power_view import build_power_section
from fairaudit_reports.view.sections import AUDIT

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import Power

__all__ = ["power_section"]


def power_section(power: Power | None) -> Markup:
    part = build_power_section(power)
    if part is None:
        return h.section(
            "power",
            AUDIT,
            [
                h.paragraph(
                    "Not computed: it was switched off, the audit is inconclusive, it drew fewer "
                    "than 99 copies, or people have several rows."
                )
            ],
        )
    lead = "The smallest violation that this audit could have found."
    return h.section(
        "power",
        AUDIT,
        [
            h.paragraph(lead, class_="lead"),
            h.section_table("Smallest detectable violation by group", part),
            *(h.paragraph(line, class_="quiet") for line in part.lines),
        ],
    )
