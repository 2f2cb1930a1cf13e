"""From a table and tolerances to certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.groups import GroupTable
from fairaudit.data.rates import RATES, RateTable
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.intervals.bounds import deo_bound, gap_bound
from fairaudit.evidence.intervals.certificates import Certificate
from fairaudit.evidence.intervals.class_gaps import bound_confusion_gap
from fairaudit.evidence.intervals.prediction_gaps import bound_prediction_gap
from fairaudit.metrics._confusion import count_predicted
from fairaudit.metrics._labels import label_groups
from fairaudit.metrics._prediction_gap import GapFits

__all__ = ["MEASURES", "certificates", "certify", "check_limits"]

#: Measures that can be certified, and the columns of rates that the gaps look at.
MEASURES: dict[str, tuple[int, ...]] = {
    "deo": (0, 1),
    "tpr_gap": (1,),
    "fpr_gap": (0,),
    "equalized_odds_difference": (0, 1),
    "kpc": (),
    "confusion_gap": (),
    "prediction_gap": (),
    "prediction_gap_in_ranges": (),
}
#: Those of a continuous outcome, in its units.
_OF_NUMBERS = ("prediction_gap", "prediction_gap_in_ranges")


@swaps_refused
def certify(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    limits: Mapping[str, float],
    *,
    alpha: float = 0.05,
    threshold: float | None = None,
    weights: Any = None,
    ids: Any = None,
    kinds: Mapping[str, str] | None = None,
    positive: Any = None,
) -> tuple[Certificate, ...]:
    """Upper bounds of measures, and whether they lie within tolerances.

    Parameters
    ----------
    y_pred, sensitive, y_true, threshold, weights, kinds, positive
        As for `fairaudit.metrics.deo`.
    limits : mapping
        Measure → tolerance. Measures: ``"deo"``, ``"tpr_gap"``, ``"fpr_gap"`` (largest
        difference between two groups), ``"equalized_odds_difference"`` (the larger of these two)
        and ``"kpc"``; ``"confusion_gap"``, the largest difference in the share of any class that
        is predicted to be of any class. Of a continuous outcome, in its units:
        ``"prediction_gap"``, the largest difference between two groups' predictions given the
        outcome, on average over outcomes, and ``"prediction_gap_in_ranges"``, the same in any
        range of the outcome.
    alpha : float
        Chance of a certificate for a model beyond the tolerance, at most.
    ids : array-like, optional
        People with several rows.

    Returns
    -------
    tuple of Certificate

    References
    ----------
    Berger (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics 24.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, (2, 8000))
    >>> label = (rng.random(8000) < 0.2 + 0.6 * y).astype(int)
    >>> (bound,) = certify(label, sensitive={"sex": sex}, y_true=y, limits={"tpr_gap": 0.1})
    >>> bound.holds, bound.upper < 0.06
    (True, True)
    """
    table = AuditTable.of(
        y_pred, sensitive, y_true, weights=weights, ids=ids, kinds=kinds, positive=positive
    )
    cut = default_threshold(table) if threshold is None else threshold
    return certificates(table, limits, alpha=alpha, threshold=cut)


def check_limits(limits: Mapping[str, float]) -> None:
    """Refuse what cannot be certified whatever the table."""
    for name, limit in limits.items():
        if name not in MEASURES:
            raise InputError(
                f"There is no certificate of {name!r}. Use one of: {', '.join(MEASURES)}."
            )
        if not limit > 0:
            raise InputError(
                f"The tolerance to certify for {name!r} must be above 0. Got {limit!r}: no "
                "amount of data shows that a difference is exactly zero."
            )


def certificates(
    table: AuditTable,
    limits: Mapping[str, float],
    *,
    alpha: float,
    threshold: float | None,
    groups: GroupTable | None = None,
    fits: GapFits | None = None,
) -> tuple[Certificate, ...]:
    """`certify` on a table that has been checked; `groups` and `fits` are its own, if known."""
    check_limits(limits)
    if not limits:
        return ()
    _require_groups(table, limits)
    if not table.require_outcome().kind.is_categorical:
        in_ranges = "prediction_gap_in_ranges" in limits
        fits = GapFits.of(table, ranges=in_ranges) if fits is None else fits
        return tuple(_certify_gap(name, limit, fits, alpha) for name, limit in limits.items())
    rates: RateTable | None = None
    if not set(limits) <= {"kpc", "confusion_gap"}:
        groups = label_groups(table, threshold=threshold) if groups is None else groups
        rates = groups.rates()
    results = []
    for name, limit in limits.items():
        if name == "confusion_gap":
            value, upper, note = bound_confusion_gap(count_predicted(table), alpha)
        elif rates is not None and name != "kpc":
            value, upper, note = _bound_rates(name, rates, alpha)
            if threshold is not None:
                note += f"; labels: scores at or above {threshold:g}"
        else:
            value, upper, note = _bound_kpc(table, alpha)
        results.append(
            Certificate(
                measure=name,
                limit=float(limit),
                value=value,
                upper=upper,
                confidence=1 - alpha,
                note=note,
            )
        )
    return tuple(results)


def _require_groups(table: AuditTable, limits: Mapping[str, float]) -> None:
    """No bound exists for an attribute without categories; each kind of outcome has its own."""
    left = [column for column in table.attributes if not column.kind.is_categorical]
    if left:
        names = ", ".join(f"{column.name} ({column.kind})" for column in left)
        raise InputError(
            f"No certificate is possible with {names}: whatever the data, a prediction could "
            "depend on differences between people that are finer than the sample. Put it into "
            "bins or leave it out of 'sensitive'.",
            argument="sensitive",
        )
    outcome = table.require_outcome()
    classes = outcome.kind.is_categorical
    wrong = [name for name in limits if (name in _OF_NUMBERS) == classes]
    if wrong and classes:
        raise InputError(
            f"No certificate of {wrong[0]} is possible with the outcome {outcome.name!r}, which "
            "has classes. Certify equalized_odds_difference."
        )
    if wrong:
        raise InputError(
            f"No certificate of {wrong[0]} is possible with the outcome {outcome.name!r}, which is "
            f"{outcome.kind}: people with exactly the same outcome are too few. "
            f"Certify {' or '.join(_OF_NUMBERS)}, in its units."
        )


def _certify_gap(name: str, limit: float, fits: GapFits, alpha: float) -> Certificate:
    """Of predictions given a continuous outcome."""
    whole = name == "prediction_gap"
    value, upper, note = bound_prediction_gap([fits.whole] if whole else fits.ranges, alpha)
    if not note:
        where = "on average over outcomes" if whole else f"in {len(fits.ranges)} outcome ranges"
        note = f"largest bound over all pairs of {len(fits.whole.levels)} groups, {where}"
    return Certificate(
        measure=name, limit=float(limit), value=value, upper=upper, confidence=1 - alpha, note=note
    )


def _bound_rates(
    name: str, groups: RateTable, alpha: float
) -> tuple[float | None, float | None, str]:
    outcomes = MEASURES[name]
    for y in outcomes:
        empty = [own for own, size in zip(groups.levels, groups.size[y], strict=True) if not size]
        if empty:
            why = f"no bound: {_name_groups(empty)} no rows to estimate the {RATES[y]} from"
            return None, None, why
    if name == "deo":
        value, upper = deo_bound(groups, alpha)
        return value, upper, "largest bound over all signs of the gaps"
    pairs = [gap_bound(groups, y, alpha) for y in outcomes]
    value, upper = (max(values) for values in zip(*pairs, strict=True))
    return value, upper, f"largest bound over all pairs of {len(groups.levels)} groups"


def _name_groups(groups: list[tuple[str, ...]]) -> str:
    names = "; ".join(", ".join(levels) for levels in groups[:3])
    more = f" and {len(groups) - 3} more groups" if len(groups) > 3 else ""
    return f"{names}{more} {'has' if len(groups) == 1 else 'have'}"


def _bound_kpc(table: AuditTable, alpha: float) -> tuple[float | None, float | None, str]:
    from fairaudit.evidence.intervals.kpc_bound import kpc_bound
    from fairaudit.metrics._kpc_centered import kpc_centered_of_table

    if table.ids is not None and len(np.unique(table.ids.codes)) < len(table):
        raise InputError(
            "KPC cannot be certified where people have several rows ('ids'). Certify deo or "
            "equalized_odds_difference instead.",
            argument="ids",
        )
    upper = kpc_bound(table, alpha)
    value = float(kpc_centered_of_table(replace(table, weights=None)))
    note = "for a population with the shares of this table"
    return value, upper, note if table.weights is None else f"{note}; weights take no part"
