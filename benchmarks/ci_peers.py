"""Our test beside other tests of conditional independence: size, power, CPU time, memory.

    python benchmarks/ci_peers.py --mode rates --reps 200    # n = 500, level .05
    python benchmarks/ci_peers.py --mode timing              # n = 500, 5,000, 20,000
    python benchmarks/ci_peers.py --mode models --tests KCI,RCIT,RCoT,GCM,PCM --out peers.jsonl
    PEERS_PYTHON=<an interpreter that has the peers> python benchmarks/ci_peers.py

A ~ N(0, I₃), Y = 0.8 A₁ + 0.4 A₂ + N(0,1), Yhat = Y + N(0,1) (null); + 0.3 A₁ (alt);
+ 0.3 (A₁² − 1) (alt_sq). null_mixed: A₂ binary, A₃ of four levels. null_nl: Y ~ N(0,1),
A₁ = 0.8 (Y² − 1) + N(0,1), Yhat = Y + 0.5 Y² + N(0,1). Everybody gets the same tables, one thread,
199 copies, default settings, and a fresh process for each test (rates) or each cell (timing);
peers that cannot be imported are listed as absent. Output is Markdown.

models: the fair and unfair models of tests/validity at their own sizes, for the peers; ours are run
by continuous_size.py and gate_power.py there. `--only '^unfair: shift'`: those with this pattern in
kind and name. The file keeps every p-value, and what it has is not computed again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import peers

SIZES = (500, 5_000, 20_000)
WORKER = str(Path(__file__).with_name("peers.py"))
#: rows of `rates` that one run of the combination answers, by the names of its parts
PARTS = {"ours kpc": "kpc", "ours features": "features"}
OWN = 3  # calls per scenario that measure such a row's CPU, and check its p-values


def worker(test: str, timeout: float, **options: object) -> tuple[list[dict], str]:
    """Lines of a fresh process, and why there are not more."""
    python = sys.executable if test in peers.OURS else os.environ.get("PEERS_PYTHON")
    command = [python or sys.executable, WORKER, test]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, errors = process.communicate(timeout=timeout)
            last = (errors.strip().splitlines() or [""])[-1]
            why = f"failed: {last[:80]}" if process.returncode else ""
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            why = f"> {timeout:.0f} s wall"
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if lines and "absent" in lines[0]:
        return [], "absent"
    return lines, why


def share(values: list[bool]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "–"


def rates(tests: list[str], reps: int, cpu: float, timeout: float) -> None:
    rows: dict[str, dict[str, list]] = {}
    seconds: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    for test in tests:
        shared = PARTS.get(test) if "ours max" in rows else None
        lines, notes[test] = worker(
            test,
            timeout,
            reps=min(OWN, reps) if shared else reps,
            cpu=cpu if test in peers.PEERS else "inf",
        )
        rows[test] = {line["scenario"]: line["answers"] for line in lines}
        seconds[test] = [line["cpu"] for line in lines]
        if shared:
            own = rows[test]
            rows[test] = {
                scenario: [(parts[shared], flagged, {}) for _, flagged, parts in answers]
                for scenario, answers in rows["ours max"].items()
            }
            for scenario, answers in own.items():
                again = [answer[0] for answer in rows[test][scenario][: len(answers)]]
                if again != [answer[0] for answer in answers]:
                    notes[test] = f"{test}: other p-values alone than in the combination"
                    print(notes[test], file=sys.stderr)
        print(f"{test}: done", file=sys.stderr, flush=True)

    order = [test for test in (*peers.OURS, *peers.PEERS) if test in rows]
    print(f"Share of p ≤ {peers.LEVEL} at n = 500 (replications)\n")
    print(f"| test | {' | '.join(peers.SCENARIOS)} | CPU s per test |")
    print("|---" * (len(peers.SCENARIOS) + 2) + "|")
    for test in order:
        cells = []
        for scenario in peers.SCENARIOS:
            answers = rows[test].get(scenario, [])
            rejected = [answer[0] <= peers.LEVEL for answer in answers]
            cells.append(f"{share(rejected)} ({len(answers)})" if answers else notes[test] or "–")
        cost = f"{sum(seconds[test]) / len(seconds[test]):.2f}" if seconds[test] else "–"
        print(f"| {test} | {' | '.join(cells)} | {cost} |")
    print("\nOurs: share flagged by the diagnostics; share rejected without a flag\n")
    print(f"| test | {' | '.join(peers.SCENARIOS)} |")
    print("|---" * (len(peers.SCENARIOS) + 1) + "|")
    for test in (test for test in order if test in peers.OURS):
        cells = [
            f"{share([flag for _, flag, _ in answers])}; "
            f"{share([p <= peers.LEVEL and not flag for p, flag, _ in answers])}"
            for answers in (rows[test].get(scenario, []) for scenario in peers.SCENARIOS)
        ]
        print(f"| {test} | {' | '.join(cells)} |")


def timing(tests: list[str], timeout: float) -> None:
    print("One test of alt: CPU seconds, and MB over the imported, warmed-up process\n")
    print(f"| test | {' | '.join(f'n = {n:,}' for n in SIZES)} |")
    print("|---" * (len(SIZES) + 1) + "|")
    for test in tests:
        cells: list[str] = []
        for n in SIZES:
            lines, why = worker(test, timeout, n=n, scenarios="alt")
            if not lines:
                cells.append(why)
                break
            cells.append(f"{lines[0]['cpu']:.2f} s, {lines[0]['mb']:.0f} MB")
        cells += ["–"] * (len(SIZES) - len(cells))
        print(f"| {test} | {' | '.join(cells)} |", flush=True)


def models(tests: list[str], reps: int, only: str, out: str) -> None:
    """Share of p ≤ .05 of every peer on every model, in a file of JSON lines and as a table."""
    for test in tests:
        found = read_lines(out)
        have = {name: len(found.get((test, name), [])) for name in peers.models(only, test)}
        for first in sorted(set(have.values())):
            names = [re.escape(name) for name, count in have.items() if count == first < reps]
            if names:
                append_lines(test, f": ({'|'.join(names)})$", range(first, reps), out)
    found = read_lines(out)
    tests = [test for test in tests if any(key[0] == test for key in found)]
    print(f"| model | {' | '.join(tests)} |")
    print("|---" * (len(tests) + 1) + "|")
    for name in peers.models(only, ""):
        answers = [found.get((test, name), []) for test in tests]
        cells = [f"{share([p <= peers.LEVEL for p in some])} ({len(some)})" for some in answers]
        print(f"| {name} | {' | '.join(cells)} |")


def append_lines(test: str, pattern: str, seeds: range, out: str) -> None:
    command = [os.environ.get("PEERS_PYTHON", sys.executable), WORKER, test, "--models", pattern]
    command += ["--first", str(seeds.start), "--reps", str(len(seeds))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in map(json.loads, process.stdout):
            if "absent" not in line:
                p = [answer[0] for answer in line.pop("answers")]
                with open(out, "a") as lines:
                    lines.write(json.dumps({"test": test, **line, "p": p}) + "\n")


def read_lines(path: str) -> dict[tuple[str, str], list[float]]:
    """p-values by test and model, in the order of their seeds."""
    found: dict[tuple[str, str], list[float]] = {}
    if os.path.exists(path):
        with open(path) as lines:
            for line in map(json.loads, lines):
                found.setdefault((line["test"], line["scenario"]), []).extend(line["p"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("rates", "timing", "models"), default="rates")
    parser.add_argument("--reps", type=int, default=200)
    parser.add_argument("--tests", help="comma-separated part of a name each; default all")
    parser.add_argument("--cpu", type=float, default=60.0, help="s per scenario of a peer (rates)")
    parser.add_argument("--timeout", type=float, help="wall s of one process")
    parser.add_argument("--only", default="", help="pattern in the names (models)")
    parser.add_argument("--out", default="peers.jsonl", help="file of JSON lines (models)")
    args = parser.parse_args()
    # the combination first: its run answers the rows of its parts too
    tests = ["ours max", *(t for t in (*peers.OURS, *peers.PEERS) if t != "ours max")]
    if args.tests:
        tests = [t for t in tests if any(part in t for part in args.tests.split(","))]
    if args.mode == "models":
        models([test for test in tests if test in peers.PEERS], args.reps, args.only, args.out)
    elif args.mode == "rates":
        rates(tests, args.reps, args.cpu, args.timeout or 6 * 3600)
    else:
        timing(tests, args.timeout or 300)


if __name__ == "__main__":
    main()
