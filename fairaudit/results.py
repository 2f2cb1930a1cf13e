"""Results find their renderers through entry points; the library imports no report code."""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import Any

from fairaudit.errors import InputError

__all__ = ["format_of", "known_form", "known_format", "now", "render", "report_formats", "save"]


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
    from fairaudit.data.reading.write import write_text

    write_text(path, render(result, group, format_of(path)))
    return Path(path)


def report_formats() -> dict[str, Any]:
    """Installed renderers by format, as entry points of the group ``fairaudit.reports``."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group="fairaudit.reports")}


def format_of(path: str | Path) -> str:
    """The format that a file name asks for."""
    return Path(path).suffix.lower().lstrip(".")


def known_format(form: str) -> str:
    """The format, if a renderer for it is installed."""
    known = report_formats()
    if form not in known:
        raise InputError(
            f"There is no report format {form or '(none)'!r}. Use one of: "
            f"{', '.join(sorted(known))}."
        )
    return form


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "item"):  # numpy's scalars
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def now() -> str:
    """Now in UTC; the time of SOURCE_DATE_EPOCH where reports must be reproducible to the byte."""
    import os
    from datetime import datetime, timezone

    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = (
        datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    )
    return moment.isoformat(timespec="seconds")
