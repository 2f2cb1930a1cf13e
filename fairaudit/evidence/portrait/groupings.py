"""Whom an audit compares: levels of every attribute, ranges of numbers, and who shares several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from fairaudit._types import Index
from fairaudit._words import figures
from fairaudit.data.columns import Column, Kind, level_text
from fairaudit.data.table import AuditTable

__all__ = ["Grouping", "list_groupings", "of_attribute"]

RANGES = 5  # of a number alone
CROSSED_RANGES = 3  # of a number beside other attributes
MOST_PAIRS = 6
MOST_GROUPS = 40  # of one grouping, the largest


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Groups of rows that do not overlap.

    Attributes
    ----------
    attributes : tuple of str
    levels : list of tuple of str
        Of each group.
    codes : int array
        The group of each row; -1 where it takes no part.
    """

    attributes: tuple[str, ...]
    levels: list[tuple[str, ...]]
    codes: Index


def list_groupings(table: AuditTable) -> list[Grouping]:
    """Each attribute alone, the ends of each number, pairs, categories together, everything."""
    columns = table.attributes
    groupings = [of_attribute(column) for column in columns]
    numbers = [column for column in columns if not column.kind.is_categorical]
    for ranges in map(of_attribute, numbers):
        if len(ranges.levels) > 2:
            groupings.append(_ends(ranges))
    coarse = {column.name: of_attribute(column, CROSSED_RANGES) for column in columns}
    sets: list[tuple[str, ...]] = list(islice(combinations(coarse, 2), MOST_PAIRS))
    sets.append(tuple(column.name for column in columns if column.kind.is_categorical))
    sets.append(tuple(coarse))
    crossed = dict.fromkeys(names for names in sets if len(names) > 1)
    return groupings + [_cross([coarse[name] for name in names]) for names in crossed]


def of_attribute(column: Column, ranges: int = RANGES) -> Grouping:
    """Its levels, or ranges of about equally many rows."""
    if column.kind.is_categorical:
        return Grouping((column.name,), [(level_text(x),) for x in column.levels], column.codes)
    values = np.asarray(column.numeric)
    cuts = np.unique(np.quantile(values, np.arange(1, ranges) / ranges, method="lower"))
    codes = np.searchsorted(cuts, values, side="left")
    occurs, codes = np.unique(codes, return_inverse=True)
    last = len(occurs) - 1
    levels: list[tuple[str, ...]] = [
        (_range_text(values[codes == k], column.kind, first=k == 0, last=k == last),)
        for k in range(len(occurs))
    ]
    return Grouping((column.name,), levels, codes)


def _range_text(values: np.ndarray, kind: Kind, *, first: bool, last: bool) -> str:
    """``29 to 34``; the ends of all are open, since they are the values of single people."""
    digits = 15 if kind is Kind.INTEGER else 4
    low, high = (figures(float(value), digits) for value in (values.min(), values.max()))
    if low == high:
        return low
    if first != last:
        return f"up to {high}" if first else f"from {low}"
    return f"{low} to {high}"


def _ends(ranges: Grouping) -> Grouping:
    """The lowest range against the highest."""
    last = len(ranges.levels) - 1
    codes = np.where(ranges.codes == 0, 0, np.where(ranges.codes == last, 1, -1))
    return Grouping(ranges.attributes, [ranges.levels[0], ranges.levels[last]], codes)


def _cross(groupings: Sequence[Grouping]) -> Grouping:
    """The largest groups of people who share all levels; all others are compared with them."""
    key = np.zeros(len(groupings[0].codes), dtype=np.intp)
    for grouping in groupings:
        key = key * len(grouping.levels) + grouping.codes
    occurs, first, codes, counts = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    levels = [
        tuple(grouping.levels[grouping.codes[row]][0] for grouping in groupings) for row in first
    ]
    if len(occurs) > MOST_GROUPS:  # the small ones stay among the others
        large = np.sort(np.argsort(-counts, kind="stable")[:MOST_GROUPS])
        place = np.full(len(occurs), len(large))
        place[large] = np.arange(len(large))
        codes, levels = place[codes], [levels[k] for k in large]
    names = tuple(name for grouping in groupings for name in grouping.attributes)
    return Grouping(names, levels, codes)
