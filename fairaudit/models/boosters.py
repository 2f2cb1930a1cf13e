"""Boosters of xgboost and lightgbm without the estimator around them, and their files."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np

from fairaudit.errors import InputError
from fairaudit.models.answers import (
    Meaning,
    Scores,
    as_table,
    keeps_categories,
    library,
    names_of,
    probabilities,
    quietly,
    with_categories,
)
from fairaudit.models.safe_pickle import Refused, first_line, unreadable
from fairaudit.models.safe_pickle.lightgbm_text import check_lightgbm_text


class XGBoostBooster:
    """A raw `xgboost.Booster`."""

    kind = "xgboost.core.Booster"
    classes = None

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def features(self) -> tuple[str, ...] | None:
        names = names_of(self.model.feature_names)
        automatic = names == tuple(f"f{j}" for j in range(len(names or ())))
        return None if automatic else names

    @property
    def n_features(self) -> int | None:
        return quietly(lambda: int(self.model.num_features()))

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        return names_of(self.model.feature_names) or np.ndarray

    def scores(self, rows: Any) -> Scores:
        objective = self._objective()
        if objective == "multi:softmax":  # its predictions are labels
            margins = self._predict(rows, output_margin=True)
            odds = np.exp(margins - margins.max(axis=1, keepdims=True))
            return probabilities(odds / odds.sum(axis=1, keepdims=True), None)
        values = self._predict(rows)
        if objective.startswith(("binary:", "multi:")):
            return probabilities(values, None)
        return as_table(values, "prediction", Meaning.NUMBERS)

    def labels(self, rows: Any) -> Any:
        return _as_labels(self.scores(rows))

    def _objective(self) -> str:
        import json

        return str(json.loads(self.model.save_config())["learner"]["objective"]["name"])

    def _predict(self, rows: Any, **options: Any) -> Any:
        xgboost = import_module("xgboost")
        if keeps_categories(self.model):
            rows = with_categories(rows)
        best = self.model.attr("best_iteration")
        if best is not None and self.model.attr("scikit_learn") is not None:
            options["iteration_range"] = (0, int(best) + 1)  # as the estimator that saved it
        matrix = xgboost.DMatrix(rows, enable_categorical=not isinstance(rows, np.ndarray))
        return self.model.predict(matrix, **options)


class LightGBMBooster:
    """A raw `lightgbm.Booster`."""

    kind = "lightgbm.basic.Booster"
    classes = None

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def features(self) -> tuple[str, ...] | None:
        return names_of(self.model.feature_name())

    @property
    def n_features(self) -> int | None:
        return int(self.model.num_feature())

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        return self.features or np.ndarray

    def scores(self, rows: Any) -> Scores:
        values = self.model.predict(with_categories(rows))
        text = self.model.model_to_string(num_iteration=1)
        objective = re.search(r"^objective=(\w+)", text, re.MULTILINE)
        chance = ("binary", "multiclass", "multiclassova", "cross_entropy")
        if objective is not None and objective[1] in chance:
            return probabilities(values, None)
        return as_table(values, "prediction", Meaning.NUMBERS)

    def labels(self, rows: Any) -> Any:
        return _as_labels(self.scores(rows))


def _as_labels(scores: Scores) -> Any:
    """Class numbers from the scores of a booster, which keeps no names of classes."""
    if scores.meaning is not Meaning.CLASS_SCORES:
        return scores.values
    if len(scores.names) == 1:
        return (np.asarray(scores.values) > 0.5).astype(int)
    return np.argmax(scores.values, axis=1)


def open_xgboost(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    xgboost = library("xgboost", name)
    model = xgboost.Booster()
    try:
        model.load_model(bytearray(data))
    except (xgboost.core.XGBoostError, ValueError) as error:
        raise InputError(
            f"{name} is not an xgboost model: {first_line(error)}. Save it with save_model."
        ) from error
    return model


def open_lightgbm(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    lightgbm = library("lightgbm", name)
    if not data.startswith(b"tree\n") or b"\nmax_feature_idx=" not in data:
        raise InputError(f"{name} is not a lightgbm model. Save it with booster_.save_model.")
    try:
        check_lightgbm_text(data)
    except Refused as error:
        raise InputError(unreadable(name, error)) from None
    try:
        return lightgbm.Booster(params={"verbosity": -1}, model_str=data.decode("utf-8"))
    except (lightgbm.basic.LightGBMError, ValueError) as error:
        raise InputError(
            f"{name} is not a lightgbm model: {first_line(error)}. "
            "Save it with booster_.save_model."
        ) from error
