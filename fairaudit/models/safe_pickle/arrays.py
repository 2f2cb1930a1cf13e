"""Arrays, their types, and random numbers, put back together with checked arguments."""

from __future__ import annotations

import math
import re
from typing import Any, cast

import numpy as np

from fairaudit.models.safe_pickle.grants import Bytes, Maker, attribute, require

_MOST_EMPTY = 10**6  # elements without bytes, such as empty texts


def array_shell(machine: Maker, kind: Any, *_: Any) -> Any:
    require(kind is np.ndarray)
    return np.ndarray.__new__(np.ndarray, (0,), "b")


def masked_shell(machine: Maker, kind: Any, base: Any, *_: Any) -> Any:
    require(kind is np.ma.MaskedArray and base is np.ndarray)
    return np.ma.MaskedArray(np.empty(0, "b"), mask=np.empty(0, bool))


def check_array_state(state: Any) -> None:
    """The state of an array holds as many elements as its shape says; numpy trusts the shape."""
    require(type(state) is tuple and len(state) >= 5)
    _, shape, dtype, _, data = state[:5]
    require(type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape))
    require(isinstance(dtype, np.dtype))
    if dtype.hasobject:
        require(type(data) is list and len(data) == math.prod(shape))
    else:
        require(isinstance(data, (bytes, bytearray, str)))
        require(dtype.itemsize > 0 or math.prod(shape) <= _MOST_EMPTY)


def from_buffer(
    machine: Maker, data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None
) -> Any:
    require(isinstance(data, (bytes, bytearray, memoryview)))
    require(isinstance(dtype, np.dtype) and not dtype.hasobject)
    flat = np.frombuffer(data, dtype=dtype)
    if order == "K" and axes is not None:
        return flat.reshape(shape, order="C").transpose(axes)
    return flat.reshape(shape, order=order)


def scalar(machine: Maker, dtype: Any, data: Any = b"") -> Any:
    require(isinstance(dtype, np.dtype) and not dtype.hasobject)
    require(isinstance(data, bytes) and len(data) == dtype.itemsize)
    if dtype.itemsize == 0:
        return dtype.type()
    return np.frombuffer(data, dtype=dtype, count=1)[0]


def dtype_of(machine: Maker, code: Any, *_: Any) -> Any:
    require(isinstance(code, str) and re.fullmatch(r"[<>|=]?[A-Za-z]\d{0,9}", code))
    return np.dtype(code)


def dtype_filled(dtype: np.dtype[Any], state: Any) -> np.dtype[Any]:
    """The dtype that `state` describes, made by numpy's checked constructors."""
    require(isinstance(state, tuple) and len(state) in (8, 9))
    _, order, sub, names, fields, size, _, _ = state[:8]
    if sub is not None:
        base, shape = sub
        require(isinstance(base, np.dtype) and not base.hasobject)
        return np.dtype((base, shape))
    if names:
        require(all(isinstance(fields[name][0], np.dtype) for name in names))
        require(not any(fields[name][0].hasobject for name in names))
        layout = {
            "names": list(names),
            "formats": [fields[name][0] for name in names],
            "offsets": [int(fields[name][1]) for name in names],
            "itemsize": int(size),
        }
        return np.dtype(cast(Any, layout))
    if dtype.kind in "mM" and len(state) == 9:
        unit, count = state[8][1][:2]
        unit = unit.decode("ascii") if isinstance(unit, bytes) else unit
        require(re.fullmatch(r"[a-zA-Z]{1,7}", unit))
        if unit != "generic":
            dtype = np.dtype(f"{dtype.kind}8[{int(count)}{unit}]")
    return dtype.newbyteorder(order) if order in ("<", ">") else dtype


def bit_generator(machine: Maker, kind: Any = "MT19937") -> Any:
    known = {k.__name__: k for k in np.random.BitGenerator.__subclasses__()}
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", None)
    require(name in known and kind in (name, known[name]))
    return known[cast(str, name)]()


def generator(machine: Maker, bits: Any = "MT19937", *_: Any) -> Any:
    if not isinstance(bits, np.random.BitGenerator):
        bits = bit_generator(machine, bits)
    return np.random.Generator(bits)


def random_state(machine: Maker, bits: Any = "MT19937", *_: Any) -> Any:
    if not isinstance(bits, np.random.BitGenerator):
        bits = bit_generator(machine, bits)
    return np.random.RandomState(bits)


def seed_sequence(machine: Maker, kind: Any, checksum: Any, state: Any) -> Any:
    require(kind is np.random.SeedSequence)
    made = attribute("numpy.random.bit_generator.__pyx_unpickle_SeedSequence")
    return made(kind, checksum, state)


class StoredArray:
    """An array that joblib wrote next to the pickle: its description, then its bytes."""

    subclass: Any = None
    shape: Any = ()
    order: Any = "C"
    dtype: Any = None
    numpy_array_alignment_bytes: Any = None

    def fill(self, state: Any) -> None:
        require(type(state) is dict and isinstance(state.get("dtype"), np.dtype))
        require(type(state.get("shape")) is tuple)
        require(all(type(n) is int and n >= 0 for n in state["shape"]))
        for key in ("shape", "order", "dtype", "numpy_array_alignment_bytes"):
            if key in state:
                setattr(self, key, state[key])

    def data(self, file: Bytes) -> bytes:
        if self.numpy_array_alignment_bytes is not None:
            file.read(file.read(1)[0])
        return file.read(math.prod(self.shape) * self.dtype.itemsize)

    def read(self, file: Bytes) -> Any:
        data = self.data(file)
        if not data:
            require(math.prod(self.shape) <= _MOST_EMPTY)
            return np.empty(self.shape, self.dtype)
        flat = np.frombuffer(bytearray(data), dtype=self.dtype)
        array = flat.reshape(self.shape, order="F" if self.order == "F" else "C")
        native = array.dtype.newbyteorder("=")
        return array if array.dtype == native else array.astype(native)
