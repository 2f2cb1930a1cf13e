"""The one table of groups: against counting by hand, and parts against the whole."""

from dataclasses import replace
from functools import reduce
from itertools import product
from operator import add

import numpy as np
import pandas as pd
import pytest

from fairaudit.data import groups as module
from fairaudit.data.groups import Groups, GroupTable, Labels, hidden_groups
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.metrics._labels import binary_labels, label_groups


def people(seed, n=120, weighted=False, ids=False):
    """Some combinations of levels are rare, one has no rows."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"a": rng.choice(list("uvw"), n, p=[0.6, 0.3, 0.1]), "b": rng.choice(["f", "m"], n)}
    )
    frame.loc[frame.a == "w", "b"] = "m"
    return AuditTable.of(
        rng.integers(0, 2, n),
        frame,
        rng.integers(0, 2, n),
        weights=rng.exponential(size=n) ** 2 if weighted else None,
        ids=rng.integers(0, n // 3, n) if ids else None,
    )


def by_hand(table):
    """The rows of every group and outcome: (levels, outcome) → rows."""
    levels = [column.levels[column.codes] for column in table.attributes]
    labels = binary_labels(table)
    keys = list(product(*(column.levels for column in table.attributes)))
    found = {}
    for key, y in product(keys, (0, 1)):
        inside = np.logical_and.reduce([own == k for own, k in zip(levels, key, strict=True)])
        found[key, y] = np.flatnonzero(inside & (labels.actual == y))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_rates_gaps_and_deo_by_hand(seed, weighted):
    table = people(seed, weighted=weighted)
    weights = np.ones(len(table)) if table.weights is None else table.weights
    hit, groups = binary_labels(table).predicted, label_groups(table)
    cells = by_hand(table)
    rates = {(y, key): np.nan for key, y in cells}
    for (key, y), rows in cells.items():
        z = groups.levels.index(key)
        assert groups.counts[y, z].tolist() == [(~hit[rows]).sum(), hit[rows].sum()]
        assert groups.weight[y, z].sum() == pytest.approx(weights[rows].sum())
        if len(rows):
            rates[y, key] = np.average(hit[rows], weights=weights[rows])
            assert groups.rate()[y, z] == pytest.approx(rates[y, key])
        else:
            assert np.isnan(groups.rate()[y, z]) and groups.sizes()[y, z] == 0
    total, differences, ratios = 0.0, [], []
    for y in (0, 1):
        rows = binary_labels(table).actual == y
        overall = np.average(hit[rows], weights=weights[rows])
        own = [rate for (outcome, _), rate in rates.items() if outcome == y and rate == rate]
        total += sum(abs(rate - overall) for rate in own)
        differences.append(max(own) - min(own))
        ratios.append(min(own) / max(own))
    assert groups.deo() == pytest.approx(total)
    assert groups.differences() == pytest.approx(differences)
    assert groups.ratios() == pytest.approx(ratios)


def size_by_hand(rows, weights, hit, unit):
    """The formula of `WeightSums.sizes`, row by row; `unit` is the weight of (0, 1) rows."""
    w, label = weights[rows], hit[rows]
    if not len(rows):
        return 0.0
    rate = np.average(label, weights=w)
    squares = (w**2 * (label - rate) ** 2).sum()
    shares = ((rate, unit[0]), (1 - rate, unit[1]))
    top = rate * (1 - rate) * w.sum() ** 2 + sum(2 * s * u * w.sum() for s, u in shares)
    kish = w.sum() ** 2 / (w**2).sum()
    return min(top / (squares + sum(2 * s * u**2 for s, u in shares)), kish)


@pytest.mark.parametrize("seed", range(5))
def test_sizes_of_weighted_rates_by_hand(seed):
    """How heavy a row may be is learned from all groups, relative to rows of the other label."""
    table = people(seed, weighted=True)
    weights, labels, groups = table.weights, binary_labels(table), label_groups(table)
    hit, cells = labels.predicted, by_hand(table)
    heavy = {}
    for label in (0, 1):
        moments = np.zeros((2, 2))
        for (_, y), rows in cells.items():
            own, others = rows[hit[rows] == label], rows[hit[rows] != label]
            if len(others):
                relative = weights[own] / weights[others].mean()
                moments[y] += (relative**3).sum(), (relative**2).sum()
        heavy[label] = max(cubes / squares for cubes, squares in moments if squares)
    for (key, y), rows in cells.items():
        unit = []
        for label in (0, 1):
            others = rows[hit[rows] != label]
            least = (weights[rows] ** 2).sum() / weights[rows].sum() if len(rows) else 0.0
            mean = weights[others].mean() if len(others) else 0.0
            unit.append(max(heavy[label] * mean, least))
        wanted = size_by_hand(rows, weights, hit, unit)
        assert groups.sizes()[y, groups.levels.index(key)] == pytest.approx(wanted)


@pytest.mark.parametrize("pooled", [False, True])
def test_equal_weights_are_worth_their_rows(pooled):
    plain = people(1)
    weighted = replace(plain, weights=np.full(len(plain), 0.3))
    sizes = [label_groups(table).sizes(pooled=pooled) for table in (plain, weighted)]
    np.testing.assert_allclose(sizes[1], sizes[0], rtol=1e-12)
    rows = label_groups(plain).counts.sum(axis=2)
    assert (sizes[0] == (rows.sum(axis=0) if pooled else rows)).all()


def same(left, right):
    assert (left.attributes, left.levels, left.unlisted) == (
        right.attributes,
        right.levels,
        right.unlisted,
    )
    np.testing.assert_array_equal(left.counts, right.counts)
    np.testing.assert_array_equal(left.persons(), right.persons())
    for name in ("rate", "overall", "sizes", "squares_of_people"):
        np.testing.assert_allclose(getattr(left, name)(), getattr(right, name)(), rtol=1e-10)
    np.testing.assert_allclose(left.sizes(pooled=True), right.sizes(pooled=True), rtol=1e-10)
    assert left.deo() == pytest.approx(right.deo())
    np.testing.assert_array_equal(left.masked(8), right.masked(8))
    first, second = left.rates(), right.rates()
    np.testing.assert_allclose(first.size, second.size, rtol=1e-10)
    assert first.groups_apart == second.groups_apart
    assert first.outcomes_apart == second.outcomes_apart


@pytest.mark.parametrize("most", [10_000, 4])
@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_parts_add_up_to_the_whole(seed, weighted, ids, most, monkeypatch):
    """Partitions in which levels are missing: one has only u, another no w."""
    monkeypatch.setattr(module, "MOST_LISTED", most)
    table = people(seed, weighted=weighted, ids=ids)
    labels = binary_labels(table)
    codes = table.attributes[0].codes
    part_of_row = np.where(codes == 0, np.arange(len(table)) % 3, np.where(codes == 1, 1, 2))
    if ids:  # nobody is in two partitions
        part_of_row = table.ids.codes % 3
    parts = []
    for part in range(3):
        rows = np.flatnonzero(part_of_row == part)
        own = Labels(labels.predicted[rows], labels.actual[rows], labels.names)
        parts.append(GroupTable.of(table.take(rows), own))
    if not ids:
        assert len({part.levels for part in parts}) == 3
    whole = GroupTable.of(table, labels)
    assert (whole.unlisted > 0) == (most == 4)
    same(reduce(add, parts), whole)
    same(reduce(add, parts[::-1]), whole)


def test_tables_of_other_attributes_do_not_add_up():
    table, other = people(0), people(1)
    alone = AuditTable.of([0, 1, 1, 0], {"c": list("xyxy")}, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="do not add up"):
        label_groups(table) + label_groups(alone)
    assert (label_groups(table) + label_groups(other)).counts.sum() == len(table) + len(other)


def test_people_by_hand():
    table = people(3, ids=True)
    groups, labels, who = label_groups(table), binary_labels(table), table.ids.codes
    cells = by_hand(table)
    for key in groups.levels:
        z = groups.levels.index(key)
        rows = [cells[key, y] for y in (0, 1)]
        wanted = [len(set(who[np.concatenate(rows)])), *(len(set(who[own])) for own in rows)]
        assert groups.persons()[:, z].tolist() == wanted
        for y in (0, 1):
            squares = np.bincount(who[rows[y]]) ** 2
            assert groups.squares_of_people()[y, z] == squares.sum()
    alone = Labels(labels.predicted, np.zeros(len(table), dtype=bool), labels.names)
    assert GroupTable.of(table, alone).rates().outcomes_apart
    assert not groups.rates().groups_apart and not groups.rates().outcomes_apart


def test_people_of_one_rate_are_worth_a_row_each():
    """Each has two misses and one hit: 2/3 − 1/3 − 1/3 is not 0 in floating-point numbers."""
    n = 30
    table = AuditTable.of(
        np.tile([1, 0, 0], n),
        {"g": np.repeat(["x", "y"], 3 * n // 2)},
        np.ones(3 * n, dtype=int),
        ids=np.arange(3 * n) // 3,
    )
    np.testing.assert_allclose(label_groups(table).rates().size[1], [n / 2, n / 2])


def test_no_small_group_is_open_and_no_masked_one_stands_alone():
    rng = np.random.default_rng(0)
    protected = 0
    for _ in range(500):
        outcomes = rng.integers(0, rng.integers(1, 50), (2, rng.integers(1, 9)))
        persons, fewest = np.vstack([outcomes.sum(axis=0), outcomes]), rng.integers(2, 13)
        hidden = hidden_groups(persons, fewest)
        assert not ((persons[:, ~hidden] > 0) & (persons[:, ~hidden] < fewest)).any()
        assert not hidden[persons[0] == 0].any()
        if hidden.any() and (~hidden & (persons[0] > 0)).any():
            some = persons[persons.sum(axis=1) > 0]
            assert hidden.sum() > 1 and (some[:, hidden].sum(axis=1) >= 2 * fewest - 2).all()
            protected += 1
    assert protected > 50


def test_a_table_masks_groups_with_few_of_one_outcome():
    y = np.array([0] * 50 + [1] * 50 + [0] * 50 + [1] * 3 + [0] * 20 + [1] * 20)
    group = np.repeat(["x", "y", "z"], [100, 53, 40])
    groups = label_groups(AuditTable.of(y, {"g": group}, y))
    assert groups.masked(10).tolist() == [False, True, True]  # z protects y
    assert groups.masked(2).tolist() == [False, False, False]


def test_groups_need_categories():
    ages = {"age": np.linspace(20, 60, 50)}
    table = AuditTable.of(np.arange(50) % 2, ages, np.arange(50) % 2)
    with pytest.raises(InputError, match=r"'age' is continuous.*kinds=\{'age': 'categorical'\}"):
        Groups.of(table.attributes)
