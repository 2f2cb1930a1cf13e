"""Copies of the prediction: their law by brute force, their level, and what is refused."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.errors import InputError
from fairaudit.evidence.power.detect import smallest_detectable
from fairaudit.permute.copies import EXACT
from fairaudit.permute.prediction_side import PredictionSide
from fairaudit.testing.choice_of_law import ChoiceOfLaw
from fairaudit.testing.core import run_test
from fairaudit.testing.statistic import statistic_named

PERMUTATIONS = list(itertools.permutations(range(5)))
SCORE = np.array([-1.3, 0.2, 0.9, -0.4, 2.0])
OUTCOME = np.array([-0.6, 0.5, 0.1, -1.5, 1.2])


def log_density(y, yhat):
    """Neither symmetric in its arguments nor of equal scale, so that directions differ."""
    return -0.5 * ((y - 0.8 * yhat[:, 0]) / (0.5 + 0.2 * yhat[:, 0] ** 2)) ** 2 - np.log(
        0.5 + 0.2 * yhat[:, 0] ** 2
    )


def prepared(y, prediction, density="auto", **options):
    outcome = columns_from(y, argument="y_true", outcome=True, kinds={"y_true": "continuous"})[0]
    attributes = columns_from(np.arange(len(y)) % 2, argument="sensitive")
    return PredictionSide(density).prepare(
        outcome, attributes, steps=60, seed=3, prediction=np.asarray(prediction, float), **options
    )


def misfit(copies):
    """Chi-square p-value of the copies against P(rows) ∝ ∏_k q(y_k | yhat of rows[k])."""
    logs = [log_density(OUTCOME, SCORE[list(rows), None]).sum() for rows in PERMUTATIONS]
    law = np.exp(logs) / np.exp(logs).sum()
    number = {rows: k for k, rows in enumerate(PERMUTATIONS)}
    counts = np.bincount([number[tuple(rows)] for rows in copies], minlength=120)
    rare = law * len(copies) < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(law[~rare], law[rare].sum()) * len(copies)
    return chisquare(observed, expected).pvalue


def test_an_outcome_row_gets_the_prediction_of_the_row_that_the_copy_names():
    fitted = prepared(OUTCOME, SCORE[:, None], log_density)
    assert fitted.sampler.moves == "prediction" and fitted.law.kind == "known"
    copies = fitted.sampler.block(range(20_000))
    assert misfit(copies) > 1e-4
    assert misfit(np.argsort(copies, axis=1)) < 1e-4  # the other direction is another law


def rejections(turn, replications=400):
    """Share of p <= .05 under a true null, with the known q(y|yhat), n = 30 and 19 copies."""
    hits = 0
    for seed in range(replications):
        rng = np.random.default_rng(seed)
        yhat = rng.normal(size=30)
        scale = np.exp(yhat)
        y = yhat + scale * rng.normal(size=30)
        a = y + np.abs(y) * rng.normal(size=30)
        outcome = columns_from(y, argument="y_true", outcome=True)[0]

        def log_q(y, u):
            return -0.5 * ((y - u[:, 0]) / np.exp(u[:, 0])) ** 2 - u[:, 0]

        fitted = PredictionSide(log_q, 1).prepare(
            outcome, (), steps=20, seed=seed, prediction=yhat[:, None]
        )
        copies = turn(fitted.sampler.block(range(19)))
        values = yhat[np.vstack([np.arange(30)[None], copies])] @ a
        hits += (values[1:] >= values[0]).sum() == 0
    return hits, replications


def test_the_level_holds_and_tells_the_wrong_direction():
    assert binomtest(*rejections(lambda copies: copies), 0.05).pvalue > 1e-4
    wrong = rejections(lambda copies: np.argsort(copies, axis=1))
    assert binomtest(*wrong, 0.05).pvalue < 1e-4


def test_classes_exchange_exactly_as_ever():
    outcome = columns_from([0, 1] * 10, argument="y_true", outcome=True)[0]
    prediction = np.linspace(0, 1, 20)[:, None]
    fitted = PredictionSide().prepare(outcome, (), steps=5, seed=0, prediction=prediction)
    assert fitted.law == EXACT and fitted.sampler.moves == "attributes"
    modeled = PredictionSide("logistic", 1).prepare(
        outcome, (), steps=5, seed=0, prediction=prediction
    )
    assert modeled.law.kind == "prediction" and modeled.law.estimated
    assert modeled.sampler.moves == "prediction"


def test_a_model_that_is_not_monotone_gets_larger_mixtures():
    rng = np.random.default_rng(0)
    y = rng.uniform(-3, 3, 300)
    score = (y % 1.5 + 0.1 * rng.normal(size=300))[:, None]
    fitted = prepared(y, score)
    assert fitted.law.family in ("mixture (8)", "mixture (16)")
    others = [
        score
        for family, score in fitted.scores.items()
        if family not in ("mixture (8)", "mixture (16)")
    ]
    assert fitted.scores[fitted.law.family] > max(others) + 0.5
    assert "mixture (16)" not in prepared(y[:100], score[:100]).scores
    assert "mixture (16)" not in prepared(y, np.hstack([score, score**2])).scores


def test_attributes_are_not_looked_at():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    score = y[:, None] + rng.normal(size=(60, 1))
    outcome = columns_from(y, argument="y_true", outcome=True)[0]
    blocks = [
        PredictionSide()
        .prepare(
            outcome,
            columns_from(rng.normal(size=(60, width)), argument="sensitive"),
            steps=20,
            seed=0,
            prediction=score,
        )
        .sampler.block(range(5))
        for width in (1, 7)
    ]
    assert np.array_equal(*blocks)


def test_ranges_of_the_outcome_stay_apart_and_people_move_together():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    score = y[:, None] + rng.normal(size=(80, 1))
    strata = (y > 0).astype(int)
    copies = prepared(y, score, "ols", strata=strata).sampler.block(range(10))
    assert (strata[copies] == strata).all()
    people = np.repeat(np.arange(40), 2)
    origin = people[prepared(y, score, "ols", units=people).sampler.block(range(10))]
    assert (origin[:, ::2] == origin[:, 1::2]).all()
    assert (origin[:, ::2] != np.arange(40)).mean() > 0.5


@pytest.mark.parametrize(
    "prediction",
    [
        lambda y, rng: (y + rng.normal(size=len(y)) > 0).astype(int),
        lambda y, rng: np.where(y + rng.normal(size=len(y)) > 0, "high", "low"),
        lambda y, rng: np.digitize(y + rng.normal(size=len(y)), [-1, 0, 1]),
        lambda y, rng: np.round(y + rng.normal(size=len(y)), 1),
        lambda y, rng: y[:, None] * [1, 0.5, 0] + rng.normal(size=(len(y), 3)) * [1, 1, 0],
    ],
    ids=["labels", "text", "four labels", "ties", "several columns, one constant"],
)
def test_any_prediction_can_move(prediction):
    rng = np.random.default_rng(2)
    a = rng.normal(size=(200, 2))
    y = a[:, 0] + rng.normal(size=200)
    table = fa.AuditTable.of(prediction(y, rng), a, y)
    result = run_test(
        table,
        statistic="max",
        choice=ChoiceOfLaw(PredictionSide()),
        permutations=fa.Permutations(n=39, seed=0),
    )
    assert result.diagnostics.law == "prediction"
    assert result.p_value > 0.01 and result.diagnostics.moved > 0.2


def test_what_cannot_move_is_said():
    y = np.random.default_rng(0).normal(size=40)
    with pytest.raises(InputError, match="The prediction is constant"):
        prepared(y, np.ones((40, 2)))
    outcome = columns_from(y, argument="y_true", outcome=True)[0]
    with pytest.raises(InputError, match="Pass it as 'prediction'"):
        PredictionSide().prepare(outcome, (), steps=5, seed=0)
    with pytest.raises(InputError, match="density_data"):
        prepared(y, y[:, None], training=(outcome, ()))


def unfair(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 3))
    y = a[:, 0] + rng.normal(size=n)
    return fa.AuditTable.of(y + 0.5 * a[:, 0] + rng.normal(size=n), a, y)


@pytest.mark.parametrize("statistic", ["kpc", "features", "correlation", "max"])
def test_a_violation_is_found_whatever_the_batch(statistic):
    results = [
        run_test(
            unfair(),
            statistic=statistic,
            choice=ChoiceOfLaw(PredictionSide()),
            permutations=fa.Permutations(n=99, seed=1, **options),
        )
        for options in ({}, {"batch": 7}, {"n_jobs": 2, "batch": 10})
    ]
    assert results[0].p_value == 0.01 and results[0].inconclusive is None
    for other in results[1:]:
        assert other.p_value == results[0].p_value
        assert np.array_equal(other.null, results[0].null)
        assert other.diagnostics == results[0].diagnostics
    assert results[0].density.startswith("given the prediction: ")


@pytest.mark.parametrize("statistic", ["codec", "hrt"])
def test_a_statistic_that_needs_copies_of_the_attributes_is_refused(statistic):
    with pytest.raises(InputError, match=rf"'{statistic}' needs copies of the attr.*'prediction'"):
        run_test(
            unfair(60),
            statistic=statistic,
            choice=ChoiceOfLaw(PredictionSide()),
            permutations=fa.Permutations(n=19),
        )


def test_a_wrong_density_of_the_outcome_given_the_prediction_is_told():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    table = fa.AuditTable.of(np.cos(2 * y) + 0.1 * rng.normal(size=500), rng.normal(size=500), y)
    options = {"statistic": "features", "permutations": fa.Permutations(n=19)}
    result = run_test(table, choice=ChoiceOfLaw(PredictionSide("ols")), **options)
    assert "copies of (Yhat, Y) can be told" in result.inconclusive
    assert "the outcome given the prediction" in result.inconclusive


def test_the_check_of_copies_sees_no_attribute():
    table = unfair()
    permutations = fa.Permutations(n=19, seed=1)
    choice = ChoiceOfLaw(PredictionSide())
    options = {"statistic": "features", "choice": choice, "permutations": permutations}
    whole = run_test(table, **options)
    few = run_test(replace(table, attributes=table.attributes[1:]), **options)
    assert whole.diagnostics == few.diagnostics
    assert not np.array_equal(whole.null, few.null)


def test_planted_tables_need_copies_of_the_attributes():
    """Copies of a prediction belong to that prediction, and planting moves attributes."""
    table, statistics = unfair(), statistic_named("features")
    prediction = table.prediction.matrix()
    fitted = PredictionSide("ols").prepare(
        table.outcome, table.attributes, steps=20, seed=0, prediction=prediction
    )
    options = {"alpha": 0.05, "seed": 0, "threshold": None, "first": 99}
    null = np.linspace(0, 1, 99)
    assert smallest_detectable(table, fitted, statistics, null, **options) is None
