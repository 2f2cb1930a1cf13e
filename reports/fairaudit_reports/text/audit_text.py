"""An audit as plain text."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import WIDTH, section_lines
from fairaudit_reports.view.audit_view import (
    audited_section,
    headline,
    measures_section,
    notes_section,
    questions_section,
)
from fairaudit_reports.view.gaps_view import certificates_section, gaps_section
from fairaudit_reports.view.groups_view import groups_section
from fairaudit_reports.view.place_view import place_section
from fairaudit_reports.view.power_view import power_section
from fairaudit_reports.view.repeat import command_lines
from fairaudit_reports.view.sections import Section, facts_section
from fairaudit_reports.view.selection import shown_cells
from fairaudit_reports.view.trust_view import copies_section
from fairaudit_reports.view.wording import LONGEST, clean, several

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["audit_sections", "render"]

MOST_CELLS = 12
MOST_FINDINGS = 30


def render(result: AuditResult) -> str:
    """Plain text of at most 96 columns, without control sequences."""
    parts = [textwrap.fill(" ".join(headline(result)), WIDTH, break_on_hyphens=False)]
    parts += ["\n".join(section_lines(section)) for section in audit_sections(result)]
    return "\n\n".join(parts) + "\n"


def audit_sections(result: AuditResult) -> list[Section]:
    """What follows the headline."""
    power = power_section(result.power)
    sections = [
        audited_section(result),
        _questions(result),
        place_section(result.localisation, 2 * LONGEST),
        measures_section(result),
        _groups(result),
        certificates_section(result),
        gaps_section(result, MOST_CELLS),
        power if power is not None and power.rows else None,
        copies_section(result),
        notes_section(result, 2 * LONGEST),
        facts_section("Repeat it", _repeat_facts(result)),
    ]
    return [section for section in sections if section is not None]


def _questions(result: AuditResult) -> Section:
    section, left = questions_section(result, MOST_FINDINGS)
    if not left:
        return section
    more = f"{several(left, 'more question')}: see the JSON report."
    return replace(section, lines=(more, *section.lines))


def _groups(result: AuditResult) -> Section | None:
    table = result.cells
    if table is None:
        return None
    cells, left = shown_cells(table, result.gaps, MOST_CELLS)
    return groups_section(
        table, cells, left=left, elsewhere="see the HTML or JSON report", digits=2
    )


def _repeat_facts(result: AuditResult) -> list[tuple[str, str]]:
    capsule = result.capsule
    return [
        *_command_facts("command", capsule.command),
        *_command_facts("verify", capsule.verify),
        ("seed", f"{capsule.seed}; {capsule.copies:,} copies, {capsule.steps} steps"),
        ("with", f"fairaudit {clean(capsule.version)}, Python {clean(capsule.python)}"),
        ("table", f"sha256 {clean(capsule.table_sha256)}"),
        ("took", f"{result.seconds:.1f} s of CPU, {clean(capsule.created)}"),
    ]


def _command_facts(name: str, command: str | None) -> list[tuple[str, str]]:
    if not command:
        return []
    if len(command) > 2 * LONGEST:
        return [(name, f"of {len(command):,} characters; the HTML and JSON reports have it")]
    first, *others = command_lines(command, WIDTH - 12)
    return [(name, first), *(("", line) for line in others)]
