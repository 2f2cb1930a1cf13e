"""False alarms and delay of `fairaudit monitor`: `python tests/validity/monitor.py`.

Prints two Markdown tables. *False alarms*: share of null streams in which an alarm sounds in any
of 50 batches, beside the share in which the test of some batch has p <= .05 (the naive repeated
test). *Delay*: batches from the start of a violation (batch 20) to the alarm.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from settings import SETTINGS  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.monitoring.batch import evidence_of  # noqa: E402
from fairaudit.monitoring.direction import Frame  # noqa: E402
from fairaudit.monitoring.evidence import Evidence  # noqa: E402

ALPHA, BATCHES, CHANGE = 0.05, 50, 20
#: Violations: the shift of the score (or its spread) in units of its noise.
VIOLATIONS = {
    "scores of one sex higher": 0.4,
    "scores of two of four sex-age groups higher": 0.4,
    "scores of one in six higher": 0.6,
    "higher among y = 1, lower among y = 0": 0.3,
    "spread of one sex larger": 0.8,
}


def lending(rng, rows: int, violation: str = "", size: float = 0.0):
    """Scores, a binary outcome that depends on the attributes, and the attributes."""
    race, sex, age = rng.integers(0, 3, rows), rng.integers(0, 2, rows), rng.normal(size=rows)
    y = (rng.random(rows) < 1 / (1 + np.exp(-(0.5 * sex + 0.3 * age)))).astype(int)
    score = y + rng.normal(size=rows)
    score = (
        score
        + size
        * {
            "": 0.0,
            "scores of one sex higher": sex,
            "scores of two of four sex-age groups higher": (sex == (age > 0)) * 1.0,
            "scores of one in six higher": (race == 1) & (sex == 1),
            "higher among y = 1, lower among y = 0": sex * (2 * y - 1),
            "spread of one sex larger": sex * rng.normal(size=rows),
        }[violation]
    )
    frame = pd.DataFrame({"race": np.array(list("abc"))[race], "sex": sex, "age": 40 + 10 * age})
    return fa.AuditTable.of(score, frame, y)


def continuous_null(rng, rows: int):
    """The first continuous setting of `settings.py`, with its own number of rows."""
    setting = next(s for s in SETTINGS if s.name == "continuous y, normal; 1 binary")
    score, y, frame, _ = setting.draw(rng)
    return fa.AuditTable.of(score, frame, y)


def run_stream(
    seed: int, draw, batches: int, copies: int, *, until_alarm: bool = False
) -> tuple[np.ndarray, np.ndarray, int]:
    """Log of the evidence and p-value after every batch, and since when at the first alarm."""
    rng = np.random.default_rng(seed)
    evidence, frame, earlier, start = None, None, [], 0
    sizes, p_values = [], []
    for number in range(1, batches + 1):
        table = draw(rng, number)
        frame = frame or Frame.of(table)
        drawn = fa.Permutations(n=copies, seed=1000 * seed + number)
        found = evidence_of(table, frame, earlier, permutations=drawn)
        evidence = evidence or Evidence(len(found.log_e))
        evidence.add(found.log_e)
        earlier.append(found.products)
        sizes.append(evidence.log_wealth)
        p_values.append(found.p_value)
        if start == 0 and evidence.log_wealth >= -np.log(ALPHA):
            start = evidence.start()
            if until_alarm:
                break
    return np.array(sizes), np.array(p_values), start


def null_stream(seed: int, rows: int, copies: int, batches: int = BATCHES, kind: str = "classes"):
    """Whether the monitor and the naive test give a false alarm."""
    draw = lending if kind == "classes" else continuous_null
    sizes, p, _ = run_stream(seed, lambda rng, _: draw(rng, rows), batches, copies)
    return sizes.max() >= -np.log(ALPHA), p.min() <= ALPHA


def delay(
    seed: int,
    violation: str,
    size: float,
    rows: int,
    copies: int,
    change: int = CHANGE,
    batches: int = 60,
):
    """Batches from the change to the alarm (infinite: none), and the estimate of the start."""

    def draw(rng, number):
        return lending(rng, rows, violation, size if number >= change else 0.0)

    sizes, _, start = run_stream(seed, draw, batches, copies, until_alarm=True)
    reached = np.flatnonzero(sizes >= -np.log(ALPHA))
    return (reached[0] + 2 - change if len(reached) else np.inf), start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first stream")
    parser.add_argument("--delays", type=int, default=100)
    parser.add_argument("--continuous", type=int, default=20, help="streams with a fitted q(y|a)")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--copies", type=int, default=99)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=args.jobs, return_as="generator")
    print("| null streams of 50 batches | streams | monitor | naive repeated test |")
    print("|---|---|---|---|", flush=True)
    for kind, streams in (("classes", args.streams), ("continuous", args.continuous)):
        if streams:
            done = []
            for one in run(
                delayed(null_stream)(seed, args.rows, args.copies, kind=kind)
                for seed in range(args.first, args.first + streams)
            ):
                done.append(one)
                if len(done) % 20 == 0:
                    print(len(done), *np.sum(done, axis=0), file=sys.stderr, flush=True)
            alarms, naive = np.mean(done, axis=0)
            print(f"| {kind} | {streams} | {alarms:.3f} | {naive:.3f} |", flush=True)
    print(
        "\n| violation from batch 20 | size | delay: median | 90 % within | no alarm by batch 60 "
        "| since: median (10 %, 90 %) |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    for violation, size in VIOLATIONS.items() if args.delays else ():
        late_and_since = run(
            delayed(delay)(seed, violation, size, args.rows, args.copies)
            for seed in range(args.delays)
        )
        found = np.array(list(late_and_since))
        late, since = found[:, 0], found[np.isfinite(found[:, 0]), 1]
        low, middle, high = np.quantile(since, [0.1, 0.5, 0.9]) if len(since) else [np.nan] * 3
        ninety = np.quantile(late, 0.9, method="higher")
        delays = f"{np.median(late):.0f} | {ninety:.0f} | {np.isinf(late).mean():.2f}"
        began = f"{middle:.0f} ({low:.0f}, {high:.0f})"
        print(f"| {violation} | {size} | {delays} | {began} |", flush=True)


if __name__ == "__main__":
    main()
