"""What every statistic promises, as a check that its authors can run."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.extend.promises import check_object, make_example_table, promise, unchanged
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.p_value import Null
from fairaudit.testing.statistic import Bound, list_parts

__all__ = ["check_statistic"]

_KINDS = ("scores", "labels", "numbers")
_COPIES = 6
_LEVEL_COPIES = 19  # two of twenty: a level of 0.1
_ERROR = 1e-4  # chance that a statistic that keeps its level is accused


def check_statistic(statistic: Any, *, row_order: bool = True, tables: int = 60) -> None:
    """Check what an audit relies on; an AssertionError says in one line what is wrong.

    A statistic may refuse a kind of table by an `InputError` (scores, labels or numbers), but not
    all of them.

    Parameters
    ----------
    statistic : Statistic
    row_order : bool
        Whether the values must not depend on the order of the rows. False for a statistic that
        draws random numbers row by row. Statistics with `tested_rows` are exempt.
    tables : int
        Tables without a violation on which the level is checked.

    Notes
    -----
    Checked are: name and recordable parameters; one finite number per copy; equal values for
    equal seeds, for blocks and for single copies, and with or without the hint `within_outcome`;
    no effect on the table, the copies and numpy's global random numbers; independence of the
    order of the rows; p-values that are not too small where nothing is wrong; and large values
    where much is.

    Examples
    --------
    >>> from fairaudit.testing.omnibus import Omnibus
    >>> check_statistic(Omnibus())
    >>> check_statistic(Omnibus)
    Traceback (most recent call last):
    AssertionError: Omnibus is a class: pass an instance.
    """
    name = check_object(statistic, "bind")
    usable = [kind for kind in _KINDS if _can_bind(statistic, kind)]
    promise(usable, f"{name} refuses every kind of table: {', '.join(_KINDS)}.")
    for kind in usable:
        _check_values(statistic, name, kind)
        if row_order and not hasattr(statistic, "tested_rows"):
            _check_row_order(statistic, name, kind)
    _check_level(statistic, name, usable[0], tables)
    promise(
        any(_sees_violation(statistic, kind) for kind in usable),
        f"{name} is not large where the prediction depends on the attributes: no table with a "
        "strong violation stands out from its copies. Large values must speak against fairness.",
    )


def _can_bind(statistic: Any, kind: str) -> bool:
    table = make_example_table(kind=kind, n=80, seed=0)
    try:
        _bind(statistic, table, kind != "numbers")
    except InputError:
        return False
    return True


def _bind(statistic: Any, table: AuditTable, within: bool, seed: int = 1) -> Bound:
    bound: Bound = statistic.bind(table, within_outcome=within, seed=seed)
    return bound


def _draw_copies(statistic: Any, table: AuditTable, kind: str, count: int, seed: int = 1) -> Index:
    """The rows themselves, then copies of those that are tested."""
    codes = table.require_outcome().codes
    if hasattr(statistic, "tested_rows"):
        codes = codes[statistic.tested_rows(len(table), seed)]
    strata = np.zeros_like(codes) if kind == "numbers" else codes
    copies = WithinOutcome(strata, seed).block(range(count))
    return np.vstack([np.arange(len(codes)), copies])


def _check_values(statistic: Any, name: str, kind: str) -> None:
    table = make_example_table(kind=kind, n=80, seed=0, effect=1.0)
    rows, within = _draw_copies(statistic, table, kind, _COPIES), kind != "numbers"
    with unchanged(name, table, rows):
        first = _bind(statistic, table, within)
        values = np.asarray(first(rows))
        again = _bind(statistic, table, within)(rows)
    parts = len(getattr(statistic, "parts", ()))
    shape = (len(rows), parts) if parts else (len(rows),)
    promise(
        values.shape == shape and values.dtype.kind == "f",
        f"{name} must give one number per copy (and part, if it has parts): shape {shape} for "
        f"{len(rows)} copies. Got shape {values.shape} of {values.dtype}.",
    )
    promise(np.isfinite(values).all(), f"{name} gives NaN or infinity.")
    promise(np.array_equal(values, again), f"{name} gives different values for the same seed.")
    single = np.concatenate([first(rows[k : k + 1]) for k in range(len(rows))])
    promise(
        _are_close(values, single),
        f"{name} gives different values for copies in a block and for the same copies one by one.",
    )
    if within and not parts:  # parts may be scaled by what the copies leave alone
        promise(
            _are_close(values, np.asarray(_bind(statistic, table, False)(rows))),
            f"{name} gives different values with and without 'within_outcome' for the same copies.",
        )


def _check_row_order(statistic: Any, name: str, kind: str) -> None:
    table = make_example_table(kind=kind, n=80, seed=0, effect=1.0)
    rows, within = _draw_copies(statistic, table, kind, _COPIES), kind != "numbers"
    order = np.random.default_rng(0).permutation(len(table))
    place = np.argsort(order)
    values = np.asarray(_bind(statistic, table, within)(rows))
    moved = np.asarray(_bind(statistic, table.take(order), within)(place[rows[:, order]]))
    promise(
        _are_close(values, moved),
        f"{name} gives different values when the rows of the table are reordered.",
    )


def _check_level(statistic: Any, name: str, kind: str, tables: int) -> None:
    from scipy.stats import binom

    small = 0
    for number in range(tables):
        table = make_example_table(kind=kind, n=40, seed=number)
        rows = _draw_copies(statistic, table, kind, _LEVEL_COPIES, seed=number)
        value, copies = _combine(
            statistic, _bind(statistic, table, kind != "numbers", number)(rows)
        )
        small += int((copies >= value).sum() <= 1)
    promise(
        small <= binom.isf(_ERROR, tables, 0.1),
        f"{name} finds violations where there are none: p ≤ 0.1 in {small} of {tables} tables. "
        "Treat the data exactly like a copy.",
    )


def _sees_violation(statistic: Any, kind: str) -> bool:
    table = make_example_table(kind=kind, n=240, seed=0, effect=4.0)
    rows = _draw_copies(statistic, table, kind, _LEVEL_COPIES)
    value, copies = _combine(statistic, _bind(statistic, table, kind != "numbers")(rows))
    return bool((value > copies).all())


def _combine(statistic: Any, values: Array) -> tuple[float, Array]:
    """Data and copies in one number each."""
    columns = values.reshape(len(values), -1)
    return Null(columns[0], columns[1:], list_parts([statistic])[1]).combined()


def _are_close(first: Array, second: Array) -> bool:
    scale = float(np.abs(first).max()) or 1.0
    return first.shape == second.shape and bool(np.abs(first - second).max() <= 1e-6 * scale)
