"""Copies of counts: of a class only who has which attributes, and which prediction, is known.

A permutation within a class gives a table (tied blocks of attributes × predictions) with the same
sums of rows and columns; a uniform permutation gives each table with its hypergeometric probability.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairaudit._types import Index
from fairaudit.permute.copies import stream
from fairaudit.permute.large_hypergeometric import draw_hypergeometric

__all__ = ["TOGETHER", "draw_tables", "split_counts"]

#: Copies that share a stream: they are drawn together, whoever asks for one of them.
TOGETHER = 32
_MOST_IN_ONE_CALL = 1 << 22  # rows: scipy keeps logarithms of as many factorials
_MOST = 10**9  # rows: numpy's limit


def draw_tables(
    margins: list[tuple[Index, Index]], seed: int, chunk: int
) -> Iterator[list[Index]]:
    """The copies of a chunk: for each a table (blocks × predictions) per class.

    Parameters
    ----------
    margins : list of pairs
        Per class: rows of each block, and rows of each prediction.
    seed : int
    chunk : int
        Its copies have the numbers from ``chunk * TOGETHER`` on.
    """
    rng = stream(seed, 1, chunk)
    by_class = [_draw_class(rng, blocks, predictions) for blocks, predictions in margins]
    for tables in zip(*by_class, strict=True):
        yield list(tables)


def _draw_class(rng: np.random.Generator, blocks: Index, predictions: Index) -> list[Index]:
    from scipy.stats import random_table

    if min(len(blocks), len(predictions)) == 1:
        only = blocks[:, None] if len(predictions) == 1 else predictions[None, :]
        return [only] * TOGETHER
    if int(blocks.sum()) <= _MOST_IN_ONE_CALL:
        drawn = random_table(blocks, predictions).rvs(TOGETHER, random_state=rng)
        return list(drawn.astype(np.int64))
    return [_draw_table(rng, blocks, predictions) for _ in range(TOGETHER)]


def _draw_table(rng: np.random.Generator, blocks: Index, predictions: Index) -> Index:
    """One prediction after the other; beyond numpy's limit the blocks are halved first."""
    if int(blocks.sum()) >= _MOST and len(blocks) > 1:
        half = len(blocks) // 2
        above = split_counts(rng, predictions, int(blocks[:half].sum()))
        return np.vstack(
            [
                _draw_table(rng, blocks[:half], above),
                _draw_table(rng, blocks[half:], predictions - above),
            ]
        )
    if len(blocks) == 1:
        return predictions[None, :].copy()
    left, table = blocks.copy(), np.empty((len(blocks), len(predictions)), dtype=np.int64)
    for k, count in enumerate(predictions[:-1].tolist()):
        table[:, k] = rng.multivariate_hypergeometric(left, count, method="marginals")
        left -= table[:, k]
    table[:, -1] = left
    return table


def split_counts(rng: np.random.Generator, counts: Index, drawn: int) -> Index:
    """How many of each kind are among so many that are drawn, of any number."""
    if int(counts.sum()) < _MOST:
        return rng.multivariate_hypergeometric(counts, drawn, method="marginals")
    result, left = np.zeros_like(counts), int(counts.sum())
    for k, count in enumerate(counts.tolist()):
        left -= count
        result[k] = draw_hypergeometric(rng, count, left, drawn)
        drawn -= int(result[k])
    return result
