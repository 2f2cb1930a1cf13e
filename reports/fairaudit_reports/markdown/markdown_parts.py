"""What Markdown reports are made of: escaped text, tables, lists, blocks of code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from fairaudit._words import quiet
from fairaudit_reports.view.sections import Section

__all__ = [
    "code_block",
    "code_span",
    "escape",
    "facts_list",
    "folded",
    "join_parts",
    "line_list",
    "mention_nobody",
    "rows_table",
    "section_text",
    "table",
]

LONGEST_COMMAND = 4_000


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
    return mention_nobody(text)


def mention_nobody(text: str) -> str:
    """With spaces of no width, so that names call nobody and refer to no issue."""
    return re.sub(r"(@|#|GH-)(?=\w)", "\\1\u200b", text)


def _block(text: str) -> str:
    """Escaped, and no list, quotation or heading by its first characters."""
    return re.sub(r"^(?=[-+>#=])|^(\d+)(?=[.)])", r"\1\\", escape(text))


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[int] = (),
    strong: Collection[int] = (),
) -> str:
    """Rows as a Markdown table; `strong` rows have their first and last cell in bold.

    Examples
    --------
    >>> print(table(["measure", "value"], [["KPC", "0.0858"], ["a|b", "*"]], right=[1]))
    | measure | value |
    |---|--:|
    | KPC | 0.0858 |
    | a\\|b | \\* |
    """
    cells = [[escape(quiet(cell)) for cell in row] for row in (head, *rows)]
    for k in strong:
        row = cells[1 + k]
        row[0], row[-1] = f"**{row[0]}**", f"**{row[-1]}**"
    rule = ["--:" if k in right else "---" for k in range(len(head))]
    first, *others = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([first, f"|{'|'.join(rule)}|", *others])


def rows_table(section: Section, right: Collection[int] = ()) -> str:
    """The head and the rows of a section."""
    return table(section.head or [], section.rows, right, section.strong)


def facts_list(facts: Sequence[Sequence[str]]) -> str:
    """A list; facts without a name of their own are one level below the name before them."""
    lines: list[str] = []
    for k, (name, fact) in enumerate(facts):
        goes_on = k + 1 < len(facts) and not facts[k + 1][0]
        if name and goes_on:
            lines.append(f"- {name}:")
        lines.append(f"  - {_block(fact)}" if goes_on or not name else f"- {name}: {escape(fact)}")
    return "\n".join(lines)


def line_list(lines: Iterable[str]) -> str:
    """A list of sentences."""
    return "\n".join(f"- {_block(line)}" for line in lines)


def section_text(section: Section) -> str:
    """The title, the table or the facts, the sentences."""
    parts = [f"### {section.title}"]
    if section.head is not None:
        parts.append(rows_table(section, section.right))
    elif section.rows:
        parts.append(facts_list(section.rows))
    parts += [line_list(section.lines)] if section.bullets else map(escape, section.lines)
    return join_parts(parts)


def join_parts(parts: Iterable[str]) -> str:
    """Those that are not empty, an empty line between them."""
    return "\n\n".join(part for part in parts if part)


def folded(summary: str, parts: Iterable[str]) -> str:
    """Parts behind a line that a click opens; the summary is HTML."""
    start = f"<details>\n<summary>{summary}</summary>"
    return join_parts([start, *parts, "</details>"])


def code_span(text: str) -> str:
    return f"`{text.replace('`', '')}`"


def code_block(command: str) -> str:
    """A block of code that ends where it should, whatever the command holds."""
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    if len(command) > LONGEST_COMMAND:
        return f"The command has {len(command):,} characters; the HTML and JSON reports have it."
    return f"{fence}sh\n{quiet(command)}\n{fence}"
