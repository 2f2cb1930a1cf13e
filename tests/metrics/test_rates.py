"""group_rates, and the input rules that all label measures share."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from fairaudit import metrics
from fairaudit.data import groups
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.metrics._labels import binary_labels

SEX = {"sex": ["f", "f", "m", "m"]}
LABEL_MEASURES = [
    metrics.group_rates,
    metrics.deo,
    metrics.equalized_odds_difference,
    metrics.equalized_odds_ratio,
    metrics.subgroup_violation,
]
GROUP_MEASURES = LABEL_MEASURES[:-1]


def random_table(seed, n=300, levels=(3, 2)):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {f"a{j}": rng.choice(list("uvwxyz")[:size], n) for j, size in enumerate(levels)}
    )
    y = rng.integers(0, 2, n)
    prediction = (rng.random(n) < 0.3 + 0.3 * y + 0.2 * (frame["a0"] == "u")).astype(int)
    return prediction, frame, y


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("measure", LABEL_MEASURES)
@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (([0.1, 0.9, 0.4, 0.3], SEX, [0, 1, 0, 1]), {}, "'y_pred'.*'threshold' 0.5 or labels"),
        (([0, 1, 1, 0], SEX, ["no", "yes", "no", "no"]), {}, "'threshold' 0.5 or labels"),
        (([0.1, 0.9, 0.4, 0.3], SEX, [0.5, 1.5, 2.5, 3.5]), {}, "'y_true'.*group_errors or kpc"),
        (([0, 1, 2, 0], SEX, [0, 1, 2, 0]), {}, r"3 classes \(0, 1, 2\).*'positive'"),
        (([0, 1, 2, 0], SEX, [0, 1, 2, 0]), {"positive": 7}, "'positive'.*0, 1, 2.*Got 7"),
        ((["n", "y", "n", "y"], SEX, ["no", "yes", "no", "no"]), {}, "Code both in the same way"),
        ((["n", "y", "n", "y"], SEX, [0, 1, 0, 1]), {}, "Code both in the same way"),
        ((["n", "y", "n", "y"], SEX, ["n", "y", "n", "n"]), {"threshold": 0.5}, "'y_pred'.*Leave"),
        (([0.1, 0.9, 0.4, 0.3], SEX, [0, 1, 2, 0]), {"threshold": 0.5}, "3 classes.*'positive'"),
        (([0.1, 0.9, 0.4, 0.3], SEX, [0, 1, 1, 0]), {"threshold": math.nan}, "'threshold'.*finite"),
        ((["a", "a", "a", "a"], SEX, ["a", "a", "a", "a"]), {}, "single class"),
        ((np.full((4, 3), 1 / 3), SEX, [0, 1, 1, 0]), {}, "'y_pred'.*3 columns.*labels"),
        (([0, 1, 1, 0], SEX, None), {}, "'y_true' argument is missing"),
        (([0, 1, 1, 0], {"sex": ["f"] * 4}, [0, 1, 1, 0]), {}, "'sex' has a single value"),
    ],
)
def test_bad_labels_are_rejected_by_every_label_measure(measure, arguments, options, says):
    with pytest.raises(InputError, match=says):
        given = dict(zip(("y_pred", "sensitive", "y_true"), arguments, strict=True))
        measure(**given, **options)


@pytest.mark.parametrize("measure", [*GROUP_MEASURES, metrics.group_errors])
@pytest.mark.parametrize("ages", [[20, 30, 40, 50], [20.5, 30.5, 40.5, 50.5]])
def test_numeric_attributes_are_rejected_with_three_ways_out(measure, ages):
    with pytest.raises(InputError, match=r"'age'.*Bin it.*kinds=\{'age': 'categorical'\}.*kpc"):
        measure([0, 1, 1, 0], sensitive={"age": ages}, y_true=[0, 1, 0, 1])
    measure(
        [0, 1, 1, 0], sensitive={"age": ages}, y_true=[0, 1, 0, 1], kinds={"age": "categorical"}
    )


@pytest.mark.parametrize("measure", [metrics.group_rates, metrics.group_errors])
@pytest.mark.parametrize("confidence", [0, 1, 95, math.nan])
def test_bad_confidence(measure, confidence):
    with pytest.raises(InputError, match="'confidence' parameter must lie between 0 and 1"):
        measure([0, 1, 1, 0], sensitive=SEX, y_true=[0, 1, 0, 1], confidence=confidence)


# --- labels --------------------------------------------------------------------------------


def labels(y_pred, y_true, positive=None, **options):
    return binary_labels(AuditTable.of(y_pred, SEX, y_true, positive=positive), **options)


@pytest.mark.parametrize(
    ("y_pred", "y_true", "options", "predicted", "actual"),
    [
        ([0, 1, 1, 0], [0, 1, 0, 1], {}, [0, 1, 1, 0], [0, 1, 0, 1]),
        ([0, 1, 1, 0], [0, 1, 0, 1], {"positive": 0}, [1, 0, 0, 1], [1, 0, 1, 0]),
        ([True, False, True, True], [1, 0, 0, 1], {}, [1, 0, 1, 1], [1, 0, 0, 1]),
        ([-1, 1, 1, -1], [1, 1, -1, -1], {}, [0, 1, 1, 0], [1, 1, 0, 0]),
        (["n", "y", "y", "n"], ["n", "y", "n", "y"], {}, [0, 1, 1, 0], [0, 1, 0, 1]),
        (["n", "y", "y", "n"], ["n", "n", "n", "n"], {}, [0, 1, 1, 0], [0, 0, 0, 0]),
        ([0, 1, 1, 0], [0, 0, 0, 0], {}, [0, 1, 1, 0], [0, 0, 0, 0]),
        ([0, 0, 0, 0], [0, 0, 0, 0], {}, [0, 0, 0, 0], [0, 0, 0, 0]),
        ([1, 1, 1, 1], [1, 1, 1, 1], {}, [1, 1, 1, 1], [1, 1, 1, 1]),
        ([0.1, 0.5, 0.7, 0.4], [0, 1, 0, 1], {"threshold": 0.5}, [0, 1, 1, 0], [0, 1, 0, 1]),
        ([0.1, 0.5, 0.7, 0.4], [0, 0, 0, 0], {"threshold": 0.5}, [0, 1, 1, 0], [0, 0, 0, 0]),
        (  # scores without a class name speak of the positive class
            [0.1, 0.5, 0.7, 0.4],
            list("nyny"),
            {"threshold": 0.5, "positive": "y"},
            [0, 1, 1, 0],
            [0, 1, 0, 1],
        ),
        (
            [0.1, 0.5, 0.7, 0.4],
            [0, 1, 0, 1],
            {"threshold": 0.5, "positive": 0},
            [0, 1, 1, 0],
            [1, 0, 1, 0],
        ),
        (["0", "1", "1", "0"], [0, 1, 0, 1], {}, [0, 1, 1, 0], [0, 1, 0, 1]),
        ([0, 1, 1, 0], ["0", "1", "0", "1"], {}, [0, 1, 1, 0], [0, 1, 0, 1]),
        ([0.0, 1.0, 1.0, 0.0], [False, True, False, True], {}, [0, 1, 1, 0], [0, 1, 0, 1]),
        (["False", "True", "True", "False"], [0, 1, 0, 1], {}, [0, 1, 1, 0], [0, 1, 0, 1]),
        ([0, 1, 2, 2], [0, 1, 1, 2], {"positive": 2}, [0, 0, 1, 1], [0, 0, 0, 1]),
        ([0, 1, 2, 2], [0, 1, 1, 2], {"positive": "2"}, [0, 0, 1, 1], [0, 0, 0, 1]),
        (
            [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]],
            [0, 1, 0, 1],
            {"threshold": 0.5},
            [0, 1, 1, 0],
            [0, 1, 0, 1],
        ),
    ],
)
def test_every_way_to_hold_labels_is_read_alike(y_pred, y_true, options, predicted, actual):
    result = labels(y_pred, y_true, **options)
    assert result.predicted.astype(int).tolist() == predicted
    assert result.actual.astype(int).tolist() == actual


def test_names_of_the_classes():
    assert labels([0, 1, 1, 0], [0, 1, 0, 1]).names == ("0", "1")
    assert labels(["n", "y", "y", "n"], ["n", "y", "y", "y"], positive="n").names == ("y", "n")
    assert labels([0, 1, 2, 0], [0, 1, 2, 1], positive=1).names == ("not 1", "1")


# --- group_rates against a second route ------------------------------------------------------


def expected_rates(prediction, frame, y, weights=None):
    """Rates by pandas group-by, one number at a time."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    data = frame.assign(p=np.asarray(prediction), y=np.asarray(y), w=weights)
    rates = {}
    for levels, part in data.groupby(list(frame.columns)):
        for name, rows in (
            ("selection", part),
            ("tpr", part[part.y == 1]),
            ("fpr", part[part.y == 0]),
        ):
            total = rows.w.sum()
            rates[(*levels, name)] = (rows.w * rows.p).sum() / total if total > 0 else math.nan
    return rates


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [(2,), (3, 2), (4, 3, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_equal_a_group_by(seed, levels, weighted):
    prediction, frame, y = random_table(seed, levels=levels)
    weights = np.random.default_rng(seed).exponential(size=len(y)) if weighted else None
    result = metrics.group_rates(prediction, sensitive=frame, y_true=y, weights=weights).to_frame()
    expected = expected_rates(prediction, frame, y, weights)
    seen = {tuple(row[:-1]): row[-1] for row in result[[*frame, "rate", "value"]].to_numpy()}
    assert {key: value for key, value in seen.items() if not math.isnan(value)} == pytest.approx(
        {key: value for key, value in expected.items() if not math.isnan(value)}
    )
    assert len(seen) == 3 * math.prod(levels)


def test_counts_and_wilson_intervals():
    prediction, frame, y = random_table(1)
    result = metrics.group_rates(prediction, sensitive=frame, y_true=y, confidence=0.9)
    assert sum(cell.n for cell in result.cells) == len(y)
    for cell in result.cells:
        rows = (frame.to_numpy() == cell.levels).all(axis=1)
        assert cell.class_counts == (int((y[rows] == 0).sum()), int((y[rows] == 1).sum()))
        assert (cell.fpr.n, cell.tpr.n) == cell.class_counts
        assert cell.tpr.count == int(prediction[rows & (y == 1)].sum())
        low, high = proportion_confint(cell.tpr.count, cell.tpr.n, alpha=0.1, method="wilson")
        assert (cell.tpr.low, cell.tpr.high) == pytest.approx((low, high))
        assert cell.tpr.effective_n == pytest.approx(cell.tpr.n)


def related(seed, n=4000, heavy=5.0):
    """Positive predictions are heavier: where weights are ignored, a rate looks too certain."""
    rng = np.random.default_rng(seed)
    y, sex = np.ones(n, dtype=int), rng.choice(["f", "m"], n)
    label = (rng.random(n) < np.where(sex == "f", 0.02, 0.04)).astype(int)
    return label, {"sex": sex}, y, np.where(label == 1, heavy, 1.0)


def test_weighted_intervals_use_the_variance_that_weighted_rates_have():
    """Kish's size takes weights for unrelated to labels; over 400 tables it is three times off."""
    values, sizes = [], []
    for seed in range(400):
        label, sex, y, weights = related(seed)
        cell = metrics.group_rates(label, sex, y, weights=weights).cells[0]
        values.append(cell.tpr.value)
        sizes.append(cell.tpr.effective_n)
    rate = np.mean(values)
    assert rate * (1 - rate) / np.var(values) == pytest.approx(np.mean(sizes), rel=0.25)
    kish = weights.sum() ** 2 / (weights**2).sum() / 2
    assert np.mean(sizes) < 0.5 * kish


def test_the_effective_sample_size_by_hand():
    label, sex, y, weights = related(0)
    rows, heavy = sex["sex"] == "f", 5.0
    cell = metrics.group_rates(label, sex, y, weights=weights).cells[0]
    w, hit = weights[rows], label[rows] == 1
    rate, total = w[hit].sum() / w.sum(), w.sum()
    units = []
    for some in (label == 1, label == 0):  # relative to the other label, over both groups
        means = {level: weights[~some & (sex["sex"] == level)].mean() for level in "fm"}
        relative = weights[some] / np.array([means[level] for level in sex["sex"][some]])
        heavy = (relative**3).sum() / (relative**2).sum() * means["f"]
        units.append(max(heavy, (w**2).sum() / total))
    share = np.array([1 - rate, rate])
    variance = (w**2 * (hit - rate) ** 2).sum() + 2 * share @ np.square(units)
    effective = (rate * (1 - rate) * total**2 + 2 * share @ units * total) / variance
    assert cell.tpr.effective_n == pytest.approx(effective)
    assert effective < rate * (1 - rate) * total**2 / (w**2 * (hit - rate) ** 2).sum() * heavy
    interval = proportion_confint(rate * effective, effective, method="wilson")
    assert (cell.tpr.low, cell.tpr.high) == pytest.approx(interval)


def test_a_rate_of_zero_counts_with_positive_predictions_that_are_heavy_elsewhere():
    """All rows of f weigh 1; that a positive prediction weighs 10 is seen among m only."""
    sex = {"sex": ["f"] * 60 + ["m"] * 60}
    label, y = np.array([0] * 60 + [1, 0, 0, 0] * 15), np.ones(120, dtype=int)
    weights = np.where(label == 1, 10.0, 1.0)
    alone, other = metrics.group_rates(label, sex, y, weights=weights).cells
    assert alone.tpr.effective_n == pytest.approx(60 / 10) and other.tpr.effective_n < 60
    assert (
        alone.tpr.value == 0
        and alone.tpr.high > 2 * metrics.group_rates(label, sex, y).cells[0].tpr.high
    )


def test_weights_that_are_equal_or_differ_between_cells_only_change_no_interval():
    prediction, frame, y = random_table(2)
    plain = metrics.group_rates(prediction, frame, y).to_frame()
    constant = metrics.group_rates(prediction, frame, y, weights=np.full(len(y), 3.0)).to_frame()
    pd.testing.assert_frame_equal(plain, constant)
    by_cell = 1.0 + 7 * y + frame.groupby(list(frame)).ngroup().to_numpy()
    weighted = metrics.group_rates(prediction, frame, y, weights=by_cell).to_frame()
    rates = plain["rate"] != "selection"
    pd.testing.assert_frame_equal(plain[rates], weighted[rates])


def test_empty_cells_and_undefined_rates_are_listed_and_never_a_number():
    frame = pd.DataFrame({"race": ["a", "a", "b"], "sex": ["f", "m", "f"]})
    result = metrics.group_rates([1, 0, 1], sensitive=frame, y_true=[1, 1, 0])
    assert [cell.levels for cell in result.cells] == [
        ("a", "f"),
        ("a", "m"),
        ("b", "f"),
        ("b", "m"),
    ]
    empty = result.cells[3]
    assert empty.n == 0 and empty.class_counts == (0, 0)
    for rate in (empty.selection, empty.tpr, empty.fpr, result.cells[0].fpr, result.cells[2].tpr):
        assert not rate.defined and rate.n == 0
        assert math.isnan(rate.value) and math.isnan(rate.low) and math.isnan(rate.high)
    assert result.cells[0].tpr.defined


def test_rows_without_weight_define_no_rate():
    result = metrics.group_rates(
        [1, 0, 1, 0], sensitive=SEX, y_true=[1, 0, 1, 0], weights=[1, 1, 0, 1]
    )
    assert math.isnan(result.cells[1].tpr.value)
    assert result.cells[1].tpr.n == 1


def test_one_against_the_rest_counts_all_classes():
    result = metrics.group_rates([0, 1, 2, 2], sensitive=SEX, y_true=[0, 1, 1, 2], positive=2)
    assert result.classes == ("0", "1", "2") and result.positive == "2"
    assert [cell.class_counts for cell in result.cells] == [(1, 1, 0), (0, 1, 1)]
    assert result.cells[1].fpr.value == 1.0 and result.cells[0].fpr.value == 0.0


def test_too_many_combinations_list_those_that_occur(monkeypatch):
    prediction, frame, y = random_table(3, n=40, levels=(6, 6, 6))
    full = metrics.group_rates(prediction, sensitive=frame, y_true=y)
    monkeypatch.setattr(groups, "MOST_LISTED", 100)
    short = metrics.group_rates(prediction, sensitive=frame, y_true=y)
    assert full.unlisted == 0 and len(full.cells) == 216
    assert short.unlisted == 216 - len(short.cells) > 0
    occurring = [cell for cell in full.cells if cell.n]
    for group, same in zip(short.cells, occurring, strict=True):
        assert group.levels == same.levels and group.class_counts == same.class_counts
        assert group.selection == same.selection
    assert short.value == full.value


def test_value_is_the_equalized_odds_difference():
    prediction, frame, y = random_table(4)
    rates = metrics.group_rates(prediction, sensitive=frame, y_true=y)
    assert float(rates) == float(
        metrics.equalized_odds_difference(prediction, sensitive=frame, y_true=y)
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_row_order_and_level_names_do_not_matter(seed, random):
    prediction, frame, y = random_table(seed, n=60)
    order = list(range(len(y)))
    random.shuffle(order)
    renamed = frame.replace({"u": "U2", "v": "V2", "w": "W2"})
    first = metrics.group_rates(prediction, sensitive=frame, y_true=y)
    second = metrics.group_rates(prediction[order], sensitive=renamed.iloc[order], y_true=y[order])
    assert [cell.tpr for cell in first.cells if cell.tpr.n] == [
        cell.tpr for cell in second.cells if cell.tpr.n
    ]


@pytest.mark.parametrize("measure", LABEL_MEASURES)
@pytest.mark.parametrize("seed", range(3))
def test_integer_weights_are_repeated_rows(measure, seed):
    prediction, frame, y = random_table(seed)
    weights = np.random.default_rng(seed).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = measure(prediction, sensitive=frame, y_true=y, weights=weights)
    repeated = measure(prediction[rows], sensitive=frame.iloc[rows], y_true=y[rows])
    assert weighted.value == pytest.approx(repeated.value, abs=1e-12)
