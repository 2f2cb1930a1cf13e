"""What a record keeps of files, columns and rows that were left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairaudit._words import round_outwards

__all__ = ["ColumnFacts", "Excluded", "Source", "TableFacts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """A column as the audit understood it.

    Attributes
    ----------
    name, kind : str
    levels : tuple of str
        Of a categorical column.
    low, high : float or None
        Of a numeric one; rounded outwards where groups are masked.
    missing : int or None
        Values that were missing in the data. None if masked.
    """

    name: str
    kind: str
    levels: tuple[str, ...]
    low: float | None
    high: float | None
    missing: int | None

    def describe(self) -> str:
        """``race: categorical, 4 levels (a, b, c, d)`` or ``age: integer, 18 to 90``."""
        if self.levels:
            listed = ", ".join(self.levels[:6]) + (", …" if len(self.levels) > 6 else "")
            text = f"{self.name}: {self.kind}, {len(self.levels)} levels ({listed})"
        else:
            known = self.low is not None and self.high is not None
            span = f", {self.low:g} to {self.high:g}" if known else ""
            text = f"{self.name}: {self.kind}{span}"
        if self.missing is None:
            return f"{text}; some missing"
        return text + (f"; {self.missing} missing" if self.missing else "")

    def rounded(self) -> ColumnFacts:
        """Without the exact values of the lowest and the highest person."""
        if self.low is None or self.high is None:
            return self
        low, high = round_outwards(self.low, self.high)
        return replace(self, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Excluded:
    """Rows that were left out (None: few, and masked), and why."""

    rows: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """What was audited.

    Attributes
    ----------
    rows, people : int
    prediction : str
    outcome : ColumnFacts
    attributes : tuple of ColumnFacts
    features : tuple of str
        Columns that went into the model.
    excluded : tuple of Excluded
    weights, ids : str or None
        Names of these columns.
    """

    rows: int
    people: int
    prediction: str
    outcome: ColumnFacts
    attributes: tuple[ColumnFacts, ...]
    features: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    weights: str | None
    ids: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """A file that took part: its path, its kind, and the SHA-256 of its bytes."""

    path: str | None
    kind: str
    sha256: str | None
