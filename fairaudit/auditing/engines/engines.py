"""Where shards are computed: in this process, or by Dask. The order of every sum is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from fairaudit.auditing.engines.row_hashes import in_sample, shard_of
from fairaudit.auditing.engines.sources import KEY
from fairaudit.errors import FairAuditError, InputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DaskEngine", "Engine", "LocalEngine", "dask_cluster", "dask_engine"]

_SHARD = "\0shard"
_TOGETHER = 8  # arrays that are added in one step


class Engine(Protocol):
    """Runs functions on the pieces of a table; pieces are values or futures of them."""

    def map(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
        """function(items[0][k], items[1][k], …) for every k; errors name the step and the item."""
        ...

    def gather(self, pieces: Sequence[Any]) -> list[Any]:
        """The values of pieces."""
        ...

    def sum(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> Any:
        """The sum of what `map` would give: of eight neighbours, of eight such sums, …"""
        ...

    def shuffled(self, frames: Sequence[Any], shards: int, left_out: float) -> list[Any]:
        """One frame per shard, without the rows that a sample of this share holds."""
        ...


def _sum(arrays: Sequence[Any]) -> Any:
    total = arrays[0].copy()
    for one in arrays[1:]:
        total += one
    return total


def _numbered(frame: pd.DataFrame, shards: int, left_out: float) -> pd.DataFrame:
    """The rows that are tested, with the numbers of their shards."""
    keys = frame[KEY].to_numpy()
    if left_out > 0:
        frame = frame[~in_sample(keys, left_out)]
        keys = frame[KEY].to_numpy()
    return frame.assign(**{_SHARD: shard_of(keys, shards)})


def _carry(levels: list[list[Any]], k: int) -> None:
    """Add up a level; the sum waits in the next one."""
    if k + 1 == len(levels):
        levels.append([])
    levels[k + 1].append(_sum(levels[k]))
    levels[k].clear()


class LocalEngine:
    """One piece after the other, in this process."""

    def map(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
        return [function(*arguments) for arguments in zip(*items, strict=True)]

    def gather(self, pieces: Sequence[Any]) -> list[Any]:
        return list(pieces)

    def sum(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> Any:
        levels: list[list[Any]] = [[]]  # sums that wait for neighbours
        for arguments in zip(*items, strict=True):
            levels[0].append(function(*arguments))
            for k, level in enumerate(levels):
                if len(level) == _TOGETHER:
                    _carry(levels, k)
        for k, level in enumerate(levels):
            if level and (len(level) > 1 or k + 1 < len(levels)):
                _carry(levels, k)
        return levels[-1][0]

    def shuffled(self, frames: Sequence[Any], shards: int, left_out: float) -> list[Any]:
        import numpy as np
        import pandas as pd

        whole = pd.concat([_numbered(one, shards, left_out) for one in frames], ignore_index=True)
        shard = whole.pop(_SHARD).to_numpy()
        order = np.argsort(shard, kind="stable")
        ends = np.cumsum(np.bincount(shard, minlength=shards))
        return [whole.iloc[rows] for rows in np.split(order, ends[:-1])]


class DaskEngine:
    """Pieces are futures on a cluster; Dask moves, retries and spills them."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def map(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
        from uuid import uuid4

        run = uuid4().hex[:8]
        with self._explained(step):
            return [
                self.client.submit(function, *arguments, key=f"{_key(step, k, arguments[0])} {run}")
                for k, arguments in enumerate(zip(*items, strict=True))
            ]

    def gather(self, pieces: Sequence[Any]) -> list[Any]:
        with self._explained("gathering"):
            return list(self.client.gather(list(pieces)))

    def sum(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> Any:
        left = self.map(step, function, *items)
        while len(left) > 1:  # what has been added is forgotten by the cluster
            groups = [left[k : k + _TOGETHER] for k in range(0, len(left), _TOGETHER)]
            left = self.map(f"sum of {step}", _sum, groups)
        return self.gather(left)[0]

    def shuffled(self, frames: Sequence[Any], shards: int, left_out: float) -> list[Any]:
        import dask
        import dask.dataframe as dd

        with self._explained("shuffle"):
            numbered = self.map(
                "number", _numbered, frames, [shards] * len(frames), [left_out] * len(frames)
            )
            meta = self.client.submit(_empty, numbered[0]).result()
            if shards == 1:
                return self.map("shard", _concatenated, [numbered])
            table = dd.from_delayed(numbered, meta=meta, verify_meta=False)
            # tasks, and not peer to peer: a worker that is lost takes no more than its own pieces
            with dask.config.set({"dataframe.shuffle.method": "tasks"}):
                spread = table.set_index(
                    _SHARD,
                    divisions=[*range(shards), shards - 1],
                    sorted=False,
                    sort=True,
                    drop=True,
                )
                return list(self.client.compute(spread.to_delayed()))

    @contextmanager
    def _explained(self, step: str) -> Iterator[None]:
        from concurrent.futures import CancelledError

        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            yield
        except FairAuditError:
            raise
        except KilledWorker as error:
            raise InputError(
                f"Workers were lost again and again at {_piece(error.task)}: they probably ran "
                "out of memory. Give workers more memory, or use more 'shards'.",
                argument="shards",
            ) from None
        except (CancelledError, CommClosedError, OSError, TimeoutError) as error:
            raise InputError(
                f"The scheduler of Dask was lost ({type(error).__name__}) during the step "
                f"'{step}'. Nothing was concluded; start it again, then the audit."
            ) from None


def _key(step: str, number: int, item: Any) -> str:
    name = getattr(item, "name", None)
    return f"fairaudit: {step} {number}{f', {name}' if isinstance(name, str) else ''}"


def _piece(key: Any) -> str:
    """``partition 3, 'part-3.parquet', row groups 0 to 1`` from the key of a task."""
    text = str(key)
    return text[len("fairaudit: ") :].rpartition(" ")[0] if text.startswith("fairaudit: ") else text


def _empty(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[:0]


def _concatenated(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(frames, ignore_index=True).drop(columns=_SHARD)


def _dask() -> Any:
    try:
        import dask.dataframe  # noqa: F401
        import distributed
    except ImportError:
        raise MissingDependencyError(
            "engine='dask' needs Dask: pip install 'dask[dataframe]' distributed pyarrow"
        ) from None
    return distributed


@contextmanager
def dask_engine(scheduler: str | None, workers: int, memory: int | None) -> Iterator[DaskEngine]:
    """A client of the scheduler, of the client that is active, or of a cluster on this machine."""
    distributed = _dask()
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout="10s")
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"There is no scheduler of Dask at {scheduler!r} ({type(error).__name__}). "
                "Start one with `dask scheduler`, and workers with `dask worker`."
            ) from None
        with client:
            yield DaskEngine(client)
        return
    try:
        yield DaskEngine(distributed.get_client())
        return
    except ValueError:  # no client is active
        pass
    with dask_cluster(workers, memory) as cluster, distributed.Client(cluster) as client:
        yield DaskEngine(client)


def dask_cluster(workers: int, memory: int | None = None) -> Any:
    """Workers on this machine, one thread each."""
    import logging

    limit: Any = "auto" if memory is None else memory // workers
    return _dask().LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        memory_limit=limit,
        silence_logs=logging.CRITICAL,
    )
