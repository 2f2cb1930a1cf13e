"""An attacker who recovers masked counts from what an audit shows, by integer search.

The audits are of labels (0 or 1), one attribute and an outcome of two classes, and two groups are
masked. The attacker knows the program: which numbers are shown, how they are made of counts, how
they are rounded, and by which rule groups are masked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairaudit.evidence.disclosure import suppress
from fairaudit.evidence.measured import Cell, CellTable, Estimate

RATES = ("FPR", "TPR")
Record = dict[str, Any]


class Candidates(NamedTuple):
    """Possible counts of the two masked groups among the people with one outcome."""

    first: np.ndarray
    second: np.ndarray
    first_positive: np.ndarray
    second_positive: np.ndarray

    def take(self, kept: np.ndarray) -> Candidates:
        return Candidates(*(column[kept] for column in self))

    def values(self) -> list[int]:
        """How many different values each of the counts can have."""
        return [len(np.unique(column)) for column in self]


class Open(NamedTuple):
    """Groups that are shown, with one outcome: people and positive predictions; all people."""

    people: np.ndarray
    positive: np.ndarray
    total: int


def shown_groups(record: Record, outcome: int) -> Open:
    column = record["cells"]["columns"].index(RATES[outcome])
    cells = [cell["estimates"][column] for cell in record["cells"]["cells"] if not cell["masked"]]
    people = np.array([cell["rows"] for cell in cells])
    rate = np.array([cell["value"] or 0.0 for cell in cells])
    by_outcome = [
        finding["rows"] for finding in record["findings"] if finding["family"] == "outcome"
    ]
    return Open(people, np.rint(rate * people).astype(int), by_outcome[outcome])


def all_candidates(shown: Open) -> Candidates:
    """Everything that the totals allow."""
    hidden = shown.total - int(shown.people.sum())
    first, positive, other = np.meshgrid(*(np.arange(hidden + 1),) * 3, indexing="ij")
    fits = (positive <= first) & (other <= hidden - first)
    first, positive, other = first[fits], positive[fits], other[fits]
    return Candidates(first, hidden - first, positive, other)


def disagreement(shown: Open, some: Candidates) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of people with different labels, expected within groups and over all groups.

    KPC of labels with averaged ties is 1 − within / over, sums over outcomes of these two.
    """
    n, total = shown.total, shown.positive.sum() + some.first_positive + some.second_positive
    over = total * (n - total) / (n - 1)
    within = sum(
        _within(people, positive, n, total)
        for people, positive in [
            *zip(shown.people, shown.positive, strict=True),
            (some.first, some.first_positive),
            (some.second, some.second_positive),
        ]
    )
    return within, over


def _within(people: Any, positive: Any, n: int, total: np.ndarray) -> np.ndarray:
    """A single person's nearest neighbors are all the others."""
    people, positive = np.broadcast_arrays(people, positive)
    alone = np.where(positive == 1, n - total, total) / (n - 1) / 2
    pairs = positive * (people - positive) / np.maximum(people - 1, 1)
    return np.where(people == 1, alone, pairs)


def fits(value: np.ndarray, shown: float | None, step: float) -> np.ndarray:
    """Whether values look like the shown one after rounding; `step` 0: it has all its digits."""
    if shown is None:
        return np.ones(len(value), dtype=bool)
    return np.abs(value - shown) <= step / 2 + 1e-9


def after_kpc(record: Record, outcome: int, some: Candidates, step: float) -> Candidates:
    """Those that give KPC of the outcome class as shown."""
    by_class = [finding for finding in record["findings"] if finding["family"] == "outcome"]
    of_class = by_class[outcome]["kpc"]
    within, over = disagreement(shown_groups(record, outcome), some)
    with np.errstate(divide="ignore", invalid="ignore"):
        kpc = 1 - within / over
    return some.take(fits(kpc, of_class, step) & (over > 0))


def after_gaps(record: Record, outcome: int, some: Candidates) -> Candidates:
    """Those that give the gaps as shown, if these compare a group with all others.

    A gap of the groups that are shown among themselves fits everything, and tells nothing.
    """
    shown = shown_groups(record, outcome)
    open_ = [tuple(cell["levels"]) for cell in record["cells"]["cells"] if not cell["masked"]]
    gaps = {
        tuple(gap["levels"]): gap["value"]
        for gap in record["gaps"]["gaps"]
        if gap["rate"] == RATES[outcome] and gap["value"] is not None
    }
    for k, levels in enumerate(open_):
        if levels not in gaps:
            continue
        people, positive = shown.people[k], shown.positive[k]
        others = (shown.positive.sum() - positive) / (shown.people.sum() - people)
        if abs(positive / people - others - gaps[levels]) < 1e-9:
            continue
        total = shown.positive.sum() + some.first_positive + some.second_positive
        rest = (total - positive) / (shown.total - people)
        some = some.take(np.abs(positive / people - rest - gaps[levels]) < 1e-9)
    return some


def after_mask(record: Record, both: list[Candidates], fewest: int) -> list[Candidates]:
    """Those that the rule masks as the record is masked."""
    shown = [shown_groups(record, y) for y in (0, 1)]
    pattern = [cell["masked"] for cell in record["cells"]["cells"]]
    allowed = {
        (zeroth, first)
        for zeroth in np.unique(both[0].first)
        for first in np.unique(both[1].first)
        if _masked_so(shown, (zeroth, first), pattern, fewest)
    }
    zeros, ones = ({pair[k] for pair in allowed} for k in (0, 1))
    return [
        some.take(np.isin(some.first, list(values)))
        for some, values in zip(both, (zeros, ones), strict=True)
    ]


def _masked_so(shown: list[Open], first: tuple[int, int], pattern: list[bool], fewest: int) -> bool:
    hidden = [groups.total - int(groups.people.sum()) for groups in shown]
    masked = [first, (hidden[0] - first[0], hidden[1] - first[1])]
    open_ = list(zip(shown[0].people, shown[1].people, strict=True))
    groups = [masked.pop(0) if hide else open_.pop(0) for hide in pattern]
    cells = tuple(_cell(k, *map(int, group)) for k, group in enumerate(groups))
    table = suppress(
        CellTable(attributes=("g",), columns=("selected", "TPR", "FPR"), cells=cells, unlisted=0),
        fewest,
    )
    return [cell.masked for cell in table.cells] == pattern


def _cell(number: int, zeros: int, ones: int) -> Cell:
    counts = (zeros + ones, ones, zeros)
    estimates = tuple(
        Estimate(value=0.5, low=0.4, high=0.6, rows=count, people=count) for count in counts
    )
    return Cell(levels=(str(number),), rows=counts[0], people=counts[0], estimates=estimates)


def after_joint(record: Record, both: list[Candidates], step: float) -> list[Candidates]:
    """Those with a partner in the other outcome that together give the joint KPC and DEO."""
    joint = record["findings"][0]["kpc"]
    deo = next(measure["value"] for measure in record["measures"] if measure["key"] == "deo")
    if deo is not None and abs(deo - sum(map(_deo_of_shown, _both(record)))) < 1e-9:
        deo = None  # of the groups that are shown: it tells nothing
    facts = [_facts(shown, some) for shown, some in zip(_both(record), both, strict=True)]
    kept = []
    for own, other, some in ((0, 1, both[0]), (1, 0, both[1])):
        partners = np.unique(facts[other].round(9), axis=0)
        good = np.zeros(len(facts[own]), dtype=bool)
        for k, (within, over, gap) in enumerate(facts[own]):
            kpc = 1 - (within + partners[:, 0]) / (over + partners[:, 1])
            good[k] = (fits(kpc, joint, step) & fits(gap + partners[:, 2], deo, 0.01)).any()
        kept.append(some.take(good))
    return kept


def _both(record: Record) -> list[Open]:
    return [shown_groups(record, y) for y in (0, 1)]


def _deo_of_shown(shown: Open) -> float:
    overall = shown.positive.sum() / shown.people.sum()
    return float(np.abs(shown.positive / shown.people - overall).sum())


def _facts(shown: Open, some: Candidates) -> np.ndarray:
    within, over = disagreement(shown, some)
    total = shown.positive.sum() + some.first_positive + some.second_positive
    overall = total / shown.total
    gap = np.zeros(len(some.first))
    for people, positive in [
        *zip(shown.people, shown.positive, strict=True),
        (some.first, some.first_positive),
        (some.second, some.second_positive),
    ]:
        size = np.broadcast_to(people, gap.shape)
        rate = np.broadcast_to(positive, gap.shape) / np.maximum(size, 1)
        gap += np.where(size > 0, np.abs(rate - overall), 0.0)
    return np.column_stack([within, over, gap])


def recovered(record: Record, fewest: int, steps: tuple[float, float, float]) -> list[Candidates]:
    """What is left for both outcomes, given the steps of KPC of both outcomes and of all rows."""
    both = [
        after_gaps(record, y, after_kpc(record, y, all_candidates(shown_groups(record, y)), step))
        for y, step in zip((0, 1), steps, strict=False)
    ]
    return after_joint(record, after_mask(record, both, fewest), steps[2])
