"""The settings of a fitted model of trees as those of a boosted remedy."""

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairaudit as fa
from fairaudit.models import predictor_of
from fairaudit.remedy.old_learner import learner_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
SEX = RNG.integers(0, 2, 300)
Y = (X[:, 0] + SEX + RNG.normal(size=300) > 0.5).astype(int)


def test_lightgbm_trains_the_same_trees():
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"num_leaves": 5, "min_child_samples": 9, "reg_lambda": 2.0, "colsample_bytree": 0.9}
    old = lightgbm.LGBMClassifier(
        n_estimators=12, learning_rate=0.2, n_jobs=1, verbose=-1, random_state=0,
        deterministic=True, force_row_wise=True, **settings,
    ).fit(X, Y)  # fmt: skip
    found = learner_of(predictor_of(old))
    assert (found.learner, found.rounds, found.learning_rate) == ("lightgbm", 12, 0.2)
    again = fa.FairICPBoostingClassifier(0, **found.options(), validation_fraction=0)
    again.fit(X, Y, sensitive_features={"sex": SEX})
    np.testing.assert_allclose(again.predict_proba(X), old.predict_proba(X), atol=1e-9)
    assert learner_of(old.booster_).params["num_leaves"] == 5


def test_xgboost_trains_the_same_trees():
    xgboost = pytest.importorskip("xgboost")
    old = xgboost.XGBClassifier(
        n_estimators=12, learning_rate=0.2, max_depth=3, reg_lambda=2.0, n_jobs=1,
        base_score=float(Y.mean()),
    ).fit(X, Y)  # fmt: skip
    found = learner_of(old)
    assert (found.learner, found.rounds, found.learning_rate) == ("xgboost", 12, 0.2)
    again = fa.FairICPBoostingClassifier(0, **found.options(), validation_fraction=0)
    again.fit(X, Y, sensitive_features={"sex": SEX})
    np.testing.assert_allclose(again.predict_proba(X), old.predict_proba(X), atol=1e-3)
    bare = learner_of(old.get_booster())
    assert (bare.rounds, bare.params["max_depth"]) == (12, 3)
    assert bare.learning_rate == pytest.approx(0.2)


def test_lightgbm_stands_in_for_scikit_learn():
    inner = HistGradientBoostingClassifier(max_iter=20, learning_rate=0.2, max_leaf_nodes=6)
    search = GridSearchCV(make_pipeline(StandardScaler(), inner), {}, cv=2).fit(X, Y)
    found = learner_of(search)
    assert (found.learner, found.rounds, found.learning_rate) == ("lightgbm", 20, 0.2)
    assert found.params["num_leaves"] == 6
    assert found.stands_in == "HistGradientBoostingClassifier"
    pytest.importorskip("lightgbm")
    again = fa.FairICPBoostingClassifier(0, **found.options(), validation_fraction=0)
    again.fit(X, Y, sensitive_features={"sex": SEX})
    assert np.mean(again.predict(X) == search.predict(X)) > 0.9


def test_other_models_of_trees_and_others():
    old = GradientBoostingRegressor(n_estimators=7, subsample=0.5, max_depth=2).fit(X, X[:, 0])
    found = learner_of(old)
    assert found.rounds == 7
    assert found.params["num_leaves"] == 4
    assert found.params["bagging_fraction"] == 0.5
    forest = learner_of(RandomForestClassifier(5, min_samples_leaf=10).fit(X, Y))
    assert forest.rounds is None
    assert forest.options() == {"learner": "lightgbm", "params": {"min_data_in_leaf": 10}}
    assert learner_of(LogisticRegression().fit(X, Y)) is None
    assert learner_of(len) is None
