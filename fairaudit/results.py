"""What every result can do: become a record and come back, be rendered, and be saved.

Renderers are found through entry points; the library imports no report code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from fairaudit.errors import InputError
from fairaudit.records.canonical import DIGEST, digest_of, has_digest, is_unchanged, parse_json

__all__ = [
    "SUPPRESS",
    "Result",
    "as_plain",
    "check_format",
    "format_of",
    "json_text",
    "not_shown",
    "now",
    "read_record",
]

#: Groups of fewer people are masked unless the caller says otherwise.
SUPPRESS = 10
#: Entry points: a format's name → a function of a result that gives text (or bytes). A function
#: that shows some results only has a method ``shows(type) -> bool``.
GROUP = "fairaudit.reports"

R = TypeVar("R", bound="Result")


class Result:
    """The base of every result: frozen dataclasses whose fields are plain, or dataclasses again.

    Attributes
    ----------
    schema : str
        Name and version of the record; the number grows when a field changes its meaning.
    plural : str
        What several such results are called in messages.
    derived : tuple of str
        Properties that the record begins with; they are not read back.
    """

    __slots__ = ()
    schema: ClassVar[str]
    plural: ClassVar[str]
    derived: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; undefined numbers are None."""
        first = {"schema": self.schema, **{name: getattr(self, name) for name in self.derived}}
        return as_plain(first) | _encode(self)

    @classmethod
    def from_dict(cls: type[R], record: Mapping[str, Any]) -> R:
        """The inverse of `to_dict`."""
        made: R = _decode(cls, record, "")
        return made

    @classmethod
    def load(cls: type[R], path: str | Path) -> R:
        """From a file that `save` has written as .json."""
        return cls.from_dict(read_record(path))

    @classmethod
    def fields_of(cls, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The record with the keys of today, where an earlier version had others."""
        return record

    def to_record(self) -> dict[str, Any]:
        """`to_dict` with the digest over all of it."""
        record: dict[str, Any] = as_plain(self.to_dict())
        return {**record, DIGEST: digest_of(record)}

    def to_json(self) -> str:
        """The record as text, with its digest."""
        return json_text(self.to_record()) + "\n"

    def with_note(self: R, note: str) -> R:
        """The same with a note before the others, where it has notes."""
        if "notes" not in {field.name for field in fields(cast(Any, self))}:
            return self
        made: R = replace(cast(Any, self), notes=(note, *cast(Any, self).notes))
        return made

    def suppressed(self: R, fewest: int) -> R:
        """The same with groups of fewer than `fewest` people masked, where it shows any.

        A result that was masked as it was made (its `suppress`; None in records of older versions)
        has no rows to measure anew, and is refused where more is to be masked.
        """
        made = getattr(self, "suppress", None)
        if made is not None and made < fewest:
            raise InputError(
                f"This result was made with 'suppress' {made} and cannot be masked afterwards. "
                f"Make it again with 'suppress' {fewest}, or pass 'suppress' {made} here.",
                argument="suppress",
            )
        return self

    def render(self, form: str, **options: Any) -> Any:
        """The result in an installed format (``"html"``, ``"md"``, …): text, bytes of pictures."""
        return _renderers()[check_format(form, type(self))].load()(self, **options)

    def save(self, path: str | Path, *, suppress: int = SUPPRESS) -> Path:
        """Write a report: all of the file or nothing. The extension names the format.

        Groups of fewer than `suppress` people are masked; 0 shows all.
        """
        from fairaudit.data.reading.write import write_bytes

        form = check_format(format_of(path), type(self))
        content = self.suppressed(suppress).render(form)
        write_bytes(path, content if isinstance(content, bytes) else str(content).encode())
        return Path(path)

    def summary(self) -> str:
        """As plain text."""
        return str(self.render("txt"))


def format_of(path: str | Path) -> str:
    """The format that a file name asks for."""
    return Path(path).suffix.lower().lstrip(".")


def check_format(form: str, kind: type[Result]) -> str:
    """The format, if it is installed and shows results of this kind."""
    known = _renderers()
    if form not in known:
        missing = f"There is no report format {form!r}" if form else "A report needs an ending"
        raise InputError(f"{missing}. {_others(kind)}")
    if not _shows(known[form].load(), kind):
        raise not_shown(form, kind)
    return form


def not_shown(form: str, kind: type) -> InputError:
    """For a format that has no picture of this kind of result."""
    what = getattr(kind, "plural", kind.__name__)
    return InputError(f"The format {form!r} does not show {what}. {_others(kind)}")


def _others(kind: type) -> str:
    return f"Use one of: {', '.join(sorted(filter(_can_show(kind), _renderers())))}."


def _can_show(kind: type) -> Any:
    def test(form: str) -> bool:
        try:
            return _shows(_renderers()[form].load(), kind)
        except Exception:  # an installed format that cannot be imported is no way out
            return False

    return test


def _shows(renderer: Any, kind: type) -> bool:
    return not hasattr(renderer, "shows") or bool(renderer.shows(kind))


def _renderers() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


#: Characters that a terminal or the log of a CI runner obeys, or that reverse the text after them;
#: in JSON escapes mean the same.
_OBEYED = {
    k: f"\\u{k:04x}" for k in (*range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}


def json_text(facts: Any) -> str:
    """JSON for programs; undefined numbers (NaN) become null.

    Examples
    --------
    >>> json_text({"value": float("nan")}).split()
    ['{', '"value":', 'null', '}']
    """
    text = json.dumps(as_plain(facts), indent=2, ensure_ascii=False)
    return text.replace("##", "#\\u0023").translate(_OBEYED)


def read_record(path: str | Path, *, changed: bool = False) -> Mapping[str, Any]:
    """A saved record as a mapping; one that was edited is refused, unless `changed` allows it.

    Records of 0.1 have no digest: nothing tells whether they were changed.
    """
    name = str(path)
    try:
        record = parse_json(Path(path).read_text(encoding="utf-8"))
        edited = isinstance(record, Mapping) and has_digest(record) and not is_unchanged(record)
    except FileNotFoundError:
        raise InputError(f"There is no file {name!r}. Pass a saved result (.json).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file {name!r} cannot be read: {error}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The file {name!r} is not JSON, or was cut off: {error}. Pass a saved result (.json)."
        ) from None
    if not isinstance(record, Mapping):
        raise InputError(f"The file {name!r} holds no record of fairaudit.")
    if edited and not changed:
        raise InputError(
            f"The record {name!r} was changed after it was made: its digest does not fit. Do not "
            "believe its numbers; get the file from its author again, or repeat the audit."
        )
    return record


def now() -> str:
    """Now in UTC; the time of SOURCE_DATE_EPOCH where reports must be reproducible to the byte."""
    import os
    from datetime import datetime, timezone

    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = (
        datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    )
    return moment.isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """A field of a dataclass in its record; its `metadata` may give another ``"key"``, or None."""

    name: str
    key: str | None
    kind: Any
    optional: bool


@cache
def _layout(kind: type) -> tuple[_Field, ...]:
    hints = get_type_hints(kind)
    return tuple(
        _Field(
            name=field.name,
            key=field.metadata.get("key", field.name),
            kind=hints[field.name],
            optional=field.default is not MISSING or field.default_factory is not MISSING,
        )
        for field in fields(kind)
    )


def as_plain(value: Any) -> Any:
    """Values of JSON for anything that a result holds; undefined numbers are None."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    if is_dataclass(value):
        return _encode(value)
    if hasattr(value, "itertuples"):  # a table
        return as_plain(value.to_dict("records"))
    if hasattr(value, "item"):  # numpy's scalars
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _encode(value: Any) -> dict[str, Any]:
    return {
        field.key: as_plain(getattr(value, field.name))
        for field in _layout(value.__class__)
        if field.key is not None
    }


def _decode(kind: Any, value: Any, path: str) -> Any:
    """The inverse of `as_plain`, by the type of a field."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        if value is None and NoneType in inside:
            return None
        (kind,) = (one for one in inside if one is not NoneType)
        return _decode(kind, value, path)
    if is_dataclass(kind):
        return _decode_dataclass(kind, value, path)
    if origin is tuple:
        return _decode_tuple(inside, value, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        if value not in [member.value for member in kind]:
            raise _damaged(path, f"is not one of {', '.join(m.value for m in kind)}", value)
        return kind(value)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise _damaged(path, "is not an object", value)
        return {key: _decode(inside[1], item, f"{path}.{key}") for key, item in value.items()}
    if kind is float:
        if value is None:
            return math.nan
        right = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif kind in _WORDS:
        right = type(value) is kind
    else:  # a table
        return kind(list(_decode_tuple((dict[str, Any], ...), value, path)))
    if not right:
        raise _damaged(path, f"is not {_WORDS[kind]}", value)
    return value


_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    float: "a number",
}


def _decode_tuple(inside: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise _damaged(path, "is not a list", value)
    kinds = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
    if len(kinds) != len(value):
        raise _damaged(path, f"does not have {len(kinds)} values", value)
    pairs = zip(kinds, value, strict=True)
    return tuple(_decode(kind, item, f"{path}[{k}]") for k, (kind, item) in enumerate(pairs))


def _decode_dataclass(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, Mapping):
        raise _damaged(path, "is not an object", value)
    if issubclass(kind, Result):
        _check_schema(kind, value.get("schema"))
        value = kind.fields_of(value)
    made = {}
    for field in _layout(kind):
        where = f"{path}.{field.key}" if path else str(field.key)
        if field.key in value:
            made[field.name] = _decode(field.kind, value[field.key], where)
        elif not field.optional:
            raise InputError(f"The record is damaged: {where} is missing. Write it again.")
    return kind(**made)


def _check_schema(kind: type[Result], found: Any) -> None:
    if found == kind.schema:
        return
    name, _, number = kind.schema.rpartition("/")
    other, _, newer = str(found).rpartition("/")
    if other == name and newer.isdigit() and int(newer) > int(number):
        raise InputError(
            f"The record has the form {found!r}, and this version of fairaudit reads "
            f"{kind.schema!r}. Read it with the version that wrote it, or a later one."
        )
    raise InputError(
        f"This is not a record of the form {kind.schema!r} (its schema is {found!r}). "
        "Pass a .json file that fairaudit has written."
    )


def _damaged(path: str, why: str, value: Any) -> InputError:
    text = repr(value)
    shown = text if len(text) <= 60 else f"{text[:60]}…"
    return InputError(f"The record is damaged: {path or 'it'} {why}. Got {shown}. Write it again.")
