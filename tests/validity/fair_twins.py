"""Fair twins of the unfair models: the same laws of (A, Y) and of (Yhat, Y), without the effect.

Every row keeps its outcome and attributes and gets the prediction of another row of the same
model: one with the same class, or that with the nearest outcome among `DONORS` times as many.
So a twin has the levels and the shapes of its model, and equalized odds holds (for a continuous
outcome up to the distance to the donor, which is far below the noise of every prediction). On twins
the sizes of tests are measured that are compared by their power on the models.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from fair_models import FairModel
from unfair_models import UNFAIR_MODELS, UnfairModel

__all__ = ["FAIR_TWINS"]

DONORS = 40


def draw_twin(model: UnfairModel, rng: np.random.Generator):
    make = model.draw  # a function of rows and generator, with its settings
    drawn = make.func(model.rows * (1 + DONORS), rng, **make.keywords)
    prediction, y, frame, _ = drawn
    donor = find_donors(y[: model.rows], y[model.rows :], rng) + model.rows
    taken = pd.DataFrame(prediction).iloc[donor].reset_index(drop=True)
    if not isinstance(prediction, pd.DataFrame):
        taken = taken[0].to_numpy()
    return taken, y[: model.rows], frame.iloc[: model.rows], None


def find_donors(y: np.ndarray, others: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For every outcome the place of an equal or of the nearest other one, each used once."""
    order = rng.permutation(len(others))  # equal outcomes: in random order
    order = order[np.argsort(others[order], kind="stable")]
    found = np.empty(len(y), dtype=np.intp)
    for row in rng.permutation(len(y)):
        left = others[order]
        right = min(int(np.searchsorted(left, y[row])), len(left) - 1)
        if left[right] != y[row] and right and _is_nearer(left[right - 1], left[right], y[row]):
            right -= 1
        found[row] = order[right]
        order = np.delete(order, right)
    return found


def _is_nearer(one: float, other: float, value: float) -> bool:
    return abs(value - one) < abs(value - other)


#: by the name of the unfair model; people with several rows have none
FAIR_TWINS = {
    name: FairModel(f"{name}, twin", model.rows, partial(draw_twin, model))
    for name, model in UNFAIR_MODELS.items()
    if "people" not in name
}
