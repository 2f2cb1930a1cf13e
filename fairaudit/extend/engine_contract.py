"""What every engine promises, as a check that its authors can run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.auditing.engines.sources import KEY
from fairaudit.errors import InputError
from fairaudit.extend.promises import promise, unchanged

__all__ = ["check_engine"]

_TOGETHER = 8  # arrays that are added in one step
_COUNTS = (1, 3, 8, 9, 70)


def check_engine(engine: Any) -> None:
    """Check what shards rely on; an AssertionError says in one line what is wrong.

    Parameters
    ----------
    engine : Engine
        One that has a method `running` is started by it, as an audit does.

    Notes
    -----
    Checked are: results in the order of the items, whichever is ready first; several lists of
    items; sums in the one order that makes results equal to the last bit on every engine (eight
    neighbors, then eight such sums, and so on), which leave the pieces as they are; errors of
    fairaudit, which arrive as they were raised; and shards that do not depend on how the rows
    are divided into partitions.

    Examples
    --------
    >>> from fairaudit.auditing.engines.local_engine import LocalEngine
    >>> check_engine(LocalEngine())
    """
    name = type(engine).__name__
    promise(
        not isinstance(engine, type),
        f"{getattr(engine, '__name__', '')} is a class: pass an instance.",
    )
    for method in ("map", "gather", "sum", "shuffled"):
        promise(callable(getattr(engine, method, None)), f"{name} has no method {method!r}.")
    start = getattr(engine, "running", None)
    with nullcontext(engine) if start is None else start(workers=1, memory=None) as running:
        _check_map(running, name)
        _check_sum(running, name)
        _check_errors(running, name)
        _check_shards(running, name)


def _square_slowly(number: int, after: float) -> int:
    time.sleep(after)
    return number * number


def _scale(values: Array, factor: float) -> Array:
    return values * factor


def _return_item(values: Array) -> Array:
    return values


def _refuse_row(number: int) -> int:
    raise InputError(f"Row {number} cannot be used. Leave it out.")


def _check_map(engine: Any, name: str) -> None:
    numbers = list(range(6))
    waits = [0.05 if number == 0 else 0.0 for number in numbers]  # the first is ready last
    results = engine.gather(engine.map("square", _square_slowly, numbers, waits))
    promise(
        list(results) == [number * number for number in numbers],
        f"{name}: 'map' and 'gather' must give one result per item, in the order of the items.",
    )
    pieces = engine.map("square", _square_slowly, numbers, [0.0] * 6)
    scaled = engine.gather(engine.map("again", _square_slowly, pieces, [0.0] * 6))
    promise(
        list(scaled) == [number**4 for number in numbers],
        f"{name}: what 'map' gives must be usable as items of the next 'map'.",
    )


def _check_sum(engine: Any, name: str) -> None:
    rng = np.random.default_rng(0)
    for count in _COUNTS:
        arrays = [rng.normal(size=5) * 10.0 ** rng.integers(-8, 8) for _ in range(count)]
        factors = [1.0 + k / 7 for k in range(count)]
        total = engine.sum("add", _scale, arrays, factors)
        wanted = _sum_tree([_scale(*pair) for pair in zip(arrays, factors, strict=True)])
        promise(
            np.allclose(total, wanted, rtol=1e-9),
            f"{name}: 'sum' of {count} arrays is not their sum.",
        )
        promise(
            np.array_equal(total, wanted),
            f"{name}: 'sum' of {count} arrays is added up in a different order: eight neighbors, "
            "then eight such sums, and so on. Results must not depend on the engine.",
        )
        with unchanged(f"{name}: 'sum'", arrays):
            engine.sum("add", _return_item, arrays)


def _sum_tree(arrays: Sequence[Array]) -> Array:
    left = list(arrays)
    while len(left) > 1:
        groups = [left[k : k + _TOGETHER] for k in range(0, len(left), _TOGETHER)]
        left = [_sum_in_order(group) for group in groups]
    return left[0]


def _sum_in_order(group: Sequence[Array]) -> Array:
    total = group[0].copy()
    for values in group[1:]:
        total += values
    return total


def _check_errors(engine: Any, name: str) -> None:
    try:
        engine.gather(engine.map("refuse", _refuse_row, [3]))
    except InputError as error:
        promise("Row 3 cannot be used" in str(error), f"{name} hides what an InputError says.")
        return
    except Exception as error:
        raise AssertionError(
            f"{name}: an InputError in a piece arrives as {type(error).__name__}."
        ) from error
    raise AssertionError(f"{name}: an error in a piece is lost.")


def _check_shards(engine: Any, name: str) -> None:
    import pandas as pd

    rows = np.arange(200)
    whole = pd.DataFrame({KEY: (rows // 2).astype(np.uint64), "value": rows * 1.0})
    parts = [whole.iloc[:60], whole.iloc[60:70], whole.iloc[70:]]
    for left_out in (0.0, 0.3):
        layouts = [
            [np.sort(frame["value"].to_numpy()) for frame in _shuffle(engine, frames, left_out)]
            for frames in ([whole], parts)
        ]
        promise(
            all(len(shards) == 3 for shards in layouts),
            f"{name}: 'shuffled' must give one frame per shard.",
        )
        promise(
            all(np.array_equal(*pair) for pair in zip(*layouts, strict=True)),
            f"{name}: the rows of a shard depend on how the table is divided into partitions.",
        )
        values = np.concatenate(layouts[0])
        promise(
            len(set(values)) == len(values) and (len(values) == len(rows)) == (left_out == 0.0),
            f"{name}: 'shuffled' must keep every row once, except those of the sample.",
        )
        people = [set(values // 2) for values in layouts[0]]
        promise(
            len(set.union(*people)) == sum(map(len, people)),
            f"{name}: rows with the same key are spread over several shards.",
        )


def _shuffle(engine: Any, frames: Sequence[Any], left_out: float) -> list[Any]:
    pieces = engine.map("frame", _return_item, list(frames))
    return list(engine.gather(engine.shuffled(pieces, 3, left_out)))
