"""What the columns are, from all partitions together: kinds, levels, ranges, missing values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.auditing.engines.sources import KEY, PERSON, PREDICTION, ROW, Narrow, named
from fairaudit.data.column_summary import MOST_LEVELS, ColumnSummary, summarize
from fairaudit.data.columns import (
    Column,
    Kind,
    beyond_whole,
    column_of,
    level_text,
    not_binary,
    reject_extreme,
)
from fairaudit.data.facts import ColumnFacts, Excluded
from fairaudit.data.missing_values import MISSING_LEVEL, missing_is_level, missing_values
from fairaudit.data.prediction import Prediction
from fairaudit.data.table import AuditTable
from fairaudit.data.text_columns import MANY_NUMBERS, reject_odd_text
from fairaudit.errors import InputError
from fairaudit.models.answers import Meaning

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.data.roles import ResolvedRoles

__all__ = ["Facts", "Schema", "SchemaColumn", "coded", "facts_of", "schema_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Of a partition: rows, columns, and the rows left out."""

    rows: int
    columns: Mapping[str, ColumnSummary]
    predictions: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    classes: tuple[Any, ...] | None
    meaning: Meaning


def facts_of(part: Narrow) -> Facts:
    """Look at a partition."""
    with named(f"Partition {part.name}"):
        names = [name for name in part.frame.columns if name not in (KEY, ROW)]
        rows = part.frame[ROW].to_numpy()
        shown = dict(
            zip([n for n in names if n.startswith(PREDICTION)], part.predictions, strict=True)
        )
        columns = {
            name: summarize(shown.get(name, name), part.frame[name], part.name, rows)
            for name in names
        }
        return Facts(
            rows=len(part.frame),
            columns=columns,
            predictions=part.predictions,
            excluded=part.excluded,
            classes=part.classes,
            meaning=part.meaning,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SchemaColumn:
    """A column of the whole table; `levels` is None where values are not listed.

    `numbers` are the values behind the levels where numbers became text, for a missing level;
    `parsed` tells that the values are numbers which came as text.
    """

    name: str
    kind: Kind
    text: bool
    levels: NDArray[Any] | None
    low: float
    high: float
    missing: int
    numbers: NDArray[Any] | None = None
    parsed: bool = False

    def facts(self) -> ColumnFacts:
        if self.kind.is_categorical and self.levels is not None:
            shown = tuple(level_text(level) for level in self.levels)
            return ColumnFacts(
                name=self.name,
                kind=str(self.kind),
                levels=shown,
                low=None,
                high=None,
                missing=self.missing,
            )
        return ColumnFacts(
            name=self.name,
            kind=str(self.kind),
            levels=(),
            low=self.low,
            high=self.high,
            missing=self.missing,
        )

    def codes(self, values: pd.Series) -> NDArray[Any]:
        """Positions among the levels, or the numbers themselves where there are none."""
        if self.levels is None:
            return np.asarray(values, dtype=np.float64)
        if self.numbers is not None:
            known = values.notna().to_numpy()
            place = np.full(len(values), np.searchsorted(self.levels, MISSING_LEVEL))
            texts = np.array([_number_text(one) for one in self.numbers], dtype=object)
            among = np.searchsorted(self.levels, texts)
            found = np.asarray(values[known], dtype=self.numbers.dtype)
            place[known] = among[np.searchsorted(self.numbers, found)]
            return place.astype(np.int32)
        if self.text:
            import pandas as pd

            filled = values.astype(object).fillna(MISSING_LEVEL)
            codes, found = pd.factorize(filled)
            place = np.searchsorted(self.levels, np.asarray(found, dtype=object))
            return place[codes].astype(np.int32)
        numbers = np.asarray(values, dtype=self.levels.dtype)
        return np.searchsorted(self.levels, numbers).astype(np.int32)

    def column(self, codes: NDArray[Any]) -> Column:
        """A column of some rows, with the levels that occur in them."""
        if self.levels is None:
            return column_of(self.name, codes, kind=self.kind)
        used = np.flatnonzero(np.bincount(codes, minlength=len(self.levels)))
        numeric = None if self.text else self.levels[codes].astype(np.float64)
        place = np.searchsorted(used, codes)
        return Column(
            name=self.name,
            kind=self.kind,
            codes=place.astype(np.intp),
            levels=self.levels[used],
            numeric=numeric,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Schema:
    """Outcome, attributes and predictions of the whole table.

    `said` has the labels of the prediction as levels of the outcome, in the order of its own
    levels, or the levels that its scores speak of; `turned` scores are of the other class, and
    taken from this number. `positive` is the level that rates count as positive.
    """

    rows: int
    outcome: SchemaColumn
    attributes: tuple[SchemaColumn, ...]
    predictions: tuple[SchemaColumn, ...]
    shown: str  # name of the (first) prediction
    form: str
    excluded: tuple[Excluded, ...]
    drop: tuple[str, ...]
    said: tuple[Any, ...] = ()
    turned: float | None = None
    positive: Any = None
    meaning: Meaning = Meaning.UNKNOWN

    @property
    def of_regressor(self) -> bool:
        """Whether a model that predicts numbers is asked about classes."""
        numbers = self.form == "scores" and self.meaning is Meaning.NUMBERS
        return numbers and self.outcome.kind.is_categorical

    @property
    def columns(self) -> tuple[SchemaColumn, ...]:
        return (self.outcome, *self.attributes, *self.predictions)

    def table(self, frame: pd.DataFrame) -> AuditTable:
        """The audit table of some coded rows."""
        columns = [one.column(frame[one.name].to_numpy()) for one in self.columns]
        width = len(self.attributes)
        ids = None
        if PERSON in frame:
            ids = column_of("ids", frame[PERSON].to_numpy(), kind=Kind.CATEGORICAL)
        return AuditTable(
            self._prediction(frame, tuple(columns[1 + width :])),
            columns[0],
            tuple(columns[1 : 1 + width]),
            None,
            ids,
            positive=self.positive,
        )

    def _prediction(self, frame: pd.DataFrame, columns: tuple[Column, ...]) -> Prediction:
        first = self.predictions[0]
        if self.form == "labels" and self.said:
            kind = object if any(isinstance(level, str) for level in self.said) else None
            values = np.array(self.said, dtype=kind)[frame[first.name].to_numpy()]
            return Prediction("labels", (column_of(first.name, values, outcome=True),))
        if self.turned is not None:
            values = self.turned - np.asarray(columns[0].numeric)
            columns = (column_of(first.name, values, kind=columns[0].kind),)
        return Prediction(self.form, columns, self.said)

    def prediction_matrix(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """`Prediction.matrix` on the scale of the whole table."""
        first = self.predictions[0]
        if self.form == "labels" and first.levels is not None and first.kind.is_categorical:
            codes = frame[first.name].to_numpy()
            if len(first.levels) <= 2:
                return codes.astype(np.float64)[:, None]
            return np.eye(len(first.levels))[codes] * np.sqrt(0.5)
        return np.column_stack(
            [
                frame[one.name] if one.levels is None else one.levels[frame[one.name].to_numpy()]
                for one in self.predictions
            ]
        ).astype(np.float64)

    def describe_prediction(self) -> str:
        if len(self.predictions) > 1:
            return f"{self.form} ({len(self.predictions)} columns)"
        facts = replace(self.predictions[0].facts(), name=self.shown)
        return f"{self.form} ({facts.describe()})"


def schema_of(parts: Sequence[Facts], roles: ResolvedRoles) -> Schema:
    """Join what was seen in all partitions, and decide about kinds and missing values."""
    outcome, attributes, missing = roles.outcome or "", roles.sensitive, roles.request.missing
    kinds = roles.kinds
    rows = sum(part.rows for part in parts)
    if rows < 2:
        raise InputError(f"The table must have at least 2 rows. Got {rows} instead.")
    full = next(part for part in parts if part.rows)
    predictions = [name for name in full.columns if name not in (outcome, *attributes)]
    shown = dict(zip(predictions, full.predictions, strict=True))
    seen: dict[str, ColumnSummary] = {}
    for part in parts:
        for name, one in part.columns.items():
            if part.rows:
                seen[name] = _joined(shown.get(name, name), seen.get(name), one)
    target = _column(outcome, seen[outcome], kinds.get(outcome), True, missing)
    chosen = tuple(_column(a, seen[a], kinds.get(a), False, missing) for a in attributes)
    for column in chosen:
        if column.levels is not None and len(column.levels) < 2:
            raise InputError(
                f"Sensitive column {column.name!r} has a single value. "
                "There is nothing to compare: leave it out or pass rows that differ."
            )
    predicted = tuple(
        _column(p, seen[p], given=None, outcome=True, missing=missing, shown=shown[p])
        for p in predictions
    )
    if all(one.levels is not None and len(one.levels) == 1 for one in predicted):
        raise InputError(
            f"The prediction {shown[predictions[0]]!r} is constant. It carries no information "
            "about anything; check that the right column was passed."
        )
    drop = [c.name for c in (target, *chosen, *predicted) if c.missing and missing == "drop"]
    excluded = [one for part in parts for one in part.excluded]
    form = _form(predicted, target)
    return Schema(
        rows=rows,
        outcome=target,
        attributes=chosen,
        predictions=predicted,
        shown=full.predictions[0],
        form=form,
        excluded=_by_reason(excluded),
        drop=tuple(drop),
        meaning=full.meaning,
    )


def _joined(name: str, before: ColumnSummary | None, one: ColumnSummary) -> ColumnSummary:
    try:
        return one if before is None else before.merge(one)
    except InputError as error:
        raise InputError(f"Column {name!r} {error}. Write both in the same way.") from None


def _by_reason(excluded: Iterable[Excluded]) -> tuple[Excluded, ...]:
    counts: dict[str, int] = {}
    for one in excluded:
        counts[one.reason] = counts.get(one.reason, 0) + (one.rows or 0)
    return tuple(Excluded(rows, reason) for reason, rows in counts.items())


def _form(predictions: tuple[SchemaColumn, ...], outcome: SchemaColumn) -> str:
    """``labels``, ``scores`` or ``probabilities``, as in `AuditTable.of`."""
    first = predictions[0]
    if len(predictions) > 1:
        inside = all(not one.text and one.low >= 0 and one.high <= 1 for one in predictions)
        return "probabilities" if inside else "scores"
    if first.text:
        return "labels"
    if first.levels is None or outcome.levels is None or outcome.text:
        return "scores"
    labels = outcome.kind.is_categorical and np.isin(first.levels, outcome.levels).all()
    return "labels" if labels else "scores"


def _column(
    name: str,
    summary: ColumnSummary,
    given: str | None,
    outcome: bool,
    missing: str,
    shown: str | None = None,
) -> SchemaColumn:
    declared = None if given is None else Kind(given)
    seen = summary.as_declared(declared, 1 if outcome else MANY_NUMBERS)
    levels: list[Any] | None = None if seen.levels is None else sorted(seen.levels)
    if seen.text and levels is not None:
        texts = np.array(levels, dtype=object)
        reject_odd_text(shown or name, np.arange(len(levels)), texts, given, None)
    kind = declared or seen.kind(outcome=outcome)
    if seen.merged and not (declared is not None and kind.is_categorical):
        raise InputError(beyond_whole(shown or name))
    numbers = None
    if seen.missing and missing != "drop":
        if outcome or not missing_is_level(kind, missing):
            declare = not outcome and missing != "error"
            message = missing_values(shown or name, seen.missing, declare=declare)
            raise InputError(message, argument="missing")
        if not seen.text:
            numbers = np.array(levels or [], dtype=_dtype(levels or []))
            levels = [_number_text(level) for level in levels or []]
        levels = sorted([*(levels or []), MISSING_LEVEL])
        kind = declared or Kind.CATEGORICAL
    if kind.is_categorical and levels is None:
        raise InputError(
            f"Column {name!r} has more than {MOST_LEVELS:,} levels. Group them, or leave it out."
        )
    if kind is Kind.BINARY and len(levels or ()) > 2:
        raise not_binary(shown or name, len(levels or ()))
    if outcome and not kind.is_categorical:
        reject_extreme(shown or name, seen.low, seen.high)
        levels = None  # numbers, however few
    text = seen.text or numbers is not None
    array = None if levels is None else np.array(levels, dtype=object if text else _dtype(levels))
    return SchemaColumn(
        name=name,
        kind=kind,
        text=text,
        levels=array,
        low=seen.low,
        high=seen.high,
        missing=seen.missing,
        numbers=numbers,
        parsed=seen is not summary,
    )


def _dtype(levels: Sequence[Any]) -> Any:
    """Floating-point numbers, unless whole ones are so large that digits would be lost."""
    if not any(isinstance(level, int) for level in levels):
        return np.float64
    return np.uint64 if max(levels) >= 2**63 else np.int64


def _number_text(number: Any) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def coded(part: Narrow, schema: Schema, ids: bool) -> pd.DataFrame:
    """The rows of a partition as numbers: codes of levels, or values."""
    import pandas as pd

    with named(f"Partition {part.name}"):
        frame = part.frame
        texts = [column.name for column in schema.columns if column.parsed]
        if texts:
            frame = frame.assign(**{n: pd.to_numeric(frame[n], errors="coerce") for n in texts})
        if schema.drop:
            frame = frame[frame[list(schema.drop)].notna().all(axis=1)]
        columns = {one.name: one.codes(frame[one.name]) for one in schema.columns}
        key = frame[KEY].to_numpy().astype(np.uint64)
        columns |= {KEY: key, ROW: frame[ROW].to_numpy().astype(np.int64)}
        if ids:
            columns[PERSON] = key.astype(np.int64)
        return pd.DataFrame(columns)


def after_drop(schema: Schema, rows: int) -> Schema:
    """The schema once rows with missing values are gone."""
    gone = schema.rows - rows
    if not gone:
        return schema
    names = ", ".join(schema.drop)
    excluded = (*schema.excluded, Excluded(gone, f"{names} is missing"))
    return replace(schema, rows=rows, excluded=excluded)
