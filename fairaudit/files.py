"""Tables in (CSV, Parquet, Arrow, standard input), text out: all of a file or nothing."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.delimited import read_delimited
from fairaudit.errors import InputError, MissingDependencyError, clipped
from fairaudit.result import Source

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_writable", "read_tables", "write_bytes", "write_text"]

STDIN = "-"
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")


def read_tables(paths: Sequence[str]) -> tuple[pd.DataFrame, tuple[Source, ...]]:
    """One table from files, patterns and ``-`` (standard input), with the hash of each file.

    Files must have the same columns; their rows are put one below the other.
    """
    import pandas as pd

    names = [name for path in paths for name in _expanded(path)]
    known: dict[str, str] = {}
    for name in names:  # rows that count twice would make every p-value too small
        place = name if name == STDIN else os.path.realpath(name)
        if place in known:
            raise InputError(f"The file {name!r} is given twice as --data. Give it once.")
        known[place] = name
    frames, sources = [], []
    for name in names:
        data = _bytes_of(name)
        frames.append(_parsed(name, data))
        shown = "standard input" if name == STDIN else name
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
        raise InputError(
            f"The file {name!r} changed while it was read. Wait until it is written, then repeat."
        )
    return data


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _parsed(name: str, data: bytes) -> pd.DataFrame:
    shown = "standard input" if name == STDIN else repr(name)
    if not data.strip():
        raise InputError(f"The file {shown} is empty. Pass a table with a header and rows.")
    suffix = Path(name).suffix.lower()
    if suffix in _PARQUET or data[:4] == b"PAR1":
        frame = _by_arrow(shown, data, "Parquet")
    elif suffix in _ARROW or data[:6] == b"ARROW1":
        frame = _by_arrow(shown, data, "Arrow")
    else:
        frame = read_delimited(shown, name, data)
    _reject_twice(shown, [str(column) for column in frame.columns])
    if frame.empty:
        raise InputError(f"The file {shown} has a header and no rows. Pass at least two rows.")
    return frame


def _reject_twice(shown: str, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"Column {clipped(twice)} occurs twice in {shown}. Rename or drop one.")


def _by_arrow(shown: str, data: bytes, form: str) -> pd.DataFrame:
    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            f"Reading {form} files needs pyarrow: pip install 'fairaudit-icp[parquet]'."
        ) from None
    try:
        if form == "Parquet":
            table = pa.parquet.ParquetFile(pa.BufferReader(data)).read()
        else:
            table = pa.feather.read_table(pa.BufferReader(data))
        _reject_twice(shown, table.column_names)  # before pandas or Arrow stumble over it
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(shown, form, error) from None
    try:
        return _with_plain_index(table.to_pandas())
    except (pa.ArrowException, LookupError, ValueError, TypeError, AttributeError) as error:
        # what pandas noted about the columns is JSON in the file, and may be damaged
        raise _unreadable(shown, form, error) from None


def _unreadable(shown: str, form: str, error: Exception) -> InputError:
    why = " ".join(str(error).split()).rstrip(".")
    return InputError(f"The file {shown} is not a readable {form} file: {why}. Write it again.")


def _with_plain_index(frame: pd.DataFrame) -> pd.DataFrame:
    """An index that pandas saved is a column like others if it has a name."""
    named = all(name is not None for name in frame.index.names)
    return frame.reset_index(drop=not named)


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


def write_text(path: str | Path, text: str) -> None:
    """Write all of the file or nothing, also when interrupted."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write all of the file or nothing, also when interrupted."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, 0o644)  # a temporary file is its owner's alone
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"Cannot write {str(target)!r}: {why}. Pass another path.") from None
