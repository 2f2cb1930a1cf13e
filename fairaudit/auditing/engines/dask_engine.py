"""Shards and counts by Dask: on a cluster, or on workers of this machine."""

from __future__ import annotations

import asyncio  # its TimeoutError is a class of its own before Python 3.11
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.engines.counting import CountSource
from fairaudit.auditing.engines.engine import SHARD, CountEngine, Engine, number_rows
from fairaudit.auditing.engines.frame_counts import FrameSource
from fairaudit.errors import FairAuditError, InputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DaskEngine", "dask_cluster"]

_LONGEST = 400  # letters of a foreign error


class DaskEngine(Engine, CountEngine):
    """Pieces are futures on a cluster; Dask moves, retries and spills them.

    Parameters
    ----------
    scheduler : str, optional
        Its address. Default: that of the client that is active, or of workers on this machine.
    """

    name = "dask"
    counted = "tables of Dask"

    def __init__(self, scheduler: str | None = None) -> None:
        self.scheduler = scheduler
        self.client: Any = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the record keeps; the client is no setting."""
        return {"scheduler": self.scheduler}

    @contextmanager
    def running(self, *, workers: int, memory: int | None) -> Iterator[DaskEngine]:
        with _open_client(self.scheduler, workers, memory) as self.client:
            yield self

    def takes(self, data: Any) -> bool:
        return hasattr(data, "to_delayed")

    @contextmanager
    def open(
        self, data: Any, table: str | None = None, *, memory: int | None = None
    ) -> Iterator[CountSource]:
        """A Dask table, counted by whatever computes it: the active client, or threads."""
        self.refuse_others(data)
        import dask

        def compute(function: Callable[[Any], Any]) -> list[Any]:
            pieces = [dask.delayed(function)(piece) for piece in data.to_delayed()]
            try:
                return list(dask.compute(*pieces))
            except (FairAuditError, MemoryError):
                raise
            except Exception as error:  # of a worker, of the scheduler, or of a file
                why = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST].rstrip(".")
                raise InputError(
                    f"The Dask table was not counted: {why}. Nothing was concluded."
                ) from error

        yield FrameSource(data.columns, compute)

    def frames_of(self, table: Any) -> list[Any]:
        """The partitions of a Dask table, as pieces."""
        return list(self.client.compute(list(table.to_delayed())))

    def map(self, step: str, function: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
        from uuid import uuid4

        run = uuid4().hex[:8]
        with self._explain_errors(step):
            return [
                self.client.submit(
                    function, *arguments, key=f"{_make_key(step, k, arguments[0])} {run}"
                )
                for k, arguments in enumerate(zip(*items, strict=True))
            ]

    def gather(self, pieces: Sequence[Any]) -> list[Any]:
        with self._explain_errors("gathering"):
            return list(self.client.gather(list(pieces)))

    def shuffled(self, frames: Sequence[Any], shards: int, left_out: float) -> list[Any]:
        import dask
        import dask.dataframe as dd

        with self._explain_errors("shuffle"):
            numbered = self.map(
                "number", number_rows, frames, [shards] * len(frames), [left_out] * len(frames)
            )
            meta = self.client.submit(_take_none, numbered[0]).result()
            if shards == 1:
                return self.map("shard", _concatenate, [numbered])
            table = dd.from_delayed(numbered, meta=meta, verify_meta=False)
            # tasks, and not peer to peer: a worker that is lost takes no more than its own pieces
            with dask.config.set({"dataframe.shuffle.method": "tasks"}):
                spread = table.set_index(
                    SHARD,
                    divisions=[*range(shards), shards - 1],
                    sorted=False,
                    sort=True,
                    drop=True,
                )
                return list(self.client.compute(spread.to_delayed()))

    @contextmanager
    def _explain_errors(self, step: str) -> Iterator[None]:
        from concurrent.futures import CancelledError

        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            yield
        except FairAuditError:
            raise
        except KilledWorker as error:
            raise InputError(
                f"Workers were lost repeatedly at {_name_piece(error.task)}: they probably "
                "ran out of memory. Give workers more memory, or use more 'shards'.",
                argument="shards",
            ) from None
        except (CancelledError, CommClosedError, OSError, asyncio.TimeoutError) as error:
            raise InputError(
                f"The Dask scheduler was lost ({type(error).__name__}) during the step '{step}'. "
                "Nothing was concluded; restart the scheduler, then the audit."
            ) from None


def _make_key(step: str, number: int, item: Any) -> str:
    name = getattr(item, "name", None)
    return f"fairaudit: {step} {number}{f', {name}' if isinstance(name, str) else ''}"


def _name_piece(key: Any) -> str:
    """``partition 3, 'part-3.parquet', row groups 0 to 1`` from the key of a task."""
    text = str(key)
    return text[len("fairaudit: ") :].rpartition(" ")[0] if text.startswith("fairaudit: ") else text


def _take_none(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[:0]


def _concatenate(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(frames, ignore_index=True).drop(columns=SHARD)


def _import_dask() -> Any:
    try:
        import dask.dataframe  # noqa: F401
        import distributed
    except ImportError:
        raise MissingDependencyError(
            "engine='dask' needs Dask: pip install 'dask[dataframe]' distributed pyarrow"
        ) from None
    return distributed


@contextmanager
def _open_client(scheduler: str | None, workers: int, memory: int | None) -> Iterator[Any]:
    """A client of the scheduler, the client that is active, or one of a cluster on this machine."""
    distributed = _import_dask()
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout="10s")
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            raise InputError(
                f"There is no Dask scheduler at {scheduler!r} ({type(error).__name__}). "
                "Start one with `dask scheduler`, and workers with `dask worker`."
            ) from None
        with client:
            yield client
        return
    try:
        active = distributed.get_client()
    except ValueError:  # no client is active
        active = None
    if active is not None:
        yield active
        return
    with dask_cluster(workers, memory) as cluster, distributed.Client(cluster) as client:
        yield client


def dask_cluster(workers: int, memory: int | None = None) -> Any:
    """Workers on this machine, one thread each."""
    import logging

    limit: Any = "auto" if memory is None else memory // workers
    return _import_dask().LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        memory_limit=limit,
        silence_logs=logging.CRITICAL,
    )
