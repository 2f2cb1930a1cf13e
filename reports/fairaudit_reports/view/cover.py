"""What people put on a report: its title, who answers for it, and names that readers know.

A cover holds while a report is rendered (`use_cover`); none of it is part of a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairaudit.data.facts import ColumnFacts, Source

__all__ = [
    "SIGN_STATEMENT",
    "Cover",
    "current_cover",
    "level_label",
    "level_labels",
    "name_label",
    "name_labels",
    "trace_column",
    "use_cover",
]


SIGN_STATEMENT = "I have read this report. Its record (JSON) is kept with it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """What stands on a report beside the result.

    Attributes
    ----------
    title, model, model_version, purpose, auditor, next_review : str or None
    names : mapping
        Column → its name for readers.
    levels : mapping
        Column → level → its name for readers.
    command : str or None
        That was run, for results that do not keep it.
    data : tuple of Source
        That it read.
    """

    title: str | None = None
    model: str | None = None
    model_version: str | None = None
    purpose: str | None = None
    auditor: str | None = None
    next_review: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    command: str | None = None
    data: tuple[Source, ...] = ()

    @property
    def is_signed(self) -> bool:
        """Whether somebody answers for the report, so that it has a place to sign."""
        return self.auditor is not None or self.title is not None


_COVER: ContextVar[Cover | None] = ContextVar("cover", default=None)


def current_cover() -> Cover:
    return _COVER.get() or Cover()


@contextmanager
def use_cover(cover: Cover) -> Iterator[None]:
    """Render with this cover."""
    token = _COVER.set(cover)
    try:
        yield
    finally:
        _COVER.reset(token)


def name_label(name: str) -> str:
    """A column for readers.

    Examples
    --------
    >>> with use_cover(Cover(names={"AGEP": "age"})):
    ...     name_label("AGEP"), name_label("SEX")
    ('age', 'SEX')
    """
    return current_cover().names.get(name, name)


def name_labels(names: Sequence[str]) -> list[str]:
    """Columns for readers."""
    return [name_label(name) for name in names]


def level_label(name: str, level: str) -> str:
    """A level of a column for readers."""
    return current_cover().levels.get(name, {}).get(level, level)


def level_labels(names: Sequence[str], levels: Sequence[str]) -> list[str]:
    """The levels of a group for readers."""
    return [level_label(name, level) for name, level in zip(names, levels, strict=True)]


def trace_column(column: ColumnFacts) -> ColumnFacts:
    """A column with names for readers beside those of the data: ``age (AGEP)``, ``women (F)``."""
    return replace(
        column,
        name=_trace(name_label(column.name), column.name),
        levels=tuple(_trace(level_label(column.name, level), level) for level in column.levels),
    )


def _trace(label: str, raw: str) -> str:
    return raw if label == raw else f"{label} ({raw})"
