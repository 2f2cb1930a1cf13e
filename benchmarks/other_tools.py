"""What two other tools answer where docs/explanation/other-tools.md says that they mislead.

    PYTHON_OF_PEERS benchmarks/other_tools.py      # with fairlearn and fairpipe; neither needs us

Tables without chance: the counts of every group are given, so that each run prints the same. The
first has 500 different ages; the next two have two groups, an equalized-odds difference and a gate
at 0.1: 148 rows with a difference of 0.11, and 40,000 rows with one of 0.03.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd


def ages() -> str:
    """The difference that fairlearn finds between 500 people of 500 ages."""
    from fairlearn.metrics import equalized_odds_difference

    y = np.arange(500) % 2
    labels = np.arange(500) // 2 % 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        value = equalized_odds_difference(y, labels, sensitive_features=np.linspace(18, 80, 500))
    ours = [one for one in told if "fairlearn" in str(one.filename)]
    return f"difference {value:g}, warnings of fairlearn: {len(ours)}"


def table(rows: int, rate_f: float, rate_m: float) -> pd.DataFrame:
    """Two groups of the same size, half of each positive; true positive rates as given."""
    cell = rows // 4
    parts = []
    for sex, rate in (("f", rate_f), ("m", rate_m)):
        for y, share in ((1, rate), (0, 0.3)):
            labels = (np.arange(cell) < round(share * cell)).astype(int)
            parts.append(pd.DataFrame({"y": y, "label": labels, "sex": sex}))
    return pd.concat(parts, ignore_index=True)


def gate(frame: pd.DataFrame) -> str:
    """What fairpipe's command says of a table at a threshold of 0.1."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.to_csv(path, index=False)
        command = [str(Path(sys.executable).parent / "fairpipe"), "validate", "--csv", str(path)]
        words = ["--y-true", "y", "--y-pred", "label", "--sensitive", "sex"]
        words += ["--with-ci", "--threshold", "0.1"]
        metric = ["--metric", "equalized_odds_difference"]
        done = subprocess.run([*command, *words, *metric], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if re.search("equalized", line, re.I)]
    return f"exit status {done.returncode}: {' / '.join(lines) or done.stderr.strip()[-400:]}"


def main() -> None:
    print(f"fairlearn {version('fairlearn')}, 500 ages: {ages()}")
    for rows, f, m in ((148, 26 / 37, 22 / 37), (40_000, 0.70, 0.67)):
        print(f"fairpipe {version('fairpipe')}, {rows:,} rows: {gate(table(rows, f, m))}")


if __name__ == "__main__":
    main()
