"""Measures of two models on the same rows, with intervals for their difference where one holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairaudit._types import Index
from fairaudit.comparison.bands import Interval, deo_difference, gap_difference, mean_difference
from fairaudit.comparison.comparison_result import ComparedGroup, Difference
from fairaudit.comparison.paired_groups import FEWEST, PairedGroups
from fairaudit.data.rates import deo_of
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.disclosure import LEFT_OUT, without_groups
from fairaudit.metrics._labels import row_weights

__all__ = [
    "CONFUSION",
    "ERRORS",
    "NAMES",
    "intervals_of",
    "list_groups",
    "measure_all_groups",
    "measure_errors",
    "measure_groups",
    "measure_kpc",
    "measure_losses",
    "usable_measures",
]

CONFUSION = "confusion_gap"
NAMES = {
    "equalized_odds_difference": "equalized-odds difference",
    "tpr_gap": "largest TPR gap",
    "fpr_gap": "largest FPR gap",
    "deo": "DEO",
    CONFUSION: "largest gap of all classes",
    "prediction_gap": "largest prediction gap",
    "mean_error_difference": "largest difference of mean errors",
}
ERRORS = "mean_error_difference"
_OF_NUMBERS = ("prediction_gap", ERRORS)
#: Keys and names of the same measures where groups with fewer people are left out.
_LARGE = ("_of_large_groups", f" of groups of {FEWEST}+")
_CLASSES = {
    "equalized_odds_difference": (0, 1),
    "tpr_gap": (1,),
    "fpr_gap": (0,),
    "prediction_gap": (0,),
    "mean_error_difference": (0,),
}
_NOT_FAIRNESS = "calibration; not 0 under equalized odds"


def usable_measures(groups: PairedGroups) -> list[str]:
    """Of these models; the first is the one that decides unless the caller names another."""
    if groups.of_classes:
        return [CONFUSION]
    known = [
        key
        for key in NAMES
        if (key in _OF_NUMBERS) != groups.rates and key not in (ERRORS, CONFUSION)
    ]
    return [key for key in known if key == "deo" or _has_groups(groups, _CLASSES[key])]


def _has_groups(groups: PairedGroups, classes: tuple[int, ...]) -> bool:
    """Whether all these outcomes have groups to compare."""
    return all((groups.class_of == outcome).sum() > 1 for outcome in classes)


def _list_parts(groups: PairedGroups) -> tuple[int, ...]:
    """The shares of a confusion in which groups can be compared."""
    return tuple(np.unique(groups.class_of).tolist())


def intervals_of(groups: PairedGroups, alpha: float, seed: int) -> dict[str, Interval]:
    if not groups.rates:
        return {"prediction_gap": gap_difference(groups, (0,), alpha, seed)}
    if groups.of_classes:
        return {CONFUSION: gap_difference(groups, _list_parts(groups), alpha, seed)}
    intervals = {
        key: gap_difference(groups, _CLASSES[key], alpha, seed)
        for key in ("equalized_odds_difference", "tpr_gap", "fpr_gap")
        if _has_groups(groups, _CLASSES[key])
    }
    intervals["deo"] = deo_difference(groups, alpha, seed)
    return intervals


def measure_groups(groups: PairedGroups, key: str, interval: Interval) -> Difference:
    """A measure of the groups that have enough people, under a name that says so."""
    suffix, which = _LARGE if groups.left_out else ("", "")
    return Difference(
        key=key + suffix,
        name=NAMES[key] + which,
        baseline=_value(groups, key, 0),
        candidate=_value(groups, key, 1),
        low=interval.low,
        high=interval.high,
    )


def measure_all_groups(
    tables: Sequence[AuditTable], groups: PairedGroups, threshold: float | None
) -> list[Difference]:
    """The same measures as everywhere else; no interval holds with groups of few people."""
    from fairaudit.metrics._confusion import confusion_gap, count_predicted
    from fairaudit.metrics._labels import label_groups
    from fairaudit.metrics._odds import odds_difference_of_groups
    from fairaudit.metrics._prediction_gap import _prediction_gap

    measured = []
    for whole in tables:
        categorical = tuple(column for column in whole.attributes if column.kind.is_categorical)
        table = replace(whole, attributes=categorical)
        if not groups.rates:
            measured.append({"prediction_gap": _prediction_gap(table).value})
            continue
        if groups.of_classes:
            of_classes = count_predicted(table)
            measured.append({CONFUSION: confusion_gap(of_classes, of_classes[0].outcomes)[0]})
            continue
        cut = default_threshold(table) if threshold is None else threshold
        counted = label_groups(table, threshold=cut)
        odds = odds_difference_of_groups(counted)
        measured.append(
            {
                "equalized_odds_difference": odds.value,
                "tpr_gap": odds.tpr,
                "fpr_gap": odds.fpr,
                "deo": counted.deo(),
            }
        )
    note = "no interval: has smaller groups"
    return [
        Difference(
            key=key,
            name=NAMES[key],
            baseline=value,
            candidate=measured[1][key],
            low=None,
            high=None,
            note=note,
        )
        for key, value in measured[0].items()
        if np.isfinite([value, measured[1][key]]).all()
    ]


def measure_errors(errors: PairedGroups, alpha: float, seed: int) -> Difference:
    """Mean errors for information: whether they are equal is another question."""
    interval = gap_difference(errors, (0,), alpha, seed)
    before, after = (_value(errors, ERRORS, model) for model in (0, 1))
    suffix, which = _LARGE if errors.left_out else ("", "")
    return Difference(
        key=ERRORS + suffix,
        name=NAMES[ERRORS] + which,
        baseline=before,
        candidate=after,
        low=interval.low,
        high=interval.high,
        note=_NOT_FAIRNESS,
    )


def _value(groups: PairedGroups, key: str, model: int) -> float:
    """The measure of these groups, of one model."""
    rates = groups.raw[model]
    if key == "deo":
        labels = np.stack([1 - rates, rates], axis=-1) * groups.size[:, None]
        by_outcome = [labels[groups.class_of == outcome] for outcome in (0, 1)]
        return sum(float(deo_of(weight[None])) for weight in by_outcome)
    parts = _list_parts(groups) if key == CONFUSION else _CLASSES[key]
    return max(float(np.ptp(rates[groups.class_of == part])) for part in parts)


def measure_losses(
    tables: Sequence[AuditTable], rows: Index, threshold: float | None, alpha: float
) -> list[Difference]:
    """What the change costs or wins in accuracy, in these rows (weighted, if they are)."""
    differences = []
    losses = [_losses(table, threshold) for table in tables]
    if losses[0] is not None and losses[1] is not None:
        first, second = losses[0][rows], losses[1][rows]
        unit = rows if tables[0].ids is None else tables[0].ids.codes[rows]
        weights = row_weights(tables[0])[rows]
        interval = mean_difference(second - first, weights, unit, alpha)
        classes = tables[0].require_outcome().kind.is_categorical
        name = "misclassified" if classes else "mean squared error"
        differences.append(
            Difference(
                key="loss",
                name=name,
                baseline=float(np.average(first, weights=weights)),
                candidate=float(np.average(second, weights=weights)),
                low=interval.low,
                high=interval.high,
            )
        )
    return differences


def _losses(table: AuditTable, threshold: float | None) -> Any:
    from fairaudit.metrics._labels import binary_labels, score_column

    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        numbers = score_column(table.prediction).numeric
        return None if numbers is None else (numbers - np.asarray(outcome.numeric)) ** 2
    cut = default_threshold(table) if threshold is None else threshold
    if table.positive is None:
        return 1.0 - np.sum([_are_right(table, level, cut) for level in outcome.levels], axis=0)
    labels = binary_labels(table, threshold=cut)
    return (labels.predicted != labels.actual).astype(np.float64)


def _are_right(table: AuditTable, level: Any, cut: float | None) -> Any:
    """Rows of one of several classes that are predicted to be of it."""
    from fairaudit.metrics._labels import binary_labels

    labels = binary_labels(replace(table, positive=level), threshold=cut)
    return labels.predicted & labels.actual


def measure_kpc(
    tables: Sequence[AuditTable], masked: Collection[tuple[str, ...]]
) -> list[Difference]:
    """KPC of the rows of groups that are not masked, for which no interval is valid."""
    import fairaudit as fa

    try:
        sizes = [
            float(
                fa.metrics.kpc_centered(
                    table.prediction.columns, sensitive=table.attributes, y_true=table.outcome
                )
            )
            for table in (without_groups(table, masked).keep_one_row_each() for table in tables)
        ]
    except InputError:
        return []
    note = "no valid interval is known"
    if masked:
        note = f"{note}; {LEFT_OUT}"
    return [
        Difference(
            key="kpc",
            name="KPC",
            baseline=sizes[0],
            candidate=sizes[1],
            low=None,
            high=None,
            note=note,
        )
    ]


def list_groups(groups: PairedGroups | None) -> tuple[ComparedGroup, ...]:
    if groups is None:
        return ()
    # TPR before FPR; shares of a confusion by their names
    rank = np.argsort(np.argsort(groups.parts)) if groups.of_classes else -np.arange(2)
    order = sorted(range(len(groups.labels)), key=lambda k: (rank[groups.class_of[k]], k))
    return tuple(
        ComparedGroup(
            levels=groups.labels[k],
            what=groups.parts[groups.class_of[k]],
            people=int(groups.people[k]),
            baseline=float(groups.raw[0, k]),
            candidate=float(groups.raw[1, k]),
        )
        for k in order
    )
