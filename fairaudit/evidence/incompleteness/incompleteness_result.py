"""What can be said of attributes that are not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairaudit._words import figures
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
        ``"TPR"`` or ``"FPR"``; ``"prediction"`` where the outcome is continuous, in its units.
    known : float or None
        The gap among the rows in which the attribute is known.
    best : float
        Of a filling that was constructed: the smallest gap is this or less.
    worst : float
        No filling has a larger gap, and one has this. Of predictions: of a filling that was
        constructed, and the largest gap is this or more.
    worst_pair : tuple of str
        The groups of the worst case, the favored one first.
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
    """All of it, with the sentences for people.

    `suppress` is the bound below which counts were masked when it was made; None: an older record.
    """

    alpha: float
    missingness: tuple[MissingnessTest, ...]
    bounds: tuple[Bounds, ...]
    fillings: tuple[Fillings, ...]
    imputed: tuple[ImputedTest, ...]
    notes: tuple[str, ...]
    suppress: int | None = None

    schema: ClassVar[str] = "fairaudit/incomplete/1"
    plural: ClassVar[str] = "audits of missing attributes"

    def sentences(self) -> tuple[str, ...]:
        """One per finding."""
        sentences = [_tell_missingness(test) for test in self.missingness]
        sentences += [_tell_bounds(bounds) for bounds in self.bounds]
        sentences += [_tell_fillings(fillings, self.alpha) for fillings in self.fillings]
        return (*sentences, *(_tell_imputed(test) for test in self.imputed))


def _tell_missingness(test: MissingnessTest) -> str:
    count = "some" if test.missing is None else f"{test.missing:,}"
    missing = f"{test.attribute} is missing in {count} of {test.rows:,} rows"
    if test.p_adjusted is None:
        why = test.inconclusive
        return f"{missing}; whether the prediction depends on that is not settled: {why}."
    if test.significant:
        return (
            f"{missing}, and given the outcome the prediction depends on that (adjusted p = "
            f"{test.p_adjusted:.2g}): rows without it are not a random part of the table."
        )
    return (
        f"{missing}; no evidence that given the outcome the prediction depends on that "
        f"(adjusted p = {test.p_adjusted:.2g})."
    )


def _tell_bounds(bounds: Bounds) -> str:
    known = "–" if bounds.known is None else f"{bounds.known:.3f}"
    favored, other = bounds.worst_pair
    if bounds.rate == "prediction":
        known = "–" if bounds.known is None else figures(bounds.known, 3)
        return (
            f"The prediction gap of {bounds.attribute} given the outcome is {known} where it is "
            f"known; with the fillings of the missing values that were tried it lies between "
            f"{figures(bounds.best, 3)} and {figures(bounds.worst, 3)} ({favored} over {other}); "
            "others may go beyond."
        )
    # what was rounded up to hide small groups may reach the largest
    least = f"; the smallest found is {bounds.best:.3f}" if bounds.best < bounds.worst else ""
    return (
        f"The {bounds.rate} gap of {bounds.attribute} is {known} where it is known. Whatever the "
        f"missing values are, it is at most {bounds.worst:.3f} ({favored} over {other}){least}."
    )


def _tell_fillings(fillings: Fillings, alpha: float) -> str:
    low, high, count = fillings.low, fillings.high, len(fillings.tried)
    if high <= alpha:
        end = "all of them reject equalized odds; no other filling was looked at"
    elif low > alpha:
        end = "none of them rejects equalized odds; no other filling was looked at"
    else:
        end = "the verdict depends on the missing values"
    span = f"p from {low:.2g} to {high:.2g} over {count} fillings that were tried"
    return f"{fillings.attribute}: {span}; {end}."


def _tell_imputed(test: ImputedTest) -> str:
    imputed = f"{test.attribute}, imputed {test.imputations} times from its probabilities"
    if test.p_value is None:
        return f"{imputed}: not settled, {test.inconclusive}."
    p = f"(p = {test.p_value:.2g})"
    if test.significant:
        return f"{imputed}: violation of equalized odds {p}."
    return f"{imputed}: no violation found {p}, which is not evidence of its absence."
