"""What to do next, on the page of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.next_steps_view import list_next_steps
from fairaudit_reports.view.sections import AUDIT

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["next_section"]


def next_section(result: AuditResult) -> Markup | None:
    """None where there is nothing to suggest."""
    steps = list_next_steps(result)
    if not steps:
        return None
    items = (
        join(
            [
                tag("h3", step.title),
                h.paragraph(step.text, class_="name"),
                h.code_block(step.command) if step.command else None,
            ]
        )
        for step in steps
    )
    return h.section("next", AUDIT, items)
