"""The worst subgroup: which linear-threshold group of the attributes bears the most errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.metrics._labels import binary_labels, row_weights
from fairaudit.metrics.measure import Measure

__all__ = ["SubgroupViolation", "subgroup_violation"]

RATES = ("fpr", "fnr")
TIE = 1e-12  # scores closer than this are equal; the first then wins, whatever the row order


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupViolation(Measure):
    """The worst group found, oriented so that its error rate is the higher one.

    Attributes
    ----------
    rate : ``"fpr"`` or ``"fnr"``
    size : rows of the group among those with the outcome that the rate is about
    share : the group's weight among those rows
    inside, overall : the rate in the group and in all rows
    definition : the group in words, rounded; "all rows" if no group differs
    coefficients : (term, coefficient); a row is in the group if its sum exceeds `threshold`.
        A term is a numeric attribute or ``[attribute=level]``, which is 1 or 0.
    threshold : float
    """

    rate: str
    size: int
    share: float
    inside: float
    overall: float
    definition: str
    coefficients: tuple[tuple[str, float], ...]
    threshold: float


class _Rule(NamedTuple):
    """A candidate: rows with terms · coefficients > threshold."""

    score: float
    coefficients: NDArray[np.float64]
    threshold: float
    definition: str


class _Terms(NamedTuple):
    """The distinct attribute rows, as terms: numbers as they are, levels as 0/1 indicators."""

    columns: tuple[Column, ...]
    names: list[str]
    start: list[int]
    values: NDArray[np.float64]
    encoded: NDArray[np.float64]


@swaps_refused
def subgroup_violation(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    rate: str = "fpr",
    positive: Any = None,
    threshold: float | None = None,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> SubgroupViolation:
    r"""Largest violation of an error rate by a linear-threshold group of the attributes.

    Parameters
    ----------
    y_pred : array-like
        Predicted labels, or scores with `threshold`.
    sensitive : array-like, frame or mapping
        Attributes of any kind.
    y_true : array-like
        The outcome classes.
    rate : {"fpr", "fnr"}
        False positives among the negatives, or false negatives among the positives.
    positive : optional
        The level of the outcome that counts as positive; the larger of two unless given. Needed
        with more than two, of which it is compared with the rest, and for scores where the levels
        are not 0 and 1: it is the level that they speak of.
    threshold : float, optional
        Scores at or above it predict the positive class.
    weights : array-like, optional
        Row weights; shares and rates are then weighted.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    SubgroupViolation

    Notes
    -----
    For the false positive rate the value is

    .. math:: \max_g \; P(g(A) = 1, Y = 0) \;
        \left| P(\hat Y = 1 \mid g(A) = 1, Y = 0) - P(\hat Y = 1 \mid Y = 0) \right|

    over groups :math:`g(a) = 1[w \cdot a + b > 0]`. A group and its complement have the same
    value; the one with the higher error rate is reported.

    The exact maximum is hard to compute. The search tries every threshold of every single
    encoded attribute, and every threshold along the direction that least squares finds for
    the excess errors (the oracle of Kearns et al., which itself tries one threshold and both
    signs). The value is thus a lower bound of the maximum.

    References
    ----------
    Kearns, Neel, Roth & Wu (2018). Preventing fairness gerrymandering: auditing and learning for
    subgroup fairness. ICML.

    Examples
    --------
    >>> age = {"age": [20, 30, 40, 50, 60, 70]}
    >>> worst = subgroup_violation(
    ...     [0, 0, 0, 1, 1, 1], sensitive=age, y_true=[0, 0, 0, 0, 0, 1]
    ... )
    >>> worst.definition, worst.size, worst.inside, worst.overall
    ('age > 45', 2, 1.0, 0.4)
    >>> round(worst.value, 3)  # 2/6 · (1 − 2/5)
    0.2
    """
    table = AuditTable.of(
        y_pred, sensitive, y_true, weights=weights, kinds=kinds, positive=positive
    )
    return _subgroup_violation(table, rate=rate, threshold=threshold)


def _subgroup_violation(
    table: AuditTable, *, rate: str = "fpr", threshold: float | None = None
) -> SubgroupViolation:
    if rate not in RATES:
        raise InputError(f"The 'rate' parameter must be 'fpr' or 'fnr'. Got {rate!r} instead.")
    labels = binary_labels(table, threshold=threshold)
    weights = row_weights(table)
    rows = np.flatnonzero((labels.actual == (rate == "fnr")) & (weights > 0))
    if len(rows) == 0:
        raise InputError(
            f"The outcome {table.require_outcome().name!r} has no rows of class "
            f"{labels.names[rate == 'fnr']}, so there is no {rate}. "
            f"Pass rows of that class, or rate={RATES[rate == 'fpr']!r}."
        )
    total, weights = float(weights.sum()), weights[rows]
    wrong = labels.predicted[rows] == (rate == "fpr")
    overall = float(weights @ wrong / weights.sum())

    columns = [_at(column, rows) for column in table.attributes]
    blocks = find_tied_blocks(columns, len(rows))
    weight = _sums(blocks.of_row, weights, len(blocks))
    excess = _sums(blocks.of_row, weights * (wrong - overall), len(blocks)) / total
    terms = _terms([_at(column, blocks.first) for column in columns])
    best = _worst_rule(terms, weight, excess)

    inside = terms.values @ best.coefficients > best.threshold
    share = float(weight[inside].sum() / weight.sum())
    gap = float(excess[inside].sum() * total / weight[inside].sum())
    used = np.flatnonzero(best.coefficients)
    return SubgroupViolation(
        value=abs(float(excess[inside].sum())),
        n=len(table),
        rate=rate,
        size=int(blocks.counts[inside].sum()),
        share=share,
        inside=overall + gap,
        overall=overall,
        definition=best.definition,
        coefficients=tuple((terms.names[j], float(best.coefficients[j])) for j in used),
        threshold=best.threshold,
    )


def _sums(codes: NDArray[np.intp], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    return np.bincount(codes, values, minlength=size).astype(np.float64)


def _at(column: Column, rows: NDArray[np.intp]) -> Column:
    """The column at `rows`, with all its levels."""
    numeric = None if column.numeric is None else column.numeric[rows]
    return replace(column, codes=column.codes[rows], numeric=numeric)


def _terms(columns: Sequence[Column]) -> _Terms:
    names: list[str] = []
    start, blocks, values = [], [], []
    for column in columns:
        start.append(len(names))
        block = encode([column])
        blocks.append(block)
        if not column.kind.is_categorical and column.numeric is not None:
            values.append(column.numeric[:, None])
            names.append(column.name)
        else:
            values.append((block > 0).astype(np.float64))
            levels = column.levels[-block.shape[1] :]
            names += [f"[{column.name}={level}]" for level in levels]
    return _Terms(tuple(columns), names, start, np.hstack(values), np.hstack(blocks))


def _worst_rule(terms: _Terms, weight: NDArray[np.float64], excess: NDArray[np.float64]) -> _Rule:
    rules = [_everybody(terms)]
    rules += [_rule_of_column(terms, j, excess) for j in range(len(terms.columns))]
    rules.append(_rule_of_regression(terms, weight, excess))
    highest = max(rule.score for rule in rules)
    return next(rule for rule in rules if rule.score >= highest - TIE)


def _everybody(terms: _Terms) -> _Rule:
    return _Rule(0.0, np.zeros(len(terms.names)), -1.0, "all rows")


def _first_largest(sums: NDArray[np.float64]) -> int:
    size = np.abs(sums)
    return int(np.argmax(size >= size.max() - TIE))


def _rule_of_column(terms: _Terms, j: int, excess: NDArray[np.float64]) -> _Rule:
    """The best threshold of a number, or the best single level against the others."""
    column = terms.columns[j]
    sums = _sums(column.codes, excess, len(column.levels))
    coefficients = np.zeros(len(terms.names))
    if not column.kind.is_categorical:
        upto = np.cumsum(sums)[:-1]
        k = _first_largest(upto)
        cut = float(column.levels[k] / 2 + column.levels[k + 1] / 2)
        sign = -1.0 if upto[k] > 0 else 1.0
        coefficients[terms.start[j]] = sign
        text = f"{column.name} {'<' if sign < 0 else '>'} {cut:.6g}"
        return _Rule(abs(float(upto[k])), coefficients, sign * cut, text)
    k = _first_largest(sums)
    flipped = len(column.levels) == 2 and k == 0  # its indicator is that of the other level
    sign = 1.0 if (sums[k] > 0) != flipped else -1.0
    coefficients[terms.start[j] + (0 if len(column.levels) == 2 else k)] = sign
    text = f"{column.name} {'=' if sums[k] > 0 else '!='} {column.levels[k]}"
    return _Rule(abs(float(sums[k])), coefficients, sign * 0.5, text)


def _rule_of_regression(
    terms: _Terms, weight: NDArray[np.float64], excess: NDArray[np.float64]
) -> _Rule:
    """The best threshold along the least-squares direction of the excess errors."""
    root = np.sqrt(weight)
    design = np.column_stack([np.ones(len(weight)), terms.encoded]) * root[:, None]
    slopes = np.linalg.lstsq(design, excess / root, rcond=None)[0][1:]
    slopes[np.abs(slopes) < 1e-9 * np.abs(slopes).max(initial=TIE)] = 0.0
    width = np.ptp(terms.values, axis=0)
    scale = np.divide(
        np.ptp(terms.encoded, axis=0), width, out=np.zeros_like(width), where=width > 0
    )
    coefficients = slopes * scale  # from encoded to original units
    coefficients /= np.abs(coefficients).max(initial=0.0) or 1.0
    along = terms.values @ coefficients
    order = np.argsort(along, kind="stable")
    steps = np.diff(along[order])
    apart = np.flatnonzero(steps > 1e-9 * max(float(np.abs(along).max()), TIE))
    if len(apart) == 0:
        return _everybody(terms)
    upto = np.cumsum(excess[order])[apart]
    k = _first_largest(upto)
    cut = float(along[order[apart[k]]] + steps[apart[k]] / 2)
    sign = -1.0 if upto[k] > 0 else 1.0
    coefficients, cut = sign * coefficients, sign * cut
    return _Rule(abs(float(upto[k])), coefficients, cut, _written(terms.names, coefficients, cut))


def _written(names: Sequence[str], coefficients: NDArray[np.float64], threshold: float) -> str:
    parts = [
        f"{'-' if value < 0 else '+'} {abs(value):.4g}*{name}"
        for name, value in zip(names, coefficients, strict=True)
        if value != 0
    ]
    return f"{' '.join(parts).removeprefix('+ ')} > {threshold:.6g}"
