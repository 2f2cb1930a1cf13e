"""Settings of a project: `[tool.fairaudit]` in pyproject.toml, or the file fairaudit.toml."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairaudit.errors import InputError
from fairaudit.results import SUPPRESS
from fairaudit_cli.options import size

__all__ = ["KEYS", "with_config"]

#: What the file may say: the options of `fairaudit test` by their long names.
KEYS = (
    "model",
    "data",
    "sensitive",
    "outcome",
    "predictions",
    "weights",
    "id",
    "where",
    "missing",
    "on",
    "threshold",
    "positive",
    "classes",
    "alpha",
    "statistic",
    "density",
    "permutations",
    "seed",
    "adjust",
    "pairs",
    "tolerance",
    "certify",
    "power",
    "calibrate",
    "locate",
    "report",
    "suppress",
    "strict",
    "memory",
    "engine",
    "shards",
)
_PATHS = ("model", "data", "report")
#: A model that is imported: whatever is not a path with a drive (C:\\models) and has a colon.
_FUNCTION = re.compile(r"(?![A-Za-z]:[\\/]).*:.*", re.DOTALL)
_LISTS = ("data", "sensitive", "pairs", "report")
_FILE = "fairaudit.toml"


def with_config(args: argparse.Namespace, keys: Sequence[str] = KEYS) -> argparse.Namespace:
    """The command line, completed by these keys of the project's file; what was typed wins."""
    path = _config_path(args.config)
    if path is None:
        return args
    settings = _settings(path)
    if args.config is None and path.parent != Path():
        print(f"fairaudit: settings from {path}", file=sys.stderr)
    for typed, other in (("model", "predictions"), ("predictions", "model")):
        if getattr(args, typed, None) is not None:
            settings.pop(other, None)  # what was typed wins
    for key, value in settings.items():
        if key in keys and getattr(args, key) is None:
            setattr(args, key, _converted(key, value, path))
    return args


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


def _settings(path: Path) -> dict[str, Any]:
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
    for key in content:
        if key == "trust":
            raise InputError(
                f"{path}: 'trust' cannot be set in a file. Pass --trust on the command line."
            )
        if key not in KEYS:
            from difflib import get_close_matches

            near = get_close_matches(key, KEYS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(KEYS)}."
            raise InputError(f"{path}: there is no setting {key!r}. {hint}")
    return content


def _converted(key: str, value: Any, path: Path) -> Any:
    """A value of the file in the form that the command line gives."""
    if key in ("tolerance", "certify"):
        if not isinstance(value, dict) or not all(
            isinstance(limit, (int, float)) and math.isfinite(limit) for limit in value.values()
        ):
            raise InputError(f"{path}: {key!r} must be a table of numbers, as in {{ kpc = 0.01 }}.")
        return {name: float(limit) for name, limit in value.items()}
    if key == "positive" and isinstance(value, (str, int, float)):
        return str(value)
    if key == "classes":
        return _classes(value, path)
    if key in ("alpha", "threshold") and isinstance(value, (int, float)):
        return float(value)
    if key == "permutations" and value == "auto":
        return value
    if key == "memory" and isinstance(value, str):
        return _memory(value, path)
    if key == "engine" and value not in ("local", "dask"):
        raise InputError(f'{path}: \'engine\' must be "local" or "dask". Got {value!r} instead.')
    if key == "shards" and isinstance(value, int) and value < 1:
        raise InputError(f"{path}: 'shards' must be at least 1. Got {value!r} instead.")
    if key in _LISTS:
        value = value if isinstance(value, list) else [value]
        if not all(isinstance(item, str) for item in value):
            raise InputError(f"{path}: {key!r} must be text or a list of texts.")
    expected = {
        "permutations": int,
        "seed": int,
        "suppress": int,
        "shards": int,
        "strict": bool,
        "power": bool,
        "locate": bool,
        "calibrate": bool,
        "alpha": float,
        "threshold": float,
    }.get(key, list if key in _LISTS else str)
    if key in ("predictions", "statistic") and isinstance(value, list):
        value = ",".join(map(str, value))
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise InputError(f"{path}: {key!r} must be {expected.__name__}. Got {value!r} instead.")
    _refuse_danger(key, value, path)
    if key not in _PATHS:
        return value
    place = _within if key == "report" else _beside
    if isinstance(value, list):
        return [place(path, str(item)) for item in value]
    return place(path, str(value))


def _refuse_danger(key: str, value: Any, path: Path) -> None:
    """A file comes with a repository: it may make an audit stricter and may not run code."""
    if key == "suppress" and value < SUPPRESS:
        raise InputError(
            f"{path}: 'suppress' can only be stricter than {SUPPRESS} in a file. Got {value}; pass "
            "--suppress on the command line."
        )
    if key == "model" and _FUNCTION.fullmatch(value):
        raise InputError(
            f"{path}: 'model' must be a file here; {value!r} would run code of the project. Pass "
            "--model on the command line."
        )


def _classes(value: Any, path: Path) -> dict[str, str]:
    known = isinstance(value, dict) and all(
        isinstance(level, (str, int, float)) for level in value.values()
    )
    if not known:
        raise InputError(f"{path}: 'classes' must be a table of levels, as in {{ 0 = \"clear\" }}.")
    return {str(name): str(level) for name, level in value.items()}


def _memory(text: str, path: Path) -> int:
    try:
        return size(text)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{path}: 'memory': {error}") from None


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
