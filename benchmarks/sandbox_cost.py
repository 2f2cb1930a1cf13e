"""What the sandbox costs: CPU seconds of one audit with it and without, all processes counted.

    python benchmarks/sandbox_cost.py [--runs 10] [--model logistic forest boosting xgboost …]

The command `fairaudit test` on 80 rows, alternately with `--no-sandbox` and as it is; user and
system time of the command and of all processes that it has started. The best of the runs is what
the program needs; the others had to share caches and cores with what else ran. Beside the
difference of the bests stands the median of the differences of neighboring runs.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

CODE = "import sys; from fairaudit_cli.main import main; sys.exit(main())"
WORDS = ["test", "--model", "model.pkl", "--data", "test.csv", "--sensitive", "sex"]


MODELS = {
    "logistic": ("sklearn.linear_model", "LogisticRegression"),
    "forest": ("sklearn.ensemble", "RandomForestClassifier"),
    "boosting": ("sklearn.ensemble", "HistGradientBoostingClassifier"),
    "xgboost": ("xgboost", "XGBClassifier"),
    "lightgbm": ("lightgbm", "LGBMClassifier"),
}


def fitted(kind: str, table: pd.DataFrame, y: Any) -> Any:
    module, name = MODELS[kind]
    return getattr(import_module(module), name)().fit(table, y)


def seconds(folder: Path, *more: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", CODE, *WORDS, *more]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the audit ended with status {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS))
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["income", "debt", "amount"])
    y = (table.income + rng.normal(size=80) > 0).astype(int)
    for kind in args.model:
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            people = table.assign(sex=rng.choice(["f", "m"], 80), y=y)
            people.to_csv(folder / "test.csv", index=False)
            (folder / "model.pkl").write_bytes(pickle.dumps(fitted(kind, table, y)))
            pairs = [(seconds(folder, "--no-sandbox"), seconds(folder)) for _ in range(args.runs)]
        without, confined = (min(times) for times in zip(*pairs, strict=True))
        middle = median(after - before for before, after in pairs)
        print(
            f"{kind}: {without:.2f} CPU s without, {confined:.2f} with the sandbox, "
            f"{confined - without:+.2f}; best of {args.runs}; median of differences {middle:+.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
