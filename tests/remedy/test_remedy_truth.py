"""A remedy never says more than it knows: collapsed, dominated and unseen violations."""

import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.datasets import load_demo
from fairaudit.evidence.power.carried import carried_power
from fairaudit.remedy import training_job
from fairaudit.remedy.choice import Rule, dominated
from fairaudit.remedy.collapse import collapse
from fairaudit.remedy.methods import METHODS
from fairaudit.remedy.model_path import Path
from fairaudit.remedy.remedy_result import Outcome
from fairaudit.remedy.workflow import repair
from fairaudit.testing.core import run_test
from fairaudit.testing.statistic import statistic_named
from fairaudit_cli import main as cli

QUICK = fa.Permutations(n=199)


def census(n, seed=0):
    """A rare outcome (6 % positives) that is tied to race, sex and age."""
    rng = np.random.default_rng(seed)
    race = rng.choice(["white", "black", "asian"], n, p=[0.8, 0.13, 0.07])
    male, age = rng.random(n) < 0.48, rng.integers(16, 85, n)
    school = rng.normal(size=n) + 0.3 * (race == "white")
    weeks = np.clip(rng.normal(30, 15, n) + 12 * male - 0.02 * (age - 45) ** 2, 0, 52)
    stocks = np.maximum(0, rng.normal(-1, 1.5, n) + 0.04 * (age - 40) + 0.5 * school)
    logit = -8.75 + 2 * school + 2 * male + 0.08 * weeks - 0.003 * (age - 50) ** 2 + stocks
    return pd.DataFrame(
        {
            "school": school.round(2),
            "weeks": weeks.round(),
            "stocks": stocks.round(2),
            "race": race,
            "sex": np.where(male, "male", "female"),
            "age": age,
            "rich": (rng.random(n) < expit(logit)).astype(int),
        }
    )


def auc(score, y):
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(y, score)


# ---------------------------------------------------------------- models that need no training


class Told(ClassifierMixin, BaseEstimator):
    """Scores that are a fixed function of the (standardized) features x, z and noise."""

    def __init__(self, x=0.0, z=0.0, noise=0.0, shift=0.0):
        self.x, self.z, self.noise, self.shift = x, z, noise, shift
        self.classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        X = np.asarray(X)
        raw = self.shift + X @ np.array([self.x, self.z, self.noise])
        return np.column_stack([1 - expit(raw), expit(raw)])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(int)


class ToldNumber(RegressorMixin, Told):
    def predict(self, X):
        return self.shift + np.asarray(X) @ np.array([self.x, self.z, self.noise])

    predict_proba = property()


def lending(n, gap=1.0, seed=0):
    """x tells the outcome, z is a proxy for sex."""
    rng = np.random.default_rng(seed)
    y, sex = rng.integers(0, 2, (2, n))
    return pd.DataFrame(
        {
            "x": 1.5 * y + rng.normal(size=n),
            "z": gap * sex + rng.normal(size=n),
            "noise": rng.normal(size=n),
            "sex": np.where(sex == 1, "m", "f"),
            "y": y,
        }
    )


@pytest.fixture
def told(monkeypatch):
    """Put these models in the place of training; values of μ are 0, 0.5, 0.6, …"""

    def give(*models):
        values = [0.0, *(0.5 + 0.1 * k for k in range(len(models) - 1))]
        path = Path(values, list(models), [None] * len(models), False)
        monkeypatch.setattr(
            training_job, "train_path", lambda *_, **__: replace(path, models=list(models))
        )
        return {"sensitive": "sex", "outcome": "y", "mus": values[1:], "permutations": QUICK}

    return give


PLAIN = Told(x=1.0, z=0.8)
FAIR = Told(x=1.0)


# ---------------------------------------------------------------- 1: collapsed models


def tables(*scores, y, sex):
    names = sorted(set(y)) if np.asarray(scores[0]).ndim > 1 else None
    return [
        AuditTable.of(np.asarray(score), {"sex": sex}, y, model_classes=names) for score in scores
    ]


def test_what_counts_as_collapsed():
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 1000))
    good = expit(2 * y - 1 + rng.normal(size=1000))
    weaker = expit(0.6 * (2 * y - 1) + rng.normal(size=1000))
    few = np.where(np.arange(1000) < 5, 0.1, 0.5 + good / 3)
    often = np.clip(good + 0.35, 0, 1)
    noise = rng.random(1000)
    made = tables(good, weaker, 0.5 + good / 3, few, often, noise, y=y, sex=sex)
    said = [collapse(table, made[0]) for table in made]
    assert said[:2] == [None, None]
    assert said[2] == "it answers 1 in all 1,000 rows"
    assert said[3] == "it answers 1 in all but 5 of 1,000 rows"
    assert re.fullmatch(
        r"it answers 1 in 8\d\.\d % of the rows; the outcome has 5\d\.\d %, the "
        r"old model said it in 5\d\.\d %",
        said[4],
    ), said[4]
    assert re.fullmatch(r"its ranking is lost \(AUC 0\.(4|5)\d, before 0\.9\d\)", said[5]), said[5]


def test_a_model_without_a_ranking_to_lose_has_not_lost_it():
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 400))
    made = tables(rng.random(400), rng.random(400), y=y, sex=sex)
    assert collapse(*made) is None


@pytest.mark.parametrize("seed", range(3))
def test_a_lost_ranking_is_seen_on_few_rows_too(seed):
    """Its sampling error is counted: AUC of pure noise can lie well above 1/2."""
    lucky = 0
    for k in range(100):
        rng = np.random.default_rng([seed, k])
        y, sex = rng.integers(0, 2, (2, 60))
        good = expit(y + rng.normal(size=60) / 2)
        made = tables(rng.random(60), good, y=y, sex=sex)
        lucky += collapse(*made) is None
    assert lucky <= 16  # 5 % at most, binomial bound at 1e-4


def test_collapsed_numbers_and_classes():
    rng = np.random.default_rng(0)
    sex, y = rng.integers(0, 2, 600), rng.normal(size=600)
    good = y + rng.normal(size=600) / 2
    made = tables(good, good / 20, good + 3, rng.normal(size=600), 0.4 * good, y=y, sex=sex)
    said = [collapse(table, made[0]) for table in made]
    assert said[0] is None and said[4] is None
    assert said[1].startswith("its predictions are nearly constant (standard deviation 0.05")
    assert said[2].startswith("its mean prediction is 2.98; the mean outcome is -0.0")
    assert said[3].startswith("its ranking is lost (correlation with the outcome ")
    kind = rng.choice(["a", "b", "c"], 600)
    chances = (kind[:, None] == ["a", "b", "c"]) + rng.random((600, 3))
    chances /= chances.sum(axis=1, keepdims=True)
    flat = 0.6 * np.array([1.0, 0, 0]) + 0.4 * chances
    made = tables(chances, flat, y=kind, sex=sex)
    assert collapse(made[0], made[0]) is None
    assert collapse(made[1], made[0]) == "it answers a in all 600 rows"


def test_a_collapsed_model_is_refused_and_written_only_by_force(
    told, tmp_path, capsys, monkeypatch
):
    """One answer for everybody: exit status 3, a sentence that says so, and no file."""
    told(PLAIN, Told(x=0.1, shift=3.0))
    monkeypatch.chdir(tmp_path)
    lending(1200).to_csv("train.csv", index=False)
    args = [
        "remedy",
        "--data",
        "train.csv",
        "--sensitive",
        "sex",
        "--outcome",
        "y",
        "--mu",
        "0.5",
        "--mus",
        "0.5",
        "--out",
        "fair.pkl",
        "--permutations",
        "199",
    ]
    assert cli.main([*args, "--report", "r.html", "--report", "r.json"]) == 3
    shown = capsys.readouterr().out
    assert shown.startswith("Collapsed, and no repair: it answers 1 in all 600 rows")
    assert "not written (collapsed); --force writes it to fair.pkl" in shown
    assert not (tmp_path / "fair.pkl").exists()
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["outcome"] == "collapsed" and record["verdict"] == "inconclusive"
    assert record["refused"] and record["model"]["path"] is None
    assert record["after"]["capsule"]["model"]["path"] is None
    assert record["collapsed"] in shown.replace("\n", " ")
    assert "Collapsed, and no repair" in (tmp_path / "r.html").read_text()
    assert cli.main([*args, "--force"]) == 3
    assert "model: fair.pkl" in capsys.readouterr().out
    assert pickle.loads((tmp_path / "fair.pkl").read_bytes()).predict(lending(9)).all()
    result = repair(
        lending(1200),
        sensitive="sex",
        outcome="y",
        mu=0.5,
        mus=[0.5],
        permutations=QUICK,
        out=tmp_path / "again.pkl",
    )
    assert result.refused and not (tmp_path / "again.pkl").exists()


@pytest.mark.parametrize("regression", [False, True])
def test_a_constant_model_cannot_be_tested_and_is_collapsed(told, regression):
    kind = ToldNumber if regression else Told
    given = told(kind(x=1.0, z=0.8), kind(shift=0.2))
    frame = lending(400)
    if regression:
        frame["y"] = frame["y"] + np.random.default_rng(0).normal(size=400) / 5
    result = repair(frame, mu=0.5, **given)
    assert result.outcome is Outcome.COLLAPSED and result.verdict is fa.Verdict.INCONCLUSIVE
    assert result.after.p_value is None and "the same for all rows" in result.after.because
    for form in ("summary", "to_dict"):
        assert getattr(result, form)()


def test_collapsed_models_of_the_curve_are_not_chosen(told):
    """Neither by auto nor by a bound."""
    given = told(PLAIN, FAIR, Told(x=0.02, shift=3.0))
    for rule in ({}, {"kpc": 0.05}, {"loss": 0.9}):
        result = repair(lending(3000), **rule, **given)
        assert result.curve["collapsed"].notna().tolist() == [False, False, True], rule
        assert result.mu == 0.5 and "collapsed" in result.summary(), rule
    with pytest.raises(fa.InputError, match="collapsed or are worse"):
        repair(lending(3000), kpc=-0.5, **given)


def test_repair_of_the_lending_table_answers_not_1_for_everyone():
    """load_demo(4000), seed 3: it predicted 1 for everyone under "no violation found"."""
    pytest.importorskip("torch")
    frame = load_demo(4000)
    result = repair(frame, sensitive="race,sex,age", outcome="repaid", seed=3, permutations=QUICK)
    assert result.curve["collapsed"].notna().any()  # the case is still there
    fresh = load_demo(4000, seed=1)
    assert 0.55 < result.model.predict(fresh).mean() < 0.95
    assert auc(result.model.predict_proba(fresh)[:, 1], fresh["repaid"]) > 0.6


def test_repair_of_a_rare_outcome_ships_no_model_that_selects_nobody(tmp_path):
    """Census-like rows with 6 % positives: the written model selected nobody."""
    pytest.importorskip("torch")
    out = tmp_path / "fair.pkl"
    frame = census(5000)
    assert 0.05 < frame["rich"].mean() < 0.07
    result = repair(
        frame, sensitive="race,sex,age", outcome="rich", permutations=QUICK, steps=150, out=out
    )
    assert result.curve["collapsed"].notna().any()
    if out.exists():
        fresh = census(5000, seed=1)
        model = pickle.loads(out.read_bytes())
        assert model.predict(fresh).mean() > 0.015
        assert auc(model.predict_proba(fresh)[:, 1], fresh["rich"]) > 0.6
    else:
        assert result.refused and result.outcome is not Outcome.REPAIRED and result.advice


# ---------------------------------------------------------------- 2: what the audit could see


def test_an_audit_that_could_not_have_seen_the_old_violation_is_inconclusive(told):
    given = told(Told(x=1.0, z=0.25), FAIR)
    found = [repair(lending(n, seed=4), mu=0.5, **given) for n in (240, 3000)]
    assert [result.outcome for result in found] == [Outcome.INCONCLUSIVE, Outcome.REPAIRED]
    assert [result.verdict for result in found] == [
        fa.Verdict.INCONCLUSIVE,
        fa.Verdict.NO_VIOLATION,
    ]
    few, many = found
    assert few.after.verdict is fa.Verdict.NO_VIOLATION  # the audit alone says no more
    assert few.headline.startswith("Inconclusive: no violation is found") and few.advice
    assert many.power.power > 0.95 and 0 < many.power.share < 1
    assert 0 < many.power.kpc < many.before.joint.kpc
    assert f"up to about {100 * many.power.share:.0f} % of it may be left" in many.headline
    assert many.after.power is not None and many.after.power.detectable
    assert "could have found with 80 % power" in many.summary()


def test_an_old_violation_that_is_barely_found_is_not_shown_to_be_repaired(told):
    """Found before (p ≤ alpha), but by luck: such a violation would be missed too often."""
    given = told(Told(x=1.0, z=0.45), FAIR)
    outcomes = []
    for seed in range(6):
        result = repair(lending(400, seed=seed), mu=0.5, **given)
        outcomes.append(result.outcome)
        if result.outcome is Outcome.REPAIRED:
            assert result.power.power >= 0.8 and result.before.p_value <= 0.05
        elif result.outcome is Outcome.INCONCLUSIVE and result.before.p_value <= 0.05:
            assert result.power.power < 0.8 and "in only" in result.headline
    assert Outcome.INCONCLUSIVE in outcomes


@pytest.mark.parametrize(("statistic", "count"), [("kpc", 40), ("omnibus", 15)])
def test_power_against_the_old_violation_is_the_power_that_the_test_has(statistic, count):
    """Where the new model has the old violation: the stated power is the share of rejections."""
    stated, rejected, misled = [], [], 0
    for seed in range(count):
        rng = np.random.default_rng([5, seed])
        y, sex, old = rng.integers(0, 2, 400), rng.integers(0, 2, 400), rng.normal(size=400)
        made = tables(
            expit(y + 0.35 * sex + old), expit(y + 0.35 * sex + rng.normal(size=400)), y=y, sex=sex
        )
        drawn = fa.Permutations(n=99, seed=seed)
        tested = run_test(made[1], statistic=statistic, permutations=drawn)
        power = carried_power(
            made[0], made[1], tested.null, statistic_named(statistic), alpha=0.05, seed=seed
        ).power
        stated.append(power)
        rejected.append(tested.p_value <= 0.05)
        misled += tested.p_value > 0.05 and power >= 0.8
    error = 3.7 * np.sqrt((np.var(stated) + 0.25) / count)
    assert abs(np.mean(stated) - np.mean(rejected)) < error
    assert misled <= binom.isf(1e-4, count, 0.2)  # 20 % at most


def test_the_carried_violation_is_the_old_one():
    """The same model before and after: its own statistic is carried over, ties aside."""
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 500))
    (made,) = tables(expit(y + 0.5 * sex + rng.normal(size=500)), y=y, sex=sex)
    tested = run_test(made, statistic="kpc", permutations=QUICK)
    power = carried_power(made, made, tested.null, statistic_named("kpc"), alpha=0.05, seed=0)
    assert power.power > 0.9
    power = carried_power(
        made,
        replace(made, ids=made.attributes[0]),
        tested.null,
        statistic_named("kpc"),
        alpha=0.05,
        seed=0,
    )
    assert power is None


def test_where_nothing_is_chosen_all_rows_but_those_of_training_are_audited(told):
    given = told(PLAIN, FAIR)
    fixed, chosen = repair(lending(1000), mu=0.5, **given), repair(lending(1000), **given)
    assert fixed.rows == {"train": 500, "choice": 0, "audit": 500}
    assert chosen.rows == {"train": 500, "choice": 200, "audit": 300}
    for result in (fixed, chosen):
        assert result.before.table.rows == result.after.table.rows == result.rows["audit"]
    assert "on the audited rows, since nothing was chosen" in fixed.summary()


# ---------------------------------------------------------------- 3: nothing passes


def curve(**columns):
    rows = pd.DataFrame({"mu": [0.0, 0.5, 0.7, 0.9], "p_train": 0.005, **columns})
    return rows.assign(
        collapsed=pd.Series(columns.get("collapsed", [None] * 4), dtype=object),
        dominated=columns.get("dominated", [False] * 4),
    )


RULE = Rule.of("auto", None, METHODS.get("fairicp"))


def test_auto_takes_no_model_that_the_mixture_dominates():
    given = {"loss": [0.2, 0.3, 0.4, 0.45], "kpc": [0.1, 0.05, 0.02, 0.01], "p_value": 0.005}
    assert RULE.choose(curve(**given)).place == 3
    beaten = RULE.choose(curve(**given, dominated=[False, False, True, True]))
    assert beaten.place == 1 and "2 of 3 worse than the trivial mixture" in beaten.because
    both = curve(
        **given,
        dominated=[False, False, True, True],
        collapsed=[None, "it answers 1 in all 9 rows", None, None],
    )
    none = RULE.choose(both)
    assert none.place == 0
    assert none.fates == "1 of 3 collapsed, 2 of 3 worse than the trivial mixture"
    passing = curve(
        **{**given, "p_value": [0.005, 0.5, 0.5, 0.5], "p_train": 0.5},
        dominated=[False, True, False, False],
    )
    assert RULE.choose(passing).place == 2


def test_what_the_mixture_dominates():
    line = pd.DataFrame(
        {
            "share": [0.0, 0.5, 1.0],
            "loss": [0.2, 0.3, 0.4],
            "kpc": [0.1, 0.02, 0.0],
            "p_value": [0.005, 0.01, 1.0],
        }
    )
    given = {"loss": [0.2, 0.31, 0.31, 0.41], "kpc": [0.1, 0.02, 0.02, -0.01], "p_train": 0.5}
    models = curve(**given, p_value=[0.005, 0.005, 0.3, 0.9])
    # the third passes, mixtures with its KPC do so from a loss of .325; below 0 nothing is gained
    assert dominated(models, line, RULE) == [False, True, False, True]
    dearer = curve(**given | {"loss": [0.2, 0.31, 0.33, 0.41]}, p_value=[0.005, 0.005, 0.3, 0.9])
    assert dominated(dearer, line, RULE)[2]
    # between the points that were measured: a loss of .25 has a KPC of .06
    between = curve(**given | {"loss": [0.2, 0.26, 0.24, 0.24], "kpc": [0.1, 0.06, 0.06, 0.06]})
    between["p_value"] = 0.005
    assert dominated(between, line, RULE) == [False, True, False, False]
    # a KPC that is small by chance: with its error it may be that of the mixture
    unsure = between.assign(kpc_error=[0.0, 0.0, 0.01, 0.001])
    assert dominated(unsure, line, RULE) == [False, True, True, False]


def test_a_search_compares_with_the_mixture_that_passes_as_often():
    search = Rule.of("auto", None, None)
    line = pd.DataFrame(
        {"share": [0.0, 1.0], "loss": [0.2, 0.4], "kpc": [0.1, 0.0], "chance": [0.0, 1.0]}
    )
    models = curve(loss=[0.2, 0.37, 0.35, 0.33], kpc=[0.1, 0.0, 0.0, 0.0])
    models["chance"] = [0.0, 0.8, 0.8, 0.7]  # mixtures: .36 and .34
    assert dominated(models, line, search) == [False, True, False, False]


def test_without_a_repair_the_report_says_what_was_tried_and_what_would_help(
    told, tmp_path, capsys, monkeypatch
):
    """Every candidate is worse than plain training mixed with a constant: exit 1, no file."""
    told(PLAIN, Told(x=0.15, z=0.8, noise=1.5), Told(x=0.2, z=0.5, noise=1.5))
    monkeypatch.chdir(tmp_path)
    lending(3000).to_csv("train.csv", index=False)
    args = [
        "remedy",
        "--data",
        "train.csv",
        "--sensitive",
        "sex",
        "--outcome",
        "y",
        "--mus",
        "0.5,0.6",
        "--out",
        "fair.pkl",
        "--permutations",
        "199",
    ]
    assert cli.main([*args, "--report", "r.json"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("No repair found: 2 of 2")
    assert "worse than the mixture" in shown and "not written (no repair found)" in shown
    for help_ in ("use_sensitive", "A search over methods", "More rows", "A tolerance"):
        assert help_ in shown
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["outcome"] == "no repair found" and record["mu"] == 0
    assert [row["dominated"] or bool(row["collapsed"]) for row in record["curve"]] == [
        False,
        True,
        True,
    ]
    assert not (tmp_path / "fair.pkl").exists()


def test_a_chosen_model_that_still_violates_is_not_written_by_auto(told, tmp_path):
    given = told(PLAIN, Told(x=1.0, z=0.3))
    out = tmp_path / "fair.pkl"
    result = repair(lending(3000), out=out, **given)
    assert result.outcome is Outcome.NOT_REPAIRED and result.verdict is fa.Verdict.VIOLATION
    assert result.refused and not out.exists() and result.advice
    asked = repair(lending(3000), mu=0.5, out=out, **given)  # this very model was asked for
    assert asked.outcome is Outcome.NOT_REPAIRED and out.exists()
    assert any("method search" in sentence for sentence in asked.advice)
    few = repair(lending(200), mu=0.5, **told(PLAIN, Told(x=1.0, z=1.0)))  # a search needs more
    assert few.outcome is Outcome.NOT_REPAIRED
    assert not any("method search" in sentence for sentence in few.advice)


# ---------------------------------------------------------------- 4: the commands of the README


def test_the_demo_leaves_a_table_to_train_on(tmp_path, capsys):
    """README: `fairaudit remedy --data train.csv …` in the folder of the demo."""
    assert cli.main(["demo", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    train, test = (pd.read_csv(tmp_path / name) for name in ("train.csv", "test.csv"))
    assert list(train.columns) == list(test.columns) and len(train) == len(test) == 2000
    assert len(train.merge(test)) == 0


def test_results_are_made_by_keyword():
    from fairaudit.remedy.remedy_result import RemedyResult

    with pytest.raises(TypeError, match="positional"):
        RemedyResult("repaired")
