"""False claims about where: `python tests/validity/localisation.py --replications 1000`.

The prediction depends on age among the positives only (or, with a continuous outcome, on age
only); race depends on age and sex on the outcome. Whatever is claimed of race or sex beyond the
others, or of the other outcome class, is false. So is a band that misses the true curve. The joint
test comes first, as in an audit; `--passed` takes it as passed.
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
from fairaudit.data.table import AuditTable  # noqa: E402
from fairaudit.evidence.localization.locate import locate  # noqa: E402
from fairaudit.testing.choice_of_law import ChoiceOfLaw  # noqa: E402
from fairaudit.testing.core import run_test  # noqa: E402

COPIES = 199
FAMILIES = ("attribute", "subgroup", "curve")


def effect(age: np.ndarray) -> np.ndarray:
    return np.sin((age - 18) / 12)


def draw(setting: str, seed: int, n: int = 1000) -> AuditTable:
    rng = np.random.default_rng([seed, sorted(SETTINGS).index(setting)])
    age = rng.uniform(18, 70, n) if "real" in setting else rng.integers(18, 71, n)
    race = np.where(
        rng.random(n) < 1 / (1 + np.exp(-(age - 44) / 8)), "a", rng.choice(["b", "c"], n)
    )
    z = 0.03 * (age - 44) + rng.normal(size=n)
    y = z if "continuous" in setting else (z > 0).astype(int)
    female = rng.random(n) < 1 / (1 + np.exp(-y))
    u = np.asarray(y, dtype=float)
    if "nothing" not in setting:
        u = u + effect(age) * (1.0 if "continuous" in setting else y)
    u = u + rng.normal(size=n)
    if "labels" in setting:
        u = (u > 0.5).astype(int)
    frame = pd.DataFrame({"race": race, "sex": np.where(female, "f", "m"), "age": age})
    if "no numbers" in setting:
        # one attribute in three groups of age carries the effect
        frame["age"] = np.array(["young", "middle", "old"])[np.digitize(age, [35, 52])]
        u = y + 0.8 * ((frame.age == "old") & (y == 1)) + rng.normal(size=n)
    return AuditTable.of(u, frame, y)


SETTINGS = (
    "classes, whole ages",
    "classes, real ages",
    "classes, labels",
    "classes, no numbers",
    "classes, nothing",
    "continuous, real ages",
)


def replicate(setting: str, seed: int, passed: bool = False) -> dict[str, float]:
    """For each family whether a false claim was made, and which true ones were."""
    table = draw(setting, seed)
    permutations, choice = fa.Permutations(n=COPIES, seed=seed), ChoiceOfLaw()
    p = 1 / (COPIES + 1)
    if not passed:
        p = run_test(table, statistic="omnibus", choice=choice, permutations=permutations).p_value
    found = locate(
        table, p, alpha=0.05, permutations=permutations, choice=choice, progress=lambda *_: None
    )
    continuous = setting.startswith("continuous")
    mean = 0.0 if continuous else _mean_effect(table)
    result = dict.fromkeys((*FAMILIES, "age found", "subgroup found", "curve found"), 0.0)
    for claim in found.found:
        if claim.family == "attribute":
            if len(claim.attributes) == len(table.attributes):
                continue  # that is the joint test, which has an error of its own
            wrong = "age" not in claim.attributes or "nothing" in setting
        else:
            wrong = claim.outcome == "y_true = 0" or "nothing" in setting
        if wrong:
            result[claim.family] = 1.0
        else:
            name = claim.name if claim.family == "attribute" else claim.family
            result[f"{name} found"] = 1.0
    if (
        not continuous
        and "labels" not in setting
        and any(_misses(curve, setting, mean) for curve in found.curves)
    ):
        result["curve"] = 1.0
    result["joint test"] = float(p <= 0.05)
    result["any"] = max(result[family] for family in FAMILIES)
    return result


def _misses(curve, setting: str, mean: float) -> bool:
    """Whether the true curve leaves the band anywhere; groups have their age's curve here."""
    truth = np.zeros(len(curve.x))
    if curve.outcome == "y_true = 1" and "nothing" not in setting:
        truth = effect(np.array(curve.x)) - mean
    return bool((truth < np.array(curve.low)).any() or (truth > np.array(curve.high)).any())


def _mean_effect(table: AuditTable) -> float:
    """Among the positives of the table: the curve is the difference to their mean."""
    age = table.attributes[2].numeric
    return 0.0 if age is None else float(effect(age[table.outcome.codes == 1]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    parser.add_argument("--only", default="")
    parser.add_argument("--passed", action="store_true", help="take the joint test as passed")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    from joblib import Parallel, delayed

    columns = ["any", *FAMILIES, "joint test", "age found", "subgroup found", "curve found"]
    print(f"| setting | replications | any false claim | {' | '.join(columns[1:])} |")
    print("|---" * (len(columns) + 2) + "|", flush=True)
    for setting in SETTINGS:
        if args.only not in setting:
            continue
        runs = Parallel(n_jobs=args.jobs)(
            delayed(replicate)(setting, args.first + k, args.passed)
            for k in range(args.replications)
        )
        rates = " | ".join(f"{np.mean([run[name] for run in runs]):.3f}" for name in columns)
        print(f"| {setting} | {len(runs)} | {rates} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
