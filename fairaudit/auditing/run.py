"""The orchestrator: from a checked table to a verdict with its evidence."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Index, Progress
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.audit_result import AuditResult, Capsule, CopyQuality
from fairaudit.auditing.capsule import capsule_of
from fairaudit.auditing.checkpoint import Checkpoint, identity_of
from fairaudit.auditing.descriptions import fully_described
from fairaudit.auditing.notes import _notes
from fairaudit.auditing.questions import find
from fairaudit.auditing.verdict import check_tolerance, decide
from fairaudit.data.columns import column_facts
from fairaudit.data.facts import Source, TableFacts
from fairaudit.data.missing_values import complete_roles
from fairaudit.data.roles import Prepared, Roles, as_asked, prepare
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.evidence.measurements import Measurements, measure
from fairaudit.testing.permutation_result import TestResult
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import Statistic

if TYPE_CHECKING:
    from fairaudit.evidence.intervals.certificates import Certificate, GapTable
    from fairaudit.models import Predictor

__all__ = ["audit", "audit_frame", "audit_table"]


def audit(
    model: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    sensitive: Any,
    predictions: Any = None,
    outcome: Any = None,
    weights: Any = None,
    ids: Any = None,
    kinds: Mapping[str, str] | None = None,
    on: str = "scores",
    threshold: float | None = None,
    positive: Any = None,
    classes: Mapping[Any, Any] | None = None,
    missing: str = "auto",
    alpha: float = 0.05,
    statistic: str | Statistic | Sequence[str | Statistic] = "kpc",
    density: Any = "auto",
    permutations: Permutations | None = None,
    seed: int | None = None,
    locate: bool = False,
    adjust: str = "holm",
    pairs: Sequence[tuple[str, str]] | str = (),
    tolerance: Mapping[str, float] | None = None,
    certify: Mapping[str, float] | None = None,
    power: bool = True,
    calibrate: bool = False,
    progress: Progress | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    shards: int | None = None,
) -> AuditResult:
    """Audit a model, or predictions that are already there, for equalized odds.

    Parameters
    ----------
    model : object, optional
        With `predict_proba`, `decision_function` or `predict`. Or pass `predictions`.
    X : frame or array
        The model's features; may hold further columns.
    y : array or series
        The true outcome; `outcome` is another name for it.
    sensitive : frame, array, mapping, or names of columns of `X`
        Any number of attributes of any kind.
    predictions : array, series or frame, optional
        Labels, scores or one probability column per class.
    weights, ids : array, optional
        Row weights (they enter rates and DEO); ids of people with several rows.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.
    on : {"scores", "labels"}
        What is audited.
    threshold : float, optional
        Scores at or above it count as the positive class.
    positive : optional
        The level of the outcome that counts as positive, and that the positive class of the model
        (the second of two) and scores mean where their names do not tell. Default: the larger of
        two. Of more than two it is compared with the rest in rates, gaps and DEO.
    classes : mapping, optional
        Class of the model, prediction column or label → level of the outcome, where they differ.
    missing : {"auto", "error", "category", "drop"}
        Missing sensitive values: a category of their own (``"auto"``: an error in a continuous
        column), an error, or rows to drop.
    alpha, statistic, density, permutations, adjust, tolerance, certify, power, calibrate
        See `Plan`.
    seed : int, optional
        Of the copies; short for ``permutations=Permutations(seed=…)``.
    locate : bool
        After a rejection, say where: see `AuditResult.localisation`.
    pairs : sequence of pairs of names, or "all"
        Pairs of attributes to test too.
    progress : callable, optional
        Called with (what, done, total).
    engine : {"local", "dask"}, optional
        Test in shards, in this process or by Dask. `X` is then a frame or a table of Dask (which
        may also stand in the place of the model), and outcome, sensitive, predictions and ids are
        names of its columns.
    scheduler : str, optional
        Address of a running Dask; by default its active client, or workers on this machine.
    shards : int, optional
        How many; by default as the number of rows asks for.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, (2, 500))
    >>> score = y + 0.5 * sex + rng.normal(size=500)
    >>> result = audit(predictions=score, outcome=y, sensitive={"sex": sex})
    >>> print(result.verdict, result.p_value)
    violation 0.001
    """
    target = y if outcome is None else outcome
    if X is None and hasattr(model, "columns"):
        model, X = None, model  # a table in the place of the model
    if engine is None and hasattr(X, "to_delayed"):
        raise InputError("A table of Dask is audited in shards. Pass engine='dask'.")
    if engine is not None or shards is not None:
        roles = _named_roles(
            X, target, sensitive, predictions, ids, weights, kinds, on=on, threshold=threshold,
            positive=positive, classes=dict(classes or {}), missing=missing,
        )  # fmt: skip
        plan = _plan(roles.sensitive, alpha, statistic, density, permutations, seed, adjust, pairs,
                     tolerance, threshold, certify, power=power, calibrate=calibrate,
                     locate=locate)  # fmt: skip
        from fairaudit.auditing.engines.entry import audit_table_in_shards
        from fairaudit.models import predictor_of

        return audit_table_in_shards(
            X, roles, plan, engine=engine or "local", scheduler=scheduler, shards=shards,
            predictor=None if model is None else predictor_of(model), progress=progress,
        )  # fmt: skip
    if target is None:
        raise InputError("The outcome is missing. Pass it as y= or outcome=.")
    if (model is None) == (predictions is None):
        raise InputError("Pass a model with X, or predictions, and not both.")
    prepared, predictor = _prepared(
        model, X, target, sensitive, predictions, weights, ids, kinds,
        Roles((), on=on, threshold=threshold, positive=positive, classes=dict(classes or {}),
              missing=missing),
    )  # fmt: skip
    table = prepared.table
    plan = _plan([column.name for column in table.attributes], alpha, statistic, density,
                 permutations, seed, adjust, pairs, tolerance, threshold, certify,
                 power=power, calibrate=calibrate, locate=locate)  # fmt: skip
    source = None if predictor is None else Source(None, predictor.kind, predictor.sha256)
    result = audit_table(prepared, plan, model=source, progress=progress)
    told = {
        "on": on,
        "kinds": dict(kinds or {}),
        "missing": missing,
        "classes": dict(classes or {}),
        **result.capsule.options,
    }
    return replace(result, capsule=replace(result.capsule, options=told))


def _prepared(
    model: Any, X: Any, target: Any, sensitive: Any, predictions: Any, weights: Any, ids: Any,
    kinds: Mapping[str, str] | None, roles: Roles,
) -> tuple[Prepared, Predictor | None]:  # fmt: skip
    """The table of arguments that were passed one by one, by the policies of `prepare`."""
    attributes = _named_columns(sensitive, X)
    given = {
        "sensitive": attributes, "y_true": target, "y_pred": predictions, "weights": weights,
        "ids": ids,
    }  # fmt: skip
    complete = complete_roles(given, kinds, roles.missing)
    rows = None
    if complete is not None:
        given |= complete.columns
        kinds, rows = complete.kinds, complete.rows
    predictor, features, named = None, tuple[str, ...](), None
    if model is not None:
        from fairaudit.models import predictor_of

        if X is None:
            raise InputError("The model needs X, the table of its features.")
        predictor = predictor_of(model)
        asked = "scores" if roles.threshold is not None else roles.on  # cut below, in as_labels
        given["y_pred"], features, named = _predicted(predictor, X, attributes, asked, rows)
    table = AuditTable.of(
        given["y_pred"], given["sensitive"], given["y_true"], weights=given["weights"],
        ids=given["ids"], kinds=kinds, rows=rows, positive=roles.positive, classes=roles.classes,
        model_classes=named,
    )  # fmt: skip
    table, notes = as_asked(table, roles, features, predictor)
    if complete is None:
        return Prepared(table, features, (), {}, notes), predictor
    excluded, missing = tuple(complete.excluded), complete.missing
    return Prepared(table, features, excluded, missing, notes), predictor


def _plan(
    names: Sequence[str], alpha: float, statistic: Any, density: Any,
    permutations: Permutations | None, seed: int | None, adjust: str, pairs: Any,
    tolerance: Mapping[str, float] | None, threshold: float | None,
    certify: Mapping[str, float] | None, **checks: bool,
) -> Plan:  # fmt: skip
    drawn = permutations or Permutations()
    return Plan(
        alpha=alpha, statistic=statistic, density=density, adjust=adjust,
        permutations=drawn if seed is None else replace(drawn, seed=seed),
        pairs=_pairs(pairs, list(names)), tolerance=_sizes("tolerance", tolerance),
        certify=_sizes("certify", certify), threshold=threshold, **checks,
    )  # fmt: skip


def _sizes(name: str, given: Mapping[str, float] | None) -> dict[str, float]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"{name!r} must be measures with sizes, as {{'kpc': 0.02}}. Got: {given}.")
    return dict(given or {})


def _named_roles(
    X: Any, outcome: Any, sensitive: Any, predictions: Any, ids: Any, weights: Any,
    kinds: Mapping[str, str] | None, **others: Any,
) -> Roles:  # fmt: skip
    """The roles of columns of `X`, given by their names."""

    def names(what: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
            return tuple(value)
        raise InputError(f"In shards {what!r} must be names of columns of X. Got {value!r}.")

    if not hasattr(X, "columns"):
        raise InputError("Shards need X, a frame or a table of Dask.")
    for what, value in (("outcome", outcome), ("ids", ids), ("weights", weights)):
        if value is not None and not isinstance(value, str):
            raise InputError(f"In shards {what!r} must be the name of a column of X.")
    chosen = tuple(
        f"{name}:{kinds[name]}" if kinds and name in kinds else name
        for name in names("sensitive", sensitive)
    )
    predicted = () if predictions is None else names("predictions", predictions)
    return Roles(chosen, outcome, predicted, weights, ids, **others)


def audit_frame(
    frame: Any,
    roles: Roles,
    plan: Plan,
    *,
    predictor: Predictor | None = None,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    progress: Progress | None = None,
    resume: str | Path | None = None,
) -> AuditResult:
    """Audit one table with named columns, as the command line does.

    `resume` names a file that keeps finished copies; the same call goes on there after an
    interruption. It is removed at the end.
    """
    prepared = prepare(frame, roles, predictor)
    model = None
    if predictor is not None:
        model = Source(predictor.source, predictor.kind, predictor.sha256)
    checkpoint = None
    if resume is not None:
        capsule = capsule_of(prepared.table, plan, roles, model, data, command)
        _require_described(capsule)
        checkpoint = Checkpoint(resume, _identity(capsule))
    result = audit_table(prepared, plan, model=model, data=data, command=command,
                         roles=roles, progress=progress, checkpoint=checkpoint)  # fmt: skip
    if checkpoint is not None:
        checkpoint.remove()
    notes = () if predictor is None else predictor.notes
    return replace(result, notes=(*result.notes, *notes))


def audit_table(
    prepared: Prepared,
    plan: Plan,
    *,
    model: Source | None = None,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    roles: Roles | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    name: str = "audit",
) -> AuditResult:
    """The audit itself; `name` is that of its parts in a checkpoint."""
    start = time.process_time()
    table = prepared.table
    outcome = table.require_outcome()
    hear = progress or (lambda what, done, total: None)
    hear("measures", 0, 1)
    sizes = measure(table, threshold=plan.threshold, with_r=plan.with_r)
    check_tolerance(plan.tolerance, sizes.values, [c.name for c in table.attributes])
    gaps, certificates = _equivalence(table, sizes, plan)
    hear("measures", 1, 1)
    known = {one.attributes: one.value for one in sizes.values if one.key == "kpc"}
    findings, gate, checks = find(table, plan, hear, checkpoint, name, known)
    facts = TableFacts(
        len(table),
        len(table) if table.ids is None else len(table.ids.levels),
        table.prediction.describe(),
        column_facts(outcome, prepared.missing.get(outcome.name, 0)),
        tuple(column_facts(c, prepared.missing.get(c.name, 0)) for c in table.attributes),
        prepared.features,
        prepared.excluded,
        None if table.weights is None else (roles.weights if roles else "weights"),
        None if table.ids is None else table.ids.name,
    )
    verdict, because = decide(
        findings[0], sizes.values, facts.outcome, alpha=plan.alpha, tolerance=plan.tolerance,
        certificates=certificates, calibration=checks.calibration,
        planned=plan.permutations.n,
    )  # fmt: skip
    localisation = None
    if plan.locate:
        from fairaudit.evidence.localization.locate import locate

        localisation = locate(
            table,
            findings[0].p_value if findings[0].significant else None,
            alpha=plan.alpha,
            permutations=plan.permutations,
            density=plan.density,
            folds=plan.folds,
            hear=hear,
        )
    return AuditResult(
        verdict, because, plan.alpha, plan.adjust, dict(plan.tolerance), facts, findings,
        sizes.values, sizes.cells, _quality(gate),
        tuple(float(value) for value in gate.null),
        (*prepared.notes, *_notes(verdict, findings, sizes, table, plan)),
        capsule_of(table, plan, roles, model, data, command),
        time.process_time() - start,
        gaps=gaps, certificates=certificates, power=checks.power,
        calibration=checks.calibration,
        localisation=localisation,
    )  # fmt: skip


def _equivalence(
    table: AuditTable, sizes: Measurements, plan: Plan
) -> tuple[GapTable | None, tuple[Certificate, ...]]:
    """Intervals for the gaps of all groups, where there are rates, and what was to be shown."""
    rates = sizes.cells is not None and "TPR" in sizes.cells.columns
    if not rates and not plan.certify:
        return None, ()
    from fairaudit.evidence.intervals.certify import certificates
    from fairaudit.evidence.intervals.gaps import gap_table
    from fairaudit.evidence.intervals.rate_intervals import rate_cells

    cut = default_threshold(table) if plan.threshold is None else plan.threshold
    shown = certificates(table, plan.certify, alpha=plan.alpha, threshold=cut)
    if not rates:
        return None, shown
    groups = tuple(column for column in table.attributes if column.kind.is_categorical)
    cells = rate_cells(replace(table, attributes=groups), cut)
    names = tuple(column.name for column in groups)
    return gap_table(cells, names, 1 - plan.alpha, plan.permutations.seed), shown


def _require_described(capsule: Capsule) -> None:
    """Copies may only be reused by the same settings, which must be known to be the same."""
    for name in ("statistic", "density"):
        if not fully_described(capsule.options[name]):
            raise InputError(
                f"The {name} cannot be described by its parameters, so that a run cannot be known "
                "to be the same when it is resumed. Leave 'resume' out, or give it a class with "
                "parameters (a dataclass, or get_params)."
            )


def _identity(capsule: Capsule) -> str:
    """What decides the numbers; not when, where and by which words the audit was started."""
    settings = asdict(capsule)
    for name in ("created", "platform", "command"):
        del settings[name]
    return identity_of(settings)


def _named_columns(sensitive: Any, X: Any) -> Any:
    """`sensitive` as given, or the columns of X that it names."""
    if isinstance(sensitive, str):
        sensitive = [name.strip() for name in sensitive.split(",") if name.strip()]
    names = (
        isinstance(sensitive, (list, tuple))
        and sensitive
        and all(isinstance(name, str) for name in sensitive)
    )
    if not names or X is None or len(sensitive) == len(X) or not hasattr(X, "columns"):
        return sensitive
    from fairaudit.data.table import unknown_column

    known = [str(name) for name in X.columns]
    for name in sensitive:
        if name not in known:
            raise InputError(unknown_column(name, known))
    return X[list(sensitive)]


def _predicted(
    predictor: Predictor, X: Any, attributes: Any, on: str, rows: Index | None
) -> tuple[Any, tuple[str, ...], list[Any] | None]:
    """What the model says about these rows (None: all), its features, and its classes."""
    import narwhals as nw
    import pandas as pd

    native = nw.from_native(X, eager_only=True, pass_through=True)
    frame = native.to_pandas() if isinstance(native, nw.DataFrame) else pd.DataFrame(np.asarray(X))
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    names = [str(name) for name in getattr(attributes, "columns", ())]
    features = predictor.columns(
        list(frame.columns), outcome=None, sensitive=[n for n in names if n in frame.columns]
    )
    if rows is not None and len(rows) < len(frame):
        frame = frame.iloc[rows]
    predicted, named = predictor.answers(frame[features], on=on)
    return predicted, tuple(features), named


def _pairs(pairs: Sequence[tuple[str, str]] | str, names: list[str]) -> tuple[tuple[str, str], ...]:
    if isinstance(pairs, str):
        if pairs != "all":
            raise InputError(f"The 'pairs' must be pairs of names, or 'all'. Got {pairs!r}.")
        return tuple(combinations(names, 2))
    return tuple((str(a), str(b)) for a, b in pairs)


def _quality(gate: TestResult) -> CopyQuality:
    found = gate.diagnostics
    return CopyQuality(
        found.trustworthy, found.because, gate.density, found.copy_check, found.pit,
        found.moved, found.distinct, dict(gate.scores),
    )  # fmt: skip
