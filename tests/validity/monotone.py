"""The law `monotone`: `python tests/validity/monotone.py --replications 10000`.

Prints the tables of docs/laws/monotone.md. Size: 19 copies, for which the level .05 is attained
exactly where the law's worst case (a prediction that does not depend on the outcome) holds. Check:
how often the check of the assumption fails, for models that are monotone and for others. Power: 99
copies, beside pairs of neighbors and beside ICP with kpc, on unfair models that nothing here was
chosen by (`held_out`) and on the others. A null beyond the two of the specification has a fifth of
the replications, the check a tenth, power a twentieth, ICP half of that.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.permute.monotone import Monotone, check_monotone, get_pairs  # noqa: E402
from fairaudit.testing.ordered_pairs import OrderedPairs  # noqa: E402
from fairaudit.testing.p_value import PValue  # noqa: E402

__all__ = ["CHECKED", "NULLS", "get_p_value", "replicate"]

COPIES, POWER_COPIES, ROWS = 19, 99, 200


def draw_table(rng, n: int) -> tuple[np.ndarray, pd.DataFrame, np.ndarray]:
    sex, a = rng.random(n) < 0.4, rng.normal(size=(n, 2))
    y = 0.6 * sex + a[:, 0] * np.where(sex, 1.0, 0.5) + rng.normal(size=n)
    return y, pd.DataFrame(a, columns=["age", "height"]).assign(sex=sex), rng.normal(size=n)


def flat(rng, n: int = ROWS):
    y, frame, noise = draw_table(rng, n)
    return noise, y, frame


def steep(rng, n: int = ROWS):
    y, frame, noise = draw_table(rng, n)
    return y + 0.3 * noise, y, frame


def two_points(rng, n: int = ROWS):
    """Ordered in distribution, not by likelihood ratio: 0 or 2 below the median, 1 or 2 above."""
    y, frame, _ = draw_table(rng, n)
    return np.where(rng.random(n) < 0.5, 2.0, (y > np.median(y)).astype(float)), y, frame


def wave(rng, n: int = ROWS):
    y, frame, noise = draw_table(rng, n)
    return np.cos(y) + 0.1 * noise, y, frame


def falling(rng, n: int = ROWS):
    y, frame, noise = draw_table(rng, n)
    return noise - y, y, frame


def dip(rng, n: int = ROWS):
    """Rises, but for the middle quarter, where it falls."""
    y, frame, noise = draw_table(rng, n)
    rank = np.argsort(np.argsort(y)) / n
    return 4 * np.where(np.abs(rank - 0.5) < 0.125, 1 - rank, rank) + 0.5 * noise, y, frame


def steps(rng, n: int = ROWS):
    """Labels of a cut outcome."""
    y, frame, noise = draw_table(rng, n)
    return (y + noise > 0.5).astype(float), y, frame


NULLS: dict[str, Callable] = {
    "independent of the outcome (worst case)": flat,
    "strongly monotone": steep,
    "ordered, not by likelihood ratio": two_points,
}
CHECKED: dict[str, tuple[Callable, bool]] = {
    "independent of the outcome": (flat, True),
    "strongly monotone": (steep, True),
    "ordered, not by likelihood ratio": (two_points, True),
    "labels": (steps, True),
    "cos(y)": (wave, False),
    "falls everywhere": (falling, False),
    "falls in the middle quarter": (dip, False),
}


def get_p_value(u, y, frame, *, copies: int, seed: int, **settings) -> float:
    table = fa.AuditTable.of(u, frame, y)
    x = table.prediction.matrix()
    sampler = (
        Monotone(**settings)
        .prepare(table.require_outcome(), table.attributes, steps=1, seed=seed, prediction=x)
        .sampler
    )
    bound = OrderedPairs().bind_pairs(table, get_pairs(sampler), seed=seed)
    observed = bound(np.arange(len(table))[None, :])[0]
    return PValue.of(observed, bound(sampler.block(range(copies)))).value


def replicate(draw: Callable, seed: int) -> float:
    return get_p_value(*draw(np.random.default_rng([seed, 19])), copies=COPIES, seed=seed)


def print_sizes(replications: int) -> None:
    print("| null, n = 200 | replications | size at .05 | p ≤ .5 | CPU s |")
    print("|---|---|---|---|---|", flush=True)
    for number, (name, draw) in enumerate(NULLS.items()):
        count = replications if number < 2 else max(1, replications // 5)
        start = time.process_time()
        p = np.array([replicate(draw, seed) for seed in range(count)])
        seconds = (time.process_time() - start) / count
        shares = " | ".join(f"{(p <= level).mean():.4f}" for level in (0.05, 0.5))
        print(f"| {name} | {count} | {shares} | {seconds:.3f} |", flush=True)


def print_checks(replications: int) -> None:
    print("\n| model | monotone | check fails, n = 200 | n = 1,000 |")
    print("|---|---|---|---|", flush=True)
    for name, (draw, monotone) in CHECKED.items():
        shares = []
        for n in (200, 1_000):
            failed = 0
            for seed in range(replications):
                u, y, _ = draw(np.random.default_rng([seed, 23]), n)
                failed += check_monotone(u, y, seed=seed) <= 0.01
            shares.append(f"{failed / replications:.3f}")
        print(f"| {name} | {'yes' if monotone else 'no'} | {' | '.join(shares)} |", flush=True)


def compare(model, seed: int, with_icp: bool) -> tuple[float, float, float, float]:
    """Rejections by the law, by the law with pairs of neighbors and by ICP; whether checks fail."""
    from unittest.mock import patch

    from fairaudit.testing import diagnostics

    u, y, frame, _ = model.draw(np.random.default_rng([seed, 29]))
    ours = get_p_value(u, y, frame, copies=POWER_COPIES, seed=seed)
    near = get_p_value(u, y, frame, copies=POWER_COPIES, seed=seed, block=2)
    failed = check_monotone(np.asarray(u, dtype=float), y, seed=seed) <= 0.01
    icp = np.nan
    if with_icp:
        permutations = fa.Permutations(n=POWER_COPIES, seed=seed)
        with patch.object(diagnostics, "CHECKED_COPIES", 1):
            icp = fa.equalized_odds_test(
                u, y_true=y, sensitive=frame, permutations=permutations
            ).p_value
    return ours <= 0.05, near <= 0.05, icp <= 0.05 if with_icp else np.nan, failed


def print_powers(replications: int) -> None:
    from unfair_models import UNFAIR_MODELS

    print("\n| unfair model | n | held out | monotone | of neighbors | ICP, kpc | check fails |")
    print("|---|---|---|---|---|---|---|", flush=True)
    shares = []
    for model in UNFAIR_MODELS.values():
        if model.conditioning != "continuous" or "people" in model.name:
            continue
        with_icp = (replications + 1) // 2
        results = [compare(model, seed, seed < with_icp) for seed in range(replications)]
        shares.append(np.nanmean(np.array(results, dtype=float), axis=0))
        words = " | ".join(f"{share:.2f}" for share in shares[-1])
        held_out = "yes" if model.held_out else "no"
        print(f"| {model.name} | {model.rows} | {held_out} | {words} |", flush=True)
    words = " | ".join(f"{share:.2f}" for share in np.mean(shares, axis=0))
    print(f"| mean; {replications} replications | | | {words} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=10_000)
    parser.add_argument("--tables", nargs="+", default=["size", "check", "power"])
    args = parser.parse_args()
    if "size" in args.tables:
        print_sizes(args.replications)
    if "check" in args.tables:
        print_checks(max(1, args.replications // 10))
    if "power" in args.tables:
        print_powers(max(1, args.replications // 20))


if __name__ == "__main__":
    main()
