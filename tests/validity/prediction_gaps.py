"""Gaps of predictions given a continuous outcome: coverage, and false certificates at the boundary:
`python tests/validity/prediction_gaps.py --replications 1000`.

Prints a Markdown table. The laws satisfy equalized odds by construction, but for the shifts of
groups that some have. *All gaps*, *curve*: share of tables in which all simultaneous intervals
hold. *False certificates*: the tolerance is at the truth. No choice was made on these laws;
`--seen` prints those on which the standard errors were chosen.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.evidence.intervals.certify import certificates  # noqa: E402
from fairaudit.evidence.intervals.prediction_gaps import prediction_gap_table  # noqa: E402
from fairaudit.metrics._prediction_gap import GapFits  # noqa: E402

HEAVY = 10.0
MEASURES = ("prediction_gap", "prediction_gap_in_ranges")


@dataclass(frozen=True)
class Law:
    """`outcome(rng, group)`, `predict(rng, outcome)`, and what some groups are shifted by."""

    name: str
    rows: int
    shares: tuple[float, ...]
    outcome: Callable
    predict: Callable
    shifts: tuple[float, ...] | None = None

    def draw(self, rng):
        group = rng.choice(len(self.shares), self.rows, p=self.shares)
        y = self.outcome(rng, group)
        shift = np.zeros(len(self.shares)) if self.shifts is None else np.array(self.shifts)
        return group, y, self.predict(rng, y) + shift[group], shift


def _grades(rng, group):
    """Half points from 0 to 25, lower in the later groups."""
    ability = rng.normal(14 - 3.5 * group, 4.0)
    return np.clip(np.round(2 * ability) / 2, 0, 25)


def _incomes(rng, group):
    """Skewed, top-coded at about the highest tenth, none for some."""
    income = np.exp(rng.normal(10 + 0.25 * (group % 3), 0.7))
    return np.where(rng.random(len(group)) < 0.06 * (1 + group % 2), 0.0, np.minimum(income, 60e3))


def _waiting(rng, group):
    return rng.gamma(1.5 + 0.5 * group, 2.0)


def _bimodal(rng, group):
    high = rng.random(len(group)) < 0.25 + 0.2 * group
    return np.where(high, rng.normal(6.0, 1.0, len(group)), rng.standard_t(4, len(group)))


SEEN = (
    Law(
        "grades of a law school, 3 groups: errors point the other way",
        2000,
        (0.8, 0.13, 0.07),
        _grades,
        lambda rng, y: 0.35 * y + 9 + rng.normal(0, 2.0, len(y)),
        (0.0, -0.8, -1.6),
    ),
    Law(
        "incomes, top-coded and with zeros, skewed predictions, 6 groups",
        1500,
        (0.3, 0.25, 0.2, 0.1, 0.1, 0.05),
        _incomes,
        lambda rng, y: 5e3 + 0.6 * y * rng.gamma(4, 0.25, len(y)),
    ),
    Law(
        "waiting times, curved, spread grows with the outcome, 4 groups",
        600,
        (0.45, 0.3, 0.15, 0.1),
        _waiting,
        lambda rng, y: np.log1p(y) ** 2 + (0.2 + 0.2 * y) * rng.normal(size=len(y)),
        (0.0, 0.5, 0.0, 1.0),
    ),
    Law(
        "two humps and heavy tails, waves, 2 groups",
        400,
        (0.7, 0.3),
        _bimodal,
        lambda rng, y: np.sin(y) + 0.3 * y + 0.8 * rng.standard_t(4, len(y)),
    ),
    Law(
        "groups of 10 to 20 people, 5 groups",
        300,
        (0.41, 0.4, 0.08, 0.06, 0.05),
        lambda rng, group: rng.normal(0.4 * (group % 3), 1.0),
        lambda rng, y: np.exp(0.5 * y) + rng.normal(size=len(y)),
    ),
    Law(
        "a constant prediction, 3 groups",
        500,
        (0.5, 0.3, 0.2),
        lambda rng, group: group + rng.normal(size=len(group)),
        lambda rng, y: np.full(len(y), 3.5),
    ),
)


def _points(rng, group):
    """Grade points between 1.5 and 4, the first group's the highest."""
    return np.clip(rng.normal(3.35 - 0.32 * (group > 0) - 0.08 * group, 0.38), 1.5, 4.0)


def _prices(rng, group):
    return 1e5 * np.exp(rng.normal(0.5 * group, 0.5))


def _days(rng, group):
    """Whole numbers of days, most of them 0."""
    return rng.poisson(rng.gamma(0.5, 6.0 + 2.0 * group)).astype(float)


LAWS = (
    Law(
        "like a law school: grade points, 4 groups, lower predictions for three",
        1200,
        (0.82, 0.07, 0.06, 0.05),
        _points,
        lambda rng, y: 2.5 + 0.2 * y + 0.02 * y**3 + rng.normal(0, 0.15, len(y)),
        (0.0, -0.15, -0.05, -0.1),
    ),
    Law(
        "prices with errors in percent, 3 groups",
        800,
        (0.5, 0.35, 0.15),
        _prices,
        lambda rng, y: y**0.9 * np.exp(rng.normal(0, 0.3, len(y))),
    ),
    Law(
        "days of absence, many zeros, 5 groups, one apart",
        1000,
        (0.3, 0.3, 0.2, 0.12, 0.08),
        _days,
        lambda rng, y: 2 + 0.7 * y + (1 + 0.3 * np.sqrt(y)) * rng.gumbel(size=len(y)),
        (0.0, 0.0, 0.0, 0.0, 1.0),
    ),
    Law(
        "two groups that share few outcomes",
        500,
        (0.6, 0.4),
        lambda rng, group: 2.2 * group + rng.normal(size=len(group)),
        lambda rng, y: np.tanh(y) + 0.5 * rng.standard_t(5, len(y)),
    ),
    Law(
        "8 groups of 15 to 200 people",
        700,
        (0.3, 0.25, 0.15, 0.1, 0.08, 0.06, 0.035, 0.025),
        lambda rng, group: rng.uniform(18, 60, len(group)) + 4 * (group % 4),
        lambda rng, y: 0.01 * (y - 40) ** 2 + rng.normal(0, 2.0, len(y)),
    ),
    Law(
        "a constant prediction",
        500,
        (0.7, 0.3),
        lambda rng, group: 0.8 * group + rng.normal(size=len(group)),
        lambda rng, y: np.full(len(y), 0.25),
    ),
)


def weights_of(kind: str, rng, y: np.ndarray, group: np.ndarray) -> np.ndarray | None:
    """None, or 10 and 1: by the outcome, or by chances that depend on outcome and group."""
    if kind == "none":
        return None
    if kind == "outcome":
        return np.where(y > np.quantile(y, 0.6), HEAVY, 1.0)
    chance = 0.15 + 0.35 * (y > np.median(y)) + 0.3 * (group % 2)
    return np.where(rng.random(len(y)) < chance, HEAVY, 1.0)


def truth_of(fit, shift: np.ndarray) -> np.ndarray:
    """The gap of each group to all others, with the shares that they have in these rows."""
    own = shift[[int(level) for (level,) in fit.levels]]
    share = fit.weight / fit.weight.sum()
    return (own - share @ own) / (1 - share)


def covers(gaps, truth: np.ndarray) -> bool:
    """Whether all intervals hold; a gap without an interval promises nothing."""
    return all(
        gap.low is None or gap.low - 1e-9 <= true <= gap.high + 1e-9
        for gap, true in zip(gaps, truth, strict=True)
    )


def replicate(law: Law, kind: str, seed: int) -> dict[str, float]:
    """Did all intervals cover, did each certificate come out falsely?"""
    rng = np.random.default_rng([seed, (*SEEN, *LAWS).index(law), len(kind)])
    group, y, prediction, shift = law.draw(rng)
    weights = weights_of(kind, rng, y, group)
    kinds = {"group": "categorical", "y_true": "continuous"}
    table = fa.AuditTable.of(prediction, {"group": group}, y, weights=weights, kinds=kinds)
    fits = GapFits.of(table)
    gaps = prediction_gap_table(fits, 0.95, seed)
    found = certificates(table, dict.fromkeys(MEASURES, 1.0), alpha=0.05, threshold=None, fits=fits)
    largest = float(np.ptp(shift[np.unique(group)]))
    errors = prediction - y
    means = np.bincount(group, errors) / np.bincount(group)
    return {
        "gaps": covers(gaps.gaps, truth_of(fits.whole, shift)),
        "curve": covers(gaps.curve, np.concatenate([truth_of(fit, shift) for fit in fits.ranges])),
        **{c.measure: c.upper is not None and c.upper < largest for c in found},
        "without": np.mean([gap.low is None for gap in (*gaps.gaps, *gaps.curve)]),
        "mean error": float(means[-1] - means[0]),
        "gap": float(fits.whole.gap[-1] - fits.whole.gap[0]),
    }


def print_table(laws, replications: int, jobs: int) -> None:
    from joblib import Parallel, delayed

    names = ("gaps", "curve", *MEASURES, "without", "mean error", "gap")
    heads = (
        "law",
        "rows",
        "weights",
        "all gaps cover",
        "all of the curve cover",
        *(f"false certificates: {name}" for name in MEASURES),
        "without an interval",
        "mean error, last − first group",
        "prediction gap, last − first group",
    )
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|", flush=True)
    for law in laws:
        for kind in ("none", "outcome", "outcome and group"):
            found = Parallel(n_jobs=jobs)(
                delayed(replicate)(law, kind, seed) for seed in range(replications)
            )
            means = [f"{np.mean([one[name] for one in found]):.3f}" for name in names]
            print(f"| {law.name} | {law.rows:,} | {kind} | {' | '.join(means)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seen", action="store_true", help="the laws of the choice instead")
    args = parser.parse_args()
    print_table(SEEN if args.seen else LAWS, args.replications, args.jobs)


if __name__ == "__main__":
    main()
