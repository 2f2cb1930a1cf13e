"""Every trained model, and the trivial mixture, on the rows for choosing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.testing.permutations import Permutations

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.remedy.model_path import Path as TrainedPath
    from fairaudit.remedy.rows import Rows

__all__ = ["curve_of"]

_COPIES = 199


def curve_of(
    table: Rows,
    parts: Mapping[str, Index],
    path: TrainedPath,
    features: list[str],
    plan: Plan,
    clear: float,
    progress: Progress | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every model and the trivial mixture on the rows for choosing.

    These are the audited rows where nothing is chosen. ``p_train`` is the test on the training
    rows: training flatters it, so that a model which fails even there is not fair.
    """
    import pandas as pd

    from fairaudit.remedy.choice import dominated
    from fairaudit.remedy.collapse import collapse
    from fairaudit.remedy.tradeoff import MIXTURE, evaluate, mixed, mixture, scores_of

    report = progress or (lambda what, done, total: None)
    total = len(path.models)
    seed = plan.permutations.seed
    looked = parts["choice"] if len(parts["choice"]) else parts["audit"]
    shares = (*MIXTURE, 1.0)

    def tables(rows: Index, scores: list[Array]) -> list[AuditTable]:
        outcome = table.outcome.take(rows)
        attributes = tuple(column.take(rows) for column in table.attributes)
        ids = None if table.ids is None else table.ids.take(rows)
        given: dict[str, Any] = {"ids": ids}
        if outcome.kind.is_categorical:  # one score speaks of the last level, several of each
            levels = list(outcome.levels)
            given |= {"positive": levels[-1]} if len(levels) == 2 else {"model_classes": levels}
        return [AuditTable.of(prediction, attributes, outcome, **given) for prediction in scores]

    def scores_on(rows: Index) -> list[Array]:
        X = table.frame.iloc[rows][features]
        return [table.of_larger_level(scores_of(model, X), model) for model in path.models]

    scores = scores_on(looked)
    on_choice = tables(looked, scores)
    outcome, attributes = on_choice[0].require_outcome(), on_choice[0].attributes
    rows = []
    for number, (value, values) in enumerate(zip(path.values, scores, strict=True)):
        report("curve", number, total + 1)
        rows.append({"mu": value, **evaluate(values, outcome, attributes)})
    curve = pd.DataFrame(rows)
    why = [collapse(table, on_choice[0]) for table in on_choice]
    curve["collapsed"] = pd.Series(why, dtype=object)
    report("curve", total, total + 1)
    mixtures = [
        mixed(scores[0], outcome, share, np.random.default_rng([seed, 0])) for share in shares
    ]
    p_values = _p_values([*on_choice, *tables(looked, mixtures)], plan)
    curve["p_value"] = p_values[:total]
    curve["p_train"] = _p_values(tables(parts["train"], scores_on(parts["train"])), plan)
    line = mixture(scores[0], outcome, attributes, seed, shares=shares)
    line["p_value"] = p_values[total:]
    curve["dominated"] = dominated(curve, line, clear)
    return curve, line


def _p_values(tables: list[AuditTable], plan: Plan) -> list[float]:
    """Of every model, by the same copies; 1 for a constant."""
    from fairaudit.testing.choice_of_law import prepare_copies
    from fairaudit.testing.core import Scope, run_tests
    from fairaudit.testing.statistic import statistic_named

    permutations = Permutations(n=max(_COPIES, int(10 / plan.alpha)), seed=plan.permutations.seed)
    varied = [k for k, table in enumerate(tables) if not table.prediction.constant]
    p = [1.0] * len(tables)
    if not varied:
        return p
    first = tables[0]
    fitted = prepare_copies(first, plan.choice_of_law, permutations)
    scopes = [Scope(tables[k]) for k in varied]
    results = run_tests(scopes, fitted, statistic_named(plan.statistic), permutations)
    for k, result in zip(varied, results, strict=True):
        p[k] = result.p_value
    return p
