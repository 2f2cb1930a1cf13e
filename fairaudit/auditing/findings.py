"""What an audit found, and what is needed to repeat it: parts of its result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from fairaudit.data.facts import Source

__all__ = ["Capsule", "Finding", "StatementKind", "Verdict"]


class Verdict(str, Enum):
    """What an audit concludes."""

    VIOLATION = "violation"
    NO_VIOLATION = "no violation found"
    INCONCLUSIVE = "inconclusive"
    EQUIVALENT = "equivalent within tolerance"

    def __str__(self) -> str:
        return self.value


class StatementKind(str, Enum):
    """What a statement may be used for; only the first accuses anybody."""

    TREATED_DIFFERENTLY = "treated differently"
    STRONGEST_PATTERN = "strongest pattern"
    ATTRIBUTES_ONLY = "attributes only"
    AT_MOST = "at most"
    NOTHING_SHOWN = "nothing shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer to one question.

    Attributes
    ----------
    family : str
        ``"joint"`` (the gate), ``"attribute"``, ``"pair"`` or ``"outcome"``.
    name : str
        What was asked about: ``"race, sex, age"``, ``"sex"``, ``"repaid = 1"``.
    attributes : tuple of str
    outcome : str or None
        The outcome class or range that the rows are limited to.
    rows : int
    statistic : str
    value : float or None
        The observed statistic; where groups are masked, that of the gate in standard deviations
        of the copies from their mean, and none of the others.
    p_value : float or None
        None where it cannot be given; `inconclusive` says why.
    p_interval : tuple of float
        95 % Monte-Carlo interval of the p-value.
    p_adjusted : float or None
        Adjusted for the other questions behind the gate; None for the gate itself.
    significant : bool
        The gate: p ≤ alpha. Others: the gate was passed and the adjusted p ≤ alpha.
    kpc : float or None
        Size of the dependence: KPC less its mean over copies (`fairaudit.metrics.kpc_centered`),
        which is 0 on average where there is nothing.
    copies : int
    copies_by : str
        The conditional law behind the copies.
    inconclusive : str or None
        Why the p-value should not be acted on.
    seconds : float
        CPU.
    kpc_low, kpc_high : float or None
        95 % interval of `kpc`; None where rows were in shards.
    kpc_raw : float or None
        KPC with one neighbor, ties averaged, as `fairaudit.metrics.kpc` gives it.
    """

    family: str
    name: str
    attributes: tuple[str, ...]
    outcome: str | None
    rows: int
    statistic: str
    value: float | None
    p_value: float | None
    p_interval: tuple[float, float]
    p_adjusted: float | None
    significant: bool
    kpc: float | None
    copies: int
    copies_by: str
    inconclusive: str | None
    seconds: float
    kpc_low: float | None = None
    kpc_high: float | None = None
    kpc_raw: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule:
    """Everything needed to repeat the audit.

    Attributes
    ----------
    created : str
        UTC, ISO 8601.
    version : str
        Of fairaudit.
    python, platform : str
    packages : dict
        Versions.
    seed, copies : int
    steps : int or None
        As asked for; None takes as many as the data need (`Trust.steps`).
    model : Source or None
    data : tuple of Source
    table_sha256 : str
        Of the audited columns as they entered the tests.
    options : dict
        Settings of the audit that are not defaults of the record.
    command : str or None
        The command that was run.
    verify : str or None
        The command that repeats the audit from its record; None: no record was written.
    """

    created: str
    version: str
    python: str
    platform: str
    packages: dict[str, str]
    seed: int
    copies: int
    steps: int | None
    model: Source | None
    data: tuple[Source, ...]
    table_sha256: str
    options: dict[str, Any]
    command: str | None
    verify: str | None = None
