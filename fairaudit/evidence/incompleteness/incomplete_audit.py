"""What an audit can say where attributes are missing or uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Index
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.columns import Column, Kind, columns_from, level_text
from fairaudit.data.groups import GroupTable, Labels
from fairaudit.data.missing_values import MISSING_LEVEL
from fairaudit.data.rates import RATES
from fairaudit.data.roles import Roles
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.disclosure import coarse, step_of
from fairaudit.evidence.incompleteness.attribute_tables import attribute_tables
from fairaudit.evidence.incompleteness.imputation import imputed_test
from fairaudit.evidence.incompleteness.incompleteness_result import (
    Bounds,
    Fillings,
    IncompleteResult,
    MissingnessTest,
)
from fairaudit.evidence.incompleteness.masked_levels import Masked
from fairaudit.evidence.incompleteness.number_groups import NumberGroups, number_groups
from fairaudit.evidence.incompleteness.worst_case import Filling, best_gap, gap, worst_gap
from fairaudit.metrics._labels import binary_labels
from fairaudit.permute.copies import stream
from fairaudit.testing.core import run_test
from fairaudit.testing.multiplicity import adjust_p_values
from fairaudit.testing.permutations import Permutations

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.models import Predictor

__all__ = ["audit_incomplete", "incomplete_frame"]

RANDOM_FILLINGS = 5


@swaps_refused
def audit_incomplete(
    y_pred: Any,
    y_true: Any,
    sensitive: Any = None,
    *,
    probabilities: Mapping[str, Any] | None = None,
    threshold: float | None = None,
    positive: Any = None,
    classes: Mapping[str, Any] | None = None,
    alpha: float = 0.05,
    imputations: int = 20,
    permutations: Permutations | None = None,
    suppress: int = 0,
) -> IncompleteResult:
    """Test missingness, bound gaps over fillings, and test attributes known as probabilities.

    Parameters
    ----------
    y_pred, y_true : array or series
        Prediction (one column of labels or scores) and outcome.
    sensitive : frame or mapping of columns, optional
        Missing values are NaN or None.
    probabilities : mapping of name to frame, optional
        One column per level, which sum to 1.
    threshold : float, optional
        Turns scores into labels for the gaps.
    positive, classes
        See `fairaudit.data.roles.Roles`.
    alpha : float
    imputations : int
    permutations : Permutations, optional
    suppress : int
        Groups of fewer people, or with fewer of one outcome, are left out of the gaps with those
        that an audit masks for their sake; what would tell their counts is masked or rounded.

    Returns
    -------
    IncompleteResult

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, group = rng.integers(0, 2, (2, 400))
    >>> score = y + rng.normal(size=400)
    >>> sex = np.where(rng.random(400) < 0.2, None, np.array(["f", "m"])[group])
    >>> result = audit_incomplete(score, y_true=y, sensitive={"sex": sex},
    ...                           permutations=Permutations(n=99))
    >>> result.missingness[0].missing, result.missingness[0].significant
    (79, False)
    """
    import pandas as pd

    parts = {"y_pred": np.asarray(y_pred), "y_true": np.asarray(y_true)}
    if any(values.ndim != 1 for values in parts.values()):
        raise InputError(
            "Prediction and outcome must be one column each. Pass one-dimensional arrays."
        )
    sensitive_columns = {} if sensitive is None else dict(sensitive)
    attributes = {str(name): np.asarray(column) for name, column in sensitive_columns.items()}
    groups = {
        name: {str(level): np.asarray(column) for level, column in dict(columns).items()}
        for name, columns in (probabilities or {}).items()
    }
    everything = parts | attributes
    for columns in groups.values():
        everything |= columns
    if len(everything) < 2 + len(attributes) + sum(map(len, groups.values())):
        raise InputError("Two columns have the same name. Rename one.")
    if len({len(values) for values in everything.values()}) > 1:
        sizes = ", ".join(f"{name}: {len(values)}" for name, values in everything.items())
        raise InputError(f"Columns differ in length ({sizes}). Pass columns of the same rows.")
    frame = pd.DataFrame(everything)
    roles = Roles(
        sensitive=tuple(attributes),
        outcome="y_true",
        predictions=("y_pred",),
        threshold=threshold,
        positive=positive,
        classes=dict(classes or {}),
    )
    columns_of = {name: tuple(columns) for name, columns in groups.items()}
    return incomplete_frame(
        frame,
        roles,
        columns_of,
        alpha=alpha,
        imputations=imputations,
        permutations=permutations,
        suppress=suppress,
    )


def incomplete_frame(
    frame: pd.DataFrame,
    roles: Roles,
    probabilities: Mapping[str, Sequence[str]],
    *,
    predictor: Predictor | None = None,
    alpha: float = 0.05,
    imputations: int = 20,
    permutations: Permutations | None = None,
    suppress: int = 0,
) -> IncompleteResult:
    """The same for one table with named columns; `probabilities` name columns per attribute."""
    if suppress < 0:
        raise InputError(f"'suppress' must be 0 or more. Got {suppress}.", argument="suppress")
    if roles.weights is not None:
        raise InputError(
            "Gaps over fillings of missing values count rows and take no weights. Leave out the "
            f"column of weights ({roles.weights})."
        )
    permutations = permutations or Permutations()
    tests: list[MissingnessTest] = []
    bounds: list[Bounds] = []
    fillings: list[Fillings] = []
    prepared, likely, known = attribute_tables(frame, roles, probabilities, predictor)
    notes = [f"{name} is known in every row." for name in known]
    masked = Masked.of([table for table, number in prepared.values() if not number], suppress)
    for name, (table, number) in prepared.items():
        if not _is_missing(table.attributes[0]).any():
            notes.append(f"{name} is known in every row.")
            continue
        tests.append(masked.count(_test_missingness(table, name, permutations)))
        if number:
            notes.append(f"{name} is a number: gaps and fillings are for categories only.")
            continue
        groups = _find_groups(table, roles.threshold)
        if groups is None:
            notes.append(
                f"No gaps of {name}: they need labels and an outcome of two classes, or "
                "'positive', or numbers and a continuous outcome that groups share."
            )
            continue
        gaps, left_out = groups.bounds(masked)
        bounds += gaps
        if left_out:
            notes.append(
                f"Groups of {name} that have fewer than {suppress} people, or of one outcome, are "
                f"left out of its gaps, with others that protect them: {left_out}."
            )
        if gaps and masked.any:
            notes.append(f"Bounds of the gaps of {name} are rounded up, since groups are masked.")
        fillings.append(_test_fillings(table, groups, name, permutations))
    imputed = [
        imputed_test(table, name, imputations=imputations, alpha=alpha, permutations=permutations)
        for name, table in likely.items()
    ]
    if not tests and not imputed and not notes:
        raise InputError("Nothing to look at. Name attributes, or the probabilities of one.")
    return IncompleteResult(
        alpha=alpha,
        missingness=_adjust_tests(tests, alpha),
        bounds=tuple(bounds),
        fillings=tuple(fillings),
        imputed=tuple(imputed),
        notes=tuple(notes),
        suppress=suppress,
    )


def _test_missingness(table: AuditTable, name: str, permutations: Permutations) -> MissingnessTest:
    missing = _is_missing(table.attributes[0])
    (column,) = columns_from({f"{name} is missing": missing}, argument="sensitive")
    result = run_test(
        replace(table, attributes=(column,)), statistic="omnibus", permutations=permutations
    )
    p = result.p_value if np.isfinite(result.p_value) and result.inconclusive is None else None
    return MissingnessTest(
        attribute=name,
        missing=int(missing.sum()),
        rows=len(table),
        p_value=p,
        p_adjusted=None,
        significant=False,
        inconclusive=result.inconclusive,
    )


def _is_missing(column: Column) -> Any:
    own = np.array([level_text(level) == MISSING_LEVEL for level in column.levels])
    return own[column.codes]


def _adjust_tests(tests: list[MissingnessTest], alpha: float) -> tuple[MissingnessTest, ...]:
    raised = adjust_p_values(
        [1.0 if test.p_value is None else test.p_value for test in tests], "holm"
    )
    return tuple(
        test if test.p_value is None else replace(test, p_adjusted=p, significant=p <= alpha)
        for test, p in zip(tests, raised, strict=True)
    )


def _find_groups(table: AuditTable, threshold: float | None) -> _KnownGroups | NumberGroups | None:
    """Groups with rates, or with predictions given a continuous outcome; None: neither."""
    labels = _find_labels(table, threshold)
    return number_groups(table) if labels is None else _KnownGroups(table, labels)


def _find_labels(table: AuditTable, threshold: float | None) -> Labels | None:
    """Prediction and outcome as positive or not, where there are such labels."""
    cut = default_threshold(table) if threshold is None else threshold
    try:
        return binary_labels(table, threshold=cut)
    except InputError:
        return None


class _KnownGroups:
    """The groups of one attribute that are known, and the rows of which it is missing."""

    def __init__(self, table: AuditTable, labels: Labels) -> None:
        self.column, self.labels = table.attributes[0], labels
        groups = GroupTable.of(table, labels)
        self.names = np.array([name for (name,) in groups.names], dtype=object)
        self.codes = np.flatnonzero(self.names != MISSING_LEVEL)
        self.counts = groups.counts[:, self.codes]  # outcomes × known groups × labels
        self.missing = groups.counts.sum(axis=1) - self.counts.sum(axis=1)

    def bounds(self, masked: Masked) -> tuple[list[Bounds], int]:
        """Bounds between groups that are not masked, and how many are."""
        results: list[Bounds] = []
        attribute, names = self.column.name, self.names[self.codes]
        open_groups = np.array([name not in masked.levels.get(attribute, ()) for name in names])
        for y in (1, 0) if open_groups.sum() > 1 else ():
            counts = self.counts[y, open_groups]
            worst, pair = worst_gap(counts, self.missing[y])
            best, known = best_gap(counts, self.missing[y])[0], gap(counts)
            if masked.any:
                rows = counts.sum(axis=1)
                step = step_of(masked.fewest, 2 * min(rows[rows > 0], default=1))
                best, worst = (
                    min(1.0, coarse(size, step, up=True) or 0.0) for size in (best, worst)
                )
                if masked.inside(attribute, names[open_groups]):
                    known = coarse(known, step)
            favored, other = (str(names[open_groups][k]) for k in pair)
            results.append(
                Bounds(
                    attribute=attribute,
                    rate=RATES[y],
                    known=known,
                    best=best,
                    worst=worst,
                    worst_pair=(favored, other),
                )
            )
        return results, int((~open_groups).sum())

    def fill(self, how: Filling, rng: np.random.Generator) -> Index:
        """Codes without missing ones: the worst case, the best case, or at random."""
        codes = self.column.codes.copy()
        missing = _is_missing(self.column)
        for y, (counts, left) in enumerate(zip(self.counts, self.missing, strict=True)):
            of_outcome = missing & (self.labels.actual == y)
            if how is Filling.RANDOM:
                rows, share = np.flatnonzero(of_outcome), counts.sum(axis=1) / counts.sum()
                codes[rows] = rng.choice(self.codes, len(rows), p=share)
                continue
            if how is Filling.WORST:
                _, pair = worst_gap(counts, left)
                filling = np.zeros_like(counts)
                filling[pair, (1, 0)] = left[::-1]
            else:
                _, filling = best_gap(counts, left)
            for label in (1, 0):
                rows = np.flatnonzero(of_outcome & (self.labels.predicted == label))
                codes[rng.permutation(rows)] = np.repeat(self.codes, filling[:, label])
        return codes


def _test_fillings(
    table: AuditTable, groups: _KnownGroups | NumberGroups, name: str, permutations: Permutations
) -> Fillings:
    ways = {how.value: how for how in (Filling.WORST, Filling.BEST)}
    ways |= {f"{Filling.RANDOM.value} {k + 1}": Filling.RANDOM for k in range(RANDOM_FILLINGS)}
    tried = {}
    for number, (title, how) in enumerate(ways.items()):
        codes = groups.fill(how, stream(permutations.seed, 13, number))
        (column,) = columns_from(
            {name: groups.names[codes]}, argument="sensitive", kinds={name: Kind.CATEGORICAL.value}
        )
        result = run_test(
            replace(table, attributes=(column,)), statistic="omnibus", permutations=permutations
        )
        if np.isfinite(result.p_value):
            tried[title] = result.p_value
    return Fillings(name, tried, min(tried.values(), default=1.0), max(tried.values(), default=1.0))
