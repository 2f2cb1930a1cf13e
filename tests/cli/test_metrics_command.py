"""`fairaudit metrics`, called as a function; and the example in the README."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn

import fairaudit as fa
from fairaudit.evidence.measurements import measure
from fairaudit_cli import main as cli
from fairaudit_reports.markdown import markdown_parts
from fairaudit_reports.text.metrics_text import groups_table

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 400
    y = rng.integers(0, 2, n)
    p = rng.random(n)
    return pd.DataFrame(
        {
            "y": y,
            "grade": rng.normal(size=n),
            "class": rng.choice(["a", "b", "c"], n),
            "p": 0.1 + 0.3 * y + 0.5 * p,
            "z": rng.normal(size=n) + y,
            "label": rng.integers(0, 2, n),
            "word": rng.choice(["no", "yes"], n),
            "p1": p / 2,
            "p2": 0.5 - p / 4,
            "p3": 0.5 - p / 4,
            "race": rng.choice(list("abc"), n),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "constant": 1,
        }
    )


@pytest.fixture(scope="module")
def data(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    frame.to_csv(path, index=False)
    return str(path)


def command(data, *more, predictions="p", outcome="y", sensitive="race,sex,age"):
    return [
        "metrics",
        "--data",
        data,
        "--predictions",
        predictions,
        "--outcome",
        outcome,
        "--sensitive",
        sensitive,
        *more,
    ]


def as_json(capsys, *args, **kwargs):
    assert cli.main(command(*args, "--json", **kwargs)) == 0
    shown, errors = capsys.readouterr()
    assert errors == ""
    return json.loads(shown, parse_constant=pytest.fail)  # NaN is no JSON


def values(facts):
    return {(m["name"], *m["attributes"]): m["value"] for m in facts["measures"]}


def test_numbers_are_those_of_the_library(frame, data, capsys):
    facts = as_json(capsys, data)
    found = values(facts)
    given, groups = frame[["race", "sex", "age"]], frame[["race", "sex"]]
    p, y = frame["p"], frame["y"]
    assert found["KPC", "race", "sex", "age"] == pytest.approx(
        float(fa.metrics.kpc(p, sensitive=given, y_true=y))
    )
    assert found["KPC", "age"] == pytest.approx(
        float(fa.metrics.kpc(p, sensitive=frame[["age"]], y_true=y))
    )
    codec = float(fa.metrics.codec(p, sensitive=given, y_true=y))
    assert found["CODEC", "race", "sex", "age"] == pytest.approx(codec)
    deo = float(fa.metrics.deo(p, sensitive=groups, y_true=y, threshold=0.5))
    assert found["DEO", "race", "sex"] == pytest.approx(deo)
    assert facts["rows"] == 400 and len(facts["cells"]["cells"]) == 6
    assert any("use race, sex only, without age (integer)" in note for note in facts["notes"])


def test_text_says_what_it_measures(data, capsys):
    assert cli.main(command(data)) == 0
    shown = capsys.readouterr().out
    assert "400 rows\nprediction  scores (p: continuous" in shown
    assert "sensitive   age: integer, 18 to 89" in shown
    assert re.search(r"^equalized-odds ratio +\d\.\d{4} +race, sex +labels: .* 0\.5$", shown, re.M)
    assert re.search(r"^a +f +\d+ +\d\.\d{3} \[", shown, re.M)
    assert "sizes, not a verdict" in shown


def test_repeated_sensitive_adds_up(data, capsys):
    together = as_json(capsys, data)
    one_by_one = as_json(
        capsys, data, "--sensitive", " sex", "--sensitive", "age", sensitive="race"
    )
    assert together == one_by_one


def test_kinds_and_threshold(data, capsys):
    facts = as_json(capsys, data, "--threshold", "0.7", sensitive="sex,age:continuous")
    assert facts["sensitive"][1] == {"name": "age", "kind": "continuous"}
    assert facts["measures"][-1]["note"] == "labels: scores at or above 0.7"


def test_scores_that_are_no_probabilities_need_a_threshold(data, capsys):
    facts = as_json(capsys, data, predictions="z", sensitive="sex")
    assert set(values(facts)) == {("KPC", "sex"), ("CODEC", "sex")} and facts["cells"] is None
    assert any("Pass a threshold" in note for note in facts["notes"])
    facts = as_json(capsys, data, "--threshold", "0.5", predictions="z", sensitive="sex")
    assert ("DEO", "sex") in values(facts)


def test_labels_need_no_threshold(data, capsys):
    facts = as_json(capsys, data, predictions="label", sensitive="sex")
    assert ("DEO", "sex") in values(facts) and facts["measures"][-1]["note"] == ""


def test_probability_vector(data, capsys):
    facts = as_json(capsys, data, predictions="p1,p2,p3", outcome="class", sensitive="sex")
    assert values(facts)["KPC", "sex"] is not None
    assert values(facts)["CODEC", "sex"] is None  # with the reason
    assert "one numeric prediction" in facts["measures"][1]["note"]


def test_regression_shows_errors(data, capsys):
    facts = as_json(capsys, data, predictions="z", outcome="grade", sensitive="race,age")
    assert values(facts)["largest difference of mean errors", "race"] > 0
    gap = values(facts)["largest prediction gap", "race"]
    columns = ["prediction given outcome", "mean error", "median error"]
    assert facts["cells"]["columns"] == columns
    means = [cell["estimates"][0]["value"] for cell in facts["cells"]["cells"]]
    assert gap == pytest.approx(max(means) - min(means))
    assert cli.main(command(data, predictions="z", outcome="grade")) == 0
    shown = capsys.readouterr().out
    assert "mean error" in shown
    assert "calibration, not 0 under equalized odds" in shown
    assert "need not be equal where it holds" in facts["notes"][-1]


def test_only_numeric_attributes(data, capsys):
    facts = as_json(capsys, data, sensitive="age")
    assert facts["cells"] is None and "No attribute is categorical" in facts["notes"][0]


@pytest.mark.parametrize(
    ("kwargs", "more", "message"),
    [
        ({"sensitive": "rac"}, (), "There is no column 'rac'. Did you mean 'race'?"),
        ({"outcome": "xyzzy"}, (), "There is no column 'xyzzy'. Columns are: y, grade"),
        ({"predictions": ","}, (), "Pass --model FILE, or --predictions COLUMN"),
        ({"sensitive": ","}, (), "No sensitive attribute"),
        ({"sensitive": "race,y"}, (), "'y' is given as --sensitive and as --outcome"),
        ({"sensitive": "race,race"}, (), "'race' is given twice as --sensitive"),
        ({"sensitive": "constant"}, (), "'constant' has a single value"),
        ({"predictions": "constant"}, (), "The prediction 'constant' is constant"),
        ({"sensitive": "race:continuous"}, (), "'race' holds text"),
        ({"outcome": "grade"}, ("--threshold", "1"), "The outcome 'grade' is continuous"),
    ],
)
def test_bad_columns(data, capsys, kwargs, more, message):
    assert cli.main(command(data, *more, **kwargs)) == 2
    shown, error = capsys.readouterr()
    assert shown == "" and error.count("\n") == 1
    assert error.startswith("fairaudit: error: ") and message in error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "There is no file"),
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"y,p,race,sex,age\n", "has a header and no rows"),
        (b"y,y,race\n1,0,a\n0,1,b\n", "Column 'y' occurs twice"),
        (b"a,b\n1,2\n1,2,3,4\n", "Line 3 of"),
        (b"\xff\xfe\x00,\xe9\n1,2\n", "a header and no rows"),
        (
            b"y,p,race,sex,age\n1,.2,a,f,20\n0,.1,b,m,\n1,.3,a,f,31\n0,.4,a,m,42\n",
            "'age' has 1 missing value,",
        ),
        (b"y,p,race,sex,age\n1,.2,a,f,20\n,.1,b,m,30\n", "'y' has 1 missing value,"),
    ],
)
def test_bad_files(tmp_path, capsys, content, message):
    path = tmp_path / "bad.csv"
    if content is not None:
        path.write_bytes(content)
    assert cli.main(command(str(path))) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error


def test_an_empty_folder_is_no_table(tmp_path, capsys):
    assert cli.main(command(str(tmp_path))) == 2
    assert "holds no table" in capsys.readouterr().err


@pytest.mark.parametrize("threshold", ["nan", "inf", "half"])
def test_bad_threshold(data, capsys, threshold):
    assert cli.main(command(data, "--threshold", threshold)) == 2
    assert f"must be a finite number, got '{threshold}'" in capsys.readouterr().err


def test_byte_order_mark_is_not_part_of_a_name(frame, tmp_path, capsys):
    path = tmp_path / "excel.csv"
    frame.to_csv(path, index=False, encoding="utf-8-sig")
    assert as_json(capsys, str(path))["outcome"]["name"] == "y"


def test_empty_group_is_shown_as_undefined(tmp_path, capsys):
    rows = "y,p,sex,race\n" + "1,.9,f,a\n0,.2,f,a\n1,.6,m,a\n1,.4,m,a\n0,.3,f,b\n1,.7,f,b\n"
    (tmp_path / "small.csv").write_text(rows)
    assert cli.main(command(str(tmp_path / "small.csv"), sensitive="sex,race")) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^m +b +0 +– +– +–$", shown, re.M)
    assert "Some groups have no rows of one outcome class or of both" in shown


def test_many_groups_are_not_dropped_in_silence():
    rng = np.random.default_rng(0)
    group = {"g": np.arange(800) % 80}
    table = fa.AuditTable.of(
        rng.integers(0, 2, 800), group, rng.integers(0, 2, 800), kinds={"g": "categorical"}
    )
    assert groups_table(measure(table).cells).endswith(
        "… and 20 more groups; --json lists them all"
    )


def test_markdown_table_escapes():
    assert markdown_parts.table(["a|b"], [["c"]]) == "| a\\|b |\n|---|\n| c |"


def test_readme_example_runs_and_prints_what_it_says(capsys):
    text = README.read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.S)
    assert found is not None
    exec(compile(found[1], str(README), "exec"), {})
    number = re.compile(r"-?\d+\.\d+")
    shown, said = capsys.readouterr().out, found[2]
    assert number.sub("#", shown) == number.sub("#", said)
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("the numbers of the README are of scikit-learn 1.9, which trains another model")
    close = pytest.approx([float(x) for x in number.findall(said)], abs=0.05)
    assert [float(x) for x in number.findall(shown)] == close
