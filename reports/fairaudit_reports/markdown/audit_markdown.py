"""An audit as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as html_escape
from typing import TYPE_CHECKING

from fairaudit_reports.markdown import markdown_parts as m
from fairaudit_reports.view.audit_view import (
    build_measures_section,
    build_notes_section,
    build_questions_section,
    list_table_facts,
)
from fairaudit_reports.view.cover import name_labels
from fairaudit_reports.view.gaps_view import (
    build_certificates_section,
    build_curve_section,
    build_gaps_section,
)
from fairaudit_reports.view.groups_view import build_groups_section
from fairaudit_reports.view.next_steps_view import list_next_steps
from fairaudit_reports.view.place_view import build_place_section
from fairaudit_reports.view.power_view import build_power_section
from fairaudit_reports.view.repeat import steps_text
from fairaudit_reports.view.selection import select_cells
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.trust_view import build_copies_section
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.measured import CellTable
    from fairaudit_reports.view.sections import Section

__all__ = ["render"]

LIMIT = 60_000  # characters; a comment on GitHub may have 65,536
MOST_FINDINGS = 60
MOST_GAPS = 24
MOST_SOURCES = 20
ELSEWHERE = "the HTML and JSON reports list them all"


def render(result: AuditResult) -> str:
    """The result in fewer than 60,000 characters; groups that do not fit are counted."""
    parts = [
        f"## Equalized odds: {result.verdict.value.upper()}",
        "\n".join(f"- **{m.escape(sentence)}**" for sentence in describe_statements(result)),
        m.escape(clean(result.because, LONGEST_NOTE)),
        _next_steps(result),
        m.facts_list(list_table_facts(result)),
        _questions(result),
        _shown(build_place_section(result.localisation, LONGEST_NOTE)),
        _shown(build_measures_section(result)),
        m.join_parts([_shown(build_certificates_section(result)), _gaps(result)]),
        _power(result),
    ]
    after = [
        m.section_text(build_copies_section(result)),
        _shown(build_notes_section(result, LONGEST_NOTE)),
        _repeat(result),
    ]
    if result.cells is not None:
        room = LIMIT - sum(len(part) + 2 for part in (*parts, *after)) - 2_000
        parts.append(_groups(result, result.cells, room))
    return _fitting([part for part in (*parts, *after) if part])


def _next_steps(result: AuditResult) -> str:
    parts = []
    for step in list_next_steps(result):
        parts.append(f"**{m.escape(step.title)}.** {m.escape(clean(step.text, LONGEST_NOTE))}")
        parts.append(m.code_block(step.command) if step.command else "")
    return m.join_parts(["### What to do next", *parts]) if parts else ""


def _shown(section: Section | None) -> str:
    return "" if section is None else m.section_text(section)


def _fitting(parts: Sequence[str]) -> str:
    """The parts that fit, in their order; the first three always do."""
    kept, size, left = [], 0, 0
    for part in parts:
        if size + len(part) + 2 > LIMIT - 200:
            left += 1
            continue
        kept.append(part)
        size += len(part) + 2
    if left:
        kept.append(f"{left} parts of this report are too long for this format; {ELSEWHERE}.")
    return "\n\n".join(kept) + "\n"


def _questions(result: AuditResult) -> str:
    section, left = build_questions_section(result, MOST_FINDINGS)
    more = f"{left:,} more questions are not listed; {ELSEWHERE}. " if left else ""
    table = m.rows_table(section, range(1, 5))
    return m.join_parts([f"### {section.title}", table, more + section.lines[0]])


def _gaps(result: AuditResult) -> str:
    parts = []
    for title, section in (
        ("Gaps of the groups, with simultaneous intervals", build_gaps_section(result, MOST_GAPS)),
        ("Gaps over the outcome", build_curve_section(result, MOST_GAPS)),
    ):
        if section is not None:
            table = "" if section.head is None else m.rows_table(section)
            parts.append(m.folded(title, [table, *map(m.escape, section.lines)]))
    return m.join_parts(parts)


def _power(result: AuditResult) -> str:
    section = build_power_section(result.power)
    return "" if section is None or not section.rows else m.section_text(section)


def _groups(result: AuditResult, table: CellTable, room: int) -> str:
    """As many groups as fit, folded away."""
    most = len(table.cells)
    while True:
        cells, left = select_cells(table, result.gaps, most)
        section = build_groups_section(table, cells, left=left, elsewhere=ELSEWHERE)
        size = sum(len(m.escape(cell)) + 3 for row in section.rows for cell in row)
        size += 2 * len(section.rows)
        if size <= room or not most:
            break
        most = min(most - 1, int(most * max(room, 0) / size))
    named = html_escape(clean(", ".join(name_labels(table.attributes)), 200), quote=False)
    return m.folded(
        f"Groups by {m.mention_nobody(named)} ({len(table.cells):,})",
        [m.rows_table(section, section.right), " ".join(map(m.escape, section.lines))],
    )


def _repeat(result: AuditResult) -> str:
    capsule = result.capsule
    sources = [*([capsule.model] if capsule.model else []), *capsule.data]
    packages = {"fairaudit": capsule.version, "Python": capsule.python, **capsule.packages}
    versions = (f"{m.escape(name)} {m.escape(clean(text))}" for name, text in packages.items())
    lines = [
        f"- seed {capsule.seed}, {capsule.copies:,} copies, {steps_text(capsule)}",
        f"- {', '.join(versions)}",
        f"- audited columns: sha256 {m.code_span(clean(capsule.table_sha256))}",
    ]
    for source in sources[:MOST_SOURCES]:
        name = m.escape(clean(source.path or source.kind))
        digest = f"sha256 {m.code_span(clean(source.sha256))}" if source.sha256 else "no hash"
        lines.append(f"- {name}: {digest}")
    if len(sources) > MOST_SOURCES:
        lines.append(f"- {len(sources) - MOST_SOURCES} more files; {ELSEWHERE}")
    lines.append(f"- {m.escape(clean(capsule.created))}, {result.seconds:.1f} s of CPU")
    command = m.code_block(capsule.command) if capsule.command else ""
    return m.join_parts(["### Repeat it", command, "\n".join(lines)])
