"""How close ICP and CP come to the oracle permutations: the paper's section on quality.

Distance: total variation restricted to the n(n − 1)/2 permutations that exchange two rows and the
identity, between their law under an estimated density and under the true q(y|a). ICP estimates
q(y|a) (lasso; ordinary least squares for a single attribute), CP estimates q(a|y) (graphical lasso;
empirical variance). 200 rows to fit, 200 others to evaluate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array
from fairaudit.datasets import simulate_quality
from fairaudit.density.conditional_density import LocationScale, PairDensity
from fairaudit.density.flows import MAF
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.inverse import GraphicalLassoGaussian, MAFInverse
from fairaudit.experiments.paper import flow_settings
from fairaudit.experiments.runner import Unit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["distance_rows", "page", "units"]

RELEVANT, IRRELEVANT = (1, 5, 10), (0, 5, 10, 20, 50, 100)
ROWS, W = 200, 0.6


def units(estimate: str, runs: int) -> list[Unit]:
    """All cells in the first trial, then in the second, and so on."""
    return [
        (estimate, relevant, irrelevant, run)
        for run in range(runs)
        for relevant in RELEVANT
        for irrelevant in IRRELEVANT
    ]


def distance_rows(estimate: str, relevant: int, irrelevant: int, run: int) -> list[dict[str, Any]]:
    """Restricted total variation to the oracle on one table: of ICP and of CP."""
    table = simulate_quality(2 * ROWS, relevant, irrelevant, w=W, seed=run)
    y, a = table.Y[ROWS:], table.A[ROWS:]
    scale = np.full(len(y), np.sqrt(table.variance))
    truth = _swap_law(LocationScale(y, a @ table.slope, scale), ROWS)
    rows = []
    for method, density in _densities(relevant + irrelevant, estimate).items():
        fitted = density.fit(table.Y[:ROWS], table.A[:ROWS], run)
        law = _swap_law(fitted.pairs(y, a), ROWS)
        rows.append(
            {
                "estimate": estimate,
                "relevant": relevant,
                "irrelevant": irrelevant,
                "run": run,
                "method": method,
                "distance": 0.5 * float(np.abs(law - truth).sum()),
            }
        )
    return rows


def _swap_law(pairs: PairDensity, n: int) -> Array:
    """Probabilities of the identity (first) and of all exchanges of two rows."""
    i, j = np.triu_indices(n, 1)
    log = np.concatenate([[0.0], pairs.swap_log_odds(i, j, i, j)])
    weight = np.exp(log - log.max())
    return np.asarray(weight / weight.sum())


def _densities(width: int, estimate: str) -> dict[str, Any]:
    """q(y|a) for ICP and q(a|y) for CP."""
    if estimate == "maf":
        flow = flow_settings()
        return {"ICP": MAF(**flow), "CP": MAFInverse(**flow)}
    if width == 1:
        return {"ICP": Gaussian("ols"), "CP": GraphicalLassoGaussian("empirical")}
    return {"ICP": Gaussian("lasso"), "CP": GraphicalLassoGaussian()}


def page(frame: pd.DataFrame) -> list[str]:
    """Means of log10 of the distance."""
    lines = ["| K0 | K | ICP | CP | ICP closer | CP / ICP |", "|---" * 6 + "|"]
    for (relevant, irrelevant), some in frame.groupby(["relevant", "irrelevant"]):
        wide = some.pivot(index="run", columns="method", values="distance")
        log = np.log10(wide)
        means, spread = log.mean(), log.std(ddof=0)
        lines.append(
            f"| {relevant} | {irrelevant} | {means['ICP']:.2f} ({spread['ICP']:.2f}) | "
            f"{means['CP']:.2f} ({spread['CP']:.2f}) | {(wide['ICP'] < wide['CP']).sum()} of "
            f"{len(wide)} | {10 ** (means['CP'] - means['ICP']):.1f} |"
        )
    return [*lines, "", "Mean (standard deviation) of log10 of the distance; ratio of the means."]
