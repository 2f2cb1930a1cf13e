"""Statistics of Yhat ⟂ A | Y: how a table and its copies are summarized by one number each.

A statistic is bound to a table once (everything that copies cannot change is computed there) and
then evaluated on blocks of copies. Large values speak against the null hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError

__all__ = ["Bound", "Statistic", "statistic_named"]

#: Row indices of copies (B × n) → B values.
Bound = Callable[[Index], Array]


class Statistic(Protocol):
    """A named statistic."""

    name: str

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        """Bind to a table; `within_outcome` tells that copies only exchange equal outcomes.

        A statistic that has a method `tested_rows(n, seed)` gets copies of these rows only.
        """
        ...


def statistic_named(statistic: str | Statistic | Sequence[str | Statistic]) -> list[Statistic]:
    """The statistics for a name, an instance, or a list of either (``"max"`` is a list)."""
    from fairaudit.testing.linear import Correlation, Features
    from fairaudit.testing.neighbor_statistics import CODECStatistic, KPCStatistic
    from fairaudit.testing.rate_statistics import DEOStatistic, OddsDifferenceStatistic

    known: dict[str, Callable[[], Statistic]] = {
        "kpc": KPCStatistic,
        "codec": CODECStatistic,
        "deo": DEOStatistic,
        "equalized_odds_difference": OddsDifferenceStatistic,
        "correlation": Correlation,
        "features": Features,
    }
    if isinstance(statistic, str):
        if statistic == "max":
            return statistic_named(["kpc", "correlation", "features"])
        if statistic == "hrt":
            from fairaudit.testing.holdout import HoldoutGain

            return [HoldoutGain()]
        if statistic not in known:
            names = ", ".join([*known, "hrt", "max"])
            raise InputError(
                f"The 'statistic' parameter must be one of {names}, or an object with a 'bind' "
                f"method. Got {statistic!r} instead."
            )
        return [known[statistic]()]
    if isinstance(statistic, Sequence):
        if statistic:
            return [one for item in statistic for one in statistic_named(item)]
    elif hasattr(statistic, "bind"):
        return [statistic]
    raise InputError(
        f"The 'statistic' parameter must be a name or have a 'bind' method. Got {statistic!r}."
    )
