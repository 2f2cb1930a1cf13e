"""An audit imports nothing that it does not use; how soon a command starts: benchmarks/start.py."""

from __future__ import annotations

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
