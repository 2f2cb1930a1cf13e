"""group_errors against a group-by and against theory."""

import math

import numpy as np
import pandas as pd
import pytest

from fairaudit import metrics
from fairaudit.data.groups import Groups, Labels
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.metrics._errors import errors_of_groups
from fairaudit.metrics._rates import rates_of_groups


def two_attributes(seed, n):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a0": rng.choice(list("uvw"), n), "a1": rng.choice(list("uv"), n)})


def test_errors_equal_a_group_by():
    rng = np.random.default_rng(0)
    frame = two_attributes(0, 300)
    y = rng.normal(size=len(frame))
    prediction = y + rng.normal(size=len(y)) + (frame["a0"] == "u").to_numpy()
    result = metrics.group_errors(prediction, sensitive=frame, y_true=y)
    for cell in result.cells:
        errors = (prediction - y)[(frame.to_numpy() == cell.levels).all(axis=1)]
        assert cell.n == len(errors)
        assert cell.mean == pytest.approx(errors.mean())
        assert cell.standard_error == pytest.approx(errors.std(ddof=1) / math.sqrt(len(errors)))
        assert cell.quantiles == pytest.approx(
            np.quantile(errors, [0.05, 0.25, 0.5, 0.75, 0.95], method="inverted_cdf")
        )
    means = [cell.mean for cell in result.cells]
    assert float(result) == pytest.approx(max(means) - min(means))
    assert len(result.to_frame()) == 6 * len(result.cells)


def test_the_interval_of_the_mean_error_covers():
    """Share of 95 % intervals that hold the true mean, within a binomial bound at 1e-4."""
    rng = np.random.default_rng(1)
    sex = {"sex": np.repeat(["f", "m"], 8)}
    y = rng.normal(size=16)
    hits = 0
    for _ in range(1000):
        cell = metrics.group_errors(y + 0.3 + rng.normal(size=16), sensitive=sex, y_true=y).cells[0]
        hits += cell.low <= 0.3 <= cell.high
    assert abs(hits - 950) < 3.9 * math.sqrt(1000 * 0.95 * 0.05)


def test_errors_of_repeated_rows_and_of_weights_agree():
    rng = np.random.default_rng(2)
    frame = two_attributes(2, 120)
    y, prediction = rng.normal(size=(2, 120))
    weights = rng.integers(0, 4, 120)
    rows = np.repeat(np.arange(120), weights)
    weighted = metrics.group_errors(prediction, sensitive=frame, y_true=y, weights=weights)
    repeated = metrics.group_errors(prediction[rows], sensitive=frame.iloc[rows], y_true=y[rows])
    for group, same in zip(weighted.cells, repeated.cells, strict=True):
        assert group.mean == pytest.approx(same.mean)
        assert group.quantiles == pytest.approx(same.quantiles)


def test_cells_with_no_row_and_with_one_row():
    frame = pd.DataFrame({"race": ["a", "b", "b"], "sex": ["m", "f", "f"]})
    empty, single, pair, last = metrics.group_errors(
        [1.5, 2.0, 4.0], sensitive=frame, y_true=[1, 2, 3]
    ).cells
    for cell in (empty, last):
        assert cell.n == 0 and math.isnan(cell.mean) and np.isnan(cell.quantiles).all()
    assert single.mean == 0.5 and math.isnan(single.standard_error) and math.isnan(single.low)
    assert single.quantiles == (0.5,) * 5
    assert pair.mean == 0.5 and pair.low < 0.5 < pair.high


def test_quantiles_survive_rounding_and_extreme_weights():
    sex = {"sex": ["f"] * 20 + ["m"] * 20}
    y, prediction = np.zeros(40), np.random.default_rng(0).permutation(40) / 40
    plain = metrics.group_errors(prediction, sensitive=sex, y_true=y)
    tenths = metrics.group_errors(prediction, sensitive=sex, y_true=y, weights=np.full(40, 0.1))
    for group, same in zip(plain.cells, tenths.cells, strict=True):
        assert group.quantiles == same.quantiles
    skewed = metrics.group_errors(
        prediction, sensitive=sex, y_true=y, weights=[1e17] * 20 + [1.0] * 20
    )
    assert set(skewed.cells[1].quantiles) <= set(prediction[20:])


def test_one_row_that_outweighs_all_others_has_no_standard_error():
    group = {"g": ["a", "b", "b"]}
    result = metrics.group_errors(
        [1.5, 2, 3], sensitive=group, y_true=[1, 2, 4], weights=[0.1, 1, 1e-12]
    )
    for cell in result.cells:
        assert math.isfinite(cell.mean)
        assert math.isnan(cell.standard_error) and math.isnan(cell.high)


@pytest.mark.parametrize(
    ("prediction", "outcome", "says"),
    [
        (["a", "b", "a", "b"], [1.5, 2, 3, 4], "'y_pred' holds text.*group_rates"),
        ([1.5, 2, 3, 4], ["a", "b", "a", "b"], "'y_true' holds text.*numbers"),
        (np.full((4, 3), 1.5), [1.5, 2, 3, 4], "'y_pred' argument has 3 columns"),
    ],
)
def test_group_errors_needs_numbers(prediction, outcome, says):
    with pytest.raises(InputError, match=says):
        metrics.group_errors(prediction, {"sex": list("ffmm")}, outcome)


def test_intervals_of_mean_errors_hold_where_weights_are_related_to_errors():
    """Errors beyond 2 weigh 10: by Kish's size coverage was .80. A binomial bound at 1e-4."""
    rng = np.random.default_rng(4)
    sex = {"sex": np.repeat(["f", "m"], 150)}
    y, hits = np.zeros(300), 0
    for _ in range(1000):
        errors = rng.normal(size=300)
        weights = np.where(np.abs(errors) > 2, 10.0, 1.0)
        cell = metrics.group_errors(errors, sex, y, weights=weights).cells[0]
        hits += cell.low <= 0 <= cell.high
    assert abs(hits - 950) < 3.9 * math.sqrt(1000 * 0.95 * 0.05)


def test_rows_of_one_person_count_once():
    """Every row twice says as much as once: in mean errors, and in rates."""
    rng = np.random.default_rng(0)
    who, group = np.repeat(np.arange(60), 2), np.repeat(rng.choice(["a", "b"], 60), 2)
    y, prediction = np.repeat(rng.normal(size=(2, 60)), 2, axis=1)
    once = AuditTable.of(prediction[::2], {"group": group[::2]}, y[::2])
    twice = AuditTable.of(prediction, {"group": group}, y, ids=who)
    cells = [errors_of_groups(table, Groups.of(table.attributes)).cells for table in (once, twice)]
    for alone, both in zip(*cells, strict=True):
        assert (both.low, both.high) == pytest.approx((alone.low, alone.high))
    label, actual = prediction > 0, y > 0
    groups = [Groups.of(table.attributes) for table in (once, twice)]
    rates = [
        rates_of_groups(groups[0].count(Labels(label[::2], actual[::2], ("0", "1")))),
        rates_of_groups(groups[1].count(Labels(label, actual, ("0", "1")), ids=who)),
    ]
    for parts in zip(*rates, strict=True):
        for alone, both in zip(*parts, strict=True):
            assert both.effective_n == pytest.approx(alone.n - 1)
