"""KPC less its mean over copies: by brute force, in its parts, and on average."""

from dataclasses import replace
from itertools import permutations as orders

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.geometry.kernels import Gram, kernel_named
from fairaudit.metrics._kpc import graph_of, kpc_of_table
from fairaudit.metrics._kpc_blocks import kpc_by_blocks
from fairaudit.metrics._kpc_centered import _Windows, kpc_centered_of_table


def test_it_is_kpc_less_the_mean_over_all_copies():
    """Seven rows in two classes: 4! · 3! copies."""
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "a", "b", "a", "b", "a"])
    u, a = rng.normal(size=7), 2 * rng.normal(size=(7, 2))  # neighbors of the other class too
    table = AuditTable.of(u, {"x": a[:, 0], "z": a[:, 1]}, y)
    classes = [np.flatnonzero(y == level) for level in ("a", "b")]
    values = []
    for first in orders(classes[0]):
        for second in orders(classes[1]):
            moved = u.copy()
            moved[classes[0]], moved[classes[1]] = u[list(first)], u[list(second)]
            values.append(float(fa.metrics.kpc(moved, sensitive=table.attributes, y_true=y)))
    size = kpc_centered_of_table(table)
    assert size.raw == pytest.approx(float(kpc_of_table(table)))
    assert size.value == pytest.approx(size.raw - np.mean(values))
    assert abs(np.mean(values)) > 0.01


def test_rows_next_to_one_another_stand_for_equal_numbers():
    """Every edge sees all pairs of different rows that may stand at its ends."""
    rng = np.random.default_rng(1)
    y = np.maximum(np.rint(4 * rng.normal(size=40)), -1) / 4  # with few ties and many
    u = y + rng.normal(size=40)
    table = AuditTable.of(u, {"a": rng.normal(size=40)}, y, kinds={"y_true": "continuous"})
    gram = Gram(kernel_named("rbf", u[:, None])[0], u[:, None])
    graph = graph_of((table.outcome, *table.attributes), 40, "standard", 1)
    share = np.zeros((40, 40))  # of row j in the run around row i
    for i, value in enumerate(y):
        share[i, y == value] = 1.0
        if (y == value).sum() >= 7:
            continue
        for side in (-1, 1):
            wanted = 3.0
            for other in sorted(set(side * y[side * y > side * value])):
                equal = y == side * other
                share[i, equal] = min(1.0, wanted / equal.sum())
                wanted = max(0.0, wanted - equal.sum())
    total = 0.0
    for i, j, weight in zip(*graph.row_pairs(), strict=True):
        chances = np.outer(share[i], share[j])
        np.fill_diagonal(chances, 0.0)
        p, q = np.nonzero(chances)
        total += weight * (chances[p, q] @ gram.pairs(p, q)) / chances.sum()
    windows = _Windows.of(table.outcome)
    assert windows.mean_of_copies(graph, gram) == pytest.approx(total / 40, rel=1e-9)


def test_categories_need_no_centering():
    rng = np.random.default_rng(2)
    y, sex, race = (
        rng.integers(0, 2, 600),
        rng.choice(["f", "m"], 600),
        rng.choice(list("abc"), 600),
    )
    u = y + 0.5 * (sex == "f") + rng.normal(size=600)
    size = fa.metrics.kpc_centered(u, sensitive={"sex": sex, "race": race}, y_true=y)
    assert size.value == pytest.approx(size.raw, abs=1e-12)
    assert size.low < size.value < size.high and size.low > 0


def test_blocks_give_the_same_size(monkeypatch):
    """From sums over tied blocks, some of one row whose neighbor has the other outcome."""
    from fairaudit.metrics import _kpc_blocks

    rng = np.random.default_rng(3)
    n = 3000
    y = rng.integers(0, 2, n)
    ages = rng.integers(0, 20, n)
    ages[:6], y[:6] = np.repeat([10_000, 20_000, 30_000], 2), [0, 1] * 3  # far from all others
    u = y + 0.1 * (ages > 9) + rng.normal(size=n)
    table = AuditTable.of(u, {"age": ages, "sex": rng.choice(["f", "m"], n)}, y)
    monkeypatch.setattr(_kpc_blocks, "blocks_pay", lambda *_: True)
    sets = [("age", "sex"), ("age",)]
    for names, (raw, of_copies) in zip(sets, kpc_by_blocks(table, sets), strict=True):
        chosen = tuple(column for column in table.attributes if column.name in names)
        size = kpc_centered_of_table(replace(table, attributes=chosen))
        assert raw == pytest.approx(size.raw, abs=1e-8)
        assert raw - of_copies == pytest.approx(size.value, abs=1e-8)
        assert abs(of_copies) > 1e-6


@pytest.mark.parametrize("outcome", ["classes", "numbers"])
@pytest.mark.parametrize("count", [1, 5, 10])
def test_it_is_zero_where_there_is_nothing(outcome, count):
    """30 tables of 300 rows; KPC itself is far below 0 with many attributes."""
    sizes = []
    for seed in range(30):
        rng = np.random.default_rng([seed, count])
        a = rng.normal(size=(300, count))
        y = 0.5 * a[:, 0] + rng.normal(size=300)
        y = (y > 0).astype(int) if outcome == "classes" else y
        u = y + 0.5 * rng.normal(size=300)
        sizes.append(fa.metrics.kpc_centered(u, sensitive=a, y_true=y))
    values = np.array([size.value for size in sizes])
    assert abs(values.mean()) < 3.9 * values.std(ddof=1) / np.sqrt(30)  # one in 10,000
    assert sum(size.low <= 0 <= size.high for size in sizes) >= 23  # of 30 with .95: the same
    if count == 10:
        assert np.mean([size.raw for size in sizes]) < -0.1


def test_the_interval_is_that_of_many_tables():
    """The standard error behind it is the spread of the size over tables."""
    sizes = []
    for seed in range(60):
        rng = np.random.default_rng([seed, 9])
        a, y = rng.normal(size=(400, 3)), rng.normal(size=400)
        u = y + a[:, 0] + rng.normal(size=400)
        sizes.append(fa.metrics.kpc_centered(u, sensitive=a, y_true=y))
    spread = np.std([size.value for size in sizes])
    error = np.mean([(size.value - size.low) / 1.96 for size in sizes])
    assert 0.8 * spread < error < 1.8 * spread  # it is on the safe side


def test_undefined_sizes_are_refused():
    y = np.array([0, 1] * 20)
    with pytest.raises(fa.errors.InputError, match="undefined"):
        fa.metrics.kpc_centered(y * 1.0, sensitive={"sex": ["f", "m", "m", "f"] * 10}, y_true=y)


@pytest.mark.parametrize(("spread", "defined"), [(0.003, False), (0.02, False), (0.3, True)])
def test_no_size_where_neighbors_in_the_outcome_differ_by_it(spread: float, defined: bool) -> None:
    """A fair prediction that nearly is the outcome had a size of 2 and more."""
    rng = np.random.default_rng(11)
    y, sex, age = rng.normal(size=400), rng.integers(0, 2, 400), rng.normal(size=400)
    asked = {"sensitive": {"sex": sex, "age": age}, "y_true": y}
    u = y + spread * rng.normal(size=400)
    if defined:
        assert abs(fa.metrics.kpc_centered(u, **asked).value) < 0.3
        return
    with pytest.raises(fa.InputError, match="the outcome nearly determines the prediction"):
        fa.metrics.kpc_centered(u, **asked)
