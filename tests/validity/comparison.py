"""Coverage, size and power of `fairaudit compare --baseline … --candidate …`.

`python tests/validity/comparison.py --replications 2000` prints Markdown tables. Both models'
rates in every cell are given, so that the true difference of every measure is known. The two
models agree on a share of the rows beyond chance, as a candidate and its baseline do; in a second
table they differ in a handful of rows; the third is for a continuous outcome.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402

from fairaudit.comparison.bands import deo_difference, gap_difference  # noqa: E402
from fairaudit.comparison.paired_groups import pair_groups  # noqa: E402
from fairaudit.data.table import AuditTable  # noqa: E402

ALPHA, MARGIN, SAME = 0.05, 0.05, 0.8


@dataclass(frozen=True)
class Case:
    """Rates by class (FPR, TPR) and group; shares of the groups."""

    name: str
    rows: int
    baseline: np.ndarray
    candidate: np.ndarray
    shares: np.ndarray

    def truth(self, measure: str) -> float:
        return measured(self.candidate, measure, self.shares) - measured(
            self.baseline, measure, self.shares
        )


def measured(rates: np.ndarray, measure: str, shares: np.ndarray) -> float:
    gaps = rates.max(axis=1) - rates.min(axis=1)
    if measure == "deo":
        return float(np.abs(rates - (rates @ shares / shares.sum())[:, None]).sum())
    return float({"eod": gaps.max(), "tpr_gap": gaps[1]}[measure])


def rates_of(groups: int, *changes: tuple[int, int, float]) -> np.ndarray:
    """FPR .2 and TPR .7 in every group, but for the changes (class, group, by how much)."""
    rates = np.repeat([[0.2], [0.7]], groups, axis=1)
    for one, group, change in changes:
        rates[one, group] += change
    return rates


def cases() -> list[Case]:
    even = lambda groups: np.full(groups, 1 / groups)  # noqa: E731
    uneven = np.array([0.6, 0.25, 0.1, 0.05])
    made = []
    for rows, groups in ((1000, 2), (8000, 2), (1000, 4), (4000, 4), (4000, 8)):
        made.append(
            Case(
                f"no gap in either, {groups} groups",
                rows,
                rates_of(groups),
                rates_of(groups),
                even(groups),
            )
        )
    made += [
        Case("no gap in either, small groups", 1000, rates_of(4), rates_of(4), uneven),
        Case(
            "the same gap of .10 in both",
            2000,
            rates_of(4, (1, 0, -0.1)),
            rates_of(4, (1, 0, -0.1)),
            even(4),
        ),
        Case(
            "gaps of .15 in different groups",
            2000,
            rates_of(4, (1, 0, -0.15)),
            rates_of(4, (0, 2, 0.15)),
            even(4),
        ),
        Case(
            "gap .10, candidate .05 more",
            2000,
            rates_of(4, (1, 0, -0.1)),
            rates_of(4, (1, 0, -0.15)),
            even(4),
        ),
        Case(
            "no gap, candidate .05, all others tied",
            4000,
            rates_of(4),
            rates_of(4, (1, 0, -0.05)),
            even(4),
        ),
        Case(
            "no gap, candidate .05, small groups",
            4000,
            rates_of(4),
            rates_of(4, (1, 3, -0.05)),
            uneven,
        ),
        Case("gap .15, candidate none", 2000, rates_of(4, (1, 0, -0.15)), rates_of(4), even(4)),
        Case("no gap, candidate .15", 2000, rates_of(4), rates_of(4, (1, 0, -0.15)), even(4)),
        Case(
            "rates near 1",
            1000,
            rates_of(2, (1, 0, 0.28), (1, 1, 0.28)),
            rates_of(2, (1, 0, 0.28), (1, 1, 0.25)),
            even(2),
        ),
    ]
    return made


def draw(case: Case, rng) -> tuple[AuditTable, AuditTable]:
    group = rng.choice(len(case.shares), case.rows, p=case.shares)
    y = rng.integers(0, 2, case.rows)
    first = rng.random(case.rows)
    second = np.where(rng.random(case.rows) < SAME, first, rng.random(case.rows))
    names = np.array(list("abcdefgh"))[group]
    return tuple(
        AuditTable.of((u < rates[y, group]).astype(int), {"group": names}, y)
        for u, rates in ((first, case.baseline), (second, case.candidate))
    )


def intervals(case: Case, seed: int) -> dict[str, tuple[float, float, float, float]]:
    cells = pair_groups(*draw(case, np.random.default_rng([seed, len(case.name)])), None)
    found = {
        "eod": gap_difference(cells, (0, 1), ALPHA, seed),
        "tpr_gap": gap_difference(cells, (1,), ALPHA, seed),
        "deo": deo_difference(cells, ALPHA, seed),
    }
    return {name: (one.low, one.high, one.at_least, one.at_most) for name, one in found.items()}


def tweaked(small: int, margin: float, seed: int, heavy: float = 1.0) -> tuple[float, float]:
    """Bounds above (tpr_gap, eod) where the candidate drops a few true positives of one group.

    1,000 rows of either outcome in the other group, `small` in this one, and a baseline without
    gaps: the true difference is the margin, and no more rows than that tell the models apart. What
    production predicts positive can be `heavy`; it is then drawn more rarely.
    """
    rng = np.random.default_rng([seed, small])
    sizes = [1000, small, 1000, small]
    group, y = np.repeat([0, 1, 0, 1], sizes), np.repeat([1, 1, 0, 0], sizes)
    rate = np.where(y == 1, 0.8, 0.2)
    first = rng.random(len(y)) < rate / (rate + (1 - rate) * heavy)
    dropped = (y == 1) & (group == 1) & (rng.random(len(y)) < margin / 0.8)
    names, weights = np.array(["a", "b"])[group], np.where(first, heavy, 1.0)
    cells = pair_groups(
        *(
            AuditTable.of(labels.astype(int), {"group": names}, y, weights=weights)
            for labels in (first, first & ~dropped)
        ),
        None,
    )
    return tuple(gap_difference(cells, of, ALPHA, seed).at_most for of in ((1,), (0, 1)))


#: Rows of the small group, and a margin at which no row at all is discordant in a tenth of tables.
TWEAKS = ((10, 0.2), (22, 0.1), (42, 0.05), (100, 0.023), (500, 0.0046))


@dataclass(frozen=True)
class Numbers:
    """A regression in which the outcome grows with the group; gaps given the outcome by group."""

    name: str
    sizes: tuple[int, ...]
    baseline: tuple[float, ...]
    candidate: tuple[float, ...]
    kind: str = "another model"

    @property
    def truth(self) -> float:
        return float(np.ptp(self.candidate) - np.ptp(self.baseline))


def numbers() -> list[Numbers]:
    none, made = (0.0, 0.0, 0.0, 0.0), []
    for sizes in ((50,) * 4, (500,) * 4, (10, 30, 100, 300)):
        made += [
            Numbers("no gap in either", sizes, none, none),
            Numbers("no gap, candidate constant", sizes, none, none, "constant"),
            Numbers("no gap, candidate nearly the same", sizes, none, none, "nearly the same"),
            Numbers("gap .3, candidate .1 more", sizes, (0.3, 0.0, 0.0, 0.0), (0.4, 0.0, 0.0, 0.0)),
            Numbers(
                "gaps of .3 in different groups", sizes, (0.3, 0.0, 0.0, 0.0), (0.0, 0.0, -0.3, 0.0)
            ),
            Numbers("no gap, candidate .2", sizes, none, (0.2, 0.0, 0.0, 0.0)),
        ]
    return made


def number_interval(case: Numbers, seed: int) -> tuple[float, float, float, float]:
    """Curved models of the outcome, with skewed noise that grows with the group."""
    rng = np.random.default_rng([seed, sum(case.sizes)])
    group = np.repeat(np.arange(len(case.sizes)), case.sizes)
    y = 0.5 * group + rng.normal(size=len(group))
    shared, own = (rng.gamma(1.0, size=(2, len(group))) - 1) * 0.5 * (1 + 0.3 * group)
    first = 0.5 * y + shared
    second = {
        "another model": np.cos(y) + 0.8 * shared + 0.6 * own,
        "constant": np.zeros(len(y)),
        "nearly the same": first + 0.05 * own,
    }[case.kind]
    names = np.array(list("abcd"))[group]
    tables = (
        AuditTable.of(model + np.array(gaps)[group], {"group": names}, y)
        for model, gaps in ((first, case.baseline), (second, case.candidate))
    )
    found = gap_difference(pair_groups(*tables, None), (0,), ALPHA, seed)
    return found.low, found.high, found.at_least, found.at_most


def number_row(case: Numbers, results: list) -> str:
    ends, truth = np.array(results), case.truth
    inside = (ends[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[:, 1])
    below, shown = (ends[:, 3] < truth - 1e-12).mean(), (ends[:, 2] > 1e-12).mean()
    return (
        f"| {case.name} | {', '.join(map(str, case.sizes))} | {truth:+.1f} | {inside.mean():.3f} "
        f"({np.median(ends[:, 1] - ends[:, 0]):.2f}) | {below:.3f} | {shown:.3f} |"
    )


def row(case: Case, results: list) -> str:
    cells = []
    for measure in ("eod", "tpr_gap", "deo"):
        ends, truth = np.array([one[measure] for one in results]), case.truth(measure)
        inside = (ends[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[:, 1])
        cells.append(f"{inside.mean():.3f} ({np.median(ends[:, 1] - ends[:, 0]):.2f})")
    ends, truth = np.array([one["eod"] for one in results]), case.truth("eod")
    passed, failed = (ends[:, 3] < MARGIN).mean(), (ends[:, 2] > 0).mean()
    shown = [case.name, case.rows, len(results), f"{truth:+.2f}", *cells]
    return f"| {' | '.join(map(str, shown))} | {passed:.3f} | {failed:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    parser.add_argument("--only", default="", help="cases in which this pattern is found")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    from joblib import Parallel, delayed

    print(
        "| case | rows | replications | true difference (eod) | eod: coverage (width) | tpr_gap "
        "| deo | shown not less fair, margin .05 | shown less fair |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for case in cases():
        if not re.search(args.only, case.name):
            continue
        found = Parallel(n_jobs=args.jobs)(
            delayed(intervals)(case, args.first + k) for k in range(args.replications)
        )
        print(row(case, found), flush=True)
    print(
        "\n| rows of the small group | margin and true difference | false *not less fair*: "
        "tpr_gap | eod | tpr_gap, positives weigh 10 | eod, positives weigh 10 |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    for small, margin in TWEAKS:
        if re.search(args.only, "tweak"):
            passed = []
            for heavy in (1.0, 10.0):
                bounds = [
                    tweaked(small, margin, args.first + k, heavy) for k in range(args.replications)
                ]
                passed += (np.array(bounds) < margin).mean(axis=0).tolist()
            shown = " | ".join(f"{share:.3f}" for share in passed)
            print(f"| {small} | {margin:g} | {shown} |", flush=True)
    print(
        "\n| regression | people by group | true difference | coverage (width) | bound above "
        "missed | shown less fair |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    for case in numbers():
        if re.search(args.only, case.name):
            found = [number_interval(case, args.first + k) for k in range(args.replications)]
            print(number_row(case, found), flush=True)


if __name__ == "__main__":
    main()
