"""CPU time and memory of the test: copies with KPC, beside R's KPCgraph where R is there.

    FAIRAUDIT_DATA=<folder> python benchmarks/speed.py        # all lines
    python benchmarks/speed.py --only a,d

a  999 copies at n = 2,000, binary outcome, two binary attributes; KPCgraph per call and the ratio
b  999 copies of ACSIncome Colorado: sex, race (Black or not), age (needs FAIRAUDIT_DATA)
c  99 copies at n = 100,000, continuous outcome, a continuous and a binary attribute
d  99 copies at n = 1,000, 10,000, 100,000, binary outcome, race (5), sex, integer age

Each line is a fresh process on one thread. CPU is that of the test alone, without imports, data and
model; "peak" is the largest resident size of the whole process, "extra" what the test added to it.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import fairaudit as fa  # noqa: E402

R_CALLS = 3


def two_binary(n: int) -> tuple:
    rng = np.random.default_rng(n)
    y, sex, race = rng.integers(0, 2, (3, n))
    return rng.normal(size=n) + y + 0.1 * sex, y, pd.DataFrame({"sex": sex, "race": race})


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
    return rng.normal(size=n) + y, y, frame


def continuous(n: int) -> tuple:
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.integers(0, 2, n)
    y = 0.8 * a + 0.4 * b + rng.normal(size=n)
    return y + rng.normal(size=n), y, pd.DataFrame({"a": a, "b": b})


def colorado(n: int) -> tuple:
    """Scores of a logistic model without the sensitive attributes, for all rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folder = Path(os.environ["FAIRAUDIT_DATA"])
    frame = pd.read_csv(folder / "acsincome_co_features.csv")[:n]
    y = pd.read_csv(folder / "acsincome_co_labels.csv").iloc[:n, 0].to_numpy().astype(int)
    x = frame.drop(columns=["SEX", "RAC1P", "AGEP"])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    black = (frame["RAC1P"] == 2).astype(int)
    attributes = pd.DataFrame({"sex": frame["SEX"], "black": black, "age": frame["AGEP"]})
    return model.predict_proba(x)[:, 1], y, attributes


#: line → what it is, its table, copies, numbers of rows
LINES = {
    "a": ("binary y, 2 binary attributes", two_binary, 999, (2_000,)),
    "b": ("ACSIncome Colorado: sex, race, age", colorado, 999, (31_306,)),
    "c": ("continuous y, 1 continuous + 1 binary", continuous, 99, (100_000,)),
    "d": ("binary y, race (5), sex, integer age", people, 99, (1_000, 10_000, 100_000)),
}


def peak_mb() -> float:
    """Largest resident size of this process so far."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def test(data: tuple, copies: int) -> None:
    score, y, attributes = data
    fa.equalized_odds_test(
        score, y_true=y, sensitive=attributes, permutations=fa.Permutations(n=copies)
    )


def measure(line: str, n: int) -> dict[str, float]:
    """CPU seconds and memory of one test; runs in a process of its own."""
    _, make, copies, _ = LINES[line]
    data = make(n)
    import sklearn.ensemble  # noqa: F401  (a lazy import of large continuous tables)

    test(make(500), 19)  # imports are not what is measured
    before, start = peak_mb(), time.process_time()
    test(data, copies)
    return {"cpu": time.process_time() - start, "peak": peak_mb(), "extra": peak_mb() - before}


def measure_r(n: int) -> dict[str, float]:
    """CPU seconds of one call of R's KPCgraph, in a process of its own."""
    from fairaudit.metrics import _r_bridge

    state = _r_bridge.status()
    if state.kpc_version is None or state.rpy2_error is not None:
        return {}
    score, y, attributes = two_binary(n)

    def call(rows: slice) -> None:
        fa.metrics.kpc(
            score[rows], sensitive=attributes[rows], y_true=y[rows], encode="raw", backend="r"
        )

    call(slice(200))
    start = time.process_time()
    for _ in range(R_CALLS):
        call(slice(None))
    return {"cpu": (time.process_time() - start) / R_CALLS}


def fresh(*arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="a,b,c,d", help="comma-separated lines")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        line, n = args.measure[0], int(args.measure[1])
        print(json.dumps(measure_r(n) if line == "r" else measure(line, n)))
        return
    notes = []
    print("| line | table | rows | copies | CPU s | ms per copy | peak MB | extra MB | growth |")
    print("|---" * 9 + "|")
    for line in args.only.split(","):
        name, _, copies, sizes = LINES[line]
        if line == "b" and "FAIRAUDIT_DATA" not in os.environ:
            notes.append("b: skipped, FAIRAUDIT_DATA is not set")
            continue
        before = None
        for n in sizes:
            got = fresh(line, n)
            per_copy = got["cpu"] / copies
            growth = f"{got['cpu'] / before:.1f}-fold" if before else ""
            before = got["cpu"]
            print(
                f"| {line} | {name} | {n:,} | {copies} | {got['cpu']:.2f} | {1e3 * per_copy:.2f} "
                f"| {got['peak']:.0f} | {got['extra']:.0f} | {growth} |",
                flush=True,
            )
            if line == "a":
                peer = fresh("r", n)
                notes.append(
                    f"a: R's KPCgraph {peer['cpu']:.2f} CPU s per call, "
                    f"{peer['cpu'] / per_copy:,.0f} times ours per copy"
                    if peer
                    else "a: R with KPC and rpy2 is not there, no ratio"
                )
    print("\n" + "\n".join(notes))


if __name__ == "__main__":
    main()
