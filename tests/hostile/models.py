"""Torture of model loading: hostile files through the real command, honest files loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attacks import FEATURES, make
from attacks_surface import ATTACKS
from genuine import FORMS, MODELS, fitted, saved
from test_genuine import check_file

__all__ = ["load_all", "torture"]

_CODE = "import sys; from fairaudit_cli.main import main; sys.exit(main())"
_COMMAND = [
    "test",
    "--data",
    "table.csv",
    "--sensitive",
    "sex",
    "--outcome",
    "y",
    "--permutations",
    "19",
    "--model",
]


def torture(seconds: float | None) -> dict[str, int]:
    """Run everything, or as much as the time allows; counts by name, `wrong` being the bad one."""
    end = time.monotonic() + (seconds if seconds is not None else 1e9)
    counts = dict.fromkeys(
        (
            "attacks tried",
            "attacks refused",
            "side effects",
            "models tried",
            "models right",
            "models that skops cannot save",
            "wrong",
        ),
        0,
    )
    _attack_all(counts, end)
    load_all(counts, end)
    return counts


def _show(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<78.78}", end="", file=sys.stderr)


def _attack_all(counts: dict[str, int], end: float) -> None:
    for name in ATTACKS:
        if time.monotonic() > end:
            return
        with tempfile.TemporaryDirectory() as folder:
            refused, effects, said = _attack(name, Path(folder))
        counts["attacks tried"] += 1
        _show(f"attack {counts['attacks tried']} of {len(ATTACKS)}: {name}")
        counts["attacks refused"] += refused
        counts["side effects"] += effects
        if not refused or effects:
            counts["wrong"] += 1
            print(f"WRONG: attack {name!r}: {said!r}", file=sys.stderr)


def _attack(name: str, folder: Path) -> tuple[bool, int, str]:
    """Whether the command refused the file as it should, how many files it left, what it said."""
    rows = [f"{i % 7},{i % 5},{i % 3},{'fm'[i % 2]},{i // 2 % 2}" for i in range(40)]
    (folder / "table.csv").write_text("\n".join([",".join([*FEATURES, "sex", "y"]), *rows]))
    hostile = make(name, folder / "canary")
    (folder / hostile.name).write_bytes(hostile.data)
    for beside, content in hostile.beside.items():
        (folder / beside).write_text(content)
    before = set(os.listdir(folder))
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *_COMMAND, hostile.name],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    one_line = done.stderr.startswith("fairaudit: error: ") and done.stderr.count("\n") == 1
    refused = done.returncode == 2 and one_line and not done.stdout
    effects = len(set(os.listdir(folder)) - before)
    return refused, effects, f"{done.returncode}: {done.stderr[-300:]}"


def load_all(counts: dict[str, int], end: float) -> None:
    for name in MODELS:
        found = fitted(name)
        for form in FORMS if found is not None else ():
            if time.monotonic() > end:
                return
            model, table = found
            file = saved(model, form)
            if file is None:
                counts["models that skops cannot save"] += 1
                continue
            counts["models tried"] += 1
            _show(f"model {counts['models tried']}: {name} as {form}")
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / file[0]
                path.write_bytes(file[1])
                try:
                    check_file(path, model, table)
                except Exception as error:  # counted and shown
                    counts["wrong"] += 1
                    print(f"WRONG: {name} as {form}: {error!r}"[:400], file=sys.stderr)
                else:
                    counts["models right"] += 1
