"""Columns of text: what can be levels, and what is numbers, dates or documents by mistake."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._words import clipped
from fairaudit.errors import InputError

__all__ = ["MANY_NUMBERS", "numbers_in", "reject_non_text", "reject_odd_text"]

MANY_NUMBERS = 10  # different numbers; text among so many is taken for a mistake
LONGEST_LEVEL = 1_000  # characters; more is a document and no level
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})\s*"
)
#: A number in clothes: thousands separators, decimal commas, currencies, percents, quotes.
_DRESSED = re.compile(r"[\s\"'$€£]*[-+]?[$€£]?\d[\d.,'_\s]*(e[-+]?\d+)?[\s%$€£\"']*", re.I)


def numbers_in(values: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """Text as numbers where all of it is plain numbers, and what pandas calls the type."""
    import pandas as pd

    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=float)
    return (values, "string") if np.isnan(numbers).any() else (numbers, "floating")


def reject_non_text(name: str, values: NDArray[Any], dtype: str) -> None:
    if dtype == "string":
        return
    if any(isinstance(value, (list, tuple, dict, set, np.ndarray)) for value in values[:1000]):
        raise InputError(
            f"Column {name!r} holds nested values (lists or records). Pass one value per row."
        )
    if dtype.startswith("mixed"):
        raise InputError(
            f"Column {name!r} mixes text with other types. Convert it to text or to numbers."
        )
    if dtype.startswith(("date", "time", "period", "interval")):
        raise InputError(
            f"Column {name!r} holds dates or times ({dtype}). "
            "Turn them into numbers first (age in years, say)."
        )
    raise InputError(f"Column {name!r} holds {dtype} values. Pass numbers or text.")


def reject_odd_text(
    name: str,
    codes: NDArray[Any],
    levels: NDArray[Any],
    kind: str | None,
    rows: NDArray[np.intp] | None,
) -> None:
    """Text that would become categories by mistake: documents, dates, numbers in clothes.

    `rows` are the numbers of the rows for messages; None where they are not known.
    """
    import pandas as pd

    def first(odd: NDArray[np.bool_]) -> str:
        level = int(np.flatnonzero(odd)[0])
        row = "" if rows is None else f" in row {rows[codes == level][0]}"
        return f"{clipped(levels[level])}{row}"

    long = np.array([len(level) > LONGEST_LEVEL for level in levels])
    if long.any():
        raise InputError(
            f"Column {name!r} holds a text of more than {LONGEST_LEVEL} characters "
            f"({first(long)}). Pass short names of levels."
        )
    if kind in ("binary", "categorical"):
        return
    text = np.isnan(pd.to_numeric(pd.Series(levels), errors="coerce").to_numpy(dtype=float))
    if kind is not None:
        odd = text if text.any() else ~text
        raise InputError(
            f"Column {name!r} holds text ({first(odd)}) and cannot be {kind}. "
            "Turn it into numbers or declare it categorical."
        )
    _reject_dressed_numbers(name, levels, text, first)


def _reject_dressed_numbers(
    name: str, levels: NDArray[Any], text: NDArray[np.bool_], first: Callable[..., str]
) -> None:
    def mostly(matches: NDArray[np.bool_]) -> bool:
        return int(matches.sum()) >= max(MANY_NUMBERS, 0.9 * len(levels))

    declare = f"or declare {name}:categorical."
    if text.any() and mostly(~text):
        raise InputError(
            f"Column {name!r} holds text among numbers ({first(text)}). Correct it, {declare}"
        )
    dates = np.array([bool(_DATE.fullmatch(level)) for level in levels])
    if mostly(dates):
        raise InputError(
            f"Column {name!r} holds dates ({first(dates)}). Turn them into numbers (age in years, "
            f"say), {declare}"
        )
    dressed = np.array([bool(_DRESSED.fullmatch(level)) for level in levels])
    if (dressed & text).any() and mostly(dressed):
        raise InputError(
            f"Column {name!r} holds numbers written as text ({first(dressed & text)}). Write them "
            f"plainly, as in 1234.5, {declare}"
        )
