"""Bad tables through the command: a right answer, or one line that says what to do."""

import gzip
import json
import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import (
    DEFECTS,
    FORMATS,
    HOSTILE,
    OWN_SCRIPT,
    SCRIPT,
    composed,
    good_table,
    judged,
    run,
    unsafe,
)

import fairaudit as fa
from fairaudit.data.reading import files
from fairaudit_cli.main import main

ASK = ("--predictions", "p", "--outcome", "y", "--sensitive", "sex,age", "--permutations", "19")


def audited(path, *more, ask=ASK):
    status, out, err = run(["test", "--data", str(path), *ask, "--json", *more])
    assert status in (0, 1, 3) and err == "", err
    return json.loads(out)


def refused(path, *more, ask=ASK):
    status, out, err = run(["test", "--data", str(path), *ask, "--json", *more])
    assert status == 2 and out == "" and err.count("\n") == 1, err
    assert err.startswith("fairaudit: error: ") and len(err) < 700, err
    return err


@pytest.fixture
def frame():
    table = good_table(np.random.default_rng(0))
    columns = {name: pd.Series(values) for name, values in table.columns.items()}
    numbers = {"p": float, "y": int, "age": int}
    return pd.DataFrame(columns).astype(numbers)


def changed(frame, column, row, value):
    odd = frame.astype({column: object})
    odd.loc[row, column] = value
    return odd


def _quoted_from_to(text, first, last):
    lines = text.split("\n")
    lines[first] = lines[first].replace("fine", '"fine')
    lines[last] = lines[last].replace("fine", 'fine"')
    return "\n".join(lines)


# Named cases: content of the file → what is said

NAMED = {
    "latin-1": (lambda t: t.replace("fine", "né").encode("latin-1"), "byte 0xe9 in line 2"),
    "utf-16 without mark": (lambda t: t.encode("utf-16-le"), "zero byte in line 1.*UTF-16"),
    "odd utf-16": (lambda t: t.encode("utf-16")[:-1], "damaged UTF-16"),
    "zero byte": (lambda t: t.replace("fine", "\0", 1).encode(), "zero byte in line 2"),
    "short row": (lambda t: (t + "0.5,1\n").encode(), "Line 122 .* has 2 fields, its header 5"),
    "long row": (lambda t: (t + "1,1,f,3,n,4\n").encode(), "Line 122 .* has 6 fields"),
    "all rows long": (lambda t: t.replace("\n0", ",\n0").encode(), "header"),
    "comment first": (lambda t: ("# a comment\n" + t).encode(), "more fields than its header"),
    "open quote": (lambda t: t.replace("fine", '"fine', 1).encode(), "line 2.*never closed"),
    "quote closed later": (
        lambda t: _quoted_from_to(t, 1, 7).encode(),
        "lines 2 to 8 .* holds whole rows: a quote is not closed",
    ),
    "badly quoted": (
        lambda t: t.replace("fine", '"fine', 1)[:-5].encode() + b'"fine"\n',
        "quoted|fields",
    ),
    "cut gzip": (lambda t: gzip.compress(t.encode())[:-20], "damaged gzip"),
    "broken gzip": (lambda t: gzip.compress(t.encode())[:12] + b"\0" * 60, "damaged gzip"),
    "workbook": (lambda t: b"PK\x03\x04" + t.encode(), "Excel workbook. Save the table as CSV"),
    "bzip2": (lambda t: b"BZh9" + t.encode(), "packed with bzip2"),
    "empty": (lambda t: b" \n", "is empty"),
    "empty in gzip": (lambda t: gzip.compress(b""), "is empty"),
    "header alone": (lambda t: b"p,y,sex,age\n", "a header and no rows"),
    "twice": (lambda t: t.replace("note", "p", 1).encode(), "Column 'p' occurs twice"),
    "infinite": (lambda t: (t + "inf,1,f,20,n\n").encode(), "'p' has an infinite value in row 120"),
    "words": (lambda t: (t + "high,1,f,20,n\n").encode(), "'p' holds text among numbers .'high'"),
    "mark": (lambda t: (t + "0.1,?,f,20,n\n").encode(), "'y' has 1 missing value.*to drop"),
    "mark in p": (lambda t: (t + "-,1,f,20,n\n").encode(), "'p' has 1 missing value, .* row 120"),
    "mark in age": (lambda t: (t + "0.1,1,f,?,n\n").encode(), "'age' has 1 missing value.*drop"),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_files_are_refused(name, tmp_path, frame):
    change, message = NAMED[name]
    path = tmp_path / "bad.csv"
    path.write_bytes(change(frame.to_csv(index=False)))
    assert re.search(message, refused(path))


SAME = {
    "bom": lambda t: t.encode("utf-8-sig"),
    "utf-16": lambda t: t.encode("utf-16"),
    "crlf": lambda t: t.replace("\n", "\r\n").encode(),
    "cr": lambda t: t.replace("\n", "\r").encode(),
    "gzip": lambda t: gzip.compress(t.encode()),
    "semicolons": lambda t: t.replace(",", ";").encode(),
    "tabs": lambda t: t.replace(",", "\t").encode(),
    "bars": lambda t: t.replace(",", "|").encode(),
    "blank lines": lambda t: t.replace("\n", "\n\n").encode(),
    "no end": lambda t: t.rstrip("\n").encode(),
    "separator at the end": lambda t: t.replace("\n", ",\n").encode(),
    "quoted": lambda t: t.replace("f,", '"f",').encode(),
    "huge cell": lambda t: t.replace("fine", "x" * 300_000, 1).encode(),
    "cell of lines": lambda t: t.replace("fine", '"one\ntwo\nthree"', 1).encode(),
}


def test_these_files_are_the_same_table(tmp_path, frame):
    text = frame.to_csv(index=False)
    (tmp_path / "good.csv").write_text(text)
    expected = audited(tmp_path / "good.csv")
    for name, change in SAME.items():
        (tmp_path / "odd.csv").write_bytes(change(text))
        found = audited(tmp_path / "odd.csv")
        for part in ("table", "null", "measures", "verdict"):
            assert found[part] == expected[part], name


COLUMNS = {
    "thousands": ("age", lambda k: f"{1000 + k:,}", "'age' holds numbers written as text"),
    "decimal commas": ("p", lambda k: f"0,{k + 100}", "'p' holds numbers written as text"),
    "percent": ("p", lambda k: f"{k}%", "'p' holds numbers written as text .'0%'"),
    "currency": ("age", lambda k: f"${k}.50", "'age' holds numbers written as text"),
    "dates": ("age", lambda k: f"19{k % 90 + 10}-05-01", "'age' holds dates .'1910-05-01'"),
    "european dates": ("age", lambda k: f"{k % 28 + 1}.5.1970", "'age' holds dates"),
    "document": ("sex", lambda k: "x" * (5000 if k == 3 else 2), "more than 1000 char.*row 3"),
    "one value": ("sex", lambda k: "f", "'sex' has a single value"),
    "constant prediction": ("p", lambda k: 0.5, "'p' is constant"),
    "too large": ("p", lambda k: f"{k}e300", "'p' has values from 0 to 1.19e.302, beyond what"),
    "too small": ("p", lambda k: f"{k}e-300", "beyond what can be squared"),
    "ids": ("age", lambda k: 2**63 + k, "'age' holds whole numbers beyond 2.53"),
    "beyond floats": ("age", lambda k: 10**400 + k, "'age' holds a whole number beyond 1e308|text"),
    "levels": ("sex", lambda k: f"l{k % 600}", "600 levels; at most 500"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_refused(name, tmp_path, frame):
    column, value, message = COLUMNS[name]
    if name == "levels":
        frame = pd.concat([frame] * 6, ignore_index=True)
    values = [str(value(k)) for k in range(len(frame))]  # pandas 2 has no numbers beyond floats
    frame.assign(**{column: values}).to_csv(tmp_path / "t.csv", index=False)
    assert re.search(message, refused(tmp_path / "t.csv"))


def test_ten_thousand_levels(tmp_path):
    rng = np.random.default_rng(0)
    rows = 10_000
    frame = pd.DataFrame({"p": rng.random(rows), "y": rng.integers(0, 2, rows), "age": range(rows)})
    frame["sex"] = [f"level {k}" for k in range(rows)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert "'sex' has 10000 levels" in refused(tmp_path / "t.csv")


def test_every_excluded_row_is_counted(tmp_path, frame):
    odd = changed(changed(changed(frame, "age", 3, "?"), "y", 5, "NA"), "p", 7, "")
    odd.loc[8, "note"] = "poor"
    odd.to_csv(tmp_path / "t.csv", index=False)
    table = audited(
        tmp_path / "t.csv", "--missing", "drop", "--suppress", "0", "--where", "note == 'fine'"
    )["table"]
    assert table["rows"] == 116
    assert [(one["rows"], one["reason"]) for one in table["excluded"]] == [
        (1, "not note == 'fine'"),
        (1, "y is missing"),
        (1, "age is missing"),
        (1, "p is missing"),
    ]


def test_rows_have_the_numbers_of_the_file(tmp_path, frame):
    odd = changed(frame, "p", 50, "inf")
    odd.loc[:40, "note"] = "poor"
    odd.to_csv(tmp_path / "t.csv", index=False)
    assert "'p' has an infinite value in row 50" in refused(
        tmp_path / "t.csv", "--where", "note == 'fine'"
    )
    changed(odd.assign(p=0.1), "age", 60, "").to_csv(tmp_path / "t.csv", index=False)
    assert "the first in row 60" in refused(tmp_path / "t.csv", "--where", "note == 'fine'")


def test_marks_stay_levels_where_values_are_categories(tmp_path, frame):
    frame.loc[:30, "sex"] = "?"
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert audited(tmp_path / "t.csv")["table"]["attributes"][0]["levels"] == ["?", "f", "m"]
    frame["sex"] = np.where(frame.sex == "f", "1", np.where(frame.sex == "m", "2", "?"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert audited(tmp_path / "t.csv")["table"]["attributes"][0]["levels"] == ["1", "2", "?"]


def test_no_rows_are_left(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert "No row of 120 meets --where 'age > 1000'" in refused(
        tmp_path / "t.csv", "--where", "age > 1000"
    )
    frame.assign(age="").to_csv(tmp_path / "t.csv", index=False)
    assert "No row is left" in refused(tmp_path / "t.csv", "--missing", "drop")


def test_one_class_is_a_test_within_it(tmp_path, frame):
    for value in (0, 1, "1.0", "True", "yes"):
        frame.assign(y=value).to_csv(tmp_path / "t.csv", index=False)
        assert audited(tmp_path / "t.csv")["table"]["rows"] == 120


def test_probabilities_and_scores(tmp_path, frame):
    ask = ("--predictions", "q,p", "--outcome", "y", "--sensitive", "sex", "--permutations", "19")
    path = tmp_path / "t.csv"
    frame.assign(q=1 - frame.p).to_csv(path, index=False)
    assert "probabilities" in audited(path, ask=ask)["table"]["prediction"]
    changed(frame.assign(q=1 - frame.p), "q", 7, 0.9).to_csv(path, index=False)
    assert "sum to 1 in most rows and to" in refused(path, ask=ask)
    frame.assign(q=frame.p + 3).to_csv(path, index=False)
    assert "scores" in audited(path, ask=ask)["table"]["prediction"]
    frame.assign(p=frame.p * 9 - 4).to_csv(path, index=False)
    notes = " ".join(audited(path)["notes"])
    assert "do not lie in [0, 1]" in notes and "Pass a threshold" in notes


def test_labels_that_the_other_side_never_saw(tmp_path, frame):
    path = tmp_path / "t.csv"
    words = frame.assign(y=np.where(frame.y == 1, "yes", "no"))
    for labels, said in ((("Yes", "No"), "Code both"), (("maybe", "no"), "3 classes")):
        words.assign(p=np.where(frame.p > 0.5, *labels)).to_csv(path, index=False)
        record = audited(path)
        assert record["table"]["rows"] == 120 and said in " ".join(record["notes"])
    three = frame.assign(y=np.where(frame.index < 9, 2, frame.y), p=(frame.p > 0.5).astype(int))
    three.to_csv(path, index=False)
    assert audited(path)["table"]["outcome"]["levels"] == ["0", "1", "2"]


# Names


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_can_be_given_and_stay_text(name, tmp_path, frame):
    path, quoted = tmp_path / "t.csv", name.replace('"', '""')
    odd = frame.rename(columns={"sex": name})
    odd[name] = odd[name].replace({"f": name})
    odd.to_csv(path, index=False)
    reports = [tmp_path / f"r.{form}" for form in FORMATS]
    more = [word for report in reports for word in ("--report", str(report))]
    ask = ("--predictions=p", "--outcome=y", f'--sensitive="{quoted}",age', "--permutations=19")
    record = audited(path, *more, ask=ask)
    assert record["table"]["attributes"][0]["name"] == name
    for report in reports:
        assert unsafe(report.read_text("utf-8"), report.suffix[1:]) == ""
    ask = ("--predictions=p", "--outcome=y", "--sensitive=zzz")
    assert "There is no column 'zzz'" in refused(path, ask=ask)
    missing = odd.assign(**{name: ""})
    missing.to_csv(path, index=False)
    refused(
        path, "--missing=error", ask=("--predictions=p", "--outcome=y", f'--sensitive="{quoted}"')
    )


def test_names_with_spaces_around_and_names_that_look_missing(tmp_path, frame):
    spaced = frame.to_csv(index=False).replace("p,y,sex,age,note", "p, y, sex, age, note")
    (tmp_path / "t.csv").write_text(spaced)
    assert audited(tmp_path / "t.csv")["table"]["attributes"][1]["name"] == " age"
    frame.rename(columns={"sex": "NA"}).to_csv(tmp_path / "t.csv", index=False)
    ask = ("--predictions=p", "--outcome=y", "--sensitive=NA", "--permutations=19")
    assert audited(tmp_path / "t.csv", ask=ask)["table"]["attributes"][0]["name"] == "NA"
    others = pd.DataFrame(1, index=frame.index, columns=[f"column {k}" for k in range(500)])
    many = pd.concat([frame, others], axis=1)
    many.to_csv(tmp_path / "t.csv", index=False)
    ask = ("--predictions=p", "--outcome=y", "--sensitive=zzz")
    assert "(505 in all)" in refused(tmp_path / "t.csv", ask=ask)


# Parquet


def test_parquet(tmp_path, frame):
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    import pyarrow.parquet as parquet

    path = tmp_path / "t.parquet"

    def saved(**more):
        parquet.write_table(pa.table({**frame.to_dict("list"), **more}), path)
        return path

    n = len(frame)
    assert "'age' holds nested values" in refused(saved(age=[[1, 2]] * n))
    assert "'sex' holds nested values" in refused(saved(sex=[{"a": 1}] * n))
    assert audited(saved(note=[[1]] * n))["table"]["rows"] == n
    assert "'sex' holds bytes" in refused(saved(sex=[b"f", b"m"] * (n // 2)))
    when = pd.date_range("2000-01-01", periods=n).to_pydatetime().tolist()
    assert "'age' holds dates or times" in refused(saved(age=when))
    ages = [Decimal(int(age)) for age in frame.age]
    assert audited(saved(age=ages))["table"]["attributes"][1]["kind"] == "integer"
    texts = saved(age=[str(age) for age in frame.age])
    ask = (*ASK[:-4], "--sensitive", "sex,age:integer", "--permutations", "19")
    assert audited(texts, ask=ask)["table"]["attributes"][1]["kind"] == "integer"
    columns = [pa.array(frame[name]) for name in frame.columns]
    names = [*frame.columns[:-1], "age"]
    parquet.write_table(pa.table(columns, names=names), path)
    assert "Column 'age' occurs twice" in refused(path)
    path.write_bytes(saved().read_bytes()[:-50])
    assert "not a readable Parquet file" in refused(path)
    frame.set_index("sex").to_parquet(path)
    assert audited(path)["table"]["attributes"][0]["name"] == "sex"
    frame[frame.y == 1].to_parquet(path)
    assert audited(path)["table"]["rows"] == (frame.y == 1).sum()


# Files that change


def test_a_file_that_changes_while_it_is_read(tmp_path, frame, monkeypatch):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    stat = os.stat

    def later(name, *args, **options):
        if str(name) == str(path):
            with open(path, "a") as file:
                file.write("0.5,1,f,20,late\n")
        return stat(name, *args, **options)

    monkeypatch.setattr(files.os, "stat", later)
    with pytest.raises(fa.InputError, match="changed while it was read"):
        files._bytes_of(str(path))


def test_files_with_other_columns_are_not_put_together(tmp_path, frame):
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.rename(columns={"note": "x"}).to_csv(tmp_path / "b.csv", index=False)
    more = ("--data", str(tmp_path / "b.csv"))
    assert "different columns: note, x" in refused(tmp_path / "a.csv", *more)
    changed(frame, "age", 0, "?").to_csv(tmp_path / "b.csv", index=False)
    record = audited(tmp_path / "a.csv", *more, "--missing", "drop", "--suppress", "0")
    assert record["table"]["rows"] == 239 and record["table"]["excluded"][0]["rows"] == 1


# Compositions


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda one: one.__name__)
def test_each_defect_alone(defect, tmp_path):
    rng = np.random.default_rng(0)
    table = good_table(rng)
    defect(table, rng)
    for form in ("html", "sarif"):
        what, why = judged(table, tmp_path, form)
        assert what != "wrong", why


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(10_000, 2**31), form=st.sampled_from(FORMATS))
def test_compositions(seed, form, tmp_path):
    table = composed(seed)
    what, why = judged(table, tmp_path, form)
    assert what != "wrong", (table.defects, why)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.binary(max_size=400))
def test_any_bytes(data, tmp_path):
    (tmp_path / "t.csv").write_bytes(data)
    refused(tmp_path / "t.csv")


# In a browser

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def test_a_script_in_names_and_levels_does_not_run(tmp_path, frame):
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    api = pytest.importorskip("playwright.sync_api")
    odd = frame.rename(columns={"sex": SCRIPT, "y": f"y {SCRIPT}"})
    odd[SCRIPT] = odd[SCRIPT].replace({"f": HOSTILE[1]})
    odd.to_csv(tmp_path / "t.csv", index=False)
    page_file = tmp_path / "r.html"
    ask = ("--predictions=p", f"--outcome=y {SCRIPT}", f"--sensitive={SCRIPT}", "--suppress=0")
    audited(tmp_path / "t.csv", "--permutations=19", "--report", str(page_file), ask=ask)
    said = []
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: said.append(request.url))
        page.goto(page_file.as_uri())
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        scripts = page.evaluate("[...document.querySelectorAll('script')].map(s => s.outerHTML)")
        assert set(scripts) <= {OWN_SCRIPT}
        assert SCRIPT in page.inner_text("body")
        browser.close()
    assert [what for what in said if what != page_file.as_uri()] == []


@pytest.mark.parametrize(
    "note", [b"{", b'{"columns": [{}], "index_columns": [], "column_indexes": []}', b"[]"]
)
def test_damaged_notes_of_pandas_in_parquet(tmp_path, note):
    """Found by fuzzing: what pandas notes about the columns is JSON in the file."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from fairaudit.data.reading.files import read_tables
    from fairaudit.errors import InputError

    table = pa.table({"x": [1, 2]}).replace_schema_metadata({b"pandas": note})
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_tables([str(tmp_path / "t.parquet")])


def test_numbers_of_a_text_file_are_read_to_the_bit(tmp_path):
    """As of a Parquet file; pandas before 3.1 rounds one in three unless it is told not to."""
    numbers = np.random.default_rng(0).normal(size=5_000)
    pd.DataFrame({"p": numbers}).to_csv(tmp_path / "t.csv", index=False)
    frame, _ = files.read_tables([str(tmp_path / "t.csv")])
    assert (frame["p"].to_numpy() == numbers).all()


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no such device")
@pytest.mark.parametrize("command", ["test", "init"])
def test_a_table_that_is_a_device_is_not_read(command, tmp_path, monkeypatch, capsys):
    """A link in a repository to one without end filled the memory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.csv").symlink_to("/dev/zero")
    (tmp_path / "fairaudit.toml").write_text("data = 'test.csv'\nsensitive = 'g'\n")
    more = ["--force", "--ci", "none"] if command == "init" else ["--predictions", "p"]
    assert main([command, *more]) == 2
    assert capsys.readouterr().err == "fairaudit: error: 'test.csv' is a device. Pass a file.\n"
