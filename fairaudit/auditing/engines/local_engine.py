"""Shards one after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairaudit.auditing.engines.engine import TOGETHER, Engine, add_up

__all__ = ["LocalEngine"]


class LocalEngine(Engine):
    """One piece after the other, in this process."""

    name = "local"

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
