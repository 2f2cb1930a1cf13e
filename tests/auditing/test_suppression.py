"""Disclosure control: what `suppress` hides, and that nobody can compute it from the rest."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairaudit.evidence.disclosure import of_open_cells, suppress
from fairaudit.evidence.measured import Cell, CellTable, Estimate, MeasuredValue

HIDDEN = Estimate(value=None, low=None, high=None, rows=None, people=None)


def rate(rows, rows_per_person=1):
    people = -(-rows // rows_per_person)
    return (
        Estimate(value=0.5, low=0.4, high=0.6, rows=rows, people=people)
        if rows
        else Estimate(value=None, low=None, high=None, rows=0, people=0)
    )


def cell(number, zeros, ones, rows_per_person=1):
    """A group with so many people of each outcome."""
    rows = zeros + ones
    return Cell(
        levels=(f"level {number}",),
        rows=rows,
        people=-(-rows // rows_per_person),
        estimates=tuple(rate(count, rows_per_person) for count in (rows, ones, zeros)),
    )


def table(*groups, rows_per_person=1):
    cells = tuple(cell(k, *group, rows_per_person) for k, group in enumerate(groups))
    return CellTable(attributes=("a",), columns=("selected", "TPR", "FPR"), cells=cells, unlisted=0)


def counts(cell):
    return [cell.people or 0, *(estimate.people or 0 for estimate in cell.estimates)]


def hidden(before, after):
    """The cells that are masked after and were not before."""
    pairs = zip(before.cells, after.cells, strict=True)
    return [old for old, new in pairs if new.masked and not old.masked]


count = st.one_of(st.just(0), st.integers(0, 12), st.integers(0, 60))
tables = st.builds(
    lambda groups, rows: table(*groups, rows_per_person=rows),
    st.lists(st.tuples(count, count), min_size=1, max_size=9),
    st.integers(1, 3),
)
fewest = st.integers(2, 15)


@given(tables, fewest)
def test_no_small_count_is_visible(before, k):
    for cell in suppress(before, k).cells:
        if not cell.masked:
            assert not any(0 < number < k for number in counts(cell))


@given(tables, fewest)
def test_masked_cells_show_nothing_and_others_all(before, k):
    after = suppress(before, k)
    assert replace(after, cells=()) == replace(before, cells=())
    for old, new in zip(before.cells, after.cells, strict=True):
        if new.masked:
            assert new == Cell(
                levels=old.levels, rows=None, people=None, estimates=(HIDDEN,) * 3, masked=True
            )
        else:
            assert new == old


@given(tables, fewest)
def test_nothing_is_masked_without_a_reason(before, k):
    if not any(0 < number < k for cell in before.cells for number in counts(cell)):
        assert suppress(before, k) == before


@given(tables, fewest)
def test_cells_without_people_stay(before, k):
    for old, new in zip(before.cells, suppress(before, k).cells, strict=True):
        if old.rows == 0:
            assert new == old


@given(tables, fewest)
def test_totals_give_no_cell_away(before, k):
    """Whoever knows the total of a column and the visible cells knows the sum of the hidden."""
    after = suppress(before, k)
    behind = hidden(before, after)
    if not behind:
        return
    filled = [cell for cell in before.cells if cell.rows]
    assert len(behind) >= min(2, len(filled))
    totals = [sum(column) for column in zip(*map(counts, before.cells), strict=True)]
    visible = [cell for cell in after.cells if not cell.masked]
    shown = [sum(counts(cell)[j] for cell in visible) for j in range(4)]
    for j, total in enumerate(totals):
        left = total - shown[j]
        assert left == sum(counts(cell)[j] for cell in behind)
        if len(behind) < len(filled):  # there was something left to mask
            assert left == 0 or left >= k


@given(tables, fewest)
def test_twice_is_once(before, k):
    once = suppress(before, k)
    assert suppress(once, k) == once


@given(tables, fewest, fewest)
def test_a_stricter_limit_hides_more_and_does_not_lean_on_what_was_hidden(before, k, more):
    assume(k < more)
    once = suppress(before, k)
    twice = suppress(once, more)
    for old, new in zip(once.cells, twice.cells, strict=True):
        assert new.masked or new == old
        assert new.masked or not any(0 < number < more for number in counts(new))
    behind = hidden(once, twice)
    if behind:  # the difference of the two tables
        open_before = [cell for cell in once.cells if cell.rows]
        assert len(behind) >= min(2, len(open_before))
        if len(behind) < len(open_before):
            sums = [sum(column) for column in zip(*map(counts, behind), strict=True)]
            assert all(total == 0 or total >= more for total in sums)


def masked(result):
    return [cell.masked for cell in result.cells]


def test_the_smallest_open_cells_protect_a_small_one():
    assert masked(suppress(table((2, 2), (50, 50), (20, 20), (90, 90)), 10)) == [
        True,
        False,
        True,
        False,
    ]
    # two small cells that together have fewer than ten need a third
    assert masked(suppress(table((2, 2), (2, 2), (20, 20), (90, 90)), 10)) == [
        True,
        True,
        True,
        False,
    ]
    # two small cells that hide each other do not
    assert masked(suppress(table((9, 9), (9, 9), (20, 20)), 10)) == [True, True, False]


def test_few_of_one_outcome_are_few():
    assert masked(suppress(table((3, 400), (50, 50), (60, 60)), 10)) == [True, True, False]
    assert masked(suppress(table((0, 400), (50, 50)), 10)) == [False, False]


def test_people_count_and_not_rows():
    many_rows = table((12, 12), (40, 40), (40, 40), rows_per_person=3)
    assert masked(suppress(many_rows, 10)) == [True, True, False]


def test_a_single_group_can_only_be_hidden():
    assert masked(suppress(table((3, 3), (0, 0)), 10)) == [True, False]


def test_a_cell_that_was_masked_alone_gets_company():
    cell, *others = table((3, 3), (20, 20), (30, 30), (40, 40)).cells
    alone = replace(cell, rows=None, people=None, estimates=(HIDDEN,) * 3, masked=True)
    given_so = CellTable(
        attributes=("a",), columns=("selected", "TPR", "FPR"), cells=(alone, *others), unlisted=0
    )
    assert sum(masked(suppress(given_so, 10))) >= 2


@pytest.mark.parametrize("k", [0, 1])
def test_limits_that_hide_nothing(k):
    assert suppress(table((1, 1), (50, 50)), k) == table((1, 1), (50, 50))


def test_gaps_do_not_tell_rates_of_masked_groups():
    shown = [
        Cell(
            levels=(name,),
            rows=40,
            people=40,
            estimates=(
                Estimate(value=r, low=0, high=1, rows=40, people=40),
                Estimate(value=r, low=0, high=1, rows=20, people=20),
                Estimate(value=r, low=0, high=1, rows=20, people=20),
            ),
        )
        for name, r in (("a", 0.5), ("b", 0.4), ("c", 0.6))
    ]
    small = Cell(
        levels=("d",),
        rows=7,
        people=7,
        estimates=tuple(Estimate(value=2 / 7, low=0, high=1, rows=7, people=7) for _ in range(3)),
    )
    masked = suppress(
        CellTable(
            attributes=("g",), columns=("selected", "TPR", "FPR"), cells=(*shown, small), unlisted=0
        ),
        10,
    )
    gap = MeasuredValue(
        key="equalized_odds_difference",
        name="gap",
        value=0.6 - 2 / 7,
        attributes=("g",),
        note="cut at 0.5",
    )
    open_ = [cell.estimates[1].value for cell in masked.cells if not cell.masked]
    told = of_open_cells(gap, masked, 0.02, False)
    assert told.value == max(open_) - min(open_)
    assert told == of_open_cells(told, masked, 0.02, False, again=True)
    assert told.note.startswith("cut at 0.5; ")
    deo = MeasuredValue(key="deo", name="DEO", value=0.9, attributes=("g",))
    rates = [cell.estimates[1].value for cell in masked.cells if not cell.masked]
    of_shown = 2 * sum(abs(rate - sum(rates) / len(rates)) for rate in rates)
    assert of_open_cells(deo, masked, 0.02, False).value == pytest.approx(of_shown)
    assert of_open_cells(deo, masked, 0.02, True).value is None  # the weights are not known
    kpc = MeasuredValue(key="kpc", name="KPC", value=0.12345, attributes=("g",))
    rounded = of_open_cells(kpc, masked, 0.02, False)
    assert rounded.value == 0.12 and rounded.note
    assert rounded == of_open_cells(rounded, masked, 0.02, False, again=True)


def test_one_person_with_many_rows_is_one_person():
    """Twelve rows of one outcome by one person are no crowd."""
    own = Cell(
        levels=("d",),
        rows=60,
        people=21,
        estimates=(
            Estimate(value=0.5, low=0, high=1, rows=60, people=21),
            Estimate(value=0.5, low=0, high=1, rows=12, people=1),
            Estimate(value=0.5, low=0, high=1, rows=48, people=20),
        ),
    )
    before = table((30, 40), (50, 60), (70, 80))
    after = suppress(replace(before, cells=(*before.cells, own)), 10)
    assert after.cells[-1].masked and after.masked >= 2
