"""`fairaudit test`, `report`, `verify` and `demo`, as a user calls them."""

import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairaudit_cli import main as cli

QUICK = ("--permutations", "99", "--no-power", "--no-locate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """model.pkl and test.csv of a lending model."""
    from fairaudit.datasets import demo_model, load_demo

    folder = tmp_path_factory.mktemp("audit")
    frame = load_demo(1600)
    (folder / "model.pkl").write_bytes(pickle.dumps(demo_model(frame[:800])))
    frame[800:].to_csv(folder / "test.csv", index=False)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return folder


def test_command(*more, model="model.pkl", data="test.csv", sensitive="race,sex,age"):
    return ["test", "--model", model, "--data", data, "--sensitive", sensitive, *QUICK, *more]


test_command.__test__ = False


def audited(capsys, *args, status=None):
    """The JSON of an audit, and its exit status."""
    found = cli.main([*args, "--json"])
    shown, errors = capsys.readouterr()
    assert errors == "" and (status is None or found == status)
    return json.loads(shown, parse_constant=pytest.fail)


def one_line(capsys, arguments, message):
    assert cli.main(arguments) == 2
    shown, errors = capsys.readouterr()
    assert shown == "" and errors.count("\n") == 1 and errors.startswith("fairaudit: error: ")
    assert re.search(message, errors), errors


def test_the_command_of_the_mission(here, capsys):
    assert (
        cli.main(
            ["test", "--model", "model.pkl", "--data", "test.csv", "--sensitive", "race,sex,age"]
        )
        == 1
    )
    shown = capsys.readouterr().out
    assert "violation" in shown.lower() and "repaid" in shown and "p = 0.001" in shown
    for name in ("race", "sex", "age"):
        assert re.search(rf"{name}: (categorical|binary|integer)", shown)


def test_json_only(here, capsys):
    record = audited(capsys, *test_command(), status=1)
    assert record["verdict"] == "violation" and record["table"]["outcome"]["name"] == "repaid"
    assert record["capsule"]["model"]["sha256"] and record["capsule"]["data"][0]["sha256"]
    assert record["table"]["features"][0] == "income"


def test_repeated_and_separated_attributes_add_up(here, capsys):
    first = audited(capsys, *test_command())
    second = audited(
        capsys, *test_command("--sensitive", "sex", "--sensitive", "age", sensitive="race")
    )
    assert [f["p_value"] for f in first["findings"]] == [f["p_value"] for f in second["findings"]]


def test_reports_are_written(here, capsys, tmp_path):
    names = ["a.html", "a.md", "a.json", "a.xml", "a.sarif", "a.txt"]
    reports = [word for name in names for word in ("--report", str(tmp_path / "new" / name))]
    assert cli.main(test_command(*reports)) == 1
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(names)
    shown = capsys.readouterr().out
    assert all(f"report: {tmp_path / 'new' / name}" in shown for name in names)


def test_report_shows_a_record_again(here, capsys, tmp_path):
    record = tmp_path / "audit.json"
    assert cli.main(test_command("--report", str(record))) == 1
    assert cli.main(["report", str(record), "--to", "html,junit", "--to", "md"]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "audit.html",
        "audit.json",
        "audit.md",
        "audit.xml",
    ]
    capsys.readouterr()
    assert cli.main(["report", str(record)]) == 0
    assert "repaid" in capsys.readouterr().out
    one_line(capsys, ["report", str(record), "--to", "docx"], "no report format 'docx'")
    one_line(capsys, ["report", str(record), "--to", "json"], "is the record itself")
    one_line(capsys, ["report", "nowhere.json"], "There is no file")
    record.write_text(record.read_text()[:500])
    one_line(capsys, ["report", str(record)], "not JSON, or was cut off")
    record.write_text("{}")
    one_line(capsys, ["report", str(record)], "not a record of the form 'fairaudit/audit/1'")


def test_verify(here, capsys, tmp_path):
    record = tmp_path / "audit.json"
    assert cli.main(test_command("--report", str(record), "--where", "age > 25")) == 1
    again = ["verify", str(record), "--model", "model.pkl", "--data", "test.csv"]
    capsys.readouterr()
    assert cli.main(again) == 0
    assert re.search(r"^reproduced: all \d+ values", capsys.readouterr().out)
    facts = json.loads(record.read_text())
    facts["findings"][1]["p_value"] += 0.01
    record.write_text(json.dumps(facts))
    assert cli.main(again) == 1
    shown = capsys.readouterr().out
    assert "the record was changed after it was made" in shown and "; 1 of " in shown
    assert "findings[1].p_value" in shown
    other = tmp_path / "other.csv"
    other.write_text(Path("test.csv").read_text().replace("female", "male", 1))
    assert cli.main([*again[:-1], str(other)]) == 1
    assert "SHA-256 differs" in capsys.readouterr().out
    one_line(capsys, again[:2] + again[4:], "Pass it as --model")
    one_line(capsys, again[:4], "No data")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Kinds of models and columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "x1": rng.normal(size=n),
            "x2": rng.normal(size=n),
            "city": rng.choice(["rome", "oslo"], n),
            "race": rng.choice(["a", "b", "c"], n),
            "member": rng.random(n) < 0.5,
            "region": rng.integers(1, 5, n),
            "age": rng.integers(18, 80, n),
            "extra": rng.choice(["p", "q"], n),
            "when": pd.date_range("2020", periods=n).astype(str),
        }
    )
    frame["y"] = (frame.x1 + rng.normal(size=n) > 0).astype(int)
    frame["grade"] = np.select([frame.x1 < -0.5, frame.x1 < 0.5], ["low", "mid"], "high")
    frame["amount"] = frame.x1 + rng.normal(size=n)
    frame.to_csv(folder / "data.csv", index=False)
    frame.to_parquet(folder / "data.parquet")
    frame.to_feather(folder / "data.arrow")
    frame[:300].to_csv(folder / "part-1.csv", index=False)
    frame[300:].to_csv(folder / "part-2.csv", index=False)
    features = ["x1", "x2", "city"]
    columns = ColumnTransformer(
        [("n", StandardScaler(), ["x1", "x2"]), ("c", OneHotEncoder(), ["city"])]
    )
    forest = {"n_estimators": 5, "max_depth": 3, "random_state": 0}
    models = {
        "pipeline": make_pipeline(columns, LogisticRegression()).fit(frame[features], frame.y),
        "multi": RandomForestClassifier(**forest).fit(frame[["x1", "x2"]], frame.grade),
        "regressor": RandomForestRegressor(**forest).fit(frame[["x1", "x2"]], frame.amount),
    }
    for name, model in models.items():
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(model))
    return folder


@pytest.mark.parametrize(
    ("model", "outcome", "sensitive"),
    [
        ("pipeline.pkl", "y", "race,member,region:categorical,age"),
        ("multi.pkl", "grade", "race,age"),
        ("regressor.pkl", "amount", "race,age:continuous"),
    ],
)
def test_kinds_of_models_and_columns(tables, monkeypatch, capsys, model, outcome, sensitive):
    monkeypatch.chdir(tables)
    record = audited(
        capsys,
        "test",
        "--model",
        model,
        "--data",
        "data.csv",
        "--outcome",
        outcome,
        "--sensitive",
        sensitive,
        "--permutations",
        "19",
        "--alpha",
        "0.05",
    )
    assert record["table"]["rows"] == 600 and record["findings"][0]["p_value"] >= 0.05
    kinds = {column["name"]: column["kind"] for column in record["table"]["attributes"]}
    assert kinds["race"] == "categorical" and kinds["age"] in ("integer", "continuous")
    assert kinds.get("member", "binary") == "binary"


def test_formats_of_tables(tables, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    rest = ["--model", "pipeline.pkl", "--outcome", "y", "--sensitive", "race", *QUICK]
    records = [
        audited(capsys, "test", *data, *rest)
        for data in (
            ["--data", "data.csv"],
            ["--data", "data.parquet"],
            ["--data", "data.arrow"],
            ["--data", "part-*.csv"],
            ["--data", "part-1.csv", "part-2.csv"],
            ["--data", "part-1.csv", "--data", "part-2.csv"],
        )
    ]
    assert len({record["findings"][0]["p_value"] for record in records}) == 1
    assert len(records[3]["capsule"]["data"]) == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("data.csv").read_bytes())))
    record = audited(capsys, "test", "--data", "-", *rest)
    assert record["findings"][0]["p_value"] == records[0]["findings"][0]["p_value"]


def test_where_and_missing(tables, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tables)
    frame = pd.read_csv("data.csv")
    frame.loc[:9, "race"] = np.nan
    frame.loc[20:24, "age"] = np.nan
    frame.to_csv(tmp_path / "holes.csv", index=False)
    base = [
        "test",
        "--model",
        "pipeline.pkl",
        "--data",
        str(tmp_path / "holes.csv"),
        "--outcome",
        "y",
        *QUICK,
    ]
    race = audited(capsys, *base, "--sensitive", "race", "--suppress", "0")["table"]
    assert race["attributes"][0]["missing"] == 10
    assert "(missing)" in race["attributes"][0]["levels"] and race["rows"] == 600
    one_line(capsys, [*base, "--sensitive", "age"], r"'age' has 5 missing values.*row 20")
    one_line(capsys, [*base, "--sensitive", "race", "--missing", "error"], "'race' has 10 missing")
    dropped = audited(capsys, *base, "--sensitive", "race,age", "--missing", "drop")["table"]
    assert dropped["rows"] == 585 and len(dropped["excluded"]) == 2
    some = audited(capsys, *base, "--sensitive", "race", "--where", "age >= 40 and city == 'rome'")
    assert some["table"]["excluded"][0]["reason"] == "not age >= 40 and city == 'rome'"
    kept = ((frame.age >= 40) & (frame.city == "rome")).sum()
    assert some["table"]["rows"] == kept


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("age >", "not a condition"),
        ("agee > 3", "no column 'agee'.*'age'"),
        ("__import__('os').system('true')", "understands comparisons"),
        ("age.values.sum() > 3", "understands comparisons"),
        ("1 > 0", "names no column"),
        ("race > 3", "do not fit together"),
        ("age > 1000", "No row of .* meets"),
        ("race", "true or false"),
        ("age > 18 and race", "true or false"),
        ("'a' in race", "a column, then in"),
        ("1 / 0 > age", "division by zero"),
    ],
)
def test_bad_conditions(tables, monkeypatch, capsys, condition, message):
    monkeypatch.chdir(tables)
    one_line(
        capsys,
        [
            "test",
            "--model",
            "pipeline.pkl",
            "--data",
            "data.csv",
            "--outcome",
            "y",
            "--sensitive",
            "race",
            "--where",
            condition,
        ],
        message,
    )


def test_inconclusive_and_strict(here, capsys):
    few = test_command("--permutations", "9")
    assert audited(capsys, *few, status=3)["verdict"] == "inconclusive"
    assert audited(capsys, *few, "--strict", status=1)["verdict"] == "inconclusive"


def test_tolerance_makes_it_a_note(here, capsys):
    record = audited(capsys, *test_command("--tolerance", "kpc=0.9,deo=9"), status=0)
    assert record["verdict"] == "no violation found" and "tolerable" in record["because"]
    audited(capsys, *test_command("--tolerance", "kpc=0.9,deo=0.001"), status=1)


def test_small_groups_are_masked(here, capsys):
    shown = audited(capsys, *test_command())["cells"]["cells"]
    all_cells = audited(capsys, *test_command("--suppress", "0"))["cells"]["cells"]
    assert not any(cell["masked"] for cell in all_cells)
    small = [cell for cell in all_cells if any(0 < e["rows"] < 10 for e in cell["estimates"])]
    hidden = [cell for cell in shown if cell["masked"]]
    assert len(small) > 0 and len(hidden) >= max(2, len(small))


def test_labels_and_threshold(here, capsys):
    record = audited(capsys, *test_command("--on", "labels"))
    assert record["table"]["prediction"].startswith("labels")
    higher = audited(capsys, *test_command("--threshold", "0.8"))
    assert any("0.8" in measure["note"] for measure in higher["measures"])


def test_weights_and_ids(here, capsys, tmp_path):
    frame = pd.read_csv("test.csv").assign(
        w=1.0, person=np.arange(800) // 2, score=np.random.default_rng(0).random(800)
    )
    frame.to_csv(tmp_path / "more.csv", index=False)
    record = audited(
        capsys,
        *test_command(
            "--weights",
            "w",
            "--id",
            "person",
            "--outcome",
            "repaid",
            data=str(tmp_path / "more.csv"),
        ),
    )
    assert record["table"]["people"] == 400 and record["table"]["ids"] == "person"
    assert any("whole people" in note for note in record["notes"])


def test_settings_of_a_project(here, capsys, tmp_path, monkeypatch):
    model, data = (str(here / name) for name in ("model.pkl", "test.csv"))
    (tmp_path / "pyproject.toml").write_text(
        f"[tool.fairaudit]\nmodel = {model!r}\ndata = {data!r}\n"
        "sensitive = ['race', 'sex', 'age']\n"
        "permutations = 99\nalpha = 0.01\nreport = 'out/audit.json'\ntolerance = { kpc = 0.5 }\n"
    )
    monkeypatch.chdir(tmp_path)
    assert cli.main(["test"]) == 0  # within the tolerance
    record = json.loads((tmp_path / "out/audit.json").read_text())
    assert record["alpha"] == 0.01 and record["capsule"]["copies"] == 99
    assert (
        audited(capsys.readouterr() and capsys, "test", "--tolerance", "kpc=0.001")["alpha"] == 0.01
    )
    (tmp_path / "fairaudit.toml").write_text("sensitiv = 'race'\n")
    one_line(capsys, ["test"], "no setting 'sensitiv'. Did you mean 'sensitive'")
    (tmp_path / "fairaudit.toml").write_text("trust = ['os.system']\n")
    one_line(capsys, ["test"], "'trust' cannot be set in a file")
    (tmp_path / "fairaudit.toml").write_text("permutations = 'many'\n")
    one_line(capsys, ["test"], "'permutations' must be a whole number")
    for line, told in (
        ("memory = 'much'", "'memory' must be a size"),
        ("memory = 2", "'memory' must be str"),
        ("engine = 'flink'", "'engine' must be"),
        ("shards = 0", "'shards' must be a whole number of at least 1"),
    ):
        (tmp_path / "fairaudit.toml").write_text(f"{line}\n")
        one_line(capsys, ["test"], told)
    (tmp_path / "fairaudit.toml").write_text("memory = '200MB'\nengine = 'local'\nshards = 2\n")
    typed = ["test", "--model", model, "--data", data, "--sensitive", "race"]
    one_line(capsys, typed, "Parquet")  # CSV has no partitions
    (tmp_path / "fairaudit.toml").write_text("a = [\n")
    one_line(capsys, ["test"], "not valid TOML")
    one_line(capsys, ["test", "--config", "nowhere.toml"], "There is no file")


@pytest.mark.parametrize("name", ["pyproject.toml", "fairaudit.toml"])
@pytest.mark.parametrize("repository", [True, False])
def test_settings_found_from_a_subfolder(here, capsys, tmp_path, monkeypatch, name, repository):
    """Paths of the file are relative to its own folder, wherever the command runs."""
    for file in ("model.pkl", "test.csv"):
        (tmp_path / file).write_bytes((here / file).read_bytes())
    head = "[tool.fairaudit]\n" if name == "pyproject.toml" else ""
    (tmp_path / name).write_text(
        f"{head}model = 'model.pkl'\ndata = 'test.csv'\nsensitive = 'race,sex,age'\n"
        "permutations = 99\nreport = 'out/audit.json'\n"
    )
    if repository:
        (tmp_path / ".git").mkdir()
    below = tmp_path / "deep" / "er"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text("[project]\nname = 'of something else'\n")
    monkeypatch.chdir(below)
    assert cli.main(["test"]) == 1
    shown = capsys.readouterr()
    assert f"settings from ../../{name}" in shown.err
    record = json.loads((tmp_path / "out/audit.json").read_text())
    assert record["capsule"]["model"]["path"] == "../../model.pkl"
    assert record["capsule"]["copies"] == 99


def test_settings_above_the_repository_are_not_read(tmp_path, monkeypatch, capsys):
    (tmp_path / "fairaudit.toml").write_text("no_such = 1\n")
    below = tmp_path / "repository" / "deep"
    below.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    monkeypatch.chdir(below)
    one_line(capsys, ["test"], "No data.")


def test_somebody_elses_settings_above_are_not_read(tmp_path, monkeypatch, capsys):
    """Without a repository a file in, say, /tmp counts only if it has the folder's owner."""
    settings = tmp_path / "fairaudit.toml"
    settings.write_text("no_such = 1\n")
    below = tmp_path / "deep"
    below.mkdir()
    monkeypatch.chdir(below)
    one_line(capsys, ["test"], "no setting 'no_such'")
    real = Path.stat

    def foreign(path, **kwargs):
        found = real(path, **kwargs)
        if path == Path("../fairaudit.toml"):
            return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))
        return found

    monkeypatch.setattr(Path, "stat", foreign)
    one_line(capsys, ["test"], "No data.")


def test_a_folder_as_data_stands_for_its_tables(here, capsys, tmp_path):
    lines = (here / "test.csv").read_text().splitlines(keepends=True)
    folder = tmp_path / "tables"
    (folder / "part=2").mkdir(parents=True)
    (folder / "1.csv").write_text("".join(lines[:100]))
    (folder / "part=2" / "2.csv").write_text("".join([lines[0], *lines[100:]]))
    (folder / "_hidden.csv").write_text("no table")
    (folder / "README.md").write_text("no table")
    found = {
        audited(capsys, *test_command("--no-power", data=str(data)))["capsule"]["table_sha256"]
        for data in ("test.csv", folder, tmp_path / "t*")
    }
    assert len(found) == 1


def test_a_folder_without_tables_is_one_clear_line(here, capsys, tmp_path):
    command = ["test", "--model", str(here / "model.pkl"), "--sensitive", "race", "--data"]
    folder = tmp_path / "tables"
    folder.mkdir()
    one_line(capsys, [*command, str(folder)], r"tables' holds no table \(.csv, ")
    (folder / "a.parquet").touch()
    (folder / "b.csv").touch()
    one_line(capsys, [*command, str(folder)], "several formats: 1 of CSV and 1 of Parquet")


def test_github_annotations(here, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert cli.main(test_command()) == 1
    assert "::error" in capsys.readouterr().out
    assert "violation" in (tmp_path / "summary.md").read_text().lower()


BAD = [
    (("--data", "none.csv"), "There is no file 'none.csv'"),
    (("--data", "none-*.csv"), "No file matches"),
    (("--data", "empty.csv"), "is empty"),
    (("--data", "header.csv"), "a header and no rows"),
    (("--data", "twice.csv"), "'race' occurs twice"),
    (("--data", "short.csv"), "the table lacks|no column|lacks"),
    (("--data", "text.csv"), "'age' holds text among numbers.*'old' in row 3"),
    (("--data", "cut.parquet"), "not a readable Parquet"),
    (("--data", "wide.csv"), "more fields than its header"),
    (("--sensitive", "rase"), "no column 'rase'. Did you mean 'race'"),
    (("--sensitive", "one"), "'one' has a single value"),
    (("--outcome", "repayed"), "no column 'repayed'. Did you mean 'repaid'"),
    (("--model", "none.pkl"), "no file|There is no"),
    (("--alpha", "1.5"), "alpha"),
    (("--report", "x.docx"), "no report format 'docx'"),
    (("--report", "noext"), "A report needs an ending"),
    (("--report", "model.pkl/x.html"), "Cannot write"),
    (("--pairs", "race"), "is not a pair"),
    (("--pairs", "race+sexx"), "no column 'sexx'"),
    (("--statistic", "kcp"), "statistic"),
    (("--tolerance", "kcp=0.1"), "tolerance names 'kcp'"),
    (("--seed", "-1"), "seed"),
]


@pytest.fixture(scope="module")
def broken(folder):
    frame = pd.read_csv(folder / "test.csv")
    (folder / "empty.csv").write_text("")
    frame[:0].to_csv(folder / "header.csv", index=False)
    text = frame.to_csv(index=False)
    (folder / "twice.csv").write_text(text.replace("sex", "race", 1))
    frame.drop(columns="income").to_csv(folder / "short.csv", index=False)
    odd = frame.astype({"age": object})
    odd.loc[3, "age"] = "old"
    odd.to_csv(folder / "text.csv", index=False)
    (folder / "cut.parquet").write_bytes(b"PAR1\x00\x00")
    lines = text.splitlines()
    (folder / "wide.csv").write_text("\n".join([lines[0], *(f"{x},9" for x in lines[1:])]))
    return folder


@pytest.mark.parametrize(("change", "message"), BAD, ids=[f"{a[0]} {a[1]}" for a, _ in BAD])
def test_wrong_input_is_one_line(here, broken, capsys, change, message, tmp_path):
    option, value = change
    if value == "one":
        pd.read_csv("test.csv").assign(one=1).to_csv(tmp_path / "one.csv", index=False)
        command = test_command(
            "--outcome", "repaid", data=str(tmp_path / "one.csv"), sensitive="race,one"
        )
    else:
        base = {"--model": "model.pkl", "--data": "test.csv", "--sensitive": "race,sex,age"}
        base[option] = value
        command = ["test", *QUICK, *(word for pair in base.items() for word in pair)]
    one_line(capsys, command, message)


def test_unclear_outcome_lists_candidates(here, capsys, tmp_path):
    frame = pd.read_csv("test.csv").assign(other=1.5, third=2)
    frame.to_csv(tmp_path / "more.csv", index=False)
    one_line(capsys, test_command(data=str(tmp_path / "more.csv")), "candidates: repaid, other")
    frame.rename(columns={"repaid": "Target"}).to_csv(tmp_path / "named.csv", index=False)
    record = audited(capsys, *test_command(data=str(tmp_path / "named.csv")))
    assert record["table"]["outcome"]["name"] == "Target"


@pytest.mark.parametrize(
    "option",
    [
        ("--permutations", "0"),
        ("--permutations", "few"),
        ("--tolerance", "kpc"),
        ("--alpha", "nan"),
        ("--engine", "abacus"),
    ],
)
def test_wrong_options_end_with_2(here, capsys, option):
    assert cli.main(test_command(*option)) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"fairaudit: error: {option[0]}: ") and told.count("\n") == 1


def test_unwritable_report_is_told_before_the_work(here, capsys, tmp_path):
    (tmp_path / "folder.html").mkdir()
    start = time.process_time()
    one_line(
        capsys,
        test_command("--permutations", "99999", "--report", str(tmp_path / "folder.html")),
        "Cannot write",
    )
    assert time.process_time() - start < 5


def wait_until_busy(pid, seconds=4.0):
    """Until the process has used so much CPU that its imports are done."""
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(600):
        used = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) / 100
        if used > seconds:
            return
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_interrupt_leaves_no_half_written_report(here, tmp_path):
    report = tmp_path / "audit.html"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "fairaudit_cli.main",
            *test_command("--permutations", "9999999"),
            "--report",
            str(report),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    wait_until_busy(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in errors and "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_demo(tmp_path, capsys):
    out = tmp_path / "deep" / "demo"
    assert cli.main(["demo", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == [
        "audit.json",
        "model.pkl",
        "report.html",
        "test.csv",
        "train.csv",
    ]
    assert str(out / "report.html") in shown.splitlines()[-1] and "exit status 1" in shown
    findings = {f["name"]: f for f in json.loads((out / "audit.json").read_text())["findings"]}
    assert findings["race, sex, age"]["significant"]
    assert not any(findings[name]["significant"] for name in ("race", "sex", "age"))


def test_demo_cannot_write(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert cli.main(["demo", "--out", str(tmp_path / "file")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fairaudit: error: Cannot write") and error.count("\n") == 1


def test_threshold_cuts_the_scores_of_a_model(here, capsys):
    selected = []
    for cut in ("0.2", "0.8"):
        more = ("--on", "labels", "--threshold", cut, "--outcome", "repaid")
        record = audited(capsys, *test_command(*more, sensitive="sex"))
        selected.append(record["cells"]["cells"][0]["estimates"][0]["value"])
    assert selected[0] > selected[1] + 0.1


def test_labels_as_statistic_take_the_threshold(here, capsys):
    more = ("--statistic", "deo", "--threshold", "0.4", "--outcome", "repaid")
    record = audited(capsys, *test_command(*more, sensitive="race,sex"))
    assert record["findings"][0]["statistic"] == "deo"


def test_tolerance_must_see_every_attribute(here, capsys):
    command = test_command("--tolerance", "deo=100")
    one_line(capsys, command, "does not cover age")
    audited(capsys, *test_command("--tolerance", "deo=100,kpc=1"), status=0)


def test_a_file_counts_once(here, capsys):
    one_line(capsys, test_command("--data", "tes?.csv"), "is given twice as --data")


def test_other_separators_are_read(here, capsys, tmp_path):
    expected = audited(capsys, *test_command())
    for separator in (";", "\t", "|"):
        pd.read_csv("test.csv").to_csv(tmp_path / "other.csv", index=False, sep=separator)
        found = audited(capsys, *test_command(data=str(tmp_path / "other.csv")))
        assert found["table"] == expected["table"] and found["null"] == expected["null"]


def test_a_crash_is_no_violation(here, capsys, monkeypatch):
    def crash(*_, **__):
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr("fairaudit.auditing.run.judge_findings", crash)
    assert cli.main(test_command()) == 2
    assert "internal error: ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_terminals_without_unicode(here, more):
    command = [sys.executable, "-m", "fairaudit_cli.main", *test_command(*more)]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False
    )
    assert done.returncode == 1 and done.stderr == b""
    assert not more or json.loads(done.stdout)["verdict"] == "violation"


def test_predictions_that_are_typed_win_over_the_model_of_the_file(here, capsys, tmp_path):
    settings = tmp_path / "fairaudit.toml"
    settings.write_text(f'model = "{here}/model.pkl"\nsensitive = "sex"\noutcome = "repaid"\n')
    table = pd.read_csv("test.csv").assign(p=lambda t: t["age"] / 100)
    table.to_csv(tmp_path / "p.csv", index=False)
    more = ("--predictions", "p", "--data", str(tmp_path / "p.csv"), *QUICK)
    record = audited(capsys, "test", "--config", str(settings), *more)
    assert record["capsule"]["model"] is None
