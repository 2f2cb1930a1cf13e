"""Is a collapsed or dominated model ever written with exit status 0? Many seeds of the demo.

    python benchmarks/remedy_seeds.py --seeds 200 --save seeds.jsonl

Every seed draws a table of the demo generator (600 to 3,000 rows) and settings: attributes, their
use at prediction, randomization, the chance that is asked for, the rows of the coming audit, the
goal and the method, with short training. The old model knows the features that give sex and age
away. Models that are written with exit status 0 are looked at again on 6,000 rows that nothing
has seen: collapsed beside plain training, or above the trivial mixture (a smaller loss at no
larger KPC; clearly so if the difference exceeds two standard errors). `--save` keeps what is
finished, and goes on there.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import tempfile  # noqa: E402
import warnings  # noqa: E402
from collections import Counter  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.auditing.findings import Verdict  # noqa: E402
from fairaudit.data.roles import Roles  # noqa: E402
from fairaudit.datasets import DEMO_FEATURES, load_demo  # noqa: E402
from fairaudit.remedy.collapse import collapse  # noqa: E402
from fairaudit.remedy.tradeoff import evaluate, mixture, scores_of  # noqa: E402

FRESH = 6_000
SHARES = tuple(np.linspace(0.05, 0.95, 10).round(2).tolist())


def draw_settings(seed: int) -> dict[str, Any]:
    """What a user might ask for."""
    rng = np.random.default_rng([seed, 200])
    sensitive = [("race", "sex", "age"), ("sex", "age"), ("sex", "age"), ("race", "sex")]
    rows = int(rng.choice([600, 1500, 3000]))
    settings: dict[str, Any] = {
        "rows": rows,
        "sensitive": sensitive[rng.integers(len(sensitive))],
        "use_sensitive": bool(rng.random() < 0.7),
        "randomize": bool(rng.random() < 0.9),
        "pass_probability": float(rng.choice([0.2, 0.5, 0.75])),
        "audit_rows": int(rows * rng.choice([0.2, 0.7])),
        "goal": "pass",
        "method": str(rng.choice(["search", "search", "search", "boosting", "derived"])),
    }
    if settings["method"] == "derived":
        settings["randomize"] = True
    if "age" not in settings["sensitive"] and rng.random() < 0.5:
        settings["goal"] = "certify kpc=0.1"  # with numbers there is no certificate
    return settings


def run_seed(seed: int) -> dict[str, Any]:
    from lightgbm import LGBMClassifier

    settings = draw_settings(seed)
    wanted = dict(settings)
    frame = load_demo(wanted.pop("rows"), seed=seed).assign(person=lambda f: np.arange(len(f)))
    before = load_demo(800, seed=10_000 + seed)
    features = list(DEMO_FEATURES)
    old = LGBMClassifier(n_estimators=20, num_leaves=8, verbose=-1, n_jobs=1)
    old.fit(before[features], before["repaid"])
    roles = Roles(sensitive=wanted.pop("sensitive"), outcome="repaid", ids="person")
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
    rows = load_demo(FRESH, seed=50_000 + seed).assign(person=np.arange(FRESH))
    names = list(roles.sensitive)
    new, plain = (scores_of(model, rows) for model in (result.model, result.plain))
    tables = [fa.AuditTable.of(scores, rows[names], rows["repaid"]) for scores in (new, plain)]
    outcome = tables[0].require_outcome()
    point = evaluate(new, outcome, tables[0].attributes)
    line = mixture(plain, outcome, tables[0].attributes, seed, shares=SHARES)
    better = line[(line["loss"] < point["loss"]) & (line["kpc"] <= max(point["kpc"], 0.0))]
    gain = 0.0 if better.empty else float(point["loss"] - better["loss"].min())
    differs = ((new >= 0.5) != (plain >= 0.5)).mean()  # rows where one errs and the other does not
    return {
        "collapsed on fresh rows": collapse(*tables),
        "dominated on fresh rows": not better.empty,
        "clearly": bool(gain > 2 * np.sqrt(differs / FRESH)),
        "gain of the mixture": gain,
        "loss": point["loss"],
        "kpc": point["kpc"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--save", default="seeds.jsonl")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    store = Path(args.save)
    runs = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    for seed in range(args.first + len(runs), args.first + args.seeds):
        runs.append(run_seed(seed))
        with store.open("a") as file:
            file.write(json.dumps(runs[-1]) + "\n")
    print(f"{len(runs)} seeds:", dict(Counter(run["status"] for run in runs)))
    good = [run for run in runs if run.get("exit 0") and run.get("written")]
    print(f"written with exit status 0: {len(good)}")
    print(f"  collapsed or dominated by the command's rows: {sum(run['bad here'] for run in good)}")
    lost = sum(run["collapsed on fresh rows"] is not None for run in good)
    beaten = sum(run["dominated on fresh rows"] for run in good)
    clearly = sum(run["clearly"] for run in good)
    print(f"  on {FRESH:,} fresh rows: {lost} collapsed, {beaten} dominated, {clearly} clearly so")


if __name__ == "__main__":
    main()
