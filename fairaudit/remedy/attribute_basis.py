"""Functions of the sensitive attributes that a last stage works with, at any later rows.

Categories are crossed into groups; small groups are joined. Numbers are seen through the normal
scores of their ranks and a few cosines of them, and through steps, alone and within groups: an
audit looks for subgroups too, and dependence sits often at the ends, where curves are too smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, columns_from
from fairaudit.errors import InputError

__all__ = ["AttributeBasis"]

_CURVES = 4  # of each number
_FEWEST = 20  # rows of each class (or of all) in a group of its own
_MOST_KNOWN = 2_000  # quantiles kept of a number
_MANY = 10_000  # rows from which on all curves are looked at within groups
_ENDS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
_STEPS = (*_ENDS, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99)  # of a number's ranks
_ROWS_OF_STEP = 60


class AttributeBasis(BaseEstimator):
    """Groups and smooth functions of attributes, learned on some rows.

    Parameters
    ----------
    fewest : int
        Rows of each class in a group of its own; smaller ones are joined.

    Attributes
    ----------
    groups : int
        Crossed categories, the joined ones as the last.
    smooth : bool
        Whether there are numbers among the attributes.
    """

    def __init__(self, fewest: int = _FEWEST) -> None:
        self.fewest = fewest

    def fit(self, columns: Sequence[Column], parts: Index) -> AttributeBasis:
        """Learn from rows; `parts` are their classes, zeros without classes."""
        self.kinds = {column.name: str(column.kind) for column in columns}
        texts = _find_texts([column for column in columns if column.kind.is_categorical])
        numbers = [column for column in columns if not column.kind.is_categorical]
        self.names = [column.name for column in numbers]
        self.smooth = bool(numbers)
        keys = texts or [""] * len(parts)
        levels, codes = np.unique(np.asarray(keys, dtype=object).astype(str), return_inverse=True)
        counts = np.zeros((len(levels), int(parts.max()) + 1))
        np.add.at(counts, (codes, parts), 1)
        large = counts.min(axis=1) >= self.fewest
        self.places = {str(level): k for k, level in enumerate(levels[large].tolist())}
        self.groups = len(self.places) + int(not large.all())
        self.known = {}
        for column in numbers:
            values = np.sort(np.asarray(column.numeric))
            if len(values) > _MOST_KNOWN:
                values = np.quantile(values, np.linspace(0, 1, _MOST_KNOWN))
            self.known[column.name] = values
        self.inner = 2 if len(parts) < _MANY else _CURVES
        members = self.find_groups(columns)
        self.steps = {
            column.name: self._find_steps_within(np.asarray(column.numeric), members)
            for column in numbers
        }
        return self

    def read(self, sensitive: Any) -> tuple[Column, ...]:
        """Columns of other rows, of the kinds that were there in fit."""
        columns = columns_from(sensitive, argument="sensitive_features", kinds=None)
        found = {column.name for column in columns}
        absent = [name for name in self.kinds if name not in found]
        if absent:
            raise InputError(
                f"The sensitive column {absent[0]!r} is missing; the model was fitted with it.",
                argument="sensitive_features",
            )
        values = {column.name: column.levels[column.codes] for column in columns}
        kept = {name: values[name] for name in self.kinds}
        # of two rows a category may look binary: only what is a number matters here
        kinds = {
            name: "categorical" if kind in ("binary", "categorical") else kind
            for name, kind in self.kinds.items()
        }
        return columns_from(kept, argument="sensitive_features", kinds=kinds)

    def find_groups(self, columns: Sequence[Column]) -> Index:
        """The group of every row; levels that were never seen are among the joined."""
        texts = _find_texts([column for column in columns if column.kind.is_categorical])
        if not texts:
            return np.zeros(len(columns[0]), dtype=np.intp)
        other = len(self.places) if self.groups > len(self.places) else 0
        return np.array([self.places.get(text, other) for text in texts], dtype=np.intp)

    def __call__(self, columns: Sequence[Column]) -> Array:
        """The functions (columns) of rows: groups, curves of numbers, and both multiplied."""
        members = self.find_groups(columns)
        groups = np.eye(self.groups)[members]
        curves = self._draw_curves(columns)
        if not curves:
            return groups
        inner = self.inner
        first = np.column_stack([curve[:, :inner] for curve in curves])
        within = [groups[:, [g]] * first for g in range(self.groups) if self.groups > 1]
        scores = first[:, ::inner]
        i, j = np.triu_indices(scores.shape[1], 1)
        steps = self._find_stretches(columns, members)
        return np.hstack([groups, *curves, *steps, *within, scores[:, i] * scores[:, j]])

    def _find_steps_within(self, values: Array, members: Index) -> list[Array]:
        """Edges between stretches of all rows, and of the rows of each group."""
        several = range(self.groups) if self.groups > 1 else ()
        return [_find_steps(values), *(_find_steps(values[members == g]) for g in several)]

    def _find_stretches(self, columns: Sequence[Column], members: Index) -> list[Array]:
        """Per number: the stretch of its ranks that a row lies in, among all and in its group."""
        of_name = {column.name: column for column in columns}
        found = []
        for name, (of_all, *of_groups) in self.steps.items():
            values = np.asarray(of_name[name].numeric)
            found.append(_show_stretches(values, of_all))
            for group, edges in enumerate(of_groups):
                found.append(_show_stretches(values, edges) * (members == group)[:, None])
        return found

    def _draw_curves(self, columns: Sequence[Column]) -> list[Array]:
        """Per number: its normal score, and cosines of its rank."""
        of_name = {column.name: column for column in columns}
        curves = []
        for name in self.names:
            known, values = self.known[name], np.asarray(of_name[name].numeric)
            below = np.searchsorted(known, values) + np.searchsorted(known, values, side="right")
            rank = np.clip((below + 1) / (2 * len(known) + 2), 0.0, 1.0)
            waves = np.sqrt(2.0) * np.cos(np.pi * rank[:, None] * np.arange(2, _CURVES + 1))
            curves.append(np.column_stack([ndtri(rank), waves]))
        return curves


def _find_steps(values: Array) -> Array:
    """Edges between stretches of enough rows each."""
    if len(values) < 2 * _ROWS_OF_STEP:
        return np.empty(0)
    ranked, edges, below = np.sort(values), [], 0
    for value in np.unique(np.quantile(ranked, _STEPS)).tolist():
        rows = int(np.searchsorted(ranked, value, side="right"))
        if min(rows - below, len(values) - rows) >= _ROWS_OF_STEP:
            edges.append(value)
            below = rows
    return np.asarray(edges)


def _show_stretches(values: Array, edges: Array) -> Array:
    """Which stretch a row lies in; no column where there is only one."""
    stretches = np.eye(len(edges) + 1)[np.searchsorted(edges, values)]
    return stretches if len(edges) else stretches[:, :0]


def _find_texts(columns: Sequence[Column]) -> list[str]:
    """The crossed levels of every row as one text."""
    if not columns:
        return []
    names = [
        np.array([_name_level(level) for level in column.levels])[column.codes]
        for column in columns
    ]
    return ["|".join(levels) for levels in zip(*names, strict=True)]


def _name_level(level: Any) -> str:
    """Numbers are the same level as text and as numbers: a table may have gone through a file."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.integer, np.floating)):
        return str(level)
    return f"{float(level):.12g}"
