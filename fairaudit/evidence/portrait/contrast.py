"""What an audit keeps of its comparisons of people, and of the curves behind its pictures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fairaudit.evidence.disclosure import coarse, coarse_interval, step_of
from fairaudit.evidence.localization.claims import Curve, shorten
from fairaudit.evidence.portrait.binned import PredictionBins, ScoreBins

__all__ = ["Contrast", "Group", "Portrait", "largest_possible"]

#: Names of attributes and levels of them.
Group: TypeAlias = tuple[tuple[str, str], ...]

#: Decimals of shares that are shown where small groups would be masked: they tell no counts.
_DECIMALS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """People of one group against all others, or another group, with the same outcome.

    Attributes
    ----------
    attributes : tuple of str
    levels : tuple of str
        The group; of a number a range: ``"30 to 34"``, ``"up to 29"``, ``"from 35"``.
    others : tuple of str or None
        Whom they are compared with; None: all others.
    outcome : str or None
        The class of the outcome that all of them have; None: whatever it is, it is the same.
    quantity : str
        ``"rate"``: how often `predicted` is predicted; ``"score"`` or ``"prediction"``: means.
    predicted : str or None
    own, other : float
        Of the group and of those it is compared with.
    value, low, high : float
        ``own - other``, with an interval that holds together with those of all contrasts.
    deviations : float
        The value in standard errors.
    people : int
        Of the group, with this outcome.
    beyond_doubt : bool
        The value differs from 0 also at the level at which people are named.
    """

    attributes: tuple[str, ...]
    levels: tuple[str, ...]
    others: tuple[str, ...] | None
    outcome: str | None
    quantity: str
    predicted: str | None
    own: float
    other: float
    value: float
    low: float
    high: float
    deviations: float
    people: int
    beyond_doubt: bool

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0

    @property
    def shown(self) -> float:
        """The difference that the interval shows at least; 0 where it holds 0."""
        return max(self.low, -self.high, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portrait:
    """Comparisons of people with the same outcome, and binned curves.

    Attributes
    ----------
    confidence : float
        Of all intervals together.
    naming : float
        The chance of even one `beyond_doubt` where nobody is treated differently, at most.
    critical : float
        The critical value in the place of 1.96.
    quantity : str or None
        What `at_most` is a difference of: rates or predictions, and scores where there are none.
    at_most : float or None
        No interval leaves a larger difference open.
    unit : float
        About how far scores spread; what those of masked tables are rounded in.
    contrasts : tuple of Contrast
        The clearest first; not all that were compared.
    pairs : tuple of Contrast
        Of two groups of the same attributes, told from the smaller one; first those of which the
        intervals show the largest differences.
    scores : tuple of ScoreBins
    predictions : tuple of PredictionBins
    curves : tuple of Curve
        Of mean scores over numbers, given the outcome.
    """

    confidence: float
    naming: float
    critical: float
    quantity: str | None
    at_most: float | None
    unit: float
    contrasts: tuple[Contrast, ...]
    pairs: tuple[Contrast, ...] = ()
    scores: tuple[ScoreBins, ...] = ()
    predictions: tuple[PredictionBins, ...] = ()
    curves: tuple[Curve, ...] = ()

    @property
    def _scale(self) -> float:
        return 1.0 if self.quantity == "rate" else self.unit or 1.0

    def suppressed(self, fewest: int, hidden: Collection[Group]) -> Portrait:
        """Without the `hidden` groups; what their people enter is rounded.

        To a step that hides so many people; where nothing is hidden, so that shares tell no counts.
        """
        if fewest < 2:
            return self
        masked = [set(group) for group in hidden]

        def is_hidden(attributes: tuple[str, ...], levels: tuple[str, ...]) -> bool:
            own = set(zip(attributes, levels, strict=True))
            return any(group <= own for group in masked)

        def show(contrasts: tuple[Contrast, ...]) -> tuple[Contrast, ...]:
            return tuple(
                _rounded(contrast, bool(masked), self.unit, fewest)
                for contrast in contrasts
                if contrast.people >= fewest
                and not is_hidden(contrast.attributes, contrast.levels)
                and not is_hidden(contrast.attributes, contrast.others or contrast.levels)
            )

        def shown_levels(bins: ScoreBins | PredictionBins) -> list[str]:
            return [x for x in bins.levels if not is_hidden((bins.attribute,), (x,))]

        return replace(
            self,
            contrasts=show(self.contrasts),
            pairs=show(self.pairs),
            critical=float(f"{self.critical:.2g}"),
            at_most=coarse(self.at_most, (0.05 if masked else 0.001) * self._scale, up=True),
            scores=tuple(
                bins.suppressed(fewest, shown_levels(bins), bool(masked)) for bins in self.scores
            ),
            predictions=tuple(
                bins.suppressed(fewest, shown_levels(bins), bool(masked))
                for bins in self.predictions
            ),
            curves=tuple(map(shorten, self.curves)) if masked else self.curves,
        )


def largest_possible(contrasts: Sequence[Contrast]) -> tuple[str | None, float | None]:
    """The quantity that people understand best, and the largest difference left open of it."""
    for quantity in ("rate", "prediction", "score"):
        own = [contrast for contrast in contrasts if contrast.quantity == quantity]
        if own:
            return quantity, max(max(-contrast.low, contrast.high) for contrast in own)
    return None, None


def _rounded(contrast: Contrast, masked: bool, unit: float, fewest: int) -> Contrast:
    scale = 1.0 if contrast.quantity == "rate" else unit or 1.0
    width = scale * (step_of(fewest, contrast.people) if masked else 10.0**-_DECIMALS)
    limits = coarse_interval(contrast.value, contrast.low, contrast.high, width)
    value, low, high = (float(limits[name] or 0.0) for name in ("value", "low", "high"))
    own = coarse(contrast.own, width) or 0.0
    other = round(own - value, 10) + 0.0  # so that the three agree
    if contrast.quantity == "rate":
        low, high, other = max(low, -1.0), min(high, 1.0), min(max(other, 0.0), 1.0)
    return replace(
        contrast,
        own=own,
        other=other,
        value=value,
        low=low,
        high=high,
        deviations=round(contrast.deviations, 1),
        people=contrast.people // fewest * fewest,
    )
