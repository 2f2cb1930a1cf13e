"""Files whose rows are scored, or chosen by a condition, before they are counted.

Rows are read, filtered and scored in batches; what is counted of them is written beside, as a
Parquet file with a column per attribute, outcome and prediction, which is removed at the end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit._words import clipped
from fairaudit.auditing.engines.duckdb_engine import copy_files, start_duckdb
from fairaudit.auditing.engines.sources import (
    PREDICTION,
    FramePartition,
    Narrow,
    narrow_partition,
    watch_files,
)
from fairaudit.auditing.engines.stored_frames import explain_full_disk
from fairaudit.data.facts import Excluded
from fairaudit.data.reading.files import file_names, is_parquet
from fairaudit.data.reading.parquet import arrow, to_frame, unreadable
from fairaudit.errors import InputError
from fairaudit.models.answers import Answer

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit._types import Progress
    from fairaudit.data.roles import ResolvedRoles
    from fairaudit.models import Predictor

__all__ = ["ScoredFile", "score_files"]

_MEMORY = 1 << 29
_BYTES = 256  # of a value while it is read, scored and written, about
_FEWEST, _MOST = 10_000, 250_000  # rows of a batch


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoredFile:
    """Where the narrow rows are. It answers in the place of the model, from its columns.

    Attributes
    ----------
    path : str
    predictions : tuple of str
        Its columns that are predictions.
    excluded : tuple of Excluded
    kind : str
        Of the model.
    """

    path: str
    predictions: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    kind: str
    first: Narrow

    def rename(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """What is told of columns, with predictions as the model calls them."""
        names = dict(zip(self.predictions, self.first.predictions, strict=True))
        return {names.get(name, name): value for name, value in told.items()}

    def answer(self, frame: pd.DataFrame, *, on: str = "scores") -> Answer:
        classes = self.first.classes
        named = frame.set_axis(list(self.first.predictions), axis=1)
        return Answer(named, None if classes is None else list(classes), self.first.meaning)


@contextmanager
def score_files(
    paths: Sequence[str],
    roles: ResolvedRoles,
    predictor: Predictor | None,
    *,
    memory: int | None = None,
    progress: Progress,
) -> Iterator[ScoredFile]:
    """Score the rows of Parquet or CSV files that meet the condition of the roles."""
    given = file_names(paths)
    with tempfile.TemporaryDirectory(prefix="fairaudit-") as folder:
        path = Path(folder, "scored.parquet")
        with explain_full_disk("The scored rows"), watch_files(given):
            names = _as_parquet(given, roles, Path(folder), memory)
            scored = _write_scored(
                names, path, roles=roles, predictor=predictor, memory=memory, progress=progress
            )
        yield scored


def _as_parquet(
    names: Sequence[str], roles: ResolvedRoles, folder: Path, memory: int | None
) -> Sequence[str]:
    """The files; those of text as one of Parquet, with one type per column."""
    if all(is_parquet(name) for name in names):
        return names
    copied = str(folder / "rows.parquet")
    columns = None if roles.request.where else sorted(roles.needed(())[0])
    with start_duckdb(memory) as connection:
        copy_files(connection, names, columns, copied)
    return [copied]


def _write_scored(
    names: Sequence[str],
    path: Path,
    *,
    roles: ResolvedRoles,
    predictor: Predictor | None,
    memory: int | None,
    progress: Progress,
) -> ScoredFile:
    pa = arrow("Parquet")
    files = [_open_file(pa, name) for name in names]
    total = sum(file.metadata.num_rows for file in files)
    if total == 0:
        raise InputError("The files have a header and no rows. Pass at least two rows.")
    first: Narrow | None = None
    done, kept = 0, 0
    predictions: tuple[str, ...] = ()
    writer = None
    try:
        for name, file in zip(names, files, strict=True):
            for frame in _read_batches(pa, name, file, roles, memory):
                piece = FramePartition(f"rows from {done:,} of {name!r}", done, frame)
                narrow = narrow_partition(piece, roles, predictor)
                done += len(frame)
                kept += len(narrow.frame)
                progress("scoring", done, total)
                if not len(narrow.frame):
                    continue
                if first is None:
                    first, predictions = narrow, _name_predictions(narrow, roles)
                table = _make_table(pa, narrow, predictions, roles)
                if writer is None:
                    schema = _choose_schema(pa, table, file.schema_arrow)
                    writer = pa.parquet.ParquetWriter(path, schema, compression="zstd")
                writer.write_table(_cast(pa, table, schema, piece.name))
    finally:
        if writer is not None:
            writer.close()
    where = roles.request.where
    if first is None:
        raise InputError(
            f"No row of {done} meets 'where' {clipped(str(where), 200)}. Check the condition.",
            argument="where",
        )
    return ScoredFile(
        path=str(path),
        predictions=predictions,
        excluded=(Excluded(done - kept, f"not {where}"),) if kept < done else (),
        kind="" if predictor is None else predictor.kind,
        first=first,
    )


def _open_file(pa: Any, name: str) -> Any:
    try:
        return pa.parquet.ParquetFile(name, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(repr(name), "Parquet", error) from None


def _read_batches(
    pa: Any, name: str, file: Any, roles: ResolvedRoles, memory: int | None
) -> Iterator[pd.DataFrame]:
    """Frames of the columns that are needed, each of as many rows as fit into the memory."""
    names = file.schema_arrow.names
    needed, _ = roles.needed(names)
    for column in sorted(needed - set(names)):
        raise InputError(f"{name!r} has no column {column!r}, which the files before it have.")
    chosen = [column for column in names if column in needed]
    rows = (memory or _MEMORY) // (_BYTES * max(1, len(chosen)))
    batches = file.iter_batches(min(max(rows, _FEWEST), _MOST), columns=chosen)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(repr(name), "Parquet", error) from None
        if batch is None:
            return
        yield to_frame(repr(name), pa.Table.from_batches([batch]), "Parquet")


def _name_predictions(narrow: Narrow, roles: ResolvedRoles) -> tuple[str, ...]:
    """Names in the file: those of the table, or of the model where no column is called so."""
    if roles.predictions:
        return roles.predictions
    taken = {*roles.sensitive, roles.outcome}
    mark = next(f"prediction{'_' * k}" for k in range(len(taken) + 1))
    while any(f"{mark}{k}" in taken for k in range(len(narrow.predictions))):
        mark += "_"
    return tuple(f"{mark}{k}" for k in range(len(narrow.predictions)))


def _make_table(pa: Any, narrow: Narrow, predictions: Sequence[str], roles: ResolvedRoles) -> Any:
    columns = {name: narrow.frame[name] for name in (*roles.columns["outcome"], *roles.sensitive)}
    for k, name in enumerate(predictions):
        columns[name] = narrow.frame[f"{PREDICTION}{k}"]
    arrays = {name: pa.array(values, from_pandas=True) for name, values in columns.items()}
    return pa.table(arrays)


def _choose_schema(pa: Any, table: Any, read: Any) -> Any:
    """The types of the file, with text as text; those of the model's answers as they come."""
    fields = []
    for field in table.schema:
        known = read.field(field.name).type if field.name in read.names else field.type
        plain = known.value_type if pa.types.is_dictionary(known) else known
        fields.append((field.name, pa.string() if pa.types.is_null(plain) else plain))
    return pa.schema(fields)


def _cast(pa: Any, table: Any, schema: Any, name: str) -> Any:
    try:
        return table.cast(schema)
    except pa.ArrowException as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"The {name} have other types than the rows before: {why}.") from None
