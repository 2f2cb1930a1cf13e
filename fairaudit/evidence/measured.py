"""Measured numbers, and the groups behind them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GIVEN_OUTCOME", "Cell", "CellTable", "Estimate", "MeasuredValue"]

#: The column of means that are 0 apart under equalized odds, where the outcome is continuous.
GIVEN_OUTCOME = "prediction given outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredValue:
    """One measured number.

    Attributes
    ----------
    key : str
        For programs and for tolerances: ``"kpc"``, ``"deo"``, …
    name : str
        For people.
    value : float or None
        None when the measure does not fit the table; `note` then says why.
    attributes : tuple of str
    note : str
    low, high : float or None
        95 % interval, where the measure has one.
    raw : float or None
        Of KPC: before its mean over copies was taken off, as R has it.
    """

    key: str
    name: str
    value: float | None
    attributes: tuple[str, ...]
    note: str = ""
    low: float | None = None
    high: float | None = None
    raw: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its 95 % interval, and the rows and people behind it; None: undefined."""

    value: float | None
    low: float | None
    high: float | None
    rows: int | None
    people: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One group of people: a combination of levels.

    Attributes
    ----------
    levels : tuple of str
    rows, people : int or None
        People differ from rows where ids are given. None if masked.
    estimates : tuple of Estimate
        In the order of `CellTable.columns`.
    masked : bool
        Too few people to be shown, or hidden to protect another group that has.
    """

    levels: tuple[str, ...]
    rows: int | None
    people: int | None
    estimates: tuple[Estimate, ...]
    masked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTable:
    """Rates (classification), or predictions and errors (regression), of every group.

    Attributes
    ----------
    attributes : tuple of str
    columns : tuple of str
        ``("selected", "TPR", "FPR")``; or ``("prediction given outcome", "mean error", "median
        error")``, without the first where groups share no outcomes.
    cells : tuple of Cell
    unlisted : int
        Further combinations without rows.
    note : str
        How the numbers were made (the threshold, say).
    """

    attributes: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    unlisted: int
    note: str = ""

    @property
    def masked(self) -> int:
        return sum(group.masked for group in self.cells)

    @property
    def lacks_rates(self) -> bool:
        """Whether a group that is shown has a rate without rows."""
        return "TPR" in self.columns and any(
            estimate.rows == 0
            for group in self.cells
            if not group.masked
            for estimate in group.estimates
        )
