"""The rounds of one boosted model: penalty, looks at rows that it has not learned, and stopping.

Held out: one booster, and some rows aside on which the number of rounds is chosen. Cross-fitted:
a booster for the complement of every fold, all growing together. What the attributes explain is
then measured on scores of rows that the booster in question has not seen, and all rows count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.remedy.boosting_objective import Penalized, Ramp
from fairaudit.remedy.boosting_rounds import Rounds, Tables
from fairaudit.remedy.dependence_gradient import WeightedDependence

__all__ = ["Part", "Task", "Trained", "train"]

_LOOK = 5  # rounds between two looks at the rows aside


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """Rows of one booster, and those aside, as places among all."""

    train: Index
    aside: Index
    tables: Tables


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """What all models of a path share.

    Attributes
    ----------
    parts : tuple of Part
        One: held out. Several: cross-fitted, and every row is aside once.
    y : array
        Class codes, or standardized numbers, of all rows.
    classes : int
    base : array
        Score that all rows begin with, one per output.
    penalty : WeightedDependence
        Of the training rows, or of all if cross-fitted.
    check : WeightedDependence or None
        Of the rows aside; None if there are none.
    rounds, rate, ramp
        How to train.
    """

    parts: tuple[Part, ...]
    y: Array
    classes: int
    base: Array
    penalty: WeightedDependence
    check: WeightedDependence | None
    rounds: int
    rate: float
    ramp: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Trained:
    """Boosters, the rounds that are kept, and what was seen on rows aside."""

    boosters: list[Any]
    rounds: int
    history: list[dict[str, float]]


def train(task: Task, mu: float) -> Trained:
    """One model; of its rounds those up to the smallest criterion are kept."""
    ramp = Ramp(task.ramp[0] * task.rounds, task.ramp[1] * task.rounds)
    run = (_HeldOut if len(task.parts) == 1 else _CrossFitted)(task, mu)
    history: list[dict[str, float]] = []
    done = 0
    for done in range(1, task.rounds + 1):
        grows = run.advance(ramp.at(done - 1))
        if task.check is not None and (done % _LOOK == 0 or done == task.rounds or not grows):
            history.append({"round": done, **run.look()})
        if not grows:
            break
    full = [look for look in history if look["round"] >= ramp.full] or history
    best = min(full, key=lambda look: look["criterion"])["round"] if full else done
    return Trained([booster.kept(int(best)) for booster in run.boosters], int(best), history)


class _HeldOut:
    def __init__(self, task: Task, mu: float) -> None:
        (part,) = task.parts
        self.boosters: list[Rounds] = [part.tables.start()]
        self.objective = Penalized(
            task.y[part.train], task.classes, mu, task.penalty, rate=task.rate
        )
        self.check = None
        if task.check is not None:
            self.check = Penalized(task.y[part.aside], task.classes, mu, task.check)

    def advance(self, strength: float) -> bool:
        def derivatives(scores: Array) -> tuple[Array, Array]:
            field = self.objective.field(scores, strength)
            return self.objective.derivatives(scores, field, strength)

        return self.boosters[0].advance(derivatives)

    def look(self) -> dict[str, float]:
        assert self.check is not None  # noqa: S101  for mypy: asked only with rows aside
        return self.check.measures(self.boosters[0].held_scores())


class _CrossFitted:
    def __init__(self, task: Task, mu: float) -> None:
        self.parts = task.parts
        self.boosters: list[Rounds] = [part.tables.start() for part in task.parts]
        self.objective = Penalized(task.y, task.classes, mu, task.penalty, rate=task.rate)
        self.scores = np.tile(task.base, (len(task.y), 1))

    def advance(self, strength: float) -> bool:
        field = self.objective.field(self.scores, strength)
        grows = True
        for part, booster in zip(self.parts, self.boosters, strict=True):

            def derivatives(scores: Array, rows: Index = part.train) -> tuple[Array, Array]:
                return self.objective.derivatives(scores, field, strength, rows)

            grows = booster.advance(derivatives) and grows
        for part, booster in zip(self.parts, self.boosters, strict=True):
            self.scores[part.aside] = booster.held_scores()
        return grows

    def look(self) -> dict[str, float]:
        return self.objective.measures(self.scores)
