"""Models of catboost: its estimators, and files of its own (``.cbm``)."""

from __future__ import annotations

from typing import Any

from fairaudit.errors import InputError
from fairaudit.models.answers import library, quietly
from fairaudit.models.safe_pickle import first_line
from fairaudit.models.safe_pickle.catboost_state import MAGIC

__all__ = ["catboost_features", "open_catboost"]


def catboost_features(model: Any) -> tuple[str, ...] | None:
    """The names of all columns, the numbers "0", "1", … where it was fitted on none."""
    names = quietly(lambda: tuple(map(str, model.feature_names_)))
    return names or None


def open_catboost(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    catboost = library("catboost", name)
    if not data.startswith(MAGIC):
        raise InputError(f"{name} is not a catboost model. Save it with save_model('model.cbm').")
    try:
        held = catboost.CatBoost().load_model(blob=data)
        if len(held.classes_):
            return catboost.CatBoostClassifier().load_model(blob=data)
        # without its loss one of counts would answer with logarithms
        loss = quietly(lambda: str(held.get_all_params()["loss_function"]))
        return catboost.CatBoostRegressor(loss_function=loss or "RMSE").load_model(blob=data)
    except (catboost.CatBoostError, ValueError) as error:
        raise InputError(
            f"{name} is not a catboost model: {first_line(error)}. "
            "Save it with save_model('model.cbm')."
        ) from error
