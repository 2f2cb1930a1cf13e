"""Tables in (CSV, Parquet, Arrow, standard input), text out: all of a file or nothing."""

from __future__ import annotations

import glob
import hashlib
import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError, MissingDependencyError
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
        return Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"The file {name!r} cannot be read: {error.strerror}.") from None


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
        frame = _csv(shown, name, data)
    names = list(frame.columns)
    for column in names:
        if names.count(column) > 1:
            raise InputError(f"Column {column!r} occurs twice in {shown}. Rename or drop one.")
    if frame.empty:
        raise InputError(f"The file {shown} has a header and no rows. Pass at least two rows.")
    return frame


def _csv(shown: str, name: str, data: bytes) -> pd.DataFrame:
    import pandas as pd

    tab = any(suffix in (".tsv", ".tab") for suffix in Path(name.lower()).suffixes)
    packed: Any = "gzip" if data[:2] == b"\x1f\x8b" else None
    options: dict[str, Any] = {
        "sep": "\t" if tab else ",", "encoding": "utf-8-sig", "compression": packed,
    }  # fmt: skip
    try:
        # pandas would rename a second column of the same name in silence
        header = pd.read_csv(io.BytesIO(data), header=None, nrows=1, dtype=str, **options)
        frame = pd.read_csv(io.BytesIO(data), low_memory=False, **options)
    except pd.errors.EmptyDataError:
        raise InputError(f"The file {shown} is empty. Pass a CSV file with a header.") from None
    except (pd.errors.ParserError, UnicodeDecodeError, EOFError, OSError) as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"The file {shown} is not a CSV table in UTF-8: {why}.") from None
    names = header.iloc[0].tolist()
    if len(names) == 1 and (other := next((s for s in ";\t|" if s in str(names[0])), None)):
        raise InputError(
            f"The file {shown} seems to separate its columns by {other!r}. Save it with commas "
            "(and points in numbers), or with tabs as .tsv."
        )
    if len(names) == len(frame.columns) and isinstance(frame.index, pd.RangeIndex):
        frame.columns = [str(name) for name in names]
    else:  # rows longer than the header would shift every value by one column
        raise InputError(
            f"The rows of {shown} have more fields than its header ({len(names)}). "
            "Quote values that contain commas."
        )
    return frame


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
        buffer = pa.BufferReader(data)
        read = pa.parquet.read_table if form == "Parquet" else pa.feather.read_table
        return read(buffer).to_pandas()
    except (pa.ArrowInvalid, OSError) as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"The file {shown} is not a readable {form} file: {why}.") from None


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
