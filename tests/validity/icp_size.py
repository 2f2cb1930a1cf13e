"""Size of inverse conditional permutation with density="auto" on the fair models.

Prints, for every fair model without ids: the share of tests with p ≤ .05 by statistic, the share
flagged as not trustworthy, the share that is rejected and not flagged, CPU seconds per test, and
the families that were chosen. `python tests/validity/icp_size.py 60 99` takes about half an hour.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter

import numpy as np
from fair_models import FAIR_MODELS

import fairaudit as fa

STATISTICS = ("features", "kpc")


def study(model, replications: int, copies: int) -> str:
    rejected, flagged, families, spent = [], [], Counter(), 0.0
    for seed in range(replications):
        prediction, y, frame, _ = model.draw(np.random.default_rng([seed, 31]))
        p_values = []
        for statistic in STATISTICS:
            start = time.process_time()
            result = fa.equalized_odds_test(
                prediction,
                y_true=y,
                sensitive=frame,
                statistic=statistic,
                permutations=fa.Permutations(n=copies, seed=seed),
            )
            spent += time.process_time() - start
            p_values.append(result.p_value)
        rejected.append(np.array(p_values) <= 0.05)
        flagged.append(not result.diagnostics.trustworthy)
        families[result.diagnostics.family] += 1
    rejected, flagged = np.array(rejected), np.array(flagged)
    unflagged = (rejected & ~flagged[:, None]).mean(axis=0)
    cells = [*rejected.mean(axis=0), flagged.mean(), *unflagged, spent / len(flagged) / 2]
    chosen = ", ".join(f"{name} {count}" for name, count in families.most_common(3))
    return " | ".join([*(f"{cell:.2f}" for cell in cells), chosen])


def main() -> None:
    replications, copies, *only = sys.argv[1:]
    warnings.simplefilter("ignore")
    print("fair model | features | kpc | flagged | features, unflagged | kpc, unflagged | CPU s")
    for name, model in FAIR_MODELS.items():
        people = model.draw(np.random.default_rng(0))[3] is not None
        if people or (only and not any(word in name for word in only)):
            continue
        print(f"{name} | {study(model, int(replications), int(copies))}", flush=True)


if __name__ == "__main__":
    main()
