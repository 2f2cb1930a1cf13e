"""What every measure returns: a frozen value with its evidence, usable as a number."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Measure"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measured number; ``float(measure)`` gives it.

    Attributes
    ----------
    value : float
    n : int
        Rows it was computed from.
    """

    value: float
    n: int

    def __float__(self) -> float:
        return self.value
