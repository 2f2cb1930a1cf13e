"""Curves from binned scores: distributions, ROC, calibration, and rates over thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from fairaudit_reports.view.cover import level_label, name_label

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.portrait.binned import PredictionBins, ScoreBins

__all__ = [
    "Curve",
    "bin_centers",
    "calibrate",
    "distribute",
    "label_level",
    "order_attributes",
    "predict",
    "rates_over_thresholds",
]

FEWEST_IN_BIN = 20  # rows behind a point of a calibration curve
_SMOOTH = 2  # bins to either side


@dataclass(frozen=True, slots=True)
class Curve:
    """Places and values; a band where it has one."""

    x: list[float]
    y: list[float | None]
    low: list[float | None]
    high: list[float | None]


def order_attributes(result: AuditResult) -> list[str]:
    """The attributes that the first sentences are about, then the others."""
    told = [name for statement in result.statements for name in statement.attributes]
    return list(dict.fromkeys([*told, *(column.name for column in result.table.attributes)]))


def label_level(attribute: str, level: str) -> str:
    """``sex: female``; the level alone where readers gave it a name."""
    label = level_label(attribute, level)
    return label if label != level else f"{name_label(attribute)} {level}"


def bin_centers(bins: ScoreBins) -> list[float]:
    return [(a + b) / 2 for a, b in zip(bins.edges[:-1], bins.edges[1:], strict=True)]


def distribute(bins: ScoreBins, level: int, outcome: int) -> Curve:
    """The share of a group's people of one class around each score, slightly smoothed."""
    row = bins.counts[level][outcome]
    total = sum(row) or 1
    places = range(len(row))
    smooth: list[float | None] = [
        sum(row[max(0, k - _SMOOTH) : k + _SMOOTH + 1])
        / len(row[max(0, k - _SMOOTH) : k + _SMOOTH + 1])
        / total
        for k in places
    ]
    return Curve(bin_centers(bins), smooth, [], [])


def rates_over_thresholds(bins: ScoreBins, level: int, outcome: int) -> list[float]:
    """The share of a group's people of one class with scores at or above each edge."""
    row = bins.counts[level][outcome]
    below = [0, *accumulate(row)]
    total = below[-1] or 1
    return [1 - count / total for count in below]


def calibrate(bins: ScoreBins, level: int, positive: int) -> Curve:
    """How many of those around a score are positive, in bins of enough rows."""
    rows = bins.counts[level]
    x: list[float] = []
    y: list[float | None] = []
    low: list[float | None] = []
    high: list[float | None] = []
    hits, count, weighted = 0, 0, 0.0
    centers = bin_centers(bins)
    step = max(FEWEST_IN_BIN, sum(map(sum, rows)) // 12)
    for k in range(len(centers)):
        own = sum(row[k] for row in rows)
        hits, count, weighted = hits + rows[positive][k], count + own, weighted + own * centers[k]
        last = k == len(centers) - 1
        if count >= step or (last and count >= FEWEST_IN_BIN):
            share = hits / count
            reach = 1.96 * math.sqrt(max(share * (1 - share), 0.25 / count) / count)
            x.append(weighted / count)
            y.append(share)
            low.append(max(share - reach, 0.0))
            high.append(min(share + reach, 1.0))
            hits, count, weighted = 0, 0, 0.0
    return Curve(x, y, low, high)


def predict(bins: PredictionBins, level: int) -> Curve:
    """The mean prediction of a group in ranges of the outcome, with a 95 % band."""
    pairs = zip(bins.mean[level], bins.deviation[level], bins.rows[level], strict=True)
    ends = [
        (None, None)
        if mean is None or deviation is None or rows < 2
        else _reach(mean, deviation, rows)
        for mean, deviation, rows in pairs
    ]
    mean = list(bins.mean[level])
    return Curve(list(bins.outcome), mean, [low for low, _ in ends], [high for _, high in ends])


def _reach(mean: float, deviation: float, rows: int) -> tuple[float, float]:
    far = 1.96 * deviation / math.sqrt(rows)
    return mean - far, mean + far
