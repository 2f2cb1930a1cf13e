"""A direction learned on earlier batches: what they showed, looked for in the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, level_text
from fairaudit.data.table import AuditTable
from fairaudit.permute.copies import gathered
from fairaudit.testing.given_outcome import look_at_outcome

__all__ = ["Frame", "Layout", "all_alike", "bets"]

# What is learned must stay small, whatever the table: a state is read and written with every batch.
MOST_LEVELS = 40  # of a column, the most frequent ones
MOST_RESIDUALS = 40  # columns of the prediction times classes of the outcome
MOST_FEATURES = 100  # of the attributes, up to which products of two are among them
MOST_PRODUCTS = 600
_FARTHEST = 4.0  # standard deviations; a lone outlier must not rule the direction
#: Share of the mean variance that is added to every direction before it is inverted.
_RIDGE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the products of a frame stand for: parts × columns × features.

    Attributes
    ----------
    parts : int
        Classes of the outcome; or 1 and its size; or all together.
    classes : bool
        Whether the parts are classes.
    columns : int
        Of the prediction.
    features : int
        Of the attributes.
    main : int
        How many of the features, the first, are an attribute alone.
    """

    parts: int
    classes: bool
    columns: int
    features: int
    main: int


class Frame:
    """Scales and levels of the first batch, in which all batches are described.

    Parameters
    ----------
    scales : mapping
        As `Frame.of` makes them; plain values, ready for JSON.
    """

    def __init__(self, scales: Mapping[str, Any]) -> None:
        self.scales = dict(scales)

    @classmethod
    def of(cls, table: AuditTable) -> Frame:
        """The frame of a first batch."""
        outcome = table.require_outcome()
        return cls(
            {
                "prediction": [
                    _scale(column, table.prediction.form == "labels")
                    for column in table.prediction.columns
                ],
                "outcome": _scale(outcome, outcome.kind.is_categorical),
                "attributes": [
                    _scale(column, column.kind.is_categorical) for column in table.attributes
                ],
            }
        )

    def layouts(self) -> list[Layout]:
        """Of every array that `products` gives."""
        columns = sum(map(_count_columns, self.scales["prediction"]))
        known = self.scales["outcome"]["levels"]
        classes = known is not None and len(known) * columns <= MOST_RESIDUALS
        parts = len(known) if classes else 1 if known is not None else 2
        alone = [_count_columns(scale) for scale in self.scales["attributes"]]
        more = sum(scale["levels"] is None for scale in self.scales["attributes"])
        both = sum(a * b for a, b in combinations(alone, 2))
        main = sum(alone)
        features = main + more + (both if main + more + both <= MOST_FEATURES else 0)
        features = min(features, max(1, MOST_PRODUCTS // (parts * columns)))
        layout = Layout(
            parts=parts,
            classes=classes,
            columns=columns,
            features=features,
            main=min(main, features),
        )
        return [layout] * (2 if self._has_scores() else 1)

    def _has_scores(self) -> bool:
        return all(scale["levels"] is None for scale in self.scales["prediction"])

    def products(self, table: AuditTable, copies: Index) -> list[Array]:
        """What the prediction has beyond the outcome, times the attributes; one row per copy.

        Of scores a second array tells the same of their squares: groups may differ in spread.
        """
        right = self._attributes(table)
        arrays = []
        for left in self._residuals(table):
            some = right[:, : max(1, MOST_PRODUCTS // left.shape[1])]
            moved = gathered(copies, left).transpose(0, 2, 1)
            products = np.matmul(moved.transpose(0, 2, 1), some)
            arrays.append(np.asarray(products.reshape(len(copies), -1)))
        return arrays

    def _residuals(self, table: AuditTable) -> list[Array]:
        """The residual prediction, apart for every class (or against the size) of the outcome."""
        columns = zip(table.prediction.columns, self.scales["prediction"], strict=True)
        u = np.hstack([_describe_column(column, scale) for column, scale in columns])
        scores = self._has_scores()
        outcome, scale = table.require_outcome(), self.scales["outcome"]
        known = scale["levels"]
        if known is None:
            parts = np.hstack([np.ones((len(table), 1)), _describe_column(outcome, scale)])
        elif len(known) * u.shape[1] <= MOST_RESIDUALS:
            parts = _one_hot(outcome, known)
        else:
            parts = np.ones((len(table), 1))
        residuals = [look_at_outcome(outcome).remove(x) for x in ([u, u**2] if scores else [u])]
        return [np.hstack([residual * part[:, None] for part in parts.T]) for residual in residuals]

    def _attributes(self, table: AuditTable) -> Array:
        """Each attribute alone, squares of numbers, and products of two."""
        pairs = zip(table.attributes, self.scales["attributes"], strict=True)
        alone = [_describe_column(column, scale) for column, scale in pairs]
        squares = [
            x**2 - 1
            for x, s in zip(alone, self.scales["attributes"], strict=True)
            if s["levels"] is None
        ]
        both = [
            (a[:, :, None] * b[:, None, :]).reshape(len(a), -1) for a, b in combinations(alone, 2)
        ]
        features = [*alone, *squares]
        if sum(x.shape[1] for x in (*features, *both)) <= MOST_FEATURES:
            features += both
        return np.hstack(features)


def bets(learned: Array, products: Array) -> Array:
    """The products of data and copies along what was learned, most telling directions first.

    `products` has the data in its first row; the covariance is that of all rows, so that data and
    copies are treated alike.
    """
    centered = products - products.mean(axis=0)
    covariance = centered.T @ centered / len(centered)
    if all_alike(products):
        return np.zeros(len(products))
    size = np.trace(covariance) / len(covariance)
    covariance[np.diag_indices_from(covariance)] += _RIDGE * size
    return np.asarray(centered @ np.linalg.solve(covariance, learned))


def all_alike(products: Array) -> bool:
    """Whether data and copies have the same products, up to rounding."""
    return bool((np.ptp(products, axis=0) <= 1e-9 * max(1.0, np.abs(products).max())).all())


def _scale(column: Column, categorical: bool) -> dict[str, Any]:
    if categorical or column.numeric is None:
        counts = np.bincount(column.codes, minlength=len(column.levels))
        frequent = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])
        levels = [level_text(level) for level in column.levels[frequent]]
        return {"levels": levels, "mean": None, "spread": None}
    mean, spread = float(column.numeric.mean()), float(column.numeric.std())
    return {"levels": None, "mean": mean, "spread": spread or 1.0}


def _count_columns(scale: Mapping[str, Any]) -> int:
    levels = scale["levels"]
    return 1 if levels is None or len(levels) == 2 else len(levels)


def _describe_column(column: Column, scale: Mapping[str, Any]) -> Array:
    levels = scale["levels"]
    if levels is not None:  # of two levels one says all
        return _one_hot(column, levels[1:] if len(levels) == 2 else levels)
    z = (np.asarray(column.numeric) - scale["mean"]) / scale["spread"]
    return np.clip(z, -_FARTHEST, _FARTHEST)[:, None]


def _one_hot(column: Column, levels: list[str]) -> Array:
    """One column per level; a level that is not among them is 0 everywhere."""
    place = {level: k for k, level in enumerate(levels)}
    codes = np.array([place.get(level_text(level), -1) for level in column.levels])[column.codes]
    return (codes[:, None] == np.arange(len(levels))).astype(np.float64)
