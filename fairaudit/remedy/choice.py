"""Which model of a curve is taken, and what to say where none can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.errors import InputError
from fairaudit.remedy.goal import Goal

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.remedy.methods import Method

__all__ = ["CHANCE", "CLEAR", "Choice", "Rule", "dominated", "find_trivial_loss"]

CLEAR = 0.25  # barely passing on few rows is no promise for the audited ones
_POINTS = 101  # of the line of trivial mixtures
CHANCE = 0.8  # to pass the coming audit


@dataclass(frozen=True, slots=True)
class Choice:
    """The place of a model on the curve, and why this one.

    `fates` says what became of the others where no model is worth having, and plain training is
    left; None: one was found.
    """

    place: int
    because: str
    fates: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How a model is chosen: by its value, by a bound, by a certificate, or by the test.

    Attributes
    ----------
    value : float or None
        Of the method's parameter: this model, whatever it is.
    goal : Goal
    chance : float
        That a model of a search must have to pass the coming audit.
    alpha : float
        Of the audit.
    searches : bool
        Models are judged by out-of-fold scores and their chance to pass; else by the test on rows
        kept for choosing, and on the training rows.
    """

    value: float | None = None
    goal: Goal = field(default_factory=Goal)
    chance: float = CHANCE
    alpha: float = 0.05
    searches: bool = False

    @classmethod
    def of(
        cls,
        mu: float | str,
        goal: Goal | None,
        method: Method | None,
        *,
        chance: float = CHANCE,
        alpha: float = 0.05,
    ) -> Rule:
        if not 0 < chance < 1:
            raise InputError(
                f"'pass_probability' must lie between 0 and 1. Got {chance:g}.",
                argument="pass_probability",
            )
        if mu == "auto":
            return cls(goal=goal or Goal(), chance=chance, alpha=alpha, searches=method is None)
        if goal is not None:
            raise InputError(
                "Choose by one of 'mu', 'goal', 'kpc' and 'loss', and leave the others out.",
                argument=("mu", "goal", "kpc", "loss"),
            )
        try:
            value = float(mu)
        except ValueError:
            raise InputError(
                f"'mu' must be a number or 'auto'. Got {mu!r}.", argument="mu"
            ) from None
        if method is None:
            raise InputError("A value of 'mu' needs a 'method'.", argument=("mu", "method"))
        method.check(value)
        return cls(value=value, chance=chance, alpha=alpha)

    @property
    def automatic(self) -> bool:
        """The audit decides: what is wanted is a repair, and not a certain model."""
        return self.value is None and self.goal.kpc is None and self.goal.loss is None

    @property
    def passes(self) -> bool:
        """What is wanted is a chance to pass the coming audit."""
        return self.searches and self.automatic and not self.goal.limits

    @property
    def looks(self) -> bool:
        """Rows are needed to choose by."""
        return self.value is None

    def reached(self, record: Mapping[str, Any]) -> bool:
        """Whether a measured model is good enough."""
        if self.goal.limits:
            return bool(record["certified"])
        if self.goal.kpc is not None:
            return bool(record["kpc"] <= self.goal.kpc)
        if self.goal.loss is not None:
            return bool(record["loss"] <= self.goal.loss)
        if self.searches:
            return bool(record["chance"] >= self.chance)
        fails = record["p_value"] <= self.clear or record.get("p_train", 1.0) <= self.alpha
        return not fails

    @property
    def clear(self) -> float:
        """The p-value on the rows for choosing that counts as passing."""
        return max(CLEAR, self.alpha)

    def choose(self, curve: pd.DataFrame) -> Choice:
        if self.value is not None:
            return Choice(int(np.argmin(np.abs(curve["mu"] - self.value))), "as asked for")
        if self.automatic:
            return self._by_audit(curve)
        return self._by_bound(curve)

    def _by_bound(self, curve: pd.DataFrame) -> Choice:
        goal = self.goal
        names = ("kpc", "loss") if goal.kpc is not None else ("loss", "kpc")
        limit = goal.kpc if goal.kpc is not None else goal.loss
        usable = curve[curve["collapsed"].isna() & ~curve["dominated"]]
        allowed = usable[usable[names[0]] <= limit]
        titles = {"kpc": "KPC", "loss": "loss"}
        if allowed.empty:
            smallest = "" if usable.empty else f"; the smallest is {usable[names[0]].min():.4g}"
            raise InputError(
                f"No model has {names[0]} ≤ {limit:g} on the rows for choosing, apart from those "
                f"that collapsed or are worse than the trivial mixture{smallest}. Allow more."
            )
        return Choice(
            int(allowed[names[1]].idxmin()),
            (
                f"the smallest {titles[names[1]]} among models with {titles[names[0]]} ≤ {limit:g} "
                "on the rows for choosing"
            ),
        )

    def _by_audit(self, curve: pd.DataFrame) -> Choice:
        """The smallest loss that reaches the goal; never a collapsed model, nor one that the
        trivial mixture dominates. Where none does, the one that comes nearest.
        """
        usable = curve[curve["collapsed"].isna() & ~curve["dominated"]]
        reached = usable[[self.reached(record) for record in usable.to_dict("records")]]
        what = self._describe_wanted()
        if not reached.empty:
            count = f"{len(reached)} of {len(curve)}"
            return Choice(
                int(reached["loss"].idxmin()), f"the smallest loss of the {count} models {what}"
            )
        rest = usable[usable.index != 0]
        if rest.empty:
            return Choice(
                0,
                "plain training; no other model is worth having",
                _fates(curve) or "no value was tried",
            )
        fates = _fates(curve)
        if not self.searches or self.goal.limits:
            others = f" ({fates})" if fates else ""
            why = f"the smallest KPC on the rows for choosing; there is no model {what}{others}"
            return Choice(int(rest["kpc"].idxmin()), why)
        nearest = int(rest["chance"].idxmax())
        best = f"the best has {100 * rest['chance'][nearest]:.0f} %"
        why = f"there is no model {what}; {best}"
        return Choice(nearest, why, "; ".join(filter(None, [why, fates])))

    def _describe_wanted(self) -> str:
        if self.goal.limits:
            return f"whose certificates hold ({self.goal})"
        if self.searches:
            return f"with a chance of at least {100 * self.chance:g} % to pass the coming audit"
        return (
            f"whose test has p > {self.clear:g} on the rows for choosing and > {self.alpha:g} on "
            "the training rows"
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
    return ", ".join(counts)


def dominated(curve: pd.DataFrame, mixture: pd.DataFrame, rule: Rule) -> list[bool]:
    """For every model: does a mixture of plain training with a constant, of any share, do better?

    Better is a smaller loss with a goal that is reached where the model reaches it, and with no
    larger KPC or, in a search, with no smaller chance to pass. Plain training, the first model, is
    what is mixed.
    """
    line = _fill_in(mixture)
    good = np.array([rule.reached(point) for point in line.to_dict("records")])

    def beats(model: Mapping[Any, Any]) -> bool:
        better = line["kpc"] <= _largest_kpc(model)
        if rule.passes:
            better |= line["chance"] >= model["chance"]
        reached = good | (not rule.reached(model))
        return bool(((line["loss"] < model["loss"]) & better & reached).any())

    _, *models = curve.to_dict("records")
    return [False, *map(beats, models)]


def find_trivial_loss(model: Mapping[Any, Any], mixture: pd.DataFrame) -> float:
    """The smallest loss of mixtures of plain training with a constant that are as fair by KPC."""
    line = _fill_in(mixture)
    return float(line["loss"][line["kpc"] <= _largest_kpc(model)].min())


def _largest_kpc(model: Mapping[Any, Any]) -> float:
    """What a mixture may have: estimates below 0 count as 0, and few rows flatter the luckiest of
    many models, so that each is given its standard error.
    """
    return float(max(model["kpc"], 0.0) + model.get("kpc_error", 0.0))


def _fill_in(mixture: pd.DataFrame) -> pd.DataFrame:
    """Points between those that were measured; certificates must hold on both sides."""
    import pandas as pd

    shares = mixture["share"].to_numpy()
    grid = np.union1d(shares, np.linspace(shares[0], shares[-1], _POINTS))
    names = [name for name in mixture if name != "certified"]
    line = pd.DataFrame({name: np.interp(grid, shares, mixture[name]) for name in names})
    if "certified" in mixture:
        holds = np.interp(grid, shares, mixture["certified"].astype(float))
        line["certified"] = holds == 1.0
    return line
