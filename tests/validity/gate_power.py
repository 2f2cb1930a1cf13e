"""Power of the gate's statistic beside single ones: unfair models of `unfair_models.py`.

    python tests/validity/gate_power.py --replications 100 --out power.jsonl \\
        --test default kpc correlation features scan

Prints a Markdown table: share of replications that are answered (not inconclusive) and rejected at
.05 by the first way to test, by the best of the other ways (*best statistic*) and, where the first
combines several parts, by the best of them on the same copies (*best part*). The best is chosen on
one half of the replications and measured on the other, so that luck does not choose. Then how far
the first way is below both, on average and at worst. `--parts`: a column for every way and part.
`--slow WAY N`: another way, in the first N replications, or in as many as the file has.
`--held-out` and `--open`: only one half of the models. `--peers FILE`: beside the peers on the same
tables, at the size of ours, from the file of `benchmarks/ci_peers.py --mode models`
(`peers_at_size.py`); *ahead by*: the peer that finds most less ours, with its standard error.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
from peers_at_size import find_ahead, read_peers  # noqa: E402
from replications import Lines, laws, parser, run, shares  # noqa: E402
from unfair_models import UNFAIR_MODELS  # noqa: E402


def series(results: dict[str, list[dict]]) -> dict[str, np.ndarray]:
    """Found or not in every replication, by way to test and by its parts."""
    made = {}
    for way, found in results.items():
        if not found:
            continue
        for part in (None, *found[0]["parts"]):
            name = way if part is None else f"{way}: {part}"
            made[name] = np.array([shares([line], part)[1] for line in found])
    return made


def best_statistic(found: dict[str, np.ndarray], way: str) -> float:
    """Power of the best of the other ways to test."""
    return best_power({n: values for n, values in found.items() if ": " not in n and n != way})


def best_part(found: dict[str, np.ndarray], way: str) -> float:
    """Power of the best part of this way."""
    return best_power({n: values for n, values in found.items() if n.startswith(f"{way}: ")})


def best_power(found: dict[str, np.ndarray]) -> float:
    """Of the best test, chosen on one half of the replications and measured on the other."""
    if not found:
        return float("nan")
    halves = [[values[start::2].mean() for values in found.values()] for start in (0, 1)]
    chosen = [measured[np.argmax(other)] for measured, other in (halves, halves[::-1])]
    return float(np.mean(chosen))


def main() -> None:
    made = parser(__doc__, replications=300)
    made.add_argument("--held-out", action="store_true")
    made.add_argument("--open", action="store_true")
    made.add_argument("--parts", action="store_true")
    made.add_argument("--slow", nargs=2, metavar=("WAY", "N"), action="append", default=[])
    made.add_argument("--peers", help="file of JSON lines with the peers' p-values")
    args = made.parse_args()
    models = {
        name: model
        for name, model in UNFAIR_MODELS.items()
        if model.held_out or not args.held_out
        if not model.held_out or not args.open
    }
    peers, way = read_peers(args.peers), args.test[0]
    lines: dict[str, dict[str, float | str]] = {}
    for name, model, results in run(models, args):
        for slow, replications in args.slow:
            results |= run_slow(name, model, args, slow, int(replications))
        found = series(results)
        lines[name] = line = {way: float(found[way].mean())}
        if args.parts:
            line |= {other: float(values.mean()) for other, values in found.items()}
        line["best statistic"] = best_statistic(found, way)
        line["best part"] = best_part(found, way)
        if name in peers:
            rejected = {test: peer.rejects() for test, peer in peers[name].items()}
            line["best peer"] = best_power(rejected)
            ahead = find_ahead(peers[name], found[way])
            mark = "**" if ahead.beyond_noise else ""
            line["ahead by"] = f"{mark}{ahead.by:+.2f} ± {ahead.error:.2f}{mark}, {ahead.name}"
        line["inconclusive"] = shares(results[way])[2]
        line["law"] = laws(results[way])
        print(f"{name}: {line[way]:.2f}", file=sys.stderr, flush=True)
    print_table(lines)


def run_slow(name: str, model, args, way: str, replications: int) -> dict[str, list[dict]]:
    """A way to test that costs much, in the first replications or in those that the file has."""
    fewer, kept = copy.copy(args), Lines(args.out).found.get((name, way, args.copies), {})
    seeds = range(args.first, args.first + args.replications)
    have = next((k for k, seed in enumerate(seeds) if seed not in kept), args.replications)
    fewer.test, fewer.only = [way], ""
    fewer.replications = max(have, min(replications, args.replications))
    with contextlib.redirect_stdout(sys.stderr):  # the table stands on the other
        ((_, _, results),) = run({name: model}, fewer)
    return results


def print_table(lines: dict[str, dict[str, float | str]]) -> None:
    heads = list(max(lines.values(), key=len))
    print(f"| unfair model | n | held out | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 3) + "|")
    for name, line in lines.items():
        model = UNFAIR_MODELS[name]
        held_out = "yes" if model.held_out else ""
        cells = [show(line.get(head, float("nan"))) for head in heads]
        print(f"| {name} | {model.rows} | {held_out} | {' | '.join(cells)} |")
    for title, wanted in (("all", (False, True)), ("held out", (True,)), ("open", (False,))):
        some = [line for name, line in lines.items() if UNFAIR_MODELS[name].held_out in wanted]
        if some:
            print(f"\n{title}: {summarize(some, heads[0])}")


def show(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "–" if np.isnan(value) else f"{value:.2f}"


def summarize(lines: list[dict[str, float | str]], way: str) -> str:
    """Mean power over the models, and how far it is below the best of others."""
    said = [f"{way} {np.mean([line[way] for line in lines]):.3f}"]
    for head in ("best statistic", "best part", "best peer"):
        some = [line for line in lines if not np.isnan(line.get(head, float("nan")))]
        if some:
            short = [line[head] - line[way] for line in some]
            mean = np.mean([line[head] for line in some])
            said.append(
                f"{head} {mean:.3f} (shortfall {np.mean(short):.3f}, worst {max(short):.2f})"
            )
    return "; ".join(said)


if __name__ == "__main__":
    main()
