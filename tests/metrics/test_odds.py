"""Equalized odds difference and ratio against fairlearn."""

import math

import fairlearn.metrics as fairlearn
import numpy as np
import pandas as pd
import pytest

from fairaudit import metrics
from fairaudit.errors import InputError

PAIRS = [
    (metrics.equalized_odds_difference, fairlearn.equalized_odds_difference),
    (metrics.equalized_odds_ratio, fairlearn.equalized_odds_ratio),
]
SEX = {"sex": ["f", "f", "f", "m", "m", "m"]}


def full_table(seed, levels):
    """A random table in which every occurring cell has rows of both outcomes."""
    rng = np.random.default_rng(seed)
    n = 400
    frame = pd.DataFrame(
        {f"a{j}": rng.choice(list("uvwx")[:size], n) for j, size in enumerate(levels)}
    )
    y = rng.integers(0, 2, n)
    both = frame.assign(y=y).groupby(list(frame.columns))["y"].transform("nunique") == 2
    frame, y = frame[both].reset_index(drop=True), y[both]
    prediction = (rng.random(len(y)) < rng.random()).astype(int)
    return prediction, frame, y, rng.exponential(size=len(y))


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("agg", ["worst_case", "mean"])
@pytest.mark.parametrize("levels", [(2,), (4,), (3, 2), (4, 4, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_fairlearn(ours, theirs, agg, levels, seed):
    prediction, frame, y, weights = full_table(seed, levels)
    for w in (None, weights):
        expected = theirs(y, prediction, sensitive_features=frame, sample_weight=w, agg=agg)
        result = ours(prediction, frame, y, agg=agg, weights=w)
        assert float(result) == pytest.approx(expected, nan_ok=True)
        assert result.n == len(y)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_where_a_rate_is_undefined_we_leave_it_out_and_fairlearn_counts_zero(ours, theirs):
    prediction, y = [1, 0, 0, 1, 0, 1], [1, 1, 0, 1, 1, 1]  # "m" has no negatives
    result = ours(prediction, SEX, y)
    assert result.undefined == ((("m",), "fpr"),)
    assert math.isnan(result.fpr)
    assert result.value == result.tpr
    prediction[2] = 1  # FPR of "f" is 1, that of "m" does not exist
    assert float(ours(prediction, SEX, y)) == pytest.approx(result.tpr)
    theirs_now = theirs(y, prediction, sensitive_features=SEX["sex"])
    assert theirs_now == (1.0 if ours is metrics.equalized_odds_difference else 0.0)


def test_undefined_cells_of_three_groups_keep_the_others():
    group = {"g": list("aaabbbcc")}
    result = metrics.equalized_odds_difference(
        [1, 0, 0, 1, 1, 0, 1, 1], sensitive=group, y_true=[1, 1, 0, 1, 1, 0, 1, 1]
    )
    assert result.tpr == 0.5 and result.fpr == 0.0
    assert result.undefined == ((("c",), "fpr"),)
    table = result.to_frame().set_index("rate")
    assert table.loc["fpr", "undefined_cells"] == 1 and table.loc["tpr", "undefined_cells"] == 0


def test_empty_combinations_are_undefined_twice():
    frame = pd.DataFrame({"race": list("aaaabb"), "sex": list("ffmmff")})
    result = metrics.equalized_odds_difference(
        [1, 0, 1, 1, 0, 0], sensitive=frame, y_true=[1, 0, 1, 0, 1, 0]
    )
    assert result.undefined == ((("b", "m"), "fpr"), (("b", "m"), "tpr"))


def test_no_rate_at_all_is_nan():
    result = metrics.equalized_odds_difference([1, 0], sensitive={"g": ["a", "b"]}, y_true=[1, 0])
    assert math.isnan(result.value) and len(result.undefined) == 2


def test_the_ratio_of_zero_rates_is_no_number():
    y = [1, 1, 0, 1, 1, 0]
    never = metrics.equalized_odds_ratio([0] * 6, sensitive=SEX, y_true=y)
    assert math.isnan(never.value) and math.isnan(never.tpr) and math.isnan(never.fpr)
    never_true = metrics.equalized_odds_ratio([0, 0, 1, 0, 0, 1], sensitive=SEX, y_true=y)
    assert never_true.value == 1.0 and math.isnan(never_true.tpr)


@pytest.mark.parametrize("ours", [pair[0] for pair in PAIRS])
def test_bad_aggregation(ours):
    with pytest.raises(InputError, match="'agg' parameter must be 'worst_case' or 'mean'"):
        ours([0, 1, 0, 0, 1, 1], SEX, [0, 1, 0, 0, 1, 1], agg="median")
