"""Torture of model loading: hostile files through the real command, honest files in and out."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from attacks import FEATURES, make
from attacks_surface import ATTACKS
from genuine import FORMS, MODELS, fitted, saved
from test_genuine import check_confined, check_file

from fairaudit_cli.main import main

__all__ = ["files_of", "load_all", "show", "torture", "write_attack"]

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
_OWN_PROCESS = 50  # every so many files get a process of the command to themselves


class Said(NamedTuple):
    """What the command said about a file, and how it ended."""

    status: int
    out: str
    err: str

    @property
    def refused(self) -> bool:
        """One line about the file, before the system had to stop its process."""
        one_line = self.err.startswith("fairaudit: error: ") and self.err.count("\n") == 1
        return self.status == 2 and one_line and not self.out and "was stopped" not in self.err


def torture(seconds: float | None, part: slice = slice(None)) -> dict[str, int]:
    """Run everything, or as much as the time allows; counts by name, `wrong` being the bad one."""
    end = time.monotonic() + (seconds if seconds is not None else 1e9)
    counts = dict.fromkeys(
        (
            "attacks tried",
            "attacks refused by name",
            "side effects",
            "models tried",
            "models right",
            "models the same to the bit in the sandbox",
            "models that skops cannot save",
            "wrong",
        ),
        0,
    )
    _attack_all(counts, end, part)
    load_all(counts, end, part)
    return counts


def show(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<78.78}", end="", file=sys.stderr)


def _attack_all(counts: dict[str, int], end: float, part: slice) -> None:
    for number, name in enumerate(list(ATTACKS)[part]):
        if time.monotonic() > end:
            return
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            file = write_attack(name, folder)
            before = files_of(folder)
            said = _in_a_process(folder, file) if number % _OWN_PROCESS == 0 else _run(folder, file)
            effects = files_of(folder) != before
        counts["attacks tried"] += 1
        show(f"attack {counts['attacks tried']} of {len(ATTACKS)}: {name}")
        counts["attacks refused by name"] += said.refused
        counts["side effects"] += effects
        if not said.refused or effects:
            counts["wrong"] += 1
            print(f"WRONG: attack {name!r}: {said}"[:500], file=sys.stderr)


def write_attack(name: str, folder: Path) -> str:
    """Put the hostile file, what lies beside it and a table there; the name of the file."""
    rows = [f"{i % 7},{i % 5},{i % 3},{'fm'[i % 2]},{i // 2 % 2}" for i in range(40)]
    (folder / "table.csv").write_text("\n".join([",".join([*FEATURES, "sex", "y"]), *rows]))
    hostile = make(name, folder / "canary")
    (folder / hostile.name).write_bytes(hostile.data)
    for beside, content in hostile.beside.items():
        (folder / beside).write_text(content)
    return hostile.name


def files_of(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file there with its mode, size and time."""
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {str(path): (s.st_mode, s.st_size, s.st_mtime_ns) for path, s in found.items()}


def _in_a_process(folder: Path, file: str) -> Said:
    command = [sys.executable, "-c", _CODE, *_COMMAND, file]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    return Said(done.returncode, done.stdout, done.stderr)


def _run(folder: Path, file: str) -> Said:
    """The command in this process; the model gets one of its own in any case."""
    out, err, back = io.StringIO(), io.StringIO(), os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([*_COMMAND, file])
    finally:
        os.chdir(back)
    return Said(status, out.getvalue(), err.getvalue())


def load_all(counts: dict[str, int], end: float, part: slice = slice(None)) -> None:
    for name in list(MODELS)[part]:
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
            show(f"model {counts['models tried']}: {name} as {form}")
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / file[0]
                path.write_bytes(file[1])
                try:
                    check_file(path, model, table)
                    counts["models right"] += 1
                    check_confined(path, table)
                    counts["models the same to the bit in the sandbox"] += 1
                except Exception as error:  # counted and shown
                    counts["wrong"] += 1
                    print(f"WRONG: {name} as {form}: {error!r}"[:400], file=sys.stderr)
