"""The one place where input is checked: forms of input, kinds, messages."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fairaudit as fa
from fairaudit.data.columns import Kind, columns_from, split_kinds
from fairaudit.data.encode import encode
from fairaudit.geometry.tied_blocks import find_tied_blocks

COLUMNS = {
    "race": ["a", "b", "c", "a", "b", "c"],
    "sex": [True, False, True, False, True, False],
    "age": [31, 45, 62, 18, 22, 50],
    "share": [0.1, 0.5, 0.2, 0.9, 0.4, 0.3],
}
SCORE, OUTCOME = [0.2, 0.7, 0.6, 0.1, 0.4, 0.5], [0, 1, 1, 0, 0, 1]


@pytest.mark.parametrize("form", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_every_kind_of_frame_gives_the_same_table(form):
    table = fa.AuditTable.of(SCORE, form(COLUMNS), OUTCOME)
    assert [c.kind.value for c in table.attributes] == [
        "categorical",
        "binary",
        "integer",
        "continuous",
    ]
    expected = encode(columns_from(COLUMNS, argument="sensitive"))
    assert np.array_equal(encode(table.attributes), expected)
    assert table.describe().count("\n") == 6


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pl.Series, pa.array])
def test_every_kind_of_column_gives_the_same_table(form):
    table = fa.AuditTable.of(form(SCORE), form(COLUMNS["race"]), form(OUTCOME))
    assert list(table.attributes[0].levels) == ["a", "b", "c"]
    assert table.outcome.kind is Kind.BINARY


def test_categories_and_nullable_columns():
    frame = pd.DataFrame(
        {"race": pd.Categorical(COLUMNS["race"]), "age": pd.array(COLUMNS["age"], dtype="Int64")}
    )
    race, age = columns_from(frame, argument="sensitive")
    assert (race.kind, age.kind) == (Kind.CATEGORICAL, Kind.INTEGER)


def test_kinds_can_be_overridden():
    table = fa.AuditTable.of(SCORE, COLUMNS, OUTCOME, kinds={"age": "categorical"})
    assert table.attributes[2].kind is Kind.CATEGORICAL
    frame = pd.DataFrame(COLUMNS).assign(score=SCORE, y=OUTCOME)
    table = fa.AuditTable.from_frame(
        frame, predictions="score", outcome="y", sensitive="race,age:continuous"
    )
    assert [c.kind.value for c in table.attributes] == ["categorical", "continuous"]
    assert split_kinds("ratio:a:b") == ("ratio:a:b", None)


def test_outcomes():
    kind = lambda y: fa.AuditTable.of(np.arange(30.0), np.arange(30) % 2, y).outcome.kind  # noqa: E731
    assert kind(np.arange(30) % 3) is Kind.CATEGORICAL
    assert kind(np.arange(30)) is Kind.CONTINUOUS
    assert kind(np.arange(30) / 7) is Kind.CONTINUOUS
    assert kind(["x", "y", "z"] * 10) is Kind.CATEGORICAL


def test_predictions():
    form = lambda p, y: fa.AuditTable.of(p, [0, 1] * 3, y).prediction.form  # noqa: E731
    assert form(SCORE, OUTCOME) == "scores"
    assert form(OUTCOME, OUTCOME) == "labels"
    assert form(np.array(OUTCOME, float), OUTCOME) == "labels"
    assert form(list("abcabc"), list("abcabc")) == "labels"
    assert form(np.column_stack([SCORE, 1 - np.array(SCORE)]), OUTCOME) == "probabilities"
    assert form(np.column_stack([SCORE, SCORE]), OUTCOME) == "scores"


def test_distances():
    columns = columns_from(COLUMNS, argument="sensitive")
    race = encode(columns[:1])
    distance = np.linalg.norm(race[:, None] - race, axis=2)
    assert distance == pytest.approx((np.array(COLUMNS["race"])[:, None] != COLUMNS["race"]) * 1.0)
    huge = columns_from({"x": [1e300, -1e300, 5e299]}, argument="sensitive")
    assert np.isfinite(encode(huge)).all()
    tiny = columns_from({"x": [1e-300, 2e-300, 4e-300]}, argument="sensitive")
    assert encode(tiny).std() == pytest.approx(1)


def test_cells():
    columns = columns_from({"a": [1, 1, 2, 2, 1], "b": ["x", "x", "x", "y", "y"]}, argument="s")
    cells = find_tied_blocks(columns, 5)
    assert cells.of_row[0] == cells.of_row[1]
    assert sorted(cells.counts) == [1, 1, 1, 2]
    assert np.array_equal(cells.of_row[cells.first], np.arange(4))
    assert len(find_tied_blocks((), 5)) == 1


BAD = {
    "missing": ({"race": ["a", None, "b"]}, "'race' has 1 missing value, the first in row 1"),
    "nan": ({"age": [1.0, np.nan, 2.0]}, "'age' has 1 missing value"),
    "dates": ({"dob": np.array(["2000-01-01"] * 3, "M8[D]")}, "'dob' holds dates"),
    "mixed": ({"race": np.array(["a", 1, "b"], object)}, "'race' mixes text"),
    "complex": ({"z": [1j, 2j, 3j]}, "'z' holds complex"),
    "objects": ({"z": np.array([{}, {}, {}], object)}, "'z' mixes|'z' holds"),
    "nested": ({"z": [[1, 2], [1, 2], [3, 4]]}, "'z' must hold one value per row"),
    "ragged": ([[1], [1, 2], [3]], "cannot be read"),
    "three dimensions": (np.zeros((3, 2, 2)), "one or two dimensions"),
    "no columns": ({}, "no columns"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_columns_are_named(name):
    sensitive, message = BAD[name]
    with pytest.raises(fa.InputError, match=message):
        fa.AuditTable.of([0.1, 0.2, 0.3], sensitive, [0, 1, 1])


def test_other_bad_tables():
    frame = pd.DataFrame(COLUMNS).assign(score=SCORE, y=OUTCOME)
    ask = {"predictions": "score", "outcome": "y", "sensitive": "race"}
    for change, message in [
        ({"sensitive": "rcae"}, "no column 'rcae'. Did you mean 'race'"),
        ({"outcome": "label"}, "no column 'label'. Columns are: race"),
        ({"weights": "race"}, "must be numbers"),
        ({"predictions": "race,score"}, "'race' is given two roles"),
        ({"predictions": "race,score", "sensitive": "y", "outcome": None}, "'race' holds text"),
    ]:
        with pytest.raises(fa.InputError, match=message):
            fa.AuditTable.from_frame(frame, **{**ask, **change})
    with pytest.raises(fa.InputError, match="'a' occurs more than once"):
        twice = pd.DataFrame([[1, 2], [2, 1]], columns=["a", "a"])
        fa.AuditTable.of([0.1, 0.2], twice, [0, 1])
    with pytest.raises(fa.InputError, match="non-negative"):
        fa.AuditTable.of(SCORE, COLUMNS, OUTCOME, weights=[1, 1, -1, 1, 1, 1])
    with pytest.raises(fa.InputError, match="Weights have 2 rows"):
        fa.AuditTable.of(SCORE, COLUMNS, OUTCOME, weights=[1, 1])
    with pytest.raises(fa.InputError, match="cannot be binary"):
        fa.AuditTable.of(SCORE, COLUMNS, OUTCOME, kinds={"race": "binary"})


def test_tables_without_an_outcome_or_enough_rows():
    table = fa.AuditTable.of(SCORE, COLUMNS)
    assert "outcome" not in table.describe() and table.take(np.arange(3)).outcome is None
    with pytest.raises(fa.InputError, match="'y_true' argument is missing"):
        table.require_outcome()
    weighted = fa.AuditTable.of(SCORE, COLUMNS, OUTCOME, weights=np.ones(6))
    with pytest.raises(fa.InputError, match="KPC has no weighted form"):
        weighted.reject_weights("KPC")
    assert weighted.take(np.arange(4)).weights.tolist() == [1.0] * 4
    for arguments, message in [
        (([0.5], {"a": [1]}, [1]), "at least 2 rows. Got 1"),
        (([], {"a": []}, []), "'a' is empty"),
        ((SCORE, COLUMNS, {"y": OUTCOME, "z": OUTCOME}), "Expected one column. Got 2 .y, z."),
        ((SCORE, COLUMNS, OUTCOME[:3]), "differ in length"),
    ]:
        with pytest.raises(fa.InputError, match=message):
            fa.AuditTable.of(*arguments)
    with pytest.raises(fa.InputError, match="no column 'sexx'"):
        fa.AuditTable.of(SCORE, COLUMNS, OUTCOME, kinds={"sexx": "binary"})
    with pytest.raises(fa.InputError, match=r"must be one of binary, .* Got 'ordinal'"):
        fa.AuditTable.of(SCORE, COLUMNS, OUTCOME, kinds={"race": "ordinal"})


def test_columns_as_others_hold_them():
    (wide,) = columns_from({"x": np.array([[1], [2], [3]])}, argument="sensitive")
    assert wide.levels.tolist() == [1, 2, 3]
    (series,) = columns_from({"x": pd.Series([1.5, 2.5])}, argument="sensitive")
    assert series.kind.value == "binary"
    with pytest.raises(fa.InputError, match="'a' occurs twice in 'sensitive'"):
        columns_from([*columns_from({"a": [1, 2]}, argument="x")] * 2, argument="sensitive")


def test_declared_numbers_in_text():
    kinds = {"x": "integer"}
    (column,) = columns_from({"x": ["30", "4", "100"]}, argument="sensitive", kinds=kinds)
    assert column.numeric.tolist() == [30.0, 4.0, 100.0] and column.describe().endswith("4 to 100")
    with pytest.raises(fa.InputError, match=r"holds text .'old' in row 1. and cannot be integer"):
        columns_from({"x": ["30", "old", "100"]}, argument="sensitive", kinds=kinds)


def test_labels_from_scores():
    from fairaudit.data.threshold import as_labels

    binary = fa.AuditTable.of(SCORE, COLUMNS, OUTCOME)
    labeled = as_labels(binary, 0.5)
    assert labeled.prediction.form == "labels" and as_labels(labeled, 0.5) is labeled
    two = fa.AuditTable.of(np.column_stack([1 - np.array(SCORE), SCORE]), COLUMNS, OUTCOME)
    assert as_labels(two, None).prediction.columns[0].codes.tolist() == [
        int(score > 0.5) for score in SCORE
    ]
    three = fa.AuditTable.of(np.eye(3)[[0, 1, 2, 0, 1, 2]], COLUMNS, OUTCOME)
    with pytest.raises(fa.InputError, match="3 prediction columns do not fit 2 outcome classes"):
        as_labels(three, None)
    with pytest.raises(fa.InputError, match="Labels need an outcome of classes"):
        as_labels(fa.AuditTable.of(SCORE, COLUMNS, np.linspace(0, 1.5, 6)), 0.5)
    with pytest.raises(fa.InputError, match="with a threshold and an outcome of two classes"):
        as_labels(fa.AuditTable.of(np.array(SCORE) * 9, COLUMNS, OUTCOME), None)


def test_roles():
    from fairaudit.data.preparation import prepare
    from fairaudit.data.roles import Roles

    frame = pd.DataFrame(COLUMNS).assign(p=SCORE, y=OUTCOME)
    for roles, message in [
        ({"missing": "keep"}, "'missing' must be one of auto, error"),
        ({"on": "logits"}, "'on' must be one of scores, labels"),
        ({"outcome": "race"}, "'race' is given two roles"),
        ({"sensitive": ("race", "race")}, "'race' is given twice"),
        ({"weights": "w"}, "no column 'w'"),
    ]:
        with pytest.raises(fa.InputError, match=message):
            given = {"sensitive": ("race",), "predictions": ("p",), "outcome": "y", **roles}
            prepare(frame, Roles(**given))
    with pytest.raises(fa.InputError, match="No column is left to be the outcome"):
        prepare(frame[["race", "p"]], Roles(sensitive=("race",), predictions=("p",)))


def test_declared_kinds_decide_about_missing_values():
    from fairaudit.data.preparation import prepare
    from fairaudit.data.roles import Roles

    frame = pd.DataFrame({"p": [0.1, 0.4, 0.9, 0.2], "y": [0, 1, 1, 0], "a": [1.5, 2.5, None, 3]})
    found = prepare(frame, Roles(sensitive=("a:categorical",), predictions=("p",), outcome="y"))
    assert found.table.attributes[0].levels.tolist() == ["(missing)", "1.5", "2.5", "3.0"]
    with pytest.raises(fa.InputError, match="Set 'missing' to drop, or declare it a:categorical"):
        prepare(frame, Roles(sensitive=("a:continuous",), predictions=("p",), outcome="y"))
    with pytest.raises(
        fa.InputError, match=r"row 2\. Set 'missing' to drop to leave these rows out"
    ):
        prepare(frame, Roles(sensitive=("a",), predictions=("p",), outcome="y", missing="error"))


def test_conditions():
    from fairaudit.data.row_filter import rows_where

    frame = pd.DataFrame({"my age": [17, 30, 45], "sex": ["f", "m", "f"], "x": [-1, 0, 1]})
    for condition, expected in [
        ("`my age` > 18 and not sex == 'm'", [False, False, True]),
        ("sex in ('f', 'x')", [True, False, True]),
        ("sex not in ['f']", [False, True, False]),
        ("sex in 'm'", [False, True, False]),
        ("x == -1 or x * 2 > 1", [True, False, True]),
        ("-1 < x <= 1", [False, True, True]),
    ]:
        assert rows_where(frame, condition).tolist() == expected, condition
    with pytest.raises(fa.InputError, match="does not understand"):
        rows_where(frame, "x is 1")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_places_that_cannot_be_written(kind, tmp_path, monkeypatch):
    from fairaudit.data.reading import write as files

    target = tmp_path / "report.html"
    target.write_text("old")
    locked = tmp_path if kind == "folder" else target
    real = files.os.access
    monkeypatch.setattr(files.os, "access", lambda path, mode: path != locked and real(path, mode))
    with pytest.raises(fa.InputError, match="no permission to"):
        files.check_writable(target)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    import sys

    from fairaudit.data.reading.files import read_tables

    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(fa.MissingDependencyError, match="pip install pyarrow"):
        read_tables([str(tmp_path / "t.parquet")])


def test_numbers_that_are_all_different_are_not_the_outcome():
    from fairaudit.data.cautions import _same_values
    from fairaudit.data.columns import columns_from

    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    given = {"y": y, "age": rng.normal(size=50), "again": 3 * y, "turned": -y}
    outcome, age, again, turned = columns_from(given, argument="sensitive")
    assert not _same_values(age, outcome)
    assert _same_values(again, outcome) and _same_values(turned, outcome)
