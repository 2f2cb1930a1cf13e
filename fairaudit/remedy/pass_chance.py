"""The chance that a model passes an audit that has not taken place yet.

What is known is a sample of rows that had no part in making the model. Its statistic holds the
model's own dependence and the noise of the sample, and the coming audit will hold the same
dependence, grown with its rows, and noise of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.permute.copies import CopySampler, stream
from fairaudit.testing.choice_of_law import ChoiceOfLaw, prepare_copies
from fairaudit.testing.omnibus import Blend, Omnibus
from fairaudit.testing.p_value import Combination, PValue
from fairaudit.testing.permutations import Permutations

__all__ = ["KnownCopies", "PassChance", "chance_to_pass", "chance_to_pass_refitted"]

#: Variances of the dependence that are thought possible, in variances of the noise of the sample.
_EXCESS = np.array([0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0])
_COPIES = 300
_REPEATS = 40
FEWEST_ROWS = 40
_KEPT = 3  # samples of the last predictions
_USUAL = 0.1  # dependence beyond what a stage removes, in the units of `_EXCESS`


@dataclass(frozen=True, slots=True, kw_only=True)
class PassChance:
    """What is expected of the coming audit.

    Attributes
    ----------
    chance : float
        Of p > alpha.
    interval : tuple of float
        90 % interval of the chance: how little is known about the dependence.
    excess : float
        Expected dependence at the size of the coming audit, as a variance in units of the noise:
        0 is equalized odds, 1 doubles the statistic.
    rows, n_fresh : int
        Rows that were looked at, and of the coming audit.
    alpha : float
    p_value : float
        Of the rows that were looked at; folds are looked at one by one, and taken together.
    """

    chance: float
    interval: tuple[float, float]
    excess: float
    rows: int
    n_fresh: int
    alpha: float
    p_value: float = float("nan")


@swaps_refused
def chance_to_pass(
    y_pred: Any,
    y_true: Any,
    sensitive: Any,
    *,
    n_fresh: int,
    folds: Any = None,
    alpha: float = 0.05,
    kinds: Any = None,
    copies: int = _COPIES,
    seed: int = 0,
) -> PassChance:
    """The chance that the default audit of `n_fresh` new rows ends with p > alpha.

    Parameters
    ----------
    y_pred, y_true, sensitive
        Predictions for rows that had no part in making the model, as in `equalized_odds_test`.
    n_fresh : int
        Rows of the coming audit.
    folds : int array, optional
        Where predictions are out-of-fold: which fold's model made each. Folds are then judged one
        by one. (Taken together the errors of cross-fitted models cancel, and every model would
        seem to pass.)
    alpha : float
    kinds : mapping, optional
        Of columns.
    copies : int
        More give a steadier number.
    seed : int

    Notes
    -----
    The sums behind the statistic are z = √n θ + noise. θ is thought to vary by ω² times the
    covariance of the noise of one row; how plausible each ω² is follows from the statistic of the
    sample. Given ω² the sums of the coming audit are normal around √(n_fresh / n) κ z, with
    κ = n ω² / (1 + n ω²), and have 1 + κ n_fresh / n times the covariance of the noise. The chance
    is the mean over ω²: the fewer rows, the less is ruled out, and the less it promises.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 600))
    >>> fair, unfair = y + rng.normal(size=600), y + sex + rng.normal(size=600)
    >>> chance_to_pass(fair, y_true=y, sensitive=sex, n_fresh=600).chance > 0.6
    True
    >>> chance_to_pass(unfair, y_true=y, sensitive=sex, n_fresh=600).chance < 0.01
    True
    """
    table = AuditTable.of(y_pred, sensitive, y_true, kinds=kinds)
    return chance_of_table(
        table, n_fresh=n_fresh, folds=folds, alpha=alpha, copies=copies, seed=seed
    )


def chance_of_table(
    table: AuditTable,
    *,
    n_fresh: int,
    folds: Any = None,
    left: float | None = None,
    alpha: float = 0.05,
    copies: int = _COPIES,
    seed: int = 0,
    known: KnownCopies | None = None,
    kept: float = 1.0,
) -> PassChance:
    """`chance_to_pass` of a table that has been checked.

    `left` is for answers of a stage that was cross-fitted to remove the dependence, whose errors
    cancel over the folds: the variance of what a fit to the rows leaves, at the size of the coming
    audit and in units of its noise. What the rows show beyond comes on top, and is thought to be
    small unless they say otherwise. `known` are copies of other predictions for the same rows.
    `kept` is the share of the variance of the dependence that is left where answers will be mixed
    with what depends on nothing.
    """
    _check(n_fresh, alpha, len(table))
    draw = KnownCopies(copies, seed) if known is None else known
    audit: dict[str, Any] = {"rows": len(table), "n_fresh": n_fresh, "alpha": alpha}
    parts = None if folds is None or left is not None else _find_folds(folds, len(table))
    samples = draw.look_at(table, parts)
    if not samples:  # one answer for all: nothing can be found
        return PassChance(chance=1.0, interval=(1.0, 1.0), excess=0.0, p_value=1.0, **audit)
    first = samples[0]
    if left is not None:
        weights = first.weigh(_EXCESS) / (1 + _EXCESS / _USUAL) ** 2
        weights /= weights.sum()
        excess = (left + _EXCESS * n_fresh / first.rows) * kept
        chances = first.find_scaled_chances(excess, alpha)
    elif parts is None:
        weights = first.weigh(_EXCESS)
        ratio = n_fresh / first.rows
        chances = first.find_chances(_EXCESS, ratio, alpha)
        excess = _EXCESS * ratio
    else:
        rows = float(np.mean([sample.rows for sample in samples]))
        logs = [np.log(sample.weigh(_EXCESS * sample.rows / rows) + 1e-12) for sample in samples]
        weights = np.exp(np.sum(logs, axis=0) - np.max(np.sum(logs, axis=0)))
        weights /= weights.sum()
        excess = _EXCESS * n_fresh / rows * kept
        by_fold = [sample.find_scaled_chances(excess, alpha) for sample in samples]
        chances = np.mean(by_fold, axis=0)
    return PassChance(
        chance=float(weights @ chances),
        interval=_find_interval(chances, weights),
        excess=float(weights @ excess),
        p_value=_find_p_value(samples),
        **audit,
    )


def chance_to_pass_refitted(
    answer: Callable[[Index, Index], Sequence[Any]],
    y_true: Any,
    sensitive: Any,
    *,
    n_fresh: int,
    alpha: float = 0.05,
    repeats: int = _REPEATS,
    seed: int = 0,
) -> list[PassChance]:
    """The chances of candidates that are quick to fit, by fitting them again to drawn rows.

    Parameters
    ----------
    answer : callable
        ``answer(fitted, fresh)`` fits all candidates to the rows `fitted` (drawn with replacement)
        and returns the predictions of each for the rows `fresh`.
    y_true, sensitive
        Of all rows.
    n_fresh : int
        Rows of the coming audit.
    alpha, repeats, seed

    Notes
    -----
    The rows stand for everybody, rows drawn from them for the rows that are fitted, and others
    for the coming audit. So the error of fitting to few rows is part of the chance, as is whatever
    the fit leaves by design.
    """
    n = len(np.asarray(y_true))
    _check(n_fresh, alpha, n)
    draws = [_draw_rows(n, n_fresh, stream(seed, 11, repeat)) for repeat in range(repeats)]
    nulls: list[_Sample] = []
    statistics: list[list[float]] = []
    outcome, attributes = _rows_of(y_true), _rows_of(sensitive)
    for repeat, (fitted, fresh) in enumerate(draws):
        for place, prediction in enumerate(answer(fitted, fresh)):
            if not np.ptp(np.asarray(prediction, dtype=np.float64)):
                prediction = None
            if repeat == 0:
                statistics.append([])
            if prediction is None:  # one answer for all: nothing can be found
                statistics[place].append(-np.inf)
                continue
            table = AuditTable.of(prediction, attributes(fresh), outcome(fresh))
            if len(nulls) <= place:
                nulls.append(_Sample(table, KnownCopies(_COPIES, seed)))
                statistics[place].append(nulls[place].statistic)
            else:
                statistics[place].append(nulls[place].judge(table))
    found = []
    for sample, values in zip(nulls, statistics, strict=True):
        passed = float(np.mean([sample.p_value(value) > alpha for value in values]))
        low, high = _find_binomial(passed, repeats)
        found.append(
            PassChance(
                chance=(passed * repeats + 0.5) / (repeats + 1),
                interval=(low, high),
                excess=float("nan"),
                rows=n,
                n_fresh=n_fresh,
                alpha=alpha,
            )
        )
    return found


class KnownCopies:
    """Copies of rows, whatever the prediction: outcome and attributes alone decide them.

    Parameters
    ----------
    copies, seed : int
    """

    def __init__(self, copies: int, seed: int) -> None:
        self.copies, self.seed = copies, seed
        self._known: dict[int | None, tuple[CopySampler, Index]] = {}
        self._samples: dict[bytes, list[_Sample]] = {}

    def of(self, table: AuditTable, part: int | None) -> tuple[CopySampler, Index]:
        """The sampler and the copies of all rows, or of one part of them."""
        if part not in self._known:
            sampler = _prepare_sampler(table, self.seed)
            self._known[part] = sampler, sampler.block(range(self.copies))
        return self._known[part]

    def look_at(self, table: AuditTable, parts: Sequence[Index] | None) -> list[_Sample]:
        """Samples of all rows or of all parts but those with one answer; the last are kept."""
        asked = table.prediction.matrix()
        key = sha256(asked.tobytes()).digest() + bytes([parts is None])
        if key not in self._samples:
            tables = [table] if parts is None else [table.take(rows) for rows in parts]
            found = [
                _Sample(part, self, None if parts is None else k)
                for k, part in enumerate(tables)
                if not part.prediction.constant
            ]
            self._samples = dict([*self._samples.items(), (key, found)][-_KEPT:])
        return self._samples[key]


class _Sample:
    """A table, its statistic, and what the statistic would be on copies."""

    def __init__(self, table: AuditTable, known: KnownCopies, part: int | None = None) -> None:
        self.rows, self.seed = len(table), known.seed
        self.sampler, self.drawn = known.of(table, part)
        self.omnibus = Omnibus()
        self.blend: Blend = self.omnibus.bind_blend(table, self.sampler, seed=self.seed)
        none, whole = np.zeros(known.copies), np.ones(known.copies)
        self.pool = self.blend(self.drawn, none, whole)
        self.combination = Combination(self.pool, self.omnibus.weights)
        self.of_copies = self.combination(self.pool)
        self.null = np.sort(self.of_copies)
        own = self.blend(self.drawn[:1], whole[:1], none[:1])
        self.statistic = float(self.combination(own)[0])

    def judge(self, table: AuditTable) -> float:
        """The statistic of another table of the same kind, in units of these copies."""
        blend = self.omnibus.bind_blend(table, self.sampler, seed=self.seed)
        own = blend(np.arange(len(table))[None, :], np.ones(1), np.zeros(1))
        return float(self.combination(own)[0])

    def p_value(self, statistic: float) -> float:
        reached = len(self.null) - np.searchsorted(self.null, statistic)
        return float((1 + reached) / (len(self.null) + 1))

    def weigh(self, excess: Array) -> Array:
        """How plausible dependence of these variances is, by the statistic of the sample."""
        heights = []
        for variance in excess:
            values = self.combination((1 + variance) * self.pool)
            width = max(1.06 * float(values.std()) * len(values) ** -0.2, 1e-3)
            heights.append(np.exp(-0.5 * ((values - self.statistic) / width) ** 2).mean() / width)
        weights = np.asarray(heights) + 1e-12
        if self.statistic > self.combination((1 + excess[-1]) * self.pool).max():
            weights = (excess == excess.max()).astype(np.float64)
        return np.asarray(weights / weights.sum())

    def find_chances(self, excess: Array, ratio: float, alpha: float) -> Array:
        """Of passing, for every variance of the dependence; `ratio` of rows to come to rows."""
        chances = []
        for variance in excess:
            kept = variance / (1 + variance)
            data = np.full(len(self.drawn), np.sqrt(ratio) * kept)
            noise = np.full(len(self.drawn), np.sqrt(1 + ratio * kept))
            chances.append(self._share_passing(self.blend(self.drawn, data, noise), alpha))
        return np.asarray(chances)

    def find_scaled_chances(self, excess: Array, alpha: float) -> Array:
        """The same where the direction of the dependence is not known."""
        return np.asarray([self._share_passing((1 + e) * self.pool, alpha) for e in excess])

    def _share_passing(self, values: Array, alpha: float) -> float:
        limit = np.quantile(self.null, 1 - alpha)
        return float(np.mean(self.combination(values) < limit))


def _prepare_sampler(table: AuditTable, seed: int) -> CopySampler:
    return prepare_copies(table, ChoiceOfLaw(), Permutations(seed=seed)).sampler


def _find_p_value(samples: Sequence[_Sample]) -> float:
    """Of the statistics of all samples, added up."""
    observed = sum(sample.statistic for sample in samples)
    copies = np.sum([sample.of_copies for sample in samples], axis=0)
    return PValue.of(float(observed), copies).value


def _draw_rows(n: int, n_fresh: int, rng: np.random.Generator) -> tuple[Index, Index]:
    return rng.integers(0, n, n), rng.integers(0, n, n_fresh)


def _rows_of(values: Any) -> Callable[[Index], Any]:
    """How to take rows of whatever holds columns."""
    if hasattr(values, "iloc"):
        return lambda rows: values.iloc[rows]
    if isinstance(values, dict):
        return lambda rows: {name: np.asarray(column)[rows] for name, column in values.items()}
    array = np.asarray(values)
    return lambda rows: array[rows]


def _find_folds(folds: Any, n: int) -> list[Index]:
    numbers = np.asarray(folds)
    if numbers.shape != (n,):
        raise InputError(f"'folds' must have one number per row ({n}).", argument="folds")
    parts = [np.flatnonzero(numbers == fold) for fold in np.unique(numbers)]
    if min(map(len, parts)) < FEWEST_ROWS:
        raise InputError(f"A fold has fewer than {FEWEST_ROWS} rows. Use fewer.", argument="folds")
    return parts


def _check(n_fresh: int, alpha: float, n: int) -> None:
    if n_fresh < 1 or not 0 < alpha < 1:
        raise InputError(
            "'n_fresh' must be 1 or more and 'alpha' between 0 and 1.",
            argument=("n_fresh", "alpha"),
        )
    if n < FEWEST_ROWS:
        raise InputError(f"{n} rows are too few to expect anything from; {FEWEST_ROWS} are needed.")


def _find_interval(chances: Array, weights: Array) -> tuple[float, float]:
    order = np.argsort(chances)
    ends = np.cumsum(weights[order])
    low = chances[order][np.searchsorted(ends, 0.05)]
    high = chances[order][min(int(np.searchsorted(ends, 0.95)), len(ends) - 1)]
    return float(low), float(high)


def _find_binomial(share: float, count: int) -> tuple[float, float]:
    from scipy.stats import beta

    hits = round(share * count)
    low = 0.0 if hits == 0 else float(beta.ppf(0.05, hits, count - hits + 1))
    high = 1.0 if hits == count else float(beta.ppf(0.95, hits + 1, count - hits))
    return low, high
