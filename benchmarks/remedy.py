"""FairICP and its rivals on the paper's data: loss, KPC, DEO, beside the paper's Table 1.

    FAIRAUDIT_DATA=<folder> python benchmarks/remedy.py --splits 10    # all tasks and methods
    FAIRAUDIT_DATA=<folder> python benchmarks/remedy.py --speed        # beside the authors' code
    ... --tasks compas,crimes_all --methods kernel,adversarial,fdl

60/40 splits (seeds 123 · k), the sensitive attributes are no features, one hidden layer of 64. A
curve is trained per split (classifiers with the kernel objective without a validation part). A
method's row shows the frontier of its mean curve at the paper's KPC (linear between points), and
the trivial mixture (plain training mixed at random with a constant) at the same KPC. KPC is the one
with averaged ties.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.columns import columns_from  # noqa: E402
from fairaudit.datasets import load_acsincome, load_adult, load_compas, load_crimes  # noqa: E402
from fairaudit.remedy.tradeoff import evaluate, mixture, scores_of  # noqa: E402

METHODS = "kernel,adversarial,fdl,faircp,hgr,gerryfair,reduction"
MUS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
#: task → loader, paper's FairICP: (loss, sd, KPC, DEO)
TASKS = {
    "compas": (load_compas, (0.402, 0.02, 0.008, 0.471)),
    "adult": (load_adult, (0.159, 0.003, 0.010, 0.212)),
    "crimes_one": (lambda: load_crimes(races="one"), (0.386, 0.045, 0.016, None)),
    "crimes_all": (lambda: load_crimes(races="all"), (0.418, 0.047, 0.054, None)),
    "acsincome": (load_acsincome, (None, None, 0.025, None)),
}
#: CPU seconds of the authors' code on COMPAS: a point, a curve of seven
AUTHORS = (48.2, 340.0)


def methods(regression: bool) -> dict:
    """Name → (estimator, parameter, values); values None: the whole curve in one pass."""
    icp, cp, fdl = (
        (fa.FairICPRegressor, fa.FairCPRegressor, fa.FDLRegressor)
        if regression
        else (fa.FairICPClassifier, fa.FairCPClassifier, fa.FDLClassifier)
    )
    game = {
        "objective": "adversarial",
        "learning_rate": 1e-3,
        "batch_size": 64 if regression else 256,
    }
    made: dict = {
        "kernel": (icp() if regression else icp(validation_fraction=0), "mu", None),
        "adversarial": (icp(**game), "mu", None),
        "fdl": (fdl(**game), "mu", None),
        "faircp": (cp(**game), "mu", None),
    }
    hgr = fa.HGRRegressor if regression else fa.HGRClassifier
    made["hgr"] = (hgr(), "lam", (0.25, 1.0, 4.0) if regression else (0.0375, 0.125, 0.5, 1.5))
    if not regression:
        made["gerryfair"] = (fa.GerryFairClassifier(), "gamma", (0.001, 0.01, 0.05))
        made["reduction"] = (fa.ReductionClassifier(), "difference_bound", (0.01, 0.05, 0.2))
    return made


def curve(data, estimator, parameter: str, values, seed: int) -> dict:
    """Loss, KPC and DEO of every point on one split, and the CPU seconds of training."""
    from sklearn.base import clone

    order = np.random.default_rng(123 * seed).permutation(len(data.y))
    cut = int(0.6 * len(data.y))
    train, test = order[:cut], order[cut:]
    x, y, a = data.X.iloc[train], data.y[train], data.sensitive.iloc[train]
    start = time.process_time()
    if values is None:
        models = clone(estimator).fit_path(x, y, a, MUS)
    else:
        models = [
            clone(estimator).set_params(**{parameter: value}).fit(x, y, sensitive_features=a)
            for value in values
        ]
    seconds = time.process_time() - start
    (outcome,) = columns_from({"y": data.y[test]}, argument="y", outcome=True)
    attributes = columns_from(data.sensitive.iloc[test], argument="sensitive")
    points = [evaluate(scores_of(m, data.X.iloc[test]), outcome, attributes) for m in models]
    line = []
    if values is None:  # the first model is plain training
        mixed = mixture(scores_of(models[0], data.X.iloc[test]), outcome, attributes, seed)
        line = mixed.to_dict("records")
    return {"points": points, "mixture": line, "seconds": seconds, "values": values or MUS}


def at_kpc(points: np.ndarray, limit: float) -> np.ndarray | None:
    """Loss, KPC, DEO where the frontier of the curve reaches this KPC (linear between points)."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    frontier = points[points[:, 1] <= np.minimum.accumulate(points[:, 1])]  # less KPC for more loss
    if frontier[-1, 1] > limit:
        return None
    k = int(np.argmax(frontier[:, 1] <= limit))
    if k == 0:
        return frontier[0]
    above, below = frontier[k - 1], frontier[k]
    share = (above[1] - limit) / (above[1] - below[1])
    return above + share * (below - above)


def table(results: list[dict]) -> np.ndarray:
    """Splits × points × (loss, KPC, DEO)."""
    return np.array([[[p["loss"], p["kpc"], p["deo"]] for p in r["points"]] for r in results])


def report(task: str, method: str, results: list[dict], limit: float) -> str:
    values = table(results)
    found = at_kpc(values.mean(axis=0), limit)
    seconds = np.mean([r["seconds"] for r in results])
    line = [r["mixture"] for r in results if r["mixture"]]
    mixed = "–"
    if line:
        rows = np.array([[[p["loss"], p["kpc"], p["deo"]] for p in one] for one in line]).mean(
            axis=0
        )
        there = at_kpc(rows, limit)
        mixed = "–" if there is None else f"{there[0]:.3f}"
    if found is None:
        smallest = values.mean(axis=0)[:, 1].min()
        return (f"| {task} | {method} | not reached (KPC ≥ {smallest:.3f}) |  |  | {mixed} | "
                f"{seconds:.1f} | {len(results)} |")  # fmt: skip
    near = np.abs(values.mean(axis=0)[:, 1] - found[1]).argmin()
    spread = values[:, near, 0].std(ddof=1) if len(values) > 1 else np.nan
    deo = "" if np.isnan(found[2]) else f"{found[2]:.3f}"
    return (f"| {task} | {method} | {found[0]:.3f} ({spread:.3f}) | {found[1]:.4f} | {deo} | "
            f"{mixed} | {seconds:.1f} | {len(results)} |")  # fmt: skip


def quality(args: argparse.Namespace) -> None:
    print(
        "| task | method | loss (sd) | KPC | DEO | loss of the mixture | CPU s per curve | splits |"
    )
    print("|---" * 8 + "|", flush=True)
    kept = {}
    for task in args.tasks.split(","):
        load, paper = TASKS[task]
        data = load()
        if paper[0] is not None:
            deo = "" if paper[3] is None else f"{paper[3]:.3f}"
            print(f"| {task} | paper: FairICP | {paper[0]:.3f} ({paper[1]:.3f}) | {paper[2]:.3f} | "
                  f"{deo} |  |  | 100 |", flush=True)  # fmt: skip
        for name, (estimator, parameter, values) in methods(task.startswith("crimes")).items():
            if name not in args.methods.split(","):
                continue
            results = []
            for seed in range(1, args.splits + 1):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results.append(curve(data, estimator, parameter, values, seed))
            kept[f"{task} {name}"] = results
            print(report(task, name, results, paper[2]), flush=True)
    if args.save:
        Path(args.save).write_text(json.dumps(kept))


def speed() -> None:
    data = load_compas()
    print("| COMPAS | CPU s | authors' code | ratio |")
    print("|---|---|---|---|")
    order = np.random.default_rng(123).permutation(len(data.y))[: int(0.6 * len(data.y))]
    part = data.X.iloc[order], data.y[order], data.sensitive.iloc[order]
    estimators = methods(regression=False)
    for name in ("adversarial", "kernel"):
        estimator = estimators[name][0]
        estimator.fit_path(*part, (0.5,))  # imports and caches
        for what, mus, theirs in (("point", (0.7,), AUTHORS[0]), ("curve", MUS, AUTHORS[1])):
            start = time.process_time()
            estimator.fit_path(*part, mus)
            spent = time.process_time() - start
            print(f"| {name}, one {what} | {spent:.1f} | {theirs:.0f} | {theirs / spent:.0f} |",
                  flush=True)  # fmt: skip
    data = load_adult()
    start = time.process_time()
    from fairaudit.permute.icp import ICP

    (outcome,) = columns_from(data.y[:27_132], argument="y", outcome=True)
    attributes = columns_from(data.sensitive.iloc[:27_132], argument="sensitive")
    sampler = ICP().prepare(outcome, attributes, steps=50, seed=0).sampler
    for epoch in range(20):
        sampler.block(range(epoch, epoch + 1))
    spent = time.process_time() - start
    print(f"| Adult, density and 20 copies | {spent:.2f} | 223 | {223 / spent:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument(
        "--methods", default="kernel,adversarial,fdl,faircp,hgr,gerryfair,reduction"
    )
    parser.add_argument("--save", help="all numbers as JSON")
    parser.add_argument("--speed", action="store_true")
    args = parser.parse_args()
    if "FAIRAUDIT_DATA" not in os.environ:
        sys.exit("Set FAIRAUDIT_DATA to the folder of the data sets.")
    import torch

    torch.set_num_threads(1)
    speed() if args.speed else quality(args)


if __name__ == "__main__":
    main()
