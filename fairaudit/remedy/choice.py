"""Which model of a curve is taken, and what to say where none can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.remedy.methods import Method

__all__ = ["CHANCE", "CLEAR", "Choice", "Rule", "dominated"]

CHANCE = 0.9  # that a repair should have to pass the coming audit
CLEAR = 0.25  # a mixture that barely passes on few rows does not pass


@dataclass(frozen=True, slots=True)
class Choice:
    """The place of a model on the curve, and why this one.

    `fates` says what became of the others where no model is worth having, and plain training is
    left; None: one was found.
    """

    place: int
    because: str
    fates: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """How a model of the curve is chosen: by its value, by a bound, or by the test."""

    value: float | None
    kpc: float | None
    loss: float | None
    alpha: float

    @classmethod
    def of(
        cls, mu: float | str, kpc: float | None, loss: float | None, alpha: float, method: Method
    ) -> Rule:
        if sum([mu != "auto", kpc is not None, loss is not None]) > 1:
            raise InputError(
                "Choose by one of 'mu', 'kpc' and 'loss', and leave the others out.",
                argument=("mu", "kpc", "loss"),
            )
        value = None
        if mu != "auto":
            try:
                value = float(mu)
            except ValueError:
                raise InputError(
                    f"'mu' must be a number or 'auto'. Got {mu!r}.", argument="mu"
                ) from None
            method.check(value)
        return cls(value, kpc, loss, alpha)

    @property
    def automatic(self) -> bool:
        """The test decides: what is wanted is a repair, and not a certain model."""
        return self.value is None and self.kpc is None and self.loss is None

    @property
    def looks(self) -> bool:
        """Rows are needed to choose by."""
        return self.value is None

    @property
    def clear(self) -> float:
        """The p-value on the rows for choosing that counts as passing."""
        return max(CLEAR, self.alpha)

    def choose(self, curve: pd.DataFrame) -> Choice:
        if self.value is not None:
            return Choice(int(np.argmin(np.abs(curve["mu"] - self.value))), "as asked for")
        if self.automatic:
            return self._by_test(curve)
        return self._by_bound(curve)

    def _by_bound(self, curve: pd.DataFrame) -> Choice:
        names = ("kpc", "loss") if self.kpc is not None else ("loss", "kpc")
        limit = self.kpc if self.kpc is not None else self.loss
        usable = curve[curve["collapsed"].isna()]
        allowed = usable[usable[names[0]] <= limit]
        titles = {"kpc": "KPC", "loss": "loss"}
        if allowed.empty:
            smallest = "" if usable.empty else f"; the smallest is {usable[names[0]].min():.4g}"
            raise InputError(
                f"No model has {names[0]} ≤ {limit:g} on the rows for choosing, collapsed ones "
                f"apart{smallest}. Allow more, or try other values of mu."
            )
        return Choice(
            int(allowed[names[1]].idxmin()),
            (
                f"the smallest {titles[names[1]]} among models with {titles[names[0]]} ≤ {limit:g} "
                "on the rows for choosing"
            ),
        )

    def _by_test(self, curve: pd.DataFrame) -> Choice:
        """The smallest loss that passes; else the smallest KPC; never a collapsed model, nor one
        that the trivial mixture dominates.
        """
        usable = curve[curve["collapsed"].isna() & ~curve["dominated"]]
        passed = usable[~(usable["p_value"] <= self.clear) & ~(usable["p_train"] <= self.alpha)]
        where = (
            f"p > {self.clear:g} on the rows for choosing and > {self.alpha:g} on the training rows"
        )
        if not passed.empty:
            return Choice(
                int(passed["loss"].idxmin()),
                (
                    f"the smallest loss among the {len(passed)} of {len(curve)} models whose test "
                    "has "
                    f"{where}"
                ),
            )
        rest = usable[usable.index != 0]
        if rest.empty:
            return Choice(0, "plain training; no other model is worth having", _fates(curve))
        fates = "" if len(rest) == len(curve) - 1 else f" ({_fates(curve)})"
        return Choice(
            int(rest["kpc"].idxmin()),
            (f"the smallest KPC on the rows for choosing; no model's test has {where}{fates}"),
        )


def _fates(curve: pd.DataFrame) -> str:
    """What became of all models but plain training."""
    tried = curve[curve.index != 0]
    collapsed = int(tried["collapsed"].notna().sum())
    beaten = int((tried["dominated"] & tried["collapsed"].isna()).sum())
    counts = [
        f"{count} of {len(tried)} {what}"
        for count, what in ((collapsed, "collapsed"), (beaten, "worse than the trivial mixture"))
        if count
    ]
    return ", ".join(counts) or "no value was tried"


def dominated(curve: pd.DataFrame, mixture: pd.DataFrame, clear: float) -> list[bool]:
    """For every model: does a mixture of plain training with a constant do better?

    Better is a smaller loss with no larger KPC (estimates below 0 count as 0), and a test that
    passes where the model's passes: KPC of few rows is noisy. Plain training, the first model, is
    what is mixed.
    """

    def beaten(model: dict[Any, Any]) -> bool:
        better = mixture["loss"] < model["loss"]
        as_fair = mixture["kpc"] <= max(model["kpc"], 0.0)
        passes = mixture["p_value"] >= min(model["p_value"], clear)
        return bool((better & as_fair & passes).any())

    _, *models = curve.to_dict("records")
    return [False, *map(beaten, models)]
