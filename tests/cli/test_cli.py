"""The command line: help, version, doctor, exit codes, and what it must not import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from fairaudit import __version__
from fairaudit.errors import InputError
from fairaudit.integrations import environment
from fairaudit.models import sandbox
from fairaudit_cli import main as cli
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.termination import Terminated
from fairaudit_reports.text.aligned import aligned_table

HEAVY = {"numpy", "pandas", "scipy", "sklearn", "statsmodels", "torch", "matplotlib", "rpy2"}


def run(*argv, **kwargs):
    command = [sys.executable, "-m", "fairaudit_cli.main", *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **kwargs)


def exit_of(*argv):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    return caught.value.code or 0


def test_help_lists_every_command(capsys):
    assert exit_of("--help") == ExitCode.OK
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name, capsys):
    assert exit_of(name, "--help") == ExitCode.OK
    assert f"usage: fairaudit {name}" in capsys.readouterr().out


def test_version(capsys):
    assert exit_of("--version") == ExitCode.OK
    assert capsys.readouterr().out == f"fairaudit {__version__}\n"


def test_bare_command_shows_help_and_is_no_success(capsys):
    """A gate that has lost its arguments must not pass."""
    assert cli.main([]) == ExitCode.BAD_INPUT
    shown, told = capsys.readouterr()
    assert all(name in shown for name in cli.COMMANDS) and told == ""


COMMAS = "Several values of --sensitive are separated by commas: --sensitive race,sex,age"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("tset", "There is no command 'tset'. Did you mean 'test'?"),
        ("Verify a.json", "There is no command 'Verify'. Did you mean 'verify'?"),
        ("nonsense", "There is no command 'nonsense'. Commands: test, init, "),
        ("--verison", "There is no command '--verison'. Did you mean '--version'?"),
        ("--model m.pkl test", "There is no command '--model'. Commands: test, "),
        (
            "test --sensitve race",
            "'fairaudit test' has no option --sensitve. Did you mean --sensitive?",
        ),
        ("test --sensitve=race", "Did you mean --sensitive?"),
        ("test -model m.pkl", "Did you mean --model?"),
        ("monitor --stat x", "Did you mean --state?"),
        ("doctor --js", "Did you mean --json?"),
        ("metrics --xyz", "'fairaudit metrics --help' lists them."),
        ("test --data x.csv --sensitive race sex age", COMMAS),
        ("test --sensitive race, sex, age --data x.csv", COMMAS),
        ("test --outcome sex --sensitive=race sex age", COMMAS),
        ("test --outcome loan status", "in quotes: --outcome 'loan status'"),
        ("test --json true", "--json takes no value. Leave 'true' out."),
        ("test model.pkl", "'model.pkl' belongs to no option."),
    ],
)
def test_hints_for_misspelt_commands_and_options(line, told, capsys):
    assert cli.main(line.split()) == ExitCode.BAD_INPUT
    shown, error = capsys.readouterr()
    assert shown == "" and error.startswith("fairaudit: error: ") and told in error
    assert error.count("\n") == 1


def test_negative_numbers_and_values_with_spaces_are_no_options(capsys):
    line = ["test", "--threshold", "-5", "--where", "--x > 3", "--sensitive", "a", "--data", "no"]
    assert cli.main(line) == ExitCode.BAD_INPUT
    assert "Pass --model FILE" in capsys.readouterr().err


UNFINISHED = "; no verdict, and no file but finished ones\n"


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (InputError("no column 'x'"), 2, "fairaudit: error: no column 'x'\n"),
        (KeyboardInterrupt(), 130, f"fairaudit: interrupted{UNFINISHED}"),
        (Terminated(), 143, f"fairaudit: terminated{UNFINISHED}"),
    ],
)
def test_errors_become_exit_codes(monkeypatch, capsys, raised, code, line):
    def fail():
        raise raised

    monkeypatch.setattr(environment, "examine", fail)
    assert cli.main(["doctor"]) == code
    assert capsys.readouterr() == ("", line)


def test_closed_pipe_is_quiet():
    command = [sys.executable, "-m", "fairaudit_cli.main", "doctor"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == ExitCode.BROKEN_PIPE


@pytest.mark.parametrize(
    "statement",
    [
        "import fairaudit",
        "import fairaudit_cli.main as m; m.main(['--help'])",
        "import fairaudit.metrics._r_bridge",
        "import fairaudit.integrations.environment, fairaudit_cli.doctor",
    ],
)
def test_imports_nothing_heavy(statement):
    script = f"""
import sys
from functools import partial
try:
    {statement}
except SystemExit:
    pass
print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr == "[]\n"


def test_doctor_prints_one_line_per_component():
    done = run("doctor")
    assert (done.returncode, done.stderr) == (ExitCode.OK, "")
    for name in ("Python", "numpy", "pandas", "R package KPC", "rpy2", "torch", "skops"):
        assert any(line.startswith(name) for line in done.stdout.splitlines())


def test_doctor_json():
    done = run("doctor", "--json")
    facts = json.loads(done.stdout)
    assert facts["ok"] is True
    by_name = {part["name"]: part for part in facts["components"]}
    assert by_name["fairaudit"]["version"] == __version__
    assert by_name["numpy"]["state"] == "ok"
    assert by_name["onnxruntime"]["install"] == "pip install onnxruntime"
    layers = [layer["name"] for layer in facts["sandbox"]]
    assert layers == ["namespaces", "file system", "landlock", "seccomp"]


@pytest.mark.parametrize(
    "without, said",
    [
        (("namespaces",), None),  # Landlock and seccomp hold what they would
        (("namespaces", "landlock"), "could read your files."),
        (("namespaces", "landlock", "seccomp"), "read your files, write them, use the network"),
    ],
)
def test_doctor_tells_what_a_sandbox_lacks(monkeypatch, capsys, without, said):
    whole = sandbox.probe()
    if any(whole.values()):
        pytest.skip(f"this system lacks {whole}")
    monkeypatch.setattr(sandbox, "sandbox_layers", partial(sandbox.sandbox_layers, without))
    assert cli.main(["doctor"]) == ExitCode.OK
    shown = capsys.readouterr().out
    for name in without:
        assert re.search(rf"^{name} +missing +switched off; for ", shown, re.MULTILINE)
    assert ("warning: The sandbox lacks" in shown) is (said is not None)
    assert said is None or said in shown


def test_doctor_says_what_is_missing_broken_and_doubled(monkeypatch, capsys):
    real = environment._version
    versions = {"numpy": None, "fairaudit": "9.9"}
    monkeypatch.setattr(
        environment,
        "_version",
        lambda name: versions.get(name) or (None if name in versions else real(name)),
    )
    broken = environment.Component(
        name="rpy2",
        version="3.6.9",
        needed_for="backend='r'",
        install="pip install this",
        problem="no R_getVar",
    )
    monkeypatch.setattr(environment, "_r_components", lambda: (broken,))
    assert cli.main(["doctor"]) == ExitCode.BAD_INPUT
    shown = capsys.readouterr().out
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in shown.splitlines() if line}
    assert lines["numpy"][0] == "missing" and lines["numpy"][1].endswith("pip install numpy")
    assert lines["rpy2"][0] == "broken" and "no R_getVar" in lines["rpy2"][1]
    assert lines["rpy2"][1].endswith("pip install this")
    assert "warning: The distribution fairaudit 9.9 is installed too." in shown


def test_doctor_says_what_is_too_old(monkeypatch):
    """Lower than the lowest bound of all extras: torch is in two of them."""
    lines = ["torch>=2.9; extra == 'keras'", "torch>=2.2; extra == 'train'", "dask[x]>=2024.8"]
    monkeypatch.setattr(environment, "requires", lambda _: lines)
    monkeypatch.setattr(environment, "find_spec", lambda _: True)
    environment._lower_bounds.cache_clear()
    for name, version, told in (
        ("torch", "2.1.9", "older than 2.2"),
        ("torch", "2.2.0+cpu", None),
        ("dask", "2024.10.1", None),
        ("dask", "2023.12", "older than 2024.8"),
        ("rich", "1", None),
    ):
        monkeypatch.setattr(environment, "_version", lambda _, known=version: known)
        part = environment._component(name, name, "tests", name)
        assert part.problem == told, (name, version)
        assert part.state == ("ok" if told is None else "broken")
        assert (">=" in part.install) is (told is not None)
    environment._lower_bounds.cache_clear()


def test_doctor_knows_every_integration_of_the_docs():
    """Each package of the table that the integrations' tests write."""
    tested = (Path(__file__).parents[1] / "integrations" / "tested.py").read_text()
    packages = re.findall(r'"(?:r:)?([a-z][\w-]+)",\s+f?"[^"]*(?:test_|PAGES|NETWORKS)', tested)
    assert len(packages) >= 12
    known = {part.name.removeprefix("R package ") for part in environment.examine().components}
    servers = {"mlflow", "mlserver"}  # of models, on whatever machine; the client is mlflow-skinny
    assert set(packages) - servers <= known


def test_doctor_names_what_this_was_installed_from(monkeypatch):
    """No name of a package index: a checkout, a wheel, or what pip was given."""

    class Installed:
        def __init__(self, source):
            self.source = source

        def read_text(self, name):
            return None if self.source is None else json.dumps(self.source)

    for source, told in (
        (
            {"url": "file:///a%20b/fairaudit", "dir_info": {"editable": True}},
            "--editable file:///a%20b/fairaudit",
        ),
        ({"url": "file:///dist/f.whl", "archive_info": {}}, "file:///dist/f.whl"),
        (None, "fairaudit-icp"),
    ):
        monkeypatch.setattr("importlib.metadata.distribution", lambda _, s=source: Installed(s))
        assert environment._origin() == told


def test_nothing_claims_that_the_project_is_on_a_package_index():
    """`pip install fairaudit-icp` works only once it is published; what is printed works today."""
    root = Path(__file__).parents[2]
    files = [
        *(root / "fairaudit").rglob("*.py"),
        *(root / "cli").rglob("*.py"),
        *(root / "reports").rglob("*.py"),
        *(root / "docs").rglob("*.md"),
        root / "README.md",
        root / "action.yml",
        root / "ci" / "gitlab.yml",
    ]
    claim = re.compile(r"""(pip install|PACKAGE:|default:)[^\n]*\bfairaudit-icp(?!\[\w+\] @)""")
    assert [str(file) for file in files if claim.search(file.read_text())] == []


def test_text_table_aligns_and_leaves_no_trailing_blanks():
    assert (
        aligned_table([["a", "bb"], [], ["ccc", "", "d"]], indent=" ") == " a    bb\n\n ccc      d"
    )
