"""One error, two readers: Python sees a parameter, the command line its option."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.errors import InputError, retold
from fairaudit.models import load_model
from fairaudit.models.sandbox import Limits
from fairaudit_cli.main import COMMANDS, _parsers, main
from fairaudit_cli.options import TABLE


@pytest.fixture
def table(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 80),
            "y": rng.choice(["no", "yes"], 80),
            "score": rng.random(80),
            "person": np.repeat(np.arange(40), 2),
            "w": rng.random(80),
        }
    )
    monkeypatch.chdir(tmp_path)
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    return frame


def audit(frame, **settings):
    if "engine" in settings:
        return fa.audit(
            X=frame, predictions="score", outcome="y", sensitive=["sex"], positive="yes", **settings
        )
    columns = {name: frame[settings[name]] for name in ("ids", "weights") if name in settings}
    given = {"positive": "yes", **settings, **columns}
    return fa.audit(
        predictions=frame["score"], outcome=frame["y"], sensitive=frame[["sex"]], **given
    )


TEST = "test --data t.csv --sensitive sex --outcome y --predictions score"
YES = f"{TEST} --positive yes"


@pytest.mark.parametrize(
    ("settings", "command", "python", "shell"),
    [
        (
            {"positive": None},
            TEST,
            "Pass 'positive', the level that high scores mean",
            "Pass --positive, the level that high scores mean",
        ),
        (
            {"calibrate": True, "ids": "person"},
            f"{YES} --calibrate --id person",
            "'calibrate' does not work where people have several rows ('ids')",
            "--calibrate does not work where people have several rows (--id)",
        ),
        (
            {"engine": "local", "shards": 2, "weights": "w"},
            f"{YES} --engine local --shards 2 --weights w".replace(".csv", ".parquet"),
            "Leave 'weights' out",
            "Leave --weights out",
        ),
        (
            {"calibrate": True, "permutations": fa.Permutations.auto()},
            f"{YES} --calibrate --permutations auto",
            "set 'permutations' to a number instead of 'auto'",
            "set --permutations to a number instead of 'auto'",
        ),
    ],
)
def test_audits(table, capsys, settings, command, python, shell):
    with pytest.raises(InputError, match=re.escape(python)):
        audit(table, **settings)
    assert main(command.split()) == 2
    told = capsys.readouterr().err
    assert shell in told and python not in told


def test_conditions_limits_and_methods(table, capsys):
    from fairaudit.data.row_filter import rows_where

    for python, command, name, rest in [
        (lambda: rows_where(table, "w>"), f"{YES} --where w>", "where", " 'w>' is not a cond"),
        (
            lambda: Limits.parse("4 elephants"),
            f"{YES} --isolate=elephants --model m.pkl".replace("--predictions score ", ""),
            "isolate",
            " '.*elephants' is not a limit",
        ),
        (
            lambda: fa.repair(table, sensitive=["sex"], outcome="y", mu=0.5, kpc=0.1),
            "remedy --data t.csv --sensitive sex --outcome y --mu 0.5 --kpc 0.1",
            "mu",
            ", ",
        ),
    ]:
        with pytest.raises(InputError, match=f"'{name}'{rest}"):
            python()
        assert main(command.split()) == 2
        assert re.search(f"--{name}{rest}", capsys.readouterr().err)


class Stranger:
    """Not on the allow-list."""


def test_models(table, capsys):
    with open("m.pkl", "wb") as file:
        pickle.dump(Stranger(), file)
    with pytest.raises(InputError, match=rf"pass 'trust' {__name__}\.Stranger"):
        load_model("m.pkl")
    command = TEST.replace("--predictions score", "--model m.pkl").split()
    for more in ([], ["--isolate"]):  # also when another process says it
        assert main([*command, *more]) == 2
        told = capsys.readouterr().err
        assert f"pass --trust {__name__}.Stranger (repeat" in told
        assert "audit those (--predictions)" in told


def told_by(command: str, error: InputError) -> str:
    from fairaudit_cli.errors_for_shell import in_words_of_shell

    parser = _parsers(command)[1]
    assert parser is not None
    return in_words_of_shell(error, parser)


def test_only_what_the_error_is_about_becomes_an_option():
    text = "Column 'threshold' is empty, and 'weights' too. Pass 'threshold'."
    assert told_by("test", InputError(text)) == text
    about = InputError(text, argument="threshold")
    said = "Column 'threshold' is empty, and 'weights' too. Pass --threshold."
    assert told_by("test", about) == said


def test_a_parameter_that_the_command_lacks_stays_one():
    error = InputError("Leave 'density' out, or 'use_sensitive'.", argument=("density", "x"))
    assert told_by("test", error) == "Leave --density out, or 'use_sensitive'."
    assert told_by("compare", error) == str(error)
    underscored = InputError("Leave 'use_sensitive' out.", argument="use_sensitive")
    assert told_by("remedy", underscored) == "Leave --use-sensitive out."


def test_an_error_in_other_words_is_about_the_same():
    error = InputError("bad", argument="where", column="age", row=3)
    again = retold(error, f"The baseline: {error}")
    assert (str(again), again.argument) == ("The baseline: bad", "where")
    assert (again.column, again.row) == ("age", 3)
    assert pickle.loads(pickle.dumps(error)).argument == "where"  # out of a worker
    assert retold(fa.MissingDependencyError("no R"), "x: no R").argument is None


def flags_of_all_commands() -> set[str]:
    """What a message in the library can name that is an option of some command."""
    names = {entry.parameter for entry in TABLE.values() if entry.goes_to == "roles"}
    for command in COMMANDS:
        parser = _parsers(command)[1]
        assert parser is not None
        names |= {
            action.dest
            for action in parser._actions
            if any(flag.startswith("--") for flag in action.option_strings)
        }
    return names


#: In quotes, and not the option of that name.
OTHER_THINGS = {
    ("fairaudit/metrics/_hgr.py", "bins"),  # of a measure, not of scores
    ("fairaudit/remedy/network_parts.py", "loss"),  # of an estimator; the option is --training-loss
    ("fairaudit/remedy/tradeoff.py", "report"),  # a share of trade_off, not a file
}


def texts_in(node: ast.AST, function: ast.AST, elsewhere: dict[str, ast.AST]) -> Iterator[str]:
    """The texts of an expression, of the variables in it and of the functions that it calls."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and part.id in elsewhere:
            yield from texts_in(elsewhere[part.id], elsewhere[part.id], {})
        elif isinstance(part, ast.Name):
            for line in ast.walk(function):
                if isinstance(line, ast.Assign) and any(
                    isinstance(target, ast.Name) and target.id == part.id for target in line.targets
                ):
                    yield from texts_in(line.value, ast.Module([], []), elsewhere)


def unnamed_arguments(
    source: str, options: set[str], elsewhere: dict[str, ast.AST]
) -> Iterator[tuple[int, str]]:
    """Line and option of every error that names an option in quotes and not in `argument`."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id
            if named != "InputError" or not call.args:
                continue
            text = " ".join(texts_in(call.args[0], function, elsewhere))
            given = [word.value for word in call.keywords if word.arg == "argument"]
            if any(isinstance(part, ast.Name) for word in given for part in ast.walk(word)):
                continue  # a variable
            known = {str(getattr(p, "value", "")) for word in given for p in ast.walk(word)}
            for name in sorted({*re.findall(r"(?<!olumn )'(\w+)'", text)} & (options - known)):
                yield call.lineno, name


def test_errors_about_an_option_name_it_as_their_argument():
    root = Path(fa.__file__).parent
    files = {f"fairaudit/{p.relative_to(root).as_posix()}": p for p in root.rglob("*.py")}
    elsewhere: dict[str, ast.AST] = {}
    for path in files.values():
        for line in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(line, ast.FunctionDef) and ast.unparse(line.returns or line) == "str":
                elsewhere[line.name] = ast.Module(line.body[1:], [])  # without its docstring
            elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                elsewhere[line.targets[0].id] = line.value
    options = flags_of_all_commands()
    unnamed = {
        (name, option): line
        for name, path in files.items()
        for line, option in unnamed_arguments(path.read_text(encoding="utf-8"), options, elsewhere)
    }
    assert {key: line for key, line in unnamed.items() if key not in OTHER_THINGS} == {}
    assert set(unnamed) >= OTHER_THINGS  # no exception is left over


def test_unnamed_arguments_are_seen():
    source = (
        "def check(alpha):\n"
        "    way = 'Leave \\'where\\' out.'\n"
        "    raise InputError(f\"'alpha' is {alpha} in column 'weights'. {way} {HINT}\"{0})\n"
    )
    hint = ast.parse("\"Pass 'positive'.\"").body[0]
    options = {"alpha", "where", "weights", "positive"}
    for given, missing in [
        ("", ["alpha", "positive", "where"]),
        (", argument='alpha'", ["positive", "where"]),
        (", argument=('alpha', 'where', 'positive')", []),
        (", argument=name", []),
    ]:
        text = source.replace("{0}", given)
        assert [option for _, option in unnamed_arguments(text, options, {"HINT": hint})] == missing


@pytest.mark.parametrize("kind", ["statistic", "density"])
def test_an_unknown_name_is_told_by_its_option(kind, tmp_path, capsys):
    """The registry's message speaks of a parameter; the shell has an option."""
    rows = "\n".join(f"{k % 2},{k % 3},{k / 40}" for k in range(40))
    (tmp_path / "t.csv").write_text(f"sex,y,score\n{rows}\n")
    line = ["test", "--data", str(tmp_path / "t.csv"), "--sensitive", "sex"]
    line += ["--outcome", "y:categorical", "--predictions", "score", f"--{kind}", "nope"]
    assert main(line) == 2
    assert f"The --{kind} parameter" in capsys.readouterr().err
