"""Every way into an audit: a model and arrays, a frame with names, or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Index, Progress
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.audit_result import AuditResult, Capsule
from fairaudit.auditing.capsule import capsule_of
from fairaudit.auditing.checkpoint import Checkpoint, identity_of
from fairaudit.auditing.descriptions import fully_described
from fairaudit.auditing.run import audit_table
from fairaudit.data.facts import Source
from fairaudit.data.missing_values import complete_roles
from fairaudit.data.roles import Prepared, Roles, as_asked, prepare
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import Statistic

if TYPE_CHECKING:
    from fairaudit.models import Predictor

__all__ = ["audit", "audit_frame"]


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
    engine: Any = None,
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
    engine : {"local", "dask"} or Engine, optional
        Test in shards, in this process, by Dask or by an engine of your own. `X` is then a frame
        or a table of Dask (which may also stand in the place of the model), and outcome,
        sensitive, predictions and ids are names of its columns.
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
            X,
            target,
            sensitive=sensitive,
            predictions=predictions,
            ids=ids,
            weights=weights,
            kinds=kinds,
            on=on,
            threshold=threshold,
            positive=positive,
            classes=dict(classes or {}),
            missing=missing,
        )
        plan = _plan(
            roles.sensitive,
            alpha,
            statistic=statistic,
            density=density,
            permutations=permutations,
            seed=seed,
            adjust=adjust,
            pairs=pairs,
            tolerance=tolerance,
            threshold=threshold,
            certify=certify,
            power=power,
            calibrate=calibrate,
            locate=locate,
        )
        from fairaudit.auditing.engines.entry import audit_table_in_shards
        from fairaudit.models import predictor_of

        return audit_table_in_shards(
            X,
            roles,
            plan,
            engine=engine or "local",
            scheduler=scheduler,
            shards=shards,
            predictor=None if model is None else predictor_of(model),
            progress=progress,
        )
    if target is None:
        raise InputError("The outcome is missing. Pass it as y= or outcome=.")
    if (model is None) == (predictions is None):
        raise InputError("Pass a model with X, or predictions, and not both.")
    prepared, predictor = _prepared(
        model,
        X,
        target=target,
        sensitive=sensitive,
        predictions=predictions,
        weights=weights,
        ids=ids,
        kinds=kinds,
        roles=Roles(
            sensitive=(),
            on=on,
            threshold=threshold,
            positive=positive,
            classes=dict(classes or {}),
            missing=missing,
        ),
    )
    table = prepared.table
    plan = _plan(
        [column.name for column in table.attributes],
        alpha,
        statistic=statistic,
        density=density,
        permutations=permutations,
        seed=seed,
        adjust=adjust,
        pairs=pairs,
        tolerance=tolerance,
        threshold=threshold,
        certify=certify,
        power=power,
        calibrate=calibrate,
        locate=locate,
    )
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
    model: Any,
    X: Any,
    target: Any,
    sensitive: Any,
    predictions: Any,
    weights: Any,
    ids: Any,
    kinds: Mapping[str, str] | None,
    roles: Roles,
) -> tuple[Prepared, Predictor | None]:
    """The table of arguments that were passed one by one, by the policies of `prepare`."""
    attributes = _named_columns(sensitive, X)
    given = {
        "sensitive": attributes,
        "y_true": target,
        "y_pred": predictions,
        "weights": weights,
        "ids": ids,
    }
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
        given["y_pred"],
        given["sensitive"],
        given["y_true"],
        weights=given["weights"],
        ids=given["ids"],
        kinds=kinds,
        rows=rows,
        positive=roles.positive,
        classes=roles.classes,
        model_classes=named,
    )
    table, notes = as_asked(table, roles, features, predictor)
    if complete is None:
        return Prepared(
            table=table, features=features, excluded=(), missing={}, notes=notes
        ), predictor
    excluded, missing = tuple(complete.excluded), complete.missing
    return Prepared(
        table=table, features=features, excluded=excluded, missing=missing, notes=notes
    ), predictor


def _plan(
    names: Sequence[str],
    alpha: float,
    statistic: Any,
    density: Any,
    permutations: Permutations | None,
    seed: int | None,
    adjust: str,
    pairs: Any,
    tolerance: Mapping[str, float] | None,
    threshold: float | None,
    certify: Mapping[str, float] | None,
    **checks: bool,
) -> Plan:
    drawn = permutations or Permutations()
    return Plan(
        alpha=alpha,
        statistic=statistic,
        density=density,
        adjust=adjust,
        permutations=drawn if seed is None else replace(drawn, seed=seed),
        pairs=_pairs(pairs, list(names)),
        tolerance=_sizes("tolerance", tolerance),
        certify=_sizes("certify", certify),
        threshold=threshold,
        **checks,
    )


def _sizes(name: str, given: Mapping[str, float] | None) -> dict[str, float]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"{name!r} must be measures with sizes, as {{'kpc': 0.02}}. Got: {given}.")
    return dict(given or {})


def _named_roles(
    X: Any,
    outcome: Any,
    sensitive: Any,
    predictions: Any,
    ids: Any,
    weights: Any,
    kinds: Mapping[str, str] | None,
    **others: Any,
) -> Roles:
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
    return Roles(
        sensitive=chosen, outcome=outcome, predictions=predicted, weights=weights, ids=ids, **others
    )


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
        capsule = capsule_of(
            prepared.table, plan, roles=roles, model=model, data=data, command=command
        )
        _require_described(capsule)
        checkpoint = Checkpoint(resume, _identity(capsule))
    result = audit_table(
        prepared,
        plan,
        model=model,
        data=data,
        command=command,
        roles=roles,
        progress=progress,
        checkpoint=checkpoint,
    )
    if checkpoint is not None:
        checkpoint.remove()
    notes = () if predictor is None else predictor.notes
    return replace(result, notes=(*result.notes, *notes))


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
