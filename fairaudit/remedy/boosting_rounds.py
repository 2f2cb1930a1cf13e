"""Rounds of boosting by any objective: LightGBM and XGBoost behind one door."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairaudit._types import Array
from fairaudit.errors import InputError, MissingDependencyError

__all__ = ["LEARNERS", "Rounds", "Tables", "raw_scores", "tables_for"]

LEARNERS = ("lightgbm", "xgboost")

#: Scores (rows × outputs) → their gradients and second derivatives, of the same shape.
Objective = Callable[[Array], tuple[Array, Array]]


class Rounds(Protocol):
    """A booster that grows by one round at a time."""

    def advance(self, objective: Objective) -> bool:
        """Add one round (a tree per output); False if there was nothing left to split."""

    def held_scores(self) -> Array:
        """Scores of the held-out rows so far."""

    def kept(self, rounds: int) -> Any:
        """The booster of the first rounds, without its data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Binned rows for training and the held-out ones: shared by all models of a path.

    Attributes
    ----------
    learner : {"lightgbm", "xgboost"}
    train, held : Dataset or DMatrix; `held` may be None
    params : dict
        Of the learner, complete.
    base : array
        Score that all rows begin with, one per output.
    """

    learner: str
    train: Any
    held: Any
    params: dict[str, Any]
    base: Array

    def start(self) -> Rounds:
        """A booster without trees."""
        with _own_errors(self.learner):
            return (_LightGBM if self.learner == "lightgbm" else _XGBoost)(self)


def tables_for(
    learner: str, train: Any, held: Any, *, base: Array, params: Mapping[str, Any]
) -> Tables:
    """The rows as the learner wants them; `held` is None or as `train`."""
    if learner not in LEARNERS:
        raise InputError(
            f"'learner' must be one of {', '.join(LEARNERS)}. Got {learner!r}.", argument="learner"
        )
    package = _package(learner)
    outputs = len(base)
    settings = dict(params) | ({"num_class": outputs} if outputs > 1 else {})
    if learner == "lightgbm":
        settings |= {"objective": "none", "verbosity": -1}
        data = _dataset(package, train, base, settings)
        aside = None if held is None else _dataset(package, held, base, settings, reference=data)
    else:
        settings |= {"base_score": 0.0, "disable_default_eval_metric": True, "verbosity": 0}
        data, aside = (
            None if rows is None else _matrix(package, rows, base) for rows in (train, held)
        )
    return Tables(learner=learner, train=data, held=aside, params=settings, base=base)


def raw_scores(learner: str, booster: Any, X: Any) -> Array:
    """What the trees add to the scores of new rows, rows × outputs."""
    package = _package(learner)
    if learner == "lightgbm":
        found = booster.predict(X, raw_score=True)
    else:
        found = booster.predict(package.DMatrix(X, enable_categorical=True), output_margin=True)
    return np.asarray(found, dtype=np.float64).reshape(len(X), -1)


@contextmanager
def _own_errors(learner: str) -> Iterator[None]:
    """What a learner says about its parameters or rows, in one line."""
    package = _package(learner)
    kind = package.basic.LightGBMError if learner == "lightgbm" else package.core.XGBoostError
    try:
        yield
    except kind as error:
        said = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in said if not line.startswith("[")), said[0])
        raise InputError(
            f"{learner} refuses these rows or 'params': {reason.partition(' at /')[0]}",
            argument="params",
        ) from None


def _package(learner: str) -> Any:
    from importlib import import_module

    try:
        return import_module(learner)
    except ImportError:
        raise MissingDependencyError(
            f"Boosting by {learner} needs that package. Install the extra 'boost', or {learner}."
        ) from None


def _dataset(
    package: Any, X: Any, base: Array, settings: dict[str, Any], reference: Any = None
) -> Any:
    start = np.repeat(base, len(X))  # output after output
    return package.Dataset(X, init_score=start, reference=reference, params=settings)


def _matrix(package: Any, X: Any, base: Array) -> Any:
    start = np.tile(base, (len(X), 1))
    return package.DMatrix(
        X, base_margin=start if len(base) > 1 else start[:, 0], enable_categorical=True
    )


class _LightGBM:
    def __init__(self, tables: Tables) -> None:
        package = _package("lightgbm")
        self.tables = tables
        self.booster = package.Booster(params=dict(tables.params), train_set=tables.train)
        if tables.held is not None:
            self.booster.add_valid(tables.held, "held")

    def advance(self, objective: Objective) -> bool:
        outputs = len(self.tables.base)

        def flat(scores: Array, _: Any) -> tuple[Array, Array]:
            gradient, hessian = objective(_columns(scores, outputs))
            shape = scores.shape
            return gradient.reshape(shape), hessian.reshape(shape)

        with _own_errors("lightgbm"):
            return not self.booster.update(fobj=flat)

    def held_scores(self) -> Array:
        seen: list[Array] = []

        def look(scores: Array, _: Any) -> tuple[str, float, bool]:
            seen.append(_columns(scores, len(self.tables.base)))
            return "seen", 0.0, False

        self.booster.eval_valid(look)
        return seen[0]

    def kept(self, rounds: int) -> Any:
        package = _package("lightgbm")
        return package.Booster(model_str=self.booster.model_to_string(num_iteration=rounds))


class _XGBoost:
    def __init__(self, tables: Tables) -> None:
        package = _package("xgboost")
        self.tables = tables
        known = [tables.train, *([] if tables.held is None else [tables.held])]
        self.booster = package.Booster(dict(tables.params), known)
        self.done = 0

    def advance(self, objective: Objective) -> bool:
        outputs = len(self.tables.base)
        scores = self.booster.predict(self.tables.train, output_margin=True, training=True)
        gradient, hessian = objective(_columns(scores, outputs))
        if outputs == 1:
            gradient, hessian = gradient[:, 0], hessian[:, 0]
        with _own_errors("xgboost"):
            self.booster.boost(self.tables.train, self.done, grad=gradient, hess=hessian)
        self.done += 1
        return True

    def held_scores(self) -> Array:
        scores = self.booster.predict(self.tables.held, output_margin=True)
        return _columns(scores, len(self.tables.base))

    def kept(self, rounds: int) -> Any:
        return self.booster[:rounds]


def _columns(scores: Array, outputs: int) -> Array:
    """Rows × outputs, from whatever shape the learner has."""
    values = np.asarray(scores, dtype=np.float64)
    return values.reshape(-1, 1) if outputs == 1 else values.reshape(-1, outputs)
