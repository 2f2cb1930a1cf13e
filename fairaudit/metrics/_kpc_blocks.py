"""KPC of several sets of attributes from one pass over a large table with ties."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.data.table import AuditTable
from fairaudit.geometry.block_sums import (
    BlockFeatures,
    BlockKPC,
    BlockQuestion,
    BlockSpace,
    add_sums,
    blocks_pay,
)
from fairaudit.geometry.kernels import POOR, feature_map, kernel_named

__all__ = ["kpc_by_blocks"]

_CHUNK = 1 << 18


def kpc_by_blocks(table: AuditTable, sets: Sequence[Sequence[str]]) -> list[float] | None:
    """KPC (one neighbor, ties averaged, median bandwidth) of each set of attributes.

    None where rows are few, hardly tied, or the kernel has no good features: `kpc` is then the
    way. Undefined values are NaN.
    """
    n, outcome = len(table), table.require_outcome()
    if not blocks_pay(n, 1) or table.prediction.constant:
        return None
    space, blocks = BlockSpace.of(outcome, table.attributes)
    if not blocks_pay(n, len(space)):
        return None
    u = table.prediction.matrix()
    features = BlockFeatures(feature_map(kernel_named("rbf", u)[0], u), ())
    if features.whole.residual > POOR:
        return None
    sums = features.no_sums(1, len(space))
    for at in range(0, n, _CHUNK):
        some = slice(at, at + _CHUNK)
        add_sums(sums, blocks[None, some], features(u[some], 0))
    alone = BlockQuestion(space, (), None, 1)
    values = []
    for names in sets:
        size = BlockKPC(BlockQuestion(space, names, None, 1), alone, sums[0])
        values.append(size.value(sums[0]) if size.defined else float("nan"))
    return values
