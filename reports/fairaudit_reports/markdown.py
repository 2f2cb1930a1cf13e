"""GitHub-flavoured Markdown: a file, the summary of a workflow step, a comment on a change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape as html_escape
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit_reports.selection import shown_cells
from fairaudit_reports.terminal import (
    about_cells,
    cell_rows,
    clean,
    copies_facts,
    findings_rows,
    how_to_read,
    measures_rows,
    shown_findings,
    table_facts,
)

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.measured import CellTable

__all__ = ["escape", "fenced", "render"]

LIMIT = 60_000  # characters; a comment on GitHub may have 65,536
LONGEST_COMMAND = 4_000
MOST_FINDINGS = 60
MOST_GAPS = 24
ELSEWHERE = "the HTML and JSON reports list them all"


def render(result: AuditResult) -> str:
    """The result in fewer than 60,000 characters; groups that do not fit are counted."""
    parts = [
        f"## Equalized odds: {result.verdict.value.upper()}",
        escape(clean(result.because, 1600)),
        _listed(table_facts(result)),
        _findings(result),
        _place(result),
        _measures(result),
        _certificates(result),
        _power(result),
    ]
    after = [_copies(result), _notes(result), _repeat(result)]
    if result.cells is not None:
        room = LIMIT - sum(len(part) + 2 for part in (*parts, *after)) - 2_000
        parts.append(_cells(result, result.cells, room))
    return _joined([part for part in (*parts, *after) if part])


def escape(text: str) -> str:
    """Text that Markdown shows as it is, also in a table.

    Examples
    --------
    >>> print(escape("<b>|`*` y_true _x_ [a](b) &lt;"))
    &lt;b>\\|\\`\\*\\` y_true \\_x\\_ \\[a](b) &amp;lt;
    """
    text = re.sub(r"([\\`*|~$])", r"\\\1", text)
    if re.search(r"\]\s*[(\[:]|\[\^", text):  # a link; intervals stay as they are
        text = text.replace("[", r"\[")
    text = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;")
    return _quiet(text)


def _quiet(text: str) -> str:
    """With spaces of no width, so that names call nobody and refer to no issue."""
    return re.sub(r"(@|#|GH-)(?=\w)", "\\1\u200b", text)


def _joined(parts: Sequence[str]) -> str:
    """The parts that fit, in their order; the first two always do."""
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


def _block(text: str) -> str:
    """Escaped, and no list, quotation or heading by its first characters."""
    return re.sub(r"^(?=[-+>#=])|^(\d+)(?=[.)])", r"\1\\", escape(text))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """The rows are escaped already."""
    rule = ["--:" if k in right else "---" for k in range(len(head))]
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


def _escaped(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[escape(cell) for cell in row] for row in rows]


def _listed(facts: Sequence[tuple[str, str]]) -> str:
    """A list; facts without a name of their own are one level below the name before them."""
    lines: list[str] = []
    for k, (name, fact) in enumerate(facts):
        goes_on = k + 1 < len(facts) and not facts[k + 1][0]
        if name and goes_on:
            lines.append(f"- {name}:")
        lines.append(f"  - {_block(fact)}" if goes_on or not name else f"- {name}: {escape(fact)}")
    return "\n".join(lines)


def _section(*parts: str) -> str:
    return "\n\n".join(parts)


def _findings(result: AuditResult) -> str:
    shown, left = shown_findings(result, MOST_FINDINGS)
    head, rows = findings_rows(shown)
    body = _escaped(rows)
    for row, finding in zip(body, shown, strict=True):
        if finding.significant:
            row[0], row[-1] = f"**{row[0]}**", f"**{row[-1]}**"
    more = f"{left:,} more questions are not listed; {ELSEWHERE}. " if left else ""
    return _section("### Questions", _table(head, body, (1, 2, 3, 4)), more + how_to_read(result))


def _place(result: AuditResult) -> str:
    if result.localisation is None:
        return ""
    from fairaudit_reports.localisation import place_lines

    lines = (f"- {_block(clean(line, 1600))}" for line in place_lines(result.localisation))
    return _section("### Where it sits", "\n".join(lines))


def _measures(result: AuditResult) -> str:
    head, rows = measures_rows(result)
    return _section("### Measures", _table(head, _escaped(rows), (1,))) if rows else ""


def _certificates(result: AuditResult) -> str:
    from fairaudit_reports.equivalence import certificate_rows, gap_rows

    parts = []
    if result.certificates:
        head, rows = certificate_rows(result)
        parts += ["### Certificates", _table(head, _escaped(rows), (1, 2, 3))]
    if result.gaps is not None and result.gaps.gaps:
        head, rows, about = gap_rows(result, MOST_GAPS)
        table = [_table([escape(name) for name in head], _escaped(rows))] if rows else []
        parts += [
            "<details>\n<summary>Gaps of the groups, with simultaneous intervals</summary>",
            *table,
            escape(about),
            "</details>",
        ]
    return _section(*parts) if parts else ""


def _power(result: AuditResult) -> str:
    from fairaudit_reports.power import about_power, power_rows

    if result.power is None or not result.power.detectable:
        return ""
    head, rows = power_rows(result.power)
    table = _table(head, _escaped(rows), range(1, len(head)))
    return _section("### Could have been found", table, escape(about_power(result.power)))


def _cells(result: AuditResult, table: CellTable, room: int) -> str:
    """As many groups as fit, folded away."""
    most, body, left = len(table.cells), list[list[str]](), 0
    while most:
        shown, left = shown_cells(table, result.gaps, most)
        body = _escaped(cell_rows(table, shown)[1])
        size = sum(len(cell) + 3 for row in body for cell in row) + 2 * len(body)
        if size <= room:
            break
        most = min(most - 1, int(most * max(room, 0) / size))
    head = cell_rows(table, ())[0]
    named = _quiet(html_escape(clean(", ".join(table.attributes), 200), quote=False))
    counts = range(len(table.attributes), len(head) - len(table.columns))
    return _section(
        f"<details>\n<summary>Groups by {named} ({len(table.cells):,})</summary>",
        _table([escape(name) for name in head], body, counts),
        " ".join(escape(line) for line in about_cells(table, left, ELSEWHERE)),
        "</details>",
    )


def _copies(result: AuditResult) -> str:
    return _section("### Copies", _listed(copies_facts(result)))


def _notes(result: AuditResult) -> str:
    if not result.notes:
        return ""
    lines = [f"- {_block(clean(note, 1600))}" for note in result.notes]
    return _section("### Notes", "\n".join(lines))


def _repeat(result: AuditResult) -> str:
    capsule = result.capsule
    sources = [*([capsule.model] if capsule.model else []), *capsule.data]
    lines = [
        f"- seed {capsule.seed}, {capsule.copies:,} copies, {capsule.steps} steps",
        f"- fairaudit {escape(clean(capsule.version))}, Python {escape(clean(capsule.python))}, "
        + ", ".join(f"{escape(n)} {escape(clean(v))}" for n, v in capsule.packages.items()),
        f"- audited columns: sha256 {_code(capsule.table_sha256)}",
    ]
    for one in sources[:20]:
        name = escape(clean(one.path or one.kind))
        lines.append(f"- {name}: " + (f"sha256 {_code(one.sha256)}" if one.sha256 else "no hash"))
    if len(sources) > 20:
        lines.append(f"- {len(sources) - 20} more files; {ELSEWHERE}")
    lines.append(f"- {escape(clean(capsule.created))}, {result.seconds:.1f} s of CPU")
    command = [fenced(capsule.command)] if capsule.command else []
    return _section("### Repeat it", *command, "\n".join(lines))


def _code(text: str) -> str:
    return f"`{clean(text).replace('`', '')}`"


def fenced(command: str) -> str:
    """A block of code that ends where it should, whatever the command holds."""
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    if len(command) > LONGEST_COMMAND:
        return f"The command has {len(command):,} characters; the HTML and JSON reports have it."
    return f"{fence}sh\n{quiet(command)}\n{fence}"
