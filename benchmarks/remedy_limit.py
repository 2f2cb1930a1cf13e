"""What no answer can do that is derived from a plain model's score, if it is to pass an audit.

    FAIRAUDIT_DATA=<folder> python benchmarks/remedy_limit.py --tasks compas,adult --splits 2

The splits are those of remedy_pass.py, the scores out-of-fold ones of plain boosting, and the
audit has as many rows as the fresh ones. `--chance` is that of passing. `--save` keeps what is
finished.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from dataclasses import asdict  # noqa: E402
from typing import Any  # noqa: E402

from pass_calibration import cross_fit_boosting  # noqa: E402
from remedy_rivals import Split  # noqa: E402
from saved_runs import add_splits, run_splits  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402

from fairaudit.data.columns import columns_from  # noqa: E402
from fairaudit.remedy.choice import CHANCE  # noqa: E402
from fairaudit.remedy.collapse import KEPT  # noqa: E402
from fairaudit.remedy.limit import find_coarse_groups, find_limit  # noqa: E402


def find_limits(task: str, number: int, chance: float) -> Iterator[dict[str, Any]]:
    """With the attributes known, and without."""
    split = Split(task, number)
    attributes = {name: split.A[name].to_numpy() for name in split.names}
    base, _, fresh = cross_fit_boosting(split, attributes)
    parts = split.y.astype(int)
    columns = columns_from(attributes, argument="sensitive_features")
    groups = find_coarse_groups(list(columns), parts)
    plain = float(roc_auc_score(parts, base.scores[0]))
    for known in (True, False):
        limit = find_limit(
            [base.scores[0]],
            groups,
            parts,
            attributes=known,
            kept=0.5 + KEPT * (plain - 0.5),
            rows=len(fresh),
            chance=chance,
        )
        yield {"task": task, "split": number, "plain": plain, "limit": asdict(limit)}


def print_limits(runs: list[dict[str, Any]]) -> None:
    print(
        "| task | attributes known | split | rows | smallest loss | for sure | largest AUC"
        " | of labels | for sure | collapsed below | plain AUC |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for run in runs:
        limit, estimate, sure = run["limit"], run["limit"]["estimate"], run["limit"]["sure"]
        cells = [
            run["task"],
            "yes" if limit["attributes"] else "no",
            str(run["split"]),
            f"{limit['rows']:,}",
            *(f"{bound['loss']:.3f}" for bound in (estimate, sure)),
            f"{estimate['ranking']:.3f}",
            f"{estimate['ranking_of_labels']:.3f}",
            f"{sure['ranking']:.3f}",
            f"{limit['kept']:.3f}",
            f"{run['plain']:.3f}",
        ]
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_splits(parser, tasks="compas,adult", splits=2, save="limits.jsonl")
    parser.add_argument("--chance", type=float, default=CHANCE)
    args = parser.parse_args()
    print_limits(run_splits(args, lambda task, number: find_limits(task, number, args.chance)))


if __name__ == "__main__":
    main()
