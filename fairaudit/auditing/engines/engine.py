"""Engines, by name or as objects: where shards are computed, and where rows are counted.

An engine does one of the two, or both. The order of every sum is the same, and so is every count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.engines.row_hashes import assign_shards, in_sample
from fairaudit.auditing.engines.sources import KEY
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.engines.counting import CountSource

__all__ = ["SHARD", "CountEngine", "Engine", "add_up", "number_rows", "split_by_shard"]

#: A column that is added for a while; no column of a table is called so.
SHARD = "\0shard"
TOGETHER = 8  # arrays that are added in one step


class Engine(ABC):
    """Runs functions on the pieces of a table; pieces are values or futures of them.

    A new engine needs `map` and `gather`; `sum` and `shuffled` are made of them, and can be
    replaced where the engine knows better. Its parameters are recorded: those of `get_params`,
    the fields of a dataclass, or its attributes.
    """

    @abstractmethod
    def map(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
        """`function(items[0][k], items[1][k], …)` for every k; errors name the step and item."""

    @abstractmethod
    def gather(self, pieces: Sequence[Any]) -> list[Any]:
        """The values of pieces."""

    def sum(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> Any:
        """The sum of what `map` would give: of eight neighbors, of eight such sums, …"""
        left = self.map(step, function, *items)
        while len(left) > 1:
            groups = [left[k : k + TOGETHER] for k in range(0, len(left), TOGETHER)]
            left = self.map(f"sum of {step}", add_up, groups)
        return self.gather(left)[0]

    def shuffled(self, frames: Sequence[Any], shards: int, left_out: float) -> list[Any]:
        """One frame per shard, without the rows that a sample of this share holds."""
        count = len(frames)
        numbered = self.map("number", number_rows, frames, [shards] * count, [left_out] * count)
        return split_by_shard(self.gather(numbered), shards)

    @contextmanager
    def running(self, *, workers: int, memory: int | None) -> Iterator[Engine]:
        """The engine while an audit runs: this many workers and bytes were asked for."""
        yield self


class CountEngine(ABC):
    """Counts rows where they lie: how many have which outcome, attributes and predictions.

    `SQLSource` makes of any function that answers queries a source of counts.

    Attributes
    ----------
    suffixes : tuple of str
        Names of files that are databases end so: what is counted in them is named by `table`.
    counted : str
        What it counts, as messages say it.
    """

    suffixes: tuple[str, ...] = ()
    counted: str = "its own tables"

    @abstractmethod
    def takes(self, data: Any) -> bool:
        """Whether it can count this kind of data without being named."""

    @abstractmethod
    def open(
        self, data: Any, table: str | None = None, *, memory: int | None = None
    ) -> AbstractContextManager[CountSource]:
        """What can be counted, while it is open.

        Parameters
        ----------
        data : object
            What the caller passed; paths come as a list.
        table : str, optional
            Of a database: the name of a table, or a query.
        memory : int, optional
            Bytes.
        """

    def refuse_others(self, data: Any) -> None:
        """An error for data that it does not take."""
        if not self.takes(data):
            name = getattr(self, "name", type(self).__name__)
            raise InputError(
                f"The engine {name!r} counts {self.counted}. Got a {type(data).__name__}.",
                argument="engine",
            )


def add_up(arrays: Sequence[Any]) -> Any:
    """The sum of arrays, from the first to the last."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def number_rows(frame: pd.DataFrame, shards: int, left_out: float) -> pd.DataFrame:
    """The rows that are tested, with the numbers of their shards."""
    keys = frame[KEY].to_numpy()
    if left_out > 0:
        frame = frame[~in_sample(keys, left_out)]
        keys = frame[KEY].to_numpy()
    return frame.assign(**{SHARD: assign_shards(keys, shards)})


def split_by_shard(numbered: Sequence[pd.DataFrame], shards: int) -> list[pd.DataFrame]:
    """One frame per shard, of rows with the numbers of their shards."""
    import numpy as np
    import pandas as pd

    whole = pd.concat(numbered, ignore_index=True)
    shard = whole.pop(SHARD).to_numpy()
    order = np.argsort(shard, kind="stable")
    ends = np.cumsum(np.bincount(shard, minlength=shards))
    return [whole.iloc[rows] for rows in np.split(order, ends[:-1])]
