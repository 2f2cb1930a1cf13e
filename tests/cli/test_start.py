"""How soon a command starts, and that an audit imports nothing that it does not use."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

#: Packages of extras and of tools of others: an audit of a CSV file needs none of them. pandas
#: itself imports pyarrow where it is installed.
UNUSED = [
    "IPython",
    "airflow",
    "catboost",
    "cryptography",
    "dagster",
    "dask",
    "distributed",
    "duckdb",
    "fairlearn",
    "ibis",
    "keras",
    "lightgbm",
    "matplotlib",
    "mlflow",
    "nflows",
    "onnx",
    "onnxruntime",
    "opentelemetry",
    "polars",
    "prometheus_client",
    "pyspark",
    "rpy2",
    "skops",
    "statsmodels",
    "torch",
    "typst",
    "xgboost",
]


def cpu_seconds(*command: str) -> float:
    """The least CPU time of five runs: what else the machine does only adds to it."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_help_takes_at_most_three_times_what_numpy_takes_to_import():
    numpy = cpu_seconds("-c", "import numpy")
    assert cpu_seconds("-m", "fairaudit_cli.main", "--help") <= 3 * numpy


@pytest.mark.parametrize("outcome", ["classes", "numbers"])
def test_an_audit_imports_nothing_that_it_does_not_use(tmp_path, outcome):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300) if outcome == "classes" else rng.normal(size=300)
    table = {"a": rng.normal(size=300), "y": y, "score": y + rng.normal(size=300)}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    line = ["test", "--data", str(tmp_path / "t.csv"), "--predictions", "score", "--outcome", "y"]
    line += ["--sensitive", "a", "--permutations", "99", "--report", str(tmp_path / "r.html")]
    script = (
        "import sys\nfrom fairaudit_cli.main import main\n"
        f"assert main({line!r}) in (0, 1, 3)\n"
        f"print(sorted(set({UNUSED!r}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr
