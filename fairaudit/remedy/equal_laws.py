"""A linear program over groups: answers on a few levels with the same law given the outcome.

A person in score bin b and group g gets level k with probability π(k | g, b). Among all π under
which the level has one law given the outcome in every group, the program finds the one with the
smallest cost (Hardt, Price & Srebro 2016 is the case of two levels).
"""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.errors import FairAuditError

__all__ = ["GroupLaws", "find_equal_laws"]


class GroupLaws:
    """Laws of the score bin given group and class, with shrinkage toward all rows.

    Parameters
    ----------
    bins, groups, parts : int array
        Score bin, group and class of every row.
    shrink : float
        Rows of the pooled law that are added to every group.

    Attributes
    ----------
    law : array
        Group × class × bin; adds up to 1 over bins.
    share : array
        Group × class: share of all rows.
    """

    def __init__(self, bins: Index, groups: Index, parts: Index, *, shrink: float = 0.0) -> None:
        sizes = (int(groups.max()) + 1, int(parts.max()) + 1, int(bins.max()) + 1)
        counts = np.zeros(sizes)
        np.add.at(counts, (groups, parts, bins), 1.0)
        pooled = counts.sum(axis=0) / np.maximum(counts.sum(axis=(0, 2))[:, None], 1.0)
        padded = counts + max(shrink, 1e-6) * pooled
        self.law = padded / padded.sum(axis=2, keepdims=True)
        self.share = counts.sum(axis=2) / len(bins)


def find_equal_laws(laws: GroupLaws, cost: Array) -> Array:
    """The probabilities π, group × bin × level, of smallest cost with equal laws.

    Parameters
    ----------
    laws : GroupLaws
    cost : array
        Class × level.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    groups, classes, bins = laws.law.shape
    levels = cost.shape[1]
    own = groups * bins * levels
    place = np.arange(own).reshape(groups, bins, levels)
    weights = laws.share[:, :, None] * laws.law  # group × class × bin
    expense = np.einsum("gcb,ck->gbk", weights, cost).ravel()
    # the law in each group equals the common one: class × level variables at the end
    g, c, k = np.meshgrid(*map(np.arange, (groups, classes, levels)), indexing="ij")
    row = (g * classes + c) * levels + k
    rows = np.repeat(row.ravel(), bins)
    columns = place[g[..., None], np.arange(bins), k[..., None]].ravel()
    values = laws.law[g, c].ravel()
    rows = np.concatenate([rows, row.ravel()])
    columns = np.concatenate([columns, (own + c * levels + k).ravel()])
    values = np.concatenate([values, -np.ones(row.size)])
    # probabilities add up to one
    rows = np.concatenate([rows, row.size + np.repeat(np.arange(groups * bins), levels)])
    columns = np.concatenate([columns, place.ravel()])
    values = np.concatenate([values, np.ones(own)])
    height = row.size + groups * bins
    matrix = coo_matrix((values, (rows, columns)), shape=(height, own + classes * levels))
    right = np.concatenate([np.zeros(row.size), np.ones(groups * bins)])
    objective = np.concatenate([expense, np.zeros(classes * levels)])
    found = linprog(objective, A_eq=matrix.tocsr(), b_eq=right, bounds=(0, 1), method="highs")
    if found.x is None:
        raise FairAuditError(f"The linear program was not solved: {found.message}")
    chances = np.clip(found.x[:own].reshape(groups, bins, levels), 0.0, 1.0)
    return np.asarray(chances / chances.sum(axis=2, keepdims=True))
