"""Does a repaired model pass a fresh audit? `fairaudit remedy --goal pass` on real tables.

    FAIRAUDIT_DATA=<folder> python benchmarks/remedy_pass.py --splits 10 --save pass.jsonl
    ... --tasks compas,adult --with-attributes --first 101

59 % of the rows go to the remedy, which trains on 70 % of them and audits the others, as it does
for anybody; what is left, as many rows as were trained on, is audited afterwards by the default
audit and used for nothing else. The trivial mixture
(plain training, a random share of people gets a constant) is tested on the same fresh rows; the
table has the smallest share that passes at least as often as the repair. `--first` is the number of
the first split: what the program's defaults were chosen on has numbers from 101. `--save` keeps
what is finished, and goes on there.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from dataclasses import asdict  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from saved_runs import SavedRuns, add_splits, list_splits  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.data.columns import columns_from  # noqa: E402
from fairaudit.data.roles import Roles  # noqa: E402
from fairaudit.datasets import (  # noqa: E402
    Dataset,
    fetch_acs_income,
    fetch_adult,
    fetch_communities,
    fetch_compas,
    load_demo,
)
from fairaudit.remedy.choice import CHANCE  # noqa: E402
from fairaudit.remedy.price import quality_of  # noqa: E402
from fairaudit.remedy.tradeoff import loss_of, mixed, scores_of  # noqa: E402

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PASSES = 0.05
PERSON = "person"
WRITTEN = ("repaired", "inconclusive")  # outcomes with which the command writes the model


def as_table(data: Dataset) -> tuple[pd.DataFrame, str, list[str]]:
    """Features, outcome and attributes side by side."""
    frame = data.X.reset_index(drop=True)
    attributes = data.sensitive.reset_index(drop=True)
    both = pd.concat([frame.drop(columns=attributes.columns, errors="ignore"), attributes], axis=1)
    return both.assign(outcome=np.asarray(data.y)), "outcome", list(attributes.columns)


def adult_hours() -> tuple[pd.DataFrame, str, list[str]]:
    """A continuous outcome with mixed attributes: hours worked per week; sex, race and age."""
    data = fetch_adult()
    frame, _, names = as_table(data)
    hours = next(name for name in frame if "hours" in str(name))
    age = next(name for name in frame if str(name) == "age")
    frame = frame.sample(12_000, random_state=0).reset_index(drop=True)
    return frame.rename(columns={hours: "hours"}), "hours", [*names, age]


def demo() -> tuple[pd.DataFrame, str, list[str]]:
    """Generated loans; only sex and age together are informative."""
    return load_demo(12_000, seed=77), "repaid", ["race", "sex", "age"]


TASKS: dict[str, Callable[[], tuple[pd.DataFrame, str, list[str]]]] = {
    "compas": lambda: as_table(fetch_compas()),
    "adult": lambda: as_table(fetch_adult()),
    "acsincome": lambda: as_table(fetch_acs_income(states=("co", "ne"))),
    "crimes_one": lambda: as_table(fetch_communities(races="one")),
    "crimes_all": lambda: as_table(fetch_communities(races="all")),
    "hours": adult_hours,
    "demo": demo,
}


def split_rows(n: int, split: int) -> tuple[Any, Any]:
    """Rows for the remedy; fresh ones, as many as it trains on and 2,000 where there are enough."""
    order = np.random.default_rng(123 * split).permutation(n)
    cut = n - max(int(0.412 * n), min(2_000, n // 2))
    return order[:cut], order[cut:]


def run_split(task: str, split: int, *, use_sensitive: bool, chance: float) -> dict[str, Any]:
    frame, outcome, names = TASKS[task]()
    frame[PERSON] = np.arange(len(frame))  # people are told apart, also where their rows agree
    given, fresh = (
        frame.iloc[rows].reset_index(drop=True) for rows in split_rows(len(frame), split)
    )
    start = time.process_time()
    result = fa.repair(
        given,
        Roles(sensitive=tuple(names), outcome=outcome, ids=PERSON),
        goal="pass",
        use_sensitive=use_sensitive,
        pass_probability=chance,
        audit_rows=len(fresh),
        seed=split,
    )
    seconds = time.process_time() - start
    (truth,) = columns_from({outcome: fresh[outcome]}, argument="outcome", outcome=True)

    def measure(scores: Any) -> dict[str, Any]:
        constant = (scores == scores[0]).all()
        p = (
            1.0
            if constant
            else fa.equalized_odds_test(
                scores,
                y_true=truth,
                sensitive=fresh[names],
                permutations=fa.Permutations(n=199, seed=split),
            ).p_value
        )
        quality = quality_of(scores, truth)
        return {
            "p": p,
            "loss": loss_of(scores, truth),
            "ranking": quality.ranking,
            "brier": quality.brier,
            "ece": quality.calibration_error,
        }

    chosen = result.curve[result.curve["chosen"]].iloc[0]
    plain = scores_of(result.plain, fresh)
    rng = np.random.default_rng([split, 1])
    mixtures = {share: measure(mixed(plain, truth, share, rng)) for share in SHARES}
    return {
        "task": task,
        "split": split,
        "use_sensitive": use_sensitive,
        "asked": chance,
        "outcome": str(result.outcome),
        "chosen": result.because,
        "model": [result.mu, result.strength, int(chosen["levels"]), bool(chosen["attributes"])],
        "chance": result.chance,
        "rows": len(given),
        "limit": None if result.limit is None else asdict(result.limit),
        "own_p": result.after.p_value,
        "cpu": seconds,
        "after": measure(scores_of(result.model, fresh)),
        "plain": mixtures[0.0],
        "mixtures": {str(share): numbers for share, numbers in mixtures.items()},
    }


def mean_of(runs: list[dict[str, Any]], which: str, name: str) -> str:
    numbers = [run[which][name] for run in runs]
    return "–" if None in numbers else f"{np.mean(numbers):.3f}"


def print_table(runs: list[dict[str, Any]]) -> None:
    print(
        "| task | attributes known | rows | splits | no repair found | written, of these pass"
        " | found, of these pass | predicted | loss | plain | trivial mixture that passes as often"
        " | ranking | plain | CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    frame = pd.DataFrame(runs)
    for (task, use), part in frame.groupby(["task", "use_sensitive"], sort=False):
        rows = part.to_dict("records")
        found = [row for row in rows if row["outcome"] != "no repair found"]
        written = [row for row in found if row["outcome"] in WRITTEN]
        cpu = f"{np.mean([row['cpu'] for row in rows]):.0f}"
        start = [task, "yes" if use else "no", f"{rows[0]['rows']:,}", str(len(rows))]
        if not found:
            chances = ", ".join(f"{row['chance']:.2f}" for row in rows)
            print(f"| {' | '.join(start)} | {len(rows)} | best chances {chances}", end=" ")
            print(f"|  |  | – | {mean_of(rows, 'plain', 'loss')} | – | – | – | {cpu} |")
            continue
        passed = np.mean([row["after"]["p"] > PASSES for row in found])

        trivial = "none" if passed else "–"
        for share in SHARES if passed else ():
            numbers = [row["mixtures"][str(share)] for row in found]
            if np.mean([x["p"] > PASSES for x in numbers]) >= passed:
                trivial = f"{np.mean([x['loss'] for x in numbers]):.3f} ({100 * share:.0f} %)"
                break
        cells = [
            *start,
            str(len(rows) - len(found)),
            *(
                f"{len(some)}, {sum(row['after']['p'] > PASSES for row in some)}"
                for some in (written, found)
            ),
            f"{np.mean([row['chance'] for row in found]):.2f}",
            mean_of(found, "after", "loss"),
            mean_of(found, "plain", "loss"),
            trivial,
            mean_of(found, "after", "ranking"),
            mean_of(found, "plain", "ranking"),
            cpu,
        ]
        print("| " + " | ".join(cells) + " |")


def print_limits(runs: list[dict[str, Any]]) -> None:
    """What could pass at best, where a search of two classes found nothing."""
    refused = [run for run in runs if run.get("limit")]
    if not refused:
        return
    print(
        "\n| task | attributes known | split | smallest loss | for sure | largest AUC | of labels"
        " | for sure | collapsed below | audit that the nearest passes |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for run in refused:
        limit, estimate, sure = run["limit"], run["limit"]["estimate"], run["limit"]["sure"]
        cells = [
            run["task"],
            "yes" if limit["attributes"] else "no",
            str(run["split"]),
            *(f"{bound['loss']:.3f}" for bound in (estimate, sure)),
            f"{estimate['ranking']:.3f}",
            f"{estimate['ranking_of_labels']:.3f}",
            f"{sure['ranking']:.3f}",
            f"{limit['kept']:.3f}",
            "none" if limit["passes"] is None else f"{limit['passes']:,} of {limit['rows']:,}",
        ]
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_splits(parser, tasks=",".join(TASKS), splits=10, save="pass.jsonl")
    parser.add_argument("--with-attributes", action="store_true")
    parser.add_argument("--table", action="store_true", help="of what is saved, and run nothing")
    parser.add_argument("--pass-probability", type=float, default=CHANCE)
    args = parser.parse_args()
    use, chance = args.with_attributes, args.pass_probability
    runs = SavedRuns(args.save, ("task", "split", "use_sensitive", "asked"))
    for task, split in () if args.table else list_splits(args):
        key = (task, split, use, chance)
        runs.add(key, lambda own=key[:2]: [run_split(*own, use_sensitive=use, chance=chance)])
    print_table(runs.records)
    print_limits(runs.records)


if __name__ == "__main__":
    main()
