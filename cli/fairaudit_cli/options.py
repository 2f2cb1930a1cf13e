"""The options of an audit, each once: the command line, the settings of a project, their
documentation and the calls of the library are read from this table.

A new setting is one entry here and one field of `Plan` (or `Roles`). Other commands take options
from here by name, and have their own beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from fairaudit.results import SUPPRESS
from fairaudit_cli import known_names
from fairaudit_cli.cover_options import COVER
from fairaudit_cli.option_values import (
    COLUMNS,
    COPIES,
    COUNT,
    EITHER,
    FILES,
    LEVEL,
    LEVELS,
    LIMITS,
    NUMBER,
    OFF,
    ON,
    SIZE,
    SIZES,
    STATISTICS,
    TEXT,
    TEXTS,
    WHOLE,
    Kind,
    Option,
    option,
)

__all__ = ["MODEL", "READERS", "ROLES", "TABLE", "add_options", "given_to"]

#: Commands that read the settings of a project.
READERS = ("test", "plan", "remedy", "compare", "monitor")


def _role(name: str, kind: Kind, metavar: str | None, help_text: str, **more: Any) -> Option:
    """Which column is what."""
    return option(name, kind, metavar, help_text, goes_to="roles", **{"file": READERS, **more})


def _setting(name: str, kind: Kind, metavar: str | None, help_text: str, **more: Any) -> Option:
    """A setting of the audit: a field of `Plan`."""
    return option(name, kind, metavar, help_text, goes_to="plan", **{"file": ("test",), **more})


_MODEL = ".pkl, .joblib, .skops, .onnx, .keras, .pt2, package.module:function, or http://…"

_OPTIONS = (
    option("model", TEXT, "FILE", f"a fitted model: {_MODEL}", file=("test", "plan", "monitor")),
    option(
        "trust", TEXTS, "NAME", "allow this class or function in a pickle (module.name), repeatable"
    ),
    option(
        "isolate",
        LIMITS,
        "LIMITS",
        "limits of the process that the model is opened and asked in (8GB,300s); a function is put "
        "into one too",
        file=("test", "plan", "monitor"),
    ),
    option(
        "sandbox", OFF, None, "open and ask the model in this process: for files that you trust"
    ),
    option(
        "data",
        FILES,
        "FILE",
        "CSV, Parquet or Arrow; several files, a folder or a pattern; - for standard input",
        also={"verify": "the table"},
        file=("test", "plan", "compare"),
    ),
    _role(
        "sensitive",
        TEXTS,
        "COLUMN[,COLUMN…]",
        "sensitive attributes, repeatable; a kind may follow the name, as in age:continuous",
    ),
    _role(
        "outcome",
        TEXT,
        "COLUMN",
        "the true outcome (default: the one column left over, or one called y, label, target or "
        "outcome)",
    ),
    _role(
        "predictions",
        COLUMNS,
        "COLUMN[,COLUMN…]",
        "instead of a model: labels, scores, or one probability column per class",
    ),
    _role("weights", TEXT, "COLUMN", "weights of the rows, for the rates"),
    _role("id", TEXT, "COLUMN", "ids of people who have several rows", argument="ids"),
    _role(
        "counts",
        TEXT,
        "COLUMN",
        "the table has counts: how many rows each of its rows stands for (see fairaudit counts)",
        argument="count",
        file=("test",),
    ),
    option(
        "table", TEXT, "NAME", "of a database file given as data (.duckdb, .sqlite)", file=("test",)
    ),
    _role("where", TEXT, "CONDITION", 'audit these rows only, as in "age > 18"'),
    _role(
        "missing",
        TEXT,
        None,
        "missing sensitive values: a category of their own (auto: an error in a continuous "
        "column), an error, or rows to drop",
        names=known_names.missing_values,
        closed=True,
    ),
    _role(
        "on", TEXT, None, "what is audited (default: scores)", names=known_names.forms, closed=True
    ),
    _role(
        "threshold",
        NUMBER,
        "NUMBER",
        "scores at or above it count as positive (default: 0.5 for scores in [0, 1])",
    ),
    _role(
        "positive",
        LEVEL,
        "LEVEL",
        "the outcome level that counts as positive (default: the larger of two), and that the "
        "model's positive class or high scores mean where names do not tell; of more levels, "
        "rates compare it with the rest",
    ),
    _role(
        "classes",
        LEVELS,
        "CLASS=LEVEL[,…]",
        "what the classes of the model are called in the outcome, as in 0=clear,1=arrested",
    ),
    _setting(
        "alpha", NUMBER, "LEVEL", "level of the test (default: 0.05)", default=0.05, file=READERS
    ),
    option(
        "permutations",
        COPIES,
        "N",
        "conditional copies (default: 999); auto: each question stops when they have settled "
        "whether its p-value is below the level",
        also=dict.fromkeys(("missing", "monitor", "remedy"), "conditional copies (default: 999)"),
        default=999,
        goes_to="copies",
        argument="n",
        file=("test", "remedy", "compare", "monitor"),
    ),
    option(
        "memory",
        SIZE,
        "SIZE",
        "what copies and features may take, as in 2GB; sets batch sizes and no result",
        goes_to="copies",
        file=("test",),
    ),
    option(
        "seed", WHOLE, "N", "same seed, same numbers (0)", default=0, goes_to="copies", file=READERS
    ),
    _setting(
        "statistic",
        STATISTICS,
        "NAME",
        "{names}",
        also={
            "monitor": "kpc (default), omnibus, codec, features, correlation, scan, deo",
            "plan": "of the test (default: omnibus)",
        },
        default="omnibus",
        elsewhere={"monitor": "kpc"},  # as in the states that were begun with it
        names=known_names.statistics,
        file=("test", "plan", "monitor"),
    ),
    _setting(
        "density",
        TEXT,
        "NAME",
        "law of the outcome given the attributes (default auto: exact for classes)",
        default="auto",
        names=known_names.densities,
        file=("test", "monitor"),
    ),
    _setting(
        "law",
        TEXT,
        "NAME",
        "how attributes move given the outcome (default auto: by what the data show)",
        default="auto",
        names=known_names.laws,
    ),
    _setting(
        "adjust",
        TEXT,
        None,
        "among the questions behind the gate (holm)",
        names=known_names.adjustments,
        closed=True,
    ),
    _setting(
        "locate",
        EITHER,
        None,
        "after a rejection say where: which attribute, subgroup and range (default: where that "
        "takes a few seconds at most)",
    ),
    _setting(
        "pairs",
        TEXTS,
        "A+B|all",
        "test pairs of attributes too, as in --pairs race+sex; repeatable",
    ),
    _setting(
        "tolerance",
        SIZES,
        "MEASURE=SIZE[,…]",
        "a significant effect within these sizes is a note, as in kpc=0.01,deo=0.1",
    ),
    _setting(
        "certify",
        SIZES,
        "MEASURE=SIZE[,…]",
        "show that deo, tpr_gap, fpr_gap, equalized_odds_difference, confusion_gap or kpc is at "
        "most so large (of a continuous outcome prediction_gap or prediction_gap_in_ranges, in its "
        "units); otherwise inconclusive",
        also={
            "plan": "instead: certify a model that satisfies equalized odds, as fairaudit test "
            "--certify"
        },
    ),
    _setting(
        "bins",
        WHOLE,
        "N",
        "where rows are counted (classes as outcome, more than 500,000 rows): bins of scores "
        "(default: 256) and of other numbers (64); 0: look at every row",
        also={
            "counts": "of scores (default: 256) and other numbers (64) with more than 256 values"
        },
    ),
    _setting(
        "power", OFF, None, "do not compute the smallest violation that the audit could have found"
    ),
    _setting(
        "calibrate",
        ON,
        None,
        "run the test on placebos and planted violations of this table too; if it fails there, "
        "the audit is inconclusive",
    ),
    option(
        "report",
        TEXTS,
        "FILE",
        "write a report: .html, .pdf, .md, .json, .xml (JUnit), .sarif, .svg (badge), .txt; "
        "repeatable",
        also={
            "plan": "write the plan: .html, .md, .json, .txt, or its curve: .svg, .png; repeatable",
            "missing": "write .html, .md, .json or .txt; repeatable",
            "remedy": "write a report: .html, .md, .json or .txt; repeatable",
            "compare": "write a report: .html, .md (a comment on a change), .json or .txt; "
            "repeatable",
            "monitor": "write a report: .html, .md, .json or .txt; repeatable",
        },
        file=("test",),
    ),
    *COVER,
    option("sign", TEXT, "KEY", "sign the JSON by this private Ed25519 key (PEM)"),
    option(
        "suppress",
        WHOLE,
        "K",
        f"mask groups of fewer than K people in all output (default: {SUPPRESS}; 0: none)",
        also={
            "missing": "leave groups of fewer than K people out of the gaps (default: "
            f"{SUPPRESS}; 0: none)",
            "counts": "leave out counts of fewer than K rows, and others that give them away "
            "(default: 0, none)",
        },
        default=SUPPRESS,
        file=("test", "plan", "remedy", "compare"),
    ),
    option(
        "strict",
        ON,
        None,
        "inconclusive counts as a violation: exit status 1, a failure in JUnit",
        file=("test",),
    ),
    option(
        "json",
        ON,
        None,
        "print the result as JSON",
        also={"metrics": "print the numbers as JSON"},
        default=False,
    ),
    option("jobs", COUNT, "N", "processes (1)", default=1, goes_to="copies", argument="n_jobs"),
    option(
        "resume",
        TEXT,
        "FILE",
        "keep finished copies in FILE; after an interruption the same command goes on there",
        also={
            "remedy": "keep trained models and finished copies in FILE; after an interruption "
            "the same command goes on there"
        },
    ),
    option(
        "engine",
        TEXT,
        None,
        "test in shards of Parquet (local, dask), or count (duckdb: files; sql: SQLite)",
        names=known_names.engines,
        closed=True,
        file=("test",),
    ),
    option(
        "scheduler",
        TEXT,
        "ADDRESS",
        "of a running Dask, as in tcp://host:8786 (default: --jobs workers on this machine)",
    ),
    option("shards", COUNT, "N", "test in N shards (default: by size)", file=("test",)),
    option("config", TEXT, "FILE", "settings, instead of the project's"),
)

TABLE = {entry.name: entry for entry in _OPTIONS}
MODEL = ("model", "trust", "isolate", "sandbox")
ROLES = (
    "data",
    *(entry.name for entry in _OPTIONS if entry.goes_to == "roles" and entry.name != "counts"),
)
_COUNTS = ("counts", "table")
_RUN = ("jobs", "memory", "resume", "engine", "scheduler", "shards", "config")
_OUTPUT = ("report", "sign", "suppress", "strict", "json")
#: Heading in the help → its options.
GROUPS = {
    "model": MODEL,
    "table": (*ROLES, *_COUNTS),
    "audit": tuple(
        name for name in TABLE if name not in (*MODEL, *ROLES, *_COUNTS, *_RUN, *_OUTPUT)
    ),
    "output": _OUTPUT,
    "run": _RUN,
}


_OWN = "of this command"


def _find_group(entry: Option) -> str:
    """The heading of an option in the help; what a single command has stands first."""
    if TABLE.get(entry.name) is not entry:
        return _OWN
    return next((group for group, names in GROUPS.items() if entry.name in names), "audit")


def add_options(
    parser: argparse.ArgumentParser, command: str, wanted: Sequence[str | Option]
) -> None:
    """Give a command these options: names of the table, and its own."""
    taken = tuple(TABLE[entry] if isinstance(entry, str) else entry for entry in wanted)
    present = {_find_group(entry) for entry in taken}
    headings = [heading for heading in (_OWN, *GROUPS) if heading in present]
    groups = {heading: parser.add_argument_group(heading) for heading in headings}
    for entry in taken:
        entry.add_to(groups[_find_group(entry)], command)
    parser.set_defaults(options=taken)


def given_to(part: str, args: argparse.Namespace) -> dict[str, Any]:
    """What the command line and the settings say to this part of the library."""
    values = {
        entry.parameter: getattr(args, entry.dest)
        for entry in args.options
        if entry.goes_to == part
    }
    return {name: value for name, value in values.items() if value is not None}
