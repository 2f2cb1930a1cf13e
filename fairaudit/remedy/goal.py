"""What a repair is for, as people write it: ``pass``, ``certify kpc=0.01``, ``loss<=0.25``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairaudit.errors import InputError

__all__ = ["Goal"]

_FORMS = "'pass', 'certify kpc=0.01' (or another measure), 'kpc<=0.01' or 'loss<=0.25'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A model that passes the audit, unless one of these is given.

    Attributes
    ----------
    limits : mapping
        Measure → size that is to be certified.
    kpc, loss : float or None
        The smallest loss up to this KPC; the smallest KPC up to this loss.
    """

    limits: Mapping[str, float] = field(default_factory=dict)
    kpc: float | None = None
    loss: float | None = None

    @classmethod
    def parse(cls, text: str) -> Goal:
        """
        Examples
        --------
        >>> Goal.parse("certify tpr_gap=0.05, kpc=0.01").limits
        {'tpr_gap': 0.05, 'kpc': 0.01}
        >>> Goal.parse("loss<=0.25").loss
        0.25
        """
        words = text.strip()
        if words == "pass":
            return cls()
        if words.split(maxsplit=1)[:1] == ["certify"]:
            from fairaudit.evidence.intervals.certify import check_limits

            pairs = [pair.partition("=") for pair in words[len("certify") :].split(",")]
            limits = {name.strip(): _number(size, text) for name, _, size in pairs}
            check_limits(limits)
            return cls(limits=limits)
        name, at_most, size = words.replace("≤", "<=").partition("<=")
        if at_most and name.strip() in ("kpc", "loss"):
            limit = _number(size, text)
            return cls(kpc=limit) if name.strip() == "kpc" else cls(loss=limit)
        raise InputError(f"'goal' must be {_FORMS}. Got {text!r}.", argument="goal")

    def __str__(self) -> str:
        if self.limits:
            return "certify " + ", ".join(f"{name}={size:g}" for name, size in self.limits.items())
        if self.kpc is not None:
            return f"kpc<={self.kpc:g}"
        return "pass" if self.loss is None else f"loss<={self.loss:g}"


def _number(text: str, goal: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"'goal' has no number where one is needed: {goal!r}. It must be {_FORMS}.",
            argument="goal",
        ) from None
