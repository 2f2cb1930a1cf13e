"""False alarms and delay of `fairaudit monitor`: `python tests/validity/monitor.py`.

Prints two Markdown tables. *False alarms*: share of null streams in which an alarm sounds in any
of 50 batches, beside the share in which the test of some batch has p <= .05 (the naive repeated
test). *Delay*: batches from the start of a violation (batch 20) to the alarm. `--rules 1` is what
states of 0.1.0 go on with.
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
from fairaudit.monitoring.rules import CURRENT, RULES  # noqa: E402
from fairaudit.monitoring.strategies import Strategies  # noqa: E402

ALPHA, BATCHES, CHANGE = 0.05, 50, 20
#: Violations: the shift of the score (or its spread) in units of its noise.
VIOLATIONS = {
    "scores of one sex higher": 0.4,
    "scores of two of four sex-age groups higher": 0.4,
    "scores of one in six higher": 0.6,
    "higher among y = 1, lower among y = 0": 0.3,
    "spread of one sex larger": 0.8,
    "scores of one sex higher, half as much": 0.2,
    "scores of many groups different": 0.4,
    "scores fall with age": 0.2,
    "scores go up and down with age": 0.4,
    "scores of older women higher": 0.8,
    "scores of one sex higher among y = 1": 0.4,
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
            "scores of one sex higher, half as much": sex,
            "scores of many groups different": 0.5 * (race == 2)
            + 0.5 * sex
            - 0.4 * age
            + 0.4 * (race == 0) * age,
            "scores fall with age": -age,
            "scores go up and down with age": np.sin(3 * age),
            "scores of older women higher": (sex == 1) & (age > 1),
            "scores of one sex higher among y = 1": sex * y,
        }[violation]
    )
    frame = pd.DataFrame({"race": np.array(list("abc"))[race], "sex": sex, "age": 40 + 10 * age})
    return fa.AuditTable.of(score, frame, y)


def labels_null(rng, rows: int):
    """Labels of a model, three classes, six attributes of all kinds; nothing was tuned on it."""
    a = rng.normal(size=(rows, 3))
    region, tenure = rng.integers(0, 8, rows), rng.integers(0, 3, rows)
    flag = (rng.random(rows) < 0.1).astype(int)
    pull = np.column_stack([np.zeros(rows), 0.8 * a[:, 0] + flag, 0.5 * a[:, 1] - 0.4 * tenure])
    y = np.argmax(pull + rng.gumbel(size=(rows, 3)), axis=1)
    guess = np.where(rng.random(rows) < 0.7, y, rng.integers(0, 3, rows))
    frame = pd.DataFrame(
        {"a": np.exp(a[:, 0]), "b": a[:, 1], "c": a[:, 2] ** 3}
        | {"region": np.array(list("abcdefgh"))[region], "tenure": tenure, "flag": flag}
    )
    return fa.AuditTable.of(np.array(["no", "maybe", "yes"])[guess], frame, y)


def continuous_null(rng, rows: int):
    """The first continuous setting of `settings.py`, with its own number of rows."""
    setting = next(s for s in SETTINGS if s.name == "continuous y, normal; 1 binary")
    score, y, frame, _ = setting.draw(rng)
    return fa.AuditTable.of(score, frame, y)


def run_stream(
    seed: int,
    draw,
    batches: int,
    copies: int,
    *,
    until_alarm: bool = False,
    rules: int = CURRENT.version,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Log of the evidence and p-value after every batch, and since when at the first alarm."""
    rng = np.random.default_rng(seed)
    evidence, frame, earlier, start = None, None, [], 0
    sizes, p_values = [], []
    for number in range(1, batches + 1):
        table = draw(rng, number)
        frame = frame or Frame.of(table)
        drawn = fa.Permutations(n=copies, seed=1000 * seed + number)
        found = evidence_of(table, frame, earlier, permutations=drawn, rules=RULES[rules])
        weights = Strategies(frame, rules=RULES[rules]).weights
        evidence = evidence or Evidence(weights, ALPHA, RULES[rules])
        found.add_to(evidence)
        earlier.append(found.products)
        sizes.append(evidence.log_wealth)
        p_values.append(found.p_value)
        if start == 0 and evidence.alarmed:
            start = evidence.start()
            if until_alarm:
                break
    return np.array(sizes), np.array(p_values), start


def null_stream(
    seed: int, rows: int, copies: int, batches: int = BATCHES, kind: str = "classes", **options
):
    """Whether the monitor and the naive test give a false alarm."""
    draw = {"classes": lending, "labels": labels_null, "continuous": continuous_null}[kind]
    sizes, p, _ = run_stream(seed, lambda rng, _: draw(rng, rows), batches, copies, **options)
    return sizes.max() >= -np.log(ALPHA), p.min() <= ALPHA


def delay(
    seed: int,
    violation: str,
    size: float,
    rows: int,
    copies: int,
    change: int = CHANGE,
    batches: int | None = None,
    **options,
):
    """Batches from the change to the alarm (infinite: none), and the estimate of the start."""

    def draw(rng, number):
        return lending(rng, rows, violation, size if number >= change else 0.0)

    batches = change + 40 if batches is None else batches
    sizes, _, start = run_stream(seed, draw, batches, copies, until_alarm=True, **options)
    reached = np.flatnonzero(sizes >= -np.log(ALPHA))
    return (reached[0] + 2 - change if len(reached) else np.inf), start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first stream")
    parser.add_argument("--delays", type=int, default=100)
    parser.add_argument("--labels", type=int, default=300, help="streams of labels")
    parser.add_argument("--continuous", type=int, default=20, help="streams with a fitted q(y|a)")
    parser.add_argument("--change", type=int, default=CHANGE, help="batch of the violation")
    parser.add_argument("--violations", default="", help="only those with this in their name")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--copies", type=int, default=99)
    parser.add_argument("--rules", type=int, default=CURRENT.version, choices=RULES)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    from joblib import Parallel, delayed

    options = {"change": args.change, "rules": args.rules}
    run = Parallel(n_jobs=args.jobs, return_as="generator")
    print("| null streams of 50 batches | streams | monitor | naive repeated test |")
    print("|---|---|---|---|", flush=True)
    kinds = {"classes": args.streams, "labels": args.labels, "continuous": args.continuous}
    for kind, streams in kinds.items():
        if streams:
            done = []
            for one in run(
                delayed(null_stream)(seed, args.rows, args.copies, kind=kind, rules=args.rules)
                for seed in range(args.first, args.first + streams)
            ):
                done.append(one)
                if len(done) % 20 == 0:
                    print(len(done), *np.sum(done, axis=0), file=sys.stderr, flush=True)
            alarms, naive = np.mean(done, axis=0)
            print(f"| {kind} | {streams} | {alarms:.3f} | {naive:.3f} |", flush=True)
    print(
        f"\n| violation from batch {args.change} | size | delay: median | 90 % within "
        f"| no alarm within 40 | false alarm before | since: median (10 %, 90 %) |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    chosen = {name: size for name, size in VIOLATIONS.items() if args.violations in name}
    for violation, size in chosen.items() if args.delays else ():
        late_and_since = run(
            delayed(delay)(seed, violation, size, args.rows, args.copies, **options)
            for seed in range(args.first, args.first + args.delays)
        )
        found = np.array(list(late_and_since))
        early = found[:, 0] < 1
        found = found[~early]
        late, since = found[:, 0], found[np.isfinite(found[:, 0]), 1]
        low, middle, high = np.quantile(since, [0.1, 0.5, 0.9]) if len(since) else [np.nan] * 3
        ninety = np.quantile(late, 0.9, method="higher")
        delays = f"{np.median(late):.0f} | {ninety:.0f} | {np.isinf(late).mean():.2f}"
        delays += f" | {early.mean():.2f}"
        began = f"{middle:.0f} ({low:.0f}, {high:.0f})"
        print(f"| {violation} | {size} | {delays} | {began} |", flush=True)


if __name__ == "__main__":
    main()
