"""Processes stopped at random moments: no partial file under a final name, and the way back.

python tests/hostile/kills.py --kills 50
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def prepared(folder: Path, rows: int = 3000) -> None:
    """model.pkl and test.csv of the demo."""
    from fairaudit.datasets import demo_model, load_demo

    frame = load_demo(rows)
    (folder / "model.pkl").write_bytes(pickle.dumps(demo_model(frame[: rows // 2])))
    frame[rows // 2 :].to_csv(folder / "test.csv", index=False)


def audit(folder: Path, *more: str) -> list[str]:
    """`fairaudit test` with two reports and a checkpoint; a small batch makes many parts."""
    return [
        sys.executable,
        "-m",
        "fairaudit_cli.main",
        "test",
        "--model",
        "model.pkl",
        "--data",
        "test.csv",
        "--sensitive",
        "race,sex,age:continuous",
        "--permutations",
        "999",
        "--report",
        "audit.json",
        "--report",
        "audit.html",
        "--resume",
        "run.jsonl",
        *more,
    ]


def run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


def numbers(folder: Path) -> dict:
    """The record without what a clock and the words of the command change."""
    record = json.loads((folder / "audit.json").read_text())
    for name in ("created", "command"):
        record["capsule"].pop(name)
    for finding in record["findings"]:
        finding.pop("seconds")
    record.pop("seconds")
    record.pop("digest", None)  # over clock times too
    return record


def broken_files(folder: Path) -> list[str]:
    """Reports under their final names that are not whole."""
    found = []
    record, page = folder / "audit.json", folder / "audit.html"
    if record.exists():
        try:
            json.loads(record.read_text())
        except ValueError:
            found.append(record.name)
    if page.exists() and not page.read_text().rstrip().endswith("</html>"):
        found.append(page.name)
    return found


def stopped(folder: Path, seconds: float, how: int = signal.SIGKILL) -> int:
    """Start the audit, stop it after this time, and give its exit status."""
    process = subprocess.Popen(
        audit(folder),
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    process.send_signal(how)
    return process.wait()


def torture(
    seconds: float | None = None, part: slice = slice(None), kills: int = 50, seed: int = 0
) -> dict[str, int]:
    """Kill, look at the files, go on by --resume; counts of what was tried and what went wrong."""
    rng = random.Random(seed + (part.start or 0))
    end = None if seconds is None else time.monotonic() + seconds
    counts = {"tried": 0, "killed": 0, "resumed right": 0, "wrong": 0, "lost files": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder)
        start = time.monotonic()
        run(folder, audit(folder))
        whole, expected = time.monotonic() - start, numbers(folder)
        for _ in range(kills)[part]:
            if end is not None and time.monotonic() > end:
                break
            for old in ("audit.json", "audit.html", "run.jsonl"):
                (folder / old).unlink(missing_ok=True)
            counts["tried"] += 1
            counts["killed"] += stopped(folder, rng.uniform(0, whole)) == -signal.SIGKILL
            counts["lost files"] += bool(broken_files(folder))
            run(folder, audit(folder))
            right = not broken_files(folder) and numbers(folder) == expected
            counts["resumed right" if right else "wrong"] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for name, count in torture(kills=args.kills, seed=args.seed).items():
        print(f"{name}: {count}")


if __name__ == "__main__":
    main()
