"""Attributes known as probabilities: imputed several times, and tested on all of them at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, Kind, columns_from
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.evidence.incompleteness.incompleteness_result import ImputedTest
from fairaudit.permute.copies import stream
from fairaudit.testing.core import run_test
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import Bound

__all__ = ["ImputedKPC", "draw_levels", "imputed_test"]

_SUM_OFF = 0.02


@dataclass(slots=True)
class ImputedKPC:
    """KPC of an attribute drawn from its probabilities, as mean over the imputations.

    The table's attributes are the probabilities. What is drawn for a row moves with it, so that
    data and copies are treated alike and the p-value needs no correction.

    Parameters
    ----------
    imputations : range
        Numbers of the draws.
    name : str
    """

    imputations: range
    name: str = "imputed kpc"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        chances = np.column_stack([np.asarray(column.numeric) for column in table.attributes])
        columns = (_impute_column(chances, stream(seed, 12, number)) for number in self.imputations)
        bound = [
            KPCStatistic().bind(
                replace(table, attributes=(column,)), within_outcome=within_outcome, seed=seed
            )
            for column in columns
            if len(column.levels) > 1
        ]
        if not bound:
            return lambda rows: np.zeros(len(rows))
        return lambda rows: np.asarray(np.mean([value_of(rows) for value_of in bound], axis=0))


def imputed_test(
    table: AuditTable,
    name: str,
    *,
    imputations: int = 20,
    alpha: float = 0.05,
    permutations: Permutations | None = None,
) -> ImputedTest:
    """Test an attribute whose probabilities are the attributes of `table`.

    Notes
    -----
    What is tested is whether the prediction, given the outcome, depends on what the probabilities
    were made from. That is the attribute itself if, given attribute and outcome, the prediction
    does not depend on the names and places behind the probabilities. If it does, for instance
    since a postcode is a feature of the model, a fair model may be called unfair.

    The p-values of single imputations depend on each other. Twice their mean would be valid
    (Rüschendorf 1982) but is far less powerful than the mean statistic on shared copies.

    References
    ----------
    Rüschendorf (1982). Random variables with maximum sums. Adv. Appl. Prob. 14(3).
    Chen, Kallus, Mao, Svacha, Udell (2019). Fairness under unawareness. FAT*.
    """
    _check_probabilities(table, name)
    result = run_test(
        table, statistic=ImputedKPC(range(imputations)), permutations=permutations or Permutations()
    )
    settled = result.inconclusive is None and bool(np.isfinite(result.p_value))
    return ImputedTest(
        attribute=name,
        columns=tuple(column.name for column in table.attributes),
        imputations=imputations,
        p_value=result.p_value if settled else None,
        significant=settled and result.p_value <= alpha,
        inconclusive=result.inconclusive,
    )


def draw_levels(chances: Array, rng: np.random.Generator) -> Index:
    """One level per row."""
    passed = np.cumsum(chances, axis=1) < rng.random((len(chances), 1))
    return np.asarray(np.minimum(passed.sum(axis=1), chances.shape[1] - 1), dtype=np.intp)


def _impute_column(chances: Array, rng: np.random.Generator) -> Column:
    codes = draw_levels(chances / chances.sum(axis=1, keepdims=True), rng)
    kinds = {"imputed": Kind.CATEGORICAL.value}
    return columns_from({"imputed": codes}, argument="sensitive", kinds=kinds)[0]


def _check_probabilities(table: AuditTable, name: str) -> None:
    columns = table.attributes
    if len(columns) < 2:
        raise InputError(f"The probabilities of {name!r} need two columns or more.")
    for column in columns:
        if column.numeric is None or column.numeric.min() < 0 or column.numeric.max() > 1:
            raise InputError(f"Column {column.name!r} does not hold probabilities from 0 to 1.")
    total = np.sum([np.asarray(column.numeric) for column in columns], axis=0)
    off = np.abs(total - 1) > _SUM_OFF
    if off.any():
        raise InputError(
            f"The probabilities of {name!r} sum to {total[off][0]:.3g} and not to 1 in "
            f"{int(off.sum())} row(s). Add the column of the other levels, or correct them."
        )
