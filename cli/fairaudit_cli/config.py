"""Settings of a project: `[tool.fairaudit]` in pyproject.toml, or the file fairaudit.toml."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from fairaudit._words import clipped
from fairaudit.errors import InputError
from fairaudit.results import SUPPRESS
from fairaudit_cli.cover_options import split_table
from fairaudit_cli.option_values import Option
from fairaudit_cli.options import TABLE

__all__ = ["KEYS", "read_cover", "settle"]

#: What the file may say.
KEYS = tuple(name for name, entry in TABLE.items() if entry.file)
_PATHS = ("model", "data", "report")
#: A model that is imported: whatever is not a path with a drive (C:\\models) and has a colon.
_FUNCTION = re.compile(r"(?![A-Za-z]:[\\/]).*:.*", re.DOTALL)
#: Words with dots between them; anything else is a query.
_TABLE = re.compile(r"\w+(?:\.\w+)*")
_FILE = "fairaudit.toml"
_COVER = "[report]"  # no key of a file


def settle(args: argparse.Namespace, *, needs_all: bool = False) -> argparse.Namespace:
    """The command line, completed by the project's file and by defaults; what was typed wins.

    `needs_all` is for commands that draw all copies and cannot stop early.
    """
    if hasattr(args, "config"):
        _read_settings(args)
    if needs_all and args.permutations == "auto":
        raise InputError(
            f"permutations = auto stops drawing copies early, and fairaudit {args.argv[0]} needs "
            "all of them. Pass --permutations N, which wins over the settings."
        )
    for entry in args.options:
        if getattr(args, entry.dest) is None:
            default = entry.elsewhere.get(args.argv[0], entry.default)
            setattr(args, entry.dest, default)
    return args


def _read_settings(args: argparse.Namespace) -> None:
    path = _config_path(args.config)
    if path is None:
        return
    settings = _settings(path, args.options)
    args.cover = settings.pop(_COVER, {})
    if args.config is None and path.parent != Path():
        print(f"fairaudit: settings from {path}", file=sys.stderr)
    for typed, other in (("model", "predictions"), ("predictions", "model")):
        if getattr(args, typed, None) is not None:
            settings.pop(other, None)  # what was typed wins
    if getattr(args, "sandbox", None) is False:
        settings.pop("isolate", None)
    for entry in args.options:
        read = args.argv[0] in entry.file and entry.name in settings
        if read and getattr(args, entry.dest) is None:
            setattr(args, entry.dest, _convert(entry, settings[entry.name], path))


def read_cover(args: argparse.Namespace) -> None:
    """What the project says goes on reports, for a command that reads no other settings."""
    path = _config_path(None)
    args.cover = {} if path is None else _settings(path, ())[_COVER]


def _config_path(given: str | None) -> Path | None:
    if given is not None:
        if not Path(given).is_file():
            raise InputError(f"There is no file {given!r}. Check --config.")
        return Path(given)
    for path in _candidates():
        if path.name == _FILE or b"[tool.fairaudit" in path.read_bytes():
            return path
    return None


def _candidates() -> Iterator[Path]:
    """Files of the working folder and of those above it, up to the root of its repository.

    Where there is no repository, a file above must have the owner of the working folder: what
    somebody else left in, say, /tmp does not set the level of an audit.
    """
    here = Path().resolve()
    folders = [here, *here.parents]
    root = next((k for k, folder in enumerate(folders) if (folder / ".git").exists()), None)
    for steps in range(len(folders) if root is None else root + 1):
        for name in (_FILE, "pyproject.toml"):
            path = Path(*[".."] * steps, name)
            foreign = steps and root is None
            if path.is_file() and not (foreign and path.stat().st_uid != here.stat().st_uid):
                yield path


def _settings(path: Path, options: Iterable[Option]) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found,no-redef]
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None
    if path.name == "pyproject.toml" or "tool" in content:
        tools = content.get("tool", {})
        content = tools.get("fairaudit", {}) if isinstance(tools, dict) else tools
        if not isinstance(content, dict):
            raise InputError(f"{path}: [tool.fairaudit] must be a table of settings.")
    cover: dict[str, Any] = {}
    if isinstance(content.get("report"), dict):
        files, cover = split_table(content["report"], path)
        content = {key: value for key, value in content.items() if key != "report"}
        content |= {} if files is None else {"report": files}
    others = {**TABLE, **{entry.name: entry for entry in options}}
    for key in content:
        if key in KEYS:
            continue
        if key in others:
            raise InputError(
                f"{path}: {key!r} cannot be set in a file. Pass {others[key].flag} on the command "
                "line."
            )
        near = get_close_matches(key, KEYS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(KEYS)}."
        raise InputError(f"{path}: there is no setting {key!r}. {hint}")
    return {**content, _COVER: cover}


def _convert(entry: Option, value: Any, path: Path) -> Any:
    """A value of the file in the form that the command line gives."""
    key = entry.name
    try:
        value = entry.kind.take(value)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{path}: {key!r} {error}.") from None
    known = entry.names() if entry.closed and entry.names is not None else None
    if known is not None and value not in known:
        raise InputError(
            f"{path}: {key!r} must be one of {', '.join(known)}. Got {value!r} instead."
        )
    _refuse_danger(key, value, path)
    if key not in _PATHS:
        return value
    place = _within if key == "report" else _beside
    if isinstance(value, list):
        return [place(path, name) for name in value]
    return place(path, value)


def _refuse_danger(key: str, value: Any, path: Path) -> None:
    """A file comes with a repository: it may make an audit stricter and may not run code."""
    if key == "suppress" and value < SUPPRESS:
        raise InputError(
            f"{path}: 'suppress' can only be stricter than {SUPPRESS} in a file. Got {value}; pass "
            "--suppress on the command line."
        )
    if key == "isolate":
        from fairaudit.models.sandbox import Limits

        limits, most = Limits.parse(value), Limits()
        if limits.memory > most.memory or limits.seconds > most.seconds:
            raise InputError(
                f"{path}: 'isolate' can only be stricter than {most.size.replace(' ', '')},"
                f"{most.seconds}s in a file. Got {value!r}; pass --isolate on the command line."
            )
    if key == "table" and not _TABLE.fullmatch(value):
        raise InputError(
            f"{path}: 'table' must be the name of a table here; {clipped(value)} would be run as "
            "a query. Pass --table on the command line."
        )
    if key == "model" and _FUNCTION.fullmatch(value):
        raise InputError(
            f"{path}: 'model' must be a file here; {value!r} would run code of the project, "
            "or call a service. Pass --model on the command line."
        )


def _within(config: Path, name: str) -> str:
    """A file to be written, which must lie in the folder of the settings or below it."""
    root = config.parent.resolve()
    if not (root / name).resolve().is_relative_to(root):
        raise InputError(
            f"{config}: 'report' {name!r} lies outside of the project. Name a file below "
            f"{str(root)!r}, or pass --report on the command line."
        )
    return str(config.parent / name)


def _beside(config: Path, name: str) -> str:
    """Paths are relative to the file that names them."""
    if name == "-" or Path(name).is_absolute():
        return name
    return str(config.parent / name)
