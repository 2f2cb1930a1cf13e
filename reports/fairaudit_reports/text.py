"""Plain text for terminals and logs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table"]


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> str:
    """Rows of cells as lines of left-aligned columns, two spaces apart.

    Examples
    --------
    >>> print(table([["numpy", "ok", "2.4.6"], ["R", "missing"]]))
    numpy  ok       2.4.6
    R      missing
    """
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
