"""The attacker of `recovery` for two crossed attributes, of whose groups two are masked.

Beside the joint KPC an audit shows that of each attribute alone, which the masked groups enter
together with those that share their level: two more numbers that candidates must fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from recovery import (
    Candidates,
    Open,
    Record,
    after_gaps,
    after_kpc,
    after_mask,
    all_candidates,
    shown_groups,
)

__all__ = ["recovered_crossed"]


class Sums(NamedTuple):
    """Disagreeing pairs within groups, at least and at most, and over all of an outcome."""

    low: np.ndarray
    high: np.ndarray
    over: np.ndarray


def recovered_crossed(record: Record, fewest: int, step: float) -> list[Candidates]:
    """What is left for both outcomes; `step` 0: numbers have all their digits."""
    both = []
    for y in (0, 1):
        some = all_candidates(shown_groups(record, y))
        both.append(after_gaps(record, y, after_kpc(record, y, some, step)))
    return _after_attributes(record, after_mask(record, both, fewest), step)


def _after_attributes(record: Record, both: list[Candidates], step: float) -> list[Candidates]:
    """Those with a partner in the other outcome that together give every KPC as shown."""
    names = record["cells"]["attributes"]
    asked = [
        ([names.index(name) for name in finding["attributes"]], finding["kpc"])
        for finding in record["findings"]
        if finding["family"] in ("joint", "attribute")
    ]
    asked = [(keep, size) for keep, size in asked if not _tells_nothing(record, keep, size)]
    if not asked:
        return both
    sums = [[_sums(record, y, some, keep) for keep, _ in asked] for y, some in enumerate(both)]
    kept = []
    for own, some in enumerate(both):
        partner = _distinct(sums[1 - own])
        good = np.zeros(len(some.first), dtype=bool)
        for k in range(len(good)):
            fitting = np.ones(partner.shape[-1], dtype=bool)
            for j, (_, shown) in enumerate(asked):
                mine = sums[own][j]
                over = mine.over[k] + partner[j, 2]
                highest = 1 - (mine.low[k] + partner[j, 0]) / over
                lowest = 1 - (mine.high[k] + partner[j, 1]) / over
                fitting &= (highest >= shown - step / 2 - 1e-9) if shown is not None else True
                fitting &= (lowest <= shown + step / 2 + 1e-9) if shown is not None else True
            good[k] = fitting.any()
        kept.append(some.take(good))
    return kept


def _tells_nothing(record: Record, keep: list[int], size: float | None) -> bool:
    """Whether it is the KPC of the groups that are shown."""
    if size is None:
        return True
    nobody = Candidates(*(np.zeros(1),) * 4)
    within = over = 0.0
    for y in (0, 1):
        shown = shown_groups(record, y)
        shown = shown._replace(total=int(shown.people.sum()))
        own = _sums(record, y, nobody, keep, shown)
        within, over = within + own.low[0], over + own.over[0]
    return bool(abs(1 - within / over - size) < 1e-9)


def _distinct(sums: list[Sums]) -> np.ndarray:
    """Questions × (low, high, over) × candidates that differ in any of them."""
    table = np.array([[part.low, part.high, part.over] for part in sums])
    return np.unique(table.round(9), axis=-1)


def _sums(
    record: Record, outcome: int, some: Candidates, keep: list[int], shown: Open | None = None
) -> Sums:
    """Of the groups that the attributes `keep` make."""
    shown = shown or shown_groups(record, outcome)
    total = shown.positive.sum() + some.first_positive + some.second_positive
    low, high = np.zeros(len(total)), np.zeros(len(total))
    for people, positive in _merged(record, shown, some, keep):
        pairs = positive * (people - positive) / np.maximum(people - 1, 1)
        low += np.where(people == 1, 0.0, pairs)
        high += np.where(people == 1, 0.5, pairs)  # who is alone has neighbors elsewhere
    return Sums(low, high, total * (shown.total - total) / (shown.total - 1))


def _merged(
    record: Record, shown: Open, some: Candidates, keep: list[int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    open_ = list(zip(shown.people, shown.positive, strict=True))
    hidden = [(some.first, some.first_positive), (some.second, some.second_positive)]
    groups: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = {}
    zero = np.zeros(len(some.first))
    for cell in record["cells"]["cells"]:
        people, positive = hidden.pop(0) if cell["masked"] else open_.pop(0)
        key = tuple(cell["levels"][k] for k in keep)
        before = groups.get(key, (zero, zero))
        groups[key] = (before[0] + people, before[1] + positive)
    return list(groups.values())
