"""What a name in a file stands for, and what the file may do with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any, Protocol, cast

from fairaudit.errors import MissingDependencyError

PIP = {"sklearn": "scikit-learn"}


class Refused(Exception):
    """A name or an act that is not allowed."""


class Absent(Exception):
    """A name of an allowed package that the installed version does not have."""


class Omitted:
    """Stands for a part that predictions do not need: the distributions of a finished search."""

    def __init__(self, *_: Any) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Grant:
    """What a name stands for and what the file may do with it.

    ``refer``: hold it; ``make``: create one without calling it; ``call``: call `run` with the
    arguments; ``omit``: anything, to no effect; ``trust``: whatever pickle allows.
    """

    value: Any
    role: str
    run: Callable[..., Any] | None = None
    fillable: bool = False


class Granter(Protocol):
    """Says what a name stands for."""

    @property
    def trust(self) -> frozenset[str]: ...

    def grant(self, module: str, name: str) -> Grant: ...


class Maker(Protocol):
    """What functions that a file may call can ask of the machine that calls them."""

    def role(self, value: Any) -> str | None: ...

    def may_be_bound(self, function: Any) -> bool: ...

    def make(self, kind: Any, args: Any, named: Any = None) -> Any: ...

    def made(self, value: Any, *, trusted: bool = False) -> Any: ...


class Bytes(Protocol):
    """The bytes of a file from here on."""

    def read(self, size: int, /) -> bytes: ...


def require(condition: object) -> None:
    if not condition:
        raise Refused


class _WorkingDirectory:
    """Finds the modules of a folder, and not what the folder says is installed there.

    Who trusts one module of a checkout does not want the statistics and reports that the checkout
    registers: on `sys.path` it would.
    """

    folder = ""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return PathFinder.find_spec(name, [self.folder]) if path is None else None


_HERE = _WorkingDirectory()


def add_working_directory() -> None:
    """Let modules of the current directory be found, after those that are installed."""
    _HERE.folder = os.getcwd()
    if _HERE not in sys.meta_path:
        sys.meta_path.append(cast(Any, _HERE))


def module_of(name: str) -> Any:
    package = name.partition(".")[0]
    try:
        import_module(package)
    except ImportError:
        raise MissingDependencyError(
            f"the model needs {package}, which is not installed. "
            f"Install it: pip install {PIP.get(package, package)}"
        ) from None
    try:
        return import_module(name)
    except ImportError:
        raise Absent(package) from None


def attribute(full: str) -> Any:
    module, _, name = full.rpartition(".")
    try:
        return getattr(module_of(module), name)
    except AttributeError:
        raise Absent(module.partition(".")[0]) from None
