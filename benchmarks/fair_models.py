"""Fair classifiers of fairlearn, scored as benchmarks of fairness methods do, and audited.

    FAIRAUDIT_DATA=<folder> python benchmarks/fair_models.py --seeds 5

As FFB (Han et al. 2024) and ABCFair (Defrance et al. 2024): methods by data sets by formats of the
sensitive attributes, on labels of held-out rows. Formats: *one* (sex), *crossed* (sex and race,
each combination a group), *all* (with age, where the data have it: groups of age up to its median
and above, for the methods; the audit takes age as it is). Methods: logistic regression, boosting,
reduction (exponentiated gradient, equalized odds), thresholds (for each group, equalized odds).
Half of the rows train, the other half is scored: misclassified; EOD, the largest difference of a
true or false positive rate between groups of the format; rejected, the share of seeds where our
audit of the labels finds that they depend on the attributes of the format, given the outcome, at
level .05; on all: the same for all attributes, also those that the method did not see. `--rows` is
the most rows of a table. Means over the seeds where a method ran (thresholds cannot where a group
lacks a class).
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from fairlearn.metrics import equalized_odds_difference  # noqa: E402
from fairlearn.postprocessing import ThresholdOptimizer  # noqa: E402
from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.datasets import fetch_acs_income, fetch_adult, fetch_compas  # noqa: E402

TASKS = {
    "compas": lambda: fetch_compas(),
    "adult": lambda: fetch_adult(),
    "acsincome": lambda: fetch_acs_income(states=("ne",)),
}
METHODS = ("logistic", "boosting", "reduction", "thresholds")


def formats(names: list[str]) -> dict[str, list[str]]:
    race = next(name for name in names if name in ("race", "black"))
    made = {"one": ["sex"], "crossed": ["sex", race]}
    return made | ({"all": names} if len(names) > 2 else {})


def grouped(attributes: pd.DataFrame) -> pd.Series:
    """Numbers above and up to the median, crossed with everything else."""
    parts = [
        column > column.median() if column.nunique() > 10 else column
        for _, column in attributes.items()
    ]
    return pd.concat(parts, axis=1).astype(str).agg("|".join, axis=1)


def plain():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))


def predicted(method: str, train, test, seed: int) -> np.ndarray:
    (X, y, groups), (fresh, _, asked) = train, test
    if method == "logistic":
        return plain().fit(X, y).predict(fresh)
    if method == "boosting":
        return HistGradientBoostingClassifier(random_state=seed).fit(X, y).predict(fresh)
    if method == "reduction":
        scaler = StandardScaler().fit(X)
        model = ExponentiatedGradient(
            LogisticRegression(max_iter=200), EqualizedOdds(), max_iter=30
        )
        model.fit(scaler.transform(X), y, sensitive_features=groups.to_numpy())
        return model.predict(scaler.transform(fresh), random_state=seed)
    model = ThresholdOptimizer(
        estimator=plain(), constraints="equalized_odds", predict_method="predict_proba"
    )
    model.fit(X, y, sensitive_features=groups)
    return model.predict(fresh, sensitive_features=asked, random_state=seed)


def found(labels, y, attributes: pd.DataFrame, seed: int) -> bool:
    if len(set(labels)) == 1:  # a constant depends on nothing
        return False
    few = fa.Permutations(n=199, seed=seed)
    test = fa.equalized_odds_test(labels, y_true=y, sensitive=attributes, permutations=few)
    return test.p_value <= 0.05


def run(task: str, rows: int, seed: int) -> list[dict]:
    data = TASKS[task]()
    order = np.random.default_rng(seed).permutation(len(data.y))[:rows]
    parts = order[: len(order) // 2], order[len(order) // 2 :]
    X, y, attributes = (pd.DataFrame(data.X), np.asarray(data.y), pd.DataFrame(data.sensitive))
    lines = []
    for name, chosen in formats(list(attributes)).items():
        groups = grouped(attributes[chosen])
        train, test = ((X.iloc[part], y[part], groups.iloc[part]) for part in parts)
        held = attributes.iloc[parts[1]].reset_index(drop=True)
        for method in METHODS:
            try:
                labels = np.asarray(predicted(method, train, test, seed)).astype(int)
            except ValueError as error:  # a group without one of the classes
                print(f"{task}, {name}, {method}, seed {seed}: {error}"[:150], file=sys.stderr)
                continue
            lines.append(
                {
                    "task": task,
                    "format": name,
                    "method": method,
                    "misclassified": float((labels != test[1]).mean()),
                    "EOD": equalized_odds_difference(test[1], labels, sensitive_features=test[2]),
                    "rejected": found(labels, test[1], held[chosen], seed),
                    "on all": found(labels, test[1], held, seed),
                }
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--rows", type=int, default=10_000)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        line
        for task in args.tasks.split(",")
        for seed in range(args.seeds)
        for line in run(task, args.rows, seed)
    ]
    table = pd.DataFrame(lines).groupby(["task", "format", "method"], sort=False).mean()
    print("| " + " | ".join([*table.index.names, *table.columns]) + " |")
    print("|" + "---|" * (3 + len(table.columns)))
    for index, values in table.iterrows():
        cells = [f"{values['misclassified']:.3f}", *(f"{v:.2f}" for v in values.iloc[1:])]
        print("| " + " | ".join([*index, *cells]) + " |")


if __name__ == "__main__":
    main()
