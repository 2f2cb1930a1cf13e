"""The machine that runs the opcodes of a pickle under a policy."""

from __future__ import annotations

import functools
import io
import pickle
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar, cast

import numpy as np

from fairaudit.models.safe_pickle.arrays import StoredArray, check_array_state, dtype_filled
from fairaudit.models.safe_pickle.catboost_state import check_catboost_state
from fairaudit.models.safe_pickle.grants import Grant, Granter, Omitted, Refused, require
from fairaudit.models.safe_pickle.hashing import keys_of
from fairaudit.models.safe_pickle.lightgbm_text import check_lightgbm_state
from fairaudit.models.safe_pickle.rebuild import StoredText, partial_filled, string_dtype
from fairaudit.models.safe_pickle.soundness import check_attributes

_DEEPEST = 100  # freeing arrays of arrays of arrays … would overrun the stack of the process


class File(io.BytesIO):
    """Bytes in memory; reading past the end is an error, and not a short answer."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if size is not None and size > len(data):
            raise EOFError("the file ends too early")
        return data


class Machine(pickle._Unpickler):
    """Runs the opcodes of a pickle; every object it makes or changes passes the policy."""

    stack: list[Any]
    memo: dict[int, Any]
    append: Callable[[Any], None]
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: File, policy: Granter) -> None:
        super().__init__(file)
        self._file = file
        self._policy = policy
        self._grants: dict[int, Grant] = {}
        self._fillable: dict[int, tuple[Any, bool]] = {}  # made here: the object, if trusted
        self._depths: dict[int, int] = {}  # of arrays that hold arrays
        self._alike: dict[int, tuple[Any, Counter[int]]] = {}  # hashes in a dict or set
        self._found: dict[int, str] = {}  # what the file calls a value
        self._doing = "begins"

    def load(self) -> Any:
        try:
            return super().load()
        except Refused as error:
            raise (error if error.args else Refused(self._doing)) from None

    # what a name gives

    def find_class(self, module: str, name: str) -> Any:
        module, name = self.renamed(module, name)
        grant = self._policy.grant(module, name)
        known = self._grants.get(id(grant.value))
        if known is None or known.role != "trust":
            self._grants[id(grant.value)] = grant
        self._found.setdefault(id(grant.value), f"{module}.{name}")
        return grant.value

    def renamed(self, module: str, name: str) -> tuple[str, str]:
        """The name in Python 3; protocols 0 to 2 keep that of Python 2."""
        if cast(Any, self).proto < 3:
            module, name = NAME_MAPPING.get((module, name), (module, name))
            module = IMPORT_MAPPING.get(module, module)
        return module, name

    def role(self, value: Any) -> str | None:
        grant = self._grants.get(id(value))
        return None if grant is None else grant.role

    def may_be_bound(self, function: Any) -> bool:
        kind = isinstance(function, (FunctionType, np.ufunc))
        return (kind and self.role(function) == "refer") or self.role(function) == "trust"

    def _name_of(self, value: Any) -> str:
        kind = value if isinstance(value, type) else type(value)
        return self._found.get(id(value), f"{kind.__module__}.{kind.__qualname__}")

    # what the file does with it

    def call(self, function: Any, args: Any) -> Any:
        self._doing = f"calls {self._name_of(function)} in a way of its own"
        grant = self._grants.get(id(function))
        require(grant is not None and type(args) is tuple)
        grant = cast(Grant, grant)
        if grant.role == "omit":
            return self.made(Omitted())
        if grant.role == "trust":
            return self.made(function(*args), trusted=True)
        require(grant.role == "call" and grant.run is not None)
        made = cast(Callable[..., Any], grant.run)(self, *args)
        return self.made(made) if grant.fillable else made

    def make(self, kind: Any, args: Any, named: Any = None) -> Any:
        self._doing = f"makes {self._name_of(kind)} in a way of its own"
        role = self.role(kind)
        if kind is string_dtype and args == () and not named:
            return self.made(StoredText())
        require(type(args) is tuple and isinstance(kind, type))
        if role == "trust":
            return self.made(cast(Any, kind).__new__(kind, *args, **(named or {})), trusted=True)
        if role == "omit":
            return self.made(Omitted())
        require(role == "make" and not named and (not args or issubclass(kind, tuple)))
        return self.made(cast(Any, kind).__new__(kind, *args))

    def made(self, value: Any, *, trusted: bool = False) -> Any:
        self._fillable[id(value)] = (value, trusted)
        return value

    def fill(self, made: Any, state: Any) -> Any:
        """Give `made` its saved state, once; the object to use instead of it."""
        self._doing = f"sets the state of {self._name_of(type(made))} in a way of its own"
        owner, trusted = self._fillable.pop(id(made), (None, False))
        require(owner is made and made is not None)
        if trusted:
            _fill_as_pickle_does(made, state)
        elif isinstance(made, Omitted):
            pass
        elif isinstance(made, np.dtype):
            return dtype_filled(made, state)
        elif isinstance(made, functools.partial):
            partial_filled(self, made, state)
        elif isinstance(made, StoredArray):
            made.fill(state)
            return self._stored(made)
        elif isinstance(made, StoredText):
            return made.filled(state)
        elif isinstance(made, np.ndarray):
            self._fill_array(made, state)
        elif self.role(type(made)) == "make":
            _fill_estimator(made, state)
        else:  # compiled classes and random numbers
            cast(Any, type(made)).__setstate__(made, state)
        return made

    def _fill_array(self, made: Any, state: Any) -> None:
        check_array_state(state)
        depth = 0
        if state[2].hasobject:
            for item in state[4]:
                if isinstance(item, np.ndarray):
                    require(id(item) not in self._fillable)
                    depth = max(depth, self._depths.get(id(item), 0) + 1)
        if depth > _DEEPEST:
            raise Refused(f"nests more than {_DEEPEST} arrays in one another")
        self._depths[id(made)] = depth
        type(made).__setstate__(made, state)

    def _stored(self, array: StoredArray) -> Any:
        if array.dtype.hasobject:  # a pickle within the pickle
            inner = type(self)(self._file, self._policy)
            inner._depths = self._depths
            return inner.load()
        return array.read(self._file)

    def add(self, target: Any, items: list[Any]) -> None:
        self._doing = f"appends to {self._name_of(type(target))}"
        if self._trusts(target):
            for item in items:
                target.append(item)
        else:
            require(isinstance(target, list))
            list.extend(target, items)

    def put(self, target: Any, items: list[Any]) -> None:
        self._doing = f"sets items of {self._name_of(type(target))}"
        keys, values = self._keys_for(target, items[::2]), items[1::2]
        if not self._trusts(target):
            write = getattr(type(target), "__setitem__", None)
            require(write in (dict.__setitem__, OrderedDict.__setitem__))
        for key, value in zip(keys, values, strict=True):
            target[key] = value

    def include(self, target: Any, items: list[Any]) -> None:
        self._doing = f"adds elements to {self._name_of(type(target))}"
        require(type(target) is set)
        target.update(self._keys_for(target, items))

    def _keys_for(self, target: Any, keys: list[Any]) -> list[Any]:
        """Keys for a dict or set that may hold others already; a file adds a part at a time."""
        _, alike = self._alike.setdefault(id(target), (target, Counter()))
        keys = keys_of(keys, alike)
        if not alike:
            del self._alike[id(target)]
        return keys

    def _trusts(self, target: Any) -> bool:
        owner, trusted = self._fillable.get(id(target), (None, False))
        return owner is target and trusted

    # opcodes

    def _pop_mark(self) -> list[Any]:
        return cast(list[Any], cast(Any, self).pop_mark())

    def load_reduce(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self.call(self.stack[-1], args)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self.make(self.stack[-1], args)

    def load_newobj_ex(self) -> None:
        named, args = self.stack.pop(), self.stack.pop()
        require(type(named) is dict)
        self.stack[-1] = self.make(self.stack[-1], args, named)

    def load_build(self) -> None:
        state = self.stack.pop()
        made = self.stack[-1]
        filled = self.fill(made, state)
        if filled is not made:
            self.stack[-1] = filled
            for key, value in self.memo.items():
                if value is made:
                    self.memo[key] = filled

    def load_append(self) -> None:
        item = self.stack.pop()
        self.add(self.stack[-1], [item])

    def load_appends(self) -> None:
        items = self._pop_mark()
        self.add(self.stack[-1], items)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.put(self.stack[-1], [key, value])

    def load_setitems(self) -> None:
        items = self._pop_mark()
        self.put(self.stack[-1], items)

    def load_dict(self) -> None:
        items = self._pop_mark()
        self.append(dict(zip(keys_of(items[::2]), items[1::2], strict=True)))

    def load_additems(self) -> None:
        items = self._pop_mark()
        self.include(self.stack[-1], items)

    def load_frozenset(self) -> None:
        items = self._pop_mark()
        self.append(frozenset(keys_of(items)))

    def load_put(self) -> None:
        key = int(cast(Any, self).readline()[:-1])
        if not 0 <= key < 2**32:  # as in the binary forms
            raise Refused("numbers its parts beyond 2**32")
        self.memo[key] = self.stack[-1]

    def load_bytearray8(self) -> None:
        read = cast(Any, self).read
        self.append(bytearray(read(int.from_bytes(read(8), "little"))))

    def refuse(self) -> None:
        raise Refused("uses opcodes for registered, persistent or outside objects")


for _opcode, _run in {
    pickle.REDUCE: Machine.load_reduce,
    pickle.NEWOBJ: Machine.load_newobj,
    pickle.NEWOBJ_EX: Machine.load_newobj_ex,
    pickle.BUILD: Machine.load_build,
    pickle.APPEND: Machine.load_append,
    pickle.APPENDS: Machine.load_appends,
    pickle.SETITEM: Machine.load_setitem,
    pickle.SETITEMS: Machine.load_setitems,
    pickle.DICT: Machine.load_dict,
    pickle.ADDITEMS: Machine.load_additems,
    pickle.FROZENSET: Machine.load_frozenset,
    pickle.BYTEARRAY8: Machine.load_bytearray8,
    pickle.PUT: Machine.load_put,
    pickle.INST: Machine.refuse,
    pickle.OBJ: Machine.refuse,
    pickle.EXT1: Machine.refuse,
    pickle.EXT2: Machine.refuse,
    pickle.EXT4: Machine.refuse,
    pickle.PERSID: Machine.refuse,
    pickle.BINPERSID: Machine.refuse,
    pickle.NEXT_BUFFER: Machine.refuse,
}.items():
    Machine.dispatch[_opcode[0]] = cast(Any, _run)


def _fill_estimator(made: Any, state: Any) -> None:
    setter = getattr(type(made), "__setstate__", None)  # not one that the file put on the object
    if setter is not None:
        if type(made).__module__ == "catboost.core":
            check_catboost_state(type(made).__name__, state)
        elif type(state) is tuple:  # scipy 1.18: a spline holds another, and an empty array
            _check_spline(type(made), state)
        else:
            _check_names(made, state)
        if (type(made).__module__, type(made).__name__) == ("lightgbm.basic", "Booster"):
            check_lightgbm_state(state)
        setter(made, state)
        return
    parts = state if type(state) is tuple and len(state) == 2 else (state, None)
    for part in parts:
        if part is not None:
            _check_names(made, part)
    if parts[0]:
        made.__dict__.update(parts[0])
    for key, value in (parts[1] or {}).items():
        setattr(made, key, value)


def _check_spline(kind: type, state: tuple[Any, ...]) -> None:
    home = "scipy.interpolate._bsplines"
    require((kind.__module__, kind.__name__) == (home, "BSpline") and len(state) == 2)
    inner, empty = state
    require((type(inner).__module__, type(inner).__name__) == (home, "_BSpline"))
    require(type(empty) is np.ndarray and empty.size == 0)


def _check_names(made: Any, state: Any) -> None:
    require(type(state) is dict and all(type(key) is str for key in state))
    check_attributes(type(made).__name__, state)


def _fill_as_pickle_does(made: Any, state: Any) -> None:
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        made.__dict__.update(state)
    for key, value in (slots or {}).items():
        setattr(made, key, value)
