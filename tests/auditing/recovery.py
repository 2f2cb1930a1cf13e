"""An attacker who recovers masked counts from what an audit shows, by integer search.

The audits are of labels (0 or 1), one attribute and an outcome of two classes, and two groups are
masked. The attacker knows the program: which numbers are shown, how they are made of counts, how
they are rounded, and by which rule groups are masked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairaudit.data.groups import hidden_groups

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
        return np.ones(value.shape, dtype=bool)
    return np.asarray(np.abs(value - shown) <= step / 2 + 1e-9)


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
    values = [np.unique(some.first) for some in both]
    allowed = np.array(
        [
            [_masked_so(shown, (zeros, ones), pattern, fewest) for ones in values[1]]
            for zeros in values[0]
        ]
    ).reshape(len(values[0]), len(values[1]))
    return [
        some.take(np.isin(some.first, own[allowed.any(axis=1 - y)]))
        for y, (some, own) in enumerate(zip(both, values, strict=True))
    ]


def _masked_so(shown: list[Open], first: tuple[int, int], pattern: list[bool], fewest: int) -> bool:
    hidden = [groups.total - int(groups.people.sum()) for groups in shown]
    masked = [first, (hidden[0] - first[0], hidden[1] - first[1])]
    open_ = list(zip(shown[0].people, shown[1].people, strict=True))
    groups = [masked.pop(0) if hide else open_.pop(0) for hide in pattern]
    zeros, ones = np.array(groups, dtype=int).T
    return hidden_groups(np.array([zeros + ones, ones, zeros]), fewest).tolist() == pattern


def after_joint(record: Record, both: list[Candidates], step: float) -> list[Candidates]:
    """Those with a partner in the other outcome that together give the joint KPC and DEO."""
    joint = record["findings"][0]["kpc"]
    deo = next(measure["value"] for measure in record["measures"] if measure["key"] == "deo")
    if deo is not None and abs(deo - sum(map(_deo_of_shown, _both(record)))) < 1e-9:
        deo = None  # of the groups that are shown: it tells nothing
    if joint is not None and abs(joint - kpc_of_shown(_both(record))) < 1e-9:
        joint = None  # the same
    facts = [_facts(shown, some) for shown, some in zip(_both(record), both, strict=True)]
    kept = []
    for own, other in ((0, 1), (1, 0)):
        partners = np.unique(facts[other].round(9), axis=0)
        good = _have_partner(facts[own], partners, joint, step)
        for k in np.flatnonzero(good) if deo is not None else ():
            sums = facts[own][k] + partners
            kpc = 1 - sums[:, 0] / sums[:, 1]
            good[k] = (fits(kpc, joint, step) & fits(sums[:, 2], deo, 0.01)).any()
        kept.append(both[own].take(good))
    return kept


def _have_partner(
    own: np.ndarray, partners: np.ndarray, joint: float | None, step: float
) -> np.ndarray:
    """Which have a partner with |1 − (within + within') / (over + over') − joint| ≤ step / 2.

    That is from ≤ upper and to ≥ lower, with the first two of the partner and the others one's own.
    """
    if joint is None:
        return np.ones(len(own), dtype=bool)
    half = step / 2 + 1e-9
    left, left_own = (some[:, 0] - (1 - joint) * some[:, 1] for some in (partners, own))
    start, to = left - half * partners[:, 1], left + half * partners[:, 1]
    order = np.argsort(start)
    furthest = np.maximum.accumulate(to[order])
    count = np.searchsorted(start[order], half * own[:, 1] - left_own, side="right")
    reached = furthest[np.maximum(count - 1, 0)] >= -left_own - half * own[:, 1]
    return np.asarray((count > 0) & reached)


def _both(record: Record) -> list[Open]:
    return [shown_groups(record, y) for y in (0, 1)]


def _deo_of_shown(shown: Open) -> float:
    overall = shown.positive.sum() / shown.people.sum()
    return float(np.abs(shown.positive / shown.people - overall).sum())


def kpc_of_shown(shown: list[Open]) -> float:
    """Of the groups that are not masked, each counted as `disagreement` does."""
    nobody = Candidates(*(np.zeros(1),) * 4)
    alone = [replaced._replace(total=int(replaced.people.sum())) for replaced in shown]
    within, over = np.sum([disagreement(groups, nobody) for groups in alone], axis=0)[:, 0]
    return float(1 - within / over) if over > 0 else float("nan")


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
