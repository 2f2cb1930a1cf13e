"""X ⟂ Y | Z under general names: the machinery of equalized odds for other fields."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairaudit.data.columns import Column, columns_from
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError, retold
from fairaudit.evidence.localization.conditional import ConditionalP, conditional_p
from fairaudit.geometry.blas_threads import one_blas_thread
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.testing.core import FEWEST_ROWS, equalized_odds_test
from fairaudit.testing.p_value import PValue
from fairaudit.testing.permutation_result import TestResult
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.trust import Trust

__all__ = ["conditional_independence_test"]

#: What the arguments are called there → here.
_NAMES = {"y_pred": "x", "sensitive": "y", "y_true": "z", "prediction": "x", "outcome": "z"}
_OF_DRAWING = ("permutations", "kinds", "groups")


def conditional_independence_test(x: Any, y: Any, z: Any, **options: Any) -> TestResult:
    """Test X ⟂ Y | Z; any kinds and numbers of columns of X, Y and Z.

    Parameters
    ----------
    x : array, series or frame
        Numbers, labels, or one probability column per class.
    y : array, series, frame or mapping of columns
    z : array, series, frame or mapping of columns
        What is conditioned on.
    **options
        Of `equalized_odds_test`: X plays the prediction, Y the attributes, Z the outcome. Where Z
        has several columns and one of them is a number: `permutations`, `kinds` and `groups`.

    Returns
    -------
    TestResult

    Notes
    -----
    One column of Z, or several of categories (rows that agree in all of them form a class): Y is
    permuted given Z, as in `equalized_odds_test`. Several columns with numbers among them: hardly
    any rows agree, and X and functions of Y are both freed from what a flexible regression on Z
    explains. The statistic is the largest studentized sum of products of these residuals, whose
    signs are drawn anew for the null (the generalized covariance measure of Shah and Peters 2020,
    with weights); its p-value holds as far as the product of both regressions' errors is small.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z, x, y = rng.normal(size=(3, 200))
    >>> result = conditional_independence_test(z + x, z + y, z, permutations=Permutations(n=99))
    >>> result.p_value > 0.05
    True
    >>> several = np.column_stack([z, rng.normal(size=200)])
    >>> few = Permutations(n=99)
    >>> conditional_independence_test(z + x, x + y, several, permutations=few).p_value <= 0.05
    True
    """
    try:
        given = _read_columns(z, options.get("kinds"))
        if len(given) == 1:
            return equalized_odds_test(x, y_true=z, sensitive=y, **options)
        if all(column.kind.is_categorical for column in given):
            classes = find_tied_blocks(given, len(given[0])).of_row.astype(str)
            return equalized_odds_test(x, y_true=classes, sensitive=y, **options)
        return _by_regressions(x, y, given, options)
    except InputError as error:
        raise retold(error, _rename(str(error))) from None


def _read_columns(z: Any, kinds: Mapping[str, str] | None) -> tuple[Column, ...]:
    """The columns of Z; names that Y has too are told apart."""
    known = (
        None
        if kinds is None or not hasattr(z, "columns")
        else {str(name): kinds[str(name)] for name in z.columns if str(name) in kinds}
    )
    return tuple(columns_from(z, argument="y_true", kinds=known or None))


def _rename(text: str) -> str:
    """In the words of this function."""
    named = re.sub(r"'(\w+)'", lambda match: f"'{_NAMES.get(match[1], match[1])}'", text)
    return named.replace("Sensitive column", "Column")


@one_blas_thread()
def _by_regressions(
    x: Any, y: Any, given: Sequence[Column], options: Mapping[str, Any]
) -> TestResult:
    for name in options:
        if name not in _OF_DRAWING:
            raise InputError(
                f"Where 'z' has several columns with numbers among them, {name!r} is not used. "
                "Leave it out.",
                argument=name,
            )
    permutations = options.get("permutations") or Permutations()
    if permutations.stops_early:
        raise InputError(
            "Where 'z' has several columns with numbers among them, all copies are drawn. Set "
            "'permutations' to a number.",
            argument="permutations",
        )
    start = time.process_time()
    first = next(column for column in given if not column.kind.is_categorical)
    table = AuditTable.of(
        x, y, np.asarray(first.numeric), ids=options.get("groups"), kinds=options.get("kinds")
    )
    others = tuple(column for column in given if column is not first)
    count = len(table.attributes)
    table = _with_attributes(table, others)
    answer = conditional_p(table, range(count), permutations)
    return _make_result(answer, permutations, len(table), time.process_time() - start)


def _with_attributes(table: AuditTable, more: tuple[Column, ...]) -> AuditTable:
    from dataclasses import replace

    renamed = tuple(replace(column, name=f"z: {column.name}") for column in more)
    return replace(table, attributes=(*table.attributes, *renamed))


def _make_result(
    answer: ConditionalP, permutations: Permutations, rows: int, seconds: float
) -> TestResult:
    words = "signs of products of residuals given z"
    because = "residuals of flexible regressions on z; holds where their errors are small"
    reason = None
    if answer.value is None:
        reason = "y does not vary among rows that agree in z"
    elif rows < FEWEST_ROWS:
        reason = f"{rows} rows are too few; at least {FEWEST_ROWS} are needed"
    p = PValue.of(answer.statistic, np.asarray(answer.null))
    return TestResult(
        statistic=answer.statistic,
        p_value=float("nan") if answer.value is None else answer.value,
        interval=(0.0, 1.0) if answer.value is None else p.interval,
        null=np.asarray(answer.null),
        name="largest studentized product",
        n=rows,
        density=words,
        scores={},
        diagnostics=Trust(
            trustworthy=reason is None,
            because=reason or because,
            copies_by=words,
            copy_check=None,
            calibration=None,
            moved=1.0,
            distinct=permutations.n,
        ),
        inconclusive=reason,
        permutations=permutations,
        seconds={"fit": seconds},
        parts={},
    )
