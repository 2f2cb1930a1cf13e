"""Everything hostile and broken, through the real program: `python tests/hostile/torture.py`.

Sections are files beside this one with ``torture(seconds: float | None) -> dict[str, int]``; they
give counts by name, and the count ``wrong`` must be 0. A section that is not there is left out.

    python tests/hostile/torture.py [SECTION…] [--seconds N]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECTIONS = ("models", "confinement", "tables", "kills")


def main() -> int:
    there = [name for name in SECTIONS if (HERE / f"{name}.py").is_file()]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(there)}")
    parser.add_argument("--seconds", type=float, help="at most this long for each section")
    args = parser.parse_args()
    unknown = set(args.sections) - set(there)
    if unknown:
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(HERE))
    wrong = 0
    for name in args.sections or there:
        start = time.monotonic()
        counts = import_module(name).torture(args.seconds)
        print(f"{name} ({time.monotonic() - start:.0f} s)")
        for what, count in counts.items():
            print(f"  {count:>7,} {what}")
        wrong += counts.get("wrong", 0)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
