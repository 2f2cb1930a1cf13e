"""Could a test have seen, in a new model, the violation that an old model has on the same rows?"""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.evidence.power.detect import POWER
from fairaudit.evidence.power.plant import field_of, give_attributes
from fairaudit.evidence.power.power_result import CarriedPower
from fairaudit.permute.copies import stream
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.evaluation import CombinedParts, bind_combined, bind_parts
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.statistic import Statistic

__all__ = ["POWER", "carried_power", "power_of"]

_SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)  # of the rows that keep the violation
_DRAWS, _HALVES = 8, 40
_CENTERED = 40  # copies by which KPC is 0 on average where there is nothing


def carried_power(
    old: AuditTable,
    new: AuditTable,
    null: Array,
    statistics: list[Statistic],
    *,
    alpha: float,
    seed: int,
) -> CarriedPower | None:
    """Power of the test of `new` against the violation that `old` shows on the same rows.

    Given the outcome, the attributes are brought in such an order that the new score depends on
    them as the old one does: its ranks get the attributes of the old score's ranks. Predictions
    and outcomes stay, so that `null`, the statistics of the audit's copies of `new`, is the null
    distribution of the table so made. Its statistic is a single draw of what such a violation
    gives; its spread comes from random halves of the rows (the deviation of a half from the
    whole varies as the whole does), and is at least that of the copies; for a violation that is
    left in a share of the rows it lies between the two.

    None where people have several rows, whose attributes cannot be exchanged row by row.
    """
    if old.ids is not None or new.ids is not None:
        return None
    within = new.require_outcome().kind.is_categorical
    strata = field_of(new, None).strata
    copy = _carry_over(old, new, strata, seed)
    rng = stream(seed, 14)
    sampler = _make_sampler(new, seed)
    bound = bind_combined(statistics, new, sampler, seed)
    if bound.pool is not None:  # `null` was combined with the data among the copies
        null = bound.combine(bound.pool)
    at_null = float(np.std(null))
    spread_of_halves = _estimate_spread(
        give_attributes(new, copy), statistics, bound, seed=seed, rng=rng
    )
    beyond = max(spread_of_halves**2 - at_null**2, 0.0)

    def power(planted: Index, share: float) -> float:
        spread = float(np.sqrt(at_null**2 + share**2 * beyond))
        return power_of(float(np.mean(bound(planted))), null, spread, alpha)

    whole = power(copy[None], 1.0)
    if whole < POWER:
        return CarriedPower(whole, None, None)
    smallest, planted = 1.0, copy[None]
    for share in _SHARES:  # downwards, as long as the violation is seen
        diluted = np.array([_dilute(copy, strata, share, rng) for _ in range(_DRAWS)])
        if power(diluted, share) < POWER:
            break
        smallest, planted = share, diluted
    size = KPCStatistic(knn=1).bind(new, within_outcome=within, seed=seed)
    without = float(np.mean(size(sampler.block(range(_CENTERED)))))
    return CarriedPower(whole, smallest, (float(np.mean(size(planted))) - without) / (1 - without))


def power_of(value: float, null: Array, spread: float, alpha: float) -> float:
    """Chance of a rejection where the statistic varies around `value` by `spread`."""
    from scipy.special import ndtr

    allowed = int(alpha * (len(null) + 1) + 1e-9) - 1  # copies that may reach a rejected value
    if allowed < 0:
        return 0.0
    critical = float(np.sort(null)[::-1][allowed])
    return float(ndtr((value - critical) / max(spread, 1e-300)))


def _carry_over(old: AuditTable, new: AuditTable, strata: Index, seed: int) -> Index:
    """Row k of `new` gets the attributes of the row at its rank in `old`, given the outcome."""
    orders = [
        np.lexsort((stream(seed, 15, k).random(len(old)), field_of(table, None).score, strata))
        for k, table in enumerate((old, new))
    ]
    copy = np.empty(len(old), dtype=np.intp)
    copy[orders[1]] = orders[0]
    return copy


def _dilute(copy: Index, strata: Index, share: float, rng: np.random.Generator) -> Index:
    """The copy with attributes of all but a share of the rows shuffled given the outcome."""
    shuffled = np.flatnonzero(rng.random(len(copy)) >= share)
    source = shuffled[np.argsort(strata[shuffled], kind="stable")]
    target = shuffled[np.lexsort((rng.random(len(shuffled)), strata[shuffled]))]
    mixed = copy.copy()
    mixed[target] = copy[source]
    return mixed


def _estimate_spread(
    planted: AuditTable,
    statistics: list[Statistic],
    whole: CombinedParts,
    *,
    seed: int,
    rng: np.random.Generator,
) -> float:
    """Of the statistic of such tables."""
    size = len(planted) // 2
    # sums of squares over half of the rows are half as large
    scale = 1.0 if whole.combination is None else len(planted) / size
    values = []
    for _ in range(_HALVES):
        half = planted.take(np.sort(rng.permutation(len(planted))[:size]))
        parts = bind_parts(statistics, half, _make_sampler(half, seed), seed)
        values.append(float(whole.combine(parts(np.arange(size)[None]) * scale)[0]))
    return float(np.std(values))


def _make_sampler(table: AuditTable, seed: int) -> WithinOutcome:
    """Rows of (nearly) the same outcome exchange."""
    sampler = WithinOutcome(field_of(table, None).strata, seed)
    sampler.within_outcome = table.require_outcome().kind.is_categorical
    sampler.near_outcome = not sampler.within_outcome
    return sampler
