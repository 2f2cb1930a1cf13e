"""Has this batch been seen? Hashes of a table that do not depend on the order of its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.data.table import AuditTable

__all__ = [
    "find_returning",
    "find_returning_keys",
    "key_columns",
    "reject_seen",
    "reject_seen_people",
    "row_facts",
    "unique_rows",
]

_KEPT = 32  # hashes of rows that are remembered of every batch
_DISTINCT = 0.99  # share of different rows from which equal rows are no coincidence
_TOO_MANY = 0.5
_TOO_MANY_PEOPLE = 0.1
_FEWEST_UNIQUE = 20  # rows that nobody shares in a batch; below nothing can be told by them
_MOST_KEYS = 4  # columns like ids that are remembered
_NO_CHANCE = 1e-6  # rows that return are no chance below this


def row_facts(frame: pd.DataFrame) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """What is remembered of a table, and the hashes of all its rows.

    All columns count, whatever their order and whatever file they came from: numbers are equal
    if they are equal as numbers, everything else as text.
    """
    names = sorted(frame.columns, key=str)
    hashes = _hash_rows(frame[names])
    different = np.unique(hashes)
    joined = "\0".join(map(str, names))
    digest = hashlib.sha256(joined.encode() + np.sort(hashes).astype("<u8").tobytes()).hexdigest()
    share = round(len(different) / len(hashes), 4)
    return {"hash": digest, "sample": _sample(different), "distinct": share}, different


def unique_rows(table: AuditTable) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """Rows that are alone in their batch with attributes, outcome and prediction.

    What is remembered: some of their hashes, how many there are, and how many are there twice.
    Also the hashes of all rows.
    """
    import pandas as pd

    columns = (*table.attributes, table.require_outcome(), *table.prediction.columns)
    plain = {
        number: column.levels[column.codes] if column.numeric is None else column.numeric
        for number, column in enumerate(columns)
    }
    different, counts = np.unique(_hash_rows(pd.DataFrame(plain)), return_counts=True)
    alone, twice = different[counts == 1], int((counts == 2).sum())
    sample = _sample(alone) if len(alone) >= _FEWEST_UNIQUE else []
    return {"sample": sample, "alone": len(alone), "twice": twice}, different


def find_returning(
    hashes: np.ndarray[Any, Any], rows: int, batches: Sequence[Mapping[str, Any]]
) -> str | None:
    """A sentence if more rows of earlier batches are here again than chance explains.

    A row that is alone in its batch is in another batch of as many rows by chance with a
    probability of twice the rows that are there twice, by those that are alone (Good and Turing).
    """
    from scipy.stats import binom

    kept = [(batch["unique"], batch["rows"]) for batch in batches if "unique" in batch]
    total = sum(facts["alone"] for facts, _ in kept)  # states of 0.1 have none
    chances: dict[str, float] = {}
    for facts, size in kept:
        chance = 2 * (facts["twice"] / max(facts["alone"], 1) + 1 / max(total, 1))
        for text in facts["sample"]:
            chances[text] = max(chance * max(1.0, rows / size), chances.get(text, 0.0))
    if not chances:
        return None
    again = _share_of(list(chances), hashes)
    by_chance = min(1.0, float(np.mean(list(chances.values()))))
    if binom.sf(round(again * len(chances)) - 1, len(chances), by_chance) >= _NO_CHANCE:
        return None
    return (
        f"about {again:.1%} of the rows that were kept of earlier batches have the same "
        f"attributes, outcome and prediction as rows of this one, where {by_chance:.1%} would be "
        "chance: the same people seem to come back, and their evidence would count twice. Pass "
        "the rows of new people, or name the column of people ('ids')"
    )


def key_columns(frame: pd.DataFrame) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Of columns that tell all rows apart, as ids do: some hashes to remember, and all of them.

    Numbers with fractions are none, nor is a count of the rows. Where new people have values by
    chance, so that hardly any two in a batch agree, hardly any comes back.
    """
    kept: dict[str, list[str]] = {}
    every: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if len(kept) == _MOST_KEYS or column.dtype.kind == "f" or not column.notna().all():
            continue
        hashes = np.unique(_hash_rows(column.to_frame()))
        if len(hashes) >= max(_DISTINCT * len(column), _FEWEST_UNIQUE) and not _counts(column):
            kept[str(name)], every[str(name)] = _sample(hashes), hashes
    return kept, every


def find_returning_keys(
    every: Mapping[str, Any], batches: Sequence[Mapping[str, Any]]
) -> str | None:
    """A sentence if a tenth of what such a column had in an earlier batch is here again."""
    for batch in batches:
        for name, sample in batch.get("keys", {}).items():
            again = _share_of(sample, every[name]) if name in every else 0.0
            if again >= _TOO_MANY_PEOPLE:
                return (
                    f"about {again:.0%} of the values that {name!r} had in batch "
                    f"{batch['number']} are in this one again: the same people seem to come back, "
                    "and their evidence would count twice. Name the column of people ('ids') and "
                    f"pass the rows of new people; leave {name!r} out if it is not about people"
                )
    return None


def _counts(column: pd.Series[Any]) -> bool:
    """Whether it numbers the rows, from 0 or 1."""
    if column.dtype.kind not in "iu":
        return False
    values = column.to_numpy()
    return bool(values[0] in (0, 1) and (np.diff(values) == 1).all())


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


def _hash_rows(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    import pandas as pd

    plain = {
        str(name): frame[name].astype(np.float64)
        if pd.api.types.is_numeric_dtype(frame[name].dtype)
        else frame[name].astype(str)
        for name in frame.columns
    }
    hashes = pd.util.hash_pandas_object(pd.DataFrame(plain), index=False)
    return np.asarray(hashes.to_numpy(np.uint64))


def _sample(hashes: np.ndarray[Any, Any]) -> list[str]:
    """The smallest: the same rows are kept of every batch in which they are."""
    return [f"{value:016x}" for value in hashes[:_KEPT].tolist()]


def _share_of(sample: Sequence[str], hashes: np.ndarray[Any, Any]) -> float:
    known = np.array([int(text, 16) for text in sample], dtype=np.uint64)
    return float(np.isin(known, hashes).mean()) if len(known) else 0.0
