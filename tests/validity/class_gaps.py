"""More than two classes: coverage of the intervals of all shares of the confusion, and false
certificates: `python tests/validity/class_gaps.py --replications 1000`.

Prints a Markdown table. Labels are drawn with known shares by group and outcome; with weights these
are the weighted shares, and labels of the heavy class are drawn more rarely. A certificate is false
where the tolerance is at the true largest difference of two groups.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402

HEAVY = 10.0


@dataclass(frozen=True)
class Law:
    """Shares of groups, of classes, and of right answers; the last group's differ by `moved`."""

    name: str
    n: int
    groups: tuple[float, ...]
    classes: tuple[float, ...]
    right: float
    moved: float
    weighted: bool = False

    def confusion(self) -> np.ndarray:
        """Of each group: who is predicted to be of which class."""
        count = len(self.classes)
        wrong = (1 - self.right) / (count - 1)
        one = np.full((count, count), wrong) + (self.right - wrong) * np.eye(count)
        shares = np.repeat(one[None], len(self.groups), axis=0)
        shares[-1, -1, -1] -= self.moved  # fewer of the last class are recognized …
        shares[-1, -1, 0] += self.moved  # … and taken for the first
        return shares

    def weight(self) -> np.ndarray:
        """By predicted class."""
        return np.array([HEAVY if self.weighted else 1.0, *[1.0] * (len(self.classes) - 1)])

    def chances(self) -> np.ndarray:
        light = self.confusion() / self.weight()
        return light / light.sum(axis=2, keepdims=True)

    def gaps(self) -> np.ndarray:
        """Of every group to all others, by outcome and predicted class."""
        shares = self.confusion()
        total = np.array(self.groups)[:, None] * (self.chances() @ self.weight())
        total = total[:, :, None]
        rest = ((total * shares).sum(axis=0) - total * shares) / (total.sum(axis=0) - total)
        return shares - rest

    def draw(self, rng):
        group = rng.choice(len(self.groups), self.n, p=self.groups)
        y = rng.choice(len(self.classes), self.n, p=self.classes)
        edges = np.cumsum(self.chances(), axis=2)[group, y, :-1]
        label = (rng.random(self.n)[:, None] > edges).sum(axis=1)
        return label, group, y, self.weight()[label] if self.weighted else None


_PLAIN = (
    ("3 classes, 2 groups, equal", 600, (0.6, 0.4), (0.5, 0.3, 0.2), 0.7, 0.0),
    ("3 classes, 4 groups", 1500, (0.5, 0.25, 0.15, 0.1), (0.4, 0.35, 0.25), 0.75, 0.15),
    ("5 classes, 3 groups", 2000, (0.6, 0.3, 0.1), (0.4, 0.3, 0.15, 0.1, 0.05), 0.6, 0.2),
    ("4 classes, 6 groups, few rows", 400, (0.3, 0.2, 0.2, 0.1, 0.1, 0.1), (0.25,) * 4, 0.85, 0.1),
    ("3 classes, 2 groups, many rows", 20_000, (0.7, 0.3), (0.4, 0.35, 0.25), 0.75, 0.1),
)
LAWS = tuple(Law(*one, weighted=weighted) for weighted in (False, True) for one in _PLAIN)


def replicate(law: Law, seed: int) -> tuple[bool, bool]:
    """Did all intervals cover, was the certificate false?"""
    label, group, y, weights = law.draw(np.random.default_rng([seed, LAWS.index(law)]))
    kinds = dict.fromkeys(("group", "y_true", "y_pred"), "categorical")
    given, options = (label, {"group": group}, y), {"kinds": kinds, "weights": weights}
    gaps, truth = fa.gap_intervals(*given, seed=seed, **options).gaps, law.gaps()
    covered = True
    for gap in gaps:
        outcome, predicted = map(int, gap.rate.split(" → "))
        covered &= gap.low <= truth[int(gap.levels[0]), outcome, predicted] <= gap.high
    limit = max(float(np.ptp(law.confusion(), axis=0).max()), 1e-12)
    (certificate,) = fa.certify(*given, {"confusion_gap": limit}, **options)
    return covered, certificate.holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    args = parser.parse_args()
    print("| law | rows | weights | all intervals cover | false certificates |")
    print("|---|---|---|---|---|", flush=True)
    for law in LAWS:
        seeds = range(args.first, args.first + args.replications)
        covered, false = np.mean([replicate(law, seed) for seed in seeds], axis=0)
        weights = f"first class: {HEAVY:.0f}" if law.weighted else "none"
        print(f"| {law.name} | {law.n:,} | {weights} | {covered:.3f} | {false:.3f} |", flush=True)


if __name__ == "__main__":
    main()
