"""Power of the gate's statistic beside single ones: unfair models of `unfair_models.py`.

    python tests/validity/gate_power.py --replications 300 --test default kpc --out power.jsonl

Prints a Markdown table: share of replications that are answered (not inconclusive) and rejected at
.05, for every way to test and, where it combines several statistics, for each of them on the same
copies (`default: kpc`). Then the shortfall of each way against the best single statistic, which is
chosen on one half of the replications and measured on the other, so that luck does not choose.
`--held-out` and `--open`: only one half of the models. `--peers FILE`: beside the best of the peers
on the same tables, from the file of `benchmarks/ci_peers.py --mode models`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
from replications import LEVEL, laws, parser, run, shares  # noqa: E402
from unfair_models import UNFAIR_MODELS  # noqa: E402


def series(results: dict[str, list[dict]]) -> dict[str, np.ndarray]:
    """Found or not in every replication, by way to test and by its parts."""
    made = {}
    for way, found in results.items():
        for part in (None, *found[0]["parts"]):
            name = way if part is None else f"{way}: {part}"
            made[name] = np.array([shares([line], part)[1] for line in found])
    return made


def best_single(found: dict[str, np.ndarray]) -> float:
    """Power of the best single statistic."""
    combined = {name.split(": ")[0] for name in found if ": " in name}
    return best_power({name: values for name, values in found.items() if name not in combined})


def best_power(found: dict[str, np.ndarray]) -> float:
    """Of the best test, chosen on one half of the replications and measured on the other."""
    halves = [[values[start::2].mean() for values in found.values()] for start in (0, 1)]
    chosen = [measured[np.argmax(other)] for measured, other in (halves, halves[::-1])]
    return float(np.mean(chosen))


def read_peers(path: str | None) -> dict[str, dict[str, np.ndarray]]:
    """Rejected or not, by model and peer; the file is that of benchmarks/ci_peers.py."""
    found: dict[str, dict[str, list]] = {}
    if path:
        with open(path) as lines:
            for line in map(json.loads, lines):
                rejected = [float(p <= LEVEL) for p in line["p"]]
                found.setdefault(line["scenario"], {}).setdefault(line["test"], []).extend(rejected)
    return {
        name: {test: np.array(values) for test, values in some.items()}
        for name, some in found.items()
    }


def main() -> None:
    made = parser(__doc__, replications=300)
    made.add_argument("--held-out", action="store_true")
    made.add_argument("--open", action="store_true")
    made.add_argument("--peers", help="file of JSON lines with the peers' p-values")
    args = made.parse_args()
    models = {
        name: model
        for name, model in UNFAIR_MODELS.items()
        if model.held_out or not args.held_out
        if not model.held_out or not args.open
    }
    peers = read_peers(args.peers)
    lines: dict[str, dict[str, float]] = {}
    ends: dict[str, str] = {}
    for name, _, results in run(models, args):
        found, first = series(results), next(iter(results.values()))
        lines[name] = {way: float(values.mean()) for way, values in found.items()}
        lines[name]["best single"] = best_single(found)
        if name in peers:
            lines[name]["best peer"] = best_power(peers[name])
        ends[name] = f"{shares(first)[2]:.2f} | {laws(first)}"
        print(f"{name}: {lines[name][args.test[0]]:.2f}", file=sys.stderr, flush=True)
    print_table(lines, ends)


def print_table(lines: dict[str, dict[str, float]], ends: dict[str, str]) -> None:
    last = ("best single", "best peer")
    heads = list(
        dict.fromkeys(head for line in lines.values() for head in line if head not in last)
    )
    heads += [head for head in last if any(head in line for line in lines.values())]
    print(f"| unfair model | n | held out | {' | '.join(heads)} | inconclusive | law |")
    print("|---" * (len(heads) + 5) + "|")
    for name, line in lines.items():
        model = UNFAIR_MODELS[name]
        cells = [f"{line[head]:.2f}" if head in line else "–" for head in heads]
        held_out = "yes" if model.held_out else ""
        print(f"| {name} | {model.rows} | {held_out} | {' | '.join(cells)} | {ends[name]} |")
    for title, wanted in (("all", (False, True)), ("held out", (True,)), ("open", (False,))):
        some = [line for name, line in lines.items() if UNFAIR_MODELS[name].held_out in wanted]
        if some:
            cells = [shortfall(some, head) for head in heads]
            print(f"| *mean (shortfall: mean, worst), {title}* | | | {' | '.join(cells)} | | |")


def shortfall(lines: list[dict[str, float]], head: str) -> str:
    """Mean power over the models, and how far it is below the best single statistic."""
    lines = [line for line in lines if head in line]
    if not lines:
        return "–"
    short = [line["best single"] - line[head] for line in lines]
    mean = np.mean([line[head] for line in lines])
    return f"{mean:.2f} ({np.mean(short):.2f}, {max(short):.2f})"


if __name__ == "__main__":
    main()
