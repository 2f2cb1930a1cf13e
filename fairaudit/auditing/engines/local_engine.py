"""Shards one after the other, and counts of frames, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fairaudit.auditing.engines.counting import CountSource
from fairaudit.auditing.engines.engine import TOGETHER, CountEngine, Engine, add_up
from fairaudit.auditing.engines.frame_counts import FrameSource
from fairaudit.data.reading.frames import as_pandas
from fairaudit.errors import InputError

__all__ = ["LocalEngine"]


class LocalEngine(Engine, CountEngine):
    """One piece after the other, in this process; it counts frames (pandas, Polars, Arrow)."""

    name = "local"

    def takes(self, data: Any) -> bool:
        elsewhere = ("to_delayed", "createOrReplaceTempView", "cursor", "fetchall")
        return hasattr(data, "columns") and not any(hasattr(data, name) for name in elsewhere)

    @contextmanager
    def open(
        self, data: Any, table: str | None = None, *, memory: int | None = None
    ) -> Iterator[CountSource]:
        if not self.takes(data):
            raise InputError(
                f"The local engine counts frames. Got a {type(data).__name__}.", argument="engine"
            )
        frame = as_pandas(data)
        yield FrameSource(frame.columns, lambda function: [function(frame)])

    def map(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
        return [function(*arguments) for arguments in zip(*items, strict=True)]

    def gather(self, pieces: Sequence[Any]) -> list[Any]:
        return list(pieces)

    def sum(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> Any:
        """In the order of `Engine.sum`, with few arrays at a time."""
        levels: list[list[Any]] = [[]]  # sums that wait for neighbors
        for arguments in zip(*items, strict=True):
            levels[0].append(function(*arguments))
            for k, level in enumerate(levels):
                if len(level) == TOGETHER:
                    _carry(levels, k)
        for k, level in enumerate(levels):
            if level and (len(level) > 1 or k + 1 < len(levels)):
                _carry(levels, k)
        return levels[-1][0]


def _carry(levels: list[list[Any]], k: int) -> None:
    """Add up a level; the sum waits in the next one."""
    if k + 1 == len(levels):
        levels.append([])
    levels[k + 1].append(add_up(levels[k]))
    levels[k].clear()
