"""Every way into an audit: a model and arrays, a frame with names, or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from difflib import get_close_matches
from inspect import signature
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit._types import Progress
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.capsule import make_table_capsule
from fairaudit.auditing.checkpoint import Checkpoint, hash_settings
from fairaudit.auditing.descriptions import fully_described
from fairaudit.auditing.findings import Capsule
from fairaudit.auditing.run import audit_table
from fairaudit.data.columns import split_kinds
from fairaudit.data.facts import Source
from fairaudit.data.preparation import prepare, prepare_given
from fairaudit.data.reading.frames import is_lazy
from fairaudit.data.roles import Roles, column_names
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
    statistic: str | Statistic | Sequence[str | Statistic] = "omnibus",
    density: Any = "auto",
    law: Any = "auto",
    permutations: Permutations | None = None,
    seed: int | None = None,
    locate: bool | None = None,
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
    counts: Any = None,
    count: str = "n",
    bins: int | None = None,
    **settings: Any,
) -> AuditResult:
    """Audit a model, or predictions that are already there, for equalized odds.

    Parameters
    ----------
    model : object, optional
        With `predict_proba`, `decision_function` or `predict`. Or pass `predictions`.
    X : frame or array
        The model's features; may hold further columns. A frame may stand in the place of the
        model too.
    y : array, series, or name of a column of `X`
        The true outcome; `outcome` is another name for it. Without it the one column of `X` that
        can be the outcome is taken.
    sensitive : frame, array, mapping, or names of columns of `X`
        Any number of attributes of any kind.
    predictions : array, series, frame, or names of columns of `X`, optional
        Labels, scores or one probability column per class.
    weights, ids : array, or name of a column of `X`, optional
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
    alpha, statistic, density, law, permutations, adjust, tolerance, certify, power, calibrate
        See `Plan`.
    seed : int, optional
        Of the copies; short for ``permutations=Permutations(seed=…)``.
    locate : bool, optional
        After a rejection, say where: see `AuditResult.localisation`. None does so where it costs
        little: a few seconds at most.
    pairs : sequence of pairs of names, or "all"
        Pairs of attributes to test too.
    progress : callable, optional
        Called with (what, done, total).
    engine : str, Engine or CountEngine, optional
        Test in shards, in this process (``"local"``), by Dask (``"dask"``) or by an engine of your
        own. `X` is then a frame or a Dask table (which may also stand in the place of the model),
        and outcome, sensitive, predictions and ids are names of its columns. Engines that count
        (``"duckdb"``, ``"lazy"``) audit the counts of `X`, as is done with lazy tables (Spark,
        Ibis, lazy Polars, relations of DuckDB); see `fairaudit.counts`.
    scheduler : str, optional
        Address of a running Dask; by default its active client, or workers on this machine.
    shards : int, optional
        How many; by default as the number of rows asks for.
    counts : frame, optional
        A table of counts in the place of `X`: different rows, and how many rows each stands for;
        see `fairaudit.counts`. Outcome, sensitive and predictions are names of its columns.
    count : str
        The column of `counts` that has the numbers of rows.
    bins : int, optional
        See `Plan`.
    **settings
        Any other setting of `Plan`, as ``folds=10``.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, (2, 500))
    >>> score = y + 0.5 * sex + rng.normal(size=500)
    >>> result = audit(predictions=score, outcome=y, sensitive={"sex": sex})
    >>> print(result.verdict, result.p_value)
    violation 0.001
    """
    from fairaudit.models import predictor_of

    _reject_unknown(settings)
    model, X = _take_table(model, X)
    if engine is None:
        engine = _choose_engine(X)
    X = X if counts is None else _take_counts(counts, model, X, engine, shards)
    given = {
        "count": None if counts is None else count,
        "sensitive": sensitive,
        "outcome": y if outcome is None else outcome,
        "predictions": predictions,
        "weights": weights,
        "ids": ids,
    }
    roles = Roles(
        sensitive=(),
        on=on,
        threshold=threshold,
        positive=positive,
        classes=dict(classes or {}),
        missing=missing,
    )
    permutations = permutations or Permutations()
    plan = Plan(
        alpha=alpha,
        statistic=statistic,
        density=density,
        law=law,
        adjust=adjust,
        permutations=permutations if seed is None else replace(permutations, seed=seed),
        tolerance=_check_sizes("tolerance", tolerance),
        certify=_check_sizes("certify", certify),
        threshold=threshold,
        power=power,
        calibrate=calibrate,
        locate=locate,
        bins=bins,
        **settings,
    )
    predictor = None if model is None else predictor_of(model)
    if engine is None and shards is None:
        return _audit_given(
            X, given, roles, plan, kinds=kinds, pairs=pairs, predictor=predictor, progress=progress
        )
    from fairaudit.auditing.engines.counted_audit import audit_table_on_engine

    roles = _set_roles(X, given, roles).declared(kinds)
    names = [split_kinds(name)[0] for name in roles.sensitive]
    return audit_table_on_engine(
        X,
        roles,
        replace(plan, pairs=_list_pairs(pairs, names)),
        engine=engine or "local",
        scheduler=scheduler,
        shards=shards,
        predictor=predictor,
        progress=progress,
    )


def _take_table(model: Any, X: Any) -> tuple[Any, Any]:
    """Model and table; the table may stand in the place of the model."""
    if X is None and (is_lazy(model) or hasattr(model, "columns") or hasattr(model, "cursor")):
        model, X = None, model
    if hasattr(X, "cursor"):
        raise InputError(
            "A connection has many tables. Count one of them, and audit the counts: "
            "fa.audit(counts=fa.counts(connection, table='loans', …), …)."
        )
    if isinstance(getattr(X, "attrs", {}).get("binned"), dict):  # as `fairaudit.counts` leaves it
        raise InputError(
            "This is a table of counts, whose rows are not people. Pass it as counts=."
        )
    return model, X


def _choose_engine(X: Any) -> str | None:
    """None for rows in memory."""
    if hasattr(X, "to_delayed"):
        raise InputError("A Dask table is audited in shards. Pass engine='dask'.")
    return "lazy" if is_lazy(X) else None


def _take_counts(counts: Any, *others: Any) -> Any:
    """The table of counts, where nothing else is given."""
    if any(other is not None for other in others):
        raise InputError(
            "Counts are audited alone, with predictions among their columns. Leave out the model, "
            "X, 'engine' and 'shards'.",
            argument=("counts", "engine", "shards"),
        )
    return counts


def _audit_given(
    X: Any,
    given: Mapping[str, Any],
    roles: Roles,
    plan: Plan,
    *,
    kinds: Mapping[str, str] | None,
    pairs: Any,
    predictor: Predictor | None,
    progress: Progress | None,
) -> AuditResult:
    """Audit columns that were passed one by one, or named."""
    if given["outcome"] is None and not hasattr(X, "columns"):
        raise InputError("The outcome is missing. Pass it as y= or outcome=.", argument="outcome")
    if (predictor is None) == (given["predictions"] is None):
        raise InputError("Pass either a model with X or predictions.")
    if predictor is not None and X is None:
        raise InputError("The model needs X, the table of its features.")
    prepared = prepare_given(X, given, roles, kinds=kinds, predictor=predictor)
    names = [column.name for column in prepared.table.attributes]
    source = None if predictor is None else Source(None, predictor.kind, predictor.sha256)
    plan = replace(plan, pairs=_list_pairs(pairs, names))
    binned = dict(getattr(X, "attrs", {}).get("binned", {})) if given["count"] else {}
    result = audit_table(prepared, plan, model=source, progress=progress, binned=binned)
    options = {
        "on": roles.on,
        "kinds": dict(kinds or {}),
        "missing": roles.missing,
        "classes": dict(roles.classes),
        **result.capsule.options,
    }
    return replace(result, capsule=replace(result.capsule, options=options))


def _reject_unknown(settings: Mapping[str, Any]) -> None:
    """As Python does for a function that lists all of its parameters."""
    known = {setting.name for setting in fields(Plan)}
    for name in settings:
        if name not in known:
            near = get_close_matches(name, [*known, *signature(audit).parameters], 1)
            hint = f". Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"audit() got an unexpected keyword argument {name!r}{hint}")


def _check_sizes(name: str, given: Mapping[str, float] | None) -> dict[str, float]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"{name!r} must map measures to sizes: {{'kpc': 0.02}}. Got {given!r}.", argument=name
        )
    return dict(given or {})


def _set_roles(X: Any, given: Mapping[str, Any], roles: Roles) -> Roles:
    """The roles of columns of `X`, given by their names."""
    if not is_lazy(X) and not hasattr(X, "columns"):
        raise InputError("Shards need X: a frame or a Dask table.")
    named: dict[str, Any] = {}
    for role, value in given.items():
        if role == "count":
            continue  # counts are not put into shards
        several = role in ("sensitive", "predictions")
        listed = several and isinstance(value, (list, tuple))
        if value is None and role != "sensitive":
            continue
        if not isinstance(value, str) and not (
            listed and all(isinstance(name, str) for name in value)
        ):
            what = "names of columns" if several else "the name of a column"
            raise InputError(f"In shards {role!r} must be {what} of X.", argument=role)
        named[role] = column_names(value) if several else value
    return replace(roles, **named)


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
        capsule = make_table_capsule(
            prepared.table, plan, roles=roles, model=model, data=data, command=command
        )
        _require_described(capsule)
        checkpoint = Checkpoint(resume, _identify_run(capsule))
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
                f"The {name} cannot be described by its parameters, so a resumed run cannot be "
                "known to be the same. Leave 'resume' out, or give it a class with parameters "
                "(a dataclass, or get_params).",
                argument="resume",
            )


def _identify_run(capsule: Capsule) -> str:
    """What decides the numbers; not when, where and by which words the audit was started."""
    settings = asdict(capsule)
    for name in ("created", "platform", "command"):
        del settings[name]
    return hash_settings(settings)


def _list_pairs(
    pairs: Sequence[tuple[str, str]] | str, names: list[str]
) -> tuple[tuple[str, str], ...]:
    if isinstance(pairs, str):
        if pairs != "all":
            raise InputError(
                f"'pairs' must be pairs of names, or 'all'. Got {pairs!r}.", argument="pairs"
            )
        return tuple(combinations(names, 2))
    return tuple((str(a), str(b)) for a, b in pairs)
