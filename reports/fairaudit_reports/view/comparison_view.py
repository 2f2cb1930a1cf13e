"""What is said of a candidate beside production."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.view.cover import level_labels, name_labels
from fairaudit_reports.view.numerals import signed, typeset
from fairaudit_reports.view.sections import Row, Section
from fairaudit_reports.view.selection import take_some_of_each
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.comparison.comparison_result import ComparedGroup, Comparison, Difference

__all__ = ["build_differences_section", "build_groups_section", "describe_comparison"]


def build_differences_section(result: Comparison) -> Section:
    """One row per measure."""
    level = f"{100 * (1 - result.alpha):g} % interval"
    return Section(
        title="What changes",
        head=["measure", "production", "candidate", "difference", level, "note"],
        rows=[_build_difference_row(difference, result) for difference in result.differences],
        right=frozenset(range(1, 5)),
    )


def _build_difference_row(difference: Difference, result: Comparison) -> Row:
    interval = "–"
    if difference.low is not None and difference.high is not None:
        interval = f"[{_typeset_sign(difference.low)}, {_typeset_sign(difference.high)}]"
    decides = difference.key == result.measure
    return [
        difference.name,
        typeset(difference.baseline),
        typeset(difference.candidate),
        _typeset_sign(difference.value),
        interval,
        f"decides; margin {result.margin:.4g}" if decides else difference.note,
    ]


def build_groups_section(result: Comparison, most: int) -> tuple[Section, int]:
    """One row per group and rate, and how many are left out.

    Where not all fit: those with most people and those with the largest differences.
    """
    cells = result.cells
    by_people = sorted(range(len(cells)), key=lambda k: -cells[k].people)
    by_difference = sorted(by_people, key=lambda k: -abs(cells[k].candidate - cells[k].baseline))
    places = sorted(take_some_of_each(by_people, by_difference, most))
    names = len(result.attributes) + 1
    counts = ["people", "production", "candidate", "difference"]
    section = Section(
        title="Groups",
        head=[*map(clean, name_labels(result.attributes)), "what", *counts],
        rows=[_build_group_row(result, cells[k]) for k in places],
        right=frozenset(range(names, names + len(counts))),
    )
    return section, len(cells) - len(places)


def _build_group_row(result: Comparison, cell: ComparedGroup) -> Row:
    return [
        *(clean(level, 40) for level in level_labels(result.attributes, cell.levels)),
        cell.what,
        f"{cell.people:,}",
        typeset(cell.baseline),
        typeset(cell.candidate),
        _typeset_sign(cell.candidate - cell.baseline),
    ]


def describe_comparison(result: Comparison) -> str:
    production, candidate = (clean(source.path or source.kind) for source in result.models)
    names = clean(", ".join(name_labels(result.attributes)))
    return (
        f"Production {production}, candidate {candidate}, on the same {result.rows:,} rows; groups "
        f"by {names}. Intervals also hold where gaps are equal or tied. "
        "Each is for one measure alone; the one that decides was fixed beforehand."
    )


def _typeset_sign(value: float) -> str:
    return signed(value).replace("-", "−")
