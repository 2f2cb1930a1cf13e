"""How many copies, how they are drawn, and when to stop: one value that every test takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fairaudit.errors import InputError
from fairaudit.testing.p_value import Boundary
from fairaudit.testing.stopping import AfterReached, OnceSettled

__all__ = ["Permutations"]

_BLOCK = 1 << 18  # numbers of copies × rows that are held at once
_TOGETHER = 8  # copies that are multiplied together, where there are so many
_REACHED = 20  # copies that reach the data at alpha, of as many as `auto` draws at most
_CALIBRATION = 99  # copies that tell how rare values of several statistics are


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
    memory : int, optional
        Bytes that copies and features may take, about; sets batch sizes and no result.
    settle_at : float, optional
        A level: stop once six copies more, or six fewer, reach the observed statistic than p at
        this level lets expect. p is exact for this rule. Saves work when p is small, too.
        `Permutations.auto` chooses it.

    Notes
    -----
    With `stop_after` or `settle_at` each question of an audit stops by itself, and copies are
    drawn one batch after the other, whatever `n_jobs`. Where several statistics are combined, the
    first 99 copies (at most a fifth) calibrate the combination and are not counted.

    Examples
    --------
    >>> Permutations(n=199, seed=7).n
    199
    """

    n: int = 999
    steps: int | None = None
    seed: int = 0
    batch: int | None = None
    n_jobs: int = 1
    stop_after: int | None = None
    memory: int | None = None
    settle_at: float | None = None

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
        if self.settle_at is not None and not 0 < self.settle_at < 1:
            raise InputError(
                f"'settle_at' must be between 0 and 1. Got {self.settle_at!r}.",
                argument="settle_at",
            )
        if self.settle_at is not None and self.stop_after is not None:
            raise InputError(
                "'stop_after' and 'settle_at' are two rules for stopping. Pass one of them.",
                argument="settle_at",
            )

    @classmethod
    def auto(cls, alpha: float = 0.05, **others: Any) -> Permutations:
        """As many copies as p-values near `alpha` need: at most 999 or 20/alpha, early stopping.

        Examples
        --------
        >>> drawn = Permutations.auto(0.01, seed=7)
        >>> drawn.n, drawn.settle_at, drawn.seed
        (1999, 0.01, 7)
        """
        most = max(999, math.ceil(_REACHED / alpha - 1e-9) - 1)
        return cls(n=most, settle_at=alpha, **others)

    @property
    def stops_early(self) -> bool:
        return self.stop_after is not None or self.settle_at is not None

    def held_out(self, statistics: int) -> int:
        """Copies that calibrate a combination of statistics, and are not counted."""
        if statistics == 1 or not self.stops_early:
            return 0
        if self.n < _REACHED:
            raise InputError(
                f"Early stopping with {statistics} statistics needs at least {_REACHED} copies. "
                f"Got {self.n}.",
                argument="n",
            )
        return min(_CALIBRATION, self.n // 5)

    def boundary(self, statistics: int = 1, among: int = 1) -> Boundary | None:
        """When drawing stops, for a question that is adjusted among this many; None: never."""
        counted = self.n - self.held_out(statistics)
        if self.stop_after is not None:
            return AfterReached(self.stop_after, counted)
        if self.settle_at is not None:
            return OnceSettled(counted, self.settle_at / among, self.settle_at)
        return None

    def batch_for(self, rows: int) -> int:
        block = _BLOCK if self.memory is None else min(_BLOCK, self.memory // 64)
        copies = block // rows
        return self.batch or max(1, min(self.n, copies - copies % _TOGETHER or copies))
