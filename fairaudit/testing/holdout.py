"""The holdout randomization test: does A help a model to predict Yhat from Y on unseen rows?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.permute.copies import stream
from fairaudit.testing.statistic import Bound

__all__ = ["HoldoutGain"]


@dataclass(frozen=True, slots=True)
class HoldoutGain:
    """Gain in held-out squared loss when A is added to predict Yhat from Y (gradient boosting).

    The models are fitted on one half of the rows (`training`); the test permutes and evaluates the
    other half only, which keeps it valid.

    References
    ----------
    Tansey, Veitch, Zhang, Rabadan and Blei (2022). The holdout randomization test. JCGS 31(1).
    """

    max_iter: int = 60

    name = "hrt"
    #: Share of the rows that the models are fitted on.
    training_share = 0.5

    def tested_rows(self, n: int, seed: int) -> Index:
        """The rows that the test permutes; the models are fitted on the others."""
        order = stream(seed, 3).permutation(n)
        return np.sort(order[int(n * self.training_share) :])

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        table.require_varying_prediction()
        testing = self.tested_rows(len(table), seed)
        training = np.setdiff1d(np.arange(len(table)), testing)
        u = table.prediction.matrix()
        outcome, attributes = encode((table.require_outcome(),)), encode(table.attributes)
        both = np.hstack([outcome, attributes])
        alone = [self._fit(outcome[training], column[training], seed) for column in u.T]
        joint = [self._fit(both[training], column[training], seed) for column in u.T]
        u, outcome, attributes = u[testing], outcome[testing], attributes[testing]
        scale = float(u.var(axis=0).sum()) or 1.0
        without = _loss(alone, outcome, u)

        def value(copy: Index) -> float:
            return (without - _loss(joint, np.hstack([outcome, attributes[copy]]), u)) / scale

        return lambda rows: np.array([value(copy) for copy in rows])

    def _fit(self, x: Array, target: Array, seed: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        model = HistGradientBoostingRegressor(
            max_iter=self.max_iter,
            max_leaf_nodes=8,
            min_samples_leaf=10,
            early_stopping=False,
            random_state=seed,
        )
        return model.fit(x, target)


def _loss(models: list[Any], x: Array, u: Array) -> float:
    predicted = np.column_stack([model.predict(x) for model in models])
    return float(((u - predicted) ** 2).mean(axis=0).sum())
