"""How much a test that looks in several directions must lose against one that knows where.

    python tests/validity/most_powerful.py

One of m independent normal statistics has a shift, and nobody knows which or with what sign. The
test by the mean of the m likelihood ratios is the best there is in the worst of the m cases: it is
the most powerful one if each is equally likely, and its power is the same in all. Beside it the
smallest p-value after Bonferroni's correction.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

__all__ = ["bonferroni_power", "most_power"]

LEVEL = 0.05


def most_power(directions: int, single: float, *, draws: int = 200_000, seed: int = 0) -> float:
    """Of the best test of all directions, where a test of the right one alone has `single`."""
    z = np.random.default_rng(seed).normal(size=(draws, directions))
    shift = find_shift(single)
    bound = np.quantile(_mean_ratio(z, shift), 1 - LEVEL)
    z[:, 0] += shift
    return float(np.mean(_mean_ratio(z, shift) >= bound))


def bonferroni_power(directions: int, single: float) -> float:
    return float(norm.sf(norm.isf(LEVEL / 2 / directions) - find_shift(single)))


def find_shift(single: float) -> float:
    """That a two-sided test of one direction finds with this power."""
    return float(norm.isf(LEVEL / 2) + norm.ppf(single))


def _mean_ratio(z: np.ndarray, shift: float) -> np.ndarray:
    return np.asarray(logsumexp(np.logaddexp(shift * z, -shift * z), axis=1))


def main() -> None:
    singles = (0.6, 0.8, 0.9)
    print(f"| directions | {' | '.join(f'best of {single}' for single in singles)} | Bonferroni |")
    print("|---" * 5 + "|")
    for directions in (1, 2, 4, 6, 8, 11):
        cells = [f"{most_power(directions, single):.2f}" for single in singles]
        corrected = ", ".join(f"{bonferroni_power(directions, single):.2f}" for single in singles)
        print(f"| {directions} | {' | '.join(cells)} | {corrected} |")


if __name__ == "__main__":
    main()
