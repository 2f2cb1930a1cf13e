"""The rules of betting; a state names those it was begun with, and keeps them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CURRENT", "RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the stake is spread and what it is bet on.

    Attributes
    ----------
    version : int
    tilts : tuple of float
        How much is bet on a statistic, or a direction learned, that stands one standard deviation
        above its copies.
    tilts_alone : tuple of float
        The same for every product alone, upward and downward; empty: none is bet on.
    pooled : bool
        Whether directions are learned over all classes of the outcome together too.
    first : float
        Share of the stake for a violation that is there from the first batch on.
    offset : int
        The n-th batch has (n + offset)^-1.5 as its share of the rest.
    capped : bool
        Whether what the evidence would have above 1/alpha is bet on reaching it.
    """

    version: int
    tilts: tuple[float, ...]
    tilts_alone: tuple[float, ...]
    pooled: bool
    first: float
    offset: int
    capped: bool


#: Never change one that is here: files go on with it. Another set of rules is another version.
RULES = {
    1: Rules(
        version=1,
        tilts=(0.5, 1.0, 2.0, 4.0),
        tilts_alone=(),
        pooled=False,
        first=0.0,
        offset=0,
        capped=False,
    ),
    2: Rules(
        version=2,
        tilts=(0.5, 1.0, 2.0, 4.0),
        tilts_alone=(1.0, 3.0),
        pooled=True,
        first=0.2,
        offset=8,
        capped=True,
    ),
}
CURRENT = RULES[2]
