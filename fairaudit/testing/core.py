"""Statistic and copies → p-value."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from fairaudit._types import Array
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.columns import columns_from
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.blas_threads import one_blas_thread
from fairaudit.permute.copies import FittedCopies
from fairaudit.testing.choice_of_law import ChoiceOfLaw, prepare_copies
from fairaudit.testing.evaluation import Evaluation, Scope, make_evaluation
from fairaudit.testing.p_value import Null, PValue
from fairaudit.testing.permutation_result import TestResult
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import Statistic, list_parts, statistic_named
from fairaudit.testing.stopping import Tally
from fairaudit.testing.trust import Trust

__all__ = [
    "FEWEST_ROWS",
    "BlockStore",
    "Scope",
    "equalized_odds_test",
    "judge_null",
    "judge_questions",
    "run_test",
    "run_tests",
]

FEWEST_ROWS = 20
_WITNESS_COPIES = 99
_LOOK = 20  # copies between two looks at what has been settled; changes no result


@swaps_refused
def equalized_odds_test(
    y_pred: Any,
    y_true: Any,
    sensitive: Any,
    *,
    statistic: str | Statistic | Sequence[str | Statistic] = "omnibus",
    density: Any = "auto",
    law: Any = "auto",
    permutations: Permutations | None = None,
    folds: int = 5,
    density_data: tuple[Any, Any] | None = None,
    groups: Any = None,
    kinds: Mapping[str, str] | None = None,
    positive: Any = None,
) -> TestResult:
    r"""Test equalized odds, H0: Ŷ ⟂ A | Y, by conditional permutation of the attributes.

    Parameters
    ----------
    y_pred : array, series or frame
        Scores, labels, or one probability column per class.
    y_true : array or series
        The outcome, categorical or continuous.
    sensitive : array, series, frame or mapping of columns
        Any number of attributes of any kind, tested jointly.
    statistic : str, Statistic, or list
        ``"omnibus"`` (default: linear effects, products, smooth ones, subgroups, spread, and
        effects that change along the outcome, combined), ``"kpc"``, ``"codec"``, ``"deo"``,
        ``"equalized_odds_difference"``, ``"correlation"``, ``"features"``, ``"scan"``,
        ``"hrt"``, ``"max"`` (kpc, correlation and features), an object with `bind`, or a list of
        these (combined after calibration on the same copies). The law `monotone` has a statistic
        of its own, ``"ordered"``, in the place of the default.
    density : str, density or callable
        q(y|a) behind the copies. ``"auto"``: for a categorical outcome ``"exact"`` (permute
        within classes, nothing estimated), else the best of several cheap families by held-out
        likelihood. Other names: see `fairaudit.density.density_named`. A callable is the known
        log-density, ``f(y, a)``.
    law : str or law
        How attributes move given the outcome: ``"auto"``, ``"exact"``, ``"icp"``, ``"local"``,
        ``"cp"``, ``"randomization"``; see `fairaudit.testing.choice_of_law.ChoiceOfLaw`.
    permutations : Permutations, optional
        Number of copies, steps, seed, batch, n_jobs, early stopping.
    folds : int
        Cross-fitting of a fitted density; 1 fits it on the rows that it permutes.
    density_data : tuple (y_true, sensitive), optional
        A separate table to fit the density on, instead of cross-fitting.
    groups : array, optional
        Ids of people with several rows: whole people are permuted.
    kinds : mapping, optional
        Overrides of the inferred kinds.
    positive : optional
        For statistics of rates (``"deo"``, ``"equalized_odds_difference"``): the level of the
        outcome that counts as positive; see `fairaudit.metrics.deo`.

    Returns
    -------
    TestResult

    Notes
    -----
    :math:`p = (1 + \#\{k : t_k \ge t\}) / (K + 1)`. Copies are exchangeable with the data under
    H0 if the density is true, for any number of steps; with ``"exact"`` always.

    References
    ----------
    Lai, Cheng, Guan (2025). FairICP. ICML. Berrett, Wang, Barber, Samworth (2020). The
    conditional permutation test. JRSS B 82(1).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 400))
    >>> score = y + 0.5 * sex + rng.normal(size=400)
    >>> few = Permutations(n=99)
    >>> equalized_odds_test(score, y_true=y, sensitive=sex, permutations=few).p_value
    0.01
    """
    table = AuditTable.of(y_pred, sensitive, y_true, ids=groups, kinds=kinds, positive=positive)
    training = None
    if density_data is not None:
        same = {column.name: column.kind.value for column in table.attributes}
        training = (
            columns_from(density_data[0], argument="y_true", outcome=True)[0],
            columns_from(density_data[1], argument="sensitive", kinds=same),
        )
    return run_test(
        table,
        statistic=statistic,
        choice=ChoiceOfLaw(law, density, folds),
        permutations=permutations or Permutations(),
        training=training,
    )


@one_blas_thread()
def run_test(
    table: AuditTable,
    *,
    statistic: str | Statistic | Sequence[str | Statistic],
    permutations: Permutations,
    choice: ChoiceOfLaw | None = None,
    training: Any = None,
) -> TestResult:
    """The test on a table that has been checked."""
    start = time.process_time()
    choice = choice or ChoiceOfLaw()
    statistics = statistic_named(choice.suit(statistic))
    tested = _take_tested(table, statistics, permutations.seed)
    fitted = prepare_copies(tested, choice, permutations, training=training)
    scope = Scope(table, tested=None if tested is table else tested)
    fit = time.process_time() - start
    (result,) = run_tests([scope], fitted, statistics, permutations)
    result.seconds["fit"] += fit
    return result


class BlockStore(Protocol):
    """Statistics of finished blocks of copies, one array per question."""

    def get(self, numbers: range) -> list[Array] | None: ...

    def put(self, numbers: range, values: list[Array]) -> None: ...


def run_tests(
    scopes: Sequence[Scope],
    fitted: FittedCopies,
    statistics: list[Statistic],
    permutations: Permutations,
    progress: Callable[[int], None] | None = None,
    store: BlockStore | None = None,
    among: Sequence[int] | None = None,
) -> list[TestResult]:
    """Several questions asked of the same copies, which are drawn once.

    `progress` hears how many copies each block had; `store` holds the blocks that an interrupted
    run has finished, and takes the others. `among` has for each question the number of questions
    that its p-value is adjusted for, so that no early stop leaves it too large for a claim.
    """
    evaluation = make_evaluation(scopes, fitted, statistics, permutations)
    return judge_questions(
        evaluation,
        [len(scope.tested or scope.table) for scope in scopes],
        statistics,
        permutations,
        progress=progress,
        store=store,
        among=among,
        witness=lambda trust: _ask_witness(trust, scopes[0], fitted, statistics, permutations.seed),
    )


def judge_questions(
    evaluation: Evaluation,
    rows: Sequence[int],
    statistics: list[Statistic],
    permutations: Permutations,
    *,
    progress: Callable[[int], None] | None = None,
    store: BlockStore | None = None,
    among: Sequence[int] | None = None,
    witness: Callable[[Trust], Trust] | None = None,
) -> list[TestResult]:
    """The same for questions that are bound already, about so many rows each."""
    among = among or [1] * len(rows)
    if any(np.isnan(values).any() for values in evaluation.observed):
        raise InputError(
            "The statistic of the data is not a number. Are predictions so large or so small that "
            "their differences overflow? Rescale them."
        )
    start = time.process_time()
    weights = list_parts(statistics)[1]
    if permutations.stops_early:
        nulls = _draw_until_settled(
            evaluation, permutations, among=among, weights=weights, progress=progress, store=store
        )
    else:
        nulls = _draw_null(evaluation, permutations, progress, store)
    shared = (time.process_time() - start) / len(rows)
    trusts = [evaluation.trust(k) for k in range(len(rows))]
    if witness is not None:
        trusts[0] = witness(trusts[0])
    return [
        judge_null(
            Null(evaluation.observed[k], nulls[k], weights),
            trusts[k],
            statistics=statistics,
            rows=count,
            permutations=permutations,
            seconds={"fit": evaluation.seconds(k), "copies and statistics": shared},
            among=among[k],
        )
        for k, count in enumerate(rows)
    ]


def _ask_witness(
    trust: Trust, scope: Scope, fitted: FittedCopies, statistics: list[Statistic], seed: int
) -> Trust:
    """What copies by another law say, where there are some and all rows are asked about."""
    witness = fitted.witness
    if witness is None or scope.rows is not None or scope.tested is not None:
        return trust
    few = Permutations(n=_WITNESS_COPIES, seed=seed)
    asked = [getattr(statistic, "quick", statistic) for statistic in statistics]
    (result,) = run_tests([scope], witness, asked, few)
    return replace(trust, witness_by=witness.law.words, witness_p=result.p_value)


def _take_tested(table: AuditTable, statistics: list[Statistic], seed: int) -> AuditTable:
    """The rows that are permuted: all, unless a statistic keeps some for fitting."""
    halves = [s for s in statistics if hasattr(s, "tested_rows")]
    if not halves:
        return table
    if len(statistics) > 1:
        raise InputError(
            f"The statistic {halves[0].name!r} tests a part of the rows and cannot be combined."
        )
    return table.take(halves[0].tested_rows(len(table), seed))  # type: ignore[attr-defined]


def _draw_null(
    evaluation: Evaluation,
    permutations: Permutations,
    progress: Callable[[int], None] | None,
    store: BlockStore | None,
) -> list[Array]:
    """Per question the statistics of the copies, one row per copy."""
    ranges = _split_range(permutations.n, evaluation.batch)
    if permutations.n_jobs != 1:
        blocks = _draw_in_parallel(evaluation, ranges, permutations.n_jobs, store)
        return [np.vstack(parts) for parts in zip(*blocks, strict=True)]
    everything = range(len(evaluation.observed))
    values = []
    for numbers in ranges:
        values.append(_evaluate_block(evaluation, numbers, everything, store))
        if progress is not None:
            progress(len(numbers))
    return [np.vstack(blocks) for blocks in zip(*values, strict=True)]


def _split_range(count: int, batch: int) -> list[range]:
    return [range(start, min(start + batch, count)) for start in range(0, count, batch)]


def _evaluate_block(
    evaluation: Evaluation, numbers: range, questions: Sequence[int], store: BlockStore | None
) -> list[Array]:
    finished = None if store is None else store.get(numbers)
    if finished is None:
        finished = evaluation.see(numbers, questions)
        if store is not None:
            store.put(numbers, finished)
    return finished


def _draw_until_settled(
    evaluation: Evaluation,
    permutations: Permutations,
    *,
    among: Sequence[int],
    weights: Sequence[float],
    progress: Callable[[int], None] | None,
    store: BlockStore | None,
) -> list[Array]:
    """Every question up to its boundary; the others go on."""
    tallies = []
    for observed, count in zip(evaluation.observed, among, strict=True):
        boundary = permutations.boundary(len(observed), count)
        assert boundary is not None  # noqa: S101  for mypy: it stops early
        tallies.append(Tally(observed, boundary, permutations.held_out(len(observed)), weights))
    open_questions = list(range(len(tallies)))
    for numbers in _split_range(permutations.n, min(_LOOK, evaluation.batch)):
        parts = _evaluate_block(evaluation, numbers, open_questions, store)
        for k, part in zip(open_questions, parts, strict=True):
            tallies[k].add(part)
        open_questions = [k for k in open_questions if not tallies[k].stopped]
        if progress is not None:
            progress(len(numbers))
        if not open_questions:
            break
    return [tally.values for tally in tallies]


def _draw_in_parallel(
    evaluation: Evaluation, ranges: list[range], jobs: int, store: BlockStore | None
) -> list[list[Array]]:
    """The values of all blocks, in order; those that are kept are not drawn again."""
    from joblib import Parallel, delayed

    finished = {numbers: None if store is None else store.get(numbers) for numbers in ranges}
    missing = [numbers for numbers, values in finished.items() if values is None]
    values_of_copies = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(evaluation.values)(numbers) for numbers in missing
    )
    for numbers, values in zip(missing, values_of_copies, strict=True):
        finished[numbers] = values
        if store is not None:
            store.put(numbers, values)
    return [values for values in finished.values() if values is not None]


def judge_null(
    null: Null,
    trust: Trust,
    *,
    statistics: Sequence[Statistic],
    rows: int,
    permutations: Permutations,
    seconds: dict[str, float],
    among: int = 1,
) -> TestResult:
    """What the statistics of data and copies say, and whether that can be believed."""
    names = [statistic.name for statistic in statistics]
    parts, weights = list_parts(statistics)
    held_out = permutations.held_out(len(parts))
    counted = Null(null.observed, null.copies[held_out:], weights)
    value, copies = counted.combined(null.copies[:held_out] if held_out else None)
    p_value = PValue.of(value, copies, boundary=permutations.boundary(len(parts), among))
    reason = None if trust.trustworthy else trust.because
    if rows < FEWEST_ROWS:
        reason = f"{rows} rows are too few; at least {FEWEST_ROWS} are needed"
    if not np.isfinite(value):
        reason = "the statistic is undefined on this table"
    defined = reason is None or (trust.moved > 0 and rows >= FEWEST_ROWS)
    return TestResult(
        statistic=value,
        p_value=p_value.value if defined else float("nan"),
        interval=p_value.interval if defined else (0.0, 1.0),
        null=copies,
        name=f"combination of {', '.join(names)}" if len(names) > 1 else names[0],
        n=rows,
        density=trust.copies_by,
        scores=trust.scores,
        diagnostics=trust,
        inconclusive=reason,
        permutations=permutations,
        seconds=seconds,
        parts=null.of_each(parts) if len(null.observed) > 1 else {},
    )
