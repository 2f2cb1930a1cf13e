"""Power of the gate's statistic beside single ones: unfair models of `unfair_models.py`.

    python tests/validity/gate_power.py --replications 300 --test default kpc --out power.jsonl

Prints a Markdown table: share of replications that are answered (not inconclusive) and rejected at
.05, for every way to test and, where it combines several statistics, for each of them on the same
copies (`default: kpc`). Then the shortfall of each way against the best single statistic, which is
chosen on one half of the replications and measured on the other, so that luck does not choose.
`--held-out` and `--open`: only one half of the models.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402
from replications import laws, parser, run, shares  # noqa: E402
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
    """Power of the best single statistic, chosen on one half and measured on the other."""
    combined = {name.split(": ")[0] for name in found if ": " in name}
    single = np.array([values for name, values in found.items() if name not in combined])
    halves = single[:, ::2], single[:, 1::2]
    power = [
        measured[chosen.mean(axis=1).argmax()].mean() for chosen, measured in (halves, halves[::-1])
    ]
    return float(np.mean(power))


def main() -> None:
    made = parser(__doc__, replications=300)
    made.add_argument("--held-out", action="store_true")
    made.add_argument("--open", action="store_true")
    args = made.parse_args()
    models = {
        name: model
        for name, model in UNFAIR_MODELS.items()
        if model.held_out or not args.held_out
        if not model.held_out or not args.open
    }
    heads: list[str] = []
    lines: dict[str, dict[str, float]] = {}
    for name, model, results in run(models, args):
        found = series(results)
        first = next(iter(results.values()))
        if not heads:
            heads = [*found, "best single"]
            print(f"| unfair model | n | held out | {' | '.join(heads)} | inconclusive | law |")
            print("|---" * (len(heads) + 5) + "|")
        lines[name] = {way: float(values.mean()) for way, values in found.items()}
        lines[name]["best single"] = best_single(found)
        cells = [f"{lines[name][head]:.2f}" for head in heads]
        print(
            f"| {name} | {model.rows} | {'yes' if model.held_out else ''} | {' | '.join(cells)} | "
            f"{shares(first)[2]:.2f} | {laws(first)} |",
            flush=True,
        )
    for title, some in (
        ("all", list(lines)),
        ("held out", [name for name in lines if models[name].held_out]),
        ("open", [name for name in lines if not models[name].held_out]),
    ):
        if some:
            print_summary(title, [lines[name] for name in some], heads)


def print_summary(title: str, powers: list[dict[str, float]], heads: list[str]) -> None:
    cells = []
    for head in heads:
        short = [power["best single"] - power[head] for power in powers]
        mean = np.mean([power[head] for power in powers])
        cells.append(f"{mean:.2f} (−{np.mean(short):.2f}, −{max(short):.2f})")
    print(
        f"| *mean (shortfall: mean, worst), {title}: {len(powers)}* | | | {' | '.join(cells)} | | |"
    )


if __name__ == "__main__":
    main()
