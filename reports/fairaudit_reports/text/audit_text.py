"""An audit as plain text."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from fairaudit_reports.text.aligned import WIDTH, format_section
from fairaudit_reports.view.audit_view import (
    build_audited_section,
    build_measures_section,
    build_notes_section,
    build_questions_section,
    split_verdict,
)
from fairaudit_reports.view.gaps_view import (
    build_certificates_section,
    build_curve_section,
    build_gaps_section,
)
from fairaudit_reports.view.groups_view import build_groups_section
from fairaudit_reports.view.next_steps_view import build_next_section
from fairaudit_reports.view.place_view import TITLE, build_place_section
from fairaudit_reports.view.power_view import build_power_section
from fairaudit_reports.view.repeat import steps_text, wrap_command
from fairaudit_reports.view.sections import Section, build_facts_section
from fairaudit_reports.view.selection import select_cells
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.trust_view import build_copies_section
from fairaudit_reports.view.wording import LONGEST, clean, several

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["list_sections", "render"]

MOST_CELLS = 12
MOST_FINDINGS = 30
MOST_PLACES = 3  # in a few lines


def render(result: AuditResult, *, brief: bool = False) -> str:
    """Plain text of at most 96 columns, without control sequences.

    `brief`: only verdict, who is treated differently, and where it sits.
    """
    sentences = [" ".join(split_verdict(result)), *describe_statements(result)]
    parts = [textwrap.fill(sentence, WIDTH, break_on_hyphens=False) for sentence in sentences]
    if not brief:
        parts += ["\n".join(format_section(section)) for section in list_sections(result)]
    elif result.localisation is not None and result.localisation.found:
        lines = [clean(claim.text, 2 * LONGEST) for claim in result.localisation.found]
        short = Section(title=TITLE, lines=tuple(lines[:MOST_PLACES]), bullets=True)
        parts.append("\n".join(format_section(short)))
    return "\n\n".join(parts) + "\n"


def list_sections(result: AuditResult) -> list[Section]:
    """What follows the headline."""
    power = build_power_section(result.power)
    sections = [
        build_next_section(result, WIDTH - 12),
        build_audited_section(result),
        _build_questions_section(result),
        build_place_section(result.localisation, 2 * LONGEST),
        build_measures_section(result),
        _build_groups_section(result),
        build_certificates_section(result),
        build_gaps_section(result, MOST_CELLS),
        build_curve_section(result, 2 * MOST_CELLS),
        power if power is not None and power.rows else None,
        build_copies_section(result),
        build_notes_section(result, 2 * LONGEST),
        build_facts_section("Repeat it", _list_repeat_facts(result)),
    ]
    return [section for section in sections if section is not None]


def _build_questions_section(result: AuditResult) -> Section:
    section, left = build_questions_section(result, MOST_FINDINGS)
    if not left:
        return section
    more = f"{several(left, 'more question')}: see the JSON report."
    return replace(section, lines=(more, *section.lines))


def _build_groups_section(result: AuditResult) -> Section | None:
    table = result.cells
    if table is None:
        return None
    cells, left = select_cells(table, result.gaps, MOST_CELLS)
    return build_groups_section(
        table, cells, left=left, elsewhere="see the HTML or JSON report", digits=2
    )


def _list_repeat_facts(result: AuditResult) -> list[tuple[str, str]]:
    capsule = result.capsule
    return [
        *_list_command_facts("command", capsule.command),
        *_list_command_facts("verify", capsule.verify),
        ("seed", f"{capsule.seed}; {capsule.copies:,} copies, {steps_text(capsule)}"),
        ("with", f"fairaudit {clean(capsule.version)}, Python {clean(capsule.python)}"),
        ("table", f"sha256 {clean(capsule.table_sha256)}"),
        ("took", f"{result.seconds:.1f} s of CPU, {clean(capsule.created)}"),
    ]


def _list_command_facts(name: str, command: str | None) -> list[tuple[str, str]]:
    if not command:
        return []
    if len(command) > 2 * LONGEST:
        return [(name, f"of {len(command):,} characters; the HTML and JSON reports have it")]
    first, *others = wrap_command(command, WIDTH - 12)
    return [(name, first), *(("", line) for line in others)]
