"""What people put on a report: options, and the table [tool.fairaudit.report] of a project."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError
from fairaudit_cli.option_values import TEXT, Option, option
from fairaudit_cli.shell_text import command_line

if TYPE_CHECKING:
    from fairaudit_reports.view.cover import Cover

__all__ = ["COVER", "cover_from", "split_table"]

#: Options of every command that writes reports; the same keys stand in the table.
COVER: tuple[Option, ...] = (
    option("title", TEXT, "TEXT", "title of the reports; they get a place to sign"),
    option("model-name", TEXT, "TEXT", "name of the model on the reports"),
    option("model-version", TEXT, "TEXT", "its version"),
    option("purpose", TEXT, "TEXT", "what the model is for"),
    option("auditor", TEXT, "NAME", "who answers for the reports; they get a place to sign"),
    option("next-review", TEXT, "DATE", "when the model is to be audited again"),
)
_KEYS = [entry.dest for entry in COVER]
_TABLES = ("names", "levels")


def split_table(table: Mapping[str, Any], path: Path) -> tuple[Any, dict[str, Any]]:
    """The files that are named in the table, and what goes on the reports."""
    cover = {key: value for key, value in table.items() if key != "files"}
    for key, value in cover.items():
        place = f"{path}: report.{key}"
        if key in _TABLES:
            _check_names(value, place, levels=key == "levels")
        elif key not in _KEYS:
            near = get_close_matches(key, ["files", *_KEYS, *_TABLES], n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(_KEYS)}."
            raise InputError(f"{path}: there is no setting 'report.{key}'. {hint}")
        elif not isinstance(value, str):
            raise InputError(f"{place} must be text. Got {value!r}.")
    return table.get("files"), cover


def _check_names(value: Any, place: str, *, levels: bool) -> None:
    known = isinstance(value, dict) and all(
        isinstance(item, dict) and all(isinstance(text, str) for text in item.values())
        if levels
        else isinstance(item, str)
        for item in value.values()
    )
    if not known:
        example = 'race = {0 = "African-American"}' if levels else 'AGEP = "age"'
        raise InputError(f"{place} must be a table such as {example}. Got {value!r}.")


def cover_from(args: argparse.Namespace) -> Cover:
    """What the command line and the project say; what was typed wins."""
    from fairaudit_reports.view.cover import Cover

    given = dict(getattr(args, "cover", None) or {})
    given |= {key: text for key in _KEYS if (text := getattr(args, key, None)) is not None}
    return Cover(
        title=given.get("title"),
        model=given.get("model_name"),
        model_version=given.get("model_version"),
        purpose=given.get("purpose"),
        auditor=given.get("auditor"),
        next_review=given.get("next_review"),
        names=given.get("names", {}),
        levels=given.get("levels", {}),
        command=command_line(args.argv) if hasattr(args, "argv") else None,
        data=tuple(getattr(args, "sources", ())),
    )
