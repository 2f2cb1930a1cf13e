"""Randomized last stages on top of cross-fitted models, and how strong they must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from fairaudit._types import Array, Index
from fairaudit.remedy.cross_fit import CrossFitted
from fairaudit.remedy.derived import OF_CLASSES, OF_NUMBERS, DerivedPredictor
from fairaudit.remedy.partly_constant import PartlyConstant
from fairaudit.remedy.stage_error import deal_halves, find_stage_error, split_outcome

if TYPE_CHECKING:
    from fairaudit.data.columns import Column

__all__ = ["LEVELS", "LEVELS_OF_NUMBERS", "STRENGTHS", "Candidate", "Stages", "search_strengths"]

#: Of the last stage: 1 corrects in full, beyond it answers are mixed with one law for everybody.
STRENGTHS = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5)
#: Different scores of a stage: fewer lose more of the ranking, and leave less to be found. Two are
#: labels: thresholds of each group, drawn where that is needed.
LEVELS, LEVELS_OF_NUMBERS = (2, 4), (8, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model that might be the repair.

    Attributes
    ----------
    base : CrossFitted
    place : int
        Of the base model on its path.
    strength : float
        Of the last stage; 0 is none.
    levels : int
        Different scores of the stage; 0: as many as the base model has, and beyond a strength of
        1 a share of the people gets a constant.
    stage_sees : bool
        Whether the stage knows the sensitive attributes.
    error : float or None
        Of the stage at full strength, where it is known (`find_stage_error`).
    scores : array
        On the training rows, out of fold.
    """

    base: CrossFitted
    place: int
    strength: float = 0.0
    levels: int = 0
    stage_sees: bool = False
    error: float | None = None
    scores: Array = field(repr=False)

    @property
    def mu(self) -> float:
        return self.base.values[self.place]

    @property
    def randomized(self) -> bool:
        return self.strength > 0

    @property
    def kept(self) -> float:
        """Share of the people whose answer is no constant."""
        return 1.0 if self.levels or not self.strength else 2.0 - self.strength

    @property
    def attributes(self) -> bool:
        """Whether the sensitive attributes must be known when it predicts."""
        return self.stage_sees or self.base.attributes

    @property
    def left(self) -> float | None:
        """Variance of the dependence that is left, in that of the noise of as many rows.

        Moments that are zero on these rows are off by their error on others; mere chance among the
        answers depends on nothing. None where it is not known: trees that were trained towards
        equalized odds leave more or less, by their features, and folds have to tell.
        """
        if self.error is None:
            return None
        return float(self.error * (1 - max(self.strength - 1, 0.0)) ** 2)

    @property
    def key(self) -> tuple[int, int, float, int, bool]:
        """What tells it from others of one search."""
        return id(self.base), self.place, self.strength, self.levels, self.stage_sees


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Last stages on top of base models, cross-fitted on the same folds."""

    frame: Any
    y: Array
    columns: Sequence[Column]
    folds: Index
    units: Index
    ids: str | None
    seed: int
    _fitted: dict[Any, list[DerivedPredictor]] = field(default_factory=dict, repr=False)
    _errors: dict[Any, float] = field(default_factory=dict, repr=False)

    def at(
        self, base: CrossFitted, place: int, strength: float, *, levels: int, attributes: bool
    ) -> Candidate:
        """The base model with a stage of this strength, on rows that the stage has not seen."""
        folds = range(int(self.folds.max()) + 1)
        key = (id(base), place, levels, attributes)
        if key not in self._fitted:
            outside = (np.flatnonzero(self.folds != fold) for fold in folds)
            self._fitted[key] = [
                self._fit(base, place, rows, levels=levels, attributes=attributes)
                for rows in outside
            ]
        scores = np.array(base.scores[place], dtype=np.float64)
        uniforms = np.random.default_rng([self.seed, 22]).random((len(scores), 3))
        for fold, stage in zip(folds, self._fitted[key], strict=True):
            rows = np.flatnonzero(self.folds == fold)
            answers = stage.at_strength(strength).draw_answers(
                scores[rows], self._take(rows), uniforms[rows]
            )
            scores[rows] = answers if scores.ndim > 1 else answers[:, -1]
        return Candidate(
            base=base,
            place=place,
            strength=strength,
            levels=levels,
            stage_sees=attributes,
            error=self._find_error(base, place, levels) if attributes and place == 0 else None,
            scores=scores,
        )

    def _find_error(self, base: CrossFitted, place: int, levels: int) -> float:
        """What the stage leaves because it is fitted to these rows and not to everybody."""
        key = (id(base), place, levels)
        if key not in self._errors:
            everyone = np.arange(len(self.y))
            stages = [
                self._fit(base, place, rows, levels=levels, attributes=True)
                for rows in (everyone, *deal_halves(self.units, self.seed))
            ]
            known = stages[0].read_scores(base.scores[place], len(self.y))
            whole, *halves = (stage.find_level_chances(known, self.columns) for stage in stages)
            classes = is_classifier(base.of_folds[place])
            parts = np.unique(self.y, return_inverse=True)[1] if classes else split_outcome(self.y)
            psi, values = stages[0].basis_(self.columns), stages[0].answers_.values
            self._errors[key] = find_stage_error(whole, halves, values, psi, parts)
        return self._errors[key]

    def dilute(self, base: CrossFitted, place: int, strength: float) -> Candidate:
        """The base model with a constant for a share of the people."""
        scores = np.array(base.scores[place], dtype=np.float64)
        uniforms = np.random.default_rng([self.seed, 22]).random(len(scores))
        constant = self._find_constant(base, place)
        one_of_two = scores.ndim == 1 and np.ndim(constant) > 0
        scores[uniforms < strength - 1] = constant[-1] if one_of_two else constant
        return Candidate(base=base, place=place, strength=strength, scores=scores)

    def _find_constant(self, base: CrossFitted, place: int) -> Any:
        """What is best to say where nothing is known: the shares of the classes, or the mean."""
        if not is_classifier(base.of_folds[place]):
            return float(np.mean(self.y))
        return np.array([(self.y == level).mean() for level in base.of_folds[place].classes_])

    def model_of(self, candidate: Candidate) -> Any:
        """The fitted model, from raw columns to answers."""
        base, place = candidate.base, candidate.place
        if not candidate.randomized:
            return base.train(place)
        if not candidate.levels:
            return PartlyConstant(
                base.train(place),
                share=candidate.strength - 1,
                constant=self._find_constant(base, place),
                ids=self.ids,
                random_state=self.seed,
            )
        everyone = np.arange(len(self.y))
        stage = self._fit(
            base, place, everyone, levels=candidate.levels, attributes=candidate.stage_sees
        )
        return stage.at_strength(candidate.strength)

    def _fit(
        self, base: CrossFitted, place: int, rows: Index, *, levels: int, attributes: bool
    ) -> DerivedPredictor:
        _, shrink = OF_CLASSES if is_classifier(base.of_folds[place]) else OF_NUMBERS
        stage = DerivedPredictor(
            base.of_folds[place],
            use_sensitive=attributes,
            levels=levels,
            shrink=shrink * len(rows) / len(self.y),  # a part of the rows is smoothed as all are
            error_share=1.0 if levels == 2 else 0.5,
            ids=self.ids,
            random_state=self.seed,
        )
        scores = base.scores[place][rows]
        return stage.fit(self.frame.iloc[rows], self.y[rows], self._take(rows), scores=scores)

    def _take(self, rows: Index) -> list[Column]:
        return [column.take(rows) for column in self.columns]


def search_strengths(
    at: Callable[[float], Candidate],
    reaches: Callable[[Candidate], bool],
    collapsed: Callable[[Candidate], bool],
) -> Iterator[Candidate]:
    """Candidates on the way to the smallest strength that reaches the goal, by halving.

    Dependence falls with strength, so the goal is reached from some strength on; and what has
    collapsed has so with more strength, too.
    """
    low, high = 0, len(STRENGTHS)  # the first strength that reaches it lies in [low, high]
    while low < high:
        middle = (low + high) // 2
        candidate = at(STRENGTHS[middle])
        yield candidate
        if reaches(candidate):
            high = middle
        elif collapsed(candidate):
            return
        else:
            low = middle + 1
