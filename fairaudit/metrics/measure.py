"""What every measure returns: a frozen value with its evidence, usable as a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Measure"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measured number; ``float(measure)``, f-strings and numpy take it as one.

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

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.value, dtype=dtype)
