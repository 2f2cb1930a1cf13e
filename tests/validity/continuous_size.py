"""Size of what is answered, with a continuous outcome: fair models of `fair_models.py`.

    python tests/validity/continuous_size.py --replications 1000 --out continuous_size.jsonl
    python tests/validity/continuous_size.py --only hard --test default statistic=features
    python tests/validity/continuous_size.py --classes --replications 10000 --copies 19

`--classes`: models of an outcome of classes instead. Prints a Markdown table. *size*: rejected at
.05 among the replications that are answered (not inconclusive). *law*: of the copies. CPU seconds
of one test. A run that was stopped goes on with what stands in the file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
from fair_models import FAIR_CLASS_MODELS, FAIR_MODELS  # noqa: E402
from replications import laws, parser, run, shares  # noqa: E402


def row(name: str, way: str, results: list[dict]) -> str:
    size, _, inconclusive = shares(results)
    seconds = np.mean([line["cpu"] for line in results])
    return (
        f"| {name} | {way} | {len(results)} | {size:.3f} | {inconclusive:.3f} | {laws(results)} | "
        f"{seconds:.2f} |"
    )


def main() -> None:
    made = parser(__doc__, replications=1000)
    made.add_argument("--classes", action="store_true")
    args = made.parse_args()
    print("| fair model | test | replications | size | inconclusive | law | CPU s |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, _, results in run(FAIR_CLASS_MODELS if args.classes else FAIR_MODELS, args):
        for way, found in results.items():
            print(row(name, way, found), flush=True)


if __name__ == "__main__":
    main()
