"""What the columns are, from all partitions together: kinds, levels, ranges, missing values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.auditing.engines.sources import KEY, PERSON, PREDICTION, ROW, Narrow, name_errors
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

__all__ = ["Facts", "Schema", "SchemaColumn", "code_rows", "collect_facts", "make_schema"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Of a partition: rows, columns, and the rows left out."""

    rows: int
    columns: Mapping[str, ColumnSummary]
    predictions: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    classes: tuple[Any, ...] | None
    meaning: Meaning


def collect_facts(part: Narrow) -> Facts:
    """Look at a partition."""
    with name_errors(f"Partition {part.name}"):
        names = [name for name in part.frame.columns if name not in (KEY, ROW)]
        rows = part.frame[ROW].to_numpy()
        titles = dict(
            zip([n for n in names if n.startswith(PREDICTION)], part.predictions, strict=True)
        )
        columns = {
            name: summarize(titles.get(name, name), part.frame[name], part.name, rows)
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
        levels = self.levels if self.kind.is_categorical else None
        return ColumnFacts(
            name=self.name,
            kind=str(self.kind),
            levels=() if levels is None else tuple(level_text(level) for level in levels),
            low=self.low if levels is None else None,
            high=self.high if levels is None else None,
            missing=self.missing,
        )

    def codes(self, values: pd.Series) -> NDArray[Any]:
        """Positions among the levels, or the numbers themselves where there are none."""
        if self.levels is None:
            return np.asarray(values, dtype=np.float64)
        if self.numbers is not None:
            known = values.notna().to_numpy()
            place = np.full(len(values), np.searchsorted(self.levels, MISSING_LEVEL))
            texts = np.array([_write_number(number) for number in self.numbers], dtype=object)
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

    `class_levels` are the labels of the prediction as levels of the outcome, in the order of its
    own levels, or the levels that its scores speak of. Scores of the other class are subtracted
    from `mirror`. `positive` is the level that rates count as positive.
    """

    rows: int
    outcome: SchemaColumn
    attributes: tuple[SchemaColumn, ...]
    predictions: tuple[SchemaColumn, ...]
    prediction_name: str  # of the first one
    form: str
    excluded: tuple[Excluded, ...]
    drop: tuple[str, ...]
    class_levels: tuple[Any, ...] = ()
    mirror: float | None = None
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
        columns = [column.column(frame[column.name].to_numpy()) for column in self.columns]
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
        if self.form == "labels" and self.class_levels:
            kind = object if any(isinstance(level, str) for level in self.class_levels) else None
            values = np.array(self.class_levels, dtype=kind)[frame[first.name].to_numpy()]
            return Prediction("labels", (column_of(first.name, values, outcome=True),))
        if self.mirror is not None:
            values = self.mirror - np.asarray(columns[0].numeric)
            columns = (column_of(first.name, values, kind=columns[0].kind),)
        return Prediction(self.form, columns, self.class_levels)

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
                frame[column.name]
                if column.levels is None
                else column.levels[frame[column.name].to_numpy()]
                for column in self.predictions
            ]
        ).astype(np.float64)

    def describe_prediction(self) -> str:
        if len(self.predictions) > 1:
            return f"{self.form} ({len(self.predictions)} columns)"
        facts = replace(self.predictions[0].facts(), name=self.prediction_name)
        return f"{self.form} ({facts.rounded().describe()})"


def make_schema(parts: Sequence[Facts], roles: ResolvedRoles) -> Schema:
    """Join what was seen in all partitions, and decide about kinds and missing values."""
    outcome, attributes, missing = roles.outcome or "", roles.sensitive, roles.request.missing
    kinds = roles.kinds
    rows = sum(part.rows for part in parts)
    if rows < 2:
        raise InputError(f"The table must have at least 2 rows. Got {rows} instead.")
    full = next(part for part in parts if part.rows)
    predictions = [name for name in full.columns if name not in (outcome, *attributes)]
    titles = dict(zip(predictions, full.predictions, strict=True))
    summaries: dict[str, ColumnSummary] = {}
    for part in parts:
        for name, summary in part.columns.items():
            if part.rows:
                summaries[name] = _merge_summaries(
                    titles.get(name, name), summaries.get(name), summary
                )
    target = _make_column(outcome, summaries[outcome], kinds.get(outcome), True, missing)
    chosen = tuple(_make_column(a, summaries[a], kinds.get(a), False, missing) for a in attributes)
    for column in chosen:
        if column.levels is not None and len(column.levels) < 2:
            raise InputError(
                f"Sensitive column {column.name!r} has a single value. "
                "There is nothing to compare: leave it out or pass rows that differ."
            )
    predicted = tuple(
        _make_column(p, summaries[p], given=None, outcome=True, missing=missing, title=titles[p])
        for p in predictions
    )
    if all(column.levels is not None and len(column.levels) == 1 for column in predicted):
        raise InputError(
            f"The prediction {titles[predictions[0]]!r} is constant. It carries no information "
            "about anything; check that the right column was passed."
        )
    drop = [c.name for c in (target, *chosen, *predicted) if c.missing and missing == "drop"]
    excluded = [exclusion for part in parts for exclusion in part.excluded]
    form = _find_form(predicted, target)
    return Schema(
        rows=rows,
        outcome=target,
        attributes=chosen,
        predictions=predicted,
        prediction_name=full.predictions[0],
        form=form,
        excluded=_sum_by_reason(excluded),
        drop=tuple(drop),
        meaning=full.meaning,
    )


def _merge_summaries(
    name: str, before: ColumnSummary | None, summary: ColumnSummary
) -> ColumnSummary:
    try:
        return summary if before is None else before.merge(summary)
    except InputError as error:
        raise InputError(f"Column {name!r} {error}. Write both in the same way.") from None


def _sum_by_reason(excluded: Iterable[Excluded]) -> tuple[Excluded, ...]:
    counts: dict[str, int] = {}
    for exclusion in excluded:
        counts[exclusion.reason] = counts.get(exclusion.reason, 0) + (exclusion.rows or 0)
    return tuple(Excluded(rows, reason) for reason, rows in counts.items())


def _find_form(predictions: tuple[SchemaColumn, ...], outcome: SchemaColumn) -> str:
    """``labels``, ``scores`` or ``probabilities``, as in `AuditTable.of`."""
    first = predictions[0]
    if len(predictions) > 1:
        inside = all(
            not column.text and column.low >= 0 and column.high <= 1 for column in predictions
        )
        return "probabilities" if inside else "scores"
    if first.text:
        return "labels"
    if first.levels is None or outcome.levels is None or outcome.text:
        return "scores"
    labels = outcome.kind.is_categorical and np.isin(first.levels, outcome.levels).all()
    return "labels" if labels else "scores"


def _make_column(
    name: str,
    summary: ColumnSummary,
    given: str | None,
    outcome: bool,
    missing: str,
    title: str | None = None,
) -> SchemaColumn:
    declared = None if given is None else Kind(given)
    view = summary.as_declared(declared, 1 if outcome else MANY_NUMBERS)
    levels: list[Any] | None = None if view.levels is None else sorted(view.levels)
    if view.text and levels is not None:
        texts = np.array(levels, dtype=object)
        reject_odd_text(title or name, np.arange(len(levels)), texts, given, None)
    kind = declared or view.kind(outcome=outcome)
    if view.merged and not (declared is not None and kind.is_categorical):
        raise InputError(beyond_whole(title or name))
    numbers = None
    if view.missing and missing != "drop":
        if outcome or not missing_is_level(kind, missing):
            declare = not outcome and missing != "error"
            message = missing_values(title or name, view.missing, declare=declare)
            raise InputError(message, argument="missing")
        if not view.text:
            numbers = np.array(levels or [], dtype=_choose_dtype(levels or []))
            levels = [_write_number(level) for level in levels or []]
        levels = sorted([*(levels or []), MISSING_LEVEL])
        kind = declared or Kind.CATEGORICAL
    if kind.is_categorical and levels is None:
        raise InputError(
            f"Column {name!r} has more than {MOST_LEVELS:,} levels. Group them, or leave it out."
        )
    if kind is Kind.BINARY and len(levels or ()) > 2:
        raise not_binary(title or name, len(levels or ()))
    if outcome and not kind.is_categorical:
        reject_extreme(title or name, view.low, view.high)
        levels = None  # numbers, however few
    text = view.text or numbers is not None
    array = (
        None
        if levels is None
        else np.array(levels, dtype=object if text else _choose_dtype(levels))
    )
    return SchemaColumn(
        name=name,
        kind=kind,
        text=text,
        levels=array,
        low=view.low,
        high=view.high,
        missing=view.missing,
        numbers=numbers,
        parsed=view is not summary,
    )


def _choose_dtype(levels: Sequence[Any]) -> Any:
    """Floating-point numbers, unless whole ones are so large that digits would be lost."""
    if not any(isinstance(level, int) for level in levels):
        return np.float64
    return np.uint64 if max(levels) >= 2**63 else np.int64


def _write_number(number: Any) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def code_rows(part: Narrow, schema: Schema, ids: bool) -> pd.DataFrame:
    """The rows of a partition as numbers: codes of levels, or values."""
    import pandas as pd

    with name_errors(f"Partition {part.name}"):
        frame = part.frame
        texts = [column.name for column in schema.columns if column.parsed]
        if texts:
            frame = frame.assign(**{n: pd.to_numeric(frame[n], errors="coerce") for n in texts})
        if schema.drop:
            frame = frame[frame[list(schema.drop)].notna().all(axis=1)]
        columns = {column.name: column.codes(frame[column.name]) for column in schema.columns}
        key = frame[KEY].to_numpy().astype(np.uint64)
        columns |= {KEY: key, ROW: frame[ROW].to_numpy().astype(np.int64)}
        if ids:
            columns[PERSON] = key.astype(np.int64)
        return pd.DataFrame(columns)


def count_dropped(schema: Schema, rows: int) -> Schema:
    """The schema once rows with missing values are gone."""
    dropped = schema.rows - rows
    if not dropped:
        return schema
    names = ", ".join(schema.drop)
    excluded = (*schema.excluded, Excluded(dropped, f"{names} is missing"))
    return replace(schema, rows=rows, excluded=excluded)
