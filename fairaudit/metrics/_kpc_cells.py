"""KPC of several sets of attributes from one pass over a large table with ties."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.data.table import AuditTable
from fairaudit.geometry.block_sums import (
    CellFeatures,
    CellKPC,
    CellQuestion,
    CellSpace,
    add_sums,
    worth_cells,
)
from fairaudit.geometry.kernels import POOR, feature_map, kernel_named

__all__ = ["kpc_by_cells"]

_CHUNK = 1 << 18


def kpc_by_cells(table: AuditTable, sets: Sequence[Sequence[str]]) -> list[float] | None:
    """KPC (one neighbour, ties averaged, median bandwidth) of each set of attributes.

    None where rows are few, hardly tied, or the kernel has no good features: `kpc` is then the
    way. Undefined values are NaN.
    """
    n, outcome = len(table), table.require_outcome()
    if not worth_cells(n, 1) or table.prediction.constant:
        return None
    space, cells = CellSpace.of(outcome, table.attributes)
    if not worth_cells(n, len(space)):
        return None
    u = table.prediction.matrix()
    features = CellFeatures(feature_map(kernel_named("rbf", u)[0], u), ())
    if features.whole.residual > POOR:
        return None
    sums = features.no_sums(1, len(space))
    for at in range(0, n, _CHUNK):
        some = slice(at, at + _CHUNK)
        add_sums(sums, cells[None, some], features(u[some], 0))
    alone = CellQuestion(space, (), None, 1)
    values = []
    for names in sets:
        size = CellKPC(CellQuestion(space, names, None, 1), alone, sums[0])
        values.append(size.value(sums[0]) if size.defined else float("nan"))
    return values
