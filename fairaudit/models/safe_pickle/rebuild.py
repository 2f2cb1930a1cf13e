"""The functions that a file may call: versions of their own, with checked arguments."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from fairaudit.models.safe_pickle.arrays import (
    StoredArray,
    array_shell,
    bit_generator,
    dtype_of,
    from_buffer,
    generator,
    masked_shell,
    random_state,
    scalar,
    seed_sequence,
)
from fairaudit.models.safe_pickle.grants import Grant, Maker, Omitted, attribute, require
from fairaudit.models.safe_pickle.hashing import keys_of

# Compiled classes: those called with numbers, and those made empty and filled.
NUMBERED = {"sklearn._loss._loss", "sklearn.linear_model._sgd_fast"}
EMPTY = {
    "sklearn.metrics._dist_metrics",
    "sklearn.neighbors._ball_tree",
    "sklearn.neighbors._kd_tree",
}


def _reconstructed(machine: Maker, kind: Any, base: Any, state: Any) -> Any:
    """`copyreg._reconstructor`, for protocols 0 and 1."""
    if base is object:
        return machine.make(kind, ())
    require(base in (dict, list, tuple) and type(state) is base)
    require(machine.role(kind) in ("make", "trust") and issubclass(kind, base))
    made = base.__new__(kind, state)
    if base is not tuple:
        base.__init__(made, state)
    return machine.made(made, trusted=machine.role(kind) == "trust")


def _encoded(machine: Maker, text: Any, encoding: Any = "latin1") -> bytes:
    require(isinstance(text, str) and encoding in ("latin1", "latin-1"))
    return cast(str, text).encode("latin1")


def _set(machine: Maker, items: Any = ()) -> set[Any]:
    return set(keys_of(_plain(items)))


def _frozenset(machine: Maker, items: Any = ()) -> frozenset[Any]:
    return frozenset(keys_of(_plain(items)))


def _list(machine: Maker, items: Any = ()) -> list[Any]:
    return list(_plain(items))


def _tuple(machine: Maker, items: Any = ()) -> tuple[Any, ...]:
    return tuple(_plain(items))


def _dict(machine: Maker, items: Any = ()) -> dict[Any, Any]:
    require(type(items) is dict or (type(items) is tuple and not items))
    return dict(items)


def _bytes(machine: Maker, data: Any = b"", encoding: Any = "latin1") -> bytes:
    return data if isinstance(data, bytes) else _encoded(machine, data, encoding)


def _bytearray(machine: Maker, data: Any = b"", encoding: Any = "latin1") -> bytearray:
    return bytearray(_bytes(machine, data, encoding))


def _complex(machine: Maker, real: Any = 0, imaginary: Any = 0) -> complex:
    require(isinstance(real, (int, float)) and isinstance(imaginary, (int, float)))
    return complex(real, imaginary)


def _slice(machine: Maker, *limits: Any) -> slice:
    # freeing a slice of slices of slices … would overrun the stack of the process
    require(all(limit is None or type(limit) in (int, str) for limit in limits))
    return slice(*limits)


def _range(machine: Maker, *limits: Any) -> range:
    require(all(type(limit) is int for limit in limits))
    return range(*limits)


def _ordered(machine: Maker, items: Any = ()) -> OrderedDict[Any, Any]:
    require(type(items) in (list, tuple) and all(len(item) == 2 for item in items))
    keys = keys_of([item[0] for item in items])
    return OrderedDict(zip(keys, (item[1] for item in items), strict=True))


def _defaulting(machine: Maker, factory: Any = None) -> defaultdict[Any, Any]:
    require(factory in (None, OrderedDict, bool, dict, float, int, list, set, str, tuple))
    return defaultdict(factory)


def _partial(machine: Maker, function: Any) -> Any:
    require(machine.may_be_bound(function))
    return functools.partial(function)


def partial_filled(machine: Maker, made: Any, state: Any) -> None:
    require(type(state) is tuple and len(state) == 4)
    function, args, named, rest = state
    require(machine.may_be_bound(function) and type(args) is tuple and not rest)
    require(named is None or (type(named) is dict and all(type(key) is str for key in named)))
    made.__setstate__((function, args, named, None))


def attribute_of_omitted(machine: Maker, owner: Any, name: Any) -> Any:
    require(isinstance(owner, Omitted))
    return Omitted()


def _index(machine: Maker, kind: Any, parts: Any) -> Any:
    import pandas as pd

    require(kind in (pd.Index, pd.RangeIndex) and type(parts) is dict)
    known = {"data", "name"} if kind is pd.Index else {"name", "start", "stop", "step"}
    require(set(parts) <= known)
    data = parts.get("data")
    require(data is None or isinstance(data, (np.ndarray, pd.api.extensions.ExtensionArray)))
    return kind(**parts)


class StoredText:
    """A type of text of pandas below 2.3: made without arguments, then told its storage."""

    def filled(self, state: Any) -> Any:
        import pandas as pd

        require(type(state) is dict and list(state) == ["storage"])
        require(state["storage"] in ("python", "pyarrow"))
        return pd.StringDtype(state["storage"])


def string_dtype(machine: Maker, *args: Any) -> Any:
    import pandas as pd

    require(all(isinstance(arg, (str, float)) or arg is pd.NA for arg in args))
    return pd.StringDtype(*args)


def _string_array(machine: Maker, kind: Any, checksum: Any, state: Any) -> Any:
    import pandas as pd

    require(kind is pd.arrays.StringArray and state is None)
    made = attribute("pandas._libs.arrays.__pyx_unpickle_NDArrayBacked")
    return made(kind, checksum, None)


def _arrow_array(machine: Maker, data: Any) -> Any:
    array = attribute("pyarrow.lib._restore_array")(data)
    array.validate(full=True)
    return array


def _arrow_buffer(machine: Maker, data: Any) -> Any:
    require(isinstance(data, (bytes, bytearray)))
    return attribute("pyarrow.lib.py_buffer")(bytes(data))


def _arrow_type(machine: Maker, alias: Any) -> Any:
    require(alias in ("string", "large_string", "utf8", "large_utf8"))
    return attribute("pyarrow.lib.type_for_alias")(alias)


def tree(kind: Any, machine: Maker, n_features: Any, n_classes: Any, n_outputs: Any) -> Any:
    require(isinstance(n_features, int) and isinstance(n_outputs, int))
    require(isinstance(n_classes, np.ndarray) and n_classes.dtype.kind == "i")
    require(n_classes.shape == (n_outputs,) and (n_classes > 0).all())
    return kind(n_features, n_classes, n_outputs)


def numbered(kind: Any, machine: Maker, *args: Any) -> Any:
    require(all(isinstance(arg, (int, float)) for arg in args))
    return kind(*args)


def by_cython(made: Any, module: Any, machine: Maker, kind: Any, *args: Any) -> Any:
    require(isinstance(kind, type) and vars(module).get(kind.__name__) is kind)
    return made(kind, *args)


def emptied(machine: Maker, kind: Any) -> Any:
    require(isinstance(kind, type) and kind.__module__ in EMPTY)
    return cast(Any, kind).__new__(kind)


def _plain(items: Any) -> Any:
    require(type(items) in (list, tuple, set, frozenset))
    return items


def _calls() -> dict[str, Grant]:
    functions: dict[str, tuple[Callable[..., Any], bool]] = {
        "_codecs.encode": (_encoded, False),
        "copyreg._reconstructor": (_reconstructed, False),
        "numpy._core.multiarray._reconstruct": (array_shell, True),
        "numpy._core.multiarray.scalar": (scalar, False),
        "numpy._core.numeric._frombuffer": (from_buffer, False),
        "numpy.ma.core._mareconstruct": (masked_shell, True),
        "numpy.random._pickle.__bit_generator_ctor": (bit_generator, True),
        "numpy.random._pickle.__generator_ctor": (generator, True),
        "numpy.random._pickle.__randomstate_ctor": (random_state, True),
        "numpy.random.bit_generator.__pyx_unpickle_SeedSequence": (seed_sequence, True),
        "pandas._libs.arrays.__pyx_unpickle_NDArrayBacked": (_string_array, True),
        "pandas.core.indexes.base._new_Index": (_index, False),
        "pandas.StringDtype": (string_dtype, False),
        "pyarrow.lib._restore_array": (_arrow_array, False),
        "pyarrow.lib.py_buffer": (_arrow_buffer, False),
        "pyarrow.lib.type_for_alias": (_arrow_type, False),
    }
    types: dict[type, tuple[str, Callable[..., Any], bool]] = {
        OrderedDict: ("collections.OrderedDict", _ordered, False),
        bytearray: ("builtins.bytearray", _bytearray, False),
        bytes: ("builtins.bytes", _bytes, False),
        complex: ("builtins.complex", _complex, False),
        defaultdict: ("collections.defaultdict", _defaulting, False),
        dict: ("builtins.dict", _dict, False),
        frozenset: ("builtins.frozenset", _frozenset, False),
        functools.partial: ("functools.partial", _partial, True),
        list: ("builtins.list", _list, False),
        np.dtype: ("numpy.dtype", dtype_of, True),
        range: ("builtins.range", _range, False),
        set: ("builtins.set", _set, False),
        slice: ("builtins.slice", _slice, False),
        tuple: ("builtins.tuple", _tuple, False),
    }
    table = {name: Grant(run, "call", run, fill) for name, (run, fill) in functions.items()}
    table |= {name: Grant(kind, "call", run, fill) for kind, (name, run, fill) in types.items()}
    table["joblib.numpy_pickle.NumpyArrayWrapper"] = Grant(StoredArray, "make")
    return table


CALLS = _calls()
