"""Results find their renderers through entry points; the library imports no report code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairaudit.errors import InputError

__all__ = ["known_form", "render", "save"]


def known_form(group: str, form: str) -> str:
    """The format, if a renderer of this group is installed for it."""
    from importlib.metadata import entry_points

    known = sorted(entry_points(group=group).names)
    if form not in known:
        raise InputError(
            f"There is no report format {form or '(none)'!r}. Use one of: {', '.join(known)}."
        )
    return form


def render(result: Any, group: str, form: str) -> str:
    """The result in one of the installed formats of its group."""
    from importlib.metadata import entry_points

    (renderer,) = entry_points(group=group, name=known_form(group, form))
    return str(renderer.load()(result))


def save(result: Any, group: str, path: str | Path) -> Path:
    """Write a report; the extension of `path` names the format."""
    from fairaudit.files import write_text
    from fairaudit.result import format_of

    write_text(path, render(result, group, format_of(path)))
    return Path(path)
