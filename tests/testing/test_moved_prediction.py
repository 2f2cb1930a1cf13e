"""A copy that moves predictions is the table in which they stand in the order of the copy."""

from dataclasses import replace

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.errors import InputError
from fairaudit.metrics._kpc import kpc_of_table
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.statistic import STATISTICS, statistic_named

MOVING = [
    statistic
    for name in STATISTICS.built_in
    for statistic in statistic_named(name)
    if name != "max" and hasattr(statistic, "bind_moved_prediction")
]


def make_table(kind, n=80):
    rng = np.random.default_rng(5)
    a = rng.normal(size=(n, 2))
    y = a[:, 0] + rng.normal(size=n)
    u = y + 0.5 * a[:, 1] + rng.normal(size=n)
    if kind == "ties":
        return fa.AuditTable.of(np.round(u), np.round(a), np.round(2 * y) / 2)
    if kind == "labels":
        return fa.AuditTable.of(np.digitize(u, [-1, 1]), a, y)
    if kind == "columns":
        return fa.AuditTable.of(np.column_stack([u, u**2]), a, y)
    return fa.AuditTable.of(u, a, y)


def with_moved_prediction(table, rows):
    columns = tuple(column.take(rows) for column in table.prediction.columns)
    return replace(table, prediction=replace(table.prediction, columns=columns))


def test_these_statistics_can():
    assert sorted(statistic.name for statistic in MOVING) == [
        "correlation",
        "features",
        "kpc",
        "omnibus",
        "scan",
    ]


@pytest.mark.parametrize("kind", ["scores", "ties", "labels", "columns"])
@pytest.mark.parametrize("statistic", MOVING, ids=[statistic.name for statistic in MOVING])
def test_values_are_those_of_the_moved_table(statistic, kind):
    table, rng = make_table(kind), np.random.default_rng(0)
    rows = np.array([np.arange(80), *(rng.permutation(80) for _ in range(3))])
    values = statistic.bind_moved_prediction(table, seed=3)(rows)
    itself = rows[:1]
    expected = np.array(
        [
            statistic.bind_moved_prediction(with_moved_prediction(table, copy), seed=3)(itself)[0]
            for copy in rows
        ]
    )
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    if statistic.name == "scan":  # the prediction moves: subgroups are not looked for
        assert not values.any()
        return
    turned = statistic.bind_moved_prediction(table, seed=3)(np.argsort(rows, axis=1))
    assert not np.allclose(turned[1:], expected[1:], rtol=1e-3)


def test_kpc_is_the_measure_of_the_moved_table():
    table, rows = make_table("ties"), np.random.default_rng(0).permutation(80)
    value = KPCStatistic(knn=3).bind_moved_prediction(table, seed=0)(rows[None])[0]
    expected = kpc_of_table(with_moved_prediction(table, rows), knn=3)
    assert value == pytest.approx(float(expected), rel=1e-9)


def test_an_outcome_that_determines_the_prediction_leaves_nothing():
    y = np.repeat([0.0, 1.0, 2.0, 3.0, 4.5, 7.0, 8.0, 9.0, 11.0, 12.0] * 3, 2)
    a = np.random.default_rng(0).normal(size=60)
    table = fa.AuditTable.of(y, a, y, kinds={"y_true": "continuous"})
    value = KPCStatistic(knn=1).bind_moved_prediction(table, seed=0)(np.arange(60)[None])
    assert value == pytest.approx(0.0)


def test_random_ties_need_copies_of_the_attributes():
    with pytest.raises(InputError, match="Average them"):
        KPCStatistic(ties="random").bind_moved_prediction(make_table("scores"), seed=0)
