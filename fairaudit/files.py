"""Tables in (CSV, Parquet, Arrow, standard input), text out: all of a file or nothing."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.delimited import read_delimited
from fairaudit.errors import InputError, clipped
from fairaudit.parquet import Needed, arrow, read_parquet, sha256_of, to_frame, unreadable
from fairaudit.result import Source

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "STANDARD_INPUT",
    "check_writable",
    "file_names",
    "is_parquet",
    "read_tables",
    "reject_twice",
    "remove_unfinished",
    "write_bytes",
    "write_text",
]

STDIN = "-"
STANDARD_INPUT = "standard input"  # the path of such a table in a record
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")


def read_tables(
    paths: Sequence[str], needed: Needed | None = None
) -> tuple[pd.DataFrame, tuple[Source, ...]]:
    """One table from files, patterns and ``-`` (standard input), with the hash of each file.

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
        frames.append(_parsed(name, data))
        shown = STANDARD_INPUT if name == STDIN else name
        sources.append(Source(shown, "table", hashlib.sha256(data).hexdigest()))
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
    """The files behind paths and patterns, each once."""
    names = [name for path in paths for name in _expanded(path)]
    known: dict[str, str] = {}
    for name in names:
        if os.path.isdir(name):
            raise InputError(
                f"{name!r} is a directory. Pass the files in it, or a pattern such as "
                f"{os.path.join(name, _pattern_in(name))!r}."
            )
    for name in names:  # rows that count twice would make every p-value too small
        place = name if name == STDIN else os.path.realpath(name)
        if place in known:
            raise InputError(f"The file {name!r} is given twice as --data. Give it once.")
        known[place] = name
    return names


def _pattern_in(folder: str) -> str:
    """``*.csv``, or that of the tables in the folder."""
    known = (".csv", ".tsv", *_PARQUET, *_ARROW)
    try:
        found = sorted(Path(name).suffix.lower() for name in os.listdir(folder))
    except OSError:
        found = []
    return "*" + next((suffix for suffix in found if suffix in known), ".csv")


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
    return _checked(repr(name), frame), Source(name, "table", digest)


def _expanded(path: str) -> list[str]:
    if path == STDIN or os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise InputError(f"No file matches the pattern {path!r}. Check --data.")
        return found
    raise InputError(f"There is no file {path!r}. Check the path given as --data.")


def _bytes_of(name: str) -> bytes:
    if name == STDIN:
        import sys

        return sys.stdin.buffer.read()
    try:
        with open(name, "rb") as file:
            before = os.fstat(file.fileno())
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


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _parsed(name: str, data: bytes) -> pd.DataFrame:
    shown = STANDARD_INPUT if name == STDIN else repr(name)
    if not data.strip():
        raise InputError(f"The file {shown} is empty. Pass a table with a header and rows.")
    suffix = Path(name).suffix.lower()
    if suffix in _PARQUET or data[:4] == b"PAR1":
        frame = read_parquet(shown, arrow("Parquet").BufferReader(data), None)
    elif suffix in _ARROW or data[:6] == b"ARROW1":
        frame = _by_feather(shown, data)
    else:
        frame = read_delimited(shown, name, data)
    return _checked(shown, frame)


def _checked(shown: str, frame: pd.DataFrame) -> pd.DataFrame:
    reject_twice(shown, [str(column) for column in frame.columns])
    if len(frame) == 0:
        raise InputError(f"The file {shown} has a header and no rows. Pass at least two rows.")
    return frame


def reject_twice(shown: str, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"Column {clipped(twice)} occurs twice in {shown}. Rename or drop one.")


def _by_feather(shown: str, data: bytes) -> pd.DataFrame:
    pa = arrow("Arrow")
    try:
        table = pa.feather.read_table(pa.BufferReader(data))
        reject_twice(shown, table.column_names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(shown, "Arrow", error) from None
    return to_frame(shown, table, "Arrow")


def check_writable(path: str | Path) -> None:
    """Fail now, and not after the work, when a report cannot be written."""
    target = Path(path)
    folder = target.parent
    while not folder.exists():
        folder = folder.parent
    problem = None
    if target.is_dir():
        problem = "it is a directory"
    elif not folder.is_dir():
        problem = f"{str(folder)!r} is not a directory"
    elif not os.access(folder, os.W_OK):
        problem = f"no permission to write in {str(folder)!r}"
    elif target.exists() and not os.access(target, os.W_OK):
        problem = "no permission to replace it"
    if problem:
        raise InputError(f"Cannot write {str(target)!r}: {problem}. Pass another path.")


_unfinished: set[str] = set()  # temporary names of files that are being written


def remove_unfinished() -> None:
    """Take temporary files away: for a process that ends before it can finish them."""
    for name in list(_unfinished):
        with suppress(FileNotFoundError):
            os.unlink(name)


def write_text(path: str | Path, text: str) -> None:
    """Write all of the file or nothing, also when interrupted."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write all of the file or nothing, also when interrupted."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        _unfinished.add(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, 0o644)  # a temporary file is its owner's alone
            os.replace(name, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name)
            raise
        finally:
            _unfinished.discard(name)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"Cannot write {str(target)!r}: {why}. Pass another path.") from None
