"""Simultaneous coverage and false certificates in groups of 5 to 500, with and without weights.

`python tests/validity/small_groups.py --replications 1000` prints a Markdown table. Numbers of
people by outcome and group are fixed. With weights, labels are drawn so that the *weighted* rates
are the ones given. A certificate is false where the tolerance is at the true size.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402

MEASURES = ("tpr_gap", "equalized_odds_difference", "deo")
#: Weights of negative and positive labels.
WEIGHTS = {"none": None, "positive 10": (1.0, 10.0), "negative 10": (10.0, 1.0)}


@dataclass(frozen=True)
class Setting:
    """People and weighted rates by outcome (FPR, TPR) and group."""

    name: str
    people: tuple[tuple[int, ...], tuple[int, ...]]
    rates: tuple[tuple[float, ...], tuple[float, ...]]
    weights: str = "none"

    def draw(self, rng):
        people, rates = np.array(self.people), np.array(self.rates)
        cell = np.repeat(np.arange(people.size), people.ravel())
        y, group = np.divmod(cell, people.shape[1])
        weight = np.array(WEIGHTS[self.weights] or (1.0, 1.0))
        label = (rng.random(len(cell)) < self._chances(rates, weight).ravel()[cell]).astype(int)
        return label, group, y, None if self.weights == "none" else weight[label]

    @staticmethod
    def _chances(rates: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Of a positive label: drawn more rarely if it is heavier."""
        return rates / weight[1] / (rates / weight[1] + (1 - rates) / weight[0])

    def shares(self) -> np.ndarray:
        """Of the groups in the weight of their outcome."""
        rates, weight = np.array(self.rates), np.array(WEIGHTS[self.weights] or (1.0, 1.0))
        chance = self._chances(rates, weight)
        total = np.array(self.people) * (chance * weight[1] + (1 - chance) * weight[0])
        return total / total.sum(axis=1, keepdims=True)

    def gaps(self) -> np.ndarray:
        """Of every group to all others."""
        share, rates = self.shares(), np.array(self.rates)
        return rates - ((share * rates).sum(axis=1, keepdims=True) - share * rates) / (1 - share)

    def sizes(self) -> dict[str, float]:
        rates = np.array(self.rates)
        gaps = np.ptp(rates, axis=1)
        deo = np.abs(rates - (self.shares() * rates).sum(axis=1, keepdims=True)).sum()
        return dict(zip(MEASURES, map(float, (gaps[1], gaps.max(), deo)), strict=True))


SETTINGS = (
    Setting("4 groups, 5 people in every cell", ((5,) * 4,) * 2, ((0.35,) * 4, (0.65,) * 4)),
    Setting(
        "10, 200 and 200 people",
        ((10, 200, 200), (10, 200, 200)),
        ((0.12, 0.08, 0.1), (0.86, 0.92, 0.9)),
    ),
    Setting(
        "5, 25, 120 and 500 people",
        ((5, 25, 120, 500), (500, 5, 25, 120)),
        ((0.2, 0.15, 0.2, 0.25), (0.45, 0.6, 0.5, 0.55)),
    ),
    Setting("5 and 300 people, rare labels", ((5, 300), (300, 5)), ((0.03, 0.05), (0.96, 0.93))),
    Setting(
        "8 groups of 5 to 40 people",
        ((5, 5, 5, 10, 10, 20, 20, 40), (40, 20, 20, 10, 10, 5, 5, 5)),
        ((0.3, 0.3, 0.4, 0.3, 0.4, 0.3, 0.4, 0.3), (0.75,) * 8),
    ),
)
ALL = tuple(replace(each, weights=weights) for each in SETTINGS for weights in WEIGHTS)


def replicate(setting: Setting, seed: int) -> dict[str, float]:
    """Did all intervals cover, did each certificate come out falsely?"""
    label, group, y, weights = setting.draw(np.random.default_rng([seed, 20]))
    options = {"kinds": {"group": "categorical"}, "weights": weights}
    table = fa.gap_intervals(label, {"group": group}, y, seed=seed, **options)
    truth = setting.gaps()
    places = {"FPR": 0, "TPR": 1}
    held = [
        gap.low <= truth[places[gap.rate], int(gap.levels[0])] <= gap.high for gap in table.gaps
    ]
    assert len(held) == np.array(setting.people).size
    limits = {name: max(size, 1e-12) for name, size in setting.sizes().items()}
    found = fa.certify(label, {"group": group}, y, limits, **options)
    return {"covered": all(held)} | {one.measure: one.holds for one in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    args = parser.parse_args()
    names = ("covered", *MEASURES)
    print(
        "| setting | weights | all intervals cover | false certificates: "
        + " | ".join(MEASURES)
        + " |"
    )
    print("|---" * (2 + len(names)) + "|", flush=True)
    for setting in ALL:
        found = [replicate(setting, seed) for seed in range(args.replications)]
        shares = [np.mean([one[name] for one in found]) for name in names]
        print(
            f"| {setting.name} | {setting.weights} | "
            + " | ".join(f"{share:.3f}" for share in shares)
            + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()
