"""Copies of counts: tables with fixed sums, each with its hypergeometric probability."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, hypergeom

from fairaudit.permute import count_copies
from fairaudit.permute.count_copies import TOGETHER, TableSampler, split_counts
from fairaudit.permute.large_hypergeometric import draw_hypergeometric, log_hypergeometric


def chi_square_p(seen: np.ndarray, expected: np.ndarray) -> float:
    """Cells of fewer than 5 expected are put together."""
    many = expected >= 5
    s = np.append(seen[many], seen[~many].sum())
    e = np.append(expected[many], expected[~many].sum())
    s, e = s[e > 0], e[e > 0]
    return float(chi2.sf(((s - e) ** 2 / e).sum(), len(e) - 1))


@pytest.mark.parametrize(
    ("good", "bad", "drawn"),
    [(7, 9, 6), (20, 30, 25), (300, 500, 200), (500, 300, 700), (12, 4000, 900), (5, 5, 9)],
)
def test_numbers_follow_their_law(good: int, bad: int, drawn: int) -> None:
    rng = np.random.default_rng(1)
    count = 20_000
    seen = np.bincount(
        [draw_hypergeometric(rng, good, bad, drawn) for _ in range(count)], minlength=drawn + 1
    )
    expected = count * hypergeom.pmf(np.arange(len(seen)), good + bad, good, drawn)
    assert chi_square_p(seen, expected) > 1e-4


@pytest.mark.parametrize(
    ("good", "bad", "drawn"),
    [(3 * 10**9, 5 * 10**9, 2 * 10**9), (10**10, 10**12, 10**7), (40, 10**11, 3 * 10**9)],
)
def test_large_numbers_have_mean_and_variance(good: int, bad: int, drawn: int) -> None:
    rng = np.random.default_rng(2)
    total = good + bad
    mean = drawn * good / total
    variance = mean * (bad / total) * ((total - drawn) / (total - 1))
    values = np.array([draw_hypergeometric(rng, good, bad, drawn) for _ in range(4000)])
    z = (values.mean() - mean) / math.sqrt(variance / len(values))
    assert abs(z) < 4
    assert abs(values.var() / variance - 1) < 4 * math.sqrt((2 + 1 / variance) / len(values))


def test_probabilities_are_accurate() -> None:
    for good, bad, drawn in ((30, 50, 20), (3, 4, 5), (1000, 2000, 900)):
        for x in range(max(0, drawn - bad), min(good, drawn) + 1):
            exact = math.comb(good, x) * math.comb(bad, drawn - x) / math.comb(good + bad, drawn)
            if exact > 1e-250:
                assert math.exp(log_hypergeometric(x, good, bad, drawn)) == pytest.approx(
                    exact, rel=1e-11
                )
    # neighbors of numbers beyond 10⁹: their quotient is known without factorials
    good, bad, drawn = 3 * 10**9, 5 * 10**9, 2 * 10**9
    x = drawn * good // (good + bad) + 20_000
    quotient = (good - x) * (drawn - x) / ((x + 1) * (bad - drawn + x + 1))
    step = log_hypergeometric(x + 1, good, bad, drawn) - log_hypergeometric(x, good, bad, drawn)
    assert math.exp(step) == pytest.approx(quotient, rel=1e-7)


@pytest.mark.parametrize("way", ["row by row", "cell by cell", "by predictions", "halved"])
def test_tables_have_their_probability(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tables of two margins by brute force, and how often each is drawn."""
    if way != "row by row":
        monkeypatch.setattr(count_copies, "_SMALL", 0)
        monkeypatch.setattr(count_copies, "_CIRCLED", 0)
    if way in ("by predictions", "halved"):
        monkeypatch.setattr(count_copies, "_IN_ONE_CALL", 0)
    if way == "halved":
        monkeypatch.setattr(count_copies, "_MOST", 4)
    blocks, predictions = np.array([3, 2, 2]), np.array([4, 2, 1])
    probability = {}
    for free in product(range(4), repeat=4):  # the other cells follow from the sums
        table = np.zeros((3, 3), dtype=np.int64)
        table[:2, :2] = np.array(free).reshape(2, 2)
        table[:2, 2] = blocks[:2] - table[:2].sum(axis=1)
        table[2] = predictions - table[:2].sum(axis=0)
        if table.min() >= 0:
            ways = math.prod(math.factorial(k) for k in (*blocks, *predictions))
            probability[table.tobytes()] = ways / (
                math.factorial(7) * math.prod(math.factorial(k) for k in table.ravel())
            )
    assert sum(probability.values()) == pytest.approx(1)
    place = {key: k for k, key in enumerate(probability)}
    seen = np.zeros(len(place))
    sampler = TableSampler([np.array([[3, 0, 0], [1, 1, 0], [0, 1, 1]])], 0)
    for chunk in range(150):
        for (table,) in sampler.draw(chunk):
            seen[place[np.ascontiguousarray(table).tobytes()]] += 1
    expected = 150 * TOGETHER * np.array(list(probability.values()))
    assert chi_square_p(seen, expected) > 1e-4


def test_beyond_a_billion_rows_margins_stay() -> None:
    blocks = np.array([7 * 10**8, 9 * 10**8, 4 * 10**8, 2 * 10**9], dtype=np.int64)
    predictions = np.array([10**9, 10**9, 2 * 10**9 - 7, 7], dtype=np.int64)
    data = np.zeros((4, 4), dtype=np.int64)  # some table with these sums
    left, right = blocks.copy(), predictions.copy()
    for i, j in product(range(4), repeat=2):
        data[i, j] = min(left[i], right[j])
        left[i], right[j] = left[i] - data[i, j], right[j] - data[i, j]
    first = TableSampler([data], 3).draw(0)
    for (table,) in first:
        assert (table.sum(1) == blocks).all() and (table.sum(0) == predictions).all()
        assert table.min() >= 0
    mean = np.outer(blocks, predictions) / blocks.sum()
    total = float(blocks.sum())
    variance = mean * np.outer(1 - blocks / total, 1 - predictions / total)
    z = (first[0][0] - mean) / np.sqrt(variance)
    assert np.abs(z).max() < 5
    again = TableSampler([data], 3).draw(0)
    assert all((a[0] == b[0]).all() for a, b in zip(first, again, strict=True))


def test_turns_are_a_group_that_holds_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_copies, "_SMALL", 0)
    rng = np.random.default_rng(4)
    data = rng.integers(0, 30, (5, 7))
    sampler = TableSampler([data, data], 0)
    circle = sampler.circles[0]
    assert circle is not None
    rows = len(circle.predictions)
    assert (circle.turn(0) == data).all()
    seen = np.array([circle.turn(by) for by in range(rows)])
    assert (seen.sum(axis=1) == data.sum(axis=0)).all()
    assert (seen.sum(axis=2) == data.sum(axis=1)).all()
    # over all turns every row meets every prediction once: the mean is that of all permutations
    expected = np.outer(data.sum(axis=1), data.sum(axis=0)) / rows
    np.testing.assert_allclose(seen.mean(axis=0), expected)
    shares = expected / rows
    row, column = data.sum(axis=1) / rows, data.sum(axis=0) / rows
    variance = rows**2 / (rows - 1) * shares * np.outer(1 - row, 1 - column)
    assert 0.8 < (seen.var(axis=0) / variance).mean() < 1.2
    for tables in sampler.draw(0):
        assert not (tables[0] == tables[1]).all()  # every class turns by itself


def test_kinds_are_split_beyond_a_billion() -> None:
    counts = np.array([10**9, 5 * 10**9, 30], dtype=np.int64)
    drawn = split_counts(np.random.default_rng(0), counts, 2 * 10**9)
    assert drawn.sum() == 2 * 10**9 and (drawn <= counts).all()
