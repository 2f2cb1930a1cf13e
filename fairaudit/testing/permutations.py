"""How many copies, how they are drawn, and when to stop: one value that every test takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fairaudit.errors import InputError

__all__ = ["Permutations"]

_BLOCK = 1 << 18  # numbers of copies × rows that are held at once
_REACHED = 20  # copies that reach the data after which `auto` stops


@dataclass(frozen=True, slots=True)
class Permutations:
    """Settings of the conditional copies.

    Parameters
    ----------
    n : int
        Copies; the smallest possible p-value is 1/(n + 1).
    steps : int, optional
        Pairings between data and hub, and between hub and copy (fitted densities only). By
        default as many as let a row make five exchanges on average, at most 50
        (`fairaudit.permute.chain.count_steps`).
    seed : int
        Same seed, same p-value, whatever `batch` and `n_jobs`.
    batch : int, optional
        Copies held at once; by default about 2 MB of them.
    n_jobs : int
        Processes, through joblib.
    stop_after : int, optional
        Besag and Clifford (1991): stop at this many copies that reach the observed statistic;
        p is then exceedances / copies drawn, which is valid too. Saves work when p is large.
        Each question of an audit stops by itself. Copies are then drawn one batch after the
        other, whatever `n_jobs`. `Permutations.auto` chooses it.
    memory : int, optional
        Bytes that copies and features may take, about; sets batch sizes and no result.

    Examples
    --------
    >>> Permutations(n=199, seed=7)
    Permutations(n=199, steps=None, seed=7, batch=None, n_jobs=1, stop_after=None, memory=None)
    """

    n: int = 999
    steps: int | None = None
    seed: int = 0
    batch: int | None = None
    n_jobs: int = 1
    stop_after: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("n", 1),
            ("steps", 1),
            ("seed", 0),
            ("batch", 1),
            ("stop_after", 1),
            ("memory", 1),
        ):
            value = getattr(self, name)
            if value is None and name in ("steps", "batch", "stop_after", "memory"):
                continue
            if isinstance(value, bool) or int(value) != value or value < least:
                raise InputError(
                    f"'{name}' must be an integer of at least {least}. Got {value!r}.",
                    argument=name,
                )

    @classmethod
    def auto(cls, alpha: float = 0.05, **others: Any) -> Permutations:
        """As many copies as p-values near `alpha` need: at most 999 or 20/alpha, early stopping.

        Examples
        --------
        >>> drawn = Permutations.auto(0.01, seed=7)
        >>> drawn.n, drawn.stop_after, drawn.seed
        (1999, 20, 7)
        """
        most = max(999, math.ceil(_REACHED / alpha - 1e-9) - 1)
        return cls(n=most, stop_after=_REACHED, **others)

    def batch_for(self, rows: int) -> int:
        block = _BLOCK if self.memory is None else min(_BLOCK, self.memory // 64)
        return self.batch or max(1, min(self.n, block // rows))
