"""Which learner made a model, and with what settings: a remedy of trees keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["OldLearner", "learner_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OldLearner:
    """The learner of `FairICPBoostingClassifier` that comes nearest to a model's own.

    Attributes
    ----------
    learner : {"lightgbm", "xgboost"}
    rounds : int or None
        Trees of the model; None where the number means something else, as in a forest.
    learning_rate : float or None
    params : dict
        Under the learner's own names.
    stands_in : str or None
        The class of the model, where another learner stands in for its own.
    """

    learner: str
    rounds: int | None = None
    learning_rate: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    stands_in: str | None = None

    def options(self) -> dict[str, Any]:
        """Parameters of the estimators."""
        known = {"rounds": self.rounds, "learning_rate": self.learning_rate}
        given = {name: value for name, value in known.items() if value is not None}
        return {"learner": self.learner, **given, "params": dict(self.params)}


def learner_of(model: Any) -> OldLearner | None:
    """The learner of a fitted model (or Predictor) of trees; None for every other model.

    Of a pipeline it is that of the last step, of a search that of the best model.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> old = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8)
    >>> learner_of(old).options()["rounds"], learner_of(old).params["num_leaves"]
    (30, 8)
    """
    inner = _innermost(model)
    package = type(inner).__module__.partition(".")[0]
    reader = _READERS.get((package, type(inner).__name__))
    return None if reader is None else reader(inner)


def _innermost(model: Any) -> Any:
    from fairaudit.models import Predictor

    inner = model.model if isinstance(model, Predictor) else model
    for _ in range(8):  # searches of pipelines of searches
        if hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif type(inner).__name__ == "Pipeline" and getattr(inner, "steps", None):
            inner = inner.steps[-1][1]
        else:
            break
    return inner


# -- LightGBM

_LIGHTGBM = {
    "num_leaves": "num_leaves",
    "max_depth": "max_depth",
    "min_child_samples": "min_data_in_leaf",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "min_split_gain": "min_gain_to_split",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "colsample_bytree": "feature_fraction",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
}


def _lightgbm_estimator(model: Any) -> OldLearner:
    settings = model.get_params()
    rounds = settings["n_estimators"]
    if hasattr(model, "booster_"):
        rounds = model.best_iteration_ or model.booster_.current_iteration()
    params = {own: settings[name] for name, own in _LIGHTGBM.items()}
    if settings.get("max_bin") is not None:
        params["max_bin"] = settings["max_bin"]
    return OldLearner(
        learner="lightgbm",
        rounds=int(rounds),
        learning_rate=float(settings["learning_rate"]),
        params=params,
    )


def _lightgbm_booster(model: Any) -> OldLearner:
    import lightgbm

    settings = lightgbm.Booster(model_str=model.model_to_string()).params  # complete
    return OldLearner(
        learner="lightgbm",
        rounds=int(model.current_iteration()),
        learning_rate=float(settings.get("learning_rate", 0.1)),
        params={own: settings[own] for own in (*_LIGHTGBM.values(), "max_bin") if own in settings},
    )


# -- XGBoost

_XGBOOST = (
    *("max_depth", "max_leaves", "min_child_weight", "gamma", "subsample", "colsample_bytree"),
    *("reg_alpha", "reg_lambda", "max_bin"),
)


def _xgboost_estimator(model: Any) -> OldLearner:
    settings = model.get_params()
    rounds, rate = settings.get("n_estimators"), settings.get("learning_rate")
    if hasattr(model, "best_iteration"):
        rounds = model.best_iteration + 1
    given = {name: settings.get(name) for name in (*_XGBOOST, "grow_policy")}
    return OldLearner(
        learner="xgboost",
        rounds=100 if rounds is None else int(rounds),
        learning_rate=0.3 if rate is None else float(rate),
        params={name: value for name, value in given.items() if value is not None},
    )


def _xgboost_booster(model: Any) -> OldLearner:
    config = json.loads(model.save_config())["learner"]["gradient_booster"]
    settings = config.get("tree_train_param", {})
    whole = ("max_depth", "max_leaves", "max_bin")
    params: dict[str, Any] = {
        name: int(settings[name]) if name in whole else float(settings[name])
        for name in _XGBOOST
        if name in settings
    }
    return OldLearner(
        learner="xgboost",
        rounds=int(model.num_boosted_rounds()),
        learning_rate=float(settings.get("eta", 0.3)),
        params=params,
    )


# -- scikit-learn, for which LightGBM stands in: its losses cannot be custom, nor see all rows


def _histograms(model: Any) -> OldLearner:
    settings = model.get_params()
    leaves, depth = settings["max_leaf_nodes"], settings["max_depth"]
    params = {
        "num_leaves": _leaves(depth) if leaves is None else leaves,
        "max_depth": -1 if depth is None else depth,
        "min_data_in_leaf": settings["min_samples_leaf"],
        "lambda_l2": settings["l2_regularization"],
        "feature_fraction_bynode": settings.get("max_features", 1.0),
        "max_bin": settings["max_bins"],
    }
    return OldLearner(
        learner="lightgbm",
        rounds=int(getattr(model, "n_iter_", settings["max_iter"])),
        learning_rate=float(settings["learning_rate"]),
        params=params,
        stands_in=type(model).__name__,
    )


def _gradient_boosting(model: Any) -> OldLearner:
    settings = model.get_params()
    leaves, depth = settings["max_leaf_nodes"], settings["max_depth"]
    params = {
        "num_leaves": _leaves(depth) if leaves is None else leaves,
        "max_depth": -1 if depth is None or leaves is not None else depth,
        "min_data_in_leaf": _rows(settings["min_samples_leaf"]),
    }
    if settings["subsample"] < 1:
        params |= {"bagging_fraction": settings["subsample"], "bagging_freq": 1}
    return OldLearner(
        learner="lightgbm",
        rounds=int(getattr(model, "n_estimators_", settings["n_estimators"])),
        learning_rate=float(settings["learning_rate"]),
        params=params,
        stands_in=type(model).__name__,
    )


def _forest(model: Any) -> OldLearner:
    """Trees that are averaged are deep: only what limits them is carried over."""
    settings = model.get_params()
    params: dict[str, Any] = {}
    if settings["max_depth"] is not None:
        params |= {"max_depth": settings["max_depth"], "num_leaves": _leaves(settings["max_depth"])}
    if _rows(settings["min_samples_leaf"]) > 1:
        params["min_data_in_leaf"] = _rows(settings["min_samples_leaf"])
    return OldLearner(learner="lightgbm", params=params, stands_in=type(model).__name__)


_MOST_LEAVES = 64  # of trees that only their depth limits


def _leaves(depth: int | None) -> int:
    return _MOST_LEAVES if depth is None else max(2, min(2**depth, _MOST_LEAVES))


def _rows(least: float) -> int:
    """A number of rows; a share of them, which scikit-learn allows, is left to the learner."""
    return int(least) if least >= 1 else 20


def _both(package: str, stem: str, reader: Callable[[Any], OldLearner]) -> dict[Any, Any]:
    return {(package, f"{stem}{kind}"): reader for kind in ("Classifier", "Regressor")}


_READERS: dict[tuple[str, str], Callable[[Any], OldLearner]] = {
    **_both("lightgbm", "LGBM", _lightgbm_estimator),
    **_both("xgboost", "XGB", _xgboost_estimator),
    **_both("sklearn", "HistGradientBoosting", _histograms),
    **_both("sklearn", "GradientBoosting", _gradient_boosting),
    **_both("sklearn", "RandomForest", _forest),
    **_both("sklearn", "ExtraTrees", _forest),
    ("lightgbm", "Booster"): _lightgbm_booster,
    ("xgboost", "Booster"): _xgboost_booster,
}
