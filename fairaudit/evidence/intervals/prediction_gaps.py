"""Of a continuous outcome: intervals and bounds for the gaps of predictions given the outcome.

The gaps are those of `fairaudit.metrics.prediction_gap`, linear functions of the predictions with a
joint covariance that allows for weights, unequal variances and people with several rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fairaudit._words import figures
from fairaudit.evidence.disclosure import coarse, coarse_interval, step_of
from fairaudit.evidence.intervals.certificates import PREDICTION, Gap, GapInRange, GapTable
from fairaudit.geometry.symmetric_root import symmetric_root
from fairaudit.metrics._prediction_gap import FEWEST, FittedGaps, GapFits
from fairaudit.permute.copies import stream

if TYPE_CHECKING:
    from fairaudit.data.facts import TableFacts
    from fairaudit.evidence.measured import CellTable

__all__ = ["bound_prediction_gap", "prediction_gap_table", "round_gaps"]

G = TypeVar("G", Gap, GapInRange)
DRAWS = 20_000
_AT_ONCE = 2_000_000  # numbers
_STEP_OF_CRITICAL = 0.05  # where groups are masked: it follows from how large they are


def prediction_gap_table(fits: GapFits, confidence: float, seed: int) -> GapTable:
    r"""The gap of each group to all others of the same outcome, with simultaneous intervals.

    Notes
    -----
    With gaps g and standard errors s, c is the quantile of :math:`\max_j |\hat g^*_j| / s_j` in
    20,000 draws of the normal law with the covariance of the gaps. The interval of a gap that rests
    on m people is Student's with m − 1 degrees of freedom, at the error that c has in a normal law.
    The gaps in ranges of the outcome have a c of their own, by Šidák's inequality where people have
    rows in several ranges.
    """
    whole = fits.whole
    if len(whole.levels) < 2:
        return GapTable(
            attributes=whole.attributes, confidence=confidence, critical=math.nan, gaps=()
        )
    critical = _critical([whole], confidence, seed)
    apart = all(fit.apart for fit in fits.ranges)
    in_ranges = math.nan
    if fits.ranges:
        in_ranges = (_critical if apart else _sidak)(fits.ranges, confidence, seed)
    return GapTable(
        attributes=whole.attributes,
        confidence=confidence,
        critical=critical,
        gaps=tuple(
            Gap(
                levels=levels,
                rate=PREDICTION,
                value=value,
                low=low,
                high=high,
                size=size,
                weight=float(weight),
            )
            for (levels, value, low, high, size), weight in zip(
                _intervals(whole, critical), whole.weight, strict=True
            )
        ),
        apart=whole.apart,
        curve=tuple(
            GapInRange(
                levels=levels,
                start=_short(fit.low),
                stop=_short(fit.high),
                people=int(fit.rows.sum()),
                value=value,
                low=low,
                high=high,
                size=size,
            )
            for fit in fits.ranges
            for levels, value, low, high, size in _intervals(fit, in_ranges)
        ),
        curve_critical=in_ranges,
        unit=fits.unit,
    )


_Interval = tuple[tuple[str, ...], float, float | None, float | None, float]


def _intervals(fit: FittedGaps, critical: float) -> list[_Interval]:
    """Of every group: levels, gap, limits (None: too few people) and what the gap rests on."""
    from scipy.special import ndtr, stdtrit

    values, covariance = fit.against_others()
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    width = errors * stdtrit(np.maximum(fit.size, FEWEST) - 1, ndtr(critical))
    return [
        (
            name,
            float(value),
            float(value - far) if size >= FEWEST else None,
            float(value + far) if size >= FEWEST else None,
            float(size),
        )
        for name, value, far, size in zip(fit.names, values, width, fit.size, strict=True)
    ]


def _short(edge: float) -> float:
    return float(f"{edge:.4g}")


def _critical(fits: Sequence[FittedGaps], confidence: float, seed: int) -> float:
    """The quantile of the largest studentized gap; the fits have no person in common."""
    rng = stream(seed, 8)
    largest = np.zeros(DRAWS)
    for fit in fits:
        covariance = fit.against_others()[1]
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        some = (errors > 0) & (fit.size >= FEWEST)
        if not some.any():
            continue
        correlation = covariance[np.ix_(some, some)] / np.outer(errors[some], errors[some])
        root = symmetric_root(correlation)
        step = max(1, _AT_ONCE // len(root))
        for start in range(0, DRAWS, step):
            part = largest[start : start + step]
            noise = rng.standard_normal((len(part), len(root))) @ root
            np.maximum(part, np.abs(noise).max(axis=1), out=part)
    return max(float(np.quantile(largest, confidence)), _single(confidence))


def _sidak(fits: Sequence[FittedGaps], confidence: float, seed: int) -> float:
    """The same for gaps whose common law is not known."""
    return _single(confidence ** (1 / max(1, sum(len(fit.levels) for fit in fits))))


def _single(confidence: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + confidence) / 2))


def _range_text(fit: FittedGaps, fits: Sequence[FittedGaps]) -> str:
    if fit is fits[0]:
        return f"up to {figures(fit.high)}"
    below = f"from {figures(fit.low)}"
    return below if fit is fits[-1] else f"{below} to {figures(fit.high)}"


def bound_prediction_gap(
    fits: Sequence[FittedGaps], alpha: float
) -> tuple[float | None, float | None, str]:
    """The largest difference of two groups in any of these fits: estimate, bound, why none.

    The pair (and range) that is largest in truth is fixed, and its own one-sided bound fails with
    probability alpha at most; the largest of all bounds is no smaller.
    """
    from scipy.special import stdtrit

    if not fits:
        return None, None, "no bound: in no range of the outcome are there groups to compare"
    value, upper = max(fit.largest for fit in fits), 0.0
    for fit in fits:
        few = [", ".join(name) for name, m in zip(fit.names, fit.size, strict=True) if m < FEWEST]
        if few:
            range_ = "" if len(fits) == 1 else f" with outcomes {_range_text(fit, fits)}"
            names = "; ".join(few[:3]) + (f" and {len(few) - 3} more" if len(few) > 3 else "")
            return value, None, f"no bound: too few people in {names}{range_}"
        variance = np.diag(fit.covariance)
        errors = np.sqrt(np.maximum(variance[:, None] + variance - 2 * fit.covariance, 0.0))
        freedom = np.minimum(fit.size[:, None], fit.size) - 1
        bounds = fit.gap[:, None] - fit.gap + errors * stdtrit(freedom, 1 - alpha)
        np.fill_diagonal(bounds, 0.0)
        upper = max(upper, float(bounds.max()))
    return value, upper, ""


def round_gaps(table: GapTable, cells: CellTable, facts: TableFacts, fewest: int) -> GapTable:
    """Without the gaps of masked groups; the others, which these people enter, are rounded.

    The ranges of the outcome begin and end where `facts`, which are rounded, say.
    """
    masked = {group.levels for group in cells.cells if group.masked}
    step = table.unit * step_of(fewest, facts.people)
    low = min((gap.start for gap in table.curve), default=0.0)
    high = max((gap.stop for gap in table.curve), default=0.0)
    ends = {
        low: low if facts.outcome.low is None else facts.outcome.low,
        high: high if facts.outcome.high is None else facts.outcome.high,
    }
    ranges = [
        replace(gap, start=ends.get(gap.start, gap.start), stop=ends.get(gap.stop, gap.stop))
        for gap in table.curve
    ]
    gaps = tuple(
        Gap(levels=gap.levels, rate=gap.rate, value=None, low=None, high=None)
        if gap.levels in masked
        else _rounded(gap, step)
        for gap in table.gaps
    )
    curve = tuple(
        replace(gap, value=None, low=None, high=None, size=None)
        if gap.levels in masked
        else _rounded(gap, table.unit * step_of(fewest, gap.people))
        for gap in ranges
    )
    return replace(
        table,
        gaps=gaps,
        curve=curve,
        critical=_round_critical(table.critical),
        curve_critical=_round_critical(table.curve_critical),
    )


def _round_critical(value: float) -> float:
    rounded = coarse(value, _STEP_OF_CRITICAL, up=True)
    return math.nan if rounded is None else rounded


def _rounded(gap: G, step: float) -> G:
    """The gap to the step, and its interval outwards."""
    if not step:  # nothing varies given the outcome
        return gap
    limits = coarse_interval(gap.value, gap.low, gap.high, step)
    return replace(
        gap,
        value=limits["value"],
        low=limits["low"],
        high=limits["high"],
        size=None if gap.size is None else float(f"{gap.size:.1g}"),
    )
