"""One person of a masked group answers otherwise: no number of any command shows it finely.

What moves must be rounded: a multiple of .01, or a p-value, which is a count of copies. This finds
a number that nobody thought of, in fields that do not exist yet.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairaudit_cli import main as cli

#: What follows from p-values, copies and the clock, and not from sizes.
TOLD = re.compile(
    r"seconds|created|sha256|digest|\.when|\.head|path|command|verify|because|headline"
    r"|p_value|p_interval|p_adjusted|p_train|uniform|alarms|\.tried\.|fillings|table\.prediction"
    r"|witness_p"
)
COMMANDS = {
    "test": "test --predictions label --sensitive g --certify {size} --permutations 39",
    "crossed": "test --predictions label --sensitive g,s --pairs g+s --permutations 39",
    "metrics": "metrics --predictions label --sensitive g,s",
    "missing": "missing --predictions label --sensitive s,g --permutations 39",
    "compare": "compare --baseline models_of_test:f --candidate models_of_test:h --sensitive g",
    "models": "compare --models models_of_test:f --sensitive g --permutations 39",
    "monitor": "monitor --state S --predictions label --sensitive g --permutations 39",
}


def tables(kind: str) -> Iterator[pd.DataFrame]:
    """Two tables that differ in the answers for one person of a masked group."""
    rng = np.random.default_rng(3)
    n = 700
    g = rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.464, 0.006, 0.03])
    y = rng.integers(0, 2, n) if kind == "classes" else rng.normal(size=n).round(3)
    x = y * 0.5 + rng.random(n) * 0.6
    frame = pd.DataFrame({"g": g, "s": rng.choice(["m", "f"], n), "y": y, "x": x.round(3)})
    frame["x2"] = (y * 0.4 + rng.random(n) * 0.6).round(3)
    if kind == "classes":
        frame[["x", "x2"]] /= 1.1
    frame["label"] = (x > 0.5).astype(int) if kind == "classes" else frame.x
    frame.loc[frame.index[5:80], "s"] = None
    yield frame
    changed = frame.copy()
    person = changed.index[changed.g == "c"][0]
    for name in ("label", "x", "x2"):
        changed.loc[person, name] = round(1 - changed.loc[person, name], 3)
    yield changed


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from numbers(item, f"{path}[{place}]")
    elif not TOLD.search(path):
        yield path, value


def is_fine(value: Any) -> bool:
    """A number with digits that a rounded one does not have; three for evidence and losses."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or not (
        math.isclose(value * 100, round(value * 100), abs_tol=1e-9)
        or math.isclose(float(f"{value:.3g}"), value, rel_tol=1e-9)
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in COMMANDS
        for kind in ("classes", "numbers")
        if (name, kind) != ("missing", "numbers")  # slow: many fillings
    ],
)
def test_no_fine_number_follows_a_masked_person(
    name: str,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    source = "def f(t):\n    return t['x']\n\n\ndef h(t):\n    return t['x2']\n"
    (tmp_path / "models_of_test.py").write_text(source)
    size = "deo=2,kpc=0.5" if kind == "classes" else "prediction_gap=2"
    words = COMMANDS[name].format(size=size).split()
    records = []
    for frame in tables(kind):
        if name != "missing":
            frame["s"] = frame["s"].fillna("f")
        frame.to_csv("data.csv", index=False)
        Path("S").unlink(missing_ok=True)
        status = cli.main([*words, "--data", "data.csv", "--outcome", "y", "--json"])
        shown = capsys.readouterr()
        assert status in (0, 1, 3), shown.err
        records.append(dict(numbers(json.loads(shown.out))))
    before, after = records
    moved = {
        path: (before[path], after[path])
        for path in before.keys() & after.keys()  # a p-value may bring a claim, or take it away
        if before[path] != after[path] and None not in (before[path], after[path])
    }
    leaks = {path: pair for path, pair in moved.items() if any(map(is_fine, pair))}
    leaks.pop(".evidence", None)  # ten to the power of a rounded number
    for path, pair in list(leaks.items()):  # which comparisons are the clearest may change
        if re.search(r"portrait\.(contrasts|pairs)\[\d+\]\.people$", path) and not any(
            x % 10 for x in pair
        ):
            del leaks[path]
    assert not leaks
