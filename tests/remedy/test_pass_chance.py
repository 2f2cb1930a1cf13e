"""The chance to pass a coming audit, against audits that take place."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import fairaudit as fa
from fairaudit.remedy.pass_chance import chance_to_pass_refitted

ROWS = 400
MODELS = 60


def _draw(rng, n, effect):
    race = rng.choice(["a", "b", "c"], n)
    age = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-0.5 * age))).astype(int)
    score = y + effect * (race == "b") + rng.normal(size=n)
    return score, y, pd.DataFrame({"race": race, "age": age})


def _passes(score, y, A, seed):
    few = fa.Permutations(n=99, seed=seed)
    return fa.equalized_odds_test(score, y_true=y, sensitive=A, permutations=few).p_value > 0.05


@pytest.fixture(scope="module")
def audited():
    """Predicted chances of models of all sizes of dependence, and whether a new audit passed."""
    rng = np.random.default_rng(1)
    rows = []
    for k in range(MODELS):
        effect = rng.choice([0.0, 0.2, 0.4, 0.8])
        chance = fa.chance_to_pass(
            *_draw(rng, ROWS, effect), n_fresh=ROWS, copies=150, seed=k
        ).chance
        rows.append((effect, chance, _passes(*_draw(rng, ROWS, effect), k)))
    return pd.DataFrame(rows, columns=["effect", "chance", "passed"])


def test_as_many_pass_as_were_expected_to(audited):
    """By the Poisson-binomial variance, with a bound that chance exceeds once in 10,000."""
    chance = audited["chance"]
    excess = audited["passed"].sum() - chance.sum()
    spread = np.sqrt((chance * (1 - chance)).sum())
    assert abs(excess) < 3.9 * spread


def test_hopeful_models_pass_more_often(audited):
    hopeful = audited[audited["chance"] > 0.6]
    rest = audited[audited["chance"] < 0.2]
    assert len(hopeful) >= 10
    assert len(rest) >= 5
    # if the chance were overstated by a quarter this would not hold
    needed = binom.ppf(1e-4, len(hopeful), hopeful["chance"].mean())
    assert hopeful["passed"].sum() >= needed
    assert rest["passed"].mean() < 0.5 < hopeful["passed"].mean()


def test_larger_audits_are_harder_where_there_is_dependence():
    rng = np.random.default_rng(4)
    sample = _draw(rng, 1000, 0.25)
    chances = [fa.chance_to_pass(*sample, n_fresh=n).chance for n in (250, 1000, 8000)]
    assert chances[0] > chances[1] > chances[2]


def test_folds_are_judged_one_by_one():
    """Errors that cancel between folds are seen: each fold's model favors another group."""
    rng = np.random.default_rng(0)
    n = 2000
    score, y, A = _draw(rng, n, 0.0)
    folds = rng.integers(0, 2, n)
    score = score + np.where(folds == 0, 0.5, -0.5) * (A["race"] == "b")
    together = fa.chance_to_pass(score, y, A, n_fresh=n).chance
    apart = fa.chance_to_pass(score, y, A, n_fresh=n, folds=folds).chance
    assert apart < 0.1 < together


def test_one_answer_in_every_fold_is_no_dependence():
    rng = np.random.default_rng(6)
    _, y, A = _draw(rng, 200, 0.0)
    folds = np.arange(200) % 2
    expected = fa.chance_to_pass(0.3 + 0.1 * folds, y, A, n_fresh=200, folds=folds)
    assert (expected.chance, expected.p_value) == (1.0, 1.0)


def test_fitting_again_sees_the_error_of_the_fit():
    """Means of groups that are zeroed on few rows come back on others."""
    rng = np.random.default_rng(2)
    n = 300
    score, y, A = _draw(rng, n, 1.0)
    group = pd.factorize(A["race"], sort=True)[0]

    def answer(fitted, fresh):
        centers = np.zeros((3, 2))
        for g in range(3):
            for c in range(2):
                rows = fitted[(group[fitted] == g) & (y[fitted] == c)]
                centers[g, c] = score[rows].mean() - score[fitted][y[fitted] == c].mean()
        repaired = score[fresh] - centers[group[fresh], y[fresh]]
        noisy = repaired + 5 * np.random.default_rng(int(fresh[0])).normal(size=len(fresh))
        return [score[fresh], repaired, noisy]

    plain, repaired, noisy = chance_to_pass_refitted(
        answer, y, A[["race"]], n_fresh=900, repeats=40
    )
    assert plain.chance < 0.1
    assert plain.chance < repaired.chance < noisy.chance
    assert noisy.chance > 0.7


def test_bad_input():
    rng = np.random.default_rng(0)
    sample = _draw(rng, 100, 0.0)
    with pytest.raises(fa.InputError, match="'n_fresh' must be 1 or more"):
        fa.chance_to_pass(*sample, n_fresh=0)
    with pytest.raises(fa.InputError, match="one number per row"):
        fa.chance_to_pass(*sample, n_fresh=100, folds=[1, 2])
    with pytest.raises(fa.InputError, match="fewer than 40 rows"):
        fa.chance_to_pass(*sample, n_fresh=100, folds=np.arange(100) % 10)
    with pytest.raises(fa.InputError, match="too few"):
        fa.chance_to_pass(*_draw(rng, 30, 0.0), n_fresh=100)
