"""DEO against the paper's formula, written out."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairaudit import metrics


def deo_written_out(prediction, attributes, outcome):
    """Σ_y Σ_z |P(Ŷ=1|Z=z,Y=y) − P(Ŷ=1|Y=y)| in plain Python; also the empty cells."""
    rows = list(zip(prediction, attributes, outcome, strict=True))
    total, empty = 0.0, set()
    levels = [sorted(set(column)) for column in zip(*attributes, strict=True)]
    for y in (0, 1):
        all_of_y = [p for p, _, actual in rows if actual == y]
        for z in itertools.product(*levels):
            cell = [p for p, a, actual in rows if actual == y and a == z]
            if cell:
                total += abs(sum(cell) / len(cell) - sum(all_of_y) / len(all_of_y))
            else:
                empty.add((z, str(y)))
    return total, empty


ROW = st.tuples(
    st.integers(0, 1), st.tuples(st.sampled_from("abc"), st.sampled_from("fm")), st.integers(0, 1)
)


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW, min_size=4, max_size=40))
def test_deo_equals_the_formula(rows):
    prediction, attributes, outcome = zip(*rows, strict=True)
    race, sex = zip(*attributes, strict=True)
    if len(set(race)) < 2 or len(set(sex)) < 2:
        return
    value, empty = deo_written_out(prediction, attributes, outcome)
    result = metrics.deo(
        list(prediction), sensitive={"race": race, "sex": sex}, y_true=list(outcome)
    )
    assert float(result) == pytest.approx(value)
    assert set(result.empty) == empty
    assert sum(cell.gap for cell in result.cells) == pytest.approx(value)


def test_a_prediction_that_ignores_the_attributes_has_deo_zero():
    frame = pd.DataFrame(itertools.product("ab", "fm", [0, 1], [0, 1]), columns=list("rsyp"))
    result = metrics.deo(frame["p"], sensitive=frame[["r", "s"]], y_true=frame["y"])
    assert result.value == 0.0 and result.empty == ()


def test_a_prediction_that_is_the_attribute():
    """Both classes split evenly over two cells: four terms of |1 − ½| or |0 − ½|."""
    sex = np.array([0, 1, 0, 1])
    assert float(metrics.deo(sex, sensitive={"sex": sex}, y_true=[0, 0, 1, 1])) == 2.0


def test_an_outcome_of_one_class_has_the_other_ones_cells_empty():
    result = metrics.deo([0, 1, 1, 1], sensitive={"sex": list("ffmm")}, y_true=[0, 0, 0, 0])
    assert result.value == pytest.approx(0.25 + 0.25)
    assert result.empty == ((("f",), "1"), (("m",), "1"))


def test_frame_has_every_cell():
    frame = pd.DataFrame({"race": ["a", "a", "b"], "sex": ["f", "m", "f"]})
    table = metrics.deo([1, 0, 1], sensitive=frame, y_true=[1, 1, 0]).to_frame()
    assert len(table) == 8
    assert (table["n"] == 0).sum() == 5 == table["rate"].isna().sum()
    assert table["gap"].sum() == pytest.approx(1.0)


def test_scores_with_a_threshold_are_their_labels():
    rng = np.random.default_rng(0)
    scores, sex, y = rng.random(100), rng.choice(["f", "m"], 100), rng.integers(0, 2, 100)
    by_score = metrics.deo(scores, sensitive={"sex": sex}, y_true=y, threshold=0.4)
    by_label = metrics.deo((scores >= 0.4).astype(int), sensitive={"sex": sex}, y_true=y)
    assert by_score == by_label


def test_weights_are_not_row_counts():
    weighted = metrics.deo(
        [1, 0, 1, 0], sensitive={"sex": list("ffmm")}, y_true=[1, 1, 1, 1], weights=[3, 1, 1, 1]
    )
    assert weighted.value == pytest.approx(abs(3 / 4 - 4 / 6) + abs(1 / 2 - 4 / 6))
    assert all(cell.n == 2 for cell in weighted.cells)
    assert math.isfinite(weighted.value)
