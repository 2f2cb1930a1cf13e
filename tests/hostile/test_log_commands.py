"""Names of a stranger's table are no commands to a build log in what small commands print."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairaudit_cli.main import main

ORDERS = (
    "::add-mask::x",
    "##[group]x",
    "a\n::error::x",
    "b\u2028::debug::z",
    "c\x1b[2J",
    "##vso[x]",
)
_LINES = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def obeyed(text):
    """Lines that a runner or a terminal takes for a command."""
    return [
        line
        for line in _LINES.split(text)
        if line.lstrip().startswith("::") or re.search(r"##\w*\[", line) or "\x1b" in line
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table for each order, as names of numbers, which are put into bins, and as a level."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for number, order in enumerate(ORDERS):
        y = rng.integers(0, 2, 300)
        frame = pd.DataFrame({f"{order} score": y + rng.normal(size=300), "y": y})
        frame[f"{order} age"] = rng.uniform(20, 80, 300)
        frame["sex"] = np.where(y, order, "m")
        frame.to_parquet(f"{number}.parquet")
    return tmp_path


@pytest.mark.parametrize("number", range(len(ORDERS)))
def test_counts_print_no_commands(folder, number, capsys):
    """The line that says how many bins a column has was printed as it is."""
    order = ORDERS[number]
    words = ["counts", "--data", f"{number}.parquet", "--predictions", f"{order} score"]
    words += ["--sensitive", f'"{order} age",sex', "--outcome", "y"]
    for more in (["--out", "c.csv"], [], ["--sql"], ["--suppress", "10"]):
        status = main([*words, *more])
        printed = capsys.readouterr()
        assert status == 0 or "cannot be printed" in printed.err
        assert status == 0 or more != ["--out", "c.csv"]
        assert not obeyed(printed.out) and not obeyed(printed.err), more


@pytest.mark.parametrize("number", range(len(ORDERS)))
def test_init_prints_no_commands(folder, number, capsys):
    order = ORDERS[number]
    words = ["init", "--data", f"{number}.parquet", "--predictions", f"{order} score"]
    assert main([*words, "--sensitive", f'"{order} age",sex', "--outcome", "y"]) == 0
    written = Path("fairaudit.toml").read_text()
    Path("fairaudit.toml").unlink()
    assert main(["init", "--data", f"{number}.parquet"]) == 2  # which lists the columns
    printed = capsys.readouterr()
    assert not obeyed(printed.out) and not obeyed(printed.err)
    assert order.strip("\n")[:1] in written
