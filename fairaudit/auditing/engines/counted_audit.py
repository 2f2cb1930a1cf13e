"""Audits of tables that are counted where they lie, and the counts by themselves."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.count_rows import MOST_ROWS
from fairaudit.auditing.descriptions import described
from fairaudit.auditing.engines import ENGINES
from fairaudit.auditing.engines.count_sources import open_source
from fairaudit.auditing.engines.counting import CountSource, Key, make_counts
from fairaudit.auditing.engines.duckdb_engine import has_duckdb
from fairaudit.auditing.engines.entry import audit_table_in_shards, hash_files
from fairaudit.auditing.engines.scored_files import ScoredFile, score_files
from fairaudit.auditing.engines.sources import count_parquet_rows
from fairaudit.auditing.run import choose_rows, run_audit
from fairaudit.data.cautions import warnings_about
from fairaudit.data.columns import MAX_OUTCOME_CLASSES, Kind
from fairaudit.data.facts import Source
from fairaudit.data.preparation import prepare_resolved
from fairaudit.data.reading.files import STDIN, file_names, is_parquet
from fairaudit.data.roles import Roles, column_names
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.examination import Rows
    from fairaudit.data.roles import ResolvedRoles
    from fairaudit.models import Predictor

__all__ = ["audit_counted", "audit_table_on_engine", "counts", "files_are_counted"]

_MANY_BYTES = 1 << 26  # of CSV, which has half a million rows then, about
COUNT = "n"


def counts(
    data: Any,
    *,
    predictions: str | Sequence[str],
    outcome: str,
    sensitive: str | Sequence[str],
    table: str | None = None,
    engine: Any = None,
    count: str = COUNT,
    bins: int | None = None,
    threshold: float | None = None,
    kinds: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """How many rows have which outcome, attributes and prediction, counted where they lie.

    The counts are enough for an audit: ``audit(counts=frame, count="n", …)``.

    Parameters
    ----------
    data : frame, table, connection or paths
        A frame (pandas, Polars, Arrow), a lazy table (Spark, Ibis, Polars, DuckDB) or one of Dask,
        a connection to a database, or files (Parquet and CSV by DuckDB; a DuckDB or SQLite
        database).
    predictions, sensitive : names of columns
    outcome : str
    table : str, optional
        Of a database: the name of a table, or a query.
    engine : str or CountEngine, optional
        What counts: ``"local"``, ``"dask"``, ``"duckdb"``, ``"sql"``, ``"lazy"`` or one of your
        own; by default the first that takes the data.
    count : str
        What the column of counts is called.
    bins : int, optional
        Of scores and other numbers with more than 256 different values; default 64, the first and
        the last of which are halved four times more.
    threshold : float, optional
        That no bin of scores holds both sides of; default 0.5 for scores in [0, 1].
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    pandas.DataFrame
        Sorted; the same from every source. ``frame.attrs["binned"]`` has the columns in bins.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"p": [0, 1, 1, 0], "y": [0, 1, 1, 0], "sex": list("ffmf")})
    >>> counts(rows, predictions="p", outcome="y", sensitive="sex")["n"].tolist()
    [2, 1, 1]
    """
    roles = Roles(
        sensitive=column_names(sensitive), predictions=column_names(predictions), outcome=outcome
    ).declared(kinds)
    with open_source(data, table, engine=engine) as source:
        resolved = roles.resolve(source.columns())
        made = make_counts(source, resolved, count=count, bins=bins, threshold=threshold)
    made.frame.attrs["binned"] = dict(made.binned)
    return made.frame


def files_are_counted(
    paths: Sequence[str], roles: Roles, plan: Plan, predictor: Predictor | None
) -> bool:
    """Whether files are so large that they are counted rather than read."""
    plain = roles.weights is None and roles.ids is None and roles.count is None and plan.bins != 0
    categorical = plan.law in ("auto", "icp", "exact") and plan.density in ("auto", "exact")
    if not plain or not categorical or plan.calibrate or not has_duckdb():
        return False
    names = file_names(paths)
    if STDIN in names or not all(os.path.isfile(name) for name in names):
        return False
    if all(is_parquet(name) for name in names):
        return count_parquet_rows(names) > MOST_ROWS
    text = all(name.lower().endswith((".csv", ".tsv")) for name in names)
    return text and sum(os.path.getsize(name) for name in names) > _MANY_BYTES


def audit_counted(
    data: Any,
    roles: Roles,
    plan: Plan,
    *,
    engine: Any = None,
    table: str | None = None,
    predictor: Predictor | None = None,
    sources: tuple[Source, ...] | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> AuditResult | None:
    """Audit what an engine counts: files, a table of a database, a frame elsewhere.

    Rows of files are scored first, in batches, where there is a model or a condition.
    None where it turns out that counts are not enough: the outcome is continuous.
    """
    for name, value in (("weights", roles.weights), ("ids", roles.ids)):
        if value is not None:
            raise InputError(
                f"Rows that are counted have no '{name}'. Leave it out, or audit the rows.",
                argument=name,
            )
    started = time.process_time()
    progress = progress or (lambda what, done, total: None)
    progress("counting", 0, 1)
    paths = [str(path) for path in data] if isinstance(data, (list, tuple)) else None
    if sources is None:
        ours = engine is None or (isinstance(engine, str) and engine in ENGINES.built_in)
        files = paths and (ours or all(map(os.path.exists, paths)))  # or addresses of an engine
        sources = hash_files(paths) if paths and files else ()
    memory = plan.permutations.memory
    told: dict[str, Any] = {"engine": engine, "memory": memory}
    options = {} if engine is None else {"engine": described(engine)}
    by_rows = predictor is not None or roles.where is not None
    with open_source(data, table, **told) as source:
        resolved = roles.resolve(source.columns(), predictor)
        if not _has_classes(source, resolved):
            return None
        if not by_rows:
            rows = _count_rows(source, resolved, plan, started=started, options=options)
    if by_rows:
        if paths is None or table is not None:
            raise InputError(
                "A model and a condition need the rows of files: what is counted in a database "
                "has its predictions among its columns.",
                argument=("model", "where"),
            )
        with (
            score_files(paths, resolved, predictor, memory=memory, progress=progress) as scored,
            open_source([scored.path], **told) as source,
        ):
            own = replace(resolved, predictions=scored.predictions)
            rows = _count_rows(source, own, plan, started=started, options=options, scored=scored)
    progress("counting", 1, 1)
    model = None
    if predictor is not None:
        model = Source(predictor.source, predictor.kind, predictor.sha256)
    result = run_audit(
        rows, plan, roles=roles, model=model, data=sources, command=command, progress=progress
    )
    notes = () if predictor is None else predictor.notes
    return replace(result, notes=(*result.notes, *notes))


def audit_table_on_engine(
    table: Any,
    roles: Roles,
    plan: Plan,
    *,
    engine: Any,
    predictor: Predictor | None = None,
    progress: Progress | None = None,
    **shards: Any,
) -> AuditResult:
    """Audit a table in shards, or from the counts of an engine that has none."""
    if hasattr(ENGINES.get(engine), "map"):
        return audit_table_in_shards(
            table, roles, plan, engine=engine, predictor=predictor, progress=progress, **shards
        )
    if predictor is not None:
        raise InputError(
            "What an engine counts has its predictions among its columns. Leave the model out, or "
            "pass the rows in memory.",
            argument="engine",
        )
    result = audit_counted(table, roles, plan, engine=engine, progress=progress)
    if result is None:
        raise InputError("Counting needs classes as outcome, and this one is continuous.")
    return result


def _has_classes(source: CountSource, roles: ResolvedRoles) -> bool:
    """Whether the outcome can be one of classes: few different values, however they are stored."""
    assert roles.outcome is not None  # noqa: S101  for mypy: of a table
    if roles.kinds.get(roles.outcome) in (Kind.BINARY.value, Kind.CATEGORICAL.value):
        return True
    _, own = source.summarize([roles.outcome])
    numbers = own[roles.outcome]
    if numbers.low is None or (numbers.whole and numbers.high == numbers.low):
        return True
    most = MAX_OUTCOME_CLASSES
    return len(source.count([Key(roles.outcome)], COUNT, most)) <= most


def _count_rows(
    source: CountSource,
    roles: ResolvedRoles,
    plan: Plan,
    *,
    started: float,
    options: Mapping[str, Any],
    scored: ScoredFile | None = None,
) -> Rows:
    """Count, and hand the counts over as what an audit examines."""
    used = {name for names in roles.columns.values() for name in names}
    count = next(name for name in (COUNT, "rows", "count", "\0n") if name not in used)
    cut = plan.threshold if roles.request.threshold is None else roles.request.threshold
    made = make_counts(source, roles, count=count, bins=plan.bins, threshold=cut)
    request = replace(roles.request, where=None)  # these rows meet it
    own = replace(roles, request=request, count=count, kinds=made.kinds, features=())
    binned = made.binned
    if scored is None or not roles.features:
        prepared = prepare_resolved(made.frame, own)
    else:
        binned, kinds = scored.rename(binned), scored.rename(made.kinds)
        own = replace(own, predictions=(), features=scored.predictions, kinds=kinds)
        prepared = prepare_resolved(made.frame, own, scored)
    excluded = () if scored is None else scored.excluded
    prepared = replace(
        prepared,
        features=roles.features,
        excluded=(*excluded, *prepared.excluded),
        notes=(*warnings_about(str(roles.outcome), roles.features), *prepared.notes),
    )
    return choose_rows(
        prepared,
        plan,
        roles=roles.request,
        binned=binned,
        options={**options, "counted": True},
        started=started,
    )
