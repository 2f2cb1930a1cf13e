"""A candidate beside production: plain text, Markdown for a comment, GitHub annotations."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from fairaudit.comparison.comparison_result import Comparison, ComparisonVerdict, Difference
from fairaudit_reports.github import workflow_line
from fairaudit_reports.markdown import escape, fenced
from fairaudit_reports.selection import some_of_each
from fairaudit_reports.terminal import WIDTH, clean
from fairaudit_reports.text import markdown_table, table

__all__ = ["about", "cell_rows", "difference_rows", "github", "markdown", "render"]

MOST = 40  # groups
MARKS = {
    ComparisonVerdict.NOT_LESS_FAIR: "✅",
    ComparisonVerdict.LESS_FAIR: "❌",
    ComparisonVerdict.INCONCLUSIVE: "❔",
}
_LEVELS = {
    ComparisonVerdict.NOT_LESS_FAIR: "notice",
    ComparisonVerdict.LESS_FAIR: "error",
    ComparisonVerdict.INCONCLUSIVE: "warning",
}


def render(result: Comparison) -> str:
    """Plain text of at most 96 columns."""
    mark, _, because = clean(result.because, 1600).partition(": ")
    groups, left = cell_rows(result, MOST)
    parts = [
        textwrap.fill(f"{mark.upper()}: {because}", WIDTH),
        table(difference_rows(result)),
        table(groups) + (f"\n… and {left} more" if left else "") if result.cells else "",
        textwrap.fill(about(result), WIDTH),
        "\n".join(textwrap.fill(f"note: {clean(note, 1600)}", WIDTH) for note in result.notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(result: Comparison) -> str:
    """A comment on a change."""
    groups, left = cell_rows(result, MOST)
    more = f"\n\n{left} more groups are in the HTML and JSON reports." if left else ""
    mark = MARKS[result.verdict]
    title = result.verdict.value.capitalize()
    parts = [
        f"## {mark} Fairness of the candidate: {title}",
        escape(clean(result.because, 1600)),
        _table(difference_rows(result)),
        f"<details>\n<summary>Groups ({len(result.cells)})</summary>\n\n{_table(groups)}{more}"
        "\n\n</details>",
        escape(about(result)),
        "\n".join(f"- {escape(clean(note, 1600))}" for note in result.notes),
        fenced(result.command) if result.command else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def github(result: Comparison) -> str:
    """An annotation of a workflow."""
    title = f"Fairness of the candidate: {result.verdict.value}"
    return workflow_line(_LEVELS[result.verdict], title, clean(result.because, 1600)) + "\n"


def difference_rows(result: Comparison) -> list[list[str]]:
    """A head and one row per measure."""
    level = f"{100 * (1 - result.alpha):g} % interval"
    head = ["measure", "production", "candidate", "difference", level, "note"]
    return [head, *(_row(one, result) for one in result.differences)]


def _row(one: Difference, result: Comparison) -> list[str]:
    interval = "–"
    if one.low is not None and one.high is not None:
        interval = f"[{_signed(one.low)}, {_signed(one.high)}]"
    note = one.note
    if one.key == result.measure:
        note = f"decides; margin {result.margin:.4g}"
    return [
        one.name,
        f"{one.baseline:.3f}",
        f"{one.candidate:.3f}",
        _signed(one.value),
        interval,
        note,
    ]


def cell_rows(result: Comparison, most: int) -> tuple[list[list[str]], int]:
    """A head, one row per group and rate, and how many are left out.

    Where not all fit: those with most people and those with the largest differences.
    """
    head = [
        *map(clean, result.attributes),
        "what",
        "people",
        "production",
        "candidate",
        "difference",
    ]
    cells = result.cells
    by_people = sorted(range(len(cells)), key=lambda k: -cells[k].people)
    by_difference = sorted(by_people, key=lambda k: -abs(cells[k].candidate - cells[k].baseline))
    kept = sorted(some_of_each(by_people, by_difference, most))
    rows = [
        [
            *(clean(level, 40) for level in cell.levels),
            cell.what,
            f"{cell.people:,}",
            f"{cell.baseline:.3f}",
            f"{cell.candidate:.3f}",
            _signed(cell.candidate - cell.baseline),
        ]
        for cell in (cells[k] for k in kept)
    ]
    return [head, *rows], len(cells) - len(kept)


def about(result: Comparison) -> str:
    production, candidate = (clean(one.path or one.kind) for one in result.models)
    names = clean(", ".join(result.attributes))
    return (
        f"Production {production}, candidate {candidate}, on the same {result.rows:,} rows; groups "
        f"by {names}. Intervals hold where gaps are equal or tied too. "
        "They are for each measure alone; the one that decides was fixed beforehand."
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    cells = [[escape(cell).replace("\\|", "|") for cell in row] for row in rows]
    return markdown_table(cells)


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")
