"""The one number per row whose means are compared, and the words for its differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable

__all__ = ["Part", "Score", "parts_of", "score_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """One number per row, and how a difference of its means is said.

    Attributes
    ----------
    values : array
    lower, higher : str
        With a place for the size: ``"get scores {} lower"``.
    """

    values: Array
    lower: str
    higher: str

    @property
    def rate(self) -> bool:
        """Only 0 and 1 occur."""
        return bool(np.isin(self.values, (0.0, 1.0)).all())

    def say(self, effect: float, low: float, high: float) -> str:
        """``get scores 0.08 lower [0.05, 0.11]``."""
        if effect < 0:
            effect, low, high = -effect, -high, -low
            words = self.lower
        else:
            words = self.higher
        digits = _digits(max(abs(effect), abs(high - low)))
        if float(f"{low:.{digits}f}") == 0 != low:
            digits += 1
        return words.format(f"{effect:.{digits}f}") + f" [{low:.{digits}f}, {high:.{digits}f}]"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows that are compared with each other; `label` is None for all rows."""

    label: str | None
    rows: Index

    def among(self) -> str:
        return "Given the outcome, " if self.label is None else f"Among those with {self.label}, "


def score_of(table: AuditTable) -> Score:
    """Of several classes: the chance that the model gave to the true one, or whether it hit it."""
    outcome, columns = table.require_outcome(), table.prediction.columns
    if table.prediction.form == "labels":
        column = columns[0]
        if len(column.levels) == 2:
            level = level_text(column.levels[-1])
            words = "get the prediction " + level.replace("{", "{{").replace("}", "}}")
            values = (column.codes == 1).astype(np.float64)
            return Score(values, words + " less often, by {}", words + " more often, by {}")
        own = {level_text(level): code for code, level in enumerate(outcome.levels)}
        codes = np.array([own.get(level_text(level), -1) for level in column.levels])
        hit = (codes[column.codes] == outcome.codes).astype(np.float64)
        return Score(hit, "are predicted right {} less often", "are predicted right {} more often")
    if len(columns) == 1:
        word = "scores" if outcome.kind.is_categorical else "predictions"
        values = np.asarray(columns[0].numeric, dtype=np.float64)
        return Score(values, f"get {word} {{}} lower", f"get {word} {{}} higher")
    matrix = table.prediction.matrix()
    if outcome.kind.is_categorical and len(columns) == len(outcome.levels):
        values = matrix[np.arange(len(table)), outcome.codes]
        if len(columns) == 2:  # of the larger class, as for one column of scores
            return Score(matrix[:, 1], "get scores {} lower", "get scores {} higher")
        words = "get probabilities of the true class that are {} "
        return Score(values, words + "lower", words + "higher")
    name = columns[0].name.replace("{", "{{").replace("}", "}}")
    words = f"get values of {name} that are {{}} "
    return Score(matrix[:, 0], words + "lower", words + "higher")


def parts_of(table: AuditTable, fewest: int) -> list[Part]:
    """The outcome classes that have so many rows; all rows where the outcome has no classes."""
    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        return [Part(None, np.arange(len(table)))]
    parts = [
        Part(f"{outcome.name} = {level_text(level)}", np.flatnonzero(outcome.codes == code))
        for code, level in enumerate(outcome.levels)
    ]
    return [part for part in parts if len(part.rows) >= fewest]


def _digits(size: float) -> int:
    """Decimals that show two digits of a number of this size."""
    if not 0 < size < np.inf:
        return 2
    return int(np.clip(1 - np.floor(np.log10(size)), 0, 6)) if size < 100 else 0
