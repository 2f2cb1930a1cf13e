"""What the columns are, from all partitions together: kinds, levels, ranges, missing values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.auditing.engines.sources import KEY, PERSON, ROW, Narrow, named
from fairaudit.data.columns import (
    MAX_OUTCOME_CLASSES,
    Column,
    Kind,
    beyond_whole,
    column_of,
    level_text,
)
from fairaudit.data.facts import ColumnFacts, Excluded
from fairaudit.data.missing_values import MISSING_LEVEL, missing_values
from fairaudit.data.prediction import Prediction
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.models.answers import Meaning

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.data.roles import ResolvedRoles

__all__ = ["Facts", "Schema", "SchemaColumn", "coded", "facts_of", "schema_of"]

_NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")
MOST_LEVELS = 2_000  # of a column whose levels are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one partition, or several, hold of a column; `levels` is None where there are many.

    `merged` tells that whole numbers beyond 2^53 become equal as floating-point numbers.
    """

    text: bool
    levels: frozenset[Any] | None
    low: float
    high: float
    whole: bool
    missing: int
    where: str
    merged: bool = False

    def and_(self, other: Seen) -> Seen:
        if self.text != other.text and self.levels != frozenset() != other.levels:
            first, second = (self, other) if self.text else (other, self)
            raise InputError(f"holds text in {first.where} and numbers in {second.where}")
        both = None
        if self.levels is not None and other.levels is not None:
            both = self.levels | other.levels
        return Seen(
            text=self.text or other.text,
            levels=both if both is None or len(both) <= MOST_LEVELS else None,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            whole=self.whole and other.whole,
            missing=self.missing + other.missing,
            where=self.where,
            merged=self.merged
            or other.merged
            or (not self.text and both is not None and len(set(map(float, both))) < len(both)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Of a partition: rows, columns, and the rows left out."""

    rows: int
    columns: Mapping[str, Seen]
    predictions: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    classes: tuple[Any, ...] | None
    meaning: Meaning


def facts_of(part: Narrow) -> Facts:
    """Look at a partition."""
    with named(f"Partition {part.name}"):
        names = [name for name in part.frame.columns if name not in (KEY, ROW)]
        columns = {name: _seen(part.frame[name], name, part.name) for name in names}
        return Facts(
            rows=len(part.frame),
            columns=columns,
            predictions=part.predictions,
            excluded=part.excluded,
            classes=part.classes,
            meaning=part.meaning,
        )


def _seen(values: pd.Series, name: str, where: str) -> Seen:
    import pandas as pd

    known = values.dropna()
    missing = len(values) - len(known)
    if isinstance(known.dtype, pd.CategoricalDtype):
        known = known.astype(object)
    text = not (pd.api.types.is_numeric_dtype(known) or pd.api.types.is_bool_dtype(known))
    if text and pd.api.types.infer_dtype(known, skipna=False) in _NUMBERS:
        known, text = known.astype(float), False
    distinct = known.unique()
    if text:
        if any(not isinstance(one, str) for one in distinct):
            odd = next(type(one).__name__ for one in distinct if not isinstance(one, str))
            raise InputError(f"column {name!r} holds values of type {odd}; turn them into text")
        few = len(distinct) <= MOST_LEVELS
        texts = frozenset(map(str, distinct)) if few else None
        return Seen(
            text=True,
            levels=texts,
            low=np.inf,
            high=-np.inf,
            whole=False,
            missing=missing,
            where=where,
        )
    numbers = np.asarray(distinct, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"column {name!r} has an infinite value. Remove or cap such values")
    large = pd.api.types.is_integer_dtype(known) and len(numbers) and np.abs(numbers).max() >= 2**53
    exact: list[Any] = [int(one) for one in distinct] if large else numbers.tolist()
    levels = frozenset(exact) if len(numbers) <= MOST_LEVELS else None
    merged = bool(large) and len(np.unique(numbers)) < len(numbers)
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (np.inf, -np.inf)
    whole = bool((np.floor(numbers) == numbers).all())
    return Seen(
        text=False,
        levels=levels,
        low=low,
        high=high,
        whole=whole,
        missing=missing,
        where=where,
        merged=merged,
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SchemaColumn:
    """A column of the whole table; `levels` is None where values are not listed.

    `numbers` are the values behind the levels where numbers became text, for a missing level.
    """

    name: str
    kind: Kind
    text: bool
    levels: NDArray[Any] | None
    low: float
    high: float
    missing: int
    numbers: NDArray[Any] | None = None

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
    outcome, attributes, missing = roles.outcome or "", roles.sensitive, roles.asked.missing
    kinds = roles.kinds
    rows = sum(part.rows for part in parts)
    if rows < 2:
        raise InputError(f"The table must have at least 2 rows. Got {rows} instead.")
    full = next(part for part in parts if part.rows)
    predictions = [name for name in full.columns if name not in (outcome, *attributes)]
    shown = dict(zip(predictions, full.predictions, strict=True))
    seen: dict[str, Seen] = {}
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


def _joined(name: str, before: Seen | None, one: Seen) -> Seen:
    try:
        return one if before is None else before.and_(one)
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
    name: str, seen: Seen, given: str | None, outcome: bool, missing: str, shown: str | None = None
) -> SchemaColumn:
    levels: list[Any] | None = None if seen.levels is None else sorted(seen.levels)
    if given in (Kind.INTEGER.value, Kind.CONTINUOUS.value) and seen.text:
        raise InputError(f"Column {name!r} holds text and is declared {given}. Store numbers.")
    kind = Kind(given) if given is not None else _kind(seen, levels, outcome)
    if seen.merged and not (given is not None and kind.is_categorical):
        raise InputError(beyond_whole(shown or name))
    numbers = None
    if seen.missing and missing != "drop":
        if outcome or not kind.is_categorical or missing == "error":
            declare = not outcome and missing != "error"
            raise InputError(missing_values(shown or name, seen.missing, declare=declare))
        if not seen.text:
            numbers = np.array(levels or [], dtype=_dtype(levels or []))
            levels = [_number_text(one) for one in levels or []]
        levels = sorted([*(levels or []), MISSING_LEVEL])
        kind = kind if given is not None else Kind.CATEGORICAL
    if kind.is_categorical and levels is None:
        raise InputError(
            f"Column {name!r} has more than {MOST_LEVELS:,} levels. Group them, or leave it out."
        )
    if outcome and not kind.is_categorical:
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
    )


def _dtype(levels: Sequence[Any]) -> Any:
    """Floating-point numbers, unless whole ones are so large that digits would be lost."""
    if not any(isinstance(level, int) for level in levels):
        return np.float64
    return np.uint64 if max(levels) >= 2**63 else np.int64


def _number_text(number: Any) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def _kind(seen: Seen, levels: list[Any] | None, outcome: bool) -> Kind:
    if levels is not None and len(levels) <= 2:
        return Kind.BINARY
    if seen.text:
        return Kind.CATEGORICAL
    if not seen.whole:
        return Kind.CONTINUOUS
    if not outcome:
        return Kind.INTEGER
    few = levels is not None and len(levels) <= MAX_OUTCOME_CLASSES
    return Kind.CATEGORICAL if few else Kind.CONTINUOUS


def coded(part: Narrow, schema: Schema, ids: bool) -> pd.DataFrame:
    """The rows of a partition as numbers: codes of levels, or values."""
    import pandas as pd

    with named(f"Partition {part.name}"):
        frame = part.frame
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
