"""Finds tensors of an ONNX file whose numbers lie in other files, without the onnx package.

onnxruntime would open whatever path the file names. Only the parts of the format that lead to
tensors are followed (onnx.proto: field numbers below); the rest is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["external_files"]

# message → field number → message inside of it
_INSIDE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
_KEY, _VALUE, _LOCATION, _EXTERNAL = 1, 2, 14, 1


def external_files(data: bytes) -> list[str]:
    """The places that tensors of this model point to, as the file writes them."""
    locations: list[str] = []
    pending = [("model", memoryview(data))]
    while pending:
        kind, message = pending.pop()
        entry: dict[int, str] = {}
        for number, value in _fields(message):
            if isinstance(value, memoryview):
                if kind == "entry":
                    entry[number] = bytes(value).decode("utf-8", "replace")
                elif number in _INSIDE.get(kind, {}):
                    pending.append((_INSIDE[kind][number], value))
            elif kind == "tensor" and number == _LOCATION and value == _EXTERNAL:
                locations.append("")
        if entry.get(_KEY) == "location":
            locations.append(entry.get(_VALUE, ""))
    return sorted(set(locations), reverse=True)


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: bytes of a length, or a whole number."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        wire = tag & 7
        if wire == 2:
            length, at = _number(message, at)
            if at + length > len(message):
                raise ValueError("a field is longer than the file")
            yield tag >> 3, message[at : at + length]
            at += length
        elif wire == 0:
            value, at = _number(message, at)
            yield tag >> 3, value
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise ValueError("not a protocol buffer")


def _number(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("the file ends too early")
