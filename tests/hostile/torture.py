"""Everything hostile and broken, through the real program: `python tests/hostile/torture.py`.

Sections are files beside this one with ``torture(seconds, part) -> dict[str, int]``; they give
counts by name, and the count ``wrong`` must be 0. A section that is not there is left out.

    python tests/hostile/torture.py [SECTION…] [--seconds N] [--part K/N] [--parts N --sums FILE]

With ``--part`` every N-th of the files is tried, beginning with the K-th. With ``--parts`` all
parts are, one after the other, that the file of sums lacks: after an interruption the same command
goes on there. Sums belong to one commit: the file refuses those of another.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from fairaudit.models.sandbox import client

HERE = Path(__file__).resolve().parent
SECTIONS = ("models", "confinement", "hangs", "tables", "kills")
LIBRARIES = ("skops.io", "xgboost", "lightgbm", "catboost", "onnxruntime")


def sums_of(file: Path) -> dict[str, Any]:
    """The counts of this commit so far, by section and part."""
    told = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    commit = told.stdout.strip()
    sums = json.loads(file.read_text()) if file.exists() else {"commit": commit, "parts": {}}
    if sums["commit"] != commit:
        raise SystemExit(f"{file} has the counts of commit {sums['commit']}, this is {commit}")
    return sums


def add_up(file: Path, section: str, part: str, counts: dict[str, int]) -> None:
    """Add the counts of a part to those of the others, and print how far that is."""
    sums = sums_of(file)
    sums["parts"].setdefault(section, {})[part] = counts
    file.write_text(json.dumps(sums, indent=1))
    parts = sums["parts"][section]
    commit = sums["commit"][:7]
    print(f"{section}: {len(parts)} of {part.partition('/')[2]} parts at commit {commit}")
    for what in counts:
        print(f"  {sum(some[what] for some in parts.values()):>7,} {what}", flush=True)


def import_once() -> None:
    """The process that starts those of models imports what they need, before the first of them.

    Each file still gets a process of its own, which is confined before it sees the file.
    """
    import sklearn

    client._COMMON = (*(f"sklearn.{name}" for name in sklearn.__all__), *LIBRARIES)


def main() -> int:
    there = [name for name in SECTIONS if (HERE / f"{name}.py").is_file()]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(there)}")
    parser.add_argument("--seconds", type=float, help="at most this long for each section")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every N-th, from the K-th")
    parser.add_argument("--parts", type=int, metavar="N", help="all parts that the sums lack")
    parser.add_argument("--sums", type=Path, metavar="FILE", help="counts of all parts together")
    args = parser.parse_args()
    if args.parts and not args.sums:
        parser.error("--parts needs --sums")
    unknown = set(args.sections) - set(there)
    if unknown:
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(HERE))
    import_once()
    wanted = [f"{k + 1}/{args.parts}" for k in range(args.parts)] if args.parts else [args.part]
    sections = args.sections or there
    wrong = 0
    for part, name in product(wanted, sections):
        if args.parts and part in sums_of(args.sums)["parts"].get(name, {}):
            continue
        number, of = map(int, part.split("/"))
        start = time.monotonic()
        counts = import_module(name).torture(args.seconds, slice(number - 1, None, of))
        print(f"{name} {part} ({time.monotonic() - start:.0f} s)")
        for what, count in counts.items():
            print(f"  {count:>7,} {what}")
        wrong += counts.get("wrong", 0)
        if args.sums is not None:
            add_up(args.sums, name, part, counts)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
