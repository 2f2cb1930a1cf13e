"""The table of options, against the library, the settings of a project and their page."""

from __future__ import annotations

import argparse
import inspect
import os
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

import fairaudit as fa
from fairaudit.auditing.audit_plan import ADJUSTMENTS, Plan
from fairaudit.data.roles import MISSING, Roles
from fairaudit.errors import InputError
from fairaudit.testing.permutations import Permutations
from fairaudit_cli import known_names
from fairaudit_cli.config import KEYS, settle
from fairaudit_cli.cover_options import COVER
from fairaudit_cli.main import COMMANDS, _parsers
from fairaudit_cli.option_values import EITHER, OFF, ON
from fairaudit_cli.options import READERS, TABLE

ROOT = Path(__file__).parents[2]
TAKEN = {
    name: module.OPTIONS
    for name in COMMANDS
    if hasattr(module := import_module(f"fairaudit_cli.{name}"), "OPTIONS")
}


def entries(command: str):
    return [TABLE[entry] if isinstance(entry, str) else entry for entry in TAKEN[command]]


# ---------------------------------------------------------------- the library

#: Fields of the library that no option sets, and why.
LEFT = {
    "Roles": {},
    "Plan": {
        "threshold": "an option about the table, handed on to both",
        "permutations": "made of the options about copies",
        "folds": "a matter of the density, for Python",
        "with_r": "told by what is installed",
    },
    "Permutations": {
        "steps": "a matter of the algorithm, for Python",
        "batch": "set by memory",
        "stop_after": "a rule of 0.1, for Python",
        "settle_at": "permutations = auto",
    },
}
#: Parameters of fa.audit without an option, and why.
ONLY_IN_PYTHON = {
    "X": "data",
    "y": "outcome",
    "counts": "data, whose column of counts is named",
    "kinds": "a kind follows the name, as in age:continuous",
    "progress": "always shown",
    "settings": "further fields of Plan, by their names",
}
#: Options of `fairaudit test` that fa.audit does not have, and why.
ONLY_IN_THE_SHELL = {
    **{entry.dest: "fairaudit_reports.view.cover.use_cover" for entry in COVER},
    "data": "X",
    "table": "fairaudit.counts",
    "where": "rows are chosen before",
    "trust": "fairaudit.models.load_model",
    "isolate": "fairaudit.models.sandbox",
    "sandbox": "fairaudit.models.load_model",
    "memory": "Permutations",
    "jobs": "Permutations",
    "resume": "of files",
    "report": "result.save",
    "sign": "fairaudit.records.signing",
    "suppress": "result.suppressed",
    "strict": "an exit status",
    "json": "result.to_dict",
    "config": "settings of a project",
}


@pytest.mark.parametrize(
    ("part", "kind"), [("roles", Roles), ("plan", Plan), ("copies", Permutations)]
)
def test_every_field_has_an_option_or_a_reason(part, kind):
    options = {entry.parameter: entry for entry in TABLE.values() if entry.goes_to == part}
    known = {field.name: field for field in fields(kind)}
    assert set(options) <= set(known)
    assert set(known) - set(options) == set(LEFT[kind.__name__])
    for name, entry in options.items():
        if entry.default is not None:
            assert entry.default == known[name].default, name


def test_the_call_in_python_has_the_same_names():
    parameters = set(inspect.signature(fa.audit).parameters)
    options = {
        entry.dest if entry.goes_to == "copies" else entry.parameter for entry in entries("test")
    }
    assert parameters - options == set(ONLY_IN_PYTHON)
    assert options - parameters == set(ONLY_IN_THE_SHELL)


def test_one_entry_takes_a_field_of_the_plan_to_the_command_line_and_the_file(
    tmp_path, monkeypatch
):
    from fairaudit_cli.library_calls import plan_from, roles_from
    from fairaudit_cli.option_values import COUNT, option

    new = option("folds", COUNT, "N", "parts of the data", goes_to="plan", file=("test",))
    monkeypatch.setitem(TABLE, "folds", new)
    monkeypatch.setattr("fairaudit_cli.config.KEYS", tuple(TABLE))
    monkeypatch.setattr("fairaudit_cli.test.OPTIONS", tuple(TABLE))
    monkeypatch.chdir(tmp_path)
    line = ("--data", "t.csv", "--sensitive", "sex", "--predictions", "p")
    typed = settle(parsed("test", *line, "--folds", "3"))
    assert plan_from(typed, roles_from(typed)).folds == 3
    Path("fairaudit.toml").write_text("folds = 4\n")
    told = settle(parsed("test", *line))
    assert plan_from(told, roles_from(told)).folds == 4


def test_options_of_the_remedy_are_parameters_of_repair():
    from fairaudit_cli.remedy import _OWN

    assert {entry.dest for entry in _OWN} <= set(inspect.signature(fa.repair).parameters)


def test_names_are_those_of_the_library():
    from fairaudit.data.quantile_bins import BINS, BINS_OF_SCORES
    from fairaudit.density import density_named
    from fairaudit.remedy.choice import CHANCE
    from fairaudit.remedy.methods import METHODS
    from fairaudit.testing.statistic import statistic_named
    from fairaudit_cli import remedy

    assert known_names.missing_values() == MISSING
    assert known_names.adjustments() == ADJUSTMENTS
    assert known_names.methods() == ("search", *METHODS.names())
    (chance,) = (o for o in remedy.OPTIONS if getattr(o, "name", o) == "pass-probability")
    assert chance.default == CHANCE and f"({CHANCE:g})" in chance.help
    for told in (TABLE["bins"].help, TABLE["bins"].also["counts"]):
        assert f"(default: {BINS_OF_SCORES})" in told and f"({BINS})" in told
    for name in known_names.statistics():
        assert statistic_named(name)
    with pytest.raises(InputError) as error:
        statistic_named("no such")
    listed = str(error.value).split("one of ")[1].split(", or an object")[0].split(", ")
    assert set(listed) == {*known_names.statistics(), "hrt"}  # which no audit takes
    told = set()
    for categorical in (True, False):
        with pytest.raises(InputError) as error:
            density_named("no such", categorical=categorical)
        told |= set(str(error.value).split("one of ")[1].split(", an object")[0].split(", "))
    assert set(known_names.densities()) == told


# ---------------------------------------------------------------- flag and file

#: A value as words of a shell and as TOML.
EXAMPLES = {
    "model": (["m.pkl"], '"m.pkl"'),
    "data": (["a.csv", "b.csv"], '["a.csv", "b.csv"]'),
    "sensitive": (["race"], '["race"]'),
    "predictions": (["p,q"], '"p,q"'),
    "missing": (["drop"], '"drop"'),
    "on": (["labels"], '"labels"'),
    "threshold": (["0.25"], "0.25"),
    "positive": (["1"], "1"),
    "classes": (["0=clear,1=arrested"], '{ 0 = "clear", 1 = "arrested" }'),
    "alpha": (["0.01"], "0.01"),
    "permutations": (["auto"], '"auto"'),
    "isolate": (["1GB,60s"], '"1GB,60s"'),
    "memory": (["2GB"], '"2GB"'),
    "seed": (["7"], "7"),
    "statistic": (["kpc,deo"], '["kpc", "deo"]'),
    "adjust": (["fdr_bh"], '"fdr_bh"'),
    "pairs": (["race+sex"], '["race+sex"]'),
    "tolerance": (["kpc=0.01,deo=1"], "{ kpc = 0.01, deo = 1 }"),
    "certify": (["deo=0.1"], "{ deo = 0.1 }"),
    "report": (["r.html"], '"r.html"'),
    "suppress": (["20"], "20"),
    "engine": (["local"], '"local"'),
    "shards": (["3"], "3"),
    "bins": (["32"], "32"),
    "counts": (["n"], '"n"'),
    "table": (["loans"], '"loans"'),
}


def parsed(command: str, *words: str) -> argparse.Namespace:
    parser = _parsers(command)[1]
    assert parser is not None
    needed = [f"{entry.flag}=x" for entry in entries(command) if entry.required]
    args = parser.parse_args([*needed, *words])
    args.argv = [command, *words]
    return args


@pytest.mark.parametrize("command", READERS)
def test_every_option_is_the_same_in_a_file_or_refused(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for entry in entries(command):
        Path("fairaudit.toml").unlink(missing_ok=True)
        switch = entry.kind in (ON, OFF, EITHER)
        words, toml = EXAMPLES.get(
            entry.name, ([], str(entry.kind is not OFF).lower()) if switch else (["x"], '"x"')
        )
        if entry.kind.action.get("nargs") == "+" or switch:
            flags = [entry.flag, *words]
        else:
            flags = [f"{entry.flag}={words[0]}"]
        plain = settle(parsed(command))
        Path("fairaudit.toml").write_text(f"{entry.name} = {toml}\n")
        if entry.name not in KEYS:
            with pytest.raises(InputError, match=f"'{entry.name}' cannot be set in a file. Pass"):
                settle(parsed(command))
            continue
        found = getattr(settle(parsed(command)), entry.dest)
        if command in entry.file:
            Path("fairaudit.toml").unlink()
            assert found == getattr(settle(parsed(command, *flags)), entry.dest), entry.name
            assert found != getattr(plain, entry.dest), entry.name
        else:  # a setting of other commands
            assert found == getattr(plain, entry.dest), entry.name


def test_the_settings_that_a_file_may_have():
    """Whoever adds one decides what it may do to those who run the command."""
    assert set(TABLE) - set(KEYS) == {
        "trust",
        "sign",
        "sandbox",
        "json",
        "jobs",
        "resume",
        "scheduler",
        "config",
        *(entry.name for entry in COVER),  # in a table of their own
    }
    assert all(set(entry.file) <= set(READERS) for entry in TABLE.values())
    assert all("config" in TAKEN[command] for command in READERS)


@pytest.mark.parametrize(
    ("name", "word", "toml", "told"),
    [
        ("permutations", "0", "0", "must be a whole number of at least 1, got '0'"),
        ("permutations", "many", "'many'", "must be a whole number of at least 1, got 'many'"),
        ("shards", "0", "0", "must be a whole number of at least 1, got '0'"),
        ("memory", "much", "'much'", "must be a size such as 2GB, got 'much'"),
        ("alpha", "nan", "nan", "must be a finite number, got 'nan'"),
    ],
)
def test_what_the_flag_refuses_the_file_refuses(name, word, toml, told, tmp_path, monkeypatch):
    """permutations = 0 in a file drew 999 copies in silence."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=re.escape(told)):
        parsed("test", f"--{name}", word)
    Path("fairaudit.toml").write_text(f"{name} = {toml}\n")
    with pytest.raises(InputError) as error:
        settle(parsed("test"))
    assert str(error.value) == f"fairaudit.toml: '{name}' {told}."


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("seed = '7'", "'seed' must be int. Got '7' instead."),
        ("seed = true", "'seed' must be int. Got True instead."),
        ("locate = 1", "'locate' must be bool. Got 1 instead."),
        ("adjust = 'no'", "'adjust' must be one of holm, fdr_bh. Got 'no' instead."),
        ("sensitive = [1]", "'sensitive' must be text or a list of texts."),
        ("tolerance = 0.1", "'tolerance' must be a table of numbers, as in { kpc = 0.01 }."),
        ("classes = 'a=b'", "'classes' must be a table of levels, as in { 0 = \"clear\" }."),
    ],
)
def test_values_of_another_kind_are_one_line(line, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("fairaudit.toml").write_text(f"{line}\n")
    with pytest.raises(InputError) as error:
        settle(parsed("test"))
    assert str(error.value) == f"fairaudit.toml: {told}"


def test_a_name_in_a_list_keeps_its_comma(tmp_path, monkeypatch):
    """They were joined by commas and taken apart at the wrong ones."""
    from fairaudit_cli.library_calls import roles_from

    monkeypatch.chdir(tmp_path)
    Path("fairaudit.toml").write_text("predictions = ['p, of a', 'the \"b\"']\n")
    args = settle(parsed("test", "--data", "t.csv", "--sensitive", "sex"))
    assert roles_from(args).predictions == ("p, of a", 'the "b"')


@pytest.mark.parametrize("command", ["missing", "monitor", "remedy"])
def test_commands_that_need_all_copies_say_so(command):
    with pytest.raises(InputError, match=f"fairaudit {command} needs all of them"):
        settle(parsed(command, "--permutations", "auto"), needs_all=True)


# ---------------------------------------------------------------- the page

PAGE = ROOT / "docs/ci.md"
BEGIN, END = "<!-- settings: written by tests/cli/test_options.py -->\n", "<!-- settings: end -->\n"


def page_table() -> str:
    lines = ["| setting | value | meaning | read by |", "|---|---|---|---|"]
    for entry in (TABLE[name] for name in KEYS):
        told = entry.told_in("test")
        if entry.kind is OFF:
            told = f"false: {told}"
        value = entry.kind.type_name
        if entry.names is not None and "{names}" not in entry.help:
            value = ", ".join(f"`{name}`" for name in entry.names())
        readers = [name for name in READERS if name in entry.file and entry.name in TAKEN[name]]
        by = "all" if len(readers) == len(READERS) else ", ".join(readers)
        lines.append(f"| `{entry.name}` | {value} | {told} | {by} |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_all_settings():
    """FAIRAUDIT_UPDATE=1 writes the table anew."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    found, _, after = rest.partition(END)
    if os.environ.get("FAIRAUDIT_UPDATE"):
        PAGE.write_text(f"{before}{BEGIN}{page_table()}{END}{after}", encoding="utf-8")
        found = page_table()
    assert found == page_table()
