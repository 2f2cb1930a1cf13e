"""Intervals and significance flags on models that satisfy equalized odds exactly.

    python benchmarks/error_bars.py --tables 20
    AEQUITAS_PYTHON=<python with aequitas> python benchmarks/error_bars.py --tables 20

Labels depend on the outcome (TPR 0.7, FPR 0.3, half of the rows positive) and on nothing else.
Race (its levels are equally frequent) and age band (4) are drawn at random. The table is Markdown.

fairlearn: does the 95 % bootstrap interval of the largest difference in TPR between races
(`MetricFrame(n_boot=100, ci_quantiles=[.025, .975]).difference_ci()`) contain 0? Aequitas: does
`check_significance` flag any TPR or FPR of a race or an age band at .05? Ours: do all simultaneous
intervals of TPR and FPR gaps of races contain 0; does the test of race and age band together
(999 copies) find a violation?
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd

CASES = ((500, 2), (500, 5), (1000, 5))
TPR, FPR = 0.7, 0.3


def draw(n: int, races: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([n, races, seed])
    y = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "race": np.char.add("r", rng.integers(0, races, n).astype(str)),
            "age": np.char.add("a", rng.integers(0, 4, n).astype(str)),
            "label_value": y,
            "score": (rng.random(n) < np.where(y == 1, TPR, FPR)).astype(int),
        }
    )


def fairlearn_contains_zero(frame: pd.DataFrame, seed: int) -> bool:
    from fairlearn.metrics import MetricFrame, true_positive_rate

    found = MetricFrame(
        metrics=true_positive_rate,
        y_true=frame["label_value"],
        y_pred=frame["score"],
        sensitive_features=frame["race"],
        n_boot=100,
        ci_quantiles=[0.025, 0.975],
        random_state=seed,
    ).difference_ci()
    return bool(found[0] <= 0 <= found[1])


def ours(frame: pd.DataFrame, seed: int) -> tuple[bool, bool]:
    import fairaudit as fa

    score, y = frame["score"], frame["label_value"]
    gaps = fa.gap_intervals(score, sensitive=frame[["race"]], y_true=y, seed=seed).gaps
    test = fa.equalized_odds_test(
        score, y_true=y, sensitive=frame[["race", "age"]], permutations=fa.Permutations(seed=seed)
    )
    return all(gap.low <= 0 <= gap.high for gap in gaps), test.p_value <= 0.05


def aequitas_flags(frame: pd.DataFrame) -> bool:
    from aequitas.bias import Bias
    from aequitas.group import Group

    counts, _ = Group().get_crosstabs(frame, attr_cols=["race", "age"])
    found = Bias().get_disparity_major_group(
        counts, original_df=frame, alpha=0.05, check_significance=True, mask_significance=True
    )
    return bool(found[["tpr_significance", "fpr_significance"]].fillna(False).to_numpy().any())


def _aequitas(tables: int) -> list[int] | None:
    """Flagged tables by case, in the environment that has Aequitas."""
    python = os.environ.get("AEQUITAS_PYTHON")
    if python is None:
        return None
    done = subprocess.run(
        [python, __file__, "--tables", str(tables), "--aequitas"],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--aequitas", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(args.tables)
    if args.aequitas:
        print()
        flagged = [sum(aequitas_flags(draw(n, races, s)) for s in seeds) for n, races in CASES]
        print(json.dumps(flagged))
        return
    peers = _aequitas(args.tables)
    heads = (
        "rows",
        "races",
        "fairlearn: interval of the TPR difference contains 0",
        "Aequitas: something flagged",
        "ours: all intervals contain 0",
        "ours: violation found",
    )
    print(f"| {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|")
    for k, (n, races) in enumerate(CASES):
        contained = covered = alarms = 0
        for seed in seeds:
            frame = draw(n, races, seed)
            contained += fairlearn_contains_zero(frame, seed)
            mine = ours(frame, seed)
            covered += mine[0]
            alarms += mine[1]
        other = "–" if peers is None else f"{peers[k]} of {args.tables}"
        print(
            f"| {n} | {races} | {contained} of {args.tables} | {other} | "
            f"{covered} of {args.tables} | {alarms} of {args.tables} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
