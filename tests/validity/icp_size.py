"""Size of inverse conditional permutation with density="auto" on the fair models.

Prints, for every fair model without ids: the share of tests with p ≤ .05 by statistic, the share
flagged as not trustworthy, the shares that are rejected and not flagged, CPU seconds for density,
copies and checks, and the families that were chosen. Arguments: replications, copies, and words
of the names to look at (all, if none).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter

import numpy as np
from fair_models import FAIR_MODELS

from fairaudit.data.table import AuditTable
from fairaudit.permute.icp import ICP
from fairaudit.testing.diagnostics import CopyCheck, see_enough
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import statistic_named

STATISTICS = (statistic_named("features")[0], KPCStatistic())


def ask(model, seed: int, copies: int):
    """p-values by statistic, the judgment on the copies, CPU seconds."""
    prediction, y, frame, _ = model.draw(np.random.default_rng([seed, 31]))
    table = AuditTable.of(prediction, frame, y)
    start = time.process_time()
    law = ICP("auto").prepare(
        table.outcome, table.attributes, steps=Permutations().steps, seed=seed
    )
    rows = law.sampler.block(range(copies))
    check = CopyCheck(table.outcome, table.attributes, law, seed)
    check.see(range(copies), rows)
    see_enough([check], law.sampler)
    trust = check.trust()
    spent = time.process_time() - start
    p_values = []
    for statistic in STATISTICS:
        bound = statistic.bind(table, within_outcome=False, seed=seed)
        values = np.concatenate([bound(np.arange(len(y))[None]), bound(rows)])
        p_values.append((1 + (values[1:] >= values[0] - 1e-12).sum()) / (copies + 1))
    return p_values, trust, spent


def study(model, replications: int, copies: int) -> str:
    answers = [ask(model, seed, copies) for seed in range(replications)]
    rejected = np.array([p_values for p_values, _, _ in answers]) <= 0.05
    flagged = np.array([not trust.trustworthy for _, trust, _ in answers])
    unflagged = (rejected & ~flagged[:, None]).mean(axis=0)
    spent = np.mean([seconds for _, _, seconds in answers])
    families = Counter(trust.family for _, trust, _ in answers)
    cells = [*rejected.mean(axis=0), flagged.mean(), *unflagged, spent]
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
