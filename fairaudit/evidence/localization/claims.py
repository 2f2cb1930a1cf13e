"""What a search for the place of a violation returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Claim", "Curve", "Localization", "shorten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One answer to where.

    Attributes
    ----------
    family : str
        ``"attribute"`` (adds beyond the others; of several that cannot be told apart at least
        one does), ``"subgroup"`` or ``"curve"``.
    name : str
        ``"sex"``, ``"age or years"``, ``"sex = female and age > 55"``, ``"age 52 to 71"``.
    text : str
        The answer in one sentence for people.
    attributes : tuple of str
    outcome : str or None
        The outcome class that the rows are limited to.
    rows, people : int
        Behind the claim: of the table, of the subgroup in the half that tests it, of the class.
    effect, low, high : float or None
        Difference of the mean score to the others (subgroup) or to the mean (curve), with an
        interval that holds together with all others.
    p_value, p_adjusted : float or None
        The latter for all claims together; None where it cannot be given.
    significant : bool
    method : str
        Where the p-value comes from.
    """

    family: str
    name: str
    text: str
    attributes: tuple[str, ...]
    outcome: str | None
    rows: int
    people: int
    effect: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    significant: bool
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The mean score over an attribute, as difference to the mean, with a simultaneous band.

    Attributes
    ----------
    attribute : str
    group : str or None
        ``"sex = female"``; None: of all rows of the class.
    outcome : str or None
        The outcome class that the rows are limited to.
    x, value, low, high : tuple of float
    """

    attribute: str
    group: str | None
    outcome: str | None
    x: tuple[float, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def belongs_to(self, claim: Claim) -> bool:
        """Whether a claim is about this curve, and what makes its group where it has one."""
        number, *by = claim.attributes
        if (claim.family, number, claim.outcome) != ("curve", self.attribute, self.outcome):
            return False
        if self.group is None or not by:
            return self.group is None and not by
        return self.group.startswith(f"{by[0]} = ")


@dataclass(frozen=True, slots=True)
class Localization:
    """All claims, of which any is false with probability at most `alpha`.

    Attributes
    ----------
    alpha : float
    claims : tuple of Claim
    curves : tuple of Curve
    notes : tuple of str
        What was not asked, and why.
    """

    alpha: float
    claims: tuple[Claim, ...]
    curves: tuple[Curve, ...]
    notes: tuple[str, ...]

    @property
    def found(self) -> tuple[Claim, ...]:
        """The claims that hold."""
        return tuple(claim for claim in self.claims if claim.significant)

    def suppressed(self, fewest: int, *, rounded: bool = False) -> Localization:
        """Without claims about fewer than `fewest` people; counts and sizes rounded if asked."""
        large = [claim for claim in self.claims if claim.people >= fewest]
        if not rounded:
            return replace(self, claims=tuple(large))
        return replace(
            self,
            claims=tuple(
                replace(
                    claim,
                    rows=claim.rows // fewest * fewest,
                    people=claim.people // fewest * fewest,
                    effect=_short(claim.effect),
                    low=_short(claim.low),
                    high=_short(claim.high),
                )
                for claim in large
            ),
            curves=tuple(map(shorten, self.curves)),
        )


def shorten(curve: Curve) -> Curve:
    """The curve with two significant digits."""
    return replace(
        curve,
        value=tuple(map(_short, curve.value)),
        low=tuple(map(_short, curve.low)),
        high=tuple(map(_short, curve.high)),
    )


def _short(value: float | None) -> Any:
    """Two significant digits."""
    return None if value is None else float(f"{value:.2g}")
