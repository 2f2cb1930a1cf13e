"""What a search was not allowed to take."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Forgone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgone:
    """What was not allowed, and what it would have brought.

    Attributes
    ----------
    what : {"attributes", "randomization"}
        The sensitive attributes at prediction time; answers with a share of chance.
    loss : float or None
        The smallest that reaches the goal, on the rows for choosing; None: the goal is not reached.
    """

    what: str
    loss: float | None
