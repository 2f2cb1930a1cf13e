"""Messages between the processes: a line of JSON, then arrays of plain numbers as they are.

No pickles. Whoever reads checks lengths, types and shapes before it makes anything: what comes from
a model's process may be anything at all.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STATUS", "Broken", "Channel", "Message"]

STATUS = struct.Struct("<i")  # how a model's process ended, as os.waitpid has it
_HEAD = struct.Struct("<QI")  # bytes of JSON, number of arrays
_CHUNK = 2**20
_KINDS = "biufMm"
_WIDEST = 8  # bytes of a number


class Broken(Exception):
    """What came is no message."""


@dataclass(frozen=True, slots=True)
class Message:
    """A dict of plain values, and arrays."""

    content: dict[str, Any]
    arrays: Sequence[NDArray[Any]] = ()


class Channel:
    """One end of a connection: a file descriptor that both reads and writes.

    Deadlines hold only where it does not block: `patient` is False for who sets them.
    """

    def __init__(self, descriptor: int, *, patient: bool = True) -> None:
        self.descriptor = descriptor
        os.set_blocking(descriptor, patient)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def send(self, message: Message, *, deadline: float | None = None) -> None:
        import numpy as np

        arrays = [np.ascontiguousarray(array) for array in message.arrays]
        facts = [[array.dtype.str, list(array.shape)] for array in arrays]
        header = json.dumps({"content": message.content, "arrays": facts}).encode()
        self._write(_HEAD.pack(len(header), len(arrays)), deadline)
        self._write(header, deadline)
        for array in arrays:
            self._write(array.view(np.uint8).reshape(-1).data, deadline)

    def receive(self, *, most: int | None = None, deadline: float | None = None) -> Message:
        """The next message. EOFError: the other side has gone.

        `most` bounds the bytes of its arrays, and with them those of its JSON and the lists in it,
        which take far more memory than room in the text.
        """
        import numpy as np

        size, count = _HEAD.unpack(self._read(_HEAD.size, deadline))
        if most is not None and size > 2**22 + (most >> 6):
            raise Broken(f"a message of {size} bytes")
        try:
            text = self._read(size, deadline)
            if most is not None and text.count(b"[") + text.count(b"{") > most >> 10:
                raise Broken("a message of many parts")
            header = json.loads(text)
            facts = [(_dtype(kind), _shape(shape)) for kind, shape in header["arrays"]]
            content = header["content"]
        except (KeyError, MemoryError, RecursionError, TypeError, ValueError) as error:
            raise Broken(type(error).__name__) from None
        if not isinstance(content, dict) or len(facts) != count:
            raise Broken("no content")
        total = sum(kind.itemsize * _product(shape) for kind, shape in facts)
        if most is not None and total > most:
            raise Broken(f"arrays of {total} bytes")
        arrays = []
        for kind, shape in facts:
            data = self._read(kind.itemsize * _product(shape), deadline)
            arrays.append(np.frombuffer(data, kind).reshape(shape))
        return Message(content, arrays)

    def _write(self, data: bytes | memoryview, deadline: float | None) -> None:
        view = memoryview(data)
        while view:
            self._wait(deadline, writing=True)
            with suppress(BlockingIOError):  # there was room, but none for us
                view = view[os.write(self.descriptor, view[:_CHUNK]) :]

    def _read(self, size: int, deadline: float | None) -> bytearray:
        data = bytearray()
        while len(data) < size:
            self._wait(deadline, writing=False)
            try:
                part = os.read(self.descriptor, min(size - len(data), _CHUNK))
            except BlockingIOError:
                continue
            if not part:
                raise EOFError
            data += part
        return data

    def _wait(self, deadline: float | None, *, writing: bool) -> None:
        if deadline is None:
            return
        watch = select.poll()
        watch.register(self.descriptor, select.POLLOUT if writing else select.POLLIN)
        left = deadline - time.monotonic()
        if left <= 0 or not watch.poll(1000 * left):
            raise TimeoutError


def _dtype(text: Any) -> Any:
    import numpy as np

    if not isinstance(text, str) or len(text) > 16:
        raise ValueError
    dtype = np.dtype(text)
    if dtype.kind not in _KINDS or dtype.itemsize > _WIDEST or not dtype.isnative:
        raise ValueError
    return dtype


def _shape(shape: Any) -> tuple[int, ...]:
    whole = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    if not whole or len(shape) > 2 or _product(shape) > 2**40:
        raise ValueError
    return tuple(shape)


def _product(shape: Sequence[int]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product
