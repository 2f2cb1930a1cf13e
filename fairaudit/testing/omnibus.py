"""The statistic of the gate: effects of many shapes, looked for in the same products.

What the outcome does not explain of the prediction (its level and its spread) is multiplied with
functions of the attributes (lines, products, waves, subgroups) and with functions along the
outcome. Each part is a statistic of its own; they are combined after they have been calibrated
on the same copies (`fairaudit.testing.p_value.Null`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from fairaudit._types import Array, Index
from fairaudit.data.encode import encode, sort_by_name
from fairaudit.data.table import AuditTable
from fairaudit.geometry.block_sums import CoarseBlocks, SeenRows
from fairaudit.geometry.ranks_and_moments import rank_values
from fairaudit.permute.copies import CopySampler, gathered, stream
from fairaudit.testing.attribute_functions import show_rows
from fairaudit.testing.given_outcome import (
    GivenOutcome,
    look_at_numbers,
    look_at_outcome,
    standardize,
)
from fairaudit.testing.omnibus_blocks import OmnibusOverBlocks
from fairaudit.testing.omnibus_shifts import GivenRows, OmnibusOverShifts, SeenAttributes
from fairaudit.testing.product_parts import (
    ProductParts,
    count_in_tile,
    find_places,
    multiply_along,
    raise_residuals,
)
from fairaudit.testing.statistic import Bound

__all__ = ["PARTS", "Blend", "Omnibus"]

Blend = Callable[[Index, Array, Array], Array]

#: Part → its weight in the combination.
PARTS = {
    "linear": 10.0,
    "linear, one attribute": 4.0,
    "linear along the outcome": 4.0,
    "linear, one attribute along the outcome": 2.0,
    "linear in spread": 2.0,
    "linear in skewness": 1.0,
    "products": 2.0,
    "smooth": 1.0,
    "curves": 1.0,
    "smooth along the outcome": 1.0,
    "scan": 1.5,
    "scan in spread": 1.0,
}
_QUICK = ("linear", "linear, one attribute", "linear in spread", "products", "curves", "smooth")
_AT_ONCE = 1 << 17  # rows of copies
_STRETCHES = 64  # of a continuous outcome, for subgroups
_ROWS_PER_STRETCH = 16


@dataclass(frozen=True, slots=True)
class Omnibus:
    """Effects of many shapes at once.

    Parameters
    ----------
    parts : tuple of str
        Some of `PARTS`.
    name : str

    Notes
    -----
    With residuals of the prediction on one side and attributes on the other, and both without what
    the outcome explains, an error in either (a wrong density behind the copies, a smooth curve
    that is not followed) enters only as the product of both errors.
    """

    parts: tuple[str, ...] = tuple(PARTS)
    name: str = "omnibus"

    narrow_sums = True

    @property
    def quick(self) -> Omnibus:
        """The parts that cost least."""
        kept = tuple(part for part in self.parts if part in _QUICK)
        return Omnibus(kept or self.parts, self.name)

    @property
    def weights(self) -> tuple[float, ...]:
        return tuple(PARTS[part] for part in self.parts)

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        return self._bind(table, "within" if within_outcome else "anywhere", seed)

    def bind_near_outcome(self, table: AuditTable, *, seed: int) -> Bound:
        """For copies that exchange attributes between neighbors in the outcome.

        Attributes move without what the outcome explains of them.
        """
        return self._bind(table, "near", seed)

    def bind_moved_prediction(self, table: AuditTable, *, seed: int) -> Bound:
        """For copies that move the prediction.

        What the outcome explains is taken out of the attributes, which stay, and twice. Subgroups
        are not looked for: their parts are constant.
        """
        return self._bind(table, "prediction", seed)

    def over_blocks(
        self, questions: Sequence[CoarseBlocks], seen: SeenRows, *, seed: int
    ) -> OmnibusOverBlocks:
        """For copies within classes, from sums over tied blocks."""
        return OmnibusOverBlocks(questions, self.parts, seen, seed)

    def over_shifts(
        self,
        table: AuditTable,
        groups: Sequence[Index],
        *,
        seed: int,
        seen: SeenAttributes | None = None,
    ) -> OmnibusOverShifts:
        """For copies that shift groups of blocks of neighbors in a continuous outcome.

        Sums of several tables can be added where `seen` shows the same attributes in all.
        """
        table.require_varying_prediction()
        rng = stream(seed, 2)
        if seen is None:
            a = encode(sort_by_name(table.attributes))
            seen = SeenAttributes(a, a[show_rows(len(table), rng)], len(table))
        return OmnibusOverShifts(_look_at_rows(table, seen), groups, self.parts, rng)

    def bind_blend(self, table: AuditTable, sampler: CopySampler, *, seed: int) -> Blend:
        """For residuals that are partly the data's and partly a copy's.

        Every part is a sum of squares (or the largest square) of sums over rows: with shares a of
        the data and b of a copy these sums are a times those of the data plus b times those of
        the copy. So samples are made in which the effects of the data are larger or smaller.
        """
        moves = "within" if sampler.within_outcome else "anywhere"
        moves = "near" if sampler.near_outcome else moves
        moves = "prediction" if sampler.moves == "prediction" else moves
        return self._look(table, moves, seed).blend

    def _bind(self, table: AuditTable, moves: str, seed: int) -> Bound:
        return self._look(table, moves, seed).values

    def _look(self, table: AuditTable, moves: str, seed: int) -> _Products:
        table.require_varying_prediction()
        given = look_at_outcome(table.require_outcome())
        return _Products(table, given, moves, self.parts, seed)


def _look_at_rows(table: AuditTable, seen: SeenAttributes) -> GivenRows:
    given = look_at_numbers(table.require_outcome())
    return GivenRows(
        seen=seen,
        smoother=given.smoother,
        strata=_find_strata(given, len(table)),
        sides=_take_residuals(table, given, "near"),
    )


def _find_strata(given: GivenOutcome, n: int) -> Index:
    return given.find_stretches(max(1, min(_STRETCHES, n // _ROWS_PER_STRETCH)))


class _Products(ProductParts):
    """A table bound to the functions that its copies are evaluated with."""

    def __init__(
        self, table: AuditTable, given: GivenOutcome, moves: str, parts: tuple[str, ...], seed: int
    ) -> None:
        rng = stream(seed, 2)
        self.n, self.parts, self.moves = len(table), parts, moves
        sides = _take_residuals(table, given, moves)
        if moves == "anywhere":  # again: attributes of copies are not without the outcome's part
            sides = {name: standardize(given.remove(side)) for name, side in sides.items()}
        sides["basis"] = given.basis[:, : None if moves == "anywhere" else 0] * np.sqrt(self.n)
        self.left = np.hstack(list(sides.values()))
        self.along = given.along
        widths = {name: side.shape[1] for name, side in sides.items()}
        if moves == "prediction":
            widths["along"] = given.along.shape[1]
        self.rows = find_places(widths)
        a = encode(sort_by_name(table.attributes))
        strata = np.zeros(self.n, dtype=np.intp)
        if moves != "anywhere":
            strata = _find_strata(given, self.n)
        self.look_at_attributes(
            a,
            a[show_rows(self.n, rng)],
            rng,
            remove=_choose_removal(given, moves),
            strata=None if moves == "prediction" else strata,
        )
        if moves == "anywhere":
            self.inverse = None

    def values(self, copies: Index) -> Array:
        """Every part (columns) on every copy (rows), some copies at a time."""
        some, full = max(1, _AT_ONCE // self.n), count_in_tile(self.left.shape[1])
        some = max(some - some % full, min(some, full))
        blocks = (copies[at : at + some] for at in range(0, len(copies), some))
        return np.vstack([self.evaluate(self._move(block)) for block in blocks])

    def blend(self, copies: Index, data: Array, copy: Array) -> Array:
        """Every part on sums of the data and of each copy, by their shares (one per copy)."""
        own = self._move(np.arange(self.n)[None, :])[0]
        some = max(1, _AT_ONCE // self.n)
        values = []
        for at in range(0, len(copies), some):
            moved = self._move(copies[at : at + some])
            share = copy[at : at + some, None, None]
            values.append(self.evaluate(data[at : at + some, None, None] * own + share * moved))
        return np.vstack(values)

    def _move(self, copies: Index) -> Array:
        """Per copy what the attributes of each row meet: copies × columns × rows."""
        if self.moves != "prediction":
            return gathered(copies, self.left)
        moved = self.left[copies].transpose(0, 2, 1)
        first = moved[:, :1] * self.along.T  # of several columns the first stands for all
        return np.concatenate([moved, first], axis=1)


def _choose_removal(given: GivenOutcome, moves: str) -> Callable[[Array], Array]:
    """How the outcome's part is taken out of functions of the attributes."""
    if moves == "anywhere":
        return lambda columns: columns - columns.mean(axis=0)
    if moves == "prediction":
        return lambda columns: given.remove(given.remove(columns))
    return given.remove


def _take_residuals(table: AuditTable, given: GivenOutcome, moves: str) -> dict[str, Array]:
    """Level, spread and skewness of the prediction given the outcome, and its level along it.

    Where it is the prediction that moves: its scores and their powers, with the outcome's part.
    """
    u = table.prediction.matrix()
    scores = np.column_stack([ndtri((rank_values(column) - 0.5) / len(u)) for column in u.T])
    level = standardize(scores)
    if moves == "prediction":
        powers = {name: standardize(power) for name, power in raise_residuals(level).items()}
        return {"level": level, **powers, "along": level[:, :0]}
    level = standardize(given.remove(level))
    powers = {
        name: standardize(given.remove(power)) for name, power in raise_residuals(level).items()
    }
    return {"level": level, **powers, "along": multiply_along(level, given.along)}
