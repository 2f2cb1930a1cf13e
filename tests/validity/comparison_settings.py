"""Comparisons on settings that nothing was tuned on, with and without weights.

`python tests/validity/comparison_settings.py --replications 1000` prints a Markdown table. Groups
have 10 to 500 rows of an outcome. With weights, labels of both models are drawn so that the
*weighted* rates are the ones given. A bound from above that lies below the true difference is a
false *not less fair* with the margin at the truth; one from below that lies above it, a false
*less fair*.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np  # noqa: E402

from fairaudit.comparison.bands import gap_difference  # noqa: E402
from fairaudit.comparison.paired_groups import pair_groups  # noqa: E402
from fairaudit.data.table import AuditTable  # noqa: E402

ALPHA = 0.05
#: Weights of labels (of production, of the candidate).
WEIGHTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray] | None] = {
    "none": None,
    "positive in production: 10": lambda first, second: np.where(first, 10.0, 1.0),
    "negative in the candidate: 10": lambda first, second: np.where(second, 1.0, 10.0),
}


@dataclass(frozen=True)
class Setting:
    """Rows and weighted rates by outcome (FPR, TPR) and group; `same`: agreement beyond chance."""

    name: str
    rows: tuple[tuple[int, ...], tuple[int, ...]]
    baseline: tuple[tuple[float, ...], tuple[float, ...]]
    candidate: tuple[tuple[float, ...], tuple[float, ...]]
    same: float
    weights: str = "none"

    @property
    def truth(self) -> float:
        return float(np.ptp(self.candidate, axis=1).max() - np.ptp(self.baseline, axis=1).max())

    def draw(self, rng) -> tuple[AuditTable, AuditTable]:
        shape = np.array(self.rows)
        cell = np.repeat(np.arange(shape.size), shape.ravel())
        y, group = np.divmod(cell, shape.shape[1])
        labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        weigh = WEIGHTS[self.weights]
        weight = np.ones(4) if weigh is None else weigh(*labels.T)
        chances = self._shares() / weight  # drawn more rarely if they are heavier
        upto = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)[cell]
        drawn = (rng.random(len(cell))[:, None] > upto[:, :3]).sum(axis=1)
        names = np.array(list("abcdefgh"))[group]
        given = None if weigh is None else weight[drawn]
        return tuple(
            AuditTable.of(labels[drawn, model], {"group": names}, y, weights=given)
            for model in (0, 1)
        )

    def _shares(self) -> np.ndarray:
        """Of both models' labels (neither, candidate, baseline, both) in every cell, weighted."""
        b, c = (np.array(rates).ravel() for rates in (self.baseline, self.candidate))
        both = self.same * np.minimum(b, c) + (1 - self.same) * b * c
        return np.column_stack([1 - b - c + both, c - both, b - both, both])


_SIZES = ((500, 150, 300), (400, 120, 500))
_MANY = ((400, 90, 25, 150, 10), (200, 45, 14, 70, 10))
SETTINGS = (
    Setting(
        "3 groups, models little alike, gaps in different groups",
        _SIZES,
        ((0.11, 0.19, 0.15), (0.62, 0.40, 0.66)),
        ((0.16, 0.14, 0.12), (0.64, 0.60, 0.38)),
        0.3,
    ),
    Setting(
        "5 groups of 10 to 400, a new gap in a small one",
        _MANY,
        ((0.24,) * 5, (0.83,) * 5),
        ((0.24,) * 5, (0.83, 0.83, 0.61, 0.83, 0.83)),
        0.7,
    ),
    Setting(
        "5 groups of 10 to 400, rare positives, a tweak",
        _MANY,
        ((0.04, 0.05, 0.04, 0.06, 0.05), (0.33, 0.29, 0.37, 0.31, 0.33)),
        ((0.04, 0.05, 0.04, 0.06, 0.05), (0.33, 0.25, 0.37, 0.31, 0.33)),
        0.99,
    ),
    Setting(
        "2 groups, the gap halves",
        ((350, 35), (150, 35)),
        ((0.31, 0.25), (0.74, 0.56)),
        ((0.31, 0.29), (0.74, 0.65)),
        0.6,
    ),
)
#: Made against the bounds: many gaps of one model tie, and the largest of the other stands alone.
_HALVES, _MIDDLE = (0.85,) * 4 + (0.55,) * 4, (0.75, 0.6) + (0.675,) * 6
TIED = (
    Setting(
        "4 groups, gaps of .3 tied, the candidate's largest of .15 alone",
        ((200,) * 4, (200,) * 4),
        ((0.2,) * 4, (0.85, 0.85, 0.55, 0.55)),
        ((0.2,) * 4, (0.75, 0.6, 0.675, 0.675)),
        0.5,
    ),
    Setting(
        "4 groups, gaps of .1 tied in both classes, the candidate's largest of .05 alone",
        ((500,) * 4, (500,) * 4),
        ((0.25, 0.25, 0.15, 0.15), (0.75, 0.75, 0.65, 0.65)),
        ((0.2,) * 4, (0.725, 0.675, 0.7, 0.7)),
        0.5,
    ),
    Setting(
        "8 groups, gaps of .3 tied, the candidate's largest of .15 alone",
        ((200,) * 8, (200,) * 8),
        ((0.2,) * 8, _HALVES),
        ((0.2,) * 8, _MIDDLE),
        0.5,
    ),
    Setting(
        "8 groups, models unlike, gaps of .3 tied in both classes, the candidate's of .28 alone",
        ((200,) * 8, (200,) * 8),
        ((0.45,) * 4 + (0.15,) * 4, _HALVES),
        ((0.3,) * 8, (0.84, 0.56) + (0.7,) * 6),
        0.0,
    ),
    Setting(
        "8 groups, production's largest gap of .15 alone, gaps of .3 tied",
        ((200,) * 8, (200,) * 8),
        ((0.2,) * 8, _MIDDLE),
        ((0.2,) * 8, _HALVES),
        0.5,
    ),
)


@dataclass(frozen=True)
class Confusion:
    """Rows by outcome and group, and by outcome and group the shares of all predicted classes."""

    name: str
    rows: tuple[tuple[int, ...], ...]
    baseline: tuple[tuple[tuple[float, ...], ...], ...]
    candidate: tuple[tuple[tuple[float, ...], ...], ...]
    same: float
    weights: str = "none"

    @property
    def truth(self) -> float:
        gaps = [
            np.ptp(np.array(shares), axis=1).max() for shares in (self.baseline, self.candidate)
        ]
        return float(gaps[1] - gaps[0])

    def draw(self, rng) -> tuple[AuditTable, AuditTable]:
        shape, classes = np.array(self.rows), np.array(["low", "middle", "top"])
        cell = np.repeat(np.arange(shape.size), shape.ravel())
        y, group = np.divmod(cell, shape.shape[1])
        first = rng.random(len(cell))
        second = np.where(rng.random(len(cell)) < self.same, first, rng.random(len(cell)))
        names = np.array(list("abcdefgh"))[group]
        tables = []
        for u, shares in ((first, self.baseline), (second, self.candidate)):
            upto = np.cumsum(np.array(shares)[y, group], axis=1)[:, :2]
            predicted = classes[(u[:, None] > upto).sum(axis=1)]
            tables.append(AuditTable.of(predicted, {"group": names}, classes[y]))
        return tuple(tables)


_PLAIN = ((0.7, 0.2, 0.1), (0.2, 0.6, 0.2), (0.05, 0.25, 0.7))
CONFUSIONS = (
    Confusion(
        "3 classes, 2 groups, no gap in either",
        ((300, 100),) * 3,
        tuple((shares,) * 2 for shares in _PLAIN),
        tuple((shares,) * 2 for shares in _PLAIN),
        0.8,
    ),
    Confusion(
        "3 classes, 3 groups, the candidate calls one group's middle low",
        ((300, 200, 60),) * 3,
        tuple((shares,) * 3 for shares in _PLAIN),
        ((_PLAIN[0],) * 3, (_PLAIN[1], _PLAIN[1], (0.35, 0.45, 0.2)), (_PLAIN[2],) * 3),
        0.8,
    ),
    Confusion(
        "3 classes, 2 groups, a tweak",
        ((500, 40),) * 3,
        tuple((shares,) * 2 for shares in _PLAIN),
        ((_PLAIN[0],) * 2, (_PLAIN[1],) * 2, (_PLAIN[2], (0.05, 0.31, 0.64))),
        1.0,
    ),
    Confusion(
        "3 classes, 2 groups, models unlike, gaps of other classes",
        ((200, 150),) * 3,
        (((0.7, 0.2, 0.1), (0.5, 0.4, 0.1)), (_PLAIN[1],) * 2, (_PLAIN[2],) * 2),
        ((_PLAIN[0],) * 2, (_PLAIN[1],) * 2, ((0.05, 0.25, 0.7), (0.05, 0.45, 0.5))),
        0.2,
    ),
)
ALL = (
    *(replace(each, weights=weights) for each in SETTINGS for weights in WEIGHTS),
    *TIED,
    *CONFUSIONS,
)


def bounds(setting: Setting | Confusion, seed: int) -> tuple[float, float, float, float]:
    tables, several = setting.draw(np.random.default_rng([seed, 4])), isinstance(setting, Confusion)
    groups = pair_groups(*tables, None, every_class=several)
    found = gap_difference(groups, tuple(range(len(groups.parts))), ALPHA, seed)
    return found.low, found.high, found.at_least, found.at_most


def failures(
    setting: Setting | Confusion, replications: int, first: int = 0
) -> tuple[np.ndarray, float]:
    """Shares: interval missed, false *not less fair*, false *less fair*; and the median width."""
    seeds = range(first, first + replications)
    ends, truth = np.array([bounds(setting, seed) for seed in seeds]), setting.truth
    missed = (ends[:, 0] > truth + 1e-12) | (truth - 1e-12 > ends[:, 1])
    shares = np.array([missed, ends[:, 3] < truth - 1e-12, ends[:, 2] > truth + 1e-12]).mean(axis=1)
    return shares, float(np.median(ends[:, 1] - ends[:, 0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    parser.add_argument("--only", default="", help="settings whose name has this")
    args = parser.parse_args()
    print(
        "| setting | weights | true difference | coverage (width) | false *not less fair* | false "
        "*less fair* |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    for setting in ALL:
        if args.only not in setting.name:
            continue
        (missed, passed, blamed), width = failures(setting, args.replications, args.first)
        print(
            f"| {setting.name} | {setting.weights} | {setting.truth:+.2f} | {1 - missed:.3f} "
            f"({width:.2f}) | {passed:.3f} | {blamed:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
