"""Names that stand for things elsewhere: of one kind (built in or from entry points), or public."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Named", "Registry", "found_at", "lazy_names"]


def found_at(home: str) -> Any:
    """What stands at ``"package.module:name"``."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True, slots=True)
class Named:
    """Where a thing lives (``"package.module:Class"``) and what its name stands for."""

    home: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Any:
        return found_at(self.home)(**self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """One kind of thing, by name or as an object.

    To know the names costs no import of what they stand for.

    Attributes
    ----------
    kind : str
        What it is called in messages, and the argument that takes it: ``"statistic"``.
    method : str or tuple of str
        A method that every object of this kind has; of several each has one.
    group : str
        Entry points that add names. Each leads to a class or function without required arguments,
        or to an object of this kind. Built-in names cannot be taken.
    built_in : mapping
        Name → `Named`.
    chosen : str
        A name, if any, for a choice that those make who ask for things of this kind: it stands
        for none of them, is listed with them, and cannot be taken.
    suited : str
        Continues "The 'density' parameter": ``" for a continuous outcome"``.
    takes : str
        What is taken beside names, as a part of a message; objects with the method unless given.

    Examples
    --------
    >>> counters = Registry(kind="counter", method="update", group="example.counters",
    ...                     built_in={"plain": Named("collections:Counter")})
    >>> counters.get("plain")
    Counter()
    >>> counters.get("plane")
    Traceback (most recent call last):
    fairaudit.errors.InputError: The 'counter' parameter must be one of plain, or an object with the method 'update'. Got 'plane' instead. Did you mean 'plain'?
    """  # noqa: E501

    kind: str
    method: str | tuple[str, ...]
    group: str
    built_in: Mapping[str, Named]
    chosen: str = ""
    suited: str = ""
    takes: str = ""

    def names(self) -> list[str]:
        """All names, the built-in ones first."""
        return [*self.built_in, *sorted({point.name for point in self._added()})]

    def options(self) -> list[str]:
        """All names, and first the one that leaves the choice open."""
        return [self.chosen, *self.names()] if self.chosen else self.names()

    def get(self, given: Any) -> Any:
        """The object for a name; an object of this kind as it is."""
        if isinstance(given, str):
            if given in self.built_in:
                return self.built_in[given].make()
            return self._made(given, self._point(given))
        if isinstance(given, type):
            raise InputError(
                f"The {self.kind!r} is the class {given.__name__}. "
                f"Pass an instance: {given.__name__}().",
                argument=self.kind,
            )
        if self._fits(given):
            return given
        raise self._unknown(given)

    @property
    def _methods(self) -> tuple[str, ...]:
        return (self.method,) if isinstance(self.method, str) else self.method

    def _fits(self, thing: Any) -> bool:
        return any(hasattr(thing, method) for method in self._methods)

    def package_of(self, given: Any) -> str | None:
        """The package that added this name; None for everything else."""
        if not isinstance(given, str) or given in (*self.built_in, self.chosen):
            return None
        added = given in {point.name for point in self._added()}
        return _package(self._point(given)).partition(" ")[0] if added else None

    def _added(self) -> list[EntryPoint]:
        """Entry points of this group, in any order; built-in names cannot be taken."""
        from importlib.metadata import entry_points

        found = entry_points(group=self.group) if self.group else ()
        return [point for point in found if point.name not in (*self.built_in, self.chosen)]

    def _point(self, name: str) -> EntryPoint:
        found = [point for point in self._added() if point.name == name]
        if not found:
            raise self._unknown(name)
        if len({point.value for point in found}) > 1:
            packages = " and ".join(_package(point) for point in found)
            raise InputError(
                f"The {self.kind} {name!r} is registered by {packages}. Uninstall all but one."
            )
        return found[0]

    def _made(self, name: str, point: EntryPoint) -> Any:
        """What a package registered; its own code runs here."""
        try:
            loaded = point.load()
            ready = self._fits(loaded) and not isinstance(loaded, type)
            made = loaded if ready else loaded()
        except InputError:
            raise
        except Exception as error:
            said = " ".join(str(error).split())
            raise InputError(
                f"The {self.kind} {name!r} of {_package(point)} cannot be made from {point.value}: "
                f"{type(error).__name__}: {said}."
            ) from error
        if not self._fits(made):
            methods = " or ".join(map(repr, self._methods))
            raise InputError(
                f"The {self.kind} {name!r} of {_package(point)} has no method {methods}. "
                "Ask its authors to run the checks of fairaudit.extend."
            )
        return made

    def _unknown(self, given: Any) -> InputError:
        from difflib import get_close_matches

        names = self.options()
        methods = " or ".join(map(repr, self._methods))
        takes = self.takes or f"or an object with the method {methods}"
        near = get_close_matches(given, names, n=1) if isinstance(given, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return InputError(
            f"The {self.kind!r} parameter{self.suited} must be one of {', '.join(names)}, {takes}. "
            f"Got {given!r} instead.{hint}",
            argument=self.kind,
        )


def _package(point: EntryPoint) -> str:
    """The package that an entry point belongs to, with its version."""
    if point.dist is None:
        return point.value.partition(":")[0]
    return f"{point.dist.name} {point.dist.version}"


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` for names that live in the modules given by `homes`."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find
