"""KPC of several sets of attributes from one pass over a large table with ties."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.data.table import AuditTable
from fairaudit.geometry.block_kernels import BlockFeatures, BlockKPC, BlockQuestion
from fairaudit.geometry.block_sums import BlockSpace, ClassRows, blocks_pay, sum_copies
from fairaudit.geometry.kernels import POOR, feature_map, kernel_named

__all__ = ["kpc_by_blocks"]


def kpc_by_blocks(
    table: AuditTable, sets: Sequence[Sequence[str]]
) -> list[tuple[float, float]] | None:
    """KPC (one neighbor, ties averaged, median bandwidth) of each set of attributes, and its mean
    over copies.

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
    rows = ClassRows(blocks, lambda some: features(u[some], 0))
    sums = sum_copies([rows], features, len(space), [None])
    alone = BlockQuestion(space, (), None, 1)
    values = []
    for names in sets:
        size = BlockKPC(BlockQuestion(space, names, None, 1), alone, sums[0])
        raw = size.value(sums[0]) if size.defined else float("nan")
        values.append((raw, size.mean_of_copies(sums[0])))
    return values
