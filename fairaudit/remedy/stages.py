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
#: What new rows show of a stage, in what halves bring back: 1 where scores are a fixed function of
#: the row, but models of folds come from the same rows, which halves share. Measured on splits 101
#: to 115 of COMPAS: 0.7 against 0.54.
_SEEN = 1.3


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
        What the stage leaves at full strength, where that is known (`find_stage_error`): variance
        of the dependence, in that of the noise of as many rows. Trees that were trained towards
        equalized odds leave more or less, by their features, and folds have to tell.
    scores : array
        On the training rows, out of fold.
    whole : array
        The same before answers were mixed with what depends on nothing: of the base model, or of
        the stage at full strength. Evidence from these serves all strengths, so that the chance
        to pass rises with them and the luckiest draw is not taken.
    """

    base: CrossFitted
    place: int
    strength: float = 0.0
    levels: int = 0
    stage_sees: bool = False
    error: float | None = None
    scores: Array = field(repr=False)
    whole: Array = field(repr=False)

    @property
    def mu(self) -> float:
        return self.base.values[self.place]

    @property
    def randomized(self) -> bool:
        return self.strength > 0

    @property
    def kept(self) -> float:
        """What is left of the variance of the dependence in `whole`, in that of the noise.

        For an audit, people with a constant are as good as absent. Answers of mere chance are
        there, with as much noise as others.
        """
        own = 1.0 - max(self.strength - 1.0, 0.0)
        return own**2 if self.levels else own

    @property
    def attributes(self) -> bool:
        """Whether the sensitive attributes must be known when it predicts."""
        return self.stage_sees or self.base.attributes

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
        return Candidate(
            base=base,
            place=place,
            strength=strength,
            levels=levels,
            stage_sees=attributes,
            error=self._find_error(base, place) if attributes and place == 0 else None,
            scores=self._draw(self._fitted[key], base.scores[place], strength),
            whole=self._draw(self._fitted[key], base.scores[place], min(strength, 1.0)),
        )

    def _draw(self, stages: list[DerivedPredictor], told: Array, strength: float) -> Array:
        """Answers for scores, each row by the stage that has not seen it."""
        scores = np.array(told, dtype=np.float64)
        uniforms = np.random.default_rng([self.seed, 22]).random((len(scores), 3))
        for fold, stage in enumerate(stages):
            rows = np.flatnonzero(self.folds == fold)
            answers = stage.at_strength(strength).draw_answers(
                scores[rows], self._take(rows), uniforms[rows]
            )
            scores[rows] = answers if scores.ndim > 1 else answers[:, -1]
        return scores

    def _find_error(self, base: CrossFitted, place: int) -> float:
        """What a stage leaves because it is fitted to these rows and not to everybody.

        That of the fewest levels, which leaves the most, stands for all: every estimate has its
        own luck, and a search would take the luckiest.
        """
        key = (id(base), place)
        if key not in self._errors:
            classes = is_classifier(base.of_folds[place])
            levels = min(LEVELS if classes else LEVELS_OF_NUMBERS)
            whole = self._fit_all(base, place, levels=levels, attributes=True)
            psi, values = whole.basis_(self.columns), whole.answers_.values
            parts = np.unique(self.y, return_inverse=True)[1] if classes else split_outcome(self.y)
            known = whole.read_scores(base.scores[place], len(self.y))
            chances = []
            for rows in deal_halves(self.units, psi.shape[1], self.seed):
                half = self._fit(base, place, rows, levels=levels, attributes=True)
                chances.append(half.find_level_chances(known, self.columns))
            expected = whole.find_level_chances(known, self.columns)
            error = find_stage_error(expected, chances, values, psi, parts)
            self._errors[key] = _SEEN * error
        return self._errors[key]

    def dilute(self, base: CrossFitted, place: int, strength: float) -> Candidate:
        """The base model with a constant for a share of the people."""
        scores = np.array(base.scores[place], dtype=np.float64)
        uniforms = np.random.default_rng([self.seed, 22]).random(len(scores))
        constant = self._find_constant(base, place)
        one_of_two = scores.ndim == 1 and np.ndim(constant) > 0
        scores[uniforms < strength - 1] = constant[-1] if one_of_two else constant
        whole = base.scores[place]
        return Candidate(base=base, place=place, strength=strength, scores=scores, whole=whole)

    def leave(self, base: CrossFitted, place: int) -> Candidate:
        """The base model as it is."""
        scores = base.scores[place]
        return Candidate(base=base, place=place, scores=scores, whole=scores)

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
        stage = self._fit_all(base, place, levels=candidate.levels, attributes=candidate.stage_sees)
        return stage.at_strength(candidate.strength)

    def _fit_all(
        self, base: CrossFitted, place: int, *, levels: int, attributes: bool
    ) -> DerivedPredictor:
        """The stage of all rows."""
        everyone = np.arange(len(self.y))
        return self._fit(base, place, everyone, levels=levels, attributes=attributes)

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
