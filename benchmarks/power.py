"""Power at the same size: the paper's statistic (KPC, one neighbor, random ties) and ours.

    FAIRAUDIT_DATA=<folder> python benchmarks/power.py               # simulations and data
    python benchmarks/power.py --reps 20 --only simulations

Both statistics see the same copies (99, level .05), so that they differ in nothing else.
Simulations 1 and 2 of the paper: 500 rows train a linear model of Y on X, 400 rows test it, the
copies use the true density of Y given A; Simulation 2 tests A_1; --settings program takes
attributes and noise from the authors' program instead of the text.
COMPAS and Adult: sex and race, models without them, random splits 60/40, exact copies (Adult: 2,000
rows of the test part).
Size: the prediction is replaced by the outcome plus noise (simulations) or is exchanged at random
within outcome classes (data). CPU is that of a statistic on the data and 99 copies.
The table is Markdown; FAIRAUDIT_DATA is needed for the data only.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.datasets import fetch_adult, fetch_compas  # noqa: E402
from fairaudit.testing.neighbor_statistics import KPCStatistic  # noqa: E402
from fairaudit.testing.statistic import statistic_named  # noqa: E402

COPIES, LEVEL = 99, 0.05
TRAIN, TEST = 500, 400
ADULT_TEST = 2_000
MODELS = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}
#: prediction, outcome, sensitive, density
Case = tuple[np.ndarray, np.ndarray, pd.DataFrame, "str | Callable"]


class Timed:
    """A statistic under another name that adds up its CPU time."""

    def __init__(self, name: str, statistic) -> None:
        self.name, self.statistic, self.seconds = name, statistic, 0.0

    def bind(self, table, *, within_outcome: bool, seed: int):
        start = time.process_time()
        bound = self.statistic.bind(table, within_outcome=within_outcome, seed=seed)
        self.seconds += time.process_time() - start

        def values(rows):
            begin = time.process_time()
            result = bound(rows)
            self.seconds += time.process_time() - begin
            return result

        return values


def statistics() -> list[Timed]:
    paper = KPCStatistic(knn=1, ties="random", how="raw")
    return [Timed("paper", paper), Timed("ours", statistic_named("kpc")[0])]


def simulation(number: int, k: int, w: float, settings: str, seed: int) -> Case:
    """Test rows of Simulation 1 or 2 with the predictions of a linear model."""
    make = fa.datasets.simulate_1 if number == 1 else fa.datasets.simulate_2
    table = make(TRAIN + TEST, k, w=w, seed=seed, settings=settings)
    x, y, variance = table.X, table.Y, table.variance
    a = table.A if number == 1 else table.A[:, :1]
    score = LinearRegression().fit(x[:TRAIN], y[:TRAIN]).predict(x[TRAIN:])

    def log_density(outcome, attributes):
        return -0.5 * (outcome - np.sqrt(w) * attributes.sum(axis=1)) ** 2 / variance

    return score, y[TRAIN:], pd.DataFrame(a[TRAIN:]).add_prefix("a"), log_density


def outcome_and_noise(case: Case, rng: np.random.Generator) -> np.ndarray:
    """A prediction that satisfies equalized odds and follows the outcome as closely."""
    score, y = case[0], case[1]
    slope, level = np.polyfit(y, score, 1)
    left = np.std(score - slope * y - level)
    return slope * y + level + left * rng.normal(size=len(y))


def within_classes(case: Case, rng: np.random.Generator) -> np.ndarray:
    """The predictions, exchanged at random between rows of the same outcome."""
    score = case[0].copy()
    for label in np.unique(case[1]):
        rows = np.flatnonzero(case[1] == label)
        score[rows] = score[rng.permutation(rows)]
    return score


def split(data, model: str, seed: int, most: int | None) -> Case:
    """A model trained on 60 % of the rows and its scores on the others, or on some of them."""
    x, y, sensitive = data.X, data.y.astype(int), data.sensitive
    order = np.random.default_rng(seed).permutation(len(y))
    cut = round(0.6 * len(y))
    train, test = order[:cut], order[cut:][:most]
    fitted = MODELS[model]().fit(x.iloc[train], y[train])
    return fitted.predict_proba(x.iloc[test])[:, 1], y[test], sensitive.iloc[test], "exact"


def cells(args: argparse.Namespace) -> Iterator[tuple[str, int, Callable, Callable]]:
    """Name, replications, seed → case, and what makes its prediction satisfy the null."""
    if args.only != "data":
        for number in (1, 2):
            for k in (1, 5, 10):
                for w in (0.6, 0.9):
                    yield (
                        f"Simulation {number}, K = {k}, w = {w}",
                        args.reps,
                        lambda s, c=(number, k, w, args.settings): simulation(*c, s),
                        outcome_and_noise,
                    )
    folder = os.environ.get("FAIRAUDIT_DATA")
    if args.only == "simulations":
        return
    if folder is None:
        print("FAIRAUDIT_DATA is not set: no rows for COMPAS and Adult", file=sys.stderr)
        return
    for name, load, most in (("COMPAS", fetch_compas, None), ("Adult", fetch_adult, ADULT_TEST)):
        data = load(folder)
        for model in MODELS:
            yield (
                f"{name}, {model}",
                args.splits,
                lambda s, c=(data, model), m=most: split(*c, s, m),
                within_classes,
            )


def p_values(case: Case, prediction: np.ndarray, both: list[Timed], seed: int) -> tuple:
    _, y, sensitive, density = case
    result = fa.equalized_odds_test(
        prediction,
        y_true=y,
        sensitive=sensitive,
        statistic=both,
        density=density,
        permutations=fa.Permutations(n=COPIES, seed=seed),
    )
    return tuple(result.parts[one.name] for one in both)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reps", type=int, default=100, help="of each simulation")
    parser.add_argument("--splits", type=int, default=20, help="of each data set")
    parser.add_argument("--nulls", type=int, default=5, help="null predictions per split")
    parser.add_argument(
        "--settings",
        choices=("text", "program"),
        default="text",
        help="simulations as in the paper's text or in its program",
    )
    parser.add_argument("--only", choices=("simulations", "data"))
    args = parser.parse_args()
    print("| cell | power: paper | ours | size: paper | ours | CPU s: paper | ours | reps |")
    print("|---" * 8 + "|")
    begin = time.process_time()
    for name, reps, make, satisfied in cells(args):
        both, power, size = statistics(), [], []
        for seed in range(reps):
            case = make(seed)
            power.append(p_values(case, case[0], both, seed))
            rng = np.random.default_rng([seed, 1])
            for draw in range(args.nulls if satisfied is within_classes else 1):
                size.append(p_values(case, satisfied(case, rng), both, seed + 1000 * draw))
        shares = [
            f"{share:.2f}" for ps in (power, size) for share in (np.array(ps) <= LEVEL).mean(axis=0)
        ]
        seconds = [f"{one.seconds / (len(power) + len(size)):.3f}" for one in both]
        count = f"{len(power)} / {len(size)}"
        print(f"| {name} | {' | '.join(shares + seconds)} | {count} |", flush=True)
    print(
        f"\n{COPIES} copies, level {LEVEL}; reps: power / size; "
        f"{(time.process_time() - begin) / 60:.1f} CPU minutes"
    )


if __name__ == "__main__":
    main()
