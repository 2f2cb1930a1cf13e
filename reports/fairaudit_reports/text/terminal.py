"""The same words in color on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairaudit.auditing.findings import Verdict
from fairaudit_reports.text import audit_text, remedy_text
from fairaudit_reports.text.aligned import WIDTH, is_numeric
from fairaudit_reports.view.audit_view import split_verdict
from fairaudit_reports.view.statements_view import describe_statements

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.remedy.remedy_result import RemedyResult
    from fairaudit_reports.view.sections import Section

__all__ = ["show_audit", "show_remedy"]

COLORS = {
    Verdict.VIOLATION: "bold red",
    Verdict.NO_VIOLATION: "bold green",
    Verdict.INCONCLUSIVE: "bold yellow",
    Verdict.EQUIVALENT: "bold green",
}


def show_audit(result: AuditResult, console: Console | None = None) -> None:
    """Print it in color on a terminal, and as plain text anywhere else."""
    console = console or _new_console()
    if not console.is_terminal:
        _write_plain(console, audit_text.render(result))
        return
    from rich.text import Text

    mark, rest = split_verdict(result)
    width = min(console.width, WIDTH)
    title = Text.assemble((mark, COLORS[result.verdict]), " ", rest)
    said = [_text(sentence) for sentence in describe_statements(result)]
    for part in (title, *said, *map(_rich_section, audit_text.list_sections(result))):
        console.print(part, width=width, soft_wrap=False, highlight=False)
        console.print()


def show_remedy(result: RemedyResult, console: Console | None = None) -> None:
    """Print it, the outcome and the verdicts in color on a terminal."""
    console = console or _new_console()
    if not console.is_terminal:
        _write_plain(console, remedy_text.render(result))
        return
    from rich.text import Text

    console.print(
        Text("\n".join(remedy_text.format_headline(result)), COLORS[result.verdict]), soft_wrap=True
    )
    console.print()
    for name, audit, mark, model in remedy_text.list_verdicts(result):
        line = Text.assemble(f"{name} ", (mark, COLORS[audit.verdict]), f": {model}")
        console.print(line, soft_wrap=True)
    console.print(Text("\n" + "\n".join(remedy_text.format_details(result))), soft_wrap=True)


def _new_console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _write_plain(console: Console, text: str) -> None:
    encoding = getattr(console.file, "encoding", None) or "utf-8"
    console.file.write(text.encode(encoding, "replace").decode(encoding))


def _rich_section(section: Section) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding

    parts: list[RenderableType] = [_text(section.title, "bold")]
    if section.rows:
        parts.append(Padding(_rich_table(section), (0, 0, 0, 2)))
    parts += [Padding(line, (0, 0, 0, 2)) for line in _rich_lines(section)]
    return Group(*parts)


def _rich_table(section: Section) -> RenderableType:
    from rich.table import Table

    table = Table(
        box=None,
        show_header=section.head is not None,
        pad_edge=False,
        padding=(0, 1),
        header_style="dim",
    )
    for k in range(len(section.rows[0])):
        table.add_column(
            _text(section.head[k] if section.head else ""),
            justify="right" if k in section.right else "left",
            no_wrap=is_numeric(section, k),
            overflow="fold",
            style="" if section.head or k else "dim",
        )
    for number, row in enumerate(section.rows):
        table.add_row(*map(_text, row), style="bold" if number in section.strong else "")
    return table


def _rich_lines(section: Section) -> Iterable[RenderableType]:
    from rich.table import Table

    for line in section.lines:
        if not section.bullets:
            yield _text(line, "dim")
            continue
        item = Table.grid(padding=(0, 1))
        item.add_row(_text("-"), _text(line))
        yield item


def _text(text: str, style: str = "") -> Text:
    """As it is: names may hold what rich would take for markup."""
    from rich.text import Text

    return Text(text, style=style)
