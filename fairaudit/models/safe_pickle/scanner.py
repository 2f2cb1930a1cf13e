"""Reads every name of a pickle without making anything of it."""

from __future__ import annotations

from typing import Any

from fairaudit.models.safe_pickle.allow_list import RENAMED
from fairaudit.models.safe_pickle.arrays import StoredArray
from fairaudit.models.safe_pickle.grants import Granter
from fairaudit.models.safe_pickle.machine import File, Machine


class Stub:
    """What the scanner makes of a name and of everything made with it."""

    def __init__(self, name: str = "") -> None:
        self.name = name


class Scanner(Machine):
    """Runs the opcodes with stubs, so that every name is seen and nothing is called."""

    # these tell where the bytes of an array end
    _REAL = ("_codecs.encode", "numpy.dtype", "joblib.numpy_pickle.NumpyArrayWrapper")

    def __init__(self, file: File, policy: Granter, names: dict[tuple[str, str], None]) -> None:
        super().__init__(file, policy)
        self.names = names

    def find_class(self, module: str, name: str) -> Any:
        module, name = self.renamed(module, name)
        full = RENAMED.get(f"{module}.{name}", f"{module}.{name}")
        if full in self._REAL and full not in self._policy.trust:
            return super().find_class(module, name)
        self.names[(module, name)] = None
        return Stub(full)

    def call(self, function: Any, args: Any) -> Any:
        if self.role(function) == "call":
            return super().call(function, args)
        if type(args) is tuple and args and args[0] is StoredArray:  # protocols 0 and 1
            return self.make(args[0], ())
        return Stub()

    def make(self, kind: Any, args: Any, named: Any = None) -> Any:
        return super().make(kind, args, named) if self.role(kind) == "make" else Stub()

    def fill(self, made: Any, state: Any) -> Any:
        return made if isinstance(made, Stub) else super().fill(made, state)

    def _stored(self, array: StoredArray) -> Any:
        if array.dtype.hasobject:
            return Scanner(self._file, self._policy, self.names).load()
        array.data(self._file)
        return Stub()

    def add(self, target: Any, items: list[Any]) -> None:
        if not isinstance(target, Stub):
            super().add(target, items)

    def put(self, target: Any, items: list[Any]) -> None:
        if not isinstance(target, Stub):
            super().put(target, items)

    def include(self, target: Any, items: list[Any]) -> None:
        if not isinstance(target, Stub):
            super().include(target, items)
