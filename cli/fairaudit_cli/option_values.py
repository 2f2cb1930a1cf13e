"""What an option is, and how its values are written: as words of a shell, and in TOML."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "COLUMNS",
    "COPIES",
    "COUNT",
    "EITHER",
    "FILES",
    "LEVEL",
    "LEVELS",
    "LIMITS",
    "NUMBER",
    "OFF",
    "ON",
    "SIZE",
    "SIZES",
    "STATISTICS",
    "TEXT",
    "TEXTS",
    "WHOLE",
    "Kind",
    "Option",
    "count",
    "finite",
    "names_in",
    "option",
]

#: A name in double quotes (doubled within), or up to the next comma.
_NAME = re.compile(r'\s*"((?:[^"]|"")+)"\s*(?=,|$)|([^,]+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How values are written.

    Attributes
    ----------
    read : callable
        A word of the command line → value; raises `argparse.ArgumentTypeError`.
    take : callable
        A value of TOML → the same; raises `argparse.ArgumentTypeError` too.
    shown : str
        What TOML holds, for the documentation.
    action : mapping
        What argparse is told besides.
    """

    read: Callable[[str], Any]
    take: Callable[[Any], Any]
    type_name: str
    action: Mapping[str, Any] = field(default_factory=dict)


def count(text: str) -> int:
    """A whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return value


def copies(text: str) -> int | str:
    """A whole number of at least 1, or ``auto``."""
    return text if text == "auto" else count(text)


def size(text: str) -> int:
    """Bytes, as in 2GB or 512MB.

    Examples
    --------
    >>> size("2GB"), size("1.5 kB")
    (2000000000, 1500)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(k|M|G|T)i?B?\s*", text, re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a size such as 2GB, got {text!r}")
    return int(float(match[1]) * 1000 ** (1 + "kmgt".index(match[2].lower())))


def finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, got {text!r}")
    return value


def names_in(texts: Iterable[str] | str | None) -> tuple[str, ...]:
    """Names given one by one, with commas, or both; double quotes keep commas in a name.

    Examples
    --------
    >>> names_in(['race, sex', '"income, net",age'])
    ('race', 'sex', 'income, net', 'age')
    """
    parts = [texts] if isinstance(texts, str) else list(texts or ())
    matches = [name for part in parts for name in re.findall(_NAME, part)]
    return tuple(
        quoted.replace('""', '"') or plain.strip()
        for quoted, plain in matches
        if quoted or plain.strip()
    )


def sizes_in(text: str) -> dict[str, float]:
    """``kpc=0.01,deo=0.1`` as a mapping."""
    limits = {}
    for part in names_in(text):
        name, equals, number = part.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"must be measure=size, got {part!r}")
        limits[name.strip()] = finite(number)
    return limits


def levels_in(text: str) -> dict[str, str]:
    """``0=clear,1=arrested`` as a mapping.

    Examples
    --------
    >>> levels_in('0=clear, 1=arrested')
    {'0': 'clear', '1': 'arrested'}
    """
    levels: dict[str, str] = {}
    for part in names_in(text):
        name, equals, level = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not level or name in levels:
            raise argparse.ArgumentTypeError(f"must be class=level[,class=level…], got {text!r}")
        levels[name] = level
    if not levels:
        raise argparse.ArgumentTypeError(f"must be class=level[,class=level…], got {text!r}")
    return levels


def names_or_name(text: str) -> str | list[str]:
    """``kpc,deo`` as a list, one name as it is."""
    names = names_in(text)
    return names[0] if len(names) == 1 else list(names)


def _plain(read: Callable[[str], Any], *types: type) -> Callable[[Any], Any]:
    """Of TOML, a value of these types that the command line would take as it is written."""

    def take(value: Any) -> Any:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise argparse.ArgumentTypeError(f"must be {types[0].__name__}. Got {value!r} instead")
        return read(str(value))

    return take


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise argparse.ArgumentTypeError(f"must be bool. Got {value!r} instead")
    return value


def _texts(value: Any) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise argparse.ArgumentTypeError("must be text or a list of texts")
    return texts


def _columns(value: Any) -> str:
    """Names in a list keep their commas."""
    if isinstance(value, str):
        return value
    quoted = (f'"{name.replace(chr(34), chr(34) * 2)}"' for name in _texts(value))
    return ",".join(quoted)


def _sizes(value: Any) -> dict[str, float]:
    known = isinstance(value, dict) and all(
        isinstance(limit, (int, float)) and math.isfinite(limit) for limit in value.values()
    )
    if not known:
        raise argparse.ArgumentTypeError("must be a table of numbers, as in { kpc = 0.01 }")
    return {name: float(limit) for name, limit in value.items()}


def _levels(value: Any) -> dict[str, str]:
    known = isinstance(value, dict) and all(
        isinstance(level, (str, int, float)) for level in value.values()
    )
    if not known:
        raise argparse.ArgumentTypeError('must be a table of levels, as in { 0 = "clear" }')
    return {str(name): str(level) for name, level in value.items()}


TEXT = Kind(read=str, take=_plain(str, str), type_name="text")
LEVEL = Kind(read=str, take=_plain(str, str, int, float, bool), type_name="text or number")
NUMBER = Kind(read=finite, take=_plain(finite, float, int), type_name="number")
WHOLE = Kind(read=int, take=_plain(int, int), type_name="whole number")
COUNT = Kind(read=count, take=_plain(count, int), type_name="whole number")
COPIES = Kind(read=copies, take=_plain(copies, int, str), type_name='whole number or "auto"')
SIZE = Kind(read=size, take=_plain(size, str), type_name="text, as in `2GB`")
SIZES = Kind(read=sizes_in, take=_sizes, type_name="table of numbers")
LEVELS = Kind(read=levels_in, take=_levels, type_name="table of levels")
COLUMNS = Kind(read=str, take=_columns, type_name="text or list")
STATISTICS = Kind(
    read=names_or_name, take=lambda value: names_or_name(_columns(value)), type_name="text or list"
)
TEXTS = Kind(read=str, take=_texts, type_name="text or list", action={"action": "append"})
FILES = Kind(
    read=str, take=_texts, type_name="text or list", action={"action": "extend", "nargs": "+"}
)
ON = Kind(read=bool, take=_switch, type_name="true or false", action={"action": "store_true"})
OFF = Kind(read=bool, take=_switch, type_name="true or false", action={"action": "store_false"})
EITHER = Kind(
    read=bool,
    take=_switch,
    type_name="true or false",
    action={"action": argparse.BooleanOptionalAction},
)
LIMITS = Kind(read=str, take=_plain(str, str), type_name="text", action={"nargs": "?", "const": ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes
    ----------
    name : str
        Without dashes; with underscores it is the attribute of the parsed command line.
    kind : Kind
        How its values are written.
    help : str
        ``{names}`` stands for the names that it takes.
    also : mapping
        Command → the help there, where it differs.
    default : object
        What is used where nobody says; None leaves it to the library.
    elsewhere : mapping
        Command that reads settings → what is used there instead.
    metavar : str, optional
    names : callable, optional
        The names that it takes.
    closed : bool
        Whether no other name is taken.
    goes_to : {"roles", "plan", "copies", ""}
        The part of the library that takes it: `Roles`, `Plan`, `Permutations`.
    argument : str
        Its name there.
    file : tuple of str
        The commands that read it from the settings of a project.
    required : bool
    """

    name: str
    kind: Kind
    help: str
    also: Mapping[str, str] = field(default_factory=dict)
    default: Any = None
    elsewhere: Mapping[str, Any] = field(default_factory=dict)
    metavar: str | None = None
    names: Callable[[], tuple[str, ...]] | None = None
    closed: bool = False
    goes_to: str = ""
    argument: str = ""
    file: tuple[str, ...] = ()
    required: bool = False

    @property
    def dest(self) -> str:
        return self.name.replace("-", "_")

    @property
    def flag(self) -> str:
        return f"--no-{self.name}" if self.kind is OFF else f"--{self.name}"

    @property
    def parameter(self) -> str:
        """What the library calls it."""
        return self.argument or self.dest

    def add_to(self, parser: argparse._ActionsContainer, command: str) -> None:
        settings: dict[str, Any] = {**self.kind.action}
        if self.kind not in (ON, OFF, EITHER):
            settings |= {"type": self.kind.read, "metavar": self.metavar}
        if self.closed and self.names is not None:
            settings["choices"] = self.names()
        if command not in self.file:  # where it is read, None says that it was not typed
            settings["default"] = self.default
        parser.add_argument(
            self.flag,
            dest=self.dest,
            required=self.required,
            help=self.told_in(command),
            **{"default": None, **settings},
        )

    def told_in(self, command: str) -> str:
        text = self.also.get(command, self.help)
        if self.names is None or "{names}" not in text:
            return text
        known = (f"{name} (default)" if name == self.default else name for name in self.names())
        return text.replace("{names}", ", ".join(known))


def option(name: str, kind: Kind, metavar: str | None, help_text: str, **more: Any) -> Option:
    """One that stands for itself; those of a single command stand beside it."""
    return Option(name=name, kind=kind, metavar=metavar, help=help_text, **more)
