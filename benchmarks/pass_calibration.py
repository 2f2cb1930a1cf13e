"""Is the predicted chance to pass true? Last stages of several strengths, and audits of fresh rows.

    FAIRAUDIT_DATA=<folder> python benchmarks/pass_calibration.py --splits 20 --save chances.jsonl
    ... --tasks compas,adult --first 101

The splits are those of remedy_pass.py. On plain boosting stands a last stage that knows the
attributes, as in a search, of every shape and of several strengths. Its chance to pass an audit of
the fresh rows is predicted from the rows to train, and the audit then takes place. Beside it stands
the dependence that is expected to come back, and what fresh rows show of it: the mean over
directions of the attributes within classes of n δ² / σ², without the rows' own noise. `old` is
what would be predicted if a stage left as much as the noise of its rows. `--save` keeps what is
finished.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from itertools import product  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from remedy_pass import PASSES  # noqa: E402
from remedy_rivals import Split  # noqa: E402
from saved_runs import add_splits, run_splits  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.data.columns import columns_from  # noqa: E402
from fairaudit.remedy.cross_fit import CrossFitted, deal_folds  # noqa: E402
from fairaudit.remedy.methods import METHODS  # noqa: E402
from fairaudit.remedy.pass_chance import KnownCopies, chance_of_table  # noqa: E402
from fairaudit.remedy.stages import SHAPES, Stages  # noqa: E402

STRENGTHS = (1.0, 1.2)


def cross_fit_boosting(split: Split, attributes: dict[str, Any]) -> tuple[CrossFitted, Any, Any]:
    """Plain boosting, the folds, and scores of the fresh rows: each by one model of the folds."""
    units = np.arange(len(split.y))
    folds = deal_folds(split.y, units, split.seed, classes=True)
    scores, fresh = np.empty(len(units)), []
    for fold in range(int(folds.max()) + 1):
        rows = np.flatnonzero(folds != fold)
        some = {name: column[rows] for name, column in attributes.items()}
        model = fa.FairICPBoostingClassifier(0.0)
        model.fit(split.X.iloc[rows], split.y[rows], sensitive_features=some)
        scores[folds == fold] = model.predict_proba(split.X[folds == fold])[:, 1]
        fresh.append(model.predict_proba(split.fresh_X)[:, 1])
    met = np.random.default_rng([split.seed, 5]).integers(0, len(fresh), len(split.fresh_X))
    base = CrossFitted(
        method=METHODS.get("boosting"),
        values=[0.0],
        train=lambda place: model,
        of_folds=[model],
        scores=[scores],
        features=list(split.X.columns),
        attributes=False,
        notes=(),
    )
    return base, folds, np.stack(fresh)[met, np.arange(len(met))]


def find_left(model: Any, scores: Any, asked: dict[str, Any], classes: Any, rows: int) -> float:
    """What fresh rows show of the dependence of expected answers, for a fit to so many rows."""
    told = model.find_level_chances(model.read_scores(scores, len(scores)), asked)
    values = model.answers_.values[:, -1]
    expected, squares = told @ values, told @ values**2
    psi, found = model.basis_(model.basis_.read(asked)), []
    for part in np.unique(classes):
        inside = classes == part
        functions = psi[inside] - psi[inside].mean(axis=0)
        left, size, _ = np.linalg.svd(functions, full_matrices=False)
        directions = left[:, size > 1e-6 * size[0]]
        own = expected[inside] - expected[inside].mean()
        drawn = squares[inside].mean() - expected[inside].mean() ** 2
        found.append((((directions.T @ own) ** 2).mean() - own.var()) / drawn)
    return float(np.mean(found)) * rows / len(scores)


def run_split(task: str, number: int) -> Iterator[dict[str, Any]]:
    split = Split(task, number)
    attributes = {name: split.A[name].to_numpy() for name in split.names}
    base, folds, fresh = cross_fit_boosting(split, attributes)
    stages = Stages(
        frame=split.X,
        y=split.y,
        columns=list(columns_from(attributes, argument="sensitive_features")),
        folds=folds,
        units=np.arange(len(split.y)),
        ids=None,
        seed=number,
    )
    asked = {name: split.fresh_A[name].to_numpy() for name in split.names}
    uniforms = np.random.default_rng([number, 6]).random((len(fresh), 3))
    known, growth = KnownCopies(199, number), len(fresh) / len(split.y)
    for shape, strength in product(SHAPES, STRENGTHS):
        candidate = stages.at(base, 0, strength, shape=shape, attributes=True)
        table = fa.AuditTable.of(candidate.whole, attributes, split.y)
        assert candidate.error is not None
        lefts = {"chance": candidate.error, "old": 1.0}
        model = stages.model_of(candidate)
        answers = model.draw_answers(fresh, asked, uniforms)[:, 1]
        yield {
            "task": task,
            "split": number,
            "levels": shape.levels,
            "temperature": shape.temperature,
            "strength": strength,
            "left": candidate.error,
            "seen": find_left(model, fresh, asked, split.truth.codes, len(split.y)),
            **{
                name: chance_of_table(
                    table, n_fresh=len(fresh), left=left * growth, known=known, kept=candidate.kept
                ).chance
                for name, left in lefts.items()
            },
            **split.measure(answers),
        }


def print_table(runs: list[dict[str, Any]]) -> None:
    print(
        "| task | levels | strength | splits | left, expected | seen | predicted"
        " | if its rows' noise were left | passed | loss | AUC |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    keys = ["task", "levels", "strength"]
    for (task, levels, strength), part in pd.DataFrame(runs).groupby(keys, sort=False):
        means = part[["left", "seen", "chance", "old", "loss", "ranking"]].mean()
        print(
            f"| {task} | {levels} | {strength:g} | {len(part)} | {means['left']:.2f}"
            f" | {means['seen']:.2f} | {means['chance']:.2f}"
            f" | {means['old']:.2f} | {(part['p'] > PASSES).mean():.2f} | {means['loss']:.3f}"
            f" | {means['ranking']:.3f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_splits(parser, tasks="compas", splits=20, save="chances.jsonl")
    print_table(run_splits(parser.parse_args(), run_split))


if __name__ == "__main__":
    main()
