"""Types that every package speaks of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Index", "Progress"]


Array = NDArray[np.float64]


Index = NDArray[np.intp]


#: Hears what is done now, and how far it is: (what, done, total).
Progress = Callable[[str, int, int], None]
