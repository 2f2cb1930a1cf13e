"""Rejection rates under true nulls: `python tests/validity/size.py --replications 1000`.

Prints a Markdown table. One replication uses 19 copies, for which the level .05 is attained
exactly; a p-value of .05 is a false alarm. Replications run in two processes.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
from settings import SETTINGS, Setting  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.testing.permutation_result import TestResult  # noqa: E402

COPIES = 19
CHECKED = 100  # replications in which the diagnostics, dearer than the test, are run


def densities(setting: Setting) -> tuple[str, ...]:
    if setting.categorical:
        return ("exact",)
    # a density that cannot fit must be flagged: the normal one, where it is wrong
    return ("oracle", "auto", "ols") if setting.misfit else ("oracle", "auto")


def replicate(setting: Setting, density: str, seed: int) -> tuple[float, float]:
    """One p-value under the null, and whether the diagnostics object (NaN: not looked at)."""
    from unittest.mock import patch

    from fairaudit.testing import diagnostics

    checked = seed < CHECKED
    with patch.object(diagnostics, "CHECKED_COPIES", 199 if checked else 1):
        result = _result(setting, density, seed)
    return result.p_value, float(result.inconclusive is not None) if checked else np.nan


def _result(setting: Setting, density: str, seed: int) -> TestResult:
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    u, y, frame, truth = setting.draw(rng)
    permutations = fa.Permutations(n=COPIES, seed=seed)
    if density == "oracle":
        # The oracle reads the true location and scale of every row, carried as its attributes;
        # the statistic sees the real ones through `frame`.
        from fairaudit.permute.icp import ICP
        from fairaudit.testing.choice_of_law import ChoiceOfLaw
        from fairaudit.testing.core import run_test

        function, parameters = truth
        table = fa.AuditTable.of(u, frame, y)
        known = _Known(function, parameters)
        return run_test(
            table,
            statistic="kpc",
            choice=ChoiceOfLaw(ICP(known, folds=1)),
            permutations=permutations,
        )
    return fa.equalized_odds_test(
        u,
        y_true=y,
        sensitive=frame,
        statistic="kpc",
        density=density,
        law="icp",
        permutations=permutations,
    )


class _Known:
    """A density whose parameters are known row by row."""

    name = "oracle"

    def __init__(self, function, parameters) -> None:
        self.function, self.parameters = function, parameters

    def fit(self, y, a, seed):
        return self

    def pairs(self, y, a):
        from fairaudit.density.oracle import Oracle

        return Oracle(self.function).pairs(y, self.parameters)


def row(setting: Setting, density: str, results: np.ndarray, seconds: float) -> str:
    from scipy.stats import kstest

    p, flagged = results[:, 0], np.nanmean(results[:, 1])
    alarms = p <= 0.05
    uniform = ""
    if density != "auto":
        jitter = np.random.default_rng(0).random(len(p)) / (COPIES + 1)
        uniform = f"{kstest(p - jitter, 'uniform').pvalue:.2f}"
    return (
        f"| {setting.name} | {setting.n} | {density} | {len(p)} | {alarms.mean():.3f} | "
        f"{flagged:.3f} | {uniform} | {seconds / len(p):.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--only", default="", help="cells in which this pattern is found")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    from joblib import Parallel, delayed

    print(
        "| setting | n | copies by | replications | size at .05 | flagged | uniform (KS p) "
        "| CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    cells = [(setting, density) for setting in SETTINGS for density in densities(setting)]
    for setting, density in cells:
        if not re.search(args.only, f"{setting.name} {setting.n} {density}"):
            continue
        start = time.perf_counter()
        results = Parallel(n_jobs=args.jobs)(
            delayed(replicate)(setting, density, seed) for seed in range(args.replications)
        )
        wall = (time.perf_counter() - start) * args.jobs
        print(row(setting, density, np.array(results, dtype=float), wall), flush=True)


if __name__ == "__main__":
    main()
