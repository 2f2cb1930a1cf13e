"""Violations of graded size, planted into copies that have none.

A copy already makes the prediction null: outcome row k has the attributes of row `copy[k]`, drawn
without a look at the prediction. Further exchanges of attributes between rows of the same outcome
then tie them to the prediction. Predictions and outcomes stay as they are, so a planted table has
the very null distribution that the audit has drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from dataclasses import field as part_of

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit._words import figures
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.portrait.quantities import read_score
from fairaudit.metrics._gap_regression import outcome_basis
from fairaudit.metrics._labels import binary_labels
from fairaudit.permute.copies import stream

__all__ = [
    "MOST_SHIFT",
    "Field",
    "Group",
    "amount_for",
    "field_of",
    "give_attributes",
    "groups_in",
    "largest_gap",
    "shifted",
    "with_gap",
]

Mask = NDArray[np.bool_]
MOST_SHIFT = 16.0  # a complete separation
_APART = 64.0  # more than raised normal scores differ by
NEIGHBORS = 20  # rows with nearly the same continuous outcome


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rows whose attributes lie in a group, and its name."""

    name: str
    member: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """What violations are planted in.

    Attributes
    ----------
    score : array
        Of a continuous outcome what it does not explain of the prediction.
    level : array
        The same of the score's rank among all rows, on the normal scale: what tests of ranks see.
    label, actual : bool arrays or None
        Prediction and outcome as classes, where there are two.
    strata : int array
        Rows with (nearly) the same outcome.
    basis : array or None
        Orthonormal functions of a continuous outcome.
    sorted_strata : int array
        The strata in their order.
    places : int array
        Of every row in the order of strata and scores; equal where both are.
    normal : array or None
        Normal scores in that order, of classes.
    size : int array
        Rows of each stratum.
    residual : array
        The level without the mean of its stratum, in standard deviations.
    labeled : dict
        Of two classes: actual class → its rows and their labels.
    """

    score: Array
    level: Array
    label: Mask | None
    actual: Mask | None
    strata: Index
    basis: Array | None = None
    sorted_strata: Index = part_of(init=False)
    places: Index = part_of(init=False)
    normal: Array | None = part_of(init=False)
    size: Index = part_of(init=False)
    residual: Array = part_of(init=False)
    labeled: dict[bool, tuple[Index, Mask]] = part_of(init=False)

    def __post_init__(self) -> None:
        from scipy.special import ndtri

        order = np.lexsort((self.score, self.strata))
        strata, score = self.strata[order], self.score[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(strata) != 0) | (np.diff(score) != 0)
        places = np.empty(len(order), dtype=np.intp)
        places[order] = np.cumsum(new)
        normal, size = None, np.bincount(self.strata)
        if self.basis is None:
            place = np.arange(len(order)) - (np.cumsum(size) - size)[strata]
            normal = ndtri((place + 0.5) / size[strata])
        residual = self.level - (np.bincount(self.strata, self.level) / size)[self.strata]
        residual /= max(float(residual.std()), 1e-12)
        labeled = {}
        if self.label is not None and self.actual is not None:
            for actual in (False, True):
                rows = np.flatnonzero(self.actual == actual)
                labeled[actual] = rows, self.label[rows]
        for name, value in {
            "sorted_strata": strata,
            "places": places,
            "normal": normal,
            "size": size,
            "residual": residual,
            "labeled": labeled,
        }.items():
            object.__setattr__(self, name, value)

    def sizes(self, copy: Index, group: Group) -> tuple[float, float, float, float]:
        """Shift, gaps in both rates, and prediction gap."""
        inside = group.member[copy]
        gaps = self._gap(inside, True), self._gap(inside, False)
        numbers = float("nan") if self.basis is None else self._prediction_gap(inside)
        return self._shift(inside), *gaps, numbers

    def shift(self, copy: Index, group: Group) -> float:
        """Difference of mean levels given the outcome, in standard deviations.

        Tests of ranks find a shift by its size on this scale, whatever shape it has among the
        scores. Where scores are normal, their own differences are as large.
        """
        return self._shift(group.member[copy])

    def _shift(self, inside: Mask) -> float:
        members = np.bincount(self.strata[inside], minlength=len(self.size))
        # slope of the residual, of mean 0 in every stratum, on membership within strata
        varies = float((members * (1 - members / np.maximum(self.size, 1))).sum())
        return float(inside @ self.residual) / max(varies, 1e-12)

    def prediction_gap(self, copy: Index, group: Group) -> float:
        """Of the group to all others given a continuous outcome: `fairaudit.metrics`' difference.

        By the theorem of Frisch and Waugh, without standard errors.
        """
        return self._prediction_gap(group.member[copy])

    def _prediction_gap(self, inside: Mask) -> float:
        if self.basis is None:
            raise InputError(
                "prediction_gap is for predicted numbers and an outcome of numbers. Plan with "
                "tpr_gap, fpr_gap or score_shift."
            )
        member = inside.astype(np.float64)
        member -= self.basis @ (self.basis.T @ member)
        return float(member @ self.score) / max(float(member @ member), 1e-12)

    def gap(self, copy: Index, group: Group, outcome: bool) -> float:
        """Difference in the share of positive labels among rows with this outcome."""
        return self._gap(group.member[copy], outcome)

    def _gap(self, inside: Mask, outcome: bool) -> float:
        if not self.labeled:
            return float("nan")
        rows, label = self.labeled[outcome]
        inside = inside[rows]
        members, found = int(inside.sum()), int((inside & label).sum())
        others = len(rows) - members
        if not members or not others:
            return float("nan")
        return found / members - (int(label.sum()) - found) / others


def field_of(table: AuditTable, threshold: float | None) -> Field:
    """Scores, labels and strata of a table."""
    from scipy.special import ndtri

    from fairaudit.geometry.ranks_and_moments import rank_values

    outcome, columns = table.require_outcome(), table.prediction.columns
    label = actual = basis = None
    cut = default_threshold(table) if threshold is None else threshold
    try:
        labels = binary_labels(table, threshold=cut)
        label, actual = labels.predicted, labels.actual
    except InputError:
        pass  # no labels of two classes: no gaps
    score = read_score(table)
    if score is None:
        codes = columns[0].codes if columns[0].numeric is None else columns[0].numeric
        score = np.asarray(codes if label is None else label, dtype=np.float64)
    level = np.asarray(ndtri((rank_values(score) - 0.5) / len(score)))
    if outcome.kind.is_categorical:
        strata = np.asarray(outcome.codes, dtype=np.intp)
    else:
        order = np.argsort(np.asarray(outcome.numeric), kind="stable")
        strata = np.empty(len(order), dtype=np.intp)
        strata[order] = np.arange(len(order)) // NEIGHBORS
        basis = _orthonormalize(outcome_basis(np.asarray(outcome.numeric, dtype=np.float64)))
        score, level = (x - basis @ (basis.T @ x) for x in (score, level))
    return Field(score, level, label=label, actual=actual, strata=strata, basis=basis)


def _orthonormalize(columns: Array) -> Array:
    """Columns that span the same."""
    vectors, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(vectors[:, values > 1e-9 * values[0]])


def give_attributes(table: AuditTable, rows: Index) -> AuditTable:
    """The table in which row k has the attributes of row `rows[k]`."""
    return replace(table, attributes=tuple(column.take(rows) for column in table.attributes))


def groups_in(table: AuditTable, most: int) -> list[Group]:
    """Each level of a categorical attribute, the upper half of a numeric one; largest first."""
    groups: list[Group] = []
    for column in table.attributes:
        if column.kind.is_categorical:
            counts = np.bincount(column.codes, minlength=len(column.levels))
            order = np.argsort(-counts, kind="stable")
            chosen = order[-1:] if len(order) == 2 else order  # of two, one says it all
            groups += [
                Group(f"{column.name} = {level_text(column.levels[k])}", column.codes == k)
                for k in chosen
            ]
        else:
            values = np.asarray(column.numeric)
            cut = float(np.median(values))
            if not (values > cut).any():
                cut = float(np.unique(values)[-2])
            groups.append(Group(f"{column.name} > {figures(cut, 6)}", values > cut))
    return groups if len(groups) <= most else sorted(groups, key=lambda g: -g.member.sum())[:most]


def shifted(
    copy: Index, group: Group, field: Field, amount: float, rng: np.random.Generator
) -> Index:
    """The copy with attributes exchanged as if the group's scores had been raised.

    Given the outcome, scores are put on the normal scale by their ranks (ties in random order),
    those of members are raised by `amount`, and the attributes are brought in the order of the
    result. Labels are thus shifted as in a probit model. Among few neighbors in a continuous
    outcome the normal numbers are drawn at random, or small amounts would move nothing.
    """
    from scipy.special import ndtri

    by_score = np.argsort(field.places + rng.random(len(copy)))
    normal = field.normal
    if normal is None:
        of = field.sorted_strata
        share = np.sort(of + rng.random(len(copy))) - of
        normal = ndtri(np.clip(share, 1e-12, 1 - 1e-12))
    given = copy[by_score]
    raised = normal + amount * group.member[given]
    planted = np.empty_like(copy)
    planted[by_score] = given[np.argsort(_APART * field.sorted_strata + raised)]
    return planted


def amount_for(
    measure: Callable[[Index], float],
    copies: Index,
    group: Group,
    field: Field,
    size: float,
    seed: int,
) -> float:
    """Of `shifted`, for a mean increase of a measure by `size`; at most `MOST_SHIFT`."""
    before = np.mean([measure(copy) for copy in copies])

    def reached(amount: float) -> float:
        rng = stream(seed, 11)
        planted = (shifted(copy, group, field, amount, rng) for copy in copies)
        return float(np.mean([measure(copy) for copy in planted]) - before)

    low, high = 0.0, 0.25
    while reached(high) < size:
        low, high = high, 2 * high
        if high >= MOST_SHIFT:
            return MOST_SHIFT
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < size else (low, middle)
    return high


def largest_gap(group: Group, field: Field, outcome: bool) -> float:
    """The largest gap that exchanges can make where the group's labels are like all others'."""
    if field.label is None or field.actual is None:
        return float("nan")
    rows = field.actual == outcome
    rate, share = float(field.label[rows].mean()), float(group.member[rows].mean())
    up = min(share * (1 - rate), (1 - share) * rate)
    down = min(share * rate, (1 - share) * (1 - rate))
    return max(up, down) / max(share * (1 - share), 1e-12)


def with_gap(
    copy: Index, group: Group, field: Field, outcome: bool, size: float, rng: np.random.Generator
) -> Index:
    """The copy with a gap of expected size `size` between the group's rate and all others'.

    Members whose label is 0 change places with others whose label is 1, given the outcome; the
    other way round where that leaves more room.
    """
    if field.label is None or field.actual is None:
        raise InputError(
            "A gap in rates needs labels: pass 'threshold', or use score_shift.",
            argument="threshold",
        )
    rows = np.flatnonzero(field.actual == outcome)
    inside, label = group.member[copy[rows]], field.label[rows]
    up = (rows[inside & ~label], rows[~inside & label])
    down = (rows[inside & label], rows[~inside & ~label])
    inner, outer = max(up, down, key=lambda pair: min(map(len, pair)))
    members, rest = int(inside.sum()), int((~inside).sum())
    wanted = size * members * rest / max(members + rest, 1)
    count = int(wanted) + int(rng.random() < wanted % 1)
    count = min(count, len(inner), len(outer))
    inner, outer = rng.permutation(inner)[:count], rng.permutation(outer)[:count]
    planted = copy.copy()
    planted[inner], planted[outer] = copy[outer], copy[inner]
    return planted
