"""Compressed files, unpacked up to a limit."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from fairaudit.errors import InputError
from fairaudit.models.safe_pickle.messages import OTHER_WAYS, unreadable

_LEAST = 64 * 2**20
_RATIO = 100

#: The number that torch's older files begin with, as a pickle holds it.
_TORCH = (0x1950A86A20F9469CFC6C).to_bytes(10, "little")


def largest_unpacked(size: int) -> int:
    """How many bytes a packed file of this size may unpack to."""
    return _LEAST + _RATIO * size


def unpacked(data: bytes, name: str) -> bytes:
    starts: tuple[tuple[bytes, Callable[[], Any]], ...] = (
        (b"\x1f\x8b", lambda: zlib.decompressobj(31)),
        (b"BZ", bz2.BZ2Decompressor),
        (b"\xfd7zXZ", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
        (b"\x5d\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE)),
        (b"\x78", lambda: zlib.decompressobj(15)),
    )
    if data[:4] == b"\x04\x22\x4d\x18" or data[:2] == b"ZF":
        kind = "lz4" if data[:2] != b"ZF" else "joblib before 0.10"
        raise InputError(f"{name} was packed by {kind}, which is not read. Save it uncompressed.")
    if data[:4] == b"PK\x03\x04":
        raise InputError(
            f"{name} is a zip archive, not a pickle: torch writes these. {OTHER_WAYS} "
            "If it is a skops file, name it .skops.",
            argument="predictions",
        )
    if _TORCH in data[:16]:
        raise InputError(
            f"{name} was written by torch, in its form of before 1.6. {OTHER_WAYS}",
            argument="predictions",
        )
    if data[:8] == b"\x89HDF\r\n\x1a\n":
        raise InputError(
            f"{name} is an HDF5 file, not a pickle: keras writes these. {OTHER_WAYS}",
            argument="predictions",
        )
    for start, opened in starts:
        if data.startswith(start):
            return _inflate(data, opened(), name)
    return data


def _inflate(data: bytes, unpacker: Any, name: str) -> bytes:
    most = largest_unpacked(len(data))
    try:
        out = unpacker.decompress(data, most + 1)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        raise InputError(unreadable(name, error)) from None
    if len(out) > most:
        raise InputError(
            f"{name} unpacks to more than {most // 2**20} MiB from {len(data):,} bytes. "
            "Save the model uncompressed if that is meant."
        )
    if not unpacker.eof:
        raise InputError(unreadable(name, EOFError()))
    return out
