"""Is the candidate not less fair than production? A paired test with a margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairaudit._types import Index
from fairaudit.comparison.bands import Interval, deo_difference, gap_difference, mean_difference
from fairaudit.comparison.cells import FEWEST, PairedCells, error_cells, paired_cells
from fairaudit.comparison.comparison_result import (
    ComparedCell,
    Comparison,
    ComparisonVerdict,
    Difference,
)
from fairaudit.data.columns import level_text
from fairaudit.data.facts import Source
from fairaudit.data.preparation import prepare
from fairaudit.data.roles import Roles, column_names
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError, retold
from fairaudit.evidence.disclosure import coarse, masked_groups, step_of
from fairaudit.models import predictor_of

__all__ = ["MARGIN", "compare", "compare_frame", "margin_from"]

#: By how much a candidate may be worse unless the caller says otherwise; of a continuous outcome,
#: times its standard deviation.
MARGIN = 0.05
_NAMES = {
    "equalized_odds_difference": "equalized-odds difference",
    "tpr_gap": "largest TPR gap",
    "fpr_gap": "largest FPR gap",
    "deo": "DEO",
    "prediction_gap": "largest prediction gap",
    "mean_error_difference": "largest difference of mean errors",
}
_ERRORS = "mean_error_difference"
_OF_NUMBERS = ("prediction_gap", _ERRORS)
_ALIASES = {"eod": "equalized_odds_difference", "error_gap": "mean_error_difference"}
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


def compare(
    baseline: Any,
    candidate: Any,
    frame: Any,
    *,
    sensitive: str | Sequence[str],
    outcome: str | None = None,
    weights: str | None = None,
    ids: str | None = None,
    where: str | None = None,
    missing: str = "auto",
    threshold: float | None = None,
    positive: Any = None,
    classes: Mapping[str, Any] | None = None,
    margin: float | Mapping[str, float] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    suppress: int = 0,
) -> Comparison:
    """Test that a candidate is not less fair than a baseline, on the same rows.

    Parameters
    ----------
    baseline, candidate : object or path
        Fitted models, functions of the table, or model files.
    frame : frame
        Features, outcome and sensitive attributes.
    sensitive : str or sequence of str
        Columns, as ``"race,sex"``; those with categories make the groups.
    outcome, weights, ids, where, missing, threshold, positive, classes
        See `fairaudit.data.roles.Roles`.
    margin : float or mapping
        By how much the candidate may be worse, and in which measure: ``{"eod": 0.03}``. Measures:
        ``equalized_odds_difference`` (or ``eod``; the default for classes), ``tpr_gap``,
        ``fpr_gap``, ``deo``; for a continuous outcome ``prediction_gap``. Default: 0.05, and 0.05
        standard deviations of a continuous outcome.
    alpha : float
        Level of the verdict; intervals have level 1 − alpha.
    seed : int
    suppress : int
        Groups that an audit would mask with this bound are masked: the verdict is that of all
        groups, the numbers beside it are those of the others.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"x": rng.normal(size=4000), "sex": rng.choice(["f", "m"], 4000)})
    >>> frame["y"] = (frame["x"] + rng.normal(size=4000) > 0).astype(int)
    >>> def old(table):
    ...     return 1 / (1 + np.exp(-table["x"]))
    >>> def new(table):
    ...     return 1 / (1 + np.exp(-table["x"] - 1.0 * (table["sex"] == "m")))
    >>> print(compare(old, new, frame, sensitive="sex", outcome="y").verdict)
    less fair
    """
    from fairaudit.data.reading.frames import as_pandas

    roles = Roles(
        sensitive=column_names(sensitive),
        outcome=outcome,
        weights=weights,
        ids=ids,
        where=where,
        missing=missing,
        threshold=threshold,
        positive=positive,
        classes=dict(classes or {}),
    )
    return compare_frame(
        as_pandas(frame),
        roles,
        baseline,
        candidate,
        margin=margin,
        alpha=alpha,
        seed=seed,
        suppress=suppress,
    )


def compare_frame(
    frame: Any,
    roles: Roles,
    baseline: Any,
    candidate: Any,
    *,
    margin: float | Mapping[str, float] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    suppress: int = 0,
) -> Comparison:
    """The same with roles, as the command line has them."""
    from importlib.metadata import version

    from fairaudit.results import now

    if not 0 < alpha < 0.5:
        raise InputError(f"The 'alpha' must lie between 0 and 0.5. Got {alpha:g}.")
    if suppress < 0:
        raise InputError(f"The 'suppress' option must be 0 or more. Got {suppress}.")
    tables, sources, notes = [], [], list[str]()
    for name, model in (("baseline", baseline), ("candidate", candidate)):
        predictor = predictor_of(model)
        try:
            prepared = prepare(frame, roles, predictor)
        except InputError as error:
            raise retold(error, f"The {name}: {error}") from None
        table = prepared.table
        notes += [note for note in prepared.notes if note not in notes]
        roles = replace(roles, outcome=roles.outcome or table.require_outcome().name)
        tables.append(table)
        sources.append(Source(predictor.source or name, predictor.kind, predictor.sha256))
    cells = paired_cells(tables[0], tables[1], roles.threshold)
    measure, allowed = margin_from(margin, cells, tables[0])
    found = _intervals(cells, alpha, seed)
    interval = found[measure]
    decisive = _bounded(cells, measure, interval)
    verdict, because = _decide(decisive, allowed, alpha, interval)
    masked = masked_groups(tables[0], suppress)
    shown: PairedCells | None = cells
    rows = np.arange(len(tables[0]))
    if masked:
        shown = _without(masked, tables, roles.threshold)
        rows = rows[:0] if shown is None else np.flatnonzero(shown.used)
        found = {} if shown is None else _intervals(shown, alpha, seed)
        interval = found.get(measure, Interval(*(float("nan"),) * 4))
        because = _because_of_shown(
            shown, measure, margin=allowed, alpha=alpha, interval=interval, verdict=verdict
        )
    differences: list[Difference] = []
    listed: tuple[ComparedCell, ...] = ()
    if shown is not None:
        order = sorted(found, key=lambda key: key != measure)
        differences += [_bounded(shown, key, found[key]) for key in order]
        listed = _shown(shown)
        if not shown.rates:
            errors = error_cells(tables[0], tables[1], without=masked)
            differences.append(_of_errors(errors, alpha, seed))
            listed = (*(replace(cell, what="prediction gap") for cell in listed), *_shown(errors))
        if cells.left_out and not masked:
            differences += _of_all_groups(tables, cells, roles.threshold)
        differences += _losses_of(tables, rows, roles.threshold, alpha)
    differences += _kpc(tables, step_of(suppress, len(tables[0])) if masked else None)
    return Comparison(
        verdict=verdict,
        because=because,
        measure=decisive.key,
        margin=allowed,
        alpha=alpha,
        at_least=interval.at_least,
        at_most=interval.at_most,
        differences=tuple(differences),
        cells=listed,
        attributes=cells.attributes,
        rows=len(tables[0]),
        models=(sources[0], sources[1]),
        data=data,
        notes=(*notes, *_notes(tables[0], cells, masked)),
        created=now(),
        version=version("fairaudit-icp"),
        command=command,
    )


def _without(
    masked: set[tuple[str, ...]], tables: Sequence[AuditTable], threshold: float | None
) -> PairedCells | None:
    """The cells of the groups that are not masked; None where there are no two to compare."""
    try:
        return paired_cells(tables[0], tables[1], threshold, without=masked)
    except InputError:
        return None


def _because_of_shown(
    shown: PairedCells | None,
    measure: str,
    margin: float,
    alpha: float,
    interval: Interval,
    verdict: ComparisonVerdict,
) -> str:
    """The sentence of the verdict in numbers of the groups that are not masked."""
    if shown is not None and np.isfinite(interval.at_most):
        same, because = _decide(_bounded(shown, measure, interval), margin, alpha, interval)
        if same is verdict:
            return f"{because} Masked groups are left out of these numbers."
    return (
        f"{verdict.value.capitalize()}: this is what all groups together show at the margin of "
        f"{margin:.4g} of the {_NAMES[measure]}; some of them are masked, and the numbers of the "
        "others alone do not show it."
    )


def margin_from(
    given: float | Mapping[str, float] | None, cells: PairedCells, table: AuditTable
) -> tuple[str, float]:
    """The measure that decides, and by how much the candidate may be worse in it."""
    known = [key for key in _NAMES if (key in _OF_NUMBERS) != cells.rates and key != _ERRORS]
    usable = [key for key in known if key == "deo" or _has(cells, _CLASSES[key])]
    measure, size = usable[0], None
    if isinstance(given, Mapping):
        if len(given) != 1:
            raise InputError(f"One measure decides. Got {len(given)} margins; name one.")
        ((name, size),) = given.items()
        measure = _ALIASES.get(name, name)
        if measure == _ERRORS and not cells.rates:
            raise InputError(
                f"The margin names {name!r}, which is not 0 under equalized odds (a constant "
                "prediction has unequal mean errors). Name prediction_gap, which is."
            )
        if measure not in usable:
            raise InputError(
                f"The margin names {name!r}; of these models one can compare: {', '.join(usable)}."
            )
    elif given is not None:
        size = given
    if size is None:
        spread = 1.0 if cells.rates else float(np.std(np.asarray(table.require_outcome().numeric)))
        size = MARGIN * spread
    if not 0 <= size < np.inf:
        raise InputError(f"The margin must be 0 or more. Got {size!r}.")
    return measure, float(size)


def _has(cells: PairedCells, classes: tuple[int, ...]) -> bool:
    """Whether all these outcomes have groups to compare."""
    return all((cells.class_of == one).sum() > 1 for one in classes)


def _intervals(cells: PairedCells, alpha: float, seed: int) -> dict[str, Interval]:
    if not cells.rates:
        return {"prediction_gap": gap_difference(cells, (0,), alpha, seed)}
    found = {
        key: gap_difference(cells, _CLASSES[key], alpha, seed)
        for key in ("equalized_odds_difference", "tpr_gap", "fpr_gap")
        if _has(cells, _CLASSES[key])
    }
    found["deo"] = deo_difference(cells, alpha, seed)
    return found


def _bounded(cells: PairedCells, key: str, interval: Interval) -> Difference:
    """A measure of the groups that have enough people, under a name that says so."""
    suffix, which = _LARGE if cells.left_out else ("", "")
    return Difference(
        key=key + suffix,
        name=_NAMES[key] + which,
        baseline=_value(cells, key, 0),
        candidate=_value(cells, key, 1),
        low=interval.low,
        high=interval.high,
    )


def _of_all_groups(
    tables: Sequence[AuditTable], cells: PairedCells, threshold: float | None
) -> list[Difference]:
    """The same measures as everywhere else; no interval holds with groups of few people."""
    from fairaudit.metrics._labels import label_groups
    from fairaudit.metrics._odds import odds_difference_of_groups
    from fairaudit.metrics._prediction_gap import _prediction_gap

    found = []
    for whole in tables:
        groups = tuple(column for column in whole.attributes if column.kind.is_categorical)
        table = replace(whole, attributes=groups)
        if not cells.rates:
            found.append({"prediction_gap": _prediction_gap(table).value})
            continue
        cut = default_threshold(table) if threshold is None else threshold
        counted = label_groups(table, threshold=cut)
        odds = odds_difference_of_groups(counted)
        found.append(
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
            name=_NAMES[key],
            baseline=value,
            candidate=found[1][key],
            low=None,
            high=None,
            note=note,
        )
        for key, value in found[0].items()
        if np.isfinite([value, found[1][key]]).all()
    ]


def _of_errors(errors: PairedCells, alpha: float, seed: int) -> Difference:
    """Mean errors for information: whether they are equal is another question."""
    interval = gap_difference(errors, (0,), alpha, seed)
    before, after = (_value(errors, _ERRORS, model) for model in (0, 1))
    suffix, which = _LARGE if errors.left_out else ("", "")
    return Difference(
        key=_ERRORS + suffix,
        name=_NAMES[_ERRORS] + which,
        baseline=before,
        candidate=after,
        low=interval.low,
        high=interval.high,
        note=_NOT_FAIRNESS,
    )


def _value(cells: PairedCells, key: str, model: int) -> float:
    """The measure of these cells, of one model."""
    values = cells.raw[model]
    if key == "deo":
        total = 0.0
        for one in np.unique(cells.class_of):
            members = cells.class_of == one
            overall = np.average(values[members], weights=cells.size[members])
            total += float(np.abs(values[members] - overall).sum())
        return total
    return max(float(np.ptp(values[cells.class_of == one])) for one in _CLASSES[key])


def _losses_of(
    tables: Sequence[AuditTable], rows: Index, threshold: float | None, alpha: float
) -> list[Difference]:
    """What the change costs or wins in accuracy, in these rows."""
    found = []
    losses = [_losses(table, threshold) for table in tables]
    if losses[0] is not None and losses[1] is not None:
        first, second = losses[0][rows], losses[1][rows]
        unit = rows if tables[0].ids is None else tables[0].ids.codes[rows]
        interval = mean_difference(second - first, unit, alpha)
        classes = tables[0].require_outcome().kind.is_categorical
        name = "misclassified" if classes else "mean squared error"
        found.append(
            Difference(
                key="loss",
                name=name,
                baseline=float(first.mean()),
                candidate=float(second.mean()),
                low=interval.low,
                high=interval.high,
            )
        )
    return found


def _kpc(tables: Sequence[AuditTable], step: float | None) -> list[Difference]:
    """KPC of all rows, for which no interval is valid; rounded where a step is given."""
    from fairaudit.metrics._kpc import kpc_of_table

    try:
        sizes = [float(kpc_of_table(replace(table, weights=None))) for table in tables]
    except InputError:
        return []
    note = "no valid interval is known"
    if step is not None:
        sizes, note = [coarse(size, step) or 0.0 for size in sizes], f"{note}; rounded"
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


def _losses(table: AuditTable, threshold: float | None) -> Any:
    from fairaudit.metrics._labels import binary_labels, score_column

    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        numbers = score_column(table.prediction).numeric
        return None if numbers is None else (numbers - np.asarray(outcome.numeric)) ** 2
    cut = default_threshold(table) if threshold is None else threshold
    labels = binary_labels(table, threshold=cut)
    return (labels.predicted != labels.actual).astype(np.float64)


def _decide(
    measure: Difference, margin: float, alpha: float, interval: Interval
) -> tuple[ComparisonVerdict, str]:
    """Non-inferiority first; then whether the candidate is shown to be worse at all."""
    sure = f"{100 * (1 - alpha):g} % confidence"
    change = f"the {measure.name} goes from {measure.baseline:.3f} to {measure.candidate:.3f}"
    if interval.at_most < margin:
        return ComparisonVerdict.NOT_LESS_FAIR, (
            f"Not less fair: {change}; with {sure} the change is {_signed(interval.at_most)} at "
            f"most, below the margin of {margin:.4g}."
        )
    if interval.at_least > 0:
        beyond = (
            f"beyond the margin of {margin:.4g}"
            if interval.at_least > margin
            else f"and that it is below the margin of {margin:.4g} is not shown"
        )
        return ComparisonVerdict.LESS_FAIR, (
            f"Less fair: {change}; with {sure} the change is {_signed(interval.at_least)} at "
            f"least, {beyond}."
        )
    return ComparisonVerdict.INCONCLUSIVE, (
        f"Inconclusive: {change}; these rows show neither that the change is below the margin of "
        f"{margin:.4g} (it may be {_signed(interval.at_most)}) nor that it is above 0."
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _shown(cells: PairedCells | None) -> tuple[ComparedCell, ...]:
    if cells is None:
        return ()
    names = ("FPR", "TPR") if cells.rates else ("mean error",)
    order = sorted(range(len(cells.labels)), key=lambda k: (-cells.class_of[k], k))
    return tuple(
        ComparedCell(
            levels=cells.labels[k],
            what=names[cells.class_of[k]],
            people=int(cells.people[k]),
            baseline=float(cells.raw[0, k]),
            candidate=float(cells.raw[1, k]),
        )
        for k in order
    )


def _notes(table: AuditTable, cells: PairedCells, masked: set[tuple[str, ...]]) -> tuple[str, ...]:
    notes = []
    rest = [
        f"{column.name} ({column.kind})"
        for column in table.attributes
        if not column.kind.is_categorical
    ]
    if rest:
        notes.append(
            f"Groups need categories: {', '.join(rest)} takes no part in them (but in KPC)."
        )
    if masked:
        notes.append(
            "Groups of few people, or with few of one outcome, are masked, and others so that no "
            "total gives them away. They enter the verdict and no number but KPC, which is rounded."
        )
    elif cells.left_out:
        what = "groups (by outcome)" if cells.rates else "groups"
        notes.append(
            f"{cells.left_out} {what} with fewer than {FEWEST} people are left out of the verdict "
            "and of all intervals, which do not hold there; the measures without an interval have "
            "them."
        )
    if cells.rates:
        shown = level_text(table.positive)
        notes.append(f"TPR and FPR: share predicted {shown} among those who are and are not.")
    else:
        notes.append(
            "Prediction gap: how far a group's predictions lie from those of all people with the "
            "same outcome, on average; 0 under equalized odds. Mean error: prediction − outcome, "
            "which equalized odds does not make equal."
        )
    return tuple(notes)
