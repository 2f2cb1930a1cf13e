"""The evidence of one batch: its copies, their statistics, and the e-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.monitoring.direction import Frame, all_alike, bets
from fairaudit.monitoring.evidence import TILTS, log_e_values
from fairaudit.permute.icp import ICP
from fairaudit.testing.core import FEWEST_ROWS
from fairaudit.testing.diagnostics import CopyCheck, see_enough
from fairaudit.testing.p_value import PValue
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import statistic_named

__all__ = ["FORGETTING", "BatchEvidence", "evidence_of"]

#: What earlier batches showed counts this much less with every batch.
FORGETTING = 0.85
_FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvidence:
    """What one batch says.

    Attributes
    ----------
    log_e : array
        One per strategy: the statistic, then each direction learned, with every tilt.
    products : list of array
        What later batches learn from.
    statistic, p_value : float or None
        Of the ordinary test on this batch alone.
    unusable : str or None
        Why the batch adds no evidence.
    """

    log_e: Array
    products: list[Array]
    statistic: float | None
    p_value: float | None
    unusable: str | None


def evidence_of(
    table: AuditTable,
    frame: Frame,
    earlier: Sequence[Sequence[Array]],
    *,
    statistic: Any = "kpc",
    density: Any = "auto",
    permutations: Permutations,
) -> BatchEvidence:
    """The e-values of a batch, given what earlier batches showed (their `products`)."""
    reason = _too_little(table)
    if reason is not None:
        nothing = [0.0 * each[0] for each in frame.products(table, np.arange(len(table))[None, :])]
        return BatchEvidence(
            log_e=np.zeros((1 + len(nothing)) * len(TILTS)),
            products=nothing,
            statistic=None,
            p_value=None,
            unusable=reason,
        )
    values, products, reason = _statistics(table, frame, statistic, density, permutations)
    log_e = [log_e_values(values[0], values[1:])]
    for number, each in enumerate(products):
        along = bets(_learn([products[number] for products in earlier], each.shape[1]), each)
        log_e.append(log_e_values(along[0], along[1:]))
    joined = np.concatenate(log_e)
    if reason is not None:  # copies that failed their check may take evidence, and give none
        joined = np.minimum(joined, 0.0)
    p_value = PValue.of(values[0], values[1:]).value
    centered = [each[0] - each.mean(axis=0) for each in products]
    return BatchEvidence(
        log_e=joined,
        products=centered,
        statistic=float(values[0]),
        p_value=p_value,
        unusable=reason,
    )


def _too_little(table: AuditTable) -> str | None:
    if len(table) < FEWEST_ROWS:
        return f"{len(table)} rows are too few; at least {FEWEST_ROWS} are needed"
    if table.prediction.constant:
        return "the prediction is constant"
    return None


def _statistics(
    table: AuditTable, frame: Frame, statistic: Any, density: Any, permutations: Permutations
) -> tuple[Array, list[Array], str | None]:
    """Statistic and products, of the data in the first place and then of every copy."""
    chosen = statistic_named(statistic)
    if len(chosen) != 1 or hasattr(chosen[0], "tested_rows"):
        raise InputError(
            "A monitor bets on one statistic. Use kpc, codec, features or correlation."
        )
    outcome, seed = table.require_outcome(), permutations.seed
    fitted = ICP(density, _FOLDS if len(table) >= 4 * _FOLDS else 1).prepare(
        outcome,
        table.attributes,
        steps=permutations.steps,
        seed=seed,
        units=None if table.ids is None else table.ids.codes,
        prediction=table.prediction.matrix(),
    )
    sampler = fitted.sampler
    bound = chosen[0].bind(table, within_outcome=sampler.within_outcome, seed=seed)
    # exact copies need no check: their e-values hold whatever they are
    check = None if sampler.within_outcome else CopyCheck(outcome, table.attributes, fitted, seed)
    itself = np.arange(len(table))[None, :]
    values, products = [bound(itself)], [frame.products(table, itself)]
    for numbers, rows in sampler.blocks(permutations.n, permutations.batch_for(sampler.n)):
        if check is not None:
            check.see(numbers, rows)
        values.append(bound(rows))
        products.append(frame.products(table, rows))
    joined = [np.vstack(blocks) for blocks in zip(*products, strict=True)]
    reason = None
    if check is not None:
        see_enough([check], sampler)
    if check is not None and not (trust := check.trust()).trustworthy:
        reason = trust.because
    elif all(map(all_alike, joined)):
        reason = "no copy differs from the data: nothing can be exchanged given the outcome"
    return np.concatenate(values), joined, reason


def _learn(earlier: Sequence[Array], width: int) -> Array:
    """The sum of what was shown, the older the less; nothing before the second batch."""
    if not earlier:
        return np.zeros(width)
    ages = np.arange(len(earlier))[::-1]
    return np.asarray((FORGETTING**ages) @ np.array(earlier))
