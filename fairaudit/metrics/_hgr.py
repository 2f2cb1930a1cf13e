"""HGR: the largest correlation that any two functions of prediction and attribute can have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.columns import Column
from fairaudit.data.rates import ratio
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.metrics._labels import row_weights, score_column
from fairaudit.metrics.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Hgr", "HgrPart", "hgr"]

GRID = 64  # a larger SVD runs in threads, slow on a busy machine, for 1 % of the value
NORMS = ("mean", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class HgrPart:
    """The coefficient of one attribute within one outcome class or range.

    Attributes
    ----------
    attribute : its name; crossed attributes are joined with ``×``
    outcome : class or range of the outcome
    n : rows
    share : weight of the class or range among all rows
    value : the coefficient
    """

    attribute: str
    outcome: str
    n: int
    share: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hgr(Measure):
    """The coefficient with its parts.

    Attributes
    ----------
    attribute : the attribute the value belongs to (all of them, crossed, if all are categorical)
    norm : how the outcome classes were combined
    cells : one per attribute and outcome class or range
    """

    attribute: str
    norm: str
    cells: tuple[HgrPart, ...] = field(repr=False)

    @property
    def by_attribute(self) -> dict[str, float]:
        """The combined coefficient of every attribute."""
        names = dict.fromkeys(part.attribute for part in self.cells)
        return {
            name: _combine([c for c in self.cells if c.attribute == name], self.norm)
            for name in names
        }

    @property
    def by_outcome(self) -> dict[str, float]:
        """The coefficient within every outcome class, for the attribute the value belongs to."""
        return {c.outcome: c.value for c in self.cells if c.attribute == self.attribute}

    def to_frame(self) -> pd.DataFrame:
        """One row per attribute and outcome class or range."""
        import pandas as pd

        names = ["attribute", "outcome", "n", "share", "value"]
        rows = [(c.attribute, c.outcome, c.n, c.share, c.value) for c in self.cells]
        return pd.DataFrame(rows, columns=names)


@swaps_refused
def hgr(
    y_pred: Any,
    sensitive: Any,
    y_true: Any = None,
    *,
    norm: str = "mean",
    bins: int = 10,
    bandwidth: float | None = None,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> Hgr:
    r"""Hirschfeld–Gebelein–Rényi maximal correlation of prediction and attributes given outcome.

    Parameters
    ----------
    y_pred : array-like
        Labels or scores; of the probabilities of two classes, the second is used.
    sensitive : array-like, frame or mapping
        Attributes of any kind. If all are categorical they are crossed and the value is that of
        the cross; otherwise the value is the largest over the attributes, one at a time.
    y_true : array-like, optional
        The outcome. Without it the coefficient is unconditional.
    norm : {"mean", "max"}
        Mean over the outcome classes, weighted by their size, or the largest.
    bins : int
        Quantile ranges into which a continuous outcome is cut.
    bandwidth : float, optional
        Of the density estimate, in standard deviations; by Scott's rule unless given. It is never
        finer than the grid.
    weights : array-like, optional
        Row weights. Scott's rule then uses Kish's effective sample size.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    Hgr

    Notes
    -----
    .. math:: \mathrm{HGR}(U, V) = \max_{f, g} \operatorname{corr}(f(U), g(V))
        = \sigma_2\!\left( \frac{p(u, v)}{\sqrt{p(u)\,p(v)}} \right),

    the second singular value (Witsenhausen 1975). It is 0 if and only if U and V are independent.
    Categorical variables enter with their exact frequencies. A variable that is a number is
    mapped to normal scores within the outcome class, which leaves the coefficient as it is and
    makes the estimate indifferent to outliers and monotone transformations; its density is then
    smoothed with a Gaussian kernel on a grid of 64 points, in O(n) plus O(grid³) time.

    Smoothing by a bandwidth h shrinks the coefficient of two Gaussian variables by 1/(1 + h²);
    sampling noise biases it upwards, most of all in small classes, so independence does not
    give 0 in a sample. A variable that is constant within a class has coefficient 0 there.

    References
    ----------
    Mary, Calauzènes & El Karoui (2019). Fairness-aware learning for continuous attributes and
    treatments. ICML.

    Witsenhausen (1975). On sequences of pairs of dependent random variables. SIAM J. Appl. Math.

    Examples
    --------
    >>> sex = {"sex": ["f", "f", "f", "m", "m", "m"]}
    >>> result = hgr([0, 0, 1, 0, 1, 1], sex)
    >>> round(result.value, 4)
    0.3333
    """
    table = AuditTable.of(y_pred, sensitive, y_true, weights=weights, kinds=kinds)
    return _hgr(table, norm=norm, bins=bins, bandwidth=bandwidth)


def _hgr(
    table: AuditTable, *, norm: str = "mean", bins: int = 10, bandwidth: float | None = None
) -> Hgr:
    _check_parameters(norm, bins, bandwidth)
    prediction = score_column(table.prediction)
    attributes = {column.name: column for column in table.attributes}
    crossed = len(attributes) > 1 and all(c.kind.is_categorical for c in table.attributes)
    if crossed:
        joint = _cross(table)
        attributes[joint.name] = joint
    weights = row_weights(table)
    parts = [
        HgrPart(
            attribute=name,
            outcome=outcome,
            n=len(rows),
            share=float(weights[rows].sum() / weights.sum()),
            value=_coefficient(prediction, attribute, rows, weights[rows], bandwidth),
        )
        for outcome, rows in _parts(table, bins)
        for name, attribute in attributes.items()
    ]
    combined = {
        name: _combine([part for part in parts if part.attribute == name], norm)
        for name in attributes
    }
    best = joint.name if crossed else max(combined, key=combined.__getitem__)
    return Hgr(value=combined[best], n=len(table), attribute=best, norm=norm, cells=tuple(parts))


def _check_parameters(norm: str, bins: int, bandwidth: float | None) -> None:
    if norm not in NORMS:
        raise InputError(f"The 'norm' parameter must be 'mean' or 'max'. Got {norm!r} instead.")
    if bins < 1:
        raise InputError(f"The 'bins' parameter must be at least 1. Got {bins} instead.")
    if bandwidth is not None and not 0 < bandwidth < math.inf:
        raise InputError(
            f"The 'bandwidth' parameter must be positive. Got {bandwidth} instead; "
            "leave it out to have it chosen."
        )


def _combine(parts: list[HgrPart], norm: str) -> float:
    if norm == "max":
        return max(part.value for part in parts)
    return sum(part.share * part.value for part in parts)


def _cross(table: AuditTable) -> Column:
    """All (categorical) attributes as one column of their combinations."""
    blocks = find_tied_blocks(table.attributes, len(table))
    name = " × ".join(column.name for column in table.attributes)
    return Column(
        name=name,
        kind=table.attributes[0].kind,
        codes=blocks.of_row,
        levels=np.arange(len(blocks)),
        numeric=None,
    )


def _parts(table: AuditTable, bins: int) -> list[tuple[str, NDArray[np.intp]]]:
    """Rows of each outcome class; of each quantile range if the outcome is a number."""
    outcome = table.outcome
    if outcome is None:
        return [("all", np.arange(len(table)))]
    if outcome.kind.is_categorical:
        part_of = np.arange(len(outcome.levels))
    else:
        below = _middle_ranks(outcome.codes, len(outcome.levels), row_weights(table))
        part_of = np.floor(below * bins).astype(np.intp)
    slices = []
    for part in np.unique(part_of):
        inside = outcome.levels[part_of == part]
        name = f"{inside[0]}" if outcome.kind.is_categorical else f"{inside[0]:g} to {inside[-1]:g}"
        slices.append((name, np.flatnonzero(part_of[outcome.codes] == part)))
    return slices


def _middle_ranks(
    codes: NDArray[np.intp], levels: int, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Per level: the share of weight below it plus half of its own, strictly between 0 and 1."""
    mass = np.bincount(codes, weights, minlength=levels)
    ranks: NDArray[np.float64] = (np.cumsum(mass) - mass / 2) / mass.sum()
    return ranks.clip(1e-15, 1 - 1e-15)


def _coefficient(
    u: Column,
    v: Column,
    rows: NDArray[np.intp],
    weights: NDArray[np.float64],
    bandwidth: float | None,
) -> float:
    """The second singular value of p(u,v) / √(p(u) p(v)) over `rows`."""
    present = weights > 0
    rows, weights = rows[present], weights[present]
    if len(rows) < 2:
        return 0.0
    if bandwidth is None:
        smoothed = (not u.kind.is_categorical) + (not v.kind.is_categorical)
        effective = weights.sum() ** 2 / (weights**2).sum()
        bandwidth = float(effective ** (-1 / (4 + smoothed)))
    cell_u, size_u, kernel_u = _support(u, rows, weights, bandwidth)
    cell_v, size_v, kernel_v = _support(v, rows, weights, bandwidth)
    if min(size_u, size_v) == 1:
        return 0.0
    mass = np.bincount(cell_u * size_v + cell_v, weights, minlength=size_u * size_v)
    joint = (mass / weights.sum()).astype(np.float64).reshape(size_u, size_v)
    joint = joint if kernel_u is None else kernel_u @ joint
    joint = joint if kernel_v is None else joint @ kernel_v.T
    # Without its first singular triple, (√p(u), 1, √p(v)), the matrix has σ₂ as its norm.
    first = np.outer(np.sqrt(joint.sum(axis=1)), np.sqrt(joint.sum(axis=0)))
    rest = np.nan_to_num(ratio(joint, first)) - first
    return min(1.0, float(np.linalg.norm(rest, 2)))


def _support(
    column: Column, rows: NDArray[np.intp], weights: NDArray[np.float64], bandwidth: float
) -> tuple[NDArray[np.intp], int, NDArray[np.float64] | None]:
    """Place of each row, number of places, and the matrix that smooths a column of numbers."""
    from scipy.special import ndtri

    present, codes = np.unique(column.codes[rows], return_inverse=True)
    if column.kind.is_categorical or len(present) == 1:
        return codes, len(present), None
    scores = ndtri(_middle_ranks(codes, len(present), weights))
    reach = 3 * bandwidth
    grid, step = np.linspace(scores[0] - reach, scores[-1] + reach, GRID, retstep=True)
    nearest = np.rint((scores - grid[0]) / step).astype(np.intp)
    kernel = np.exp(-0.5 * np.square((grid[:, None] - grid) / max(bandwidth, float(step))))
    return nearest[codes], GRID, kernel / kernel.sum(axis=0)
