"""Has this batch been seen? Hashes of a table that do not depend on the order of its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["reject_seen", "reject_seen_people", "row_facts"]

_KEPT = 32  # hashes of rows that are remembered of every batch
_DISTINCT = 0.99  # share of different rows from which equal rows are no coincidence
_TOO_MANY = 0.5
_TOO_MANY_PEOPLE = 0.1


def row_facts(frame: pd.DataFrame) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """What is remembered of a table, and the hashes of all its rows.

    All columns count, whatever their order and whatever file they came from: numbers are equal
    if they are equal as numbers, everything else as text.
    """
    import pandas as pd

    plain = {
        str(name): frame[name].astype(np.float64)
        if pd.api.types.is_numeric_dtype(frame[name].dtype)
        else frame[name].astype(str)
        for name in sorted(frame.columns, key=str)
    }
    hashes = pd.util.hash_pandas_object(pd.DataFrame(plain), index=False).to_numpy(np.uint64)
    different = np.unique(hashes)
    names = "\0".join(plain)
    digest = hashlib.sha256(names.encode() + np.sort(hashes).astype("<u8").tobytes()).hexdigest()
    sample = [f"{value:016x}" for value in different[:_KEPT].tolist()]
    share = round(len(different) / len(hashes), 4)
    return {"hash": digest, "sample": sample, "distinct": share}, different


def reject_seen(
    facts: Mapping[str, Any], hashes: np.ndarray[Any, Any], batches: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse a batch that is in the state, or that holds much of one that is."""
    for batch in batches:
        name = f"batch {batch['number']} ({batch['label'] or batch['when']})"
        if batch["hash"] == facts["hash"]:
            raise InputError(
                f"These rows are in the state already, as {name}. Nothing was added; pass new "
                "rows, or leave out 'data' to see the state.",
                argument="data",
            )
        if min(batch["distinct"], facts["distinct"]) < _DISTINCT:
            continue  # few different rows: that some are equal is no sign of anything
        again = _share_of(batch["sample"], hashes)
        if again >= _TOO_MANY:
            raise InputError(
                f"About {again:.0%} of the rows of {name} are in this table again. Rows may count "
                "once only: pass the new rows, not a table that grows."
            )


def reject_seen_people(hashes: np.ndarray[Any, Any], batches: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a batch in which many people of an earlier one come back."""
    for batch in batches:
        again = _share_of(batch["people"], hashes)
        if again >= _TOO_MANY_PEOPLE:
            raise InputError(
                f"About {again:.0%} of the people of batch {batch['number']} "
                f"({batch['label'] or batch['when']}) are in this table again. A person may be in "
                "one batch only: pass the rows of new people."
            )


def _share_of(sample: Sequence[str], hashes: np.ndarray[Any, Any]) -> float:
    known = np.array([int(text, 16) for text in sample], dtype=np.uint64)
    return float(np.isin(known, hashes).mean()) if len(known) else 0.0
