"""Which groups and gaps are shown where not all fit."""

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.evidence.intervals.certificates import Gap, GapTable
from fairaudit.evidence.measured import Cell, CellTable, Estimate
from fairaudit_reports.markdown import audit_markdown
from fairaudit_reports.text import audit_text
from fairaudit_reports.view.selection import select_cells, select_gaps


def tables(people, gaps, masked=()):
    """Groups 0, 1, …: their people, and their gap in both rates."""
    cells = tuple(
        Cell(
            levels=(str(k),),
            rows=count,
            people=count,
            estimates=(Estimate(value=0.5, low=0.4, high=0.6, rows=count, people=count),) * 3,
            masked=k in masked,
        )
        for k, count in enumerate(people)
    )
    found = tuple(
        Gap(levels=(str(k),), rate=rate, value=None, low=None, high=None)
        if k in masked
        else Gap(levels=(str(k),), rate=rate, value=size, low=size - 0.1, high=size + 0.1)
        for rate in ("TPR", "FPR")
        for k, size in enumerate(gaps)
    )
    columns = ("selected", "TPR", "FPR")
    return CellTable(attributes=("g",), columns=columns, cells=cells, unlisted=0), GapTable(
        attributes=("g",), confidence=0.95, critical=2.5, gaps=found
    )


def test_the_largest_groups_and_the_largest_gaps_are_never_cut():
    rng = np.random.default_rng(0)
    people = [5000, *rng.integers(20, 400, 30), 9000]  # the largest comes last
    gaps = [0.001, *rng.uniform(-0.1, 0.1, 14), -0.9, *rng.uniform(-0.1, 0.1, 15), 0.002]
    cells, table = tables(people, gaps)
    shown, left = select_cells(cells, table, 12)
    names = [cell.levels[0] for cell in shown]
    assert len(shown) == 12 and left == 20 and {"0", "31", "15"} <= set(names)
    assert names == sorted(names, key=int)  # in the order of the table
    kept, more, masked = select_gaps(table, cells, 12)
    assert (len(kept), more, masked) == (12, 52, 0)
    sizes = [abs(gap.value) for gap in kept]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == 0.9
    assert {("0",), ("31",)} <= {gap.levels for gap in kept}


def test_masked_groups_take_no_room_and_are_not_promised_elsewhere():
    """`8 more gaps: see the HTML` where all of these are masked."""
    cells, table = tables(
        [50] * 4 + [3] * 20, [0.1, -0.3, 0.2, 0.05] + [0.9] * 20, masked=range(4, 24)
    )
    kept, more, masked = select_gaps(table, cells, 12)
    assert len(kept) == 8 and more == 0 and masked == 40
    shown, left = select_cells(cells, table, 12)
    assert [cell.levels[0] for cell in shown if not cell.masked] == ["0", "1", "2", "3"]
    assert left == 0


@pytest.fixture(scope="module")
def result():
    """Four large groups and twenty small ones."""
    rng = np.random.default_rng(0)
    names = np.array([f"small {k:02}" for k in range(20)] + ["w", "x", "y", "z"])
    share = np.array([0.004] * 20 + [0.1, 0.2, 0.3, 0.32])
    frame = pd.DataFrame({"g": rng.choice(names, 900, p=share / share.sum())})
    frame["y"] = rng.integers(0, 2, 900)
    frame["label"] = rng.random(900) < 0.3 + 0.4 * frame.y
    return fa.audit(
        predictions=frame.label.astype(int),
        outcome=frame.y,
        sensitive={"g": frame.g},
        permutations=fa.Permutations(n=39),
    )


def test_reports_do_not_send_readers_after_masked_gaps(result):
    masked = result.suppressed(10)
    hidden = sum(gap.value is None for gap in masked.gaps.gaps)
    assert hidden > 24
    for text in (audit_text.render(masked), audit_markdown.render(masked), masked.render("html")):
        words = " ".join(text.split())
        assert "more gap" not in words and "more group" not in words
        assert f"{hidden} gaps of hidden groups left out." in words
        assert "all others shown, with the same outcome" in words
    assert "more gaps: see the HTML or JSON report." in " ".join(audit_text.render(result).split())


def test_the_gap_table_is_sorted_by_size(result):
    lines = audit_text.render(result.suppressed(10)).split("\nGaps\n")[1].split("\n\n")[0]
    sizes = [
        abs(float(line.split("[")[0].split()[-1])) for line in lines.splitlines() if "[" in line
    ]
    assert len(sizes) == 8 and sizes == sorted(sizes, reverse=True)


def test_where_all_groups_are_masked_there_is_no_empty_table(result):
    masked = result.suppressed(600)
    assert masked.cells.masked == len(masked.cells.cells)
    for form in ("txt", "md", "html"):
        assert "All gaps are those of hidden groups." in " ".join(masked.render(form).split())


def test_a_long_page_of_groups_keeps_the_largest():
    people = [20] * 5000
    people[4321] = 10_000
    cells, table = tables(people, [0.1] * 5000)
    shown, left = select_cells(cells, table, 200)
    assert "4321" in {cell.levels[0] for cell in shown} and left == 4800
