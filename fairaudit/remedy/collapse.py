"""Is a model that passes still a model? One answer for everybody passes every test of fairness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.classes import class_key
from fairaudit.data.columns import Column, level_text
from fairaudit.data.table import AuditTable
from fairaudit.geometry.ranks_and_moments import rank_values
from fairaudit.remedy.rows import predicted_codes

__all__ = [
    "FEWEST_OTHERS",
    "KEPT",
    "ODDS",
    "SURE_TO_CHOOSE",
    "auc_lift",
    "class_scores",
    "collapse",
    "ranking_in_doubt",
]

FEWEST_OTHERS = 0.01  # share of rows with another answer than the most common one
KEPT = 0.5  # of the ranking: lift of AUC over 1/2, or correlation with a continuous outcome
SURE_TO_CHOOSE = 1.0  # standard errors: on the border of these rows, it is often lost on others
ODDS = 4.0  # factor between the odds of a predicted share and those that there were
SPREAD = 0.1  # of the old predictions' standard deviation
_SURE = 1.645  # standard errors that a ranking must be away from none, or from half of it


@dataclass(frozen=True, slots=True)
class _Ranking:
    """How well predictions order the outcomes: 0 is not at all; `error` its spread at 0.

    `influence` is what every row adds to it.
    """

    value: float
    error: float
    influence: Array

    def above(self, other: _Ranking, share: float, ids: Column | None) -> tuple[float, float]:
        """How far it is above a share of another one on the same rows; the standard error.

        Rows of one person are counted as one.
        """
        added = self.influence - share * other.influence
        of_people = added if ids is None else np.bincount(ids.codes, added)
        error = float(np.sqrt((of_people**2).sum())) / len(added)
        return self.value - share * other.value, error


def collapse(new: AuditTable, old: AuditTable, *, sure: float = 0.0) -> str | None:
    """Why the new model is none any more beside the old one on these rows; None: it is one.

    For classes: (a) fewer than 1 % of the rows (and fewer than a quarter of those in the outcome)
    get another label than the most common one; (b) the lift of AUC over 1/2 is less than half of
    the old model's (by `sure` standard errors more, where asked for), or cannot be told from 0
    where the old one's can; (c) the odds of a predicted class are off by more than a factor of 4
    from both its odds in the outcome and those of the old model's predictions. For a continuous
    outcome: (a) a spread of less than a tenth of the old predictions'; (b) as above, by the
    correlation with the outcome; (c) a mean that is more than a standard deviation of the outcome
    away from both means.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, (2, 500))
    >>> scores = [0.6 + 0.1 * rng.random(500), 0.25 + 0.4 * y + 0.2 * rng.random(500)]
    >>> tables = [AuditTable.of(score, {"sex": sex}, y) for score in scores]
    >>> print(collapse(*tables))
    it answers 1 in all 500 rows; its ranking is lost (AUC 0.47, before 1.00)
    >>> collapse(tables[1], tables[1]) is None
    True
    """
    outcome = new.require_outcome()
    reasons = (
        _of_labels(new, old, outcome) if outcome.kind.is_categorical else _of_numbers(new, old)
    )
    rankings = _rank_both(new, old)
    if rankings is not None:
        (after, before), enough = rankings, rankings[0].value > _SURE * rankings[0].error
        above, error = after.above(before, KEPT, new.ids)
        if not (enough and above >= sure * error):
            reasons.append(f"its ranking is lost ({_describe(after, before, outcome)})")
    given = [reason for reason in reasons if reason]
    return "; ".join(given) or None


def ranking_in_doubt(new: AuditTable, old: AuditTable) -> str | None:
    """The rankings, where these rows do not show that half of the old one's is kept.

    By DeLong, DeLong & Clarke-Pearson (1988), the same rows under both models, at a level of 5 %.
    """
    rankings = _rank_both(new, old)
    if rankings is None:
        return None
    above, error = rankings[0].above(rankings[1], KEPT, new.ids)
    return None if above > _SURE * error else _describe(*rankings, new.require_outcome())


def _rank_both(new: AuditTable, old: AuditTable) -> tuple[_Ranking, _Ranking] | None:
    """None: the old model has no ranking that could be lost."""
    after, before = (_ranking(table, new.require_outcome()) for table in (new, old))
    if after is None or before is None or before.value <= _SURE * before.error:
        return None
    return after, before


def _describe(new: _Ranking, old: _Ranking, outcome: Column) -> str:
    classes = outcome.kind.is_categorical
    start, name = (0.5, "AUC") if classes else (0.0, "correlation with the outcome")
    return f"{name} {start + new.value:.2f}, before {start + old.value:.2f}"


def _of_labels(new: AuditTable, old: AuditTable, outcome: Column) -> list[str | None]:
    codes = predicted_codes(new)
    if codes is None:
        return []
    count = len(outcome.levels)
    rows = len(codes)
    predicted = np.bincount(codes[codes >= 0], minlength=count)
    actual = np.bincount(outcome.codes, minlength=count)
    most = int(predicted.argmax())
    others = rows - int(predicted[most])
    if others < min(FEWEST_OTHERS * rows, (rows - actual[most]) / ODDS) or others == 0:
        which = f"{level_text(outcome.levels[most])} in all"
        rest = "" if others == 0 else f" but {others:,} of"
        return [f"it answers {which}{rest} {rows:,} rows"]
    before = predicted_codes(old)
    bounds = (
        [actual] if before is None else [actual, np.bincount(before[before >= 0], minlength=count)]
    )
    return [
        _share_off(predicted, bounds, rows, level_text(outcome.levels[k]), k)
        for k in ([count - 1] if count == 2 else range(count))
    ]


def _share_off(predicted: Index, bounds: list[Index], rows: int, name: str, k: int) -> str | None:
    """The odds of one class against those that there were: in the outcome, in old predictions."""
    odds = [(counts[k] + 0.5) / (rows - counts[k] + 0.5) for counts in (predicted, *bounds)]
    if min(odds[1:]) / ODDS <= odds[0] <= max(odds[1:]) * ODDS:
        return None
    shares = [f"{100 * counts[k] / rows:.1f} %" for counts in (predicted, *bounds)]
    before = f", the old model said it in {shares[2]}" if len(shares) > 2 else ""
    return f"it answers {name} in {shares[0]} of the rows; the outcome has {shares[1]}{before}"


def _of_numbers(new: AuditTable, old: AuditTable) -> list[str | None]:
    after, before = (table.prediction.columns[0].numeric for table in (new, old))
    outcome = new.require_outcome().numeric
    if after is None or before is None or outcome is None:
        return []
    reasons: list[str | None] = []
    if after.std() < SPREAD * before.std() or after.std() == 0:
        reasons.append(
            f"its predictions are nearly constant (standard deviation {after.std():.3g}, "
            f"before {before.std():.3g})"
        )
    away = min(abs(after.mean() - outcome.mean()), abs(after.mean() - before.mean()))
    if away > outcome.std():
        reasons.append(
            f"its mean prediction is {after.mean():.3g}; the mean outcome is {outcome.mean():.3g}"
        )
    return reasons


def _ranking(table: AuditTable, outcome: Column) -> _Ranking | None:
    columns = table.prediction.columns
    if not outcome.kind.is_categorical:
        numbers = columns[0].numeric
        if numbers is None or outcome.numeric is None:
            return None
        return _correlate(np.asarray(numbers), np.asarray(outcome.numeric))
    scores = class_scores(table, outcome)
    if scores is None:
        return None
    members = [(score, outcome.codes == k) for k, score in scores.items()]
    value, error = np.mean([auc_lift(*pair) for pair in members], axis=0)
    return _Ranking(float(value), float(error), np.mean([_auc_influence(*m) for m in members], 0))


def _correlate(x: Array, y: Array) -> _Ranking:
    if x.std() == 0 or y.std() == 0:
        return _Ranking(0.0, 1 / np.sqrt(len(x)), np.zeros(len(x)))
    x, y = ((column - column.mean()) / column.std() for column in (x, y))
    value = float((x * y).mean())
    return _Ranking(value, 1 / np.sqrt(len(x)), x * y - value * (x**2 + y**2) / 2)


def class_scores(table: AuditTable, outcome: Column) -> dict[int, Array] | None:
    """A score for every class (of two: for one)."""
    columns, count = table.prediction.columns, len(outcome.levels)
    if table.prediction.form == "labels":
        codes = predicted_codes(table)
        if codes is None:
            return None
        return {k: (codes == k).astype(float) for k in ([1] if count == 2 else range(count))}
    places = {class_key(level): k for k, level in enumerate(outcome.levels)}
    known = [places.get(class_key(level), -1) for level in table.prediction.classes]
    if len(known) != len(columns) or -1 in known or len(columns) not in (1, 2, count):
        return None
    scores = {k: np.asarray(column.numeric) for k, column in zip(known, columns, strict=True)}
    return {known[-1]: scores[known[-1]]} if count == 2 else scores


def auc_lift(score: Array, member: Array) -> tuple[float, float]:
    """AUC − 1/2, and its standard error where there is no ranking."""
    inside, rows = int(member.sum()), len(member)
    outside = rows - inside
    if not inside or not outside:
        return 0.0, 0.0
    above = float(rank_values(score)[member].sum()) - inside * (inside + 1) / 2
    return above / (inside * outside) - 0.5, float(np.sqrt((rows + 1) / (12 * inside * outside)))


def _auc_influence(score: Array, member: Array) -> Array:
    """Of every row on AUC: the share of the other rows that it is above (or below)."""
    rows, inside = len(member), int(member.sum())
    influence = np.zeros(rows)
    if not 0 < inside < rows:
        return influence
    ranks = rank_values(score)
    for part, sign in ((member, 1.0), (np.logical_not(member), -1.0)):
        others = rows - int(part.sum())
        placed = sign * (ranks[part] - rank_values(score[part])) / others
        influence[part] = (placed - placed.mean()) * rows / int(part.sum())
    return influence
