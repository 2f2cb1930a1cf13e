"""Shards one after the other, and counts of frames, in this process."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from fairaudit.auditing.engines.counting import CountSource
from fairaudit.auditing.engines.engine import TOGETHER, CountEngine, Engine, add_up
from fairaudit.auditing.engines.frame_counts import FrameSource
from fairaudit.auditing.engines.stored_frames import FrameStore, StoredFrame
from fairaudit.data.reading.frames import as_pandas

__all__ = ["LocalEngine"]


class LocalEngine(Engine, CountEngine):
    """One piece after the other, in this process; it counts frames (pandas, Polars, Arrow).

    While an audit runs, frames that are too many for its memory wait on disk.
    """

    name = "local"
    counted = "frames"
    store: FrameStore | None = None  # of the audit that runs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the record keeps; where frames wait is no setting."""
        return {}

    @contextmanager
    def running(self, *, workers: int, memory: int | None) -> Iterator[LocalEngine]:
        engine = copy.copy(self)
        with ExitStack() as stack:

            def make_folder() -> str:
                return stack.enter_context(tempfile.TemporaryDirectory(prefix="fairaudit-"))

            # subclasses may be frozen, as docs/extend.md has one
            object.__setattr__(engine, "store", FrameStore(make_folder, memory))
            yield engine

    def takes(self, data: Any) -> bool:
        elsewhere = ("to_delayed", "createOrReplaceTempView", "cursor", "fetchall")
        return hasattr(data, "columns") and not any(hasattr(data, name) for name in elsewhere)

    @contextmanager
    def open(
        self, data: Any, table: str | None = None, *, memory: int | None = None
    ) -> Iterator[CountSource]:
        self.refuse_others(data)
        frame = as_pandas(data)
        yield FrameSource(frame.columns, lambda function: [function(frame)])

    def map(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
        keep = _same if self.store is None else self.store.keep
        return [
            keep(function(*map(self._load, arguments))) for arguments in zip(*items, strict=True)
        ]

    def gather(self, pieces: Sequence[Any]) -> list[Any]:
        return list(map(self._load, pieces))

    def shuffled(self, frames: Sequence[Any], shards: int, left_out: float) -> list[Any]:
        if self.store is None or not any(isinstance(frame, StoredFrame) for frame in frames):
            return super().shuffled(frames, shards, left_out)
        return list(self.store.deal(frames, shards, left_out))

    def sum(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> Any:
        """In the order of `Engine.sum`, with few arrays at a time."""
        levels: list[list[Any]] = [[]]  # sums that wait for neighbors
        for arguments in zip(*items, strict=True):
            levels[0].append(function(*map(self._load, arguments)))
            for k, level in enumerate(levels):
                if len(level) == TOGETHER:
                    _carry(levels, k)
        for k, level in enumerate(levels):
            if level and (len(level) > 1 or k + 1 < len(levels)):
                _carry(levels, k)
        return levels[-1][0]

    def _load(self, value: Any) -> Any:
        return value if self.store is None else self.store.load(value)


def _same(value: Any) -> Any:
    return value


def _carry(levels: list[list[Any]], k: int) -> None:
    """Add up a level; the sum waits in the next one."""
    if k + 1 == len(levels):
        levels.append([])
    levels[k + 1].append(add_up(levels[k]))
    levels[k].clear()
