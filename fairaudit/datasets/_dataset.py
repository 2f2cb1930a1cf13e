"""What a loader of real data returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset:
    """A table in three parts.

    Attributes
    ----------
    name : str
    X : pandas.DataFrame
        Numeric features, without the sensitive attributes.
    y : array
        The outcome; 0 and 1 where there are two classes.
    sensitive : pandas.DataFrame
        The sensitive attributes.
    """

    name: str
    X: pd.DataFrame
    y: NDArray[np.float64]
    sensitive: pd.DataFrame

    def __repr__(self) -> str:
        size = f"{len(self.y)} rows, {self.X.shape[1]} features"
        return f"<{self.name}: {size}, sensitive: {', '.join(self.sensitive.columns)}>"
