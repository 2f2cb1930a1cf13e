"""Runs the parts of an experiment side by side, and keeps each as soon as it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.checkpoint import Checkpoint
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Unit", "run_units"]

#: Arguments of one part; as text they are its name in the file of finished parts.
Unit = tuple[Any, ...]
Rows = list[dict[str, Any]]


def run_units(
    work: Callable[..., Rows],
    units: Sequence[Unit],
    store: Path,
    *,
    resume: bool = False,
    jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> pd.DataFrame:
    """All rows of all units; those that `store` holds already are not run again.

    Parameters
    ----------
    work : function
        Called as ``work(*unit)`` in one of `jobs` processes; gives rows of the tidy table.
    units : sequence of tuples
        Numbers and text. Every random number depends on the unit alone, so that order, number of
        processes and interruptions change nothing.
    store : path
        One line of JSON per finished unit, appended.
    resume : bool
        Without it a store with results is an error, lest two runs be mixed up.
    jobs : int
    progress : callable
        Called with (what, done, total).
    """
    import pandas as pd

    checkpoint = Checkpoint(store, f"{work.__module__}.{work.__name__}")
    if len(checkpoint) and not resume:
        raise InputError(
            f"{str(store)!r} holds {len(checkpoint)} finished parts. Pass 'resume' to go on, or "
            "another 'out'.",
            argument=("resume", "out"),
        )
    open_units = [unit for unit in units if checkpoint.get(_name(unit)) is None]
    total, done = len(units), len(units) - len(open_units)
    for unit, rows in _results(work, open_units, jobs):
        checkpoint.put(_name(unit), rows)
        done += 1
        if progress is not None:
            progress(_name(unit), done, total)
    return pd.DataFrame([row for unit in units for row in checkpoint.get(_name(unit))])


def _results(
    work: Callable[..., Rows], units: Sequence[Unit], jobs: int
) -> Iterable[tuple[Unit, Rows]]:
    if jobs == 1:
        yield from ((unit, work(*unit)) for unit in units)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_with_unit)(work, unit) for unit in units
    )


def _with_unit(work: Callable[..., Rows], unit: Unit) -> tuple[Unit, Rows]:
    return unit, work(*unit)


def _name(unit: Unit) -> str:
    return " ".join(map(str, unit))
