"""What can be said of attributes that are not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairaudit.results import Result

__all__ = ["Bounds", "Fillings", "ImputedTest", "IncompleteResult", "MissingnessTest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingnessTest:
    """Whether the prediction depends, given the outcome, on the attribute being missing.

    Attributes
    ----------
    attribute : str
    missing : int or None
        None if masked.
    rows : int
    p_value, p_adjusted : float or None
        The latter by Holm over the attributes; None: not settled.
    significant : bool
    inconclusive : str or None
    """

    attribute: str
    missing: int | None
    rows: int
    p_value: float | None
    p_adjusted: float | None
    significant: bool
    inconclusive: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The largest gap between groups over all fillings of the missing values.

    Attributes
    ----------
    attribute : str
    rate : str
        ``"TPR"`` or ``"FPR"``.
    known : float or None
        The gap among the rows in which the attribute is known.
    best : float
        Of a filling that was constructed: the smallest gap is this or less.
    worst : float
        No filling has a larger gap, and one has this.
    worst_pair : tuple of str
        The groups of the worst case, the favoured one first.
    """

    attribute: str
    rate: str
    known: float | None
    best: float
    worst: float
    worst_pair: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Fillings:
    """p-values of the fillings that were tried: a search, no bounds over all of them.

    Attributes
    ----------
    attribute : str
    tried : dict
        What the filling was → its p-value.
    low, high : float
    """

    attribute: str
    tried: dict[str, float]
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImputedTest:
    """A test of an attribute that is known as probabilities.

    Attributes
    ----------
    attribute : str
    columns : tuple of str
        Of the probabilities.
    imputations : int
        The statistic is the mean over them, in the data and in every copy.
    p_value : float or None
        None: not settled.
    significant : bool
    inconclusive : str or None
    """

    attribute: str
    columns: tuple[str, ...]
    imputations: int
    p_value: float | None
    significant: bool
    inconclusive: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncompleteResult(Result):
    """All of it, with the sentences for people."""

    alpha: float
    missingness: tuple[MissingnessTest, ...]
    bounds: tuple[Bounds, ...]
    fillings: tuple[Fillings, ...]
    imputed: tuple[ImputedTest, ...]
    notes: tuple[str, ...]

    schema: ClassVar[str] = "fairaudit/incomplete/1"
    plural: ClassVar[str] = "audits of missing attributes"

    def sentences(self) -> tuple[str, ...]:
        """One per finding."""
        told = [_of_missingness(one) for one in self.missingness]
        told += [_of_bounds(one) for one in self.bounds]
        told += [_of_fillings(one, self.alpha) for one in self.fillings]
        return (*told, *(_of_imputed(one) for one in self.imputed))


def _of_missingness(one: MissingnessTest) -> str:
    count = "some" if one.missing is None else f"{one.missing:,}"
    of = f"{one.attribute} is missing in {count} of {one.rows:,} rows"
    if one.p_adjusted is None:
        return f"{of}; whether the prediction depends on that is not settled: {one.inconclusive}."
    if one.significant:
        return (
            f"{of}, and given the outcome the prediction depends on that (adjusted p = "
            f"{one.p_adjusted:.2g}): rows without it are no random part."
        )
    return (
        f"{of}; no evidence that given the outcome the prediction depends on that "
        f"(adjusted p = {one.p_adjusted:.2g})."
    )


def _of_bounds(one: Bounds) -> str:
    known = "–" if one.known is None else f"{one.known:.3f}"
    return (
        f"The {one.rate} gap of {one.attribute} is {known} where it is known; filling the missing "
        f"values makes it {one.best:.3f} at best (or less) and {one.worst:.3f} at worst "
        f"({one.worst_pair[0]} over {one.worst_pair[1]})."
    )


def _of_fillings(one: Fillings, alpha: float) -> str:
    span = f"p from {one.low:.2g} to {one.high:.2g} over {len(one.tried)} fillings that were tried"
    if one.high <= alpha:
        end = "all of them reject equalized odds; no other filling was looked at"
    elif one.low > alpha:
        end = "none of them rejects; no other filling was looked at"
    else:
        end = "the verdict depends on the missing values"
    return f"{one.attribute}: {span}; {end}."


def _of_imputed(one: ImputedTest) -> str:
    of = f"{one.attribute}, imputed {one.imputations} times from its probabilities"
    if one.p_value is None:
        return f"{of}: not settled, {one.inconclusive}."
    p = f"(p = {one.p_value:.2g})"
    if one.significant:
        return f"{of}: violation of equalized odds {p}."
    return f"{of}: no violation found {p}, which is not evidence of its absence."
