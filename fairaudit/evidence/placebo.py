"""Self-calibration: on the user's own table, a placebo must not be found and a violation must."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.evidence.power.power_result import Calibration
from fairaudit.permute.copies import FittedCopies, stream
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.evaluation import bind_statistic
from fairaudit.testing.p_value import Null
from fairaudit.testing.statistic import Statistic, list_parts

if TYPE_CHECKING:
    from fairaudit._types import Index, Progress
    from fairaudit.testing.permutation_result import TestResult

__all__ = ["calibrate"]

PLACEBOS, COPIES = 99, 39
PLANTED = 40
SHIFT = 0.8  # standard deviations: large by Cohen's convention
LEVEL = 0.01  # of the check of the placebos
FOUND = 0.8  # share of planted violations that must be found


def calibrate(
    table: AuditTable,
    fitted: FittedCopies,
    statistics: list[Statistic],
    gate: TestResult,
    *,
    alpha: float,
    seed: int,
    threshold: float | None,
    first: int,
    progress: Progress,
) -> Calibration:
    """Run the joint test on placebos and on planted violations.

    A placebo keeps attributes and outcomes and permutes the predictions among rows with the
    same outcome (a continuous one: among 20 neighbors), so that they are independent of the
    attributes given the outcome, exactly. `first` is the number of a copy that is not in use.
    """
    from scipy.stats import kstest

    from fairaudit.evidence.power.plant import field_of

    if table.ids is not None:
        raise InputError(
            "'calibrate' does not work where people have several rows ('ids'). Leave out one of "
            "the two.",
            argument=("calibrate", "ids"),
        )
    if fitted.sampler.moves != "attributes":  # such copies are those of one prediction only
        raise InputError(
            f"'calibrate' needs copies of the attributes, and the law {fitted.law.kind!r} moves "
            "the prediction. Choose another law, or leave out 'calibrate'.",
            argument="calibrate",
        )
    field = field_of(table, threshold)
    moves = WithinOutcome(field.strata, seed + 1).block(range(PLACEBOS))
    p_values = np.empty(PLACEBOS)
    for number, move in enumerate(moves):
        placebo = replace(table, prediction=table.take(move).prediction)
        copies = fitted.sampler.block(range(first, first + COPIES))
        p_values[number] = _test_placebo(placebo, fitted, statistics, copies, seed)
        first += COPIES
        progress("placebos", number + 1, PLACEBOS)
    jitter = stream(seed, 12).random(PLACEBOS) / (COPIES + 1)
    uniform = float(kstest(p_values - jitter, "uniform", alternative="greater").pvalue)
    group, shift, found = _plant_violations(
        table,
        fitted,
        statistics=statistics,
        gate=gate,
        alpha=alpha,
        seed=seed,
        threshold=threshold,
        first=first,
    )
    alarms = float((p_values <= alpha).mean())
    because = ""
    if uniform <= LEVEL:
        because = (
            f"the placebo failed: predictions that are independent of the attributes given the "
            f"outcome get p-values that are too small (p = {uniform:.2g}; {alarms:.0%} at or "
            f"below {alpha:g})"
        )
    elif found < FOUND:
        because = (
            f"the test found a planted violation of {shift:.2f} standard deviations for {group} "
            f"in only {found:.0%} of {PLANTED} tables"
        )
    return Calibration(
        p_values=tuple(map(float, p_values)),
        uniform=uniform,
        alarms=alarms,
        group=group,
        shift=shift,
        found=found,
        because=because,
    )


def _test_placebo(
    table: AuditTable, fitted: FittedCopies, statistics: list[Statistic], copies: Index, seed: int
) -> float:
    together = np.vstack([np.arange(len(table)), copies])
    values = np.column_stack(
        [
            bind_statistic(statistic, table, fitted.sampler, seed)(together)
            for statistic in statistics
        ]
    )
    return Null(values[0], values[1:], list_parts(statistics)[1]).p_value()


def _plant_violations(
    table: AuditTable,
    fitted: FittedCopies,
    statistics: list[Statistic],
    gate: TestResult,
    alpha: float,
    seed: int,
    threshold: float | None,
    first: int,
) -> tuple[str, float, float]:
    """The group, the mean size and the share found of a large violation."""
    from fairaudit.evidence.power.detect import Trial
    from fairaudit.evidence.power.plant import amount_for, field_of, groups_in, shifted

    field = field_of(table, threshold)
    group = min(groups_in(table, 10_000), key=lambda candidate: abs(candidate.member.mean() - 0.5))
    copies = fitted.sampler.block(range(first, first + PLANTED))
    amount = amount_for(
        lambda copy: field.shift(copy, group),
        copies[:16],
        group=group,
        field=field,
        size=SHIFT,
        seed=seed,
    )
    rng = stream(seed, 13)
    planted = np.array([shifted(copy, group, field, amount, rng) for copy in copies])
    trial = Trial(table, fitted, statistics, gate.null, alpha=alpha, seed=seed)
    shift = float(np.mean([field.shift(copy, group) for copy in planted]))
    return group.name, shift, float(trial.rejects(planted).mean())
