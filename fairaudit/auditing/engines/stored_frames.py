"""Frames that wait on disk while others are computed on, so that memory holds few at a time."""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.auditing.engines.engine import number_rows, split_by_shard
from fairaudit.auditing.engines.sources import Narrow
from fairaudit.data.reading.parquet import arrow
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FrameStore", "StoredFrame", "explain_full_disk"]

_KEPT = 1 << 31  # bytes of frames that stay in memory, unless told
_SHARE = 4  # frames have this part of the memory: they are read, copied and computed on
_OBJECT = 64  # bytes of a value that is an object, about


@contextmanager
def explain_full_disk(what: str) -> Iterator[None]:
    """A disk that is full is an error of one line."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        raise InputError(
            f"{what} cannot be written to {tempfile.gettempdir()!r}: "
            f"{os.strerror(error.errno)}. Free some space, or set TMPDIR to another folder. "
            "Nothing was concluded."
        ) from None


class StoredFile:
    """A file of Arrow with a frame per batch; it goes when nothing refers to it any more."""

    def __init__(self, path: str, types: Mapping[Any, Any]) -> None:
        self.path, self.types = path, types  # of the columns in pandas
        weakref.finalize(self, _remove, path)

    def read(self, batch: int) -> pd.DataFrame:
        pa = arrow("Arrow")
        with pa.OSFile(self.path) as source, pa.ipc.open_file(source) as file:
            found = pa.Table.from_batches([file.get_batch(batch)])
        return found.to_pandas().astype(self.types)


@dataclass(frozen=True, slots=True, eq=False)
class StoredFrame:
    """The batches of this number of some files, one after the other."""

    files: tuple[StoredFile, ...]
    batch: int = 0

    def load(self) -> pd.DataFrame:
        import pandas as pd

        frames = [file.read(self.batch) for file in self.files]
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


class FrameStore:
    """Keeps frames: the first ones in memory, and in files of a folder once they are too large.

    Parameters
    ----------
    make_folder : callable
        Makes the folder once it is needed, and says where it is.
    memory : int, optional
        Bytes that the audit may take, about.
    """

    def __init__(self, make_folder: Callable[[], str], memory: int | None = None) -> None:
        self.make_folder = make_folder
        self.left = _KEPT if memory is None else memory // _SHARE
        self.files = 0

    @cached_property
    def folder(self) -> Path:
        return Path(self.make_folder())

    def keep(self, value: Any) -> Any:
        """The value itself, or what `load` makes the same value of."""
        import pandas as pd

        if isinstance(value, Narrow):
            frame: Any = self.keep(value.frame)
            return replace(value, frame=frame)
        if not isinstance(value, pd.DataFrame):
            return value
        self.left -= _measure(value)
        if self.left >= 0 or find_spec("pyarrow") is None:
            return value
        try:
            return StoredFrame((self._write([value]),))
        except arrow("Arrow").ArrowException:  # a column of values of several kinds
            return value

    def load(self, value: Any) -> Any:
        if isinstance(value, Narrow) and isinstance(value.frame, StoredFrame):
            return replace(value, frame=value.frame.load())
        return value.load() if isinstance(value, StoredFrame) else value

    def deal(self, frames: Sequence[Any], shards: int, left_out: float) -> list[StoredFrame]:
        """One frame per shard, of which memory never holds more than a frame of `frames`."""
        files = []
        for frame in frames:
            numbered = number_rows(self.load(frame), shards, left_out)
            files.append(self._write(split_by_shard([numbered], shards)))
        return [StoredFrame(tuple(files), shard) for shard in range(shards)]

    def _write(self, frames: Sequence[pd.DataFrame]) -> StoredFile:
        """Frames of the same columns as the batches of a file."""
        pa = arrow("Arrow")
        path = str(self.folder / f"{self.files}.arrow")
        self.files += 1
        batches = [pa.RecordBatch.from_pandas(frame, preserve_index=False) for frame in frames]
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            explain_full_disk("The rows of shards"),
            pa.OSFile(path, "wb") as sink,
            pa.ipc.new_file(sink, batches[0].schema, options=options) as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
        return StoredFile(path, frames[0].dtypes.to_dict())


def _measure(frame: pd.DataFrame) -> int:
    """Bytes, about; of text without a look at every value."""
    objects = sum(isinstance(kind, np.dtype) and kind.hasobject for kind in frame.dtypes)
    return int(frame.memory_usage().sum()) + _OBJECT * objects * len(frame)


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)
