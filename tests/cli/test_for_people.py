"""Help, hints, init, explain, completion and progress: what a person sees beside the audit."""

import io
import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from fairaudit_cli import main as cli
from fairaudit_cli import progress
from fairaudit_cli.examples import EXAMPLES
from fairaudit_cli.hints import reject_unknown_options
from fairaudit_cli.option_values import Option
from fairaudit_cli.options import GROUPS, TABLE
from fairaudit_reports.glossary import TERMS, find_term


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What `fairaudit demo` leaves, smaller."""
    import pickle

    from fairaudit.datasets import demo_model, load_demo

    folder = tmp_path_factory.mktemp("people")
    frame = load_demo(1600)
    (folder / "model.pkl").write_bytes(pickle.dumps(demo_model(frame[:800])))
    frame[800:].to_csv(folder / "test.csv", index=False)
    frame[:800].to_csv(folder / "train.csv", index=False)
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


def help_of(command, capsys):
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_help_ends_with_examples_that_are_right(command, capsys):
    shown = help_of(command, capsys)
    assert shown.startswith(f"usage: fairaudit {command}") and "examples:" in shown
    assert max(map(len, shown.splitlines())) <= 100
    _, parser = cli._parsers(command)
    for _, words in EXAMPLES[command]:
        arguments = shlex.split(words.partition(">")[0])
        reject_unknown_options(parser, arguments)
        parser.parse_args(arguments)  # an error where something is missing


def test_options_stand_in_groups(capsys):
    shown = help_of("test", capsys)
    headings = [line[:-1] for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["options", *GROUPS, "examples"]
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(TABLE)
    assert "of this command:" in help_of("remedy", capsys)
    assert all(isinstance(TABLE[name], Option) for name in grouped)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("tset", "There is no command 'tset'. Did you mean 'test'?"),
        ("test --sensitve race", "has no option --sensitve. Did you mean --sensitive?"),
        ("test --sensitive race sex", "separated by commas: --sensitive race,sex"),
        ("explain kcp", "no word 'kcp' to explain. Did you mean 'kpc'?"),
    ],
)
def test_slips_are_answered_with_what_was_meant(words, message, capsys):
    assert cli.main(words.split()) == 2
    shown = capsys.readouterr()
    assert message in shown.err and shown.err.count("\n") == 1


def test_init_finds_everything_and_the_gate_runs(here, capsys):
    assert cli.main(["init"]) == 0
    shown = capsys.readouterr().out
    assert "wrote fairaudit.toml and .github/workflows/fairaudit.yml" in shown
    settings = (here / "fairaudit.toml").read_text()
    assert 'model = "model.pkl"\ndata = "test.csv"\n' in settings  # not the training rows
    assert 'sensitive = ["race", "sex", "age"]\noutcome = "repaid"\n' in settings
    assert cli.main(["test", "--permutations", "99", "--no-power"]) == 1
    assert (here / "fairaudit-report" / "audit.json").is_file()
    workflow = (here / ".github/workflows/fairaudit.yml").read_text()
    assert "fairaudit test --report" in workflow and 'FAIRAUDIT_PACKAGE: ""' in workflow
    assert "what pip installs there" in shown
    capsys.readouterr()
    assert cli.main(["init"]) == 2
    assert "'fairaudit.toml' is there already" in capsys.readouterr().err
    words = ["init", "--force", "--ci", "gitlab", "--package", "git+https://host/fairaudit@v1"]
    assert cli.main(words) == 0
    file = (here / "fairaudit.gitlab-ci.yml").read_text()
    assert 'FAIRAUDIT_PACKAGE: "git+https://host/fairaudit@v1"' in file


def test_init_adds_to_pyproject_and_keeps_it(here, capsys):
    (here / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    assert cli.main(["init", "--ci", "none", "--sensitive", "sex"]) == 2  # age could be the outcome
    assert "--outcome" in capsys.readouterr().err
    assert cli.main(["init", "--ci", "none", "--sensitive", "sex", "--outcome", "repaid"]) == 0
    text = (here / "pyproject.toml").read_text()
    assert text.startswith('[project]\nname = "mine"\n\n[tool.fairaudit]\nmodel')
    assert not (here / "fairaudit.toml").exists()
    assert cli.main(["init"]) == 2
    assert "has [tool.fairaudit] already" in capsys.readouterr().err


def test_init_names_what_it_cannot_see(here, capsys):
    (here / "other.pkl").write_bytes(b"")
    assert cli.main(["init"]) == 2
    told = capsys.readouterr().err
    assert "What is --model? Several files could be it: model.pkl, other.pkl." in told


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("pyproject.toml", ["--ci", "none"]),
        ("fairaudit.toml", ["--ci", "none", "--force"]),
        (".github", []),
        ("fairaudit.gitlab-ci.yml", ["--ci", "gitlab", "--force"]),
    ],
)
def test_init_writes_through_no_link_out_of_the_project(link, words, here, tmp_path, capsys):
    """A repository had it write names of files, with $(…) in them, into a file of the shell."""
    outside = tmp_path.parent / f"outside {link}"
    if link == ".github":
        outside.mkdir()
    elif link != "fairaudit.toml":
        outside.write_text("# mine\n")
    (here / link).symlink_to(outside)
    assert cli.main(["init", *words]) == 2
    told = capsys.readouterr().err
    assert f"'{link}" in told and "leads out of this folder" in told and told.count("\n") == 1
    if outside.is_file():
        assert outside.read_text() == "# mine\n"
    else:
        assert not outside.exists() or not any(outside.iterdir())
    assert [p.name for p in here.iterdir() if p.name.startswith("fairaudit.")] in ([], [link])


def test_init_writes_settings_that_can_be_read_whatever_files_are_called(here, capsys):
    (here / "test.csv").rename(here / "test\x7f.csv")
    assert cli.main(["init", "--ci", "none"]) == 0
    assert cli.main(["test", "--permutations", "19", "--no-power"]) in (0, 1, 3)
    (here / "fairaudit.toml").unlink()
    (here / "pyproject.toml").write_bytes(b"\xff")
    assert cli.main(["init", "--ci", "none"]) == 2
    assert "'pyproject.toml' cannot be read" in capsys.readouterr().err
    (here / "pyproject.toml").unlink()
    os.rename("test\x7f.csv", b"test\xff.csv")
    assert cli.main(["init", "--ci", "none"]) == 2
    assert "is no text (it is not UTF-8)" in capsys.readouterr().err


def test_init_asks_on_a_terminal(here, capsys, monkeypatch):
    (here / "other.pkl").write_bytes(b"")
    answers = io.StringIO("1\n\n")
    answers.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", answers)
    assert cli.main(["init", "--ci", "none"]) == 0
    shown = capsys.readouterr()
    assert "1  model.pkl" in shown.err and "sensitive [race,sex,age]?" in shown.err
    assert 'sensitive = ["race", "sex", "age"]' in shown.out


def test_explain_tells_an_audit(here, capsys):
    words = "test --model model.pkl --data test.csv --sensitive race,sex,age --report a.json"
    assert cli.main([*words.split(), "--permutations", "199"]) == 1
    capsys.readouterr()
    assert cli.main(["explain", "a.json"]) == 0
    shown = capsys.readouterr().out
    parts = ("Where it sits", "What that means", "What to do next")
    assert all(f"\n{part}\n" in shown for part in parts)
    assert "fairaudit remedy" in shown and "fairaudit report a.json" in shown
    claims = json.loads((here / "a.json").read_text())["localisation"]["claims"]
    first = next(claim["text"] for claim in claims if claim["significant"])
    assert first in " ".join(shown.split())


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_every_word_is_explained_by_all_of_its_names(term, capsys):
    from pathlib import Path

    for name in (term.name, *term.also):
        assert find_term(name) is term, name
    assert (Path(__file__).parents[2] / "docs" / term.page).is_file()
    assert cli.main(["explain", *term.name.split()]) == 0
    assert term.text.split()[0] in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell, capsys):
    pytest.importorskip("shtab")
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in cli.COMMANDS)
    assert all(name in script for name in ("permutations", "fdr_bh", "monotone", "codec"))
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_fish_and_zsh_understand_their_scripts(tmp_path, capsys):
    pytest.importorskip("shtab")
    assert cli.main(["completion", "zsh"]) == 0
    (tmp_path / "_fairaudit").write_text(capsys.readouterr().out)
    assert cli.main(["completion", "fish"]) == 0
    (tmp_path / "own.fish").write_text(capsys.readouterr().out)
    if shutil.which("fish"):
        asked = f'source {tmp_path}/own.fish; complete -C "fairaudit test --sens"'
        told = subprocess.run(["fish", "-c", asked], text=True, capture_output=True, check=True)
        assert told.stdout.startswith("--sensitive\t")
    if shutil.which("zsh"):
        asked = f"fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u -d {tmp_path}/dump; "
        asked += "autoload +X _fairaudit && print $_comps[fairaudit]"
        told = subprocess.run(
            ["zsh", "-f", "-c", asked], text=True, capture_output=True, check=True
        )
        assert told.stdout.strip() == "_fairaudit", told.stderr


def test_progress_is_a_line_a_minute_where_it_is_piped(capsys, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.ProgressBar() as bar:
        for done in range(0, 1000, 100):
            bar("copies", done, 1000)
            clock[0] += 30
        bar("planted violations", 0, 8)
        clock[0] += 60
        bar("a later look", 5, 10)  # a phase that begins: nothing is known of its time
    lines = capsys.readouterr().err.splitlines()
    assert lines.pop() == "fairaudit: a later look: 5 of 10"
    assert lines[0] == "fairaudit: copies: 200 of 1,000, about 4 min left"
    assert len(lines) == 5 and lines[-1] == "fairaudit: planted violations: 0 of 8"


def test_every_phase_of_an_audit_tells_how_far_it_is():
    import numpy as np

    import fairaudit as fa

    rng = np.random.default_rng(1)
    y, sex = rng.integers(0, 2, (2, 400))
    told = {}
    fa.audit(
        predictions=y + sex + rng.normal(size=400),
        outcome=y,
        sensitive={"sex": sex, "age": rng.integers(20, 60, 400)},
        permutations=fa.Permutations(n=199),
        progress=lambda what, done, total: told.setdefault(what, []).append((done, total)),
    )
    assert {"planted violations", "attributes beyond the others", "subgroups", "curves"} <= set(
        told
    )
    for steps in told.values():
        assert steps[-1][0] == steps[-1][1] and [done for done, _ in steps] == sorted(
            done for done, _ in steps
        )
