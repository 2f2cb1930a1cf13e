"""What is said of the groups: rates or errors with their intervals, and what is hidden."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit.evidence.measured import GIVEN_OUTCOME
from fairaudit_reports.view.cover import level_labels, name_labels
from fairaudit_reports.view.numerals import estimate_text, figures_after_point, number
from fairaudit_reports.view.sections import Row, Section
from fairaudit_reports.view.wording import capitalize, clean, several

if TYPE_CHECKING:
    from fairaudit.evidence.measured import Cell, CellTable

__all__ = [
    "LACKING",
    "are_rates",
    "build_groups_section",
    "count_decimals",
    "counts_people",
    "describe_hidden",
    "describe_left_out",
    "describe_masking",
    "describe_method",
    "describe_span",
    "list_numbers",
    "select_open_cells",
]

LACKING = (
    "Some groups have no rows of one outcome class or of both; a rate without rows is undefined "
    "and no part of the measures."
)


def build_groups_section(
    table: CellTable, cells: Sequence[Cell], *, left: int, elsewhere: str, digits: int = 3
) -> Section:
    """These cells with 95 % intervals; `left` others are to be found `elsewhere`."""
    people = counts_people(table)
    head = [*map(clean, name_labels(table.attributes)), "rows", *(["people"] if people else [])]
    counts = range(len(table.attributes), len(head))
    return Section(
        title="Groups",
        head=[*head, *map(clean, table.columns)],
        rows=[_build_cell_row(table, cell, people, digits) for cell in cells],
        right=frozenset(counts),
        lines=_explain_cells(table, left, elsewhere),
    )


def counts_people(table: CellTable) -> bool:
    """Whether people and rows differ."""
    return any(cell.people != cell.rows for cell in table.cells)


def _build_cell_row(table: CellTable, cell: Cell, people: bool, digits: int) -> Row:
    levels = [clean(level) for level in level_labels(table.attributes, cell.levels)]
    counts = [cell.rows, cell.people] if people else [cell.rows]
    if cell.masked:
        return [*levels, *("hidden" for _ in counts), *("–" for _ in cell.estimates)]
    numbers = [f"{count or 0:,}" for count in counts]
    return [*levels, *numbers, *(estimate_text(estimate, digits) for estimate in cell.estimates)]


def _explain_cells(table: CellTable, left: int, elsewhere: str) -> tuple[str, ...]:
    """What a reader must know about the cells, as sentences."""
    lines = [" ".join(filter(None, ["Brackets are 95 % intervals.", describe_method(table)]))]
    if table.masked:
        lines.append(f"{describe_hidden(table, 'hidden')}.")
    if left:
        lines.append(f"{several(left, 'more group')}: {elsewhere}.")
    if table.unlisted:
        lines.append(f"{several(table.unlisted, 'more combination')} without rows.")
    return tuple(clean(line) for line in lines)


def describe_hidden(table: CellTable, word: str) -> str:
    """How many groups are masked, which is called `word`, and why."""
    groups = "1 group is" if table.masked == 1 else f"{table.masked} groups are"
    return (
        f"{groups} {word}, to protect groups of few people; numbers that include them are rounded"
    )


def are_rates(table: CellTable) -> bool:
    """Rates lie between 0 and 1; errors are in the unit of the outcome."""
    return any(column.startswith("TPR") for column in table.columns)


def select_open_cells(table: CellTable) -> list[Cell]:
    """Those that are not masked."""
    return [cell for cell in table.cells if not cell.masked]


def list_numbers(cells: Sequence[Cell], column: int) -> list[float]:
    """All estimates of a column and ends of their intervals that are numbers."""
    numbers = (
        value
        for cell in cells
        for value in (
            cell.estimates[column].value,
            cell.estimates[column].low,
            cell.estimates[column].high,
        )
    )
    return [value for value in numbers if value is not None and math.isfinite(value)]


def count_decimals(table: CellTable | None) -> int:
    """Decimals: three for rates; three figures of the largest error."""
    if table is None:
        return 3
    if are_rates(table):
        return 3
    errors = [k for k, name in enumerate(table.columns) if name != GIVEN_OUTCOME]
    numbers = (value for k in errors for value in list_numbers(table.cells, k))
    return figures_after_point(max(map(abs, numbers), default=0.0))


def describe_span(values: Sequence[float | None]) -> str:
    """``from 0.1 to 0.4``."""
    numbers = [value for value in values if value is not None]
    return f"from {number(min(numbers))} to {number(max(numbers))}" if numbers else "undefined"


def describe_method(table: CellTable) -> str | None:
    """How the numbers were made, and which are not there."""
    method = capitalize(table.note.rstrip(".")) + "." if table.note else None
    return " ".join(filter(None, [method, LACKING if table.lacks_rates else None])) or None


def describe_masking(table: CellTable) -> str:
    return (
        f"{table.masked:,} of {several(len(table.cells), 'group')} "
        f"{'is' if table.masked == 1 else 'are'} masked. They have too few people, or too few "
        "with one of the outcomes, to be shown without singling someone out; others are hidden "
        "with them so that no total gives the small ones away; gaps are those of the groups "
        "shown, and other sizes are rounded. Masking hides numbers from this report only: every "
        "row took part in the test."
    )


def describe_left_out(table: CellTable, left: int) -> str | None:
    """Groups that the page does not list."""
    sentences = []
    if left > 0:
        sentences.append(
            f"{several(left, 'more group')} not shown; the JSON record lists them all."
        )
    if table.unlisted:
        sentences.append(
            f"{several(table.unlisted, 'further combination')} of levels without rows."
        )
    return " ".join(sentences) or None
