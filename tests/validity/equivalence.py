"""Coverage of the simultaneous intervals and false certificates at the boundary:
`python tests/validity/equivalence.py --replications 2000`.

Prints a Markdown table. Labels are drawn with known rates by group and outcome. A certificate is
false where the upper bound lies at or below the true size; the tolerance is then at its boundary.
`--weighted`: only the tables with weights.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402

MEASURES = ("deo", "tpr_gap", "equalized_odds_difference", "kpc")


@dataclass(frozen=True)
class Weighting:
    """A row weighs `heavy` with this probability, by its label (negative, positive), and else 1."""

    heavy: float
    chances: tuple[float, float]

    def mean(self) -> np.ndarray:
        return 1 + (self.heavy - 1) * np.array(self.chances)

    def draw(self, rng, label):
        heavy = rng.random(len(label)) < np.array(self.chances)[label]
        return np.where(heavy, float(self.heavy), 1.0)


@dataclass(frozen=True)
class Law:
    """Labels whose rates are known: `rates` by group and outcome (negative, positive).

    With weights these are the weighted rates; positive labels are drawn more rarely if they are
    heavier.
    """

    name: str
    n: int
    shares: tuple[float, ...]
    rates: tuple[tuple[float, float], ...]
    positive: float = 0.5
    weighting: Weighting | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        return MEASURES if self.weighting is None else MEASURES[:-1]  # KPC has no weights

    def mean_weights(self) -> np.ndarray:
        return np.ones(2) if self.weighting is None else self.weighting.mean()

    def chances(self) -> np.ndarray:
        """Of a positive label, by group and outcome."""
        rate, (negative, positive) = np.array(self.rates), self.mean_weights()
        return rate * negative / (rate * negative + (1 - rate) * positive)

    def draw(self, rng):
        group = rng.choice(len(self.shares), self.n, p=self.shares)
        y = (rng.random(self.n) < self.positive).astype(int)
        label = (rng.random(self.n) < self.chances()[group, y]).astype(int)
        weights = None if self.weighting is None else self.weighting.draw(rng, label)
        return label, group, y, weights

    def weighted_shares(self) -> np.ndarray:
        """Of the groups, by outcome."""
        chance, (negative, positive) = self.chances(), self.mean_weights()
        share = np.array(self.shares)[:, None] * (chance * positive + (1 - chance) * negative)
        return share / share.sum(axis=0)

    def truth(self) -> dict[str, float]:
        share, rate = self.weighted_shares(), np.array(self.rates)
        classes = np.array([1 - self.positive, self.positive])
        common = (share * rate).sum(axis=0)
        gaps = rate.max(axis=0) - rate.min(axis=0)
        left = classes @ (common * (1 - common))
        return {
            "deo": float(np.abs(rate - common).sum()),
            "tpr_gap": float(gaps[1]),
            "equalized_odds_difference": float(gaps.max()),
            "kpc": float((share * (rate - common) ** 2).sum(axis=0) @ classes / left),
        }

    def against_rest(self) -> dict[tuple[int, str], float]:
        share, rate = self.weighted_shares(), np.array(self.rates)
        gap = rate - ((share * rate).sum(axis=0) - share * rate) / (1 - share)
        names = ("FPR", "TPR")
        return {(z, names[y]): gap[z, y] for z in range(len(share)) for y in (0, 1)}


def _equal(groups: int) -> tuple[tuple[float, float], ...]:
    return ((0.3, 0.7),) * groups


LAWS = (
    Law("2 groups, equal", 500, (0.5, 0.5), _equal(2)),
    Law("2 groups, gap 0.1", 500, (0.7, 0.3), ((0.3, 0.7), (0.4, 0.8))),
    Law("2 groups, gap 0.1", 20000, (0.7, 0.3), ((0.3, 0.7), (0.4, 0.8))),
    Law("5 groups, equal", 1000, (0.4, 0.3, 0.15, 0.1, 0.05), _equal(5)),
    Law("5 groups, one apart", 1000, (0.4, 0.3, 0.15, 0.1, 0.05), (*_equal(4), (0.3, 0.5))),
    Law("5 groups, one apart", 20000, (0.4, 0.3, 0.15, 0.1, 0.05), (*_equal(4), (0.3, 0.65))),
    Law("10 groups, equal", 2000, (0.1,) * 10, _equal(10)),
    Law("10 groups, spread", 2000, (0.1,) * 10, tuple((0.3 + k / 100, 0.7) for k in range(10))),
    Law("rates near 0 and 1", 1000, (0.8, 0.2), ((0.02, 0.99), (0.05, 0.95))),
    Law(
        "rates near 0 and 1, 5 groups",
        1000,
        (0.4, 0.3, 0.15, 0.1, 0.05),
        (*(((0.01, 0.98),) * 4), (0.03, 0.93)),
    ),
    Law("few positives, 4 groups", 400, (0.4, 0.3, 0.2, 0.1), (*_equal(3), (0.3, 0.6)), 0.15),
)

TWO, FIVE = (0.5, 0.5), (0.35, 0.25, 0.2, 0.12, 0.08)
LOW, HIGH = ((0.3, 0.10), (0.3, 0.16)), ((0.7, 0.90), (0.7, 0.84))
#: Weights that are related to the label: 30, 100 and 500 positives in a group, and others.
WEIGHTED = (
    *(
        Law(
            f"positive labels weigh {heavy}", rows, TWO, LOW, weighting=Weighting(heavy, (0.0, 1.0))
        )
        for heavy in (5, 10)
        for rows in (120, 400, 2000)
    ),
    Law("negative labels weigh 10", 400, TWO, HIGH, weighting=Weighting(10, (1.0, 0.0))),
    Law("positive labels weigh 10 often", 400, TWO, LOW, weighting=Weighting(10, (0.1, 0.9))),
    Law("positive labels weigh 10 rarely", 2000, TWO, LOW, weighting=Weighting(10, (0.0, 0.1))),
    Law(
        "3 groups, positive labels weigh 5",
        1200,
        (0.5, 0.3, 0.2),
        (*LOW, (0.3, 0.10)),
        weighting=Weighting(5, (0.0, 1.0)),
    ),
    Law(
        "5 groups, positive labels weigh 5",
        1000,
        FIVE,
        (*((LOW[0],) * 4), LOW[1]),
        weighting=Weighting(5, (0.0, 1.0)),
    ),
    Law(
        "5 groups, positive labels weigh 10",
        5000,
        FIVE,
        (*((LOW[0],) * 4), LOW[1]),
        weighting=Weighting(10, (0.0, 1.0)),
    ),
    Law("independent weights 1 and 10", 400, TWO, LOW, weighting=Weighting(10, (0.5, 0.5))),
    Law("independent weights 1 and 10", 2000, TWO, LOW, weighting=Weighting(10, (0.5, 0.5))),
    *(
        Law(
            f"positive labels weigh {heavy}", 8000, TWO, LOW, weighting=Weighting(heavy, (0.0, 1.0))
        )
        for heavy in (5, 10)
    ),
)


def replicate(law: Law, seed: int) -> dict[str, float]:
    """Did all intervals cover, did each certificate come out falsely?"""
    rng = np.random.default_rng([seed, (*LAWS, *WEIGHTED).index(law)])
    label, group, y, weights = law.draw(rng)
    options = {"kinds": {"group": "categorical"}, "weights": weights}
    table = fa.gap_intervals(label, {"group": group}, y, seed=seed, **options)
    truth = law.against_rest()
    covered = all(one.low <= truth[int(one.levels[0]), one.rate] <= one.high for one in table.gaps)
    sizes = law.truth()
    limits = {name: max(sizes[name], 1e-12) for name in law.measures}
    found = fa.certify(label, {"group": group}, y, limits, **options)
    return {"covered": covered} | {one.measure: one.holds for one in found}


def replicate_people(seed: int) -> dict[str, float]:
    """The same where 300 people have 4 rows each, of one group and with labels that agree."""
    rng = np.random.default_rng([seed, 99])
    person = np.repeat(np.arange(300), 4)
    group = rng.choice(3, 300, p=[0.5, 0.3, 0.2])[person]
    y = rng.integers(0, 2, 1200)
    leaning = rng.beta(1, 1, 300)[person]  # mean 1/2: rates .35 and .65 in every group
    label = (rng.random(1200) < 0.3 * leaning + 0.2 + 0.3 * y).astype(int)
    own = rng.random(1200) < 0.5
    label = np.where(own, label, (leaning < 0.35 + 0.3 * y).astype(int))
    given = (label, {"group": group}, y)
    options = {"ids": person, "kinds": {"group": "categorical"}}
    table = fa.gap_intervals(*given, **options)
    (one,) = fa.certify(*given, {"equalized_odds_difference": 1e-12}, **options)
    return {"covered": all(gap.low <= 0 <= gap.high for gap in table.gaps), "false": one.holds}


def print_table(laws, replications: int, jobs: int) -> None:
    from joblib import Parallel, delayed

    names = laws[0].measures
    print("| law | rows | all intervals cover | false certificates: " + " | ".join(names) + " |")
    print("|---" * (3 + len(names)) + "|", flush=True)
    for law in laws:
        found = Parallel(n_jobs=jobs)(delayed(replicate)(law, seed) for seed in range(replications))
        shares = [np.mean([one[name] for one in found]) for name in ("covered", *names)]
        print(
            f"| {law.name} | {law.n:,} | " + " | ".join(f"{x:.3f}" for x in shares) + " |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--weighted", action="store_true", help="only the tables with weights")
    args = parser.parse_args()
    if not args.weighted:
        print_table(LAWS, args.replications, args.jobs)
        found = [replicate_people(seed) for seed in range(args.replications)]
        share = np.mean([one["covered"] for one in found])
        print(f"\n300 people with 4 rows each, 3 groups, equal: all intervals cover {share:.3f}\n")
    print_table(WEIGHTED, args.replications, args.jobs)


if __name__ == "__main__":
    main()
