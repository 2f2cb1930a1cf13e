"""What to do next: the facts decide, and the commands run as printed."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from test_repeat import words

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.findings import Verdict
from fairaudit.datasets import demo_model, load_demo
from fairaudit_cli import main as cli
from fairaudit_reports.view.next_steps_view import list_next_steps


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("next")
    frame = load_demo(1600)
    (folder / "my model.pkl").write_bytes(pickle.dumps(demo_model(frame[:800])))
    frame[800:].to_csv(folder / "test.csv", index=False)
    return folder


def audited(folder, monkeypatch, *more) -> AuditResult:
    monkeypatch.chdir(folder)
    command = [
        "test",
        "--model",
        "my model.pkl",
        "--data",
        "test.csv",
        "--sensitive",
        "race,sex,age",
    ]
    options = ["--permutations", "99", "--no-power", "--report", "audit.json", "--title", "x"]
    assert cli.main([*command, *options, *more]) in (0, 1)
    return AuditResult.load(folder / "audit.json")


def test_the_commands_of_a_violation_run_as_printed(folder, monkeypatch, capsys):
    result = audited(folder, monkeypatch)
    assert result.verdict is Verdict.VIOLATION
    steps = {step.title: step for step in list_next_steps(result)}
    assert {"Train a fairer model", "See where it sits", "Look at the features"} <= set(steps)
    for title in ("See where it sits", "Correct the answers of the model"):
        assert cli.main(words(steps[title].command)) in (0, 1, 3), title
    for step in steps.values():
        if step.command and "--threshold" in step.command:
            assert cli.main(words(step.command)) in (0, 1, 3)
        assert "--title" not in (step.command or "")
    assert "remedy" in steps["Train a fairer model"].command


def test_the_commands_of_a_fair_audit_run_as_printed(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 900))
    score = np.clip(0.3 * y + 0.7 * rng.random(900), 0, 1)
    rows = pd.DataFrame({"sex": sex, "y": y, "score": score})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.chdir(tmp_path)
    run = ["test", "--data", "rows.csv", "--predictions", "score", "--outcome", "y"]
    run += ["--sensitive", "sex", "--permutations", "99", "--report", "audit.json"]
    assert cli.main(run) == 0
    steps = {step.title: step for step in list_next_steps(AuditResult.load("audit.json"))}
    assert list(steps) == ["Collect more rows", "Show that it is small"]
    assert "rows would have shown a shift" in steps["Collect more rows"].text
    assert cli.main([*words(steps["Collect more rows"].command), "--max-rows", "1500"]) == 0
    assert cli.main(words(steps["Show that it is small"].command)) in (0, 3)


def test_a_threshold_that_brings_rates_together_is_named_with_its_price():
    rng = np.random.default_rng(1)
    n = 4000
    y, sex = rng.integers(0, 2, n), rng.choice(["female", "male"], n)
    # women are lowered where it matters at 0.5, and hardly below 0.4
    score = np.clip(0.25 + 0.4 * y + 0.12 * rng.normal(size=n), 0, 1)
    score = np.where((sex == "female") & (score > 0.45), score - 0.12, score)
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive={"sex": sex},
        permutations=fa.Permutations(n=99),
        power=False,
    )
    step = next(step for step in list_next_steps(result) if "threshold" in step.title)
    assert step.title == "Another threshold" and step.command is None  # no command was run
    assert "of accuracy on these rows" in step.text


def test_a_plan_of_several_classes_runs_as_printed_and_none_is_made_of_few_rows(
    tmp_path, monkeypatch
):
    rng = np.random.default_rng(0)
    sex, y = rng.integers(0, 2, 300), rng.choice(["low", "mid", "high"], 300)
    said = np.where(rng.random(300) < 0.3, rng.permutation(y), y)
    pd.DataFrame({"sex": sex, "y": y, "said": said}).to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.chdir(tmp_path)
    run = ["test", "--data", "rows.csv", "--predictions", "said", "--outcome", "y", "--sensitive"]
    run += ["sex", "--permutations", "99", "--no-power", "--report", "audit.json"]
    assert cli.main(run) == 0
    (step, *_) = list_next_steps(AuditResult.load("audit.json"))
    assert cli.main([*words(step.command), "--max-rows", "400"]) == 0
    pd.read_csv("rows.csv")[:90].to_csv("rows.csv", index=False)
    assert cli.main(run) in (0, 3)
    (step, *_) = list_next_steps(AuditResult.load("audit.json"))
    assert step.command is None and "From 100 rows on" in step.text
