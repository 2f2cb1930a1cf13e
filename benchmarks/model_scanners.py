"""fairaudit beside skops, picklescan, modelscan and fickling on the same model files, in one run.

    python -m venv scanners && scanners/bin/pip install skops picklescan modelscan fickling \
        typing_extensions scikit-learn pandas
    FAIRAUDIT_SCANNERS=scanners/bin/python python benchmarks/model_scanners.py

Every hostile file of `tests/hostile` and every honest one of `tests/hostile/genuine.py` is written
to a folder and shown to each tool: *refused* (an issue, an untrusted type, an error that stops the
load), *passed*, or *not read* (skipped, not of its kind, or an error that vouches for nothing).
The scanners open no file, so they can only judge names; fairaudit opens files in its sandbox.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ANSWERS = ("refused", "passed", "not read")
SECONDS, MEMORY = 30, 6 * 2**30


# ---------------------------------------------------------------- in the environment of the others


def by_picklescan(path: Path) -> str:
    from picklescan.scanner import scan_file_path

    found = scan_file_path(str(path))
    if found.issues_count:
        return "refused"
    return "not read" if found.scan_err or not found.globals else "passed"


def by_modelscan(path: Path) -> str:
    from modelscan.modelscan import ModelScan

    found = ModelScan().scan(path)
    if found["summary"]["total_issues"]:
        return "refused"
    read = found["summary"]["scanned"]["total_scanned"] and not found["errors"]
    return "passed" if read else "not read"


def by_fickling(path: Path) -> str:
    import fickling
    from fickling.fickle import PickleDecodeError

    try:
        return "passed" if fickling.is_likely_safe(str(path)) else "refused"
    except PickleDecodeError:
        return "not read"


def by_skops(path: Path) -> str:
    import skops.io

    if path.suffix != ".skops":
        return "not read"
    try:
        if skops.io.get_untrusted_types(file=path):
            return "refused"
        skops.io.load(path)
    except Exception:  # a file that it does not open
        return "refused"
    return "passed"


SCANNERS = {
    "skops": by_skops,
    "picklescan": by_picklescan,
    "modelscan": by_modelscan,
    "fickling": by_fickling,
}


def scan(folder: Path) -> None:
    """In the environment of the scanners: print what each says of every file, as JSON."""
    from importlib.metadata import version

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _stop)
    out, sys.stdout = sys.stdout, sys.stderr  # some print
    said: dict[str, dict[str, str]] = {}
    for name, judge in SCANNERS.items():
        own = said[f"{name} {version(name)}"] = {}
        for path in sorted(folder.rglob("model.*")):
            signal.alarm(SECONDS)
            try:
                own[str(path.relative_to(folder))] = judge(path)
            except BaseException:  # nothing that vouches for the file
                own[str(path.relative_to(folder))] = "not read"
            signal.alarm(0)
    json.dump(said, out)


def _stop(*_: Any) -> None:
    raise TimeoutError


# ---------------------------------------------------------------- in our own


def by_fairaudit(path: Path) -> str:
    from fairaudit.errors import FairAuditError
    from fairaudit.models import load_model
    from fairaudit.models.sandbox import Limits

    try:
        model = load_model(str(path), sandbox=Limits(MEMORY, SECONDS))
        model.model.close()
    except FairAuditError:
        return "refused"
    return "passed"


def write_files(folder: Path) -> None:
    from attacks_surface import ATTACKS
    from genuine import FORMS, MODELS, fitted, saved
    from models import write_attack

    for number, name in enumerate(ATTACKS):
        kind = "names" if name.startswith("call ") else "other"
        home = folder / kind / str(number)
        home.mkdir(parents=True)
        write_attack(name, home)
    for number, name in enumerate(MODELS):
        found = fitted(name)
        for form in FORMS if found is not None else ():
            file = saved(found[0], form)
            if file is not None:
                home = folder / "honest" / f"{number} {form}"
                home.mkdir(parents=True)
                (home / file[0]).write_bytes(file[1])


def main() -> int:
    other = os.environ.get("FAIRAUDIT_SCANNERS")
    if not other:
        print("skipped: FAIRAUDIT_SCANNERS names no Python that has the scanners")
        return 0
    from fairaudit import __version__

    sys.path.insert(0, str(HERE.parent / "tests" / "hostile"))
    from torture import import_once

    import_once()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        write_files(folder)
        command = [other, __file__, "--scan", text]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )
        said = json.loads(done.stdout)
        files = sorted(folder.rglob("model.*"))
        ours = {str(path.relative_to(folder)): by_fairaudit(path) for path in files}
        said = {f"fairaudit {__version__}": ours, **said}
    kinds = {"names": "call something by name", "other": "other attacks", "honest": "honest files"}
    totals = Counter(file.partition("/")[0] for file in ours)
    heads = [f"{told} ({totals[kind]})" for kind, told in kinds.items()]
    print("| " + " | ".join(["", *heads]) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for tool, answers in said.items():
        counts = Counter((file.partition("/")[0], answer) for file, answer in answers.items())
        row = [
            ", ".join(f"{counts[kind, what]} {what}" for what in ANSWERS if counts[kind, what])
            for kind in kinds
        ]
        print("| " + " | ".join([tool, *row]) + " |")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--scan"]:
        scan(Path(sys.argv[2]))
        sys.exit(0)
    sys.exit(main())
