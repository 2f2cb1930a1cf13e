"""The kind of a column is decided by one summary, of all rows or of pieces that are joined."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.data.column_summary import MOST_LEVELS, ColumnSummary, summarize
from fairaudit.data.columns import Kind, columns_from

RNG = np.random.default_rng(0)
COLUMNS = {
    "two words": RNG.choice(["a", "b"], 300),
    "words": RNG.choice(list("abcde"), 300),
    "one word": ["a"] * 300,
    "flags": RNG.random(300) < 0.5,
    "flags as objects": (RNG.random(300) < 0.5).astype(object),
    "two codes": RNG.choice([1, 2], 300),
    "codes": RNG.integers(0, 5, 300),
    "ages": RNG.integers(18, 90, 300),
    "whole floats": RNG.integers(18, 90, 300).astype(float),
    "scores": RNG.normal(size=300),
    "few scores": RNG.choice([0.25, 0.5, 1.0], 300),
    "levels": pd.Categorical(RNG.choice(["x", "y", "z"], 300)),
    "numbers as words": RNG.integers(0, 9, 300).astype(str),
    "large": 2**60 + 4096 * RNG.integers(0, 9, 300),
}


def pieces(values: pd.Series, count: int) -> ColumnSummary:
    parts = [values.iloc[rows] for rows in np.array_split(np.arange(len(values)), count)]
    return reduce(ColumnSummary.merge, (summarize("c", part, "p") for part in parts))


@pytest.mark.parametrize("outcome", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_pieces_have_the_kind_of_the_whole(name, outcome):
    values = pd.Series(COLUMNS[name])
    (column,) = columns_from(values.rename("c"), argument="c", outcome=outcome)
    for count in (1, 2, 7, 300):
        joined = pieces(values, count)
        assert joined.kind(outcome=outcome) is column.kind
        assert joined.levels == frozenset(column.levels.tolist())
        assert joined.text == (column.numeric is None)
        if column.numeric is not None:
            assert (joined.low, joined.high) == (column.numeric.min(), column.numeric.max())
    assert joined == summarize("c", values, "p")


def test_many_levels_are_not_listed():
    values = pd.Series(RNG.normal(size=2 * MOST_LEVELS))
    for count in (1, 4):
        joined = pieces(values, count)
        assert joined.levels is None and joined.kind(outcome=True) is Kind.CONTINUOUS
    assert joined.low == values.min()


def test_missing_values_have_no_type():
    nothing = summarize("c", pd.Series([None, None], dtype=object), "first")
    text, number = (summarize("c", pd.Series(v), "second") for v in (["a", "b", None], [1.5, 2.5]))
    assert nothing.merge(text).missing == text.merge(nothing).missing == 3
    assert nothing.merge(number).kind(outcome=False) is Kind.BINARY
    with pytest.raises(fa.InputError, match="holds text in second and numbers in second"):
        text.merge(number)


def test_large_whole_numbers_that_become_equal_are_known():
    near = [pd.Series([2**60 + k]) for k in (0, 1)]
    assert not summarize("c", near[0]).merged
    assert summarize("c", near[0]).merge(summarize("c", near[1])).merged
    assert summarize("c", pd.concat(near)).merged


def test_marks_among_numbers_are_missing_values():
    ages = pd.Series(RNG.integers(18, 90, 300).astype(str)).where(np.arange(300) % 10 > 0, "?")
    for count in (1, 5):
        joined = pieces(ages, count)
        assert joined.text and joined.marked
        numbers = joined.as_declared(None, 10)
        assert (numbers.text, numbers.missing) == (False, 30)
        assert numbers.kind(outcome=False) is Kind.INTEGER
        assert joined.as_declared(Kind.CATEGORICAL, 10) is joined
        assert joined.as_declared(None, 500) is joined
    words = summarize("c", pd.Series(["1", "2", "x"]))
    assert words.numbers is None and words.as_declared(Kind.CONTINUOUS, 1) is words
