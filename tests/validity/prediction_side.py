"""Size and power of the law `prediction` beside ICP: `python tests/validity/prediction_side.py`.

Prints two Markdown tables, of the fair and of the unfair models with a continuous outcome. Three
statistics see the same copies of either law. *flagged*: the diagnostics call the copies
untrustworthy, whatever the p-value is; rates are over all replications, flagged or not. CPU seconds
are those of all three statistics together, with the diagnostics. A run that was stopped goes on
with what stands in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import zlib
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
from fair_models import FAIR_MODELS  # noqa: E402
from unfair_models import UNFAIR_MODELS  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.permute.icp import ICP  # noqa: E402
from fairaudit.permute.prediction_side import PredictionSide  # noqa: E402
from fairaudit.testing.choice_of_law import ChoiceOfLaw  # noqa: E402
from fairaudit.testing.core import run_test  # noqa: E402
from fairaudit.testing.statistic import statistic_named  # noqa: E402

STATISTICS = ("kpc", "features", "correlation")
LAWS = {"icp": ICP(), "prediction": PredictionSide()}


def replicate(name: str, model, law: str, copies: int, seed: int) -> dict:
    """p-values of one table, and whether the diagnostics object."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    prediction, y, frame, ids = model.draw(rng)
    table = fa.AuditTable.of(prediction, frame, y, ids=ids)
    start = time.process_time()
    result = run_test(
        table,
        statistic=STATISTICS,
        choice=ChoiceOfLaw(LAWS[law]),
        permutations=fa.Permutations(n=copies, seed=seed),
    )
    return {
        "model": name,
        "law": law,
        "seed": seed,
        "p": [result.parts[statistic] for statistic in STATISTICS],
        "flagged": result.inconclusive is not None,
        "cpu": round(time.process_time() - start, 4),
    }


def measure_cost(n: int, copies: int = 199) -> str:
    """CPU seconds of the law and of every statistic, with three attributes."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(n, 3))
    y = 0.8 * a[:, 0] + 0.4 * a[:, 1] + rng.normal(size=n)
    table = fa.AuditTable.of(y + rng.normal(size=n), a, y)
    times = [time.process_time()]
    fitted = PredictionSide().prepare(
        table.outcome, table.attributes, steps=50, seed=0, prediction=table.prediction.matrix()
    )
    times.append(time.process_time())
    rows = np.vstack([block for _, block in fitted.sampler.blocks(copies, 32)])
    times.append(time.process_time())
    for statistic in statistic_named(STATISTICS):
        statistic.bind_moved_prediction(table, seed=0)(rows)
        times.append(time.process_time())
    return f"| {n:,} | {' | '.join(f'{seconds:.2f}' for seconds in np.diff(times))} |"


def row(name: str, rows: int, law: str, found: list[dict]) -> str:
    rates = (np.array([line["p"] for line in found]) <= 0.05).mean(axis=0)
    flagged, seconds = (np.mean([line[key] for line in found]) for key in ("flagged", "cpu"))
    cells = [name, rows, law, len(found), *(f"{rate:.2f}" for rate in (*rates, flagged, seconds))]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--copies", type=int, default=99)
    parser.add_argument("--only", default="", help="models in whose name this pattern is found")
    parser.add_argument("--laws", nargs="+", default=list(LAWS))
    parser.add_argument("--out", default=os.devnull, help="file of JSON lines")
    parser.add_argument("--cost", action="store_true", help="of 199 copies, and no more")
    args = parser.parse_args()
    if args.cost:
        print(f"| n | fit | draw | {' | '.join(STATISTICS)} |\n{'|---' * 6}|")
        measure_cost(100)  # imports
        print("\n".join(measure_cost(n) for n in (500, 5_000, 20_000)))
        return
    known = {}
    if os.path.isfile(args.out):
        for line in map(json.loads, Path(args.out).read_text().splitlines()):
            known[line["model"], line["law"], line["seed"]] = line
    unfair = {k: model for k, model in UNFAIR_MODELS.items() if model.conditioning == "continuous"}
    for models in (FAIR_MODELS, unfair):
        print(f"\n| model | n | law | replications | {' | '.join(STATISTICS)} | flagged | CPU s |")
        print("|---" * 9 + "|")
        for name, law in ((name, law) for name in models for law in args.laws):
            if not re.search(args.only, name):
                continue
            found = []
            for seed in range(args.replications):
                if (name, law, seed) not in known:
                    line = replicate(name, models[name], law, args.copies, seed)
                    with open(args.out, "a") as out:
                        out.write(json.dumps(line) + "\n")
                    known[name, law, seed] = line
                found.append(known[name, law, seed])
            print(row(name, models[name].rows, law, found), flush=True)


if __name__ == "__main__":
    main()
