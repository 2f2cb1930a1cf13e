"""Randomized last stages on top of cross-fitted models, and how strong they must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from fairaudit._types import Array, Index
from fairaudit.remedy.cross_fit import CrossFitted
from fairaudit.remedy.derived import OF_CLASSES, OF_NUMBERS, DerivedPredictor
from fairaudit.remedy.partly_constant import PartlyConstant
from fairaudit.remedy.stage_error import draw_people, find_stage_error, split_outcome

if TYPE_CHECKING:
    from fairaudit.data.columns import Column

__all__ = [
    "SHAPES",
    "SHAPES_OF_NUMBERS",
    "STRENGTHS",
    "Candidate",
    "Shape",
    "Stages",
    "search_strengths",
]

#: Of the last stage: 1 corrects in full, beyond it answers are mixed with one law for everybody.
STRENGTHS = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5)


class Shape(NamedTuple):
    """How many different scores a stage gives, and how soft their probabilities are."""

    levels: int
    temperature: float


#: Fewer scores lose more of the ranking, and leave less to be found: two are labels, thresholds of
#: each group, drawn where that is needed. Soft ones leave less of what rows show by chance.
SHAPES = (Shape(2, 0.003), Shape(4, 0.003), Shape(8, 0.03))
SHAPES_OF_NUMBERS = (Shape(8, 0.003), Shape(4, 0.003))


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
    shape : Shape or None
        Of the stage. Without one there are as many scores as the base model has, and beyond a
        strength of 1 a share of the people gets a constant.
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
    beside : array or None
        The same of the first shape, where that is another one.
    """

    base: CrossFitted
    place: int
    strength: float = 0.0
    shape: Shape | None = None
    stage_sees: bool = False
    error: float | None = None
    scores: Array = field(repr=False)
    whole: Array = field(repr=False)
    beside: Array | None = field(default=None, repr=False)

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
        return own if self.shape is None else own**2

    @property
    def attributes(self) -> bool:
        """Whether the sensitive attributes must be known when it predicts."""
        return self.stage_sees or self.base.attributes

    @property
    def key(self) -> tuple[int, int, float, Shape | None, bool]:
        """What tells it from others of one search."""
        return id(self.base), self.place, self.strength, self.shape, self.stage_sees


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
        self, base: CrossFitted, place: int, strength: float, *, shape: Shape, attributes: bool
    ) -> Candidate:
        """The base model with a stage of this strength, on rows that the stage has not seen."""
        stages = self._fit_folds(base, place, shape, attributes=attributes)
        first = self.shapes(base, place)[0]
        beside = None
        if shape != first:
            others = self._fit_folds(base, place, first, attributes=attributes)
            beside = self._draw(others, base.scores[place], min(strength, 1.0))
        return Candidate(
            base=base,
            place=place,
            strength=strength,
            shape=shape,
            stage_sees=attributes,
            error=self._find_error(base, place, shape) if attributes and place == 0 else None,
            scores=self._draw(stages, base.scores[place], strength),
            whole=self._draw(stages, base.scores[place], min(strength, 1.0)),
            beside=beside,
        )

    def shapes(self, base: CrossFitted, place: int) -> tuple[Shape, ...]:
        """Those that are tried on a base model: all on plain training, else the first."""
        several = SHAPES if is_classifier(base.of_folds[place]) else SHAPES_OF_NUMBERS
        return several if place == 0 else several[:1]

    def _fit_folds(
        self, base: CrossFitted, place: int, shape: Shape, *, attributes: bool
    ) -> list[DerivedPredictor]:
        """One stage per fold, which has not seen it."""
        key = (id(base), place, shape, attributes)
        if key not in self._fitted:
            outside = (
                np.flatnonzero(self.folds != fold) for fold in range(int(self.folds.max()) + 1)
            )
            self._fitted[key] = [
                self._fit(base, place, rows, shape=shape, attributes=attributes) for rows in outside
            ]
        return self._fitted[key]

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

    def _find_error(self, base: CrossFitted, place: int, shape: Shape) -> float:
        """What a stage leaves because it is fitted to these rows and not to everybody.

        That of the fewest levels, which leaves the most, stands for all that are as soft: every
        estimate has its own luck, and a search would take the luckiest.
        """
        classes = is_classifier(base.of_folds[place])
        several = self.shapes(base, place)
        alike = [other for other in several if other.temperature == shape.temperature]
        fewest = min([shape, *alike])
        key = (id(base), place, fewest)
        if key not in self._errors:
            whole = self._fit_all(base, place, shape=fewest, attributes=True)
            psi, values = whole.basis_(self.columns), whole.answers_.values
            parts = np.unique(self.y, return_inverse=True)[1] if classes else split_outcome(self.y)
            known = whole.read_scores(base.scores[place], len(self.y))
            chances = []
            for rows in draw_people(self.units, psi.shape[1], self.seed):
                drawn = self._fit(base, place, rows, shape=fewest, attributes=True)
                chances.append(drawn.find_level_chances(known, self.columns))
            expected = whole.find_level_chances(known, self.columns)
            self._errors[key] = find_stage_error(expected, chances, values, psi, parts)
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
        if candidate.shape is None:
            return PartlyConstant(
                base.train(place),
                share=candidate.strength - 1,
                constant=self._find_constant(base, place),
                ids=self.ids,
                random_state=self.seed,
            )
        stage = self._fit_all(base, place, shape=candidate.shape, attributes=candidate.stage_sees)
        return stage.at_strength(candidate.strength)

    def _fit_all(
        self, base: CrossFitted, place: int, *, shape: Shape, attributes: bool
    ) -> DerivedPredictor:
        """The stage of all rows."""
        everyone = np.arange(len(self.y))
        return self._fit(base, place, everyone, shape=shape, attributes=attributes)

    def _fit(
        self, base: CrossFitted, place: int, rows: Index, *, shape: Shape, attributes: bool
    ) -> DerivedPredictor:
        _, shrink = OF_CLASSES if is_classifier(base.of_folds[place]) else OF_NUMBERS
        stage = DerivedPredictor(
            base.of_folds[place],
            use_sensitive=attributes,
            levels=shape.levels,
            temperature=shape.temperature,
            shrink=shrink * len(rows) / len(self.y),  # a part of the rows is smoothed as all are
            error_share=1.0 if shape.levels == 2 else 0.5,
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
