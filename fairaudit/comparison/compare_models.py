"""Is the candidate not less fair than production? A paired test with a margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairaudit.comparison.bands import Interval
from fairaudit.comparison.comparison_result import ComparedGroup, Comparison, Difference
from fairaudit.comparison.noninferiority import (
    decide_verdict,
    explain_shown,
    margin_from,
    names_every_class,
)
from fairaudit.comparison.paired_groups import FEWEST, PairedGroups, pair_errors, pair_groups
from fairaudit.comparison.paired_measures import (
    intervals_of,
    list_groups,
    measure_all_groups,
    measure_errors,
    measure_groups,
    measure_kpc,
    measure_losses,
)
from fairaudit.data.columns import level_text
from fairaudit.data.facts import Source
from fairaudit.data.preparation import prepare
from fairaudit.data.roles import Roles, column_names
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError, retold
from fairaudit.evidence.disclosure import masked_groups
from fairaudit.models import predictor_of
from fairaudit.results import SUPPRESS

__all__ = ["compare", "compare_frame"]


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
        ``fpr_gap``, ``deo``; for more than two classes ``confusion_gap`` (the default unless
        ``positive`` is given); for a continuous outcome ``prediction_gap``. Default: 0.05, and
        0.05 standard deviations of a continuous outcome.
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
        raise InputError(f"'alpha' must lie between 0 and 0.5. Got {alpha:g}.", argument="alpha")
    if suppress < 0:
        raise InputError(f"'suppress' must be 0 or more. Got {suppress}.", argument="suppress")
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
    every_class = names_every_class(margin, tables[0])
    groups = pair_groups(tables[0], tables[1], roles.threshold, every_class=every_class)
    measure, allowed = margin_from(margin, groups, tables[0])
    intervals = intervals_of(groups, alpha, seed)
    decisive = measure_groups(groups, measure, intervals[measure])
    verdict, because = decide_verdict(decisive, allowed, alpha, intervals[measure])
    visible = _Visible(
        groups=groups, intervals=intervals, masked=masked_groups(tables[0], suppress)
    )
    if visible.masked:
        visible = _without_masked(visible, tables, roles.threshold, alpha=alpha, seed=seed)
    interval = visible.intervals.get(measure, _NO_INTERVAL)
    if visible.masked:
        because = explain_shown(
            visible.groups, measure, margin=allowed, alpha=alpha, interval=interval, verdict=verdict
        )
    differences, listed = _compare_measures(
        visible, tables, measure=measure, threshold=roles.threshold, alpha=alpha, seed=seed
    )
    small = bool(visible.masked) or bool(masked_groups(tables[0], SUPPRESS))
    return Comparison(
        verdict=verdict,
        because=because,
        measure=decisive.key,
        margin=allowed,
        alpha=alpha,
        at_least=interval.at_least,
        at_most=interval.at_most,
        differences=(*differences, *measure_kpc(tables, visible.masked)),
        cells=listed,
        attributes=groups.attributes,
        rows=len(tables[0]),
        models=(sources[0], sources[1]),
        data=data,
        notes=(*notes, *_notes(tables[0], groups, visible.masked)),
        created=now(),
        version=version("fairaudit-icp"),
        command=command,
        suppress=suppress if small else max(suppress, SUPPRESS),
    )


_NO_INTERVAL = Interval(*(float("nan"),) * 4)


@dataclass(frozen=True, slots=True)
class _Visible:
    """What may be shown: groups (None: no two groups are left), intervals, and what is masked."""

    groups: PairedGroups | None
    intervals: dict[str, Interval]
    masked: set[tuple[str, ...]]


def _without_masked(
    visible: _Visible,
    tables: Sequence[AuditTable],
    threshold: float | None,
    *,
    alpha: float,
    seed: int,
) -> _Visible:
    """The groups of the groups that are not masked, and their intervals."""
    try:
        groups = pair_groups(
            tables[0],
            tables[1],
            threshold,
            without=visible.masked,
            every_class=visible.groups is not None and visible.groups.of_classes,
        )
    except InputError:
        return replace(visible, groups=None, intervals={})
    return replace(visible, groups=groups, intervals=intervals_of(groups, alpha, seed))


def _compare_measures(
    visible: _Visible,
    tables: Sequence[AuditTable],
    *,
    measure: str,
    threshold: float | None,
    alpha: float,
    seed: int,
) -> tuple[list[Difference], tuple[ComparedGroup, ...]]:
    """All measures but KPC, the one that decides first; and the groups behind them."""
    groups = visible.groups
    if groups is None:
        return [], ()
    order = sorted(visible.intervals, key=lambda key: key != measure)
    differences = [measure_groups(groups, key, visible.intervals[key]) for key in order]
    listed = list_groups(groups)
    if not groups.rates:
        errors = pair_errors(tables[0], tables[1], without=visible.masked)
        differences.append(measure_errors(errors, alpha, seed))
        listed = (*listed, *list_groups(errors))
    if groups.left_out and not visible.masked:
        differences += measure_all_groups(tables, groups, threshold)
    rows = np.flatnonzero(groups.used) if visible.masked else np.arange(len(tables[0]))
    return [*differences, *measure_losses(tables, rows, threshold, alpha)], listed


def _notes(
    table: AuditTable, groups: PairedGroups, masked: set[tuple[str, ...]]
) -> tuple[str, ...]:
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
    elif groups.left_out:
        what = "groups (by outcome)" if groups.rates else "groups"
        notes.append(
            f"{groups.left_out} {what} with fewer than {FEWEST} people are left out of the verdict "
            "and of all intervals, which do not hold there; the measures without an interval have "
            "them."
        )
    if table.weights is not None:
        notes.append("Weights enter rates, errors, gaps and the loss; KPC counts every row once.")
    if groups.of_classes:
        notes.append(
            "a → b: share predicted b among those who are a. Name a class as 'positive' to compare "
            "its TPR and FPR."
        )
    elif groups.rates:
        positive = level_text(table.positive)
        notes.append(
            f"TPR and FPR: share predicted {positive} among those who are {positive}, and among "
            "all others."
        )
    else:
        notes.append(
            "Prediction gap: how far a group's predictions lie from those of all people with the "
            "same outcome, on average; 0 under equalized odds. Mean error: prediction − outcome, "
            "which equalized odds does not make equal."
        )
    return tuple(notes)
