"""How close ICP and CP come to the oracle permutations, as in the paper's section on quality.

    python benchmarks/permutation_quality.py            # linear Gaussian estimates
    python benchmarks/permutation_quality.py --maf      # masked autoregressive flows

Distance: total variation restricted to the n(n − 1)/2 permutations that exchange two rows and the
identity, between their law under an estimated density and under the true q(y|a). ICP estimates
q(y|a) (lasso; ordinary least squares for a single attribute), CP estimates q(a|y) (graphical lasso;
empirical variance). 200 rows to fit, 200 others to evaluate. The table is Markdown.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from fairaudit.datasets import Simulation, simulate_quality
from fairaudit.density.base import LocationScale, PairDensity
from fairaudit.density.flows import MAF
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.inverse import GraphicalLassoGaussian, MAFInverse
from fairaudit.density.training import Training

RELEVANT, IRRELEVANT = (1, 5, 10), (0, 5, 10, 20, 50, 100)
ROWS, W = 200, 0.6


def swap_law(pairs: PairDensity, n: int) -> np.ndarray:
    """Probabilities of the identity (first) and of all exchanges of two rows."""
    i, j = np.triu_indices(n, 1)
    log = np.concatenate([[0.0], pairs.swap_log_odds(i, j, i, j)])
    weight = np.exp(log - log.max())
    return weight / weight.sum()


def distances(relevant: int, irrelevant: int, seed: int, maf: bool) -> tuple[float, float]:
    """Restricted total variation to the oracle: of ICP, of CP."""
    table = simulate_quality(2 * ROWS, relevant, irrelevant, w=W, seed=seed)
    y, a = table.Y[ROWS:], table.A[ROWS:]
    truth = swap_law(oracle(table, y, a), ROWS)
    laws = []
    for density in densities(relevant + irrelevant, maf):
        fitted = density.fit(table.Y[:ROWS], table.A[:ROWS], seed)
        laws.append(swap_law(fitted.pairs(y, a), ROWS))
    icp, cp = (0.5 * float(np.abs(law - truth).sum()) for law in laws)
    return icp, cp


def oracle(table: Simulation, y: np.ndarray, a: np.ndarray) -> PairDensity:
    return LocationScale(y, a @ table.slope, np.full(len(y), np.sqrt(table.variance)))


def densities(width: int, maf: bool) -> tuple[Any, Any]:
    """q(y|a) for ICP and q(a|y) for CP."""
    if maf:  # as the paper sets them for its simulations
        training = Training(learning_rate=0.1, l1=0.01)
        size = {"components": 1, "hidden_layers": 1, "hidden": None, "training": training}
        return MAF(**size), MAFInverse(**size)
    if width == 1:
        return Gaussian("ols"), GraphicalLassoGaussian("empirical")
    return Gaussian("lasso"), GraphicalLassoGaussian()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--maf", action="store_true", help="flows instead of linear estimates")
    parser.add_argument("--relevant", type=int, nargs="*", default=RELEVANT, help="K0")
    parser.add_argument("--irrelevant", type=int, nargs="*", default=IRRELEVANT, help="K")
    args = parser.parse_args()
    start = time.process_time()
    print("| K0 | K | ICP | CP | ICP closer | CP / ICP |\n|---|---|---|---|---|---|")
    for relevant in args.relevant:
        for irrelevant in args.irrelevant:
            tv = np.array(
                [distances(relevant, irrelevant, s, args.maf) for s in range(args.trials)]
            )
            log = np.log10(tv)
            (icp, cp), (icp_sd, cp_sd) = log.mean(axis=0), log.std(axis=0)
            print(
                f"| {relevant} | {irrelevant} | {icp:.2f} ({icp_sd:.2f}) | {cp:.2f} ({cp_sd:.2f}) "
                f"| {(tv[:, 0] < tv[:, 1]).sum()} of {args.trials} | {10 ** (cp - icp):.1f} |",
                flush=True,
            )
    print(
        f"\nMean (standard deviation) of log10 TV over {args.trials} tables; "
        f"{time.process_time() - start:.0f} s of CPU."
    )


if __name__ == "__main__":
    main()
