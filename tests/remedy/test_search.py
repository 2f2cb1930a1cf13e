"""The search for a repair: folds, people who meet one model, quality, goals, and the whole way."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.data.columns import columns_from
from fairaudit.data.roles import Roles
from fairaudit.datasets import load_demo
from fairaudit.models import load_model
from fairaudit.remedy.choice import Rule
from fairaudit.remedy.cross_fit import CrossFitted, deal_folds
from fairaudit.remedy.goal import Goal
from fairaudit.remedy.judge import Judge
from fairaudit.remedy.methods import METHODS
from fairaudit.remedy.one_of_models import OneOfModels
from fairaudit.remedy.partly_constant import PartlyConstant
from fairaudit.remedy.pass_chance import KnownCopies, chance_of_table
from fairaudit.remedy.price import quality_of
from fairaudit.remedy.remedy_result import Outcome
from fairaudit.remedy.rows import Rows
from fairaudit.remedy.stages import Shape, Stages


@pytest.mark.parametrize(
    "text",
    ["", "win", "certify", "certify kpc", "certify kpc=none", "loss<=", "auc<=0.5", "kpc=.1"],
)
def test_a_goal_that_is_none_is_one_clear_line(text):
    with pytest.raises(fa.InputError) as error:
        Goal.parse(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text", ["pass", "certify tpr_gap=0.05", "certify kpc=0.01, deo=0.1", "kpc<=0.01", "loss<=0.25"]
)
def test_a_goal_reads_as_it_is_written(text):
    assert Goal.parse(str(Goal.parse(text))) == Goal.parse(text)


def test_folds_keep_people_together_and_spread_classes():
    rng = np.random.default_rng(0)
    people = np.sort(rng.integers(0, 150, 600))
    _, people = np.unique(people, return_inverse=True)
    classes = (rng.random(people.max() + 1) < 0.1).astype(int)[people]
    folds = deal_folds(classes, people, 0, classes=True)
    assert all(len(np.unique(folds[people == person])) == 1 for person in np.unique(people))
    alone = deal_folds(classes, np.arange(600), 0, classes=True)
    counts = np.array([np.bincount(alone[classes == k]) for k in (0, 1)])
    assert (np.ptp(counts, axis=1) <= 1).all()


def test_a_person_meets_one_model_wherever_the_row_stands():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    y = rng.integers(0, 2, 400)
    models = [LogisticRegression(C=c).fit(X, y) for c in (0.001, 1.0, 100.0)]
    one = OneOfModels(models, random_state=3)
    answers = one.predict_proba(X)
    order = rng.permutation(400)
    assert (one.predict_proba(X.iloc[order]) == answers[order]).all()
    shares = np.bincount(one._members(X), minlength=3) / 400
    assert (np.abs(shares - 1 / 3) < 4 * np.sqrt(2 / 9 / 400)).all()
    twins = X.assign(a=0.0, b=0.0, person=np.arange(400))
    by_person = OneOfModels(models, ids="person", random_state=3)
    assert len(np.unique(by_person.predict_proba(twins)[:, 1])) == 3
    assert list(by_person.feature_names_in_) == ["a", "b", "person"]


def test_quality_is_that_of_scikit_learn():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 500)
    score = np.clip(0.3 + 0.3 * y + rng.normal(scale=0.2, size=500), 0, 1).round(2)
    (outcome,) = columns_from({"y": y}, argument="y", outcome=True)
    quality = quality_of(score, outcome)
    assert quality.ranking == pytest.approx(roc_auc_score(y, score))
    assert quality.brier == pytest.approx(brier_score_loss(y, score))
    exact = quality_of(np.where(rng.random(500) < 0.5, 0.0, 1.0) * 0 + y.mean(), outcome)
    assert exact.calibration_error == pytest.approx(0.0, abs=1e-12)


def test_what_a_repair_leaves_lowers_the_chance_and_mere_chance_raises_it():
    rng = np.random.default_rng(3)
    y, sex = rng.integers(0, 2, (2, 800))
    table = fa.AuditTable.of(y + rng.normal(size=800), {"sex": sex}, y)
    chances = [chance_of_table(table, n_fresh=800, left=left).chance for left in (0.0, 0.5, 2.0)]
    assert chances[0] > chances[1] > chances[2]
    mixed = [chance_of_table(table, n_fresh=800, left=2.0, kept=kept).chance for kept in (0.6, 0.2)]
    assert chances[2] < mixed[0] < mixed[1]


def test_all_strengths_of_a_stage_are_judged_by_the_same_answers():
    """Each by its own draws, a search would take the strength with the luckiest ones."""
    rng = np.random.default_rng(11)
    n = 400
    sex, y = rng.integers(0, 2, (2, n))
    X = pd.DataFrame({"x": y + sex + rng.normal(size=n)})
    model = LogisticRegression().fit(X, y)
    base = CrossFitted(
        method=METHODS.get("boosting"),
        values=[0.0],
        train=lambda place: model,
        of_folds=[model],
        scores=[model.predict_proba(X)[:, 1]],
        features=["x"],
        attributes=False,
        notes=(),
    )
    stages = Stages(
        frame=X,
        y=y,
        columns=list(columns_from({"sex": sex}, argument="sensitive_features")),
        folds=np.arange(n) % 4,
        units=np.arange(n),
        ids=None,
        seed=0,
    )
    full, mixed = (
        stages.at(base, 0, strength, shape=Shape(4, 0.003), attributes=True)
        for strength in (1.0, 1.3)
    )
    assert (mixed.whole == full.scores).all() and (mixed.scores != full.scores).any()
    labels = stages.at(base, 0, 1.0, shape=stages.shapes(base, 0)[0], attributes=True)
    assert labels.beside is None and (labels.whole != full.whole).any()
    assert (full.beside == labels.whole).all() and (mixed.beside == labels.whole).all()
    assert mixed.error == full.error > 0
    assert (full.kept, mixed.kept) == (1.0, pytest.approx(0.49))
    constant = stages.dilute(base, 0, 1.3)
    assert (constant.whole == base.scores[0]).all() and constant.kept == pytest.approx(0.7)


def test_no_more_is_promised_of_a_model_than_of_one_that_is_alike():
    rng = np.random.default_rng(4)
    frame = load_demo(1200, seed=4)
    roles = Roles(sensitive=("sex",), outcome="repaid")
    rows = Rows.of(frame, roles, None)
    judge = Judge(
        table=rows,
        rows=np.arange(1200),
        plan=Plan(permutations=fa.Permutations(n=99)),
        coming_rows=1200,
        folds=np.arange(1200) % 5,
    )
    sex = (frame["sex"] == frame["sex"].iloc[0]).to_numpy()
    fair = rng.random(1200)
    unfair = fair + 0.2 * sex
    alone, other = (judge.measure(s, left=0.3)["chance"] for s in (fair, unfair))
    both = [judge.measure(fair, left=0.3, beside=beside)["chance"] for beside in (unfair, fair)]
    assert other < alone and both == [other, alone]


def test_a_search_takes_no_setting_of_one_method():
    frame = load_demo(200)
    given = {"sensitive": "sex", "outcome": "repaid", "method": "search"}
    for setting in ({"mu": 0.5}, {"steps": 5}, {"mus": [0, 1]}):
        with pytest.raises(fa.InputError, match="A search has no value"):
            fa.repair(frame, **given, **setting)
    with pytest.raises(fa.InputError, match="pass_probability"):
        fa.repair(frame, **given, pass_probability=1.0)
    with pytest.raises(fa.InputError, match="Choose by one of"):
        fa.repair(frame, **given, goal="pass", kpc=0.1)
    with pytest.raises(fa.InputError, match="Choose by one of"):
        Rule.of(0.5, Goal(), None)


def test_a_search_on_too_few_rows_is_one_clear_line():
    """Folds of 40 rows are needed; 200 rows leave 140 to train and choose on."""
    with pytest.raises(fa.InputError, match="140 rows to train and choose on are too few") as error:
        fa.repair(load_demo(200), sensitive="sex", outcome="repaid", method="search")
    assert "\n" not in str(error.value) and "split" in error.value.argument


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    pytest.importorskip("lightgbm")
    out = tmp_path_factory.mktemp("search") / "fair.pkl"
    frame = load_demo(1000, seed=5).assign(person=np.arange(1000))
    result = fa.repair(
        frame, fa_roles(), permutations=99, pass_probability=0.3, out=out, force=True, seed=1
    )
    return result, frame, out


def fa_roles():
    from fairaudit.data.roles import Roles

    return Roles(sensitive=("race", "sex", "age"), outcome="repaid", ids="person")


def test_the_search_says_what_it_looked_at(found):
    result, _, _ = found
    assert result.goal == "pass" and result.coming_rows == result.rows["train"]
    assert result.rows["choice"] == 0 and result.rows["train"] + result.rows["audit"] == 1000
    curve = result.curve
    assert {"method", "strength", "levels", "attributes", "chance", "ranking"} <= set(curve.columns)
    assert curve["chosen"].sum() == 1 and curve["mu"][0] == 0 and curve["strength"][0] == 0
    assert not curve["attributes"].any()  # they were not allowed
    assert [offer.what for offer in result.forgone] == ["attributes"]
    assert 0 <= result.chance <= 1
    usable = curve[curve["collapsed"].isna() & ~curve["dominated"] & (curve["chance"] >= 0.3)]
    if result.outcome is not Outcome.NOT_FOUND:
        assert curve[curve["chosen"]]["loss"].iloc[0] == usable["loss"].min()


def test_the_model_of_a_search_is_a_file_like_others(found):
    result, frame, out = found
    same = pickle.loads(out.read_bytes())
    told = result.model.predict_proba(frame)
    assert (same.predict_proba(frame) == told).all()
    assert (result.model.predict_proba(frame.iloc[::-1]) == told[::-1]).all()
    predictor = load_model(str(out))
    assert predictor.features is not None


def test_the_record_of_a_search_is_read_again(found):
    result, _, _ = found
    record = result.to_dict()
    again = type(result).from_dict(record)
    assert again.forgone == result.forgone and again.quality == result.quality
    assert again.chance == result.chance and again.goal == "pass"


def test_a_search_for_numbers_may_be_told_to_draw_nothing():
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(7)
    a, x = rng.normal(size=(2, 400))
    y = x + 0.5 * rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "z": a + 0.5 * y, "a": a, "y": y})
    result = fa.repair(
        frame, sensitive="a", outcome="y", randomize=False, permutations=99, goal="loss<=2"
    )
    assert result.strength == 0 and (result.curve["strength"] == 0).all()
    assert [offer.what for offer in result.forgone] == ["attributes", "randomization"]
    usable = result.curve["collapsed"].isna() & ~result.curve["dominated"]
    best = result.curve[usable]["kpc"].min()
    assert result.curve[result.curve["chosen"]]["kpc"].iloc[0] == best


def test_where_nothing_is_found_the_limit_is_said():
    """Nearly certain to pass an audit of many rows: nothing is, and the best that could be is."""
    pytest.importorskip("lightgbm")
    result = fa.repair(
        load_demo(700, seed=3),
        sensitive="sex,age",
        outcome="repaid",
        randomize=False,
        pass_probability=0.9,
        audit_rows=50_000,
        permutations=99,
    )
    assert result.outcome is Outcome.NOT_FOUND
    limit = result.limit
    assert (limit.rows, limit.chance, limit.attributes) == (50_000, 0.9, False)
    assert limit.sure.loss <= limit.estimate.loss <= result.mixture["loss"].max() + 1e-9
    assert 0.5 <= limit.estimate.ranking <= limit.sure.ranking
    assert limit.passes is None or limit.passes < 50_000
    assert any("have at best a loss of" in sentence for sentence in result.advice)
    assert type(result).from_dict(result.to_dict()).limit == limit
    shown = limit.rounded(0.05)
    assert shown.estimate.loss == pytest.approx(round(limit.estimate.loss / 0.05) * 0.05)


def test_where_more_is_asked_than_can_be_had_the_nearest_is_offered():
    """And whoever asks for what was offered gets a model that is no worse."""
    pytest.importorskip("lightgbm")
    frame = load_demo(700, seed=4)
    asked = {"sensitive": "sex", "outcome": "repaid", "randomize": False, "audit_rows": 250}
    nothing = fa.repair(frame, **asked, pass_probability=0.99, permutations=99)
    assert nothing.outcome is Outcome.NOT_FOUND
    (offer,) = (line for line in nothing.advice if line.startswith("More risk"))
    share = float(offer.split("asks for ")[1].split()[0])
    nearest = nothing.curve[nothing.curve["chosen"]].iloc[0]
    assert share <= nearest["chance"] < share + 0.01
    found = fa.repair(frame, **asked, pass_probability=share, permutations=99)
    chosen = found.curve[found.curve["chosen"]].iloc[0]
    assert found.outcome is not Outcome.NOT_FOUND and chosen["loss"] <= nearest["loss"]
    assert not any(line.startswith("More risk") for line in found.advice)


def test_a_share_of_people_meets_a_constant_and_always_the_same_people():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["a", "b"])
    y = np.where(X["a"] + rng.normal(size=2000) > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    mixed = PartlyConstant(model, share=0.3, constant=[0.9, 0.1], random_state=5)
    told = mixed.predict_proba(X)
    constant = told[:, 1] == 0.1
    assert abs(constant.mean() - 0.3) < 4 * np.sqrt(0.21 / 2000)
    assert (told[~constant] == model.predict_proba(X)[~constant]).all()
    assert (mixed.predict(X)[constant] == "no").all()
    order = rng.permutation(2000)
    assert (mixed.predict_proba(X.iloc[order]) == told[order]).all()
    assert (pickle.loads(pickle.dumps(mixed)).predict_proba(X) == told).all()
    numbers = PartlyConstant(LinearRegression().fit(X, X["b"]), share=0.3, constant=7.0)
    assert abs((numbers.predict(X) == 7.0).mean() - 0.3) < 4 * np.sqrt(0.21 / 2000)


def test_the_more_people_meet_a_constant_the_better_the_chance():
    rng = np.random.default_rng(8)
    y, sex = rng.integers(0, 2, (2, 1200))
    table = fa.AuditTable.of(y + 0.15 * sex + rng.normal(size=1200), {"sex": sex}, y)
    folds = np.arange(1200) % 3
    known = KnownCopies(150, 0)
    shares = (1.0, 0.7, 0.4)
    chances = [
        chance_of_table(table, n_fresh=2400, folds=folds, known=known, kept=kept).chance
        for kept in shares
    ]
    assert chances[0] < chances[1] < chances[2]
    afresh = chance_of_table(table, n_fresh=2400, folds=folds, copies=150, seed=0)
    assert afresh.chance == chances[0]  # copies that are kept are those that would be drawn


def test_folds_that_are_fair_together_and_not_alone_have_a_small_p_value():
    rng = np.random.default_rng(9)
    y, sex = rng.integers(0, 2, (2, 1200))
    folds = np.arange(1200) % 2
    score = y + np.where(folds == 0, 0.4, -0.4) * sex + rng.normal(size=1200)
    table = fa.AuditTable.of(score, {"sex": sex}, y)
    together, alone = (
        chance_of_table(table, n_fresh=1200, folds=some).p_value for some in (None, folds)
    )
    assert alone < 0.02 < together


def test_the_end_of_a_number_has_a_step_of_its_own():
    """A dependence of the oldest alone, which smooth curves do not follow, is removed."""
    from fairaudit.remedy.derived import DerivedPredictor

    rng = np.random.default_rng(10)
    n = 8000
    age, y = rng.integers(18, 90, n), rng.integers(0, 2, n)
    oldest = age >= 87
    X = np.column_stack([1.5 * y + rng.normal(size=n) - 2.0 * oldest, rng.normal(size=n)])
    model = LogisticRegression().fit(X[: n // 2], y[: n // 2])
    rest = slice(n // 2, None)
    stage = DerivedPredictor(model).fit(X[rest], y[rest], sensitive_features={"age": age[rest]})
    answers = stage.predict_proba(X[rest], sensitive_features={"age": age[rest]})[:, 1]
    high = answers > answers.mean()
    for part in (0, 1):
        inside = (y[rest] == part) & oldest[rest]
        others = (y[rest] == part) & ~oldest[rest]
        error = 4 * np.sqrt(0.25 / inside.sum())
        assert abs(high[inside].mean() - high[others].mean()) < error
