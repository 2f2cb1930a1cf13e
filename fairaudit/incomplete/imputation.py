"""Attributes known as probabilities: imputed several times, tested each time, combined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairaudit.columns import Kind, columns_from
from fairaudit.errors import InputError
from fairaudit.incomplete.result import ImputedTest
from fairaudit.kernels import Array, Index
from fairaudit.permute.base import stream
from fairaudit.permute.icp import ICP
from fairaudit.table import AuditTable
from fairaudit.testing.core import run_test
from fairaudit.testing.permutations import Permutations

__all__ = ["drawn_levels", "imputed_test", "twice_the_mean"]

_SUM_OFF = 0.02


def twice_the_mean(p_values: Array) -> float:
    """A p-value from p-values that depend on each other in any way (Rüschendorf 1982)."""
    return min(1.0, 2 * float(np.mean(p_values)))


def imputed_test(
    table: AuditTable,
    name: str,
    levels: tuple[str, ...],
    *,
    imputations: int = 20,
    alpha: float = 0.05,
    permutations: Permutations | None = None,
    density: str = "auto",
) -> ImputedTest:
    """Test an attribute whose probabilities are the attributes of `table`, in this order.

    Notes
    -----
    What is tested is whether the prediction, given the outcome, depends on what the probabilities
    were made from. That is the attribute itself if, given attribute and outcome, the prediction
    does not depend on the names and places behind the probabilities. If it does, for instance
    since a postcode is a feature of the model, a fair model may be called unfair.

    References
    ----------
    Rüschendorf (1982). Random variables with maximum sums. Adv. Appl. Prob. 14(3).
    Vovk and Wang (2020). Combining p-values via averaging. Biometrika 107(4).
    Chen, Kallus, Mao, Svacha, Udell (2019). Fairness under unawareness. FAT*.
    """
    drawn = permutations or Permutations()
    chances = _chances(table, name)
    p_values = []
    for number in range(imputations):
        codes = drawn_levels(chances, stream(drawn.seed, 12, number))
        if len(np.unique(codes)) < 2:
            p_values.append(1.0)
            continue
        values = {name: np.array(levels, dtype=object)[codes]}
        kinds = {name: Kind.CATEGORICAL.value}
        (column,) = columns_from(values, argument="sensitive", kinds=kinds)
        one = replace(drawn, seed=drawn.seed + 1 + number)
        result = run_test(replace(table, attributes=(column,)), statistic="kpc",
                          copies=ICP(density), permutations=one)  # fmt: skip
        if result.inconclusive is not None:
            raise InputError(f"The test of {name!r} is not settled: {result.inconclusive}.")
        p_values.append(result.p_value)
    p = twice_the_mean(np.array(p_values))
    return ImputedTest(name, levels, tuple(p_values), p, p <= alpha)


def drawn_levels(chances: Array, rng: np.random.Generator) -> Index:
    """One level per row."""
    passed = np.cumsum(chances, axis=1) < rng.random((len(chances), 1))
    return np.asarray(np.minimum(passed.sum(axis=1), chances.shape[1] - 1), dtype=np.intp)


def _chances(table: AuditTable, name: str) -> Array:
    columns = table.attributes
    if len(columns) < 2:
        raise InputError(f"The probabilities of {name!r} need two columns or more.")
    for column in columns:
        if column.numeric is None or column.numeric.min() < 0 or column.numeric.max() > 1:
            raise InputError(f"Column {column.name!r} does not hold probabilities from 0 to 1.")
    chances = np.column_stack([np.asarray(column.numeric) for column in columns])
    off = np.abs(chances.sum(axis=1) - 1) > _SUM_OFF
    if off.any():
        raise InputError(
            f"The probabilities of {name!r} sum to {chances[off][0].sum():.3g} in "
            f"{int(off.sum())} row(s) and not to 1. Add the column of the other levels, or correct "
            "them."
        )
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
