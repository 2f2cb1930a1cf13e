"""`fairaudit remedy` and `compare`, as a user calls them, and `repair` behind the first."""

import json
import pickle
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.data.roles import Roles
from fairaudit.datasets import DEMO_FEATURES, demo_model, load_demo
from fairaudit.models import load_model
from fairaudit.remedy.methods import METHODS
from fairaudit.remedy.workflow import repair
from fairaudit_cli import main as cli
from fairaudit_cli.report import load_result

QUICK = ("--steps", "100", "--permutations", "99")
trains = pytest.mark.skipif(find_spec("torch") is None, reason="training needs torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """old.pkl, train.csv and later.csv of a lending model."""
    folder = tmp_path_factory.mktemp("remedy")
    (folder / "old.pkl").write_bytes(pickle.dumps(demo_model(load_demo(1500, seed=1))))
    load_demo(3000).to_csv(folder / "train.csv", index=False)
    load_demo(800, seed=2).to_csv(folder / "later.csv", index=False)
    load_demo(400).to_csv(folder / "small.csv", index=False)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def remedy(*more, data="train.csv", sensitive="race,sex,age", outcome="repaid"):
    return ["remedy", "--data", data, "--sensitive", sensitive, "--outcome", outcome, *QUICK, *more]


def small(*more, **kw):
    """One weak model on few rows, for what does not depend on its quality."""
    quick = ("--steps", "8", "--permutations", "19", "--alpha", "0.1")
    return remedy("--mus", "0.5", "--mu", "0.5", *quick, *more, **{"data": "small.csv", **kw})


def one_line(capsys, arguments, message):
    assert cli.main(arguments) == 2
    shown, errors = capsys.readouterr()
    assert shown == "" and errors.count("\n") == 1 and errors.startswith("fairaudit: error: ")
    assert re.search(message, errors), errors


@pytest.fixture(scope="module")
def repaired(folder):
    """The record of the whole loop, with fair.pkl and the reports beside it."""
    pytest.importorskip("torch")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        status = cli.main(
            remedy(
                "--model",
                "old.pkl",
                "--out",
                "new/fair.pkl",
                "--report",
                "remedy.html",
                "--report",
                "remedy.json",
            )
        )
    record = json.loads((folder / "remedy.json").read_text(), parse_constant=pytest.fail)
    return status, record


def test_the_loop(here, repaired, capsys):
    status, record = repaired
    before, after = record["before"], record["after"]
    assert before["verdict"] == "violation" and before["findings"][0]["p_value"] == 0.01
    assert status == 0 and after["verdict"] == "no violation found"
    assert after["findings"][0]["kpc"] < before["findings"][0]["kpc"] / 2
    assert record["rows"] == {"train": 1500, "choice": 600, "audit": 900}
    assert [row["mu"] for row in record["curve"]] == [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95]
    (chosen,) = [row for row in record["curve"] if row["chosen"]]
    usable = [row for row in record["curve"] if not (row["collapsed"] or row["dominated"])]
    passed = [row for row in usable if row["p_value"] > 0.25 and row["p_train"] > 0.05]
    assert chosen["mu"] == record["mu"] > 0 and chosen in usable
    told = "Some groups are masked: sizes and losses are rounded to steps of 0.05."
    assert told in record["notes"]
    by = "loss" if passed else "kpc"  # rounded in the record, since groups are masked
    assert chosen[by] == min(row[by] for row in passed or usable[1:])
    assert record["outcome"] == "repaired" and record["verdict"] == "no violation found"
    assert record["power"]["power"] > 0.8 and record["after"]["power"]["detectable"]
    assert record["loss"]["after"] < record["loss"]["before"] + 0.05
    # and with the ordinary command, on rows of another day
    args = ["--data", "later.csv", "--sensitive", "race,sex,age", "--permutations", "99", "--json"]
    assert cli.main(["test", "--model", "new/fair.pkl", *args]) in (0, 1)
    audit = json.loads(capsys.readouterr().out)
    assert audit["table"]["features"] == list(DEMO_FEATURES)
    assert audit["capsule"]["model"]["sha256"] == record["model"]["sha256"]


def test_the_model_is_plain_scikit_learn(here, repaired):
    from sklearn.pipeline import Pipeline

    model = pickle.loads((here / "new" / "fair.pkl").read_bytes())
    frame = load_demo(50, seed=3)
    assert type(model) is Pipeline and list(model.feature_names_in_) == list(DEMO_FEATURES)
    assert set(model.predict(frame)) <= {0, 1}
    assert load_model("new/fair.pkl").features == DEMO_FEATURES  # without --trust


def test_the_page(here, repaired):
    page = (here / "remedy.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and page.count("<h1") == 1
    assert "<script" not in page and not re.search(r'(src|href)="https?:', page)
    assert page.count('role="img"') == 6  # the curve, two nulls, three panels of rates
    for told in ("Violation", "No violation found", "plain training mixed", "μ 0.9", "--data FILE"):
        assert told.lower() in page.lower()


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_in_a_browser(here, repaired, width):
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium or google-chrome on PATH")
    api = pytest.importorskip("playwright.sync_api")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto((here / "remedy.html").as_uri())
        root = "document.documentElement"
        assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0
        found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        browser.close()
    assert [
        problem["id"] for problem in found if problem["impact"] in ("serious", "critical")
    ] == []


def test_compare(here, repaired, capsys, tmp_path):
    rows = ["--data", "later.csv", "--sensitive", "race,sex,age", "--permutations", "99"]
    models = ["compare", "--models", "old.pkl", "new/fair.pkl"]
    assert cli.main([*models, *rows, "--json"]) == 1
    old, new = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["models"]
    assert old["verdict"] == "violation" and new["kpc"] < old["kpc"]
    assert old["audit"]["findings"][0]["p_value"] == 0.01 and 0.1 < new["loss"] < 0.5
    reports = [
        word
        for form in ("md", "html", "json", "txt")
        for word in ("--report", str(tmp_path / f"c.{form}"))
    ]
    assert cli.main(["compare", "--models", "new/fair.pkl", *rows, *reports]) in (0, 1)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["model", "misclassified", "KPC", "DEO", "p", "verdict"]
    assert "| new/fair.pkl |" in (tmp_path / "c.md").read_text()
    assert "<table" in (tmp_path / "c.html").read_text()
    one_line(capsys, ["compare", *rows], "No model")
    one_line(capsys, [*models, *rows, "--report", "c.docx"], "no report format 'docx'")
    frame = load_demo(300).drop(columns="savings")
    frame.to_csv(tmp_path / "less.csv", index=False)
    one_line(
        capsys,
        [*models, "--data", str(tmp_path / "less.csv"), *rows[2:]],
        "old.pkl: The table lacks 1 of the 6 features",
    )


@pytest.mark.parametrize(("verdicts", "status"), [("NN", 0), ("NV", 1), ("IV", 1), ("NI", 3)])
def test_status_of_compare(verdicts, status):
    from types import SimpleNamespace

    from fairaudit_cli.compare import _status

    names = {"N": fa.Verdict.NO_VIOLATION, "V": fa.Verdict.VIOLATION, "I": fa.Verdict.INCONCLUSIVE}
    assert _status([SimpleNamespace(verdict=names[name]) for name in verdicts]) == status


@trains
def test_regression(tmp_path, capsys):
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame.to_csv(tmp_path / "diabetes.csv", index=False)
    out, page = str(tmp_path / "fair.pkl"), str(tmp_path / "r.html")
    args = remedy(
        "--mus",
        "0.8",
        "--mu",
        "0.8",
        "--out",
        out,
        "--json",
        "--report",
        page,
        data=str(tmp_path / "diabetes.csv"),
        sensitive="sex,age",
        outcome="target",
    )
    assert cli.main(args) in (0, 1, 3)
    record = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert record["loss_name"] == "mean squared error" and record["loss"]["after"] < 8000
    assert record["after"]["table"]["outcome"]["kind"] == "continuous"
    assert "sex" not in record["features"] and len(record["features"]) == 8
    assert "Mean squared error" in (tmp_path / "r.html").read_text()


@trains
def test_weights_enter_the_audits_and_not_the_training():
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 400), rng.integers(0, 2, 400)
    pay = y + 0.5 * (sex == "m") + rng.normal(size=400)
    frame = pd.DataFrame({"sex": sex, "y": y, "pay": pay, "w": np.where(pay > 0.5, 10.0, 1.0)})
    how = {"mus": [0.5], "mu": 0.5, "steps": 20, "permutations": 19}
    weighted = repair(frame, Roles(sensitive=("sex",), outcome="y", weights="w"), **how)
    rows = repair(frame, Roles(sensitive=("sex",), outcome="y"), drop=["w"], **how)
    assert weighted.features == rows.features == ("pay",)
    assert weighted.after.table.weights == "w" and rows.after.table.weights is None
    assert weighted.after.joint.p_value == rows.after.joint.p_value
    assert weighted.loss != rows.loss and weighted.after.gaps != rows.after.gaps
    assert any(note.startswith("Weights enter rates") for note in weighted.notes)


@trains
def test_text_gaps_and_people(tmp_path):
    rng = np.random.default_rng(0)
    n = 600
    sex = rng.choice(["f", "m"], n)
    y = rng.choice(["no", "yes"], n)
    frame = pd.DataFrame(
        {
            "job": np.where(rng.random(n) < 0.1, None, rng.choice(["a", "b", "c"], n)),
            "pay": np.where(rng.random(n) < 0.1, np.nan, (y == "yes") + rng.normal(size=n)),
            "gap": (sex == "f") + (y == "yes") / 2 + rng.normal(size=n) / 3,
            "works": rng.random(n) < 0.5,
            "name": [f"p{k}" for k in range(n)],
            "person": np.repeat(np.arange(n // 2), 2),
            "sex": np.where(rng.random(n) < 0.05, None, sex),
            "y": y,
        }
    )
    roles = Roles(sensitive=("sex",), outcome="y", ids="person", where="pay != 99")
    result = repair(
        frame,
        roles,
        mus=[0.8],
        mu=0.8,
        steps=40,
        permutations=19,
        alpha=0.1,
        drop=["name"],
        out=tmp_path / "fair.pkl",
        force=True,
    )
    assert result.features == ("job", "pay", "gap", "works")
    assert "(missing)" in result.after.table.attributes[0].levels
    assert result.after.table.people * 2 == result.rows["audit"]  # people are not divided
    assert any("filled with the median" in note for note in result.notes)
    model = load_model(str(tmp_path / "fair.pkl"))
    new = pd.DataFrame({"job": ["z"], "pay": [np.nan], "gap": [0.0], "works": [True]})
    assert 0 < model.predict(new)["score"][0] < 1
    assert set(result.model.predict(frame)) <= {"no", "yes"}
    with_sex = repair(
        frame,
        roles,
        mus=[0.8],
        mu=0.8,
        steps=5,
        permutations=19,
        alpha=0.1,
        drop=["name", "job"],
        use_sensitive=True,
    )
    assert "sex" in with_sex.features


@trains
def test_same_seed_same_model(here, capsys, tmp_path):
    files = [tmp_path / f"{k}.pkl" for k in range(3)]
    for path, seed in zip(files, "001", strict=True):
        cli.main(small("--out", str(path), "--force", "--seed", seed))
    first, second, other = (path.read_bytes() for path in files)
    assert first == second != other


@trains
def test_rules_of_choice(here):
    frame = load_demo(600)
    quick = {
        "sensitive": "sex,age",
        "outcome": "repaid",
        "mus": [0.5, 0.9],
        "steps": 20,
        "permutations": 19,
        "alpha": 0.1,
    }
    loose = repair(frame, kpc=1.0, **quick)
    assert loose.curve.loc[loose.curve["chosen"], "loss"].item() == loose.curve["loss"].min()
    tight = repair(frame, loss=1.0, **quick)
    usable = tight.curve[tight.curve["collapsed"].isna()]
    assert tight.curve.loc[tight.curve["chosen"], "kpc"].item() == usable["kpc"].min()
    assert "KPC ≤ 1" in loose.because and "loss ≤ 1" in tight.because
    with pytest.raises(fa.InputError, match="No model has loss"):
        repair(frame, loss=0.0, **quick)
    assert list(loose.to_frame().columns) == ["before", "after"]
    assert "plain training" in loose.summary() and len(loose.mixture) > 3


@pytest.mark.parametrize("method", sorted(METHODS.names()))
def test_methods(here, method, tmp_path):
    if method != "gerryfair":
        pytest.importorskip("fairlearn" if method == "reduction" else "torch")
    out = str(tmp_path / "fair.pkl")
    value = str(METHODS.get(method).grid[-1])
    old = ["--model", "old.pkl"] if METHODS.get(method).corrects else []
    old += ["--use-sensitive"] if method == "thresholds" else []
    grid = ["--mus", value, "--mu", value]
    args = small("--method", method, *old, *grid, "--out", out, "--force", sensitive="race,sex")
    assert cli.main(args) in (0, 1, 3)
    assert set(load_model(out).features or ()) >= set(DEMO_FEATURES)


@trains
def test_one_line_for_what_is_wrong(here, capsys, tmp_path):
    one_line(capsys, small(outcome="repayed"), "no column 'repayed'")
    one_line(capsys, small(sensitive="race,gender"), "no column 'gender'")
    one_line(capsys, small("--drop", "wealth"), "no column 'wealth'")
    one_line(capsys, small("--drop", "sex"), "has a role")
    one_line(capsys, small("--mu", "1.5"), r"must lie in \[0, 1\]. Got 1.5")
    one_line(capsys, small("--mu", "much"), "--mu must be a number or 'auto'")
    one_line(capsys, small("--mus", "0,x"), "numbers separated by commas")
    one_line(capsys, small("--kpc", "0.01"), "one of --mu, --goal, --kpc and --loss")
    one_line(
        capsys, small("--method", "magic"), "--method parameter must be one of fairicp.*Got 'magic'"
    )
    one_line(capsys, small("--method", "postprocess"), "pass --model")
    one_line(capsys, small("--method", "gerryfair", "--objective", "kernel"), "has no objective")
    one_line(capsys, small("--objective", "both"), "'kernel' or 'adversarial'")
    one_line(capsys, small("--split", "0.5,0.5"), "three shares")
    one_line(capsys, small("--report", "r.docx"), "no report format 'docx'")
    one_line(capsys, small("--alpha", "2"), "between 0 and 1")
    one_line(capsys, small("--where", "race == 'asian'"), "rows are too few|single value")
    one_line(capsys, small("--method", "gerryfair", outcome="income"), "is for classes")
    (tmp_path / "file").write_text("")
    for option in ("--out", "--report"):
        path = str(tmp_path / "file" / "fair.html")
        one_line(capsys, small(option, path), "Cannot write")


def test_too_few_rows(capsys, tmp_path):
    load_demo(60).to_csv(tmp_path / "few.csv", index=False)
    one_line(
        capsys,
        small(data=str(tmp_path / "few.csv")),
        "60 rows are too few: 30 to train, 30 to audit; at least 40, 20",
    )
    one_line(
        capsys,
        remedy(data=str(tmp_path / "few.csv")),
        "60 rows are too few: 30 to train, 12 to choose, 18 to audit",
    )


@trains
def test_interrupted(here, capsys, tmp_path, monkeypatch):
    """Ctrl-C keeps what there is, whole or not at all."""
    from fairaudit.remedy import training

    look, looks = training._Run.look, []

    def interrupts(run, number):
        looks.append(number)
        if len(looks) == stop_at:
            raise KeyboardInterrupt
        look(run, number)

    monkeypatch.setattr(training._Run, "look", interrupts)
    out = tmp_path / "fair.pkl"
    stop_at = 1
    assert cli.main(small("--out", str(out))) == 130
    assert list(tmp_path.iterdir()) == []
    stop_at, looks[:] = 3, []
    assert cli.main(small("--out", str(out))) == 130
    shown, errors = capsys.readouterr()
    assert shown == "" and "not audited" in errors
    assert load_model(str(out)).features == DEMO_FEATURES
    monkeypatch.undo()
    out.unlink()
    monkeypatch.chdir(here)
    import os

    def stops(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stops)  # while the file is being written
    assert cli.main(small("--out", str(out))) == 130
    assert list(tmp_path.iterdir()) == []


@trains
def test_interrupted_in_the_audit(here, tmp_path, monkeypatch):
    from fairaudit.remedy.rows import Rows
    from fairaudit.remedy.workflow import RepairInterrupted

    def stops(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Rows, "audit", stops)
    with pytest.raises(RepairInterrupted) as caught:
        repair(
            load_demo(400),
            sensitive="sex",
            outcome="repaid",
            mus=[0.5],
            mu=0.5,
            steps=5,
            out=tmp_path / "fair.pkl",
        )
    assert caught.value.mu == 0.5 and load_model(str(tmp_path / "fair.pkl")).features


@trains
def test_settings_of_the_project(here, tmp_path, capsys):
    """`remedy` and `compare` take columns and the level from the file, never its model."""
    (tmp_path / "fairaudit.toml").write_text(
        'sensitive = "race,sex"\noutcome = "repaid"\nmodel = "none.pkl"\nseed = 3\nalpha = 0.1\n'
    )
    config = ("--config", str(tmp_path / "fairaudit.toml"))
    quick = ("--steps", "8", "--permutations", "19", "--mus", "0.5", "--mu", "0.5", "--json")
    cli.main(["remedy", "--data", "small.csv", *quick, *config])
    record = json.loads(capsys.readouterr().out)
    assert record["seed"] == 3 and record["old"] is None
    assert [column["name"] for column in record["after"]["table"]["attributes"]] == ["race", "sex"]
    cli.main(
        [
            "compare",
            "--models",
            "old.pkl",
            "--data",
            "later.csv",
            "--permutations",
            "19",
            "--json",
            *config,
        ]
    )
    (row,) = json.loads(capsys.readouterr().out)["models"]
    assert row["audit"]["alpha"] == 0.1


@pytest.fixture(scope="module")
def quick():
    """A remedy of few steps, for what reports do with it."""
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, 400), rng.choice(["f", "<script>alert(1)</script>"], 400)
    frame = pd.DataFrame({"x": y + (sex == "f") + rng.normal(size=400), "sex": sex, "y": y})
    return repair(
        frame,
        Roles(sensitive=("sex",), outcome="y"),
        mus=[0.8],
        mu=0.8,
        steps=5,
        permutations=19,
        alpha=0.1,
    )


def test_reports_of_a_remedy_that_lacks_things(quick):
    """No cells, no copies, no notes, no measures: each is said and nothing breaks."""
    from dataclasses import replace

    from fairaudit_reports.html import remedy_page
    from fairaudit_reports.view.numerals import loss_text
    from fairaudit_reports.view.remedy_view import list_changes

    page = remedy_page.render(quick)
    assert "<script" not in page and "&lt;script&gt;" in page
    before, after = (
        replace(audit, cells=None, null=(), measures=()) for audit in (quick.before, quick.after)
    )
    bare = replace(quick, before=before, after=after, notes=())
    page = remedy_page.render(bare)
    assert "There are no copies to draw." in page
    assert "DEO" not in [change.name for change in list_changes(bare)]
    assert loss_text(None, quick.loss_name) == "–"


def test_a_terminal_gets_the_verdicts_in_color(quick, monkeypatch, capsys):
    from fairaudit_reports.text import remedy_text
    from fairaudit_reports.text.terminal import show_remedy

    show_remedy(quick)
    plain = capsys.readouterr().out
    assert plain == remedy_text.render(quick)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    show_remedy(quick)
    colored = capsys.readouterr().out
    assert "\x1b[" in colored and re.sub(r"\x1b\[[\d;]*m", "", colored).split() == plain.split()


@pytest.fixture(scope="module")
def biased(tmp_path_factory):
    """Two features, of which one says as much about sex as about the outcome."""
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, 700), rng.choice(["f", "m"], 700)
    other = 1.5 * (sex == "f") + y + rng.normal(size=700)
    frame = pd.DataFrame({"x": 2 * y + rng.normal(size=700), "z": other, "sex": sex, "y": y})
    folder = tmp_path_factory.mktemp("search")
    frame.to_csv(folder / "biased.csv", index=False)
    return folder


@pytest.fixture
def short(biased, monkeypatch):
    """A search over two weights; returns its command line."""
    pytest.importorskip("lightgbm")
    from fairaudit.remedy import search, stages

    monkeypatch.setattr(search, "MUS", (0.0, 0.8))
    monkeypatch.setattr(stages, "SHAPES", stages.SHAPES[:1])
    monkeypatch.chdir(biased)
    quick = ("--permutations", "19", "--alpha", "0.1", "--pass-probability", "0.5")
    names = ("--data", "biased.csv", "--sensitive", "sex", "--outcome", "y")
    return lambda *more: ["remedy", *names, *quick, *more]


def test_a_search_by_default(short, capsys):
    reports = [word for form in ("html", "md", "txt", "json") for word in ("--report", f"r.{form}")]
    status = cli.main(short("--audit-rows", "350", "--out", "fair.pkl", "--force", *reports))
    shown = capsys.readouterr().out
    result = load_result("r.json")
    assert status == {"no violation found": 0, "violation": 1}.get(str(result.verdict), 3)
    assert result.goal == "pass" and result.coming_rows == 350 and result.rows["choice"] == 0
    assert {"strength", "levels", "attributes", "chance", "ranking"} <= set(result.curve)
    assert [offer.what for offer in result.forgone] == ["attributes"]
    page = Path("r.html").read_text()
    for text in (shown, page, Path("r.md").read_text(), Path("r.txt").read_text()):
        told = " ".join(re.sub(r"<[^>]*>", " ", text).replace("*", "").split())
        assert "An audit of 350 new rows passes with a chance of" in told
        assert "No: it predicts without them." in told
        assert re.search(r"Brier score .*0\.\d\d\d", told) and "Who gains, who loses?" in told
        assert "nan" not in told
    assert page.count("<h1") == 1 and "<script" not in page
    assert load_model("fair.pkl").features  # without --trust


def test_a_search_without_draws(short, capsys):
    assert cli.main(short("--deterministic", "--use-sensitive", "--json")) in (0, 1, 3)
    record = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert {row["strength"] for row in record["curve"]} == {0.0} and record["strength"] == 0.0
    assert any(row["attributes"] for row in record["curve"])
    assert [offer["what"] for offer in record["forgone"]] == ["randomization"]


@trains
def test_a_certificate_and_a_tolerance(here, capsys):
    """Of both audits, as in `test`; what is not shown to be small is inconclusive."""
    cli.main(small("--tolerance", "kpc=0.9", "--json"))
    record = json.loads(capsys.readouterr().out)
    assert record["before"]["tolerance"] == record["after"]["tolerance"] == {"kpc": 0.9}
    assert cli.main(small("--certify", "kpc=0.001", "--json", sensitive="race,sex")) in (1, 3)
    record = json.loads(capsys.readouterr().out)
    (claim,) = record["after"]["certificates"]
    assert claim["measure"] == "kpc" and record["after"]["verdict"] in ("inconclusive", "violation")


def test_what_is_wrong_with_a_goal(short, capsys):
    one_line(capsys, short("--goal", "peace"), "--goal must be 'pass'.*Got 'peace'")
    one_line(capsys, short("--goal", "certify kpc"), "no number where one is needed")
    one_line(capsys, short("--goal", "pass", "--kpc", "0.1"), "one of --mu, --goal, --kpc")
    one_line(capsys, short("--method", "search", "--mu", "0.5"), "A search has no value")
    one_line(capsys, short("--pass-probability", "1.5"), "--pass-probability must lie between")
