"""Names that stand for things elsewhere: of one kind (built in or from entry points), or public."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from fairaudit.errors import InputError

__all__ = ["Named", "Registry", "lazy_names"]


@dataclass(frozen=True, slots=True)
class Named:
    """Where a thing lives (``"package.module:Class"``) and what its name stands for."""

    home: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Any:
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)(**self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """One kind of thing, by name or as an object.

    Attributes
    ----------
    kind : str
        What it is called in messages, and the argument that takes it: ``"statistic"``.
    method : str
        A method that every object of this kind has.
    group : str
        Entry points that add names: classes (or functions) without required arguments.
    built_in : mapping
        Name → `Named`.

    Examples
    --------
    >>> counters = Registry(kind="counter", method="update", group="example.counters",
    ...                     built_in={"plain": Named("collections:Counter")})
    >>> counters.get("plain")
    Counter()
    >>> counters.get("odd")
    Traceback (most recent call last):
    fairaudit.errors.InputError: The 'counter' must be one of plain, or an object with a method 'update'. Got 'odd'.
    """  # noqa: E501

    kind: str
    method: str
    group: str
    built_in: Mapping[str, Named]

    def names(self) -> list[str]:
        """All names, the built-in ones first."""
        return list(dict.fromkeys([*self.built_in, *sorted(name for name, _ in self._added())]))

    def get(self, given: Any) -> Any:
        """The object for a name; an object of this kind as it is."""
        if isinstance(given, str):
            return self._named(given)
        if isinstance(given, type):
            raise InputError(
                f"The {self.kind!r} is the class {given.__name__}. "
                f"Pass an instance: {given.__name__}()."
            )
        if hasattr(given, self.method):
            return given
        raise self._unknown(given)

    def _named(self, name: str) -> Any:
        if name in self.built_in:
            return self.built_in[name].make()
        for known, point in self._added():
            if known == name:
                made = point.load()()
                if not hasattr(made, self.method):
                    raise InputError(
                        f"The {self.kind} {name!r} of {point.value} has no method {self.method!r}. "
                        "Ask its authors to run the checks of fairaudit.extend."
                    )
                return made
        raise self._unknown(name)

    def _added(self) -> Iterator[tuple[str, Any]]:
        from importlib.metadata import entry_points

        return ((point.name, point) for point in entry_points(group=self.group))

    def _unknown(self, given: Any) -> InputError:
        return InputError(
            f"The {self.kind!r} must be one of {', '.join(self.names())}, or an object with a "
            f"method {self.method!r}. Got {given!r}."
        )


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` for names that live in the modules given by `homes`."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find
