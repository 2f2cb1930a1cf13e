"""What models say about rows that they were not trained on, for every row: cross-fitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.remedy.methods import Method
from fairaudit.remedy.model_path import train_path
from fairaudit.remedy.one_of_models import OneOfModels
from fairaudit.remedy.tradeoff import rows_of, scores_of
from fairaudit.remedy.training_job import Job, as_pipeline, select_features

__all__ = ["FOLDS", "CrossFitted", "cross_fit", "deal_folds"]

_MANY = 10_000  # rows from which on three folds are enough
FOLDS, FOLDS_OF_MANY = 4, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossFitted:
    """The models of one method, and their out-of-fold scores on the training rows.

    Attributes
    ----------
    method : Method
    values : list of float
        Of the method's parameter.
    train : callable
        Place of a value → the pipeline from the raw columns, trained on all rows.
    of_folds : list
        The same with the models of the folds, each of which a share of the people meets: new rows
        get scores of the law that `scores` have.
    scores : list of array
        What a model of the same kind, trained without the fold of a row, says about the row, in
        the model's own order of classes.
    features : list of str
    attributes : bool
        Whether the sensitive attributes are among the features.
    notes : tuple of str
    """

    method: Method
    values: list[float]
    train: Callable[[int], Any]
    of_folds: list[Any]
    scores: list[Array]
    features: list[str]
    attributes: bool
    notes: tuple[str, ...]


def deal_folds(outcome: Index, units: Index, seed: int, *, classes: bool) -> Index:
    """The fold of every row: rows of one person together, classes spread evenly."""
    rng = np.random.default_rng([seed, 21])
    folds = FOLDS if len(outcome) < _MANY else FOLDS_OF_MANY
    people = int(units.max()) + 1
    first = np.zeros(people, dtype=np.intp)
    first[units[::-1]] = np.arange(len(units))[::-1]
    order = rng.permutation(people)
    if classes:
        order = order[np.argsort(outcome[first[order]], kind="stable")]
    of_person = np.empty(people, dtype=np.intp)
    of_person[order] = np.arange(people) % folds
    return np.asarray(of_person[units])


def cross_fit(
    job: Job, method: Method, values: list[float], folds: Index, *, attributes: bool
) -> CrossFitted:
    """Train every value on the rows outside of each fold, and on all when that is asked for."""
    table, train = job.table, job.parts["train"]
    features, encoder, notes = select_features(
        table, train, method=method, old=None, drop=job.drop, use_sensitive=attributes
    )
    raw = table.frame.iloc[train][features]
    X, y = encoder.fit_transform(raw), table.target[train]
    people = [column.take(train) for column in table.attributes]
    classes = table.outcome.kind.is_categorical

    def models_of(rows: Index, some: list[float]) -> list[Any]:
        return train_path(
            method,
            some,
            X=rows_of(X, rows),
            y=y[rows],
            attributes=[column.take(rows) for column in people],
            training=job.training,
            classes=classes,
        ).models

    scores: list[Any] = [None] * len(values)
    members: list[list[Any]] = [[] for _ in values]
    for fold in range(int(folds.max()) + 1):
        inside = np.flatnonzero(folds == fold)
        for k, model in enumerate(models_of(np.flatnonzero(folds != fold), values)):
            members[k].append(model)
            told = scores_of(model, rows_of(X, inside))
            if scores[k] is None:
                scores[k] = np.empty((len(train), *told.shape[1:]))
            scores[k][inside] = told

    @cache
    def train_whole(place: int) -> Any:
        (model,) = models_of(np.arange(len(train)), [values[place]])
        return as_pipeline(encoder, model)

    return CrossFitted(
        method=method,
        values=values,
        train=train_whole,
        of_folds=[
            OneOfModels(
                [as_pipeline(encoder, model) for model in some],
                ids=table.roles.ids,
                random_state=job.plan.permutations.seed,
            )
            for some in members
        ],
        scores=scores,
        features=features,
        attributes=attributes,
        notes=notes,
    )
