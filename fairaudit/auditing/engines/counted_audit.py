"""Audits of tables that are counted where they lie, and the counts by themselves."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.count_rows import MOST_ROWS
from fairaudit.auditing.engines.count_sources import DATABASES, has_duckdb, open_source
from fairaudit.auditing.engines.counting import CountSource, make_counts
from fairaudit.auditing.engines.entry import hash_files
from fairaudit.auditing.run import choose_rows, run_audit
from fairaudit.data.preparation import prepare_resolved
from fairaudit.data.reading.files import STDIN, file_names, is_parquet
from fairaudit.data.reading.parquet import arrow
from fairaudit.data.roles import Roles, column_names
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.data.facts import Source
    from fairaudit.models import Predictor

__all__ = ["audit_counted_files", "audit_source", "counts", "files_are_counted", "is_database"]

_MANY_BYTES = 1 << 26  # of CSV, which has half a million rows then, about
COUNT = "n"


def counts(
    data: Any,
    *,
    predictions: str | Sequence[str],
    outcome: str,
    sensitive: str | Sequence[str],
    table: str | None = None,
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
        A frame (pandas, Polars, Arrow), a table of Dask or Spark, a connection to a database, or
        files (Parquet and CSV by DuckDB; a DuckDB or SQLite database).
    predictions, sensitive : names of columns
    outcome : str
    table : str, optional
        Of a database: the name of a table, or a query.
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
    with open_source(data, table) as source:
        resolved = roles.resolve(source.columns())
        made = make_counts(source, resolved, count=count, bins=bins, threshold=threshold)
    made.frame.attrs["binned"] = dict(made.binned)
    return made.frame


def files_are_counted(
    paths: Sequence[str], roles: Roles, plan: Plan, predictor: Predictor | None
) -> bool:
    """Whether files are so large that they are counted rather than read."""
    plain = roles.weights is None and roles.ids is None and roles.count is None
    plain = plain and roles.where is None and predictor is None and plan.bins != 0
    categorical = plan.law in ("auto", "icp", "exact") and plan.density in ("auto", "exact")
    if not plain or not categorical or plan.calibrate or not has_duckdb():
        return False
    names = file_names(paths)
    if STDIN in names or not all(os.path.isfile(name) for name in names):
        return False
    if all(is_parquet(name) for name in names):
        return _count_parquet_rows(names) > MOST_ROWS
    text = all(name.lower().endswith((".csv", ".tsv")) for name in names)
    return text and sum(os.path.getsize(name) for name in names) > _MANY_BYTES


def _count_parquet_rows(names: Sequence[str]) -> int:
    """By what the files say of themselves; 0 where one cannot be read, which its reader tells."""
    pa = arrow("Parquet")
    try:
        return sum(pa.parquet.read_metadata(name).num_rows for name in names)
    except (pa.ArrowException, OSError):
        return 0


def audit_counted_files(
    paths: Sequence[str],
    roles: Roles,
    plan: Plan,
    *,
    table: str | None = None,
    command: str | None = None,
    progress: Progress | None = None,
    data: tuple[Source, ...] | None = None,
) -> AuditResult | None:
    """Audit files that DuckDB counts, or a table of a database file.

    None where it turns out that counts are not enough: the outcome is continuous.
    """
    for name, value in (("weights", roles.weights), ("ids", roles.ids), ("where", roles.where)):
        if value is not None:
            raise InputError(
                f"Rows that are counted have no '{name}'. Leave it out, or filter the table before."
                if name == "where"
                else f"Rows that are counted have no '{name}'. Leave it out, or audit the rows.",
                argument=name,
            )
    progress = progress or (lambda what, done, total: None)
    progress("counting", 0, 1)
    started = time.process_time()
    if data is None:
        data = hash_files(paths)
    with open_source(list(paths), table, memory=plan.permutations.memory) as source:
        if not _has_classes(source, roles):
            return None
        result = audit_source(
            source, roles, plan, data=data, command=command, progress=progress, started=started
        )
    return result


def _has_classes(source: CountSource, roles: Roles) -> bool:
    """Whether the outcome can be one of classes: few different values, however they are stored."""
    from fairaudit.auditing.engines.counting import Key
    from fairaudit.data.columns import MAX_OUTCOME_CLASSES, Kind

    resolved = roles.resolve(source.columns())
    assert resolved.outcome is not None  # noqa: S101  for mypy: of a table
    if resolved.kinds.get(resolved.outcome) in (Kind.BINARY.value, Kind.CATEGORICAL.value):
        return True
    _, own = source.summarize([resolved.outcome])
    numbers = own[resolved.outcome]
    if numbers.low is None or (numbers.whole and numbers.high == numbers.low):
        return True
    most = MAX_OUTCOME_CLASSES
    return len(source.count([Key(resolved.outcome)], COUNT, most)) <= most


def audit_source(
    source: CountSource,
    roles: Roles,
    plan: Plan,
    *,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    progress: Progress | None = None,
    started: float | None = None,
) -> AuditResult:
    """Count and audit."""
    resolved = roles.resolve(source.columns())
    used = {name for names in resolved.columns.values() for name in names}
    count = next(name for name in (COUNT, "rows", "count", "\0n") if name not in used)
    cut = plan.threshold if roles.threshold is None else roles.threshold
    made = make_counts(source, resolved, count=count, bins=plan.bins, threshold=cut)
    if progress is not None:
        progress("counting", 1, 1)
    prepared = prepare_resolved(made.frame, replace(resolved, count=count, kinds=made.kinds))
    rows = choose_rows(
        prepared, plan, roles=roles, binned=made.binned, options={"counted": True}, started=started
    )
    return run_audit(rows, plan, roles=roles, data=data, command=command, progress=progress)


def is_database(paths: Sequence[str]) -> bool:
    """Whether a file is a database, of which a table is named."""
    return any(os.path.splitext(path)[1].lower() in DATABASES for path in paths)
