"""FairICP and its rivals on the paper's data: loss, KPC, DEO, beside the paper's Table 1.

    FAIRAUDIT_DATA=<folder> python benchmarks/remedy.py --splits 10    # all tasks and methods
    FAIRAUDIT_DATA=<folder> python benchmarks/remedy.py --speed        # beside the authors' code
    ... --tasks compas,crimes_all --methods kernel,adversarial,fdl

60/40 splits (seeds 123 · k), the sensitive attributes are no features. A curve is trained per
split; `kernel` is FairICP with all its defaults, `kernel-ce` the same with cross-entropy as loss.
The networks have one hidden layer of 64; the base learner of GerryFair and Reduction is gradient
boosting, and `drawn` means labels drawn by their randomized rule. A row shows the frontier of the
method's mean curve at the paper's KPC (linear between points), and the trivial mixture (plain
training mixed at random with a constant) at the same KPC. KPC is the one with averaged ties; for
Crimes on raw columns, as in the paper.

`--jobs 2` trains splits side by side; `--save` keeps what is finished as JSON, and goes on there.
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

METHODS = "kernel,kernel-ce,adversarial,fdl,hgr,gerryfair,reduction"
MUS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
#: task → loader, paper's FairICP: (loss, sd, KPC, DEO)
TASKS = {
    "compas": (load_compas, (0.402, 0.02, 0.008, 0.471)),
    "adult": (load_adult, (0.159, 0.003, 0.010, 0.212)),
    "crimes_one": (lambda: load_crimes(races="one"), (0.386, 0.045, 0.016, None)),
    "crimes_all": (lambda: load_crimes(races="all"), (0.418, 0.047, 0.054, None)),
    "acsincome": (load_acsincome, (None, None, 0.025, None)),
}
#: needs categorical attributes
IMPOSSIBLE = {("acsincome", "reduction")}
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
        "loss": "cross_entropy",
        "learning_rate": 1e-3,
        "batch_size": 64 if regression else 256,
        "weight_decay": 1e-4,
    }
    made: dict = {
        "kernel": (icp(), "mu", MUS),
        "kernel-ce": (icp(loss="cross_entropy"), "mu", MUS),
        "adversarial": (icp(**game), "mu", MUS),
        "fdl": (fdl(**game), "mu", MUS),
        "faircp": (cp(**game), "mu", MUS),
    }
    if regression:
        made["hgr"] = (fa.HGRRegressor(), "lam", (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0))
        del made["kernel-ce"]
        return made
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    small = {"max_iter": 40, "max_leaf_nodes": 8, "early_stopping": False}
    made["hgr"] = (fa.HGRClassifier(), "lam", (0.0, 0.0375, 0.075, 0.125, 0.25, 0.5, 1.0, 1.5))
    made["gerryfair"] = (
        fa.GerryFairClassifier(estimator=HistGradientBoostingRegressor(**small), rounds=50),
        "gamma",
        (0.001, 0.005, 0.01, 0.03),
    )
    made["reduction"] = (
        fa.ReductionClassifier(estimator=HistGradientBoostingClassifier(**small)),
        "difference_bound",
        (0.005, 0.02, 0.05, 0.1, 0.2),
    )
    return made


def curve(task: str, method: str, seed: int) -> dict:
    """Loss, KPC and DEO of every point on one split, and the CPU seconds of training."""
    from sklearn.base import clone

    data, regression = TASKS[task][0](), task.startswith("crimes")
    estimator, parameter, values = methods(regression)[method]
    order = np.random.default_rng(123 * seed).permutation(len(data.y))
    cut = int(0.6 * len(data.y))
    train, test = order[:cut], order[cut:]
    x, y, a = data.X.iloc[train], data.y[train], data.sensitive.iloc[train]
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(estimator, "fit_path"):
            models = clone(estimator).fit_path(x, y, a, values)
        else:
            models = [
                clone(estimator).set_params(**{parameter: value}).fit(x, y, sensitive_features=a)
                for value in values
            ]
    seconds = time.process_time() - start
    (outcome,) = columns_from({"y": data.y[test]}, argument="y", outcome=True)
    attributes = columns_from(data.sensitive.iloc[test], argument="sensitive")
    encode = "raw" if regression else "standard"  # as the paper; the same for binary attributes
    held = data.X.iloc[test]
    found = {"seconds": seconds, "values": list(values)}
    found["points"] = [
        evaluate(scores_of(m, held), outcome, attributes, encode=encode) for m in models
    ]
    if hasattr(models[0], "_share"):  # a randomized rule: its draws, too
        found["drawn"] = [
            evaluate(m.predict(held, random_state=seed).astype(float), outcome, attributes)
            for m in models
        ]
    if values[0] == 0:  # the first model is plain training
        line = mixture(scores_of(models[0], held), outcome, attributes, seed, encode)
        found["mixture"] = line.to_dict("records")
    return found


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


def table(results: list[dict], which: str = "points") -> np.ndarray:
    """Splits × points × (loss, KPC, DEO)."""
    return np.array([[[p["loss"], p["kpc"], p["deo"]] for p in r[which]] for r in results])


def report(task: str, method: str, results: list[dict], which: str = "points") -> str:
    limit = TASKS[task][1][2]
    values = table(results, which)
    found = at_kpc(values.mean(axis=0), limit)
    seconds = np.mean([r["seconds"] / len(r["values"]) for r in results])
    mixed = "–"
    if "mixture" in results[0] and which == "points":
        there = at_kpc(table(results, "mixture").mean(axis=0), limit)
        mixed = "–" if there is None else f"{there[0]:.3f}"
    if found is None:
        smallest = values.mean(axis=0)[values.mean(axis=0)[:, 1].argmin()]
        size = f"at least {smallest[1]:.4f} (loss {smallest[0]:.3f}) | "
    else:
        near = np.abs(values.mean(axis=0)[:, 1] - found[1]).argmin()
        spread = values[:, near, 0].std(ddof=1) if len(values) > 1 else np.nan
        deo = "" if np.isnan(found[2]) else f"{found[2]:.3f}"
        size = f"{found[1]:.4f} | {deo}"
    loss = "not reached" if found is None else f"{found[0]:.3f} ({spread:.3f})"
    return (f"| {task} | {method} | {loss} | {size} | {mixed} | {seconds:.1f} | "
            f"{len(results)} |")  # fmt: skip


def quality(args: argparse.Namespace) -> None:
    from joblib import Parallel, delayed

    kept = json.loads(Path(args.save).read_text()) if args.save and Path(args.save).exists() else {}
    print(
        "| task | method | loss (sd) | KPC | DEO | loss of the mixture | CPU s per point | splits |"
    )
    print("|---" * 8 + "|", flush=True)
    for task in args.tasks.split(","):
        paper = TASKS[task][1]
        if paper[0] is not None:
            deo = "" if paper[3] is None else f"{paper[3]:.3f}"
            print(f"| {task} | paper: FairICP | {paper[0]:.3f} ({paper[1]:.3f}) | {paper[2]:.3f} | "
                  f"{deo} |  |  | 100 |", flush=True)  # fmt: skip
        for method in args.methods.split(","):
            if method not in methods(task.startswith("crimes")) or (task, method) in IMPOSSIBLE:
                continue
            name = f"{task} {method}"
            done = len(kept.get(name, []))
            more = Parallel(n_jobs=args.jobs)(
                delayed(curve)(task, method, seed) for seed in range(done + 1, args.splits + 1)
            )
            kept[name] = [*kept.get(name, []), *more]
            if args.save:
                Path(args.save).write_text(json.dumps(kept))
            results = kept[name][: args.splits]
            print(report(task, method, results), flush=True)
            if "drawn" in results[0]:
                print(report(task, f"{method}, drawn", results, "drawn"), flush=True)


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
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--save", help="all numbers as JSON")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--speed", action="store_true")
    args = parser.parse_args()
    if "FAIRAUDIT_DATA" not in os.environ:
        sys.exit("Set FAIRAUDIT_DATA to the folder of the data sets.")
    import torch

    torch.set_num_threads(1)
    speed() if args.speed else quality(args)


if __name__ == "__main__":
    main()
