"""Tables in (CSV, Parquet, Arrow, standard input), text out: all of a file or nothing."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.data.facts import Source
from fairaudit.data.reading.delimited import read_delimited
from fairaudit.data.reading.parquet import (
    Needed,
    arrow,
    read_parquet,
    reject_twice,
    sha256_of,
    to_frame,
    unreadable,
)
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STANDARD_INPUT", "file_names", "is_parquet", "read_tables"]

STDIN = "-"
STANDARD_INPUT = "standard input"  # the path of such a table in a record
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
_TABLES = {
    ".csv": "CSV",
    ".tsv": "TSV",
    **dict.fromkeys(_PARQUET, "Parquet"),
    **dict.fromkeys(_ARROW, "Arrow"),
}


def read_tables(
    paths: Sequence[str], needed: Needed | None = None
) -> tuple[pd.DataFrame, tuple[Source, ...]]:
    """One table from files, folders, patterns and ``-`` (standard input), with a hash per file.

    Files must have the same columns; their rows are put one below the other. `needed` chooses
    among the columns where a format can be read by column.
    """
    import pandas as pd

    names = file_names(paths)
    frames, sources = [], []
    for name in names:
        if needed is not None and is_parquet(name):
            frame, source = _by_column(name, needed)
            frames.append(frame)
            sources.append(source)
            continue
        data = _bytes_of(name)
        frames.append(_parse_table(name, data))
        label = STANDARD_INPUT if name == STDIN else name
        sources.append(Source(label, "table", hashlib.sha256(data).hexdigest()))
    first = frames[0]
    for name, frame in zip(names[1:], frames[1:], strict=True):
        differ = set(first.columns) ^ set(frame.columns)
        if differ:
            raise InputError(
                f"{names[0]!r} and {name!r} have different columns: {', '.join(sorted(differ))}. "
                "Pass files with the same columns."
            )
    table = first if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    return table, tuple(sources)


def is_parquet(name: str) -> bool:
    return name != STDIN and Path(name).suffix.lower() in _PARQUET and os.path.isfile(name)


def file_names(paths: Sequence[str]) -> list[str]:
    """The files behind paths, patterns and folders, each once."""
    names = [
        name
        for path in paths
        for place in _expand_pattern(path)
        for name in (_list_tables(place) if os.path.isdir(place) else [place])
    ]
    known: dict[str, str] = {}
    for name in names:  # rows that count twice would make every p-value too small
        place = name if name == STDIN else os.path.realpath(name)
        if place in known:
            raise InputError(
                f"The file {name!r} is given twice as 'data'. Give it once.", argument="data"
            )
        known[place] = name
    return names


def _list_tables(folder: str) -> list[str]:
    """The tables in a folder and below, of one format; hidden files are no part of it."""
    found: dict[str, list[str]] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(files):
            suffix = Path(name.lower().removesuffix(".gz")).suffix
            if suffix in _TABLES and not name.startswith((".", "_")):
                found.setdefault(_TABLES[suffix], []).append(os.path.join(place, name))
    if not found:
        raise InputError(
            f"The folder {folder!r} holds no table ({', '.join(_TABLES)}). Pass a file, or a "
            "pattern that names some.",
            argument="data",
        )
    if len(found) > 1:
        kinds = " and ".join(f"{len(names)} of {kind}" for kind, names in sorted(found.items()))
        pattern = os.path.join(folder, "**", f"*{Path(min(found.values())[0]).suffix}")
        raise InputError(
            f"The folder {folder!r} holds tables of several formats: {kinds}. Pass a pattern, as "
            f"in {pattern!r}.",
            argument="data",
        )
    return next(iter(found.values()))


def _by_column(name: str, needed: Needed) -> tuple[pd.DataFrame, Source]:
    """Some columns of a Parquet file that is not read as a whole."""
    try:
        with open(name, "rb") as file:
            before = os.fstat(file.fileno())
            if before.st_size == 0:
                raise InputError(
                    f"The file {name!r} is empty. Pass a table with a header and rows."
                )
            digest = sha256_of(file)
        frame = read_parquet(repr(name), name, needed)
        after = os.stat(name)
    except OSError as error:
        raise InputError(f"The file {name!r} cannot be read: {error.strerror}.") from None
    if _state(before) != _state(after):
        raise _changed(name)
    return _check_table(repr(name), frame), Source(name, "table", digest)


def _expand_pattern(path: str) -> list[str]:
    if path == STDIN or os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        paths = sorted(glob.glob(path, recursive=True))
        if not paths:
            raise InputError(
                f"No file matches the pattern {path!r}. Check 'data'.", argument="data"
            )
        return paths
    raise InputError(f"There is no file {path!r}. Check the path given as 'data'.", argument="data")


def _bytes_of(name: str) -> bytes:
    if name == STDIN:
        import sys

        return sys.stdin.buffer.read()
    try:
        with open(name, "rb") as file:
            before = os.fstat(file.fileno())
            if stat.S_ISCHR(before.st_mode):  # as a link of a stranger's may be: it has no end
                raise InputError(f"{name!r} is a device. Pass a file.", argument="data")
            data = file.read()
        after = os.stat(name)
    except OSError as error:
        raise InputError(f"The file {name!r} cannot be read: {error.strerror}.") from None
    regular = stat.S_ISREG(before.st_mode)
    if regular and (_state(before) != _state(after) or len(data) != after.st_size):
        raise _changed(name)
    return data


def _changed(name: str) -> InputError:
    return InputError(
        f"The file {name!r} changed while it was read. Wait until it is written, then repeat."
    )


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _parse_table(name: str, data: bytes) -> pd.DataFrame:
    label = STANDARD_INPUT if name == STDIN else repr(name)
    if not data.strip():
        raise InputError(f"The file {label} is empty. Pass a table with a header and rows.")
    suffix = Path(name).suffix.lower()
    if suffix in _PARQUET or data[:4] == b"PAR1":
        frame = read_parquet(label, arrow("Parquet").BufferReader(data), None)
    elif suffix in _ARROW or data[:6] == b"ARROW1":
        frame = _by_feather(label, data)
    else:
        frame = read_delimited(label, name, data)
    return _check_table(label, frame)


def _check_table(label: str, frame: pd.DataFrame) -> pd.DataFrame:
    reject_twice(label, [str(column) for column in frame.columns])
    if len(frame) == 0:
        raise InputError(f"The file {label} has a header and no rows. Pass at least two rows.")
    return frame


def _by_feather(label: str, data: bytes) -> pd.DataFrame:
    pa = arrow("Arrow")
    try:
        table = pa.feather.read_table(pa.BufferReader(data))
        reject_twice(label, table.column_names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(label, "Arrow", error) from None
    return to_frame(label, table, "Arrow")
