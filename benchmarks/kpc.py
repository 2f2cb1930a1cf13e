"""KPC: our CPU time and memory beside R's KPCgraph (where R is there) and plain O(n²) numpy.

    python benchmarks/kpc.py            # the table
    python benchmarks/kpc.py --quick    # without the million rows

Every number is CPU seconds of this process or of R inside it; ratios are peer / ours.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import fairaudit as fa  # noqa: E402


def continuous(n: int) -> tuple:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, 3))
    y = a[:, 0] + rng.normal(size=n)
    return y + 0.3 * a[:, 0] + rng.normal(size=n), a, y


def classes(n: int) -> tuple:
    rng = np.random.default_rng(n)
    y, sex, race = rng.integers(0, 2, (3, n))
    return rng.normal(size=n) + y + 0.3 * sex, np.column_stack([sex, race]), y


def people(n: int) -> tuple:
    rng = np.random.default_rng(n)
    frame = pd.DataFrame(
        {
            "race": rng.choice(list("abcde"), n),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
        }
    )
    y = rng.integers(0, 2, n)
    return rng.normal(size=n) + y, frame, y


def cpu(call, repeat: int) -> float:
    """Smallest CPU time of a few calls."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def peak_mb() -> float:
    """Largest resident size of this process (a child's ru_maxrss would count its parent's)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def naive(u, a, y):
    n = len(u)
    gap = np.abs(u[:, None] - u)
    kernel = np.exp(-((gap / np.median(gap[np.triu_indices(n, 1)])) ** 2) / 2)

    def mean_over_nearest(x):
        distance = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
        np.fill_diagonal(distance, np.inf)
        tied = distance == distance.min(axis=1, keepdims=True)
        return ((kernel * tied).sum(axis=1) / tied.sum(axis=1)).mean()

    alone, both = mean_over_nearest(y[:, None]), mean_over_nearest(np.column_stack([y, a]))
    return (both - alone) / (1 - alone)


def peers() -> dict:
    from fairaudit.metrics import _r_bridge

    state = _r_bridge.status()
    found = {"numpy O(n²)": naive}
    if state.kpc_version and state.rpy2_error is None:
        found["R KPCgraph"] = lambda u, a, y: float(
            fa.metrics.kpc(u, sensitive=a, y_true=y, encode="raw", backend="r")
        )
    return found


def own(u, a, y, **options) -> float:
    return float(fa.metrics.kpc(u, sensitive=a, y_true=y, **options))


def against_peers() -> None:
    others = peers()
    print(f"{'rows':>9}  {'data':<11} {'ours s':>8}  peer")
    for n in (1000, 4000, 8000):
        for make in (continuous, classes):
            u, a, y = make(n)
            own(u, a, y, encode="raw")
            ours = cpu(lambda d=(u, a, y): own(*d, encode="raw"), 5)
            cells = []
            for name, peer in others.items():
                if name.startswith("numpy") and n > 4000:
                    continue
                theirs = cpu(lambda p=peer, d=(u, a, y): p(*d), 1)
                cells.append(f"{name} {theirs:.2f} s, ratio {theirs / ours:,.0f}")
            print(f"{n:>9,}  {make.__name__:<11} {ours:>8.4f}  {'; '.join(cells)}")


def at_scale() -> None:
    print(
        f"\n{'rows':>9}  {'CPU s':>7}  {'peak MB':>8}   race (5), sex, integer age; binary outcome"
    )
    before = None
    for n in (10_000, 100_000, 1_000_000):
        out = subprocess.run(
            [sys.executable, __file__, "--rows", str(n)], capture_output=True, text=True, check=True
        ).stdout.split()
        seconds, peak = float(out[0]), float(out[1])
        growth = f"  {seconds / before:.1f}-fold" if before else ""
        print(f"{n:>9,}  {seconds:>7.2f}  {peak:>8.0f}{growth}")
        before = seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rows:
        data = people(args.rows)
        own(*people(100))  # imports are not what is measured
        seconds = cpu(lambda: own(*data), 1)
        print(seconds, peak_mb())
        return
    against_peers()
    if not args.quick:
        at_scale()


if __name__ == "__main__":
    main()
