"""Size and power with missing and uncertain attributes.

`python tests/validity/incomplete.py --replications 1000` prints a Markdown table: how often the
test of missingness and the imputed test reject at .05; and beside it, from the p-values of single
imputations, twice their mean (valid, weak) and the smallest (not valid).
"""

from __future__ import annotations

import argparse
import os
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.evidence.incompleteness.imputation import ImputedKPC, imputed_test  # noqa: E402
from fairaudit.permute.icp import ICP  # noqa: E402
from fairaudit.testing.choice_of_law import ChoiceOfLaw  # noqa: E402
from fairaudit.testing.core import run_test  # noqa: E402

COPIES, IMPUTATIONS, ROWS = 99, 10, 500
#: Name → (effect of the attribute, effect of the proxy, of the score on being missing).
SETTINGS = {
    "equalized odds": (0.0, 0.0, 0.0),
    "violation, missing by score": (0.8, 0.0, 1.0),
    "equalized odds, but the proxy is a feature": (0.0, 0.8, 0.0),
}


def replicate(setting: str, seed: int) -> tuple[bool, bool, bool, bool]:
    """Rejections: missingness, imputed, twice the mean, the smallest."""
    effect, proxy_effect, dependence = SETTINGS[setting]
    rng = np.random.default_rng([seed, list(SETTINGS).index(setting)])
    y = rng.integers(0, 2, ROWS)
    group = rng.random(ROWS) < 0.3 + 0.3 * y
    proxy = group + 0.7 * rng.normal(size=ROWS)  # a name or a place that tells of the group
    if proxy_effect:  # what the proxy tells beyond group and outcome enters the score
        score = y + proxy_effect * (proxy - group) + rng.normal(size=ROWS)
    else:
        score = y + effect * group + rng.normal(size=ROWS)
    odds = np.exp((proxy - 0.5) / 0.49)
    chances = pd.DataFrame({"p_1": odds / (1 + odds), "p_0": 1 / (1 + odds)})
    gone = rng.random(ROWS) < 1 / (1 + np.exp(1.5 - 0.5 * y - dependence * (score - y)))
    permutations, choice = fa.Permutations(n=COPIES, seed=seed), ChoiceOfLaw(ICP())
    table = fa.AuditTable.of(score, gone, y)
    missingness = run_test(table, statistic="kpc", choice=choice, permutations=permutations)
    table = fa.AuditTable.of(score, chances, y)
    test = imputed_test(table, "group", imputations=IMPUTATIONS, permutations=permutations)
    one_by_one = [ImputedKPC(range(k, k + 1), str(k)) for k in range(IMPUTATIONS)]
    single = run_test(table, statistic=one_by_one, choice=choice, permutations=permutations)
    p = list(single.parts.values())
    return missingness.p_value <= 0.05, test.significant, 2 * np.mean(p) <= 0.05, min(p) <= 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    from joblib import Parallel, delayed

    print("| setting | replications | missingness | imputed | twice the mean | smallest p |")
    print("|---|---|---|---|---|---|", flush=True)
    for setting in SETTINGS:
        runs = Parallel(n_jobs=args.jobs)(
            delayed(replicate)(setting, seed) for seed in range(args.replications)
        )
        rates = " | ".join(f"{rate:.3f}" for rate in np.mean(runs, axis=0))
        print(f"| {setting} | {len(runs)} | {rates} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
