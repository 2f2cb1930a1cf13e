"""Is the candidate not less fair? The margin, the verdict and its sentence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairaudit._words import figures
from fairaudit.comparison.bands import Interval
from fairaudit.comparison.comparison_result import ComparisonVerdict, Difference
from fairaudit.comparison.paired_groups import PairedGroups
from fairaudit.comparison.paired_measures import (
    CONFUSION,
    ERRORS,
    NAMES,
    measure_groups,
    usable_measures,
)
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError

__all__ = ["MARGIN", "decide_verdict", "explain_shown", "margin_from", "names_every_class"]

#: By how much a candidate may be worse unless the caller says otherwise; of a continuous outcome,
#: times its standard deviation.
MARGIN = 0.05
_ALIASES = {"eod": "equalized_odds_difference", "error_gap": "mean_error_difference"}


def names_every_class(margin: float | Mapping[str, float] | None, table: AuditTable) -> bool:
    """Whether the whole confusion of more than two classes is compared, not one class and the rest.

    So it is where the margin says so, and where neither it nor `positive` says otherwise.
    """
    outcome = table.require_outcome()
    if not outcome.kind.is_categorical or len(outcome.levels) < 3:
        return False
    named = {_ALIASES.get(name, name) for name in margin} if isinstance(margin, Mapping) else set()
    if named & set(NAMES):
        return CONFUSION in named
    return table.positive is None


def margin_from(
    margin: float | Mapping[str, float] | None, groups: PairedGroups, table: AuditTable
) -> tuple[str, float]:
    """The measure that decides, and by how much the candidate may be worse in it."""
    usable = usable_measures(groups)
    measure, size = usable[0], None
    if isinstance(margin, Mapping):
        if len(margin) != 1:
            raise InputError(f"One measure decides. Got {len(margin)} margins; name one.")
        ((name, size),) = margin.items()
        measure = _ALIASES.get(name, name)
        if measure == ERRORS and not groups.rates:
            raise InputError(
                f"The margin names {name!r}, which is not 0 under equalized odds (a constant "
                "prediction has unequal mean errors). Name prediction_gap, which is."
            )
        if measure not in usable:
            raise InputError(
                f"The margin names {name!r}; these models can be compared by: {', '.join(usable)}."
            )
    elif margin is not None:
        size = margin
    if size is None:
        spread = 1.0 if groups.rates else float(np.std(np.asarray(table.require_outcome().numeric)))
        size = MARGIN * spread
    if not 0 <= size < np.inf:
        raise InputError(f"The margin must be 0 or more. Got {size!r}.")
    return measure, float(size)


def decide_verdict(
    measure: Difference, margin: float, alpha: float, interval: Interval
) -> tuple[ComparisonVerdict, str]:
    """Non-inferiority first; then whether the candidate is shown to be worse at all."""
    sure = f"{100 * (1 - alpha):g} % confidence"
    change = f"the {measure.name} goes from {measure.baseline:.3f} to {measure.candidate:.3f}"
    if interval.at_most < margin:
        return ComparisonVerdict.NOT_LESS_FAIR, (
            f"Not less fair: {change}; with {sure} the change is {_signed(interval.at_most)} at "
            f"most, below the margin of {figures(margin)}."
        )
    if interval.at_least > 0:
        beyond = (
            f"beyond the margin of {figures(margin)}"
            if interval.at_least > margin
            else f"and it is not shown to be below the margin of {figures(margin)}"
        )
        return ComparisonVerdict.LESS_FAIR, (
            f"Less fair: {change}; with {sure} the change is {_signed(interval.at_least)} at "
            f"least, {beyond}."
        )
    return ComparisonVerdict.INCONCLUSIVE, (
        f"Inconclusive: {change}; these rows show neither that the change is below the margin of "
        f"{figures(margin)} (it may be {_signed(interval.at_most)}) nor that it is above 0."
    )


def explain_shown(
    open_groups: PairedGroups | None,
    measure: str,
    margin: float,
    alpha: float,
    interval: Interval,
    verdict: ComparisonVerdict,
) -> str:
    """The sentence of the verdict in numbers of the groups that are not masked."""
    if open_groups is not None and np.isfinite(interval.at_most):
        same, because = decide_verdict(
            measure_groups(open_groups, measure, interval), margin, alpha, interval
        )
        if same is verdict:
            return f"{because} Masked groups are left out of these numbers."
    return (
        f"{verdict.value.capitalize()}: this is what all groups together show at the margin of "
        f"{figures(margin)} of the {NAMES[measure]}; some of them are masked, and the numbers of "
        "the others alone do not show it."
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
