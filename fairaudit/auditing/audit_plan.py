"""The settings of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any

from fairaudit.errors import InputError
from fairaudit.testing.choice_of_law import ChoiceOfLaw
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import statistic_named

__all__ = ["ADJUSTMENTS", "Plan"]


ADJUSTMENTS = ("holm", "fdr_bh")
_BINS = 4, 4096  # at least, and at most
_RECORDED_ELSEWHERE = ("permutations", "with_r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Settings of an audit.

    Parameters
    ----------
    alpha : float
        Level of the verdict.
    statistic : str, Statistic or list
        See `fairaudit.equalized_odds_test`.
    density : str
        q(y|a) behind the copies; ``"auto"`` permutes within classes where the outcome has them.
    law : str or law
        How attributes move given the outcome; see `fairaudit.testing.choice_of_law.ChoiceOfLaw`.
    permutations : Permutations
    folds : int
    locate : bool, optional
        After a rejection, say where: attributes, subgroups, curves. None does so where it costs
        little (`costs_little` of `fairaudit.evidence.localization.beyond`).
    adjust : {"holm", "fdr_bh"}
        Among the questions behind the gate.
    pairs : tuple of pairs of names
        Pairs of attributes to test too.
    tolerance : mapping
        Measure → size up to which a significant effect is a note and not a violation.
    certify : mapping
        Measure → size that the upper bound must stay within; see `fairaudit.certify`.
    threshold : float or None
        Turns scores into labels for the rates.
    power : bool
        State the smallest violation that the audit could have found; not beyond 100,000 rows, and
        not with early stopping.
    calibrate : bool
        Run the test on placebos and planted violations too; a failure is inconclusive.
    with_r : bool
        Show KPC by R where it can be had.
    bins : int, optional
        Of scores and of other numbers with many values, where an audit is of counts: beyond 500,000
        rows with classes as outcome, and with engines that count. None: 256 of
        a score and 64 of another number. 0: never count.
    """

    alpha: float = 0.05
    statistic: Any = "omnibus"
    density: Any = "auto"
    law: Any = "auto"
    permutations: Permutations = field(default_factory=Permutations)
    folds: int = 5
    locate: bool | None = None
    adjust: str = "holm"
    pairs: tuple[tuple[str, str], ...] = ()
    tolerance: Mapping[str, float] = field(default_factory=dict)
    certify: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    power: bool = True
    calibrate: bool = False
    with_r: bool = True
    bins: int | None = None

    @property
    def choice_of_law(self) -> ChoiceOfLaw:
        return ChoiceOfLaw(self.law, self.density, self.folds)

    def record(self) -> dict[str, Any]:
        """All settings as plain values, except the copies, which the record has by themselves."""
        values = {
            setting.name: getattr(self, setting.name)
            for setting in fields(self)
            if setting.name not in _RECORDED_ELSEWHERE
        }
        values["pairs"] = [list(pair) for pair in self.pairs]
        if self.bins is None:  # said where it was chosen only
            del values["bins"]
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in values.items()
        }

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(
                f"'alpha' must lie between 0 and 1. Got {self.alpha:g}.", argument="alpha"
            )
        _ = self.choice_of_law  # refuses what does not go together
        if self.adjust not in ADJUSTMENTS:
            raise InputError(
                f"'adjust' must be one of {', '.join(ADJUSTMENTS)}. Got {self.adjust!r}.",
                argument="adjust",
            )
        if any(hasattr(statistic, "tested_rows") for statistic in statistic_named(self.statistic)):
            raise InputError(
                "The statistic 'hrt' tests a part of the rows and cannot be shared by the "
                "questions of an audit. Use fairaudit.equalized_odds_test for it.",
                argument="statistic",
            )
        for name, limit in self.tolerance.items():
            if not limit >= 0:
                raise InputError(
                    f"The tolerance of {name!r} must be 0 or more. Got {limit!r}.",
                    argument="tolerance",
                )
        for name in ("power", "calibrate"):  # whatever a saved record says
            if getattr(self, name) not in (True, False):
                raise InputError(
                    f"{name!r} must be true or false. Got {getattr(self, name)!r}.", argument=name
                )
        if isinstance(self.folds, bool) or not isinstance(self.folds, Integral) or self.folds < 1:
            raise InputError(
                f"'folds' must be a whole number, 1 or more. Got {self.folds!r}.", argument="folds"
            )
        if self.calibrate and self.permutations.stops_early:
            raise InputError(
                "Calibration needs all copies: set 'permutations' to a number instead of 'auto'.",
                argument="permutations",
            )
        if self.bins is not None and not (
            int(self.bins) == self.bins and (self.bins == 0 or _BINS[0] <= self.bins <= _BINS[1])
        ):
            raise InputError(
                f"'bins' must be a whole number from {_BINS[0]} to {_BINS[1]}, or 0. "
                f"Got {self.bins!r}.",
                argument="bins",
            )
        if self.certify:
            from fairaudit.evidence.intervals.certify import check_limits

            check_limits(self.certify)
