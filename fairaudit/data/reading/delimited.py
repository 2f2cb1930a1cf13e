"""CSV as people have it: other separators and encodings, and damage that must not pass unseen."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_delimited"]

SEPARATORS = (",", ";", "\t", "|")
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: First bytes of files that are no text, and what they are.
_OTHER_FILES = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"SQLite": "an SQLite database",
    b"%PDF": "a PDF",
    b"\x89HDF": "an HDF5 file",
    b"\x80\x04\x95": "a pickle",
    b"\x80\x05\x95": "a pickle",
}


def read_delimited(label: str, name: str, data: bytes) -> pd.DataFrame:
    """A table from the bytes of a CSV file; `shown` is its name in messages.

    The separator is the comma (the tab where the name says so) if it splits the first rows evenly,
    otherwise semicolon, tab or bar, whichever makes most columns. UTF-8 is read, and UTF-16 with
    a byte-order mark.
    """
    import pandas as pd

    data = _utf8(label, _unpack(label, data))
    separator, names = _header(label, name, data)
    try:
        frame = pd.read_csv(
            io.BytesIO(data),
            low_memory=False,
            sep=separator,
            encoding="utf-8-sig",
            **_exact_numbers(pd.__version__),
        )
    except pd.errors.ParserError as error:
        raise InputError(_why_not_parsed(label, separator, error)) from None
    if len(names) != len(frame.columns) or not isinstance(frame.index, pd.RangeIndex):
        # rows longer than the header would shift every value by one column
        raise InputError(
            f"The rows of {label} have more fields than its header ({len(names)}), separated by "
            f"{_NAMES[separator]}. Quote values that contain the separator."
        )
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if lines != len(frame) + 1 or frame.iloc[:, -1].isna().any():
        with _any_length():
            _check_records(label, data, separator)
    frame.columns = names
    empty = [
        k for k, name in enumerate(names) if not name.strip() and frame.iloc[:, k].isna().all()
    ]
    places = [k for k in range(len(names)) if k not in empty]  # a separator at the end of all rows
    frame = frame.iloc[:, places]
    # called as pandas calls them: a model may have been trained on such a column
    return frame.set_axis([names[k] or f"Unnamed: {k}" for k in places], axis=1)


def _exact_numbers(pandas: str) -> dict[str, Any]:
    """Before 3.1 pandas reads every third number one bit off unless it is told not to."""
    major, minor = map(int, pandas.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def _unpack(label: str, data: bytes) -> bytes:
    if data[:2] == b"\x1f\x8b":
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"The file {label} is damaged gzip: {_plain(error)}. Copy or pack it again."
            ) from None
    for start, what in _OTHER_FILES.items():
        if data.startswith(start):
            raise InputError(f"The file {label} is {what}. Save the table as CSV or Parquet.")
    return data


def _utf8(label: str, data: bytes) -> bytes:
    """The bytes in UTF-8; only encodings that say what they are get converted."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"The file {label} is damaged UTF-16: {error.reason} at byte {error.start}. "
                "Save it as UTF-8."
            ) from None
    if (place := data.find(b"\0")) >= 0:
        raise InputError(
            f"The file {label} has a zero byte in line {data.count(10, 0, place) + 1}: it is "
            "UTF-16 without its mark, or no text. Save it as UTF-8."
        )
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The file {label} is not UTF-8: byte 0x{data[error.start]:02x} in line "
            f"{data.count(10, 0, error.start) + 1}. Save it as UTF-8 (if it is Latin-1: "
            "iconv -f latin1 -t utf-8)."
        ) from None
    return data


def _header(label: str, name: str, data: bytes) -> tuple[str, list[str]]:
    """The separator, and the names as they stand: pandas would rename equal ones in silence."""
    tab = any(suffix in (".tsv", ".tab") for suffix in Path(name.lower()).suffixes)
    order = sorted(SEPARATORS, key=lambda mark: mark != ("\t" if tab else ","))
    starts = {separator: _first_records(data, separator) for separator in order}
    if not starts[order[0]]:
        raise InputError(f"The file {label} is empty. Pass a CSV file with a header.")
    widths = {separator: {len(record) for record in starts[separator]} for separator in order}
    even = [mark for mark in order if len(widths[mark]) == 1 and max(widths[mark]) > 1]
    split = [mark for mark in order if len(starts[mark][0]) > 1]
    # the usual separator if it fits, then the one that makes most columns
    best = sorted(even, key=lambda mark: (mark != order[0], -max(widths[mark]))) or split or order
    return best[0], starts[best[0]][0]


def _first_records(data: bytes, separator: str, most: int = 6) -> list[list[str]]:
    with _any_length():
        reader = csv.reader(_text(data), delimiter=separator)
        return list(islice((record for record in reader if record), most))


def _text(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


@contextmanager
def _any_length() -> Iterator[None]:
    """The csv module refuses long values by default."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _why_not_parsed(label: str, separator: str, error: Exception) -> str:
    text = _plain(error)
    if fields := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text):
        expected, line, width = fields.groups()
        return (
            f"Line {line} of {label} has {width} fields, its header {expected}, separated by "
            f"{_NAMES[separator]}. Quote values that contain the separator."
        )
    if quote := re.search(r"EOF inside string starting at row (\d+)", text):
        return (
            f"A quote that opens in line {int(quote[1]) + 1} of {label} is never closed. "
            "Close it, or double it if it belongs to the value."
        )
    return f"The file {label} is not a CSV table: {text}. Save it again as CSV."


def _check_records(label: str, data: bytes, separator: str) -> None:
    """Rows that are cut short, and rows swallowed by a quote that is not closed.

    pandas fills the first with missing values and makes one cell of the second.
    """
    reader = csv.reader(_text(data), delimiter=separator, strict=True)
    width, before = 0, 0
    try:
        for record in reader:
            width = width or len(record)
            if record and len(record) != width:
                raise InputError(
                    f"Line {reader.line_num} of {label} has {len(record)} fields, its header "
                    f"{width}. Complete the row or remove it."
                )
            if reader.line_num - before > 1 and _swallows_rows(record, separator, width):
                raise InputError(
                    f"A quoted value in lines {before + 1} to {reader.line_num} of {label} holds "
                    "whole rows: a quote is not closed. Close it, or double it if it belongs to "
                    "the value."
                )
            before = reader.line_num
    except csv.Error as error:
        raise InputError(
            f"Line {reader.line_num} of {label} is badly quoted: {_plain(error)}. Put quotes "
            "around the whole value and double those within."
        ) from None


def _swallows_rows(record: list[str], separator: str, width: int) -> bool:
    lines = [line for value in record for line in value.splitlines()[1:-1]]
    return any(line.count(separator) == width - 1 for line in lines if width > 1)


def _plain(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
