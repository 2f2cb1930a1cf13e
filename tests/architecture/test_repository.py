"""What a repository may not do to the audit that runs in it: its settings, modules and names."""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairaudit._words import quiet
from fairaudit_cli import main as cli
from fairaudit_cli.config import settle
from fairaudit_cli.test import add_arguments

ROOT = Path(__file__).parents[2]
ORDERS = [
    "::add-mask::secret",
    "::stop-commands::x",
    "a\n::set-output name=x::y",
    "b\r::error::z",
    "c\u2028::debug::z",
    "##[add-mask]secret",
    "d ##[stop-commands]x",
    "e\x1b[2J\x1b]0;title\x07::warning::f",
    "%0A::notice::g",
    "##vso[task.setvariable]h",
    "####[group]i",
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A table, and a module that leaves a file behind when it is imported."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "sex": rng.choice(["f", "m"], 200)})
    frame["y"] = (frame.x + rng.normal(size=200) > 0).astype(int)
    folder = tmp_path / "project"
    folder.mkdir()
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "evilmod.py").write_text("open('ran', 'w').close()\ndef f(table): return table.x\n")
    monkeypatch.chdir(folder)
    return folder


def settings(folder, line, name="fairaudit.toml"):
    head = "[tool.fairaudit]\n" if name == "pyproject.toml" else ""
    common = "data = 'data.csv'\nsensitive = 'sex'\noutcome = 'y'\npermutations = 19\n"
    predicted = "" if line.startswith("model") else "predictions = 'x'\n"
    (folder / name).write_text(f"{head}{common}{predicted}{line}\n")


def refused(capsys, words, arguments=("test",)):
    assert cli.main(list(arguments)) == 2
    shown, errors = capsys.readouterr()
    assert shown == "" and errors.count("\n") == 1 and re.search(words, errors), errors


@pytest.mark.parametrize("name", ["fairaudit.toml", "pyproject.toml"])
@pytest.mark.parametrize("model", ["evilmod:f", "./evilmod:f", " evilmod:f", "a.b:c"])
def test_settings_do_not_run_code(project, capsys, name, model):
    settings(project, f"model = '{model}'", name)
    refused(capsys, r"'model' must be a file here.*--model on the command line")
    assert not (project / "ran").exists()


def test_a_function_may_be_typed(project, capsys):
    settings(project, "model = 'evilmod:f'")
    assert cli.main(["test", "--model", "evilmod:f"]) in (0, 1, 3)
    assert (project / "ran").exists()


def test_a_checkout_registers_no_names(project, capsys):
    """Nor where one of its modules was typed: that one runs, and no other."""
    (project / "evil-1.0.dist-info").mkdir()
    (project / "evil-1.0.dist-info" / "METADATA").write_text("Name: evil\nVersion: 1.0\n")
    points = "[fairaudit.statistics]\nevil = evilstatistic:Evil\n"
    (project / "evil-1.0.dist-info" / "entry_points.txt").write_text(points)
    (project / "typedmod.py").write_text("def f(table): return table.x\n")
    (project / "evilstatistic.py").write_text("open('ran', 'w').close()\nclass Evil: pass\n")
    settings(project, "model = 'm.pkl'\nstatistic = 'evil'")
    refused(capsys, "must be one of omnibus.*Got 'evil'", ("test", "--model", "typedmod:f"))
    assert "typedmod" in sys.modules and not (project / "ran").exists()


@pytest.mark.parametrize("bound", [0, 1, 9, -3])
def test_settings_do_not_loosen_the_mask(project, capsys, bound):
    settings(project, f"suppress = {bound}")
    refused(capsys, r"'suppress' can only be stricter than 10 in a file. Got -?\d; pass --suppress")
    for command in ("plan", "compare", "remedy"):
        more = {
            "plan": ["--effect", "tpr_gap=0.3"],
            "compare": ["--models", "m.pkl"],
            "remedy": ["--data", "data.csv"],
        }[command]
        refused(capsys, "'suppress' can only be stricter", (command, *more))


def test_settings_may_tighten_the_mask_and_the_command_line_may_say_anything(project, capsys):
    settings(project, "suppress = 40")
    for arguments, bound in ((["test", "--json"], 40), (["test", "--suppress", "0", "--json"], 0)):
        assert cli.main(arguments) in (0, 1, 3)
        options = json.loads(capsys.readouterr().out)["capsule"]["options"]
        assert options["suppress"] == bound


def test_settings_write_no_report_outside_of_the_project(project, capsys, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "link").symlink_to(outside)
    (project / "report.html").symlink_to(outside / "linked.html")
    (project / "inside").mkdir()
    for path in (
        str(outside / "a.html"),
        "../outside/a.html",
        "inside/../../outside/a.html",
        "link/a.html",
        "report.html",
        "/tmp/fairaudit-outside.json",
    ):
        settings(project, f"report = ['ok.txt', '{path}']")
        refused(capsys, r"'report' .* lies outside of the project.*--report on the command line")
    assert list(outside.iterdir()) == [] and not (project / "ok.txt").exists()
    settings(project, f"report = ['inside/a.txt', '{project / 'b.txt'}', 'inside/../c.txt']")
    assert cli.main(["test"]) in (0, 1, 3)
    assert all((project / name).exists() for name in ("inside/a.txt", "b.txt", "c.txt"))


@pytest.mark.parametrize("key", ["trust", "sandbox", "scheduler", "resume", "state", "out", "jobs"])
def test_other_options_cannot_be_set_in_a_file(project, capsys, key):
    settings(project, f"{key} = 'x'")
    refused(capsys, f"'{key}' cannot be set|no setting '{key}'")


@pytest.mark.parametrize("limits", ["9GB", "301s", "1GB,10min", "8GB,999999999s"])
def test_settings_do_not_loosen_the_sandbox(project, capsys, limits):
    settings(project, f"isolate = '{limits}'")
    refused(capsys, r"'isolate' can only be stricter than 8GB,300s in a file.*--isolate")


def test_settings_may_tighten_the_sandbox_and_the_command_line_wins(project):
    settings(project, "isolate = '1GB,60s'")
    for words, found in (([], "1GB,60s"), (["--isolate=20GB"], "20GB"), (["--no-sandbox"], None)):
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        args = parser.parse_args(words)
        args.argv = ["test", *words]
        assert settle(args).isolate == found


@pytest.mark.parametrize("file", ["action.yml", "ci/gitlab.yml"])
def test_python_takes_no_module_from_the_checkout(file):
    """A repository's shlex.py ran in the action."""
    text = (ROOT / file).read_text()
    calls = re.findall(r"(?<![\w.-])python(?:3)? +-\S*", text)
    assert len(calls) > 1 and all(call.endswith(" -I") for call in calls), calls


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_files_for_ci_take_no_module_from_the_checkout(name):
    """What `fairaudit init` writes ran a repository's pip.py."""
    from fairaudit_cli.ci_files import CI_FILES

    calls = re.findall(r"(?<![\w.-])python +-\S*", CI_FILES[name].make(""))
    assert calls == ["python -I"]


def test_the_split_of_the_action_runs_no_module_of_the_repository(tmp_path):
    line = next(
        line for line in (ROOT / "action.yml").read_text().splitlines() if "shlex.split" in line
    )
    (tmp_path / "shlex.py").write_text("raise SystemExit('ran')\n")
    code = re.search(r"python (-I) -c '(.*)' >", line)
    done = subprocess.run(
        [sys.executable, code[1], "-c", code[2]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "ARGUMENTS": "--data 'a b.csv'"},
        check=True,
    )
    assert done.stdout == "--data\0a b.csv\0"


def obeyed(text):
    """Lines that a runner takes for a command: `::` in front, `##…[` anywhere."""
    lines = re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
    return [
        line
        for line in lines
        if line.lstrip().startswith("::") or re.search(r"##\w*\[", line) or "\x1b" in line
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_a_quiet_name_is_no_command(order):
    assert obeyed(order.replace("%0A", "\n")) and not obeyed(quiet(order))
    assert "::" not in quiet(order) and quiet(quiet(order)) == quiet(order)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Columns and levels that are orders to the log of a runner."""
    rng = np.random.default_rng(1)
    n = 900
    y = rng.integers(0, 2, n)
    group = rng.choice(ORDERS, n)
    frame = pd.DataFrame(
        {
            "::add-mask::score": y + rng.normal(size=n) > 0.5,
            "##[group]y": np.where(y, "::error::yes", "##[x]no"),
            "::warning::g": group,
        }
    )
    frame["::add-mask::score"] = frame["::add-mask::score"].astype(int)
    frame.loc[:30, "::warning::g"] = None
    path = tmp_path_factory.mktemp("hostile") / "data.parquet"
    frame.to_parquet(path)
    return path


COMMANDS = {
    "test": ["--permutations", "39", "--locate", "--suppress", "0"],
    "test masked": ["--permutations", "39"],
    "test json": ["--permutations", "39", "--json"],
    "metrics": [],
    "metrics json": ["--json"],
    "missing": ["--permutations", "19"],
    "monitor": ["--permutations", "19", "--label", "::debug::x"],
    "wrong": ["--where", "nothing == '::error::x ##[y]'"],
}


@pytest.mark.parametrize("what", COMMANDS)
def test_names_print_no_log_commands(hostile, tmp_path, monkeypatch, capsys, what):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    name = "test" if what == "wrong" else what.split()[0]
    state = ["--state", str(tmp_path / "a.state")] if name == "monitor" else []
    cli.main(
        [
            name,
            "--data",
            str(hostile),
            "--predictions",
            "::add-mask::score",
            "--sensitive",
            '"::warning::g"',
            "--outcome",
            "##[group]y",
            "--positive",
            "::error::yes",
            *state,
            *COMMANDS[what],
        ]
    )
    shown, errors = capsys.readouterr()
    assert errors.startswith("fairaudit: error: ") if what == "wrong" else shown, errors
    assert not obeyed(shown) and not obeyed(errors)


def test_reports_hold_no_log_commands_but_their_own(hostile, tmp_path, monkeypatch, capsys):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    reports = [tmp_path / f"r.{form}" for form in ("txt", "md", "github")]
    cli.main(
        [
            "test",
            "--data",
            str(hostile),
            "--predictions",
            "::add-mask::score",
            "--sensitive",
            '"::warning::g"',
            "--outcome",
            "##[group]y",
            "--positive",
            "::error::yes",
            "--permutations",
            "39",
            *(word for path in reports for word in ("--report", str(path))),
        ]
    )
    own = re.compile(r"^::(error|warning|notice) title=[^:,]*::[^\r\n]*$")
    texts = [
        capsys.readouterr().out,
        summary.read_text("utf-8"),
        *(path.read_text("utf-8") for path in reports),
    ]
    for text in texts:
        assert all(own.match(line) for line in obeyed(text)), obeyed(text)


MAKERS = {
    "compare": "compare --baseline ordermod:f --candidate ordermod:h",
    "models": "compare --models ordermod:f ordermod:h --permutations 19",
    "missing": "missing --model ordermod:f --permutations 19",
    "monitor": "monitor --state a.state --model ordermod:f --permutations 19 --label ::debug::x",
    "plan": "plan --model ordermod:f --effect tpr_gap=0.4 --max-rows 2000",
    "width": "plan --model ordermod:f --width tpr_gap=0.2 --max-rows 2000",
    "remedy": "remedy --method boosting --mu 0.5 --steps 5 --permutations 19 --out m.pkl",
    "test": "test --model ordermod:f --permutations 19",
}


@pytest.mark.parametrize("name", MAKERS)
def test_no_file_of_any_command_holds_log_commands(name, tmp_path, monkeypatch, capsys):
    """Pages and records too: a log may print them."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 600)
    column = "::add-mask::x"
    frame = pd.DataFrame(
        {column: y + rng.normal(size=600), "::warning::g": rng.choice(ORDERS, 600)}
    )
    frame["##[group]y"] = np.where(y, "::error::yes", "##[x]no")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ordermod", raising=False)
    frame.to_parquet("data.parquet")
    source = [f"def {f}(t):\n    return (t['{column}'] > {at}) * 1\n" for f, at in ("f0", "h1")]
    Path("ordermod.py").write_text("".join(source))
    roles = ["--sensitive", '"::warning::g"', "--outcome", "##[group]y", "--positive"]
    forms = ["txt", "md", "json", "html"]
    forms += ["xml", "sarif", "svg"] if name == "test" else []
    reports = [word for form in forms for word in ("--report", f"r.{form}")]
    words = [*MAKERS[name].split(), "--data", "data.parquet", *roles, "::error::yes", *reports]
    assert cli.main(words) in (0, 1, 3), capsys.readouterr().err
    for form in forms:
        assert not obeyed(Path(f"r.{form}").read_text("utf-8")), form
    for later in ([], ["report", "r.json"], ["explain", "r.json"]):
        if later:
            cli.main(later)
        printed = capsys.readouterr()
        assert printed.out or printed.err
        assert not obeyed(printed.out) and not obeyed(printed.err), later


def test_the_recorded_command_is_no_order_and_runs_as_printed():
    from fairaudit_cli.shell_text import command_line

    words = ["test", "--data", "::add-mask::x y", "##[group]", "##vso[task]", "it's", "a\nb"]
    command = command_line(words)
    assert not obeyed(command) and quiet(command) == command
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True
    )
    assert done.stdout.split("\0")[1:-1] == words
