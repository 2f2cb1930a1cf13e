"""A package that is imported when something of it is needed, and perhaps never.

scikit-learn imports all of `scipy.stats`, which takes longer than everything else that a model
needs, and most models predict without it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from types import ModuleType
from typing import Any

__all__ = ["postpone"]

_replacing = Lock()


class _Postponed(ModuleType):
    """Stands for a package until one of its parts is used."""

    def __init__(self, name: str, parts: tuple[str, ...]) -> None:
        super().__init__(name)
        self.__path__ = _Folders(self)
        for part in parts:
            setattr(self, part, _Part(self, part))

    def __getattr__(self, part: str) -> Any:
        if part.startswith("__"):  # asked of every module, by inspect for one
            raise AttributeError(part)
        return getattr(self._itself(), part)

    def _itself(self) -> ModuleType:
        with _replacing:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        return import_module(self.__name__)


class _Folders(list[str]):
    """Where the modules of a package lie: whoever looks needs the package first."""

    def __init__(self, package: _Postponed) -> None:
        super().__init__()
        self._package = package

    def __iter__(self) -> Iterator[str]:
        return iter(self._package._itself().__path__)


class _Part:
    """Stands for what others import by name: a function, or an object that is asked or called."""

    def __init__(self, package: _Postponed, name: str) -> None:
        self._package, self._name = package, name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(getattr(self._package._itself(), self._name), attribute)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return getattr(self._package._itself(), self._name)(*args, **named)


def postpone(name: str, parts: tuple[str, ...] = ()) -> None:
    """Let imports of a package, and of these parts from it, succeed before it is there."""
    parent, _, last = name.rpartition(".")
    if name in sys.modules or find_spec(name) is None:
        return
    sys.modules[name] = stand_in = _Postponed(name, parts)
    setattr(sys.modules[parent], last, stand_in)
