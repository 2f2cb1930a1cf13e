"""Scores and predictions in bins, by group and outcome: what pictures of an audit are drawn from.

Counts and sums of parts of the rows add up to those of all rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairaudit._types import Array, Index
from fairaudit._words import round_outwards

__all__ = ["PredictionBins", "ScoreBins", "bin_predictions", "bin_scores", "score_edges"]

SCORE_BINS = 40
OUTCOME_BINS = 10
MOST_LEVELS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreBins:
    """How many people of each level and outcome class have scores in each bin.

    Attributes
    ----------
    attribute : str
    levels, outcomes : tuple of str
    positive : str or None
        The class that high scores speak for.
    threshold : float or None
        What turns scores into labels.
    edges : tuple of float
        One more than bins; a bin has its lower edge.
    counts : levels × outcomes × bins
        Rows; a level of which nothing is shown has no bins.
    """

    attribute: str
    levels: tuple[str, ...]
    outcomes: tuple[str, ...]
    positive: str | None
    threshold: float | None
    edges: tuple[float, ...]
    counts: tuple[tuple[tuple[int, ...], ...], ...]

    def suppressed(self, fewest: int, shown: Collection[str], rounded: bool) -> ScoreBins:
        """The `shown` levels without those with few people of a class.

        Sums from the left are then multiples of `fewest`, if asked.
        """
        kept = [
            (level, tuple(_in_steps(row, fewest) if rounded else row for row in rows))
            for level, rows in zip(self.levels, self.counts, strict=True)
            if level in shown and all(sum(row) == 0 or sum(row) >= fewest for row in rows)
        ]
        return replace(
            self, levels=tuple(level for level, _ in kept), counts=tuple(rows for _, rows in kept)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionBins:
    """Predictions of each level in ranges of a continuous outcome.

    Attributes
    ----------
    attribute : str
    levels : tuple of str
    outcome : tuple of float
        Mean outcome of all rows in each range.
    rows : levels × ranges
    mean, deviation : levels × ranges
        Of the predictions; None where there are too few rows.
    """

    attribute: str
    levels: tuple[str, ...]
    outcome: tuple[float, ...]
    rows: tuple[tuple[int, ...], ...]
    mean: tuple[tuple[float | None, ...], ...]
    deviation: tuple[tuple[float | None, ...], ...]

    def suppressed(self, fewest: int, shown: Collection[str], rounded: bool) -> PredictionBins:
        """The `shown` levels without means of few people; two digits, if asked."""
        places = [k for k, level in enumerate(self.levels) if level in shown]

        def keep(values: Sequence[float | None], rows: Sequence[int]) -> tuple[float | None, ...]:
            pairs = zip(values, rows, strict=True)
            return tuple(
                None
                if value is None or count < fewest
                else (float(f"{value:.2g}") if rounded else value)
                for value, count in pairs
            )

        return replace(
            self,
            levels=tuple(self.levels[k] for k in places),
            rows=tuple(tuple(n // fewest * fewest for n in self.rows[k]) for k in places),
            mean=tuple(keep(self.mean[k], self.rows[k]) for k in places),
            deviation=tuple(keep(self.deviation[k], self.rows[k]) for k in places),
        )


def _in_steps(row: Sequence[int], step: int) -> tuple[int, ...]:
    """Counts whose sums from the left are multiples of a step."""
    sums = np.rint(np.cumsum(row) / step).astype(int) * step
    return tuple(int(count) for count in np.diff(sums, prepend=0))


def score_edges(scores: Array, threshold: float | None) -> Array:
    """Equal bins over the scores, over 0 to 1 where they lie in it; the threshold is an edge."""
    low, high = float(scores.min()), float(scores.max())
    low, high = (0.0, 1.0) if low >= 0 and high <= 1 else round_outwards(low, high)
    edges = np.linspace(low, high if high > low else low + 1.0, SCORE_BINS + 1)
    if threshold is not None and low < threshold < high:
        nearest = 1 + int(np.abs(edges[1:-1] - threshold).argmin())
        edges[nearest] = threshold
    return edges


def bin_scores(
    attribute: str,
    levels: Sequence[str],
    codes: Index,
    *,
    scores: Array,
    outcome: Index,
    classes: Sequence[str],
    positive: str | None,
    threshold: float | None,
) -> ScoreBins:
    """Count; `codes` below 0 are in no level, and the last bin has its upper edge too."""
    edges = score_edges(scores, threshold)
    place = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, SCORE_BINS - 1)
    shape = (len(levels), len(classes), SCORE_BINS)
    some = codes >= 0
    key = (codes[some] * len(classes) + outcome[some]) * SCORE_BINS + place[some]
    counts = np.bincount(key, minlength=int(np.prod(shape))).reshape(shape)
    large = np.sort(np.argsort(-counts.sum(axis=(1, 2)), kind="stable")[:MOST_LEVELS])
    return ScoreBins(
        attribute=attribute,
        levels=tuple(levels[k] for k in large),
        outcomes=tuple(classes),
        positive=positive,
        threshold=threshold,
        edges=tuple(float(f"{edge:.6g}") for edge in edges),
        counts=tuple(tuple(tuple(row) for row in counts[k].tolist()) for k in large),
    )


def bin_predictions(
    attribute: str, levels: Sequence[str], codes: Index, *, predictions: Array, outcome: Array
) -> PredictionBins:
    """Means and deviations in tenths of the outcome."""
    cuts = np.unique(np.quantile(outcome, np.arange(1, OUTCOME_BINS) / OUTCOME_BINS))
    place = np.searchsorted(cuts, outcome, side="left")
    count = len(cuts) + 1
    at = np.bincount(place, outcome, count) / np.maximum(np.bincount(place, minlength=count), 1)
    some = codes >= 0
    key, values = codes[some] * count + place[some], predictions[some]
    shape = (len(levels), count)
    rows, sums, squares = (
        np.bincount(key, weights, minlength=len(levels) * count).reshape(shape)
        for weights in (None, values, values**2)
    )
    mean = sums / np.maximum(rows, 1)
    deviation = np.sqrt(np.maximum(squares / np.maximum(rows, 1) - mean**2, 0.0))
    large = np.sort(np.argsort(-rows.sum(axis=1), kind="stable")[:MOST_LEVELS])

    def table(values: Array) -> tuple[tuple[float | None, ...], ...]:
        return tuple(
            tuple(
                float(f"{value:.6g}") if size > 1 else None
                for value, size in zip(values[k], rows[k], strict=True)
            )
            for k in large
        )

    return PredictionBins(
        attribute=attribute,
        levels=tuple(levels[k] for k in large),
        outcome=tuple(float(f"{value:.6g}") for value in at),
        rows=tuple(tuple(int(n) for n in rows[k]) for k in large),
        mean=table(mean),
        deviation=table(deviation),
    )
