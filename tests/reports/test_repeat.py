"""'How to repeat it': the commands and calls that reports print run as printed."""

from __future__ import annotations

import html
import io
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.datasets import DEMO_FEATURES, demo_model, load_demo
from fairaudit_cli import main as cli
from fairaudit_cli.shell_text import command_line
from fairaudit_cli.verify import differences
from fairaudit_reports.html import audit_page
from fairaudit_reports.view.repeat import wrap_command

QUICK = ["--permutations", "99", "--no-power"]
ODD = 'race, "self"-told'
WIDE = "per  son's\nid"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models and tables whose names need quotation marks."""
    folder = tmp_path_factory.mktemp("repeat")
    frame = load_demo(1200)
    model = demo_model(frame[:600])
    test = frame[600:].reset_index(drop=True)
    for name in ("model.pkl", "my model's.pkl"):
        (folder / name).write_bytes(pickle.dumps(model))
    test.to_csv(folder / "test.csv", index=False)
    odd = test.rename(columns={"race": ODD, "repaid": "paid back?"})
    odd[WIDE] = np.arange(len(odd)) // 2
    odd.to_csv(folder / "the $table.csv", index=False)
    test[:300].to_csv(folder / "part 1.csv", index=False)
    test[300:].to_csv(folder / "part 2.csv", index=False)
    test.assign(score=model.predict_proba(test[list(DEMO_FEATURES)])[:, 1], w=1.5).to_csv(
        folder / "scored.csv", index=False
    )
    rng = np.random.default_rng(0)
    sex, size = rng.integers(0, 2, 400), rng.normal(size=400)
    grown = size + 0.5 * sex + rng.normal(size=400)
    pd.DataFrame({"sex": sex, "size": size, "guess": grown}).to_csv(
        folder / "regression.csv", index=False
    )
    (folder / "below").mkdir()
    (folder / "fairaudit.toml").write_text(
        "model = 'model.pkl'\ndata = 'test.csv'\nsensitive = 'race,sex,age'\npermutations = 99\n"
        "power = false\nreport = ['below/page.html', 'below/audit.json']\n"
    )
    return folder


def printed(page: str | Path) -> list[str]:
    """The blocks of code under 'How to repeat it'."""
    text = page.read_text() if isinstance(page, Path) else page
    section = text[text.index('id="repeat"') :]
    found = re.findall(r"<pre><code>(.*?)</code></pre>", section, re.DOTALL)
    return [html.unescape(block) for block in found if not re.match(r"\w+ = ", block)]


def words(command: str) -> list[str]:
    """As bash reads it, without the name of the program."""
    shown = subprocess.run(
        ["bash", "-c", f"fairaudit() {{ printf '%s\\0' \"$@\"; }}; {command}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert command.startswith("fairaudit ") and shown.stderr == ""
    return shown.stdout.split("\0")[:-1]


CASES = {
    "a model": ["--model", "model.pkl", "--data", "test.csv", "--sensitive", "race,sex,age"],
    "names with spaces and quotation marks": [
        "--model",
        "my model's.pkl",
        "--data",
        "the $table.csv",
        "--outcome",
        "paid back?",
        "--sensitive",
        '"race, ""self""-told",age',
        "--id",
        WIDE,
    ],
    "predictions and a condition": [
        "--data",
        "scored.csv",
        "--predictions",
        "score",
        "--outcome",
        "repaid",
        "--weights",
        "w",
        "--where",
        "age > 30 and race != 'asian'",
        "--sensitive",
        "sex:categorical,age",
        "--tolerance",
        "kpc=0.001",
        "--on",
        "labels",
    ],
    "several files by a pattern": [
        "--model",
        "model.pkl",
        "--data",
        "part *.csv",
        "--sensitive",
        "race,sex,age",
        "--pairs",
        "all",
    ],
    "regression": [
        "--data",
        "regression.csv",
        "--predictions",
        "guess",
        "--outcome",
        "size",
        "--sensitive",
        "sex",
        "--density",
        "ols",
    ],
    "early stopping": [
        "--model",
        "model.pkl",
        "--data",
        "test.csv",
        "--sensitive",
        "race,sex,age",
        "--permutations",
        "auto",
        "--seed",
        "7",
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_the_printed_commands_of_an_audit_run_as_printed(case, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    reports = ["--report", "how it went/page.html", "--report", "how it went/the record.json"]
    status = cli.main(["test", *QUICK, *CASES[case], *reports])
    assert status in (0, 1, 3), capsys.readouterr().err
    page, record = Path("how it went/page.html"), Path("how it went/the record.json")
    then = json.loads(record.read_text())
    again, verify = printed(page)
    page.unlink()
    record.unlink()
    assert cli.main(words(again)) == status
    _, changed = differences(then, json.loads(record.read_text()))
    assert changed == []
    capsys.readouterr()
    assert cli.main(words(verify)) == 0
    assert capsys.readouterr().out.startswith("reproduced: all ")


def test_the_printed_command_runs_in_a_shell(folder):
    """Once with everything real: a shell, the installed program, the folder."""
    program = [sys.executable, "-m", "fairaudit_cli.main"]
    first = [
        *program,
        "test",
        *QUICK,
        *CASES["a model"],
        "--report",
        "p.html",
        "--report",
        "r.json",
    ]
    assert subprocess.run(first, cwd=folder, capture_output=True).returncode == 1
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    for command, status in zip(printed(folder / "p.html"), (1, 0), strict=True):
        done = subprocess.run(
            command, shell=True, cwd=folder, env={"PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == status, done.stderr
    assert done.stdout.startswith("reproduced")


def test_settings_of_a_file_from_a_subfolder_are_repeated(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder / "below")
    assert cli.main(["test"]) == 1
    again, verify = printed(Path("page.html"))
    assert again == "fairaudit test"
    assert cli.main(words(verify)) == 0


def test_without_a_record_the_page_says_how_to_keep_one(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert cli.main(["test", *QUICK, *CASES["a model"], "--report", "alone.html"]) == 1
    text = Path("alone.html").read_text()
    (again,) = printed(text)
    assert "No JSON record was written" in text and "--report audit.json" in text
    assert cli.main(words(f"{again} --report audit.json")) == 1
    assert len(printed(Path("alone.html"))) == 2


def test_trust_and_isolation_are_repeated_too(folder, monkeypatch):
    """They decide whether a model loads at all, and what it may do."""
    monkeypatch.chdir(folder)
    more = [
        "--trust",
        "numpy.no_such",
        "--isolate",
        "4GB,60s",
        "--report",
        "i.html",
        "--report",
        "i.json",
    ]
    assert cli.main(["test", *QUICK, *CASES["a model"], *more]) == 1
    verify = printed(Path("i.html"))[1]
    assert "--trust=numpy.no_such" in verify and "--isolate=4GB,60s" in verify
    assert cli.main(words(verify)) == 0


def test_a_table_from_standard_input_is_said_to_be_one(folder, monkeypatch):
    monkeypatch.chdir(folder)
    content = Path("test.csv").read_bytes()

    def fed(words):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return cli.main(words)

    case = ["--model", "model.pkl", "--data", "-", "--sensitive", "race,sex,age"]
    status = fed(["test", *QUICK, *case, "--report", "in.html", "--report", "in.json"])
    assert "The table came from standard input" in Path("in.html").read_text()
    again, verify = printed(Path("in.html"))
    assert fed(words(again)) == status and fed(words(verify)) == 0


def test_the_printed_command_of_a_comparison_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    case = [
        "compare",
        "--baseline",
        "model.pkl",
        "--candidate",
        "my model's.pkl",
        "--data",
        "test.csv",
        "--sensitive",
        "race,sex,age",
        "--report",
        "c.html",
        "--report",
        "c.json",
    ]
    status = cli.main(case)
    then = json.loads(Path("c.json").read_text())
    (again,) = printed(Path("c.html"))
    Path("c.json").unlink()
    assert cli.main(words(again)) == status
    assert differences(then, json.loads(Path("c.json").read_text()))[1] == []


def test_the_printed_command_of_a_remedy_runs(folder, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(folder)
    case = [
        "remedy",
        "--data",
        "test.csv",
        "--sensitive",
        "race,sex,age",
        "--outcome",
        "repaid",
        "--mus",
        "0.5",
        "--mu",
        "0.5",
        "--steps",
        "8",
        "--permutations",
        "19",
        "--alpha",
        "0.1",
        "--report",
        "r.html",
        "--report",
        "r.json",
    ]
    status = cli.main(case)
    then = json.loads(Path("r.json").read_text())
    (again,) = printed(Path("r.html"))
    Path("r.json").unlink()
    assert cli.main(words(again)) == status
    now = json.loads(Path("r.json").read_text())
    assert then["after"]["findings"][0]["p_value"] == now["after"]["findings"][0]["p_value"]
    assert "later.csv" not in Path("r.html").read_text()  # no file of that name exists


PYTHON = {
    "a model": {},
    "settings": {
        "seed": 3,
        "alpha": 0.01,
        "statistic": ["kpc", "correlation"],
        "pairs": [("race", "sex")],
        "tolerance": {"kpc": 0.2},
        "threshold": 0.4,
        "on": "labels",
        "kinds": {"age": "continuous"},
        "power": False,
        "adjust": "fdr_bh",
    },
    "early stopping": {"permutations": fa.Permutations.auto(0.05, seed=2)},
}


def called(result, **objects):
    """What the call that the page prints gives, and that it says why there is no command."""
    page = audit_page.render(result)
    assert "No command repeats it" in page and "fairaudit verify" not in page
    (block,) = printed(page)
    exec(block, objects)
    return objects["result"]


def same(first, second):
    return differences(first.to_dict(), second.to_dict())[1] == []


@pytest.mark.parametrize("case", PYTHON)
def test_the_printed_python_repeats_an_audit_made_in_python(case):
    frame = load_demo(800)
    model, test = demo_model(frame[:400]), frame[400:]
    X, y, A = test[list(DEMO_FEATURES)], test["repaid"], test[["race", "sex", "age"]]
    settings = {"permutations": fa.Permutations(n=99, steps=20), **PYTHON[case]}
    result = fa.audit(model, X, y, sensitive=A, **settings)
    assert same(result, called(result, model=model, X=X, y=y, A=A))
    score = model.predict_proba(X)[:, 1]
    given = {"weights": np.linspace(1, 2, 400), "ids": np.arange(400) // 2, **settings}
    if case != "a model":
        del given["weights"], given["ids"]
    result = fa.audit(predictions=score, outcome=y, sensitive=A, **given)
    again = called(result, predictions=score, y=y, A=A, **{"weights": None, "ids": None, **given})
    assert same(result, again)


def test_the_printed_python_repeats_an_audit_in_shards():
    frame = load_demo(1400)
    model, X = demo_model(frame[:400]), frame[400:].reset_index(drop=True)
    result = fa.audit(
        model,
        X,
        "repaid",
        sensitive=["race", "sex"],
        shards=2,
        seed=1,
        permutations=fa.Permutations(n=99),
    )
    assert same(result, called(result, model=model, X=X))


def test_objects_are_asked_for_again():
    """A statistic that is no name cannot be written down; the call says where it belongs."""

    class Mine:
        name = "mine"

        def bind(self, table, **how):
            from fairaudit.testing.statistic import statistic_named

            return statistic_named("correlation")[0].bind(table, **how)

    frame = load_demo(300)
    y, A = frame["repaid"], frame[["sex"]]
    score = frame["income"].to_numpy(float)
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive=A,
        statistic=Mine(),
        power=False,
        permutations=fa.Permutations(n=19),
    )
    assert same(result, called(result, predictions=score, y=y, A=A, statistic=Mine()))


@pytest.mark.parametrize(
    "text", ["a b", "it's", "a\nb", "tab\there", "\x1b[31m'\\x", "ü\u202e", ""]
)
def test_any_word_survives_the_shell_on_one_line(text):
    line = command_line(["test", text, "end"])
    assert line.isprintable() and words(line) == ["test", text, "end"]
    for width in (20, 40, 80):
        assert words("\n".join(wrap_command(line, width))) == ["test", text, "end"]
