"""A model that is ready to predict: which columns it takes, and what it says about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import FairAuditError, InputError
from fairaudit.models.adapters import Adapter, adapter_of
from fairaudit.models.answers import Answer, Meaning, Scores, several_outcomes
from fairaudit.models.guard import no_side_effects
from fairaudit.models.safe_pickle import first_line
from fairaudit.models.sandbox import Limits, SandboxedModel

if TYPE_CHECKING:
    import pandas as pd

SAVED_BY = "Saved by scikit-learn"
_LONGEST_NAME, _COMPARED = 200, 10_000  # letters, and columns, when a name is guessed


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Predictor:
    """A model that is ready to predict.

    Attributes
    ----------
    model : object
    source : str or None
        The file or function it came from; None for an object in memory.
    kind : str
        Its class, ``"onnx"`` or ``"function"``.
    sha256 : str or None
        Of the file.
    features : tuple of str or None
        The columns that it was fitted on, in order; None when it does not know.
    n_features : int or None
    classes : array or None
    notes : tuple of str
        What was noticed when the file was opened.
    guarded : bool
        Whether files written, processes and network are refused while it predicts: for files
        whose classes are all on the allow-list.
    """

    model: Any = field(repr=False)
    source: str | None
    kind: str
    sha256: str | None
    features: tuple[str, ...] | None
    n_features: int | None
    classes: NDArray[Any] | None
    notes: tuple[str, ...] = ()
    guarded: bool = False

    @property
    def sandbox(self) -> bool | Limits:
        """What the model's process may use; False for a model in this process."""
        return self.model.limits if isinstance(self.model, SandboxedModel) else False

    def columns(
        self,
        frame_columns: Sequence[str],
        *,
        outcome: str | None,
        sensitive: Sequence[str],
        other: Sequence[str] = (),
        copied: Sequence[str] = (),
    ) -> list[str]:
        """Which columns of a table are the features of this model.

        Parameters
        ----------
        frame_columns : sequence of str
        outcome : str or None
        sensitive : sequence of str
            Features too, unless the number of features says otherwise.
        other : sequence of str
            Never features: identifiers, weights.
        copied : sequence of str
            Columns whose names those of other roles have, which came beside the table: features,
            unless the number of features says otherwise.
        """
        names = list(frame_columns)
        if self.features is not None:
            return self._named(names)
        left = [name for name in names if name != outcome and name not in other]
        without = [name for name in left if name not in sensitive]
        if self.n_features is None:
            return left
        for gone in ((), copied, sensitive, (*copied, *sensitive)):
            rest = [name for name in left if name not in gone]
            if len(rest) == self.n_features:
                return rest
        for prefix in ("f", "Column_"):  # the names that boosters give to unnamed columns
            automatic = [f"{prefix}{j}" for j in range(min(self.n_features, len(left) + 1))]
            if set(automatic) <= set(left):
                return automatic
        raise InputError(
            f"The model takes {self.n_features} features and does not know their names; the table "
            f"has {len(left)} columns that could be features, {len(without)} without the sensitive "
            "ones. Pass a table with the features only, or fit the model on named columns."
        )

    def _named(self, names: list[str]) -> list[str]:
        features = self.features or ()
        known, plain = set(names), dict[str, list[str]]()
        for name in names:
            plain.setdefault(folded(name), []).append(name)
        columns, missing = [], []
        for feature in features:
            # lightgbm and ONNX converters write "credit amount" as "credit_amount"
            alike = [feature] if feature in known else plain.get(folded(feature), [])
            if len(alike) == 1:
                columns.append(alike[0])
            else:
                missing.append(feature)
        if missing:
            listed = ", ".join(_guessed(feature, names) for feature in missing[:5])
            listed += ", …" if len(missing) > 5 else ""
            raise InputError(
                f"The table lacks {len(missing)} of the {len(features)} features of the model: "
                f"{listed}. Pass the table that the model was fitted for, or rename the columns."
            )
        return columns

    def predict(self, frame: pd.DataFrame, *, on: str = "scores") -> pd.DataFrame:
        """Predictions for a table that holds the features, in order, and nothing else.

        Parameters
        ----------
        frame : DataFrame
        on : {"scores", "labels"}
            ``"scores"``: a column ``score`` (probability of the second of two classes), a column
            ``P(class)`` for each of more classes, or ``prediction``. ``"labels"``: ``label``.
        """
        return self.answer(frame, on=on).table

    def answer(self, frame: pd.DataFrame, *, on: str = "scores") -> Answer:
        """What `predict` returns, with the classes of the model and what the numbers mean."""
        import pandas as pd

        if on not in ("scores", "labels"):
            raise InputError(f"'on' must be 'scores' or 'labels'. Got {on!r}.", argument="on")
        adapter = adapter_of(self.model)
        rows = self._rows(frame if self.sandbox else _by_columns(frame), adapter)
        with self._explained(), no_side_effects(self.guarded):
            if on == "scores":
                scores = adapter.scores(rows)
            else:
                scores = Scores(_one_column(adapter.labels(rows)), ["label"], Meaning.LABELS)
            values = np.asarray(scores.values)
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or len(values) != len(frame):
            shape = " × ".join(map(str, values.shape))
            raise InputError(
                f"The model ({self.kind}) returned {shape} values for {len(frame)} rows. "
                "It must return one row of predictions per row of the table."
            )
        table = pd.DataFrame(dict(zip(scores.names, values.T, strict=True)), index=frame.index)
        if values.dtype == object:
            table = table.infer_objects()
        _reject_unusable(table, self.kind)
        classes = adapter.classes  # some models name them with their answers only
        return Answer(table, None if classes is None else list(classes), scores.meaning)

    def _rows(self, frame: pd.DataFrame, adapter: Adapter) -> Any:
        """The table as the model wants it: named as in the fit, or as an array."""
        wanted = adapter.wants
        if wanted is None:
            return frame
        if not isinstance(wanted, tuple):
            return frame.to_numpy()
        names = [str(name) for name in frame.columns]
        if names == list(wanted):
            return frame
        if adapter.features is not None:
            frame = frame.set_axis(names, axis=1)[self._named(names)]
        elif len(names) != len(wanted):
            raise InputError(
                f"The model ({self.kind}) takes {len(wanted)} features. "
                f"Got {len(names)} columns instead."
            )
        return frame.set_axis(list(wanted), axis=1)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FairAuditError:
            raise
        except Exception as error:  # the code of the model
            text = first_line(error)
            if isinstance(error, MemoryError):
                hint = "It ran out of memory: give it more, or fewer rows at once."
            elif type(error).__name__ == "NotFittedError":
                hint = "Fit it before it is saved."
            elif re.search(r"nan|missing|null", text, re.IGNORECASE):
                hint = "Fill or drop the missing values, or put an imputer into the model."
            elif any(note.startswith(SAVED_BY) for note in self.notes):
                hint = f"{self.notes[0]} Use the version that saved it, or save it again."
            else:
                hint = "Pass the columns that it was fitted on, with the same types."
            raise InputError(
                f"The model ({self.kind}) cannot predict for this table: {text}. {hint}"
            ) from error


def _guessed(feature: str, names: Sequence[str]) -> str:
    """A feature that the table lacks, and the column that it may be; names can be of any length."""
    feature = feature[:_LONGEST_NAME]
    short = [name for name in names if len(name) <= _LONGEST_NAME]
    near = get_close_matches(feature, short[:_COMPARED], n=1)
    return f"{feature!r} (is it {near[0]!r}?)" if near else repr(feature)


def folded(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _by_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """The table as it lies in memory where the sandbox gets it: last bits depend on that."""
    import pandas as pd

    if not frame.shape[1]:
        return frame
    columns = [frame.iloc[:, j].copy() for j in range(frame.shape[1])]
    return pd.concat(columns, axis=1).set_axis(frame.columns, axis=1)


def _one_column(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim > 1:
        raise several_outcomes(array.shape[1])
    return array


def _reject_unusable(table: pd.DataFrame, kind: str) -> None:
    for name in table.columns:
        values = table[name]
        bad = values.isna().to_numpy()
        if values.dtype.kind == "f":
            bad = bad | ~np.isfinite(values.to_numpy())
        if bad.any():
            raise InputError(
                f"The model ({kind}) predicts a missing or infinite value for {int(bad.sum())} "
                f"rows, the first in row {int(np.flatnonzero(bad)[0])}. Check the features there."
            )
