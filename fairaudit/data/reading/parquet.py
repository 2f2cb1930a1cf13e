"""Parquet files by column: only those that are needed, text as levels, the hash in passing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from fairaudit._words import clipped
from fairaudit.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Needed", "arrow", "read_parquet", "reject_twice", "sha256_of", "to_frame", "unreadable"]

#: Names of the columns of a file → those to read, and which of them may come as plain values.
Needed = Callable[[Sequence[str]], tuple[Collection[str], Collection[str]] | None]

_BLOCK = 1 << 22


def arrow(form: str) -> Any:
    """The module pyarrow, with its readers."""
    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            f"Reading {form} files needs pyarrow: pip install pyarrow"
        ) from None
    return pa


def sha256_of(file: BinaryIO) -> str:
    """Of a file from where it stands to its end, in pieces."""
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def read_parquet(
    label: str, file: Any, needed: Needed | None, groups: Sequence[int] | None = None
) -> pd.DataFrame:
    """The columns that are needed (default: all), of some row groups (default: all).

    `file` is a path or a buffer of Arrow; `shown` its name in messages.
    """

    pa = arrow("Parquet")
    try:
        opened = pa.parquet.ParquetFile(file, memory_map=isinstance(file, str))
        names = opened.schema_arrow.names
        reject_twice(label, names)  # before pandas or Arrow stumble over it
        wanted = needed(names) if needed is not None else None
        columns, plain = (None, ()) if wanted is None else wanted
        text = [name for name in plain if _is_text(pa, opened.schema_arrow.field(name).type)]
        if text:
            opened = pa.parquet.ParquetFile(
                file, memory_map=isinstance(file, str), read_dictionary=text
            )
        chosen = None if columns is None else [name for name in names if name in columns]
        which = range(opened.num_row_groups) if groups is None else groups
        table = opened.read_row_groups(list(which), columns=chosen)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(label, "Parquet", error) from None
    frame = to_frame(label, table, "Parquet")
    for name in text:  # one object per level and not per row
        frame[name] = frame[name].astype(object)
    return frame


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def to_frame(label: str, table: Any, form: str) -> pd.DataFrame:
    """A table of Arrow as one of pandas; a named index that pandas saved is a column."""
    pa = arrow(form)
    try:
        frame: pd.DataFrame = table.to_pandas()
    except (pa.ArrowException, LookupError, ValueError, TypeError, AttributeError) as error:
        # what pandas noted about the columns is JSON in the file, and may be damaged
        raise unreadable(label, form, error) from None
    named = all(name is not None for name in frame.index.names)
    return frame.reset_index(drop=not named)


def unreadable(label: str, form: str, error: Exception) -> InputError:
    why = " ".join(str(error).split()).rstrip(".")
    return InputError(f"The file {label} is not a readable {form} file: {why}. Write it again.")


def reject_twice(label: str, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"Column {clipped(twice)} occurs twice in {label}. Rename or drop one.")
