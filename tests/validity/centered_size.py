"""Bias and coverage of the size: `python tests/validity/centered_size.py --replications 1000`.

500 rows; outcome and prediction depend on the first of d attributes, the prediction beyond the
outcome with strength 0, 0.3 or 1. *KPC* and *size*: means over the tables, before and after
centering. *Covers*: how often the 95 % interval holds 0 (strength 0), or what the size is on
average (otherwise).
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from fairaudit.data.table import AuditTable  # noqa: E402
from fairaudit.metrics._kpc_centered import KPCCentered, kpc_centered_of_table  # noqa: E402

STRENGTHS = (0.0, 0.3, 1.0)


@dataclass(frozen=True)
class Setting:
    """What the outcome is, how many attributes of which kind, and what is odd."""

    outcome: str
    count: int
    kind: str = "numbers"
    odd: str = ""

    def __str__(self) -> str:
        odd = f", {self.odd}" if self.odd else ""
        return f"{self.outcome}; {self.count} {self.kind}{odd}"


SETTINGS = (
    *(Setting(outcome, d) for outcome in ("classes", "numbers") for d in (1, 5, 10)),
    Setting("classes", 2, "categories"),
    Setting("numbers", 2, "categories"),
    # what follows was written after everything was fixed
    Setting("classes", 5, odd="labels"),
    Setting("numbers", 5, odd="skewed and correlated"),
    Setting("numbers", 10, odd="a precise prediction"),
    Setting("whole numbers", 5, odd="many ties"),
    Setting("three classes", 10, odd="heavy tails"),
)


def draw(setting: Setting, strength: float, seed: int, n: int = 500) -> AuditTable:
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    a = rng.normal(size=(n, setting.count))
    if setting.odd == "heavy tails":
        a = rng.standard_t(3, size=a.shape)
    if "correlated" in setting.odd:
        a = np.exp(0.7 * a + 0.7 * rng.normal(size=(n, 1)))
    mean, sd = a[:, 0].mean(), a[:, 0].std()
    if setting.odd == "heavy tails":  # units of the law: a sample has one of its largest value
        mean, sd = 0.0, np.sqrt(3)
    if "correlated" in setting.odd:
        mean, sd = np.exp(0.49), np.sqrt(np.expm1(0.98) * np.exp(0.98))
    first = (a[:, 0] - mean) / sd
    if setting.kind == "categories":
        a = rng.integers(0, 3, a.shape).astype(str)
        first = (a[:, 0] == "1").astype(float)
    y = 0.5 * first + rng.normal(size=n)
    y = {
        "classes": (y > 0).astype(int),
        "numbers": y,
        "whole numbers": np.maximum(np.rint(3 * y), 0),
        "three classes": np.digitize(y, [-0.5, 0.5]),
    }[setting.outcome]
    spread = 0.2 if "precise" in setting.odd else 0.7
    score = y + strength * first + spread * rng.normal(size=n)
    if setting.odd == "labels":
        score = (score > 0.5).astype(int)
    kinds = {"y_true": "integer"} if setting.outcome == "whole numbers" else None
    return AuditTable.of(score, {f"a{k}": a[:, k] for k in range(setting.count)}, y, kinds=kinds)


def replicate(setting: Setting, strength: float, seed: int) -> KPCCentered:
    return kpc_centered_of_table(draw(setting, strength, seed))


def share_covering(sizes: list[KPCCentered], truth: float) -> float:
    return float(np.mean([size.low <= truth <= size.high for size in sizes]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    parser.add_argument("--only", default="", help="settings whose name holds this")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    from joblib import Parallel, delayed

    print("| outcome; attributes | strength | replications | KPC | size | covers | mean width |")
    print("|---" * 7 + "|", flush=True)
    for setting in SETTINGS:
        for strength in STRENGTHS if args.only in str(setting) else ():
            sizes = Parallel(n_jobs=args.jobs)(
                delayed(replicate)(setting, strength, args.first + k)
                for k in range(args.replications)
            )
            mean = float(np.mean([size.value for size in sizes]))
            raw = float(np.mean([size.raw for size in sizes]))
            width = float(np.mean([size.high - size.low for size in sizes]))
            covers = share_covering(sizes, mean if strength else 0.0)
            numbers = f"{raw:+.3f} | {mean:+.4f} | {covers:.3f} | {width:.3f}"
            print(f"| {setting} | {strength:g} | {len(sizes)} | {numbers} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
