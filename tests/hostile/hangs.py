"""Files that do nothing forbidden, and never end: only the limits of the sandbox hold them.

    python tests/hostile/torture.py hangs

Regular expressions and loops of ONNX are what honest models have too, so
that no list of names refuses them. Each file is asked through the command with the limit of three
seconds, and by its own library without the allow-list.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from confinement import left_over
from genuine import saved
from models import Said, files_of, show
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from test_confinement import attack
from test_interruption import endless_loop
from unchecked import opener_of

from fairaudit.models.sandbox import Limits
from fairaudit_cli.main import main

__all__ = ["FILES", "end_in_time", "torture"]

SECONDS, GRACE = 3, 12  # the limit, and what starting and ending processes may take
NUMBERS = ["income", "debt", "amount"]
_SLOW = r"(?:a+)+c"  # on many letters a it tries all ways to divide them
_COMMAND = "test --data table.csv --sensitive sex --outcome y --permutations 19 --isolate 2GB,3s"


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=NUMBERS)
    frame["note"] = ["a" * 40 + "b" if i % 2 else "a b" for i in range(40)]
    return frame.assign(sex=["f", "m"] * 20, y=rng.integers(0, 2, 40))


def _reads_notes(vectorizer: Any) -> Any:
    """Honest when it is fitted, with another pattern when it is saved."""
    first = ColumnTransformer([("note", vectorizer, "note")])
    people = table().assign(note=["aa bb" if i % 2 else "aa" for i in range(40)])
    model = make_pipeline(first, LogisticRegression()).fit(people[["note"]], people.y)
    model[0].named_transformers_["note"].set_params(token_pattern=_SLOW)
    return model


_MADE: dict[str, Callable[[], Any]] = {
    "words of counts": lambda: _reads_notes(CountVectorizer()),
    "words of weights": lambda: _reads_notes(TfidfVectorizer()),
    "words of hashes": lambda: _reads_notes(HashingVectorizer(n_features=64)),
}
_LOOPS = {"loop of products": "Mul", "loop of powers": "Pow"}
FILES = [(name, form) for name in _MADE for form in ("pickle 5", "joblib packed", "skops")]
FILES += [(name, "onnx") for name in _LOOPS]


def make_file(name: str, form: str) -> tuple[str, bytes]:
    if form == "onnx":
        return "model.onnx", endless_loop(("income", "debt"), _LOOPS[name])
    file = saved(_MADE[name](), form)
    assert file is not None, (name, form)
    return file


def torture(seconds: float | None, part: slice = slice(None)) -> dict[str, int]:
    """Everything, or as much as the time allows; counts by name, `wrong` being the bad one."""
    end = time.monotonic() + (seconds if seconds is not None else 1e9)
    counts = dict.fromkeys(("tried", "ended by the limit", "without allow-list too", "wrong"), 0)
    for name, form in FILES[part]:
        if time.monotonic() > end:
            break
        counts["tried"] += 1
        show(f"hang {counts['tried']} of {len(FILES)}: {name} as {form}")
        wrong = end_in_time(name, form)
        counts["ended by the limit"] += "command" not in wrong
        counts["without allow-list too"] += "library" not in wrong
        if wrong:
            counts["wrong"] += 1
            print(f"WRONG: {name} as {form}: {wrong}", file=sys.stderr)
    return counts


def end_in_time(name: str, form: str) -> dict[str, str]:
    """Who was not ended by the limit in one line, or left something: nobody, as it should be."""
    file, data = make_file(name, form)
    wrong = {}
    with tempfile.TemporaryDirectory() as text:
        folder, people = Path(text), table()
        people.to_csv(folder / "table.csv", index=False)
        (folder / file).write_bytes(data)
        features = people[_columns_of(name)]
        for who in ("command", "library"):
            before, started = files_of(folder), time.monotonic()
            if who == "command":
                told = _run(folder, file)
            else:
                said = attack(
                    data, limits=Limits(2 * 2**30, SECONDS), opener=opener_of(file), table=features
                )
                told = said or "answered"
            late = time.monotonic() - started > SECONDS + GRACE
            left = files_of(folder) != before or bool(left_over())
            if "was stopped: it ran longer than 3 s" not in told or late or left:
                wrong[who] = f"{told[:200]!r}, late: {late}, left something: {left}"
    return wrong


def _columns_of(name: str) -> list[str]:
    return ["note"] if name.startswith("words") else NUMBERS[:2]


def _run(folder: Path, file: str) -> str:
    """What the command says, in one line; all of it where it says more."""
    out, err, back = io.StringIO(), io.StringIO(), os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([*_COMMAND.split(), "--model", file])
    finally:
        os.chdir(back)
    said = Said(status, out.getvalue(), err.getvalue())
    good = status == 2 and not said.out and said.err.count("\n") == 1
    return said.err if good else repr(said).replace("was stopped", "")
