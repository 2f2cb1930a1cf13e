"""The search for a repair: learners, weights of equalized odds, and a randomized last stage.

Every candidate is judged by out-of-fold scores, so that all rows that are not audited serve to
train, to calibrate and to choose. Of every base model the smallest intervention is sought that
reaches the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.errors import InputError
from fairaudit.remedy.choice import dominated
from fairaudit.remedy.collapse import KEPT
from fairaudit.remedy.cross_fit import FOLDS, CrossFitted, cross_fit, deal_folds
from fairaudit.remedy.forgone import Forgone
from fairaudit.remedy.judge import Judge
from fairaudit.remedy.limit import Limit, find_coarse_groups, find_limit
from fairaudit.remedy.methods import METHODS, Method
from fairaudit.remedy.pass_chance import FEWEST_ROWS
from fairaudit.remedy.stages import Candidate, Shape, Stages, search_strengths
from fairaudit.remedy.trained import Trained
from fairaudit.remedy.training_job import Job

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit._types import Progress
    from fairaudit.models import Predictor

__all__ = ["FEWEST_OF_SEARCH", "learner_for", "search_models"]

FEWEST_OF_SEARCH = FOLDS * FEWEST_ROWS

#: Weights of equalized odds; 0 is plain training.
MUS = (0.0, 0.7, 0.95, 0.99)
_HOPEFUL = 0.1  # chance to pass from which on a constant for some people may be enough
_WITH_ATTRIBUTES = (0.0, 0.9)  # trees that know them chase the noise of groups


def learner_for(old: Predictor | None) -> Method:
    """Boosted trees with the learner of the old model as far as it has one."""
    from fairaudit.remedy.old_learner import learner_of

    known = None if old is None or old.model is None else learner_of(old)
    method: Method = METHODS.get("boosting")
    return method if known is None else replace(method, options=known.options())


@dataclass(slots=True)
class _Search:
    """Candidates with their records, in the order in which they were looked at."""

    job: Job
    judge: Judge
    stages: Stages
    candidates: dict[Any, Candidate] = field(default_factory=dict)
    records: dict[Any, dict[str, Any]] = field(default_factory=dict)

    def look(self, candidate: Candidate) -> dict[str, Any]:
        """The record of a candidate, which is measured once."""
        if candidate.key not in self.records:
            base = candidate.base
            model = base.of_folds[candidate.place]
            table = self.job.trained_table
            scores = table.of_larger_level(candidate.scores, model)
            whole = table.of_larger_level(candidate.whole, model)
            beside = candidate.beside
            if beside is not None:
                beside = table.of_larger_level(beside, model)
            self.candidates[candidate.key] = candidate
            self.records[candidate.key] = {
                "method": base.method.name,
                "mu": candidate.mu,
                "strength": candidate.strength,
                "levels": 0 if candidate.shape is None else candidate.shape.levels,
                "temperature": np.nan if candidate.shape is None else candidate.shape.temperature,
                "attributes": candidate.attributes,
                **self.judge.measure(
                    scores, left=candidate.error, whole=whole, kept=candidate.kept, beside=beside
                ),
            }
        return self.records[candidate.key]

    def reaches(self, candidate: Candidate) -> bool:
        return self.job.rule.reached(self.look(candidate))

    def follow(
        self, base: CrossFitted, place: int, *, attributes: bool, randomize: bool, best: float
    ) -> float:
        """Look at one base model and stages on it; the smallest loss that reaches the goal.

        A base model with a loss above the best known is left: a stage does not lower its loss.
        Trees that know the attributes get no stage: they are no better below one, and trained
        towards equalized odds their scores hide on these rows what they show on others.
        """
        start = self.stages.leave(base, place)
        record = self.look(start)
        best = self._better(record, best)
        if self.reaches(start) or not randomize or record["loss"] >= best:
            return best
        if record["chance"] >= _HOPEFUL and place > 0:  # plain training: the trivial mixture
            best = self._strengthen(lambda s: self.stages.dilute(base, place, s), best)
        if base.attributes:
            return best
        for shape in self.stages.shapes(base, place):

            def at(strength: float, shape: Shape = shape) -> Candidate:
                return self.stages.at(base, place, strength, shape=shape, attributes=attributes)

            best = self._strengthen(at, best)
        return best

    def _strengthen(self, at: Callable[[float], Candidate], best: float) -> float:
        """Look for the smallest strength; the smallest loss that reaches the goal."""
        for candidate in search_strengths(at, self.reaches, self._has_collapsed):
            best = self._better(self.look(candidate), best)
        return best

    def _has_collapsed(self, candidate: Candidate) -> bool:
        return self.look(candidate)["collapsed"] is not None

    def _better(self, record: Mapping[str, Any], best: float) -> float:
        """The smallest loss of models that reach the goal and have not collapsed."""
        usable = record["collapsed"] is None and self.job.rule.reached(record)
        return min(best, record["loss"]) if usable else best


def search_models(job: Job, old: Predictor | None, progress: Progress | None) -> Trained:
    """Cross-fit base models and stages, and choose the smallest loss that reaches the goal."""
    import pandas as pd

    report = progress or (lambda what, done, total: None)
    table = job.table
    stages = _stages_for(job)
    folds = stages.folds
    found = _Search(job, job.judge(job.parts["train"], folds), stages)
    learner = learner_for(old)
    steps = len(MUS) + len(_WITH_ATTRIBUTES) + 1
    report("search", 0, steps)
    plain = cross_fit(job, learner, list(MUS), folds, attributes=False)
    bases = [plain]
    if job.use_sensitive:
        bases.append(cross_fit(job, learner, list(_WITH_ATTRIBUTES), folds, attributes=True))
    best, done = float("inf"), 0
    # the first is what others are compared with
    found.look(stages.leave(plain, 0))
    for base in bases:
        for place in reversed(range(len(base.values))):
            best = found.follow(
                base, place, attributes=job.use_sensitive, randomize=job.randomize, best=best
            )
            done += 1
            report("search", done, steps)
    allowed = len(found.records)
    scores = table.of_larger_level(plain.scores[0], plain.of_folds[0])
    mixture = found.judge.mixture(scores, seed=stages.seed)
    forgone = _price_what_is_not_allowed(found, learner, plain, folds, mixture)
    curve = pd.DataFrame(list(found.records.values())[:allowed]).assign(p_train=np.nan)
    curve["dominated"] = dominated(curve, mixture, job.rule)
    choice = job.rule.choose(curve)
    chosen = list(found.candidates.values())[choice.place]
    report("search", steps, steps)
    return Trained(
        curve=curve,
        mixture=mixture,
        choice=choice,
        method=learner,
        value=chosen.mu,
        model=stages.model_of(chosen),
        plain=plain.train(0),
        features=chosen.base.features,
        forgone=forgone,
        limit=None if choice.fates is None else _find_limit(found, bases, chosen, curve),
        notes=chosen.base.notes,
    )


def _find_limit(
    found: _Search, bases: list[CrossFitted], nearest: Candidate, curve: pd.DataFrame
) -> Limit | None:
    """What no answer derived from these scores can do; of two classes and a goal to pass."""
    job, table = found.job, found.job.trained_table
    two = table.outcome.kind.is_categorical and len(table.outcome.levels) == 2
    if job.rule.goal.limits or not two:
        return None
    train = job.parts["train"]
    parts = table.outcome.codes[train]
    plain = float(curve["ranking"][0])
    limit = find_limit(
        [
            table.of_larger_level(score, model)
            for base in bases
            for score, model in zip(base.scores, base.of_folds, strict=True)
        ],
        find_coarse_groups([column.take(train) for column in table.attributes], parts),
        parts,
        attributes=job.use_sensitive,
        kept=0.5 + KEPT * (plain - 0.5),
        rows=job.coming_rows,
        chance=job.rule.chance,
        alpha=job.plan.alpha,
    )
    whole = table.of_larger_level(nearest.whole, nearest.base.of_folds[nearest.place])
    passes = found.judge.find_largest_audit(
        whole, job.rule.chance, left=nearest.error, kept=nearest.kept
    )
    return replace(limit, passes=passes)


def _stages_for(job: Job) -> Stages:
    """Last stages on the training rows, which are dealt into folds by person."""
    train, table, seed = job.parts["train"], job.table, job.plan.permutations.seed
    units = np.arange(len(train))
    if table.ids is not None:
        units = np.unique(table.ids.codes[train], return_inverse=True)[1]
    classes = table.outcome.kind.is_categorical
    folds = deal_folds(table.outcome.codes[train], units, seed, classes=classes)
    if np.bincount(folds).min() < FEWEST_ROWS:
        raise InputError(
            f"{len(train)} rows to train and choose on are too few for a search, which needs "
            f"about {FEWEST_OF_SEARCH}. Pass more rows or another 'split', or one method with a "
            "fixed 'mu'.",
            argument=("split", "mu"),
        )
    return Stages(
        frame=table.frame.iloc[train],
        y=table.target[train],
        columns=[column.take(train) for column in table.attributes],
        folds=folds,
        units=units,
        ids=table.roles.ids,
        seed=seed,
    )


def _price_what_is_not_allowed(
    found: _Search, learner: Method, plain: CrossFitted, folds: Any, mixture: pd.DataFrame
) -> tuple[Forgone, ...]:
    """The smallest loss that would reach the goal with one more permission."""
    job, forgone = found.job, []
    if not job.use_sensitive:
        known = cross_fit(job, learner, list(_WITH_ATTRIBUTES), folds, attributes=True)
        looks = [(known, 1), (known, 0), (plain, 0)]
        loss = _find_best(found, looks, mixture, attributes=True, randomize=job.randomize)
        forgone.append(Forgone(what="attributes", loss=loss))
    if not job.randomize:
        looks = [(plain, place) for place in (len(plain.values) - 1, len(plain.values) // 2, 0)]
        loss = _find_best(found, looks, mixture, attributes=job.use_sensitive, randomize=True)
        forgone.append(Forgone(what="randomization", loss=loss))
    return tuple(forgone)


def _find_best(
    found: _Search,
    looks: list[tuple[CrossFitted, int]],
    mixture: pd.DataFrame,
    *,
    attributes: bool,
    randomize: bool,
) -> float | None:
    """The smallest loss of further models that reach the goal and are worth having."""
    import pandas as pd

    known, best = len(found.records), float("inf")
    for base, place in looks:
        best = found.follow(base, place, attributes=attributes, randomize=randomize, best=best)
    first, *others = found.records.values()
    curve = pd.DataFrame([first, *others[known - 1 :]])
    beaten = dominated(curve, mixture, found.job.rule)
    losses = [
        record["loss"]
        for record, worse in zip(curve.to_dict("records"), beaten, strict=True)
        if record["collapsed"] is None and not worse and found.job.rule.reached(record)
    ]
    return min(losses, default=None)
