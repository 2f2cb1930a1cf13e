"""`fairaudit init`: looks around, asks what it cannot see, writes settings and a file for CI."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairaudit._words import quiet
from fairaudit.data.reading.write import write_text
from fairaudit.errors import FairAuditError, InputError
from fairaudit_cli.ci_files import CI_FILES, find_package
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import load_from
from fairaudit_cli.option_values import ON, TEXT, names_in, option
from fairaudit_cli.options import MODEL, add_options

__all__ = ["OPTIONS", "add_arguments", "run"]

_MODELS = (".pkl", ".pickle", ".joblib", ".skops", ".onnx", ".keras", ".pt2")
_TABLES = (".csv", ".tsv", ".parquet", ".pq", ".arrow", ".feather")
_FOLDERS = (".", "models", "model", "data", "artifacts")
_HELD_OUT = re.compile(r"test|hold|valid|eval", re.IGNORECASE)
_PREDICTED = re.compile(
    r"score|pred(iction|icted)?s?|prob(a|ability)?|y_?hat|y_?pred", re.IGNORECASE
)
_SENSITIVE = re.compile(
    r"race|ethnic\w*|sex|gender|age|religion|disab\w*|national\w*|citizen\w*|marital\w*|color",
    re.IGNORECASE,
)
_REPORTS = ("fairaudit-report/report.html", "fairaudit-report/audit.json")
_NO_CI = "none"

OPTIONS = (
    *MODEL,
    "data",
    "sensitive",
    "outcome",
    "predictions",
    option(
        "ci",
        TEXT,
        None,
        "which CI file to write (default: github)",
        names=lambda: (*CI_FILES, _NO_CI),
        closed=True,
        default="github",
    ),
    option(
        "package",
        TEXT,
        "REQUIREMENT",
        "what pip installs in CI: a wheel, or an address such as git+https://host/group/fairaudit",
    ),
    option("force", ON, None, "write over settings and a CI file that are there", default=False),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "What is not given is looked for here: one model file, one table (test, holdout, …), "
        "columns called race, sex, age, …; on a terminal it is asked for. Settings go to "
        "[tool.fairaudit] of pyproject.toml if there is one, otherwise to fairaudit.toml. "
        "Exit status: 0 written, 2 bad input."
    )
    add_options(parser, "init", OPTIONS)


def run(args: argparse.Namespace) -> int:
    target = _find_target(force=args.force)
    ci = None if args.ci == _NO_CI else Path(CI_FILES[args.ci].path)
    if ci is not None and ci.exists() and not args.force:
        raise InputError(f"{str(ci)!r} is there already. Pass --force, or --ci none.")
    for path in (target, *([] if ci is None else [ci])):
        _inside(path)  # before any work
    found = _look_around(args)
    package = ""
    written = [_write_settings(target, found)]
    if ci is not None:
        package = args.package or find_package()
        write_text(_inside(ci), CI_FILES[args.ci].make(package))
        written.append(str(ci))
    print(quiet(f"wrote {' and '.join(written)}"))
    for line in found.to_toml().splitlines():
        print(quiet(f"  {line}"))
    print("Next: fairaudit test")
    if ci is not None and not package:
        print(f"Then say in {ci} what pip installs there (FAIRAUDIT_PACKAGE), or pass --package.")
    return ExitCode.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What an audit needs to know."""

    model: str | None
    predictions: tuple[str, ...]
    data: tuple[str, ...]
    sensitive: tuple[str, ...]
    outcome: str | None

    def to_toml(self) -> str:
        values: dict[str, object] = {}
        if self.model is not None:
            values["model"] = self.model
        if self.predictions:
            values["predictions"] = list(self.predictions)
        values["data"] = self.data[0] if len(self.data) == 1 else list(self.data)
        values["sensitive"] = list(self.sensitive)
        if self.outcome is not None:
            values["outcome"] = self.outcome
        values["report"] = list(_REPORTS)
        # strings and lists of JSON are those of TOML, but for one letter
        return "".join(
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items()
        ).replace("\x7f", "\\u007f")


def _inside(path: Path) -> str:
    """Where a file goes that a link may stand for: one of a stranger could be that of a shell."""
    place, here = os.path.realpath(path), os.path.realpath("")
    if os.path.commonpath([place, here]) != here:
        raise InputError(
            f"{str(path)!r} leads out of this folder, to {place!r}. Remove the link, or write the "
            "settings yourself."
        )
    return place


def _find_target(*, force: bool) -> Path:
    """Where settings go; those of others are not written over."""
    own, shared = Path("fairaudit.toml"), Path("pyproject.toml")
    if own.exists() and not force:
        raise InputError("'fairaudit.toml' is there already. Edit it, or pass --force.")
    if shared.exists() and not own.exists():
        if "[tool.fairaudit" in _read(shared):
            raise InputError("'pyproject.toml' has [tool.fairaudit] already. Edit it there.")
        return shared
    return own


def _write_settings(target: Path, found: _Found) -> str:
    text = found.to_toml()
    if target.name == "pyproject.toml":
        text = f"{_read(target).rstrip()}\n\n[tool.fairaudit]\n{text}"
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            "The name of a file or column here is no text (it is not UTF-8). Rename it, or name "
            "others: --model, --data."
        ) from None
    write_text(_inside(target), text)
    return str(target)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}.") from None


def _look_around(args: argparse.Namespace) -> _Found:
    from fairaudit.data.reading.files import read_tables

    predictions = names_in(args.predictions)
    model = args.model
    if model is None and not predictions:
        model = _choose("model", _list_files(_MODELS), needed=False)
    data = tuple(args.data or ())
    if not data:
        tables = _list_files(_TABLES)
        held_out = [name for name in tables if _HELD_OUT.search(Path(name).stem)]
        data = (str(_choose("data", held_out or tables)),)
    frame, _ = read_tables(data)
    columns = list(map(str, frame.columns))
    if model is None and not predictions:
        likely = [name for name in columns if _PREDICTED.fullmatch(name)]
        chosen = _choose("predictions", likely, of="column", others=columns)
        predictions = (str(chosen),)
    sensitive = names_in(args.sensitive) or _find_sensitive(columns)
    outcome = args.outcome or _find_outcome(args, model, predictions, sensitive, columns)
    return _Found(
        model=model, predictions=predictions, data=data, sensitive=sensitive, outcome=outcome
    )


def _list_files(endings: Sequence[str]) -> list[str]:
    """In this folder and in those where such files usually lie."""
    names = (
        os.path.normpath(os.path.join(folder, name))
        for folder in _FOLDERS
        if os.path.isdir(folder)
        for name in sorted(os.listdir(folder))
    )
    return [name for name in names if Path(name).suffix.lower() in endings]


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _choose(
    role: str,
    candidates: Sequence[str],
    *,
    of: str = "file",
    others: Sequence[str] = (),
    needed: bool = True,
) -> str | None:
    """The only candidate; of several the one that is asked for."""
    if len(candidates) == 1:
        return candidates[0]
    if not candidates and not needed:
        return None
    if _can_ask():
        return _ask(f"{role} ({of})", candidates or others)
    listed = f": {', '.join(candidates)}" if candidates else ""
    why = f"several {of}s could be it{listed}" if candidates else f"there is no {of} for it here"
    raise InputError(f"What is --{role}? {why[0].upper()}{why[1:]}. Pass --{role}.")


def _ask(what: str, known: Sequence[str]) -> str:
    """An answer from the terminal: a name, or its number in the list."""
    for number, name in enumerate(known, 1):
        print(quiet(f"  {number}  {name}"), file=sys.stderr)
    while True:
        print(f"{what}? ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise InputError(f"No answer for {what}.")
        answer = line.strip()
        if answer.isdigit() and 1 <= int(answer) <= len(known):
            return known[int(answer) - 1]
        if answer:
            return answer


def _find_sensitive(columns: Sequence[str]) -> tuple[str, ...]:
    likely = [name for name in columns if _SENSITIVE.fullmatch(name)]
    if _can_ask():
        default = ",".join(likely)
        print(quiet(f"columns: {', '.join(columns)}"), file=sys.stderr)
        print(quiet(f"sensitive [{default}]? "), end="", file=sys.stderr, flush=True)
        return names_in(sys.stdin.readline().strip()) or tuple(likely)
    if not likely:
        raise InputError(
            f"What is --sensitive? No column has a name such as race, sex or age: "
            f"{', '.join(columns)}. Pass --sensitive COLUMN[,COLUMN…]."
        )
    return tuple(likely)


def _find_outcome(
    args: argparse.Namespace,
    model: str | None,
    predictions: tuple[str, ...],
    sensitive: tuple[str, ...],
    columns: Sequence[str],
) -> str | None:
    """As the audit would find it."""
    from fairaudit.data.roles import Roles

    predictor = None if model is None else load_from(args, model)
    roles = Roles(sensitive=sensitive, predictions=predictions)
    try:
        return roles.resolve(columns, predictor).outcome
    except FairAuditError:
        if not _can_ask():
            raise
        return _ask("outcome (column)", [name for name in columns if name not in sensitive])
