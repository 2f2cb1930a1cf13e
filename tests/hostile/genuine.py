"""Honest model files: every estimator, in every form that people save models in."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import fbeta_score, make_scorer, mean_squared_error
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.utils import all_estimators

__all__ = ["FORMS", "MODELS", "X", "fitted", "saved"]

_RNG = np.random.default_rng(3)
X = pd.DataFrame(_RNG.gamma(2.0, size=(60, 3)), columns=["income", "debt", "amount"])
Y = (X["income"] + 0.3 * _RNG.normal(size=60) > 1.5).astype(int).to_numpy()
AMOUNT = (X["income"] * 2 + X["debt"] + 0.1).to_numpy()
_SMALL = {"n_estimators": 3, "max_iter": 50, "cv": 2, "n_subsets": 2, "max_subpopulation": 50}

_CATBOOST = {
    "iterations": 3,
    "verbose": 0,
    "thread_count": 1,
    "allow_writing_files": False,
    "random_seed": 0,
}

Make = Callable[[], Any]
MODELS: dict[str, tuple[list[Make], bool]] = {}  # ways to make one; is it a classifier


def _every(kind: str) -> Iterator[tuple[str, list[Make]]]:
    """Estimators of scikit-learn; some want another estimator, or a list of them."""
    first: Any = LogisticRegression() if kind == "classifier" else Ridge()
    for name, cls in all_estimators(kind):
        yield name, [cls, lambda c=cls: c(first), lambda c=cls: c([("a", first), ("b", first)])]


def _others() -> dict[str, Make]:
    import fairaudit as fa

    logistic = LogisticRegression()
    numbers = ColumnTransformer(
        [("n", StandardScaler(), [0, 1]), ("c", OneHotEncoder(handle_unknown="ignore"), [2])]
    )
    return {
        "pipeline": lambda: make_pipeline(SimpleImputer(), StandardScaler(), logistic),
        "columns": lambda: make_pipeline(numbers, logistic),
        "functions": lambda: make_pipeline(FunctionTransformer(np.log1p), logistic),
        "grid": lambda: GridSearchCV(make_pipeline(StandardScaler(), logistic), {}, cv=2),
        "random search": lambda: RandomizedSearchCV(
            logistic, {"C": [0.1, 1.0]}, n_iter=2, random_state=0
        ),
        "boosted categories": lambda: make_pipeline(
            KBinsDiscretizer(4, encode="ordinal"),
            HistGradientBoostingClassifier(max_iter=3, categorical_features=[0, 2]),
        ),
        "boosted classes": lambda: _Fits(
            lambda X, y: GradientBoostingClassifier(n_estimators=3).fit(X, y + (X[:, 1] > 2))
        ),
        "boosted classes from zero": lambda: _Fits(
            lambda X, y: GradientBoostingClassifier(n_estimators=3, init="zero").fit(
                X, y + (X[:, 1] > 2)
            )
        ),
        "sparse coefficients": lambda: _Fits(
            lambda X, y: LogisticRegression(C=0.1).fit(X, y).sparsify()
        ),
        "kernel of a function": lambda: SVC(kernel=rbf_kernel),
        "distance of a function": lambda: KNeighborsClassifier(metric=mean_squared_error),
        "scored search": lambda: GridSearchCV(
            logistic, {"C": [0.1, 1.0]}, scoring=["roc_auc", "f1"], refit="f1", cv=2
        ),
        "scored by a function": lambda: GridSearchCV(
            logistic, {"C": [0.1, 1.0]}, scoring=make_scorer(fbeta_score, beta=2), cv=2
        ),
        "calibrated forest": lambda: CalibratedClassifierCV(RandomForestClassifier(3), cv=2),
        "parallel forest": lambda: RandomForestClassifier(3, n_jobs=2),
        "xgboost": lambda: _imported("xgboost").XGBClassifier(n_estimators=3, n_jobs=1),
        "lightgbm": lambda: _imported("lightgbm").LGBMClassifier(
            n_estimators=3, n_jobs=1, verbose=-1, min_child_samples=5
        ),
        "catboost": lambda: _imported("catboost").CatBoostClassifier(**_CATBOOST),
        "catboost with another cost": lambda: _imported("catboost").CatBoostClassifier(
            class_weights=[1, 2], **_CATBOOST
        ),
        "catboost in a pipeline": lambda: make_pipeline(
            StandardScaler(), _imported("catboost").CatBoostClassifier(**_CATBOOST)
        ),
        "fairicp": lambda: _remedy(fa.FairICPClassifier(steps=20, validation_fraction=0.0)),
        "fair boosting": lambda: _remedy(
            fa.FairICPBoostingClassifier(rounds=3, validation_fraction=0.0)
        ),
        "fair boosting by xgboost": lambda: _remedy(
            fa.FairICPBoostingClassifier(rounds=3, folds=2, learner="xgboost")
        ),
        "hgr": lambda: _remedy(fa.HGRClassifier(epochs=3, random_state=0)),
        "fdl": lambda: _remedy(fa.FDLClassifier(steps=20, validation_fraction=0.0)),
        "derived": lambda: _Fits(_derive),
    }


def _imported(name: str) -> Any:
    return __import__(name)


class _Fits:
    """Fits a model in a way of its own, where the others have `fit`."""

    def __init__(self, fit: Callable[[Any, Any], Any]) -> None:
        self.fit = fit

    def get_params(self) -> dict[str, Any]:
        return {}


def _remedy(estimator: Any) -> _Fits:
    return _Fits(lambda X, y: estimator.fit(X, y, sensitive_features=np.arange(len(y)) % 2))


def _derive(features: Any, y: Any) -> Any:
    """A last stage that needs no attributes when it predicts."""
    import fairaudit as fa

    stage = fa.DerivedPredictor(LogisticRegression().fit(features, y), use_sensitive=False)
    return stage.fit(features, y, sensitive_features=np.arange(len(y)) % 2)


for _name, _makes in _every("classifier"):
    MODELS[_name] = (_makes, True)
for _name, _makes in _every("regressor"):
    MODELS[_name] = (_makes, False)
for _name, _make in _others().items():
    MODELS[_name] = ([_make], True)


def fitted(name: str) -> tuple[Any, Any] | None:
    """A fitted model and the table that it takes; None if a small table cannot fit it."""
    makes, is_classifier = MODELS[name]
    y = Y if is_classifier else AMOUNT
    both = np.column_stack([y, y[::-1]])
    tables = ((X.to_numpy(), y), (X.to_numpy(), both), (X.to_numpy()[:, 0], y))
    for make in makes:
        for table, outcome in tables:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    model = make()
                    known = model.get_params()
                    if known:
                        model.set_params(**{k: v for k, v in _SMALL.items() if k in known})
                    return model.fit(table, outcome), table
                except (ValueError, TypeError, AttributeError, IndexError, ImportError):
                    continue  # it wants other arguments, several outcomes, or one column
    return None


def _joblib(model: Any, compress: int) -> bytes:
    buffer = io.BytesIO()
    joblib.dump(model, buffer, compress=compress)
    return buffer.getvalue()


def _skops(model: Any) -> bytes:
    import skops.io

    return skops.io.dumps(model)


FORMS: dict[str, tuple[str, Callable[[Any], bytes]]] = {
    "pickle 2": ("model.pkl", lambda m: pickle.dumps(m, protocol=2)),
    "pickle 4": ("model.pkl", lambda m: pickle.dumps(m, protocol=4)),
    "pickle 5": ("model.pkl", lambda m: pickle.dumps(m, protocol=5)),
    "joblib": ("model.joblib", lambda m: _joblib(m, 0)),
    "joblib packed": ("model.joblib", lambda m: _joblib(m, 3)),
    "skops": ("model.skops", _skops),
}


def saved(model: Any, form: str) -> tuple[str, bytes] | None:
    """A file name and its bytes; None where skops cannot save such a model or read its own file."""
    name, dump = FORMS[form]
    if form != "skops":
        return name, dump(model)
    try:
        import skops.io

        data = dump(model)
        skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    except Exception:  # skops raises anything for what it does not know
        return None
    return name, data
