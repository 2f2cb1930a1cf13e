"""Is a p-value to be believed?"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Trust"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whether a p-value can be believed: what the copies say that never saw the prediction.

    Attributes
    ----------
    trustworthy : bool
    because : str
    copies_by : str
        The law of the copies, in words.
    copy_check : float or None
        p-value that (A, Y) and (Ã, Y) look alike, or of what the law assumes of (Ŷ, Y); None where
        nothing was estimated or assumed.
    calibration : float or None
        p-value that the density's probability integral transforms are uniform
        (Kolmogorov–Smirnov, and skewness and kurtosis of their normal scores); 1 where the
        deviation is too small to matter. None where nothing was fitted.
    moved : float
        Share of rows whose attributes differ between data and copies.
    distinct : int
        Different copies among those looked at.
    scores : dict
        Held-out log-likelihood per row of the density families that were tried.
    law : {"exact", "resampled", "known", "fitted", "local", "prediction", "monotone"}
        Of the copies; see `fairaudit.permute.copies.CopyLaw`.
    family : str
        The family of the density that was fitted; empty otherwise.
    fit : str
        On which rows: ``"cross-fitted"``, ``"in sample"``, ``"given table"`` or
        ``"held-out sample"``; empty where nothing was fitted.
    witness_by : str
        Another law of copies that was asked too, in words; empty where none was.
    witness_p : float or None
        What it says.
    steps : int
        Pairings between data and hub, and between hub and copy, that were used; 0 for none.
    """

    trustworthy: bool
    because: str
    copies_by: str
    copy_check: float | None
    calibration: float | None
    moved: float
    distinct: int
    scores: dict[str, float] = field(default_factory=dict)
    law: str = ""
    family: str = ""
    fit: str = ""
    witness_by: str = ""
    witness_p: float | None = None
    steps: int = 0

    def __post_init__(self) -> None:
        if not self.law:
            law, family, fit = _read_words(self.copies_by)
            for name, value in (("law", law), ("family", family), ("fit", fit)):
                object.__setattr__(self, name, value)

    @property
    def verdict(self) -> str:
        return f"{'yes' if self.trustworthy else 'no'}, because {self.because}"


def _read_words(copies_by: str) -> tuple[str, str, str]:
    """Law, family and fit of records of version 0.1.0, which have them in words only."""
    if copies_by.startswith("exact"):
        return "exact", "", ""
    if copies_by == "oracle":
        return "known", "", ""
    family, _, how = copies_by.rpartition(", ")
    known = {"fitted in sample": "in sample", "fitted on the given table": "given table"}
    if how in known:
        return "fitted", family, known[how]
    return "fitted", family, "held-out sample" if "not tested" in how else "cross-fitted"
