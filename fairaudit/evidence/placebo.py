"""Self-calibration: on the user's own table, a placebo must not be found and a violation must."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.evidence.power.power_result import Calibration
from fairaudit.permute.copies import FittedCopies, stream
from fairaudit.permute.monotone import MONOTONE
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.evaluation import bind_statistic
from fairaudit.testing.p_value import Null
from fairaudit.testing.statistic import Statistic, list_parts

if TYPE_CHECKING:
    from fairaudit._types import Progress
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
    prepare: Callable[[AuditTable], FittedCopies],
    progress: Progress,
) -> Calibration:
    """Run the joint test on placebos and on planted violations.

    A placebo keeps attributes and outcomes and permutes the predictions among rows with the
    same outcome (a continuous one: among 20 neighbors), so that they are independent of the
    attributes given the outcome, exactly. Where copies move the prediction, it is the attributes
    that the placebo permutes: the copies remain those of the prediction at hand. `first` is the
    number of a copy that is not in use; `prepare` makes copies of a law that looks at attributes
    and moves predictions, for other attributes.
    """
    from scipy.stats import kstest

    from fairaudit.evidence.power.plant import field_of, give_attributes

    if table.ids is not None:
        raise InputError(
            "'calibrate' does not work where people have several rows ('ids'). Leave out one of "
            "the two.",
            argument=("calibrate", "ids"),
        )
    test = _Test(fitted, statistics, alpha, seed, prepare)
    field = field_of(table, threshold)
    moves = WithinOutcome(field.strata, seed + 1).block(range(PLACEBOS))
    p_values = np.empty(PLACEBOS)
    for number, move in enumerate(moves):
        moved = replace(table, prediction=table.take(move).prediction)
        placebo = moved if test.moves_attributes else give_attributes(table, move)
        p_values[number] = test.find_p(placebo, first)
        first += COPIES
        progress("placebos", number + 1, PLACEBOS)
    jitter = stream(seed, 12).random(PLACEBOS) / (COPIES + 1)
    uniform = float(kstest(p_values - jitter, "uniform", alternative="greater").pvalue)
    group, shift, found = _plant_violations(table, test, gate, threshold, first)
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


class _Test:
    """The joint test of tables that have the outcomes of the audited one, with its copies."""

    def __init__(
        self,
        fitted: FittedCopies,
        statistics: list[Statistic],
        alpha: float,
        seed: int,
        prepare: Callable[[AuditTable], FittedCopies],
    ) -> None:
        self.fitted, self.statistics, self.alpha, self.seed = fitted, statistics, alpha, seed
        self.prepare = prepare
        self.moves_attributes = fitted.sampler.moves == "attributes"

    def find_p(self, table: AuditTable, first: int, count: int = COPIES) -> float:
        """With copies from number `first` on."""
        fitted = self.fitted
        if fitted.law.kind == MONOTONE.kind:  # its pairs follow from the attributes
            fitted = self.prepare(table)
        copies = fitted.sampler.block(range(first, first + count))
        together = np.vstack([np.arange(len(table)), copies])
        values = np.column_stack(
            [
                bind_statistic(statistic, table, fitted.sampler, self.seed)(together)
                for statistic in self.statistics
            ]
        )
        return Null(values[0], values[1:], list_parts(self.statistics)[1]).p_value()


def _plant_violations(
    table: AuditTable, test: _Test, gate: TestResult, threshold: float | None, first: int
) -> tuple[str, float, float]:
    """The group, the mean size and the share found of a large violation."""
    from fairaudit.evidence.power.detect import Trial
    from fairaudit.evidence.power.plant import (
        amount_for,
        field_of,
        give_attributes,
        groups_in,
        shifted,
    )

    seed, fitted, alpha = test.seed, test.fitted, test.alpha
    field = field_of(table, threshold)
    group = min(groups_in(table, 10_000), key=lambda candidate: abs(candidate.member.mean() - 0.5))
    sampler = fitted.sampler if test.moves_attributes else WithinOutcome(field.strata, seed + 2)
    copies = sampler.block(range(first, first + PLANTED))
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
    shift = float(np.mean([field.shift(copy, group) for copy in planted]))
    if test.moves_attributes:
        trial = Trial(table, fitted, test.statistics, gate.null, alpha=alpha, seed=seed)
        return group.name, shift, float(trial.rejects(planted).mean())
    count = max(COPIES, math.ceil(1 / alpha) - 1)  # every planted table has copies of its own
    found = [
        test.find_p(give_attributes(table, copy), first + number * count, count) <= alpha
        for number, copy in enumerate(planted)
    ]
    return group.name, shift, float(np.mean(found))
