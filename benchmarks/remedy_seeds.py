"""Is a collapsed or dominated model ever written with exit status 0? Many seeds of the demo.

    python benchmarks/remedy_seeds.py --seeds 200 --save seeds.jsonl

Every seed draws a table of the demo generator (600 to 1,500 rows) and settings: attributes, their
use at prediction, randomization, the chance that is asked for, the rows of the coming audit, the
goal and the method, with short training. The old model knows the features that give sex and age
away; `older` is age in two classes, so that more can be repaired. Models that are written with exit
status 0 are looked at again on eight tables of 2,000 rows that nothing has seen: collapsed beside
plain training, or above the trivial mixture (a smaller loss at no larger KPC on average; clearly so
if both differences exceed two standard errors, over the tables). `--save` keeps what is finished,
and goes on there.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import tempfile  # noqa: E402
import warnings  # noqa: E402
from collections import Counter  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from saved_runs import SavedRuns  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.auditing.findings import Verdict  # noqa: E402
from fairaudit.data.roles import Roles  # noqa: E402
from fairaudit.datasets import DEMO_FEATURES, load_demo  # noqa: E402
from fairaudit.remedy.collapse import collapse  # noqa: E402
from fairaudit.remedy.tradeoff import evaluate, mixed, scores_of  # noqa: E402

FRESH, TABLES = 2_000, 8
HALF = 45  # years of age
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)


def draw_settings(seed: int) -> dict[str, Any]:
    """What a user might ask for."""
    rng = np.random.default_rng([seed, 200])
    sensitive = [("sex", "older"), ("sex", "older"), ("race", "sex", "older"), ("sex", "age")]
    rows = int(rng.choice([600, 1000, 1500]))
    method = str(rng.choice(["search", "search", "search", "derived", "derived", "boosting"]))
    settings: dict[str, Any] = {
        "rows": rows,
        "sensitive": sensitive[rng.integers(len(sensitive))],
        "use_sensitive": bool(rng.random() < 0.8),
        "randomize": bool(method == "derived" or rng.random() < 0.9),
        "pass_probability": float(rng.choice([0.2, 0.5, 0.75])),
        "audit_rows": int(rows * rng.choice([0.2, 0.7])),
        "goal": str(rng.choice(["pass", "pass", "pass", "kpc<=0.03", "loss<=0.28"])),
        "method": method,
    }
    if method == "boosting":
        settings |= {"mus": [0.0, 0.5, 0.8, 0.95], "steps": 40}
    if "age" not in settings["sensitive"] and rng.random() < 0.5:
        settings["goal"] = "certify kpc=0.1"  # with numbers there is no certificate
    return settings


def draw_rows(rows: int, seed: int, sensitive: tuple[str, ...]) -> pd.DataFrame:
    """Of the demo, with these attributes."""
    frame = load_demo(rows, seed=seed)
    frame = frame.assign(older=frame["age"] > HALF, person=np.arange(rows))
    return frame[[*DEMO_FEATURES, *sensitive, "repaid", "person"]]


def run_seed(seed: int) -> dict[str, Any]:
    from lightgbm import LGBMClassifier

    settings = draw_settings(seed)
    wanted = dict(settings)
    sensitive = tuple(wanted.pop("sensitive"))
    frame = draw_rows(wanted.pop("rows"), seed, sensitive)
    before = load_demo(800, seed=10_000 + seed)
    features = list(DEMO_FEATURES)
    old = LGBMClassifier(n_estimators=20, num_leaves=8, verbose=-1, n_jobs=1)
    old.fit(before[features], before["repaid"])
    roles = Roles(sensitive=sensitive, outcome="repaid", ids="person")
    chance = wanted.pop("pass_probability")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "fair.pkl"
        try:
            result = fa.repair(
                frame,
                roles,
                model=old,
                pass_probability=chance,
                seed=seed,
                permutations=199,
                out=out,
                **wanted,
            )
        except fa.InputError as error:  # exit status 2
            return {"seed": seed, "settings": settings, "status": "refused", "why": str(error)}
        written = out.exists()
    passes = result.verdict in (Verdict.NO_VIOLATION, Verdict.EQUIVALENT)
    record = {
        "seed": seed,
        "settings": settings,
        "status": str(result.outcome),
        "chance": result.chance,
        "exit 0": passes,
        "written": written,
    }
    if passes and written:
        chosen = result.curve[result.curve["chosen"]].iloc[0]
        own = result.collapsed is not None or bool(chosen["dominated"])
        record |= {"bad here": own, **look_again(result, roles, seed)}
    return record


def look_again(result: Any, roles: Roles, seed: int) -> dict[str, Any]:
    """On rows that nothing has seen."""
    fates, differences = [], []
    for number in range(TABLES):
        rows = draw_rows(FRESH, 50_000 + TABLES * seed + number, roles.sensitive)
        new, plain = (scores_of(model, rows) for model in (result.model, result.plain))
        names = list(roles.sensitive)
        tables = [fa.AuditTable.of(scores, rows[names], rows["repaid"]) for scores in (new, plain)]
        outcome, attributes = tables[0].require_outcome(), tables[0].attributes
        fates.append(collapse(*tables))
        rng = np.random.default_rng([seed, number])
        point = evaluate(new, outcome, attributes)
        line = [
            evaluate(mixed(plain, outcome, share, rng), outcome, attributes) for share in SHARES
        ]
        differences.append([[point[key] - at[key] for at in line] for key in ("loss", "kpc")])
    found = np.array(differences)  # table × (loss, kpc) × share
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(TABLES)
    return {
        "collapsed on fresh rows": sum(fate is not None for fate in fates) > TABLES / 2,
        "dominated on fresh rows": bool(((mean[0] > 0) & (mean[1] >= 0)).any()),
        "clearly": bool((mean > 2 * error).all(axis=0).any()),
        "differences": mean.round(4).tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--save", default="seeds.jsonl")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    saved = SavedRuns(args.save, ("seed",))
    for seed in range(args.first, args.first + args.seeds):
        saved.add((seed,), lambda seed=seed: [run_seed(seed)])
    runs = saved.records
    print(f"{len(runs)} seeds:", dict(Counter(run["status"] for run in runs)))
    good = [run for run in runs if run.get("exit 0") and run.get("written")]
    print(f"written with exit status 0: {len(good)}")
    print(f"  collapsed or dominated by the command's rows: {sum(run['bad here'] for run in good)}")
    lost = sum(run["collapsed on fresh rows"] for run in good)
    beaten = sum(run["dominated on fresh rows"] for run in good)
    clearly = sum(run["clearly"] for run in good)
    print(f"  on {TABLES} tables of {FRESH:,} fresh rows: {lost} collapsed", end="")
    print(f", {beaten} dominated, {clearly} clearly so")


if __name__ == "__main__":
    main()
