"""The evidence of one batch: its copies, their statistics, and the e-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.monitoring.direction import Frame, all_alike
from fairaudit.monitoring.evidence import Evidence
from fairaudit.monitoring.rules import CURRENT, Rules
from fairaudit.monitoring.strategies import Strategies
from fairaudit.testing.choice_of_law import ChoiceOfLaw, prepare_copies
from fairaudit.testing.core import FEWEST_ROWS
from fairaudit.testing.diagnostics import CopyCheck, see_enough
from fairaudit.testing.evaluation import bind_statistic
from fairaudit.testing.p_value import Null
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import Statistic, list_parts, statistic_named

__all__ = ["BatchEvidence", "count_values", "evidence_of", "find_statistics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvidence:
    """What one batch says.

    Attributes
    ----------
    pool : array
        Logarithms of e-values: one row per strategy; one column for the data, the first, and one
        for every copy. The data's alone where the batch may only take evidence.
    products : list of array
        What later batches learn from.
    statistic, p_value : float or None
        Of the ordinary test on this batch alone.
    unusable : str or None
        Why the batch adds no evidence.
    """

    pool: Array
    products: list[Array]
    statistic: float | None
    p_value: float | None
    unusable: str | None

    @property
    def log_e(self) -> Array:
        """Of the data, one per strategy."""
        return np.asarray(self.pool[:, 0])

    def without_gain(self, reason: str) -> BatchEvidence:
        """The same where the batch cannot be trusted: it may take evidence, and gives none."""
        return replace(self, pool=np.minimum(self.pool[:, :1], 0.0), unusable=reason)

    def add_to(self, evidence: Evidence) -> float:
        """Add the batch; returns the logarithm of the boost."""
        boost = evidence.boost(self.pool) if self.pool.shape[1] > 1 else 0.0
        evidence.add(self.log_e, boost)
        return boost


def evidence_of(
    table: AuditTable,
    frame: Frame,
    earlier: Sequence[Sequence[Array]],
    *,
    statistic: Any = "kpc",
    density: Any = "auto",
    permutations: Permutations,
    rules: Rules = CURRENT,
) -> BatchEvidence:
    """The e-values of a batch, given what earlier batches showed (their `products`)."""
    statistics = find_statistics(statistic)
    strategies = Strategies(frame, count_values(statistics), rules)
    reason = _too_little(table)
    if reason is not None:
        nothing = [0.0 * each[0] for each in frame.products(table, np.arange(len(table))[None, :])]
        return BatchEvidence(
            pool=np.zeros((len(strategies.weights), 1)),
            products=nothing,
            statistic=None,
            p_value=None,
            unusable=reason,
        )
    values, products, reason = _statistics(table, frame, statistics, density, permutations)
    null = Null(values[0], values[1:], list_parts(statistics)[1])
    found = BatchEvidence(
        pool=strategies.bet(values, products, earlier),
        products=[each[0] - each.mean(axis=0) for each in products],
        statistic=null.combined()[0],
        p_value=null.p_value(),
        unusable=None,
    )
    return found if reason is None else found.without_gain(reason)


def find_statistics(statistic: Any) -> list[Statistic]:
    """The statistics of a name; each is bet on."""
    chosen = statistic_named(statistic)
    if any(hasattr(each, "tested_rows") for each in chosen):
        raise InputError(
            "A monitor bets on statistics of all rows of a batch. Use kpc, codec, features, "
            "correlation or max."
        )
    return chosen


def count_values(statistics: Sequence[Statistic]) -> int:
    """How many numbers the statistics give together; each is bet on."""
    return len(list_parts(statistics)[0])


def _too_little(table: AuditTable) -> str | None:
    if len(table) < FEWEST_ROWS:
        return f"{len(table)} rows are too few; at least {FEWEST_ROWS} are needed"
    if table.prediction.constant:
        return "the prediction is constant"
    return None


def _statistics(
    table: AuditTable,
    frame: Frame,
    statistics: Sequence[Statistic],
    density: Any,
    permutations: Permutations,
) -> tuple[Array, list[Array], str | None]:
    """Statistics and products, of the data in the first place and then of every copy."""
    outcome, seed = table.require_outcome(), permutations.seed
    fitted = prepare_copies(table, ChoiceOfLaw(density=density), permutations)
    sampler = fitted.sampler
    bound = [bind_statistic(statistic, table, sampler, seed) for statistic in statistics]
    # exact copies need no check: their e-values hold whatever they are
    check = None if sampler.within_outcome else CopyCheck(outcome, table.attributes, fitted, seed)
    itself = np.arange(len(table))[None, :]
    values = [np.column_stack([value(itself) for value in bound])]
    products = [frame.products(table, itself)]
    for numbers, rows in sampler.blocks(permutations.n, permutations.batch_for(sampler.n)):
        if check is not None:
            check.see(numbers, rows)
        values.append(np.column_stack([value(rows) for value in bound]))
        products.append(frame.products(table, rows))
    joined = [np.vstack(blocks) for blocks in zip(*products, strict=True)]
    reason = None
    if check is not None:
        see_enough([check], sampler)
    if check is not None and not (trust := check.trust()).trustworthy:
        reason = trust.because
    elif all(map(all_alike, joined)):
        reason = "no copy differs from the data: nothing can be exchanged given the outcome"
    return np.vstack(values), joined, reason
