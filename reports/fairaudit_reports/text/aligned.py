"""Aligned columns and wrapped lines, as wide as a log."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from fairaudit._words import quiet
from fairaudit_reports.view.sections import Section

__all__ = ["WIDTH", "aligned_table", "format_section", "is_numeric", "rows_table", "wrap_line"]

WIDTH = 96


def aligned_table(rows: Sequence[Sequence[str]], *, indent: str = "") -> str:
    """Rows of cells as lines of left-aligned columns, two spaces apart.

    Examples
    --------
    >>> print(aligned_table([["numpy", "ok", "2.4.6"], ["R", "missing"]]))
    numpy  ok       2.4.6
    R      missing
    """
    rows = [[" ".join(quiet(cell).split()) for cell in row] for row in rows]
    widths: list[int] = []
    for row in rows:
        widths += [0] * (len(row) - len(widths))
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], len(cell))
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        for row in rows
    )
    return "\n".join((indent + line).rstrip() for line in lines)


def rows_table(section: Section, *, indent: str = "") -> str:
    """The head and the rows of a section."""
    return aligned_table([section.head or [], *section.rows], indent=indent)


def wrap_line(text: str, *, mark: str = "", indent: str = "  ") -> list[str]:
    """Lines that begin with `indent`; the first one with `mark` too."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent + mark,
        subsequent_indent=indent + " " * len(mark),
        break_on_hyphens=False,
    )


def format_section(section: Section) -> Iterator[str]:
    """The title, the table, the sentences."""
    yield section.title
    if section.rows:
        yield from _align_columns(section, WIDTH - 2)
    for line in section.lines:
        yield from wrap_line(line, mark="- " if section.bullets else "")


def _align_columns(section: Section, width: int) -> Iterator[str]:
    """Aligned columns, two spaces apart; text that does not fit goes on in the next line."""
    rows = [*([section.head] if section.head else []), *section.rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    texts = [k for k in range(len(widths)) if not is_numeric(section, k)]
    while sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(texts, key=lambda k: widths[k], default=None)
        if widest is None or widths[widest] <= 8:
            break
        widths[widest] -= 1
    for row in rows:
        cells = [
            textwrap.wrap(cell, widths[k], break_on_hyphens=False) if k in texts else [cell]
            for k, cell in enumerate(row)
        ]
        for line in zip_longest(*cells, fillvalue=""):
            aligned = (
                text.rjust(widths[k]) if k in section.right else text.ljust(widths[k])
                for k, text in enumerate(line)
            )
            yield ("  " + "  ".join(aligned)).rstrip()


def is_numeric(section: Section, column: int) -> bool:
    """Nothing but numbers below a header, as in the columns of p-values and estimates."""
    if section.head is None or len(section.head[column]) > 24:
        return False
    body = (row[column] for row in section.rows)
    return column in section.right or all(
        re.fullmatch(r"[-–\d.,e+ \[\]]{0,40}", cell) for cell in body
    )
