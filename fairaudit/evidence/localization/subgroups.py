"""Which subgroup: found by a search on one half of the people, tested on the other half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit._words import figures
from fairaudit.data.columns import Column, Kind, level_text
from fairaudit.data.table import AuditTable
from fairaudit.evidence.localization.differences import mean_difference, people_of, unexplained
from fairaudit.evidence.localization.scores import Part, Score, parts_of, score_of
from fairaudit.permute.copies import stream
from fairaudit.testing.choice_of_law import ChoiceOfLaw, prepare_copies
from fairaudit.testing.p_value import PValue, reaches
from fairaudit.testing.permutations import Permutations

__all__ = ["FEWEST", "Subgroup", "find_subgroups"]

FEWEST = 20  # rows of a subgroup in either half
_SMALLEST_SHARE = 0.03
_MOST_LEVELS = 60  # of a column
_WORTH = 1.0  # what a further condition must add to |t|


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgroup:
    """A subgroup of one part, as the half that did not find it sees it."""

    name: str
    attributes: tuple[str, ...]
    part: Part
    score: Score
    rows: int
    people: int
    effect: float
    low: float
    high: float
    p_value: float
    copies_by: str


def find_subgroups(
    table: AuditTable, *, confidence: float, permutations: Permutations, choice: ChoiceOfLaw
) -> list[Subgroup]:
    """One subgroup per outcome class; `confidence` is that of all intervals together."""
    searched, tested = (table.take(rows) for rows in _halves(table, permutations.seed))
    rules = []
    for part in parts_of(searched, 4 * FEWEST):
        rule = _search(searched, part)
        if rule is not None:
            rules.append((part.label, rule))
    level = 1 - (1 - confidence) / max(len(rules), 1)
    known = {part.label: part for part in parts_of(tested, 2 * FEWEST)}
    results = (
        _test_subgroup(
            tested,
            known[label],
            rule=rule,
            confidence=level,
            permutations=permutations,
            choice=choice,
        )
        for label, rule in rules
        if label in known
    )
    return [subgroup for subgroup in results if subgroup is not None]


def _halves(table: AuditTable, seed: int) -> tuple[Index, Index]:
    """Rows of one random half of the people, and of the other."""
    people = people_of(table)
    count = int(people.max()) + 1
    chosen = np.zeros(count, dtype=bool)
    chosen[stream(seed, 10).permutation(count)[: count // 2]] = True
    return np.flatnonzero(chosen[people]), np.flatnonzero(~chosen[people])


@dataclass(frozen=True, slots=True)
class _Condition:
    """One condition of a rule: a level, or a side of a number."""

    column: str
    level: str | None = None
    cut: float = 0.0
    above: bool = True

    def holds(self, column: Column) -> NDArray[np.bool_]:
        if self.level is None:
            values = np.asarray(column.numeric)
            return np.asarray((values > self.cut) == self.above)
        own = np.array([level_text(level) == self.level for level in column.levels])
        return np.asarray(own[column.codes])

    def words(self) -> str:
        if self.level is None:
            return f"{self.column} {'>' if self.above else '≤'} {figures(self.cut)}"
        return f"{self.column} = {self.level}"


def _search(table: AuditTable, part: Part) -> tuple[_Condition, ...] | None:
    """The rule of up to three conditions whose residuals differ most from the others'.

    All pairs of conditions are tried, and every third one beside the best pair: a tree, which
    takes one at a time, does not see that women are treated differently when they are older.
    """
    residual = unexplained(score_of(table).values, table)[part.rows]
    attributes = [column.take(part.rows) for column in table.attributes]
    fewest = max(FEWEST, int(_SMALLEST_SHARE * len(residual)))
    known = _list_conditions(attributes, fewest)
    if not known or residual.std() == 0:
        return None
    by_name = {column.name: column for column in attributes}
    holds = np.column_stack(
        [condition.holds(by_name[condition.column]) for condition in known]
    ).astype(np.float64)
    pairs = _t_values(holds, holds, residual, fewest)
    i, j = np.unravel_index(_first_largest(pairs), pairs.shape)
    rule, best = [int(i), int(j)], float(pairs[i, j])
    single = np.diag(pairs)
    if single.max() > best - _WORTH:
        rule, best = [_first_largest(single)], float(single.max())
    if len(rule) == 2:
        triples = _t_values((holds[:, i] * holds[:, j])[:, None], holds, residual, fewest)[0]
        if triples.max() > best + _WORTH:
            rule.append(_first_largest(triples))
    return tuple(known[k] for k in sorted(set(rule))) if best > 0 else None


def _first_largest(values: Array) -> int:
    """The first of the largest: the two sides of a cut are equal but for rounding."""
    return int(np.argmax(values >= values.max() * (1 - 1e-9)))


def _list_conditions(attributes: Sequence[Column], fewest: int) -> list[_Condition]:
    """Levels that enough rows have, and both sides of every twentieth of numbers."""
    conditions: list[_Condition] = []
    for column in attributes:
        if column.kind.is_categorical:
            counts = np.bincount(column.codes, minlength=len(column.levels))
            codes = [
                code
                for code in np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
                if fewest <= counts[code] < len(column)
            ]
            conditions += [
                _Condition(column.name, level_text(column.levels[code])) for code in codes
            ]
            continue
        values = np.asarray(column.numeric)
        cuts = np.unique(np.quantile(values, np.arange(1, 20) / 20, method="lower"))
        for cut in cuts[cuts < values.max()]:
            conditions += [
                _Condition(column.name, None, float(cut), above) for above in (True, False)
            ]
    return conditions


def _t_values(a: Array, b: Array, residual: Array, fewest: int) -> Array:
    """|t| of the rows in which both a column of a and one of b hold, against all others."""
    n, total, squares = len(residual), residual.sum(), (residual**2).sum()
    count = a.T @ b
    inside = (a * residual[:, None]).T @ b
    inside_squares = (a * (residual**2)[:, None]).T @ b
    allowed = (count >= fewest) & (n - count >= fewest)
    m = np.where(allowed, count, 1.0)
    rest = np.where(allowed, n - count, 1.0)
    mean, other = inside / m, (total - inside) / rest
    variance = np.maximum(inside_squares / m - mean**2, 0) / m
    variance += np.maximum((squares - inside_squares) / rest - other**2, 0) / rest
    usable = allowed & (variance > 0)
    t = np.where(usable, np.abs(mean - other) / np.sqrt(np.where(usable, variance, 1.0)), 0.0)
    return np.asarray(
        np.round(t, 9), float
    )  # a group and all others are as far apart: the first, on any machine


def _test_subgroup(
    table: AuditTable,
    part: Part,
    rule: tuple[_Condition, ...],
    confidence: float,
    permutations: Permutations,
    choice: ChoiceOfLaw,
) -> Subgroup | None:
    """The subgroup against the others of its part, with copies that nothing was searched on."""
    by_name = {column.name: column for column in table.attributes}
    inside = np.ones(len(table), dtype=bool)
    for condition in rule:
        inside &= condition.holds(by_name[condition.column])
    within = inside[part.rows]
    if min(within.sum(), (~within).sum()) < FEWEST:
        return None
    score = score_of(table)
    # of a continuous outcome the scores may differ by it; classes are compared one by one
    values = score.values if part.label is not None else unexplained(score.values, table)
    effect, low, high = mean_difference(
        values[part.rows], within, people_of(table)[part.rows], confidence
    )
    residual = unexplained(score.values, table)[part.rows]
    p, copies_by = _p_value(
        table, part, inside=inside, residual=residual, permutations=permutations, choice=choice
    )
    return Subgroup(
        name=" and ".join(condition.words() for condition in rule),
        attributes=tuple(dict.fromkeys(condition.column for condition in rule)),
        part=part,
        score=score,
        rows=int(within.sum()),
        people=len(np.unique(people_of(table)[part.rows][within])),
        effect=effect,
        low=low,
        high=high,
        p_value=p,
        copies_by=copies_by,
    )


def _p_value(
    table: AuditTable,
    part: Part,
    inside: NDArray[np.bool_],
    residual: Array,
    permutations: Permutations,
    choice: ChoiceOfLaw,
) -> tuple[float, str]:
    """Copies of membership given the outcome; the statistic is the sum of residuals inside."""
    from fairaudit.data.columns import columns_from

    outcome = table.require_outcome()
    (member,) = columns_from({"subgroup": inside.astype(np.int64)}, argument="sensitive")
    if outcome.kind.is_categorical:
        choice = ChoiceOfLaw("exact")  # also where the audit fitted one
    members = replace(table, attributes=(replace(member, kind=Kind.BINARY),))
    fitted = prepare_copies(members, choice, permutations)
    expected = inside[part.rows].mean() * residual.sum()
    observed = abs(float(inside[part.rows] @ residual) - expected)
    reached = 0
    for _, block in fitted.sampler.blocks(permutations.n, permutations.batch_for(len(table))):
        values = np.abs(inside[block[:, part.rows]] @ residual - expected)
        reached += int(reaches(values, observed).sum())
    return PValue(reached, permutations.n).value, fitted.density
