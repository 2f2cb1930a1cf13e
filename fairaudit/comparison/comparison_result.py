"""What a comparison says: a verdict about one measure, and intervals for all."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from fairaudit.data.facts import Source
from fairaudit.results import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ComparedGroup", "Comparison", "ComparisonVerdict", "Difference"]


class ComparisonVerdict(str, Enum):
    """What a comparison concludes."""

    NOT_LESS_FAIR = "not less fair"
    LESS_FAIR = "less fair"
    INCONCLUSIVE = "inconclusive"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One measure in both models.

    Attributes
    ----------
    key, name : str
    baseline, candidate : float
    low, high : float or None
        Interval for candidate − baseline at level 1 − alpha; None where none is valid.
    note : str
    """

    key: str
    name: str
    baseline: float
    candidate: float
    low: float | None
    high: float | None
    note: str = ""

    @property
    def value(self) -> float:
        """Candidate − baseline."""
        return self.candidate - self.baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedGroup:
    """One group (and, of rates, one outcome): its people, and what both models do there."""

    levels: tuple[str, ...]
    what: str
    people: int
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Result):
    """A candidate beside a baseline on the same rows.

    Attributes
    ----------
    verdict : ComparisonVerdict
    because : str
    measure : str
        Whose difference decides.
    margin : float
        By how much the candidate may be worse.
    alpha : float
    at_least, at_most : float
        One-sided bounds of the difference, each at level 1 − alpha.
    differences : tuple of Difference
        The measure that decides comes first.
    cells : tuple of ComparedGroup
    attributes : tuple of str
        Whose groups are compared.
    rows : int
    models : tuple of Source
        Baseline and candidate.
    data : tuple of Source
    notes : tuple of str
    created, version : str
    command : str or None
    suppress : int or None
        No group of fewer people is shown, or can be computed; None: a record of an older version.
    """

    verdict: ComparisonVerdict
    because: str
    measure: str
    margin: float
    alpha: float
    at_least: float
    at_most: float
    differences: tuple[Difference, ...]
    cells: tuple[ComparedGroup, ...] = field(repr=False)
    attributes: tuple[str, ...]
    rows: int
    models: tuple[Source, Source]
    data: tuple[Source, ...]
    notes: tuple[str, ...]
    created: str
    version: str
    command: str | None
    suppress: int | None = None

    schema: ClassVar[str] = "fairaudit/comparison/1"
    plural: ClassVar[str] = "comparisons"

    def to_frame(self) -> pd.DataFrame:
        """One row per measure."""
        import pandas as pd

        frame = pd.DataFrame([asdict(difference) for difference in self.differences])
        frame.insert(4, "difference", [difference.value for difference in self.differences])
        return frame
