"""What a threshold on the estimated equalized-odds difference does to models without violation.

    python benchmarks/point_estimate_gate.py

Every model here satisfies equalized odds exactly: its label depends on the outcome (TPR 0.7,
FPR 0.3, half of the rows positive) and on nothing else; groups are drawn at random. The difference
is fairlearn's; the table is Markdown.
"""

from __future__ import annotations

import argparse

import fairlearn
import numpy as np
from fairlearn.metrics import equalized_odds_difference

CASES = ((500, 2), (500, 5), (500, 20), (5000, 20))
TPR, FPR, GATE = 0.7, 0.3, 0.1


def difference(n: int, groups: int, rng: np.random.Generator) -> float:
    """fairlearn's difference for one table of a model that satisfies equalized odds."""
    group = rng.integers(0, groups, n)
    y = rng.random(n) < 0.5
    predicted = rng.random(n) < np.where(y, TPR, FPR)
    return float(equalized_odds_difference(y, predicted, sensitive_features=group))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=400, help="simulated tables per line")
    args = parser.parse_args()
    print(f"| rows | groups | mean difference | share above {GATE} |\n|---|---|---|---|")
    for n, groups in CASES:
        rng = np.random.default_rng([n, groups])
        values = np.array([difference(n, groups, rng) for _ in range(args.tables)])
        print(f"| {n} | {groups} | {values.mean():.3f} | {(values > GATE).mean():.0%} |")
    print(f"\n{args.tables} tables per line, fairlearn {fairlearn.__version__}")


if __name__ == "__main__":
    main()
