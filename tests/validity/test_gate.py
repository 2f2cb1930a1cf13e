"""The default test: size of what it answers, and power beside single statistics.

In full (`-m slow`) the bars that the default is held to; in small, the models and the machinery.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
import replications
from fair_models import FAIR_CLASS_MODELS, FAIR_MODELS
from fair_twins import DONORS, FAIR_TWINS, find_donors
from gate_power import best_part, best_statistic, series
from most_powerful import bonferroni_power, most_power
from peers_at_size import Peer, find_ahead, find_threshold
from unfair_models import UNFAIR_MODELS

import fairaudit as fa

EXACT = [
    FAIR_CLASS_MODELS[f"{name}, n = 200"]
    for name in ("binary y; binary + binary + continuous", "4-class y; 5 continuous")
]
MONOTONE = [
    FAIR_MODELS[f"{name}, n = {n}"]
    for name, n in (("peers: null", 500), ("attribute nearly the outcome", 300))
]


@pytest.mark.parametrize("name", [*FAIR_MODELS, *UNFAIR_MODELS])
def test_a_model_draws_its_rows_and_the_same_ones_again(name):
    model = (FAIR_MODELS | UNFAIR_MODELS)[name]
    first, second = (model.draw(np.random.default_rng([3, 1])) for _ in range(2))
    prediction, y, frame, ids = first
    assert len(prediction) == len(y) == len(frame) == model.rows
    assert ids is None or len(ids) == model.rows
    for one, again in zip(first[:3], second[:3], strict=True):
        pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(again))


def test_half_of_the_unfair_models_are_held_out():
    held_out = [model.held_out for model in UNFAIR_MODELS.values()]
    assert len(held_out) >= 26
    assert sum(held_out) >= len(held_out) / 2


@pytest.mark.parametrize(
    "name", [name for name, model in UNFAIR_MODELS.items() if model.conditioning != "continuous"]
)
def test_an_unfair_model_of_classes_is_unfair(name):
    """Eight tables in one: copies are exact, so that only an effect can be found."""
    drawn = [UNFAIR_MODELS[name].draw(np.random.default_rng([5, part])) for part in range(8)]
    prediction, y, frame = (
        pd.concat(pd.DataFrame(table[part]) for table in drawn) for part in range(3)
    )

    def p_value(**statistic):
        return fa.equalized_odds_test(
            prediction if prediction.shape[1] > 1 else prediction.to_numpy()[:, 0],
            y_true=y.to_numpy()[:, 0],
            sensitive=frame,
            permutations=fa.Permutations(n=499),
            **statistic,
        ).p_value

    assert min(p_value(), p_value(statistic="max")) <= 0.01


def arguments(**changed):
    made = replications.parser(None, replications=3).parse_args(["--test", "features"])
    return argparse.Namespace(**{**vars(made), "copies": 19, **changed})


def test_a_stopped_run_goes_on_with_what_stands_in_the_file(tmp_path, monkeypatch):
    models = {"shift, K = 1": UNFAIR_MODELS["shift, K = 1"]}
    out = str(tmp_path / "lines.jsonl")
    ((_, _, first),) = replications.run(models, arguments(out=out))
    seen = []
    original = replications.replicate
    monkeypatch.setattr(replications, "replicate", lambda *a: seen.append(a[-1]) or original(*a))
    ((_, _, more),) = replications.run(models, arguments(out=out, replications=5))
    assert seen == [3, 4]
    assert more["features"][:3] == first["features"]
    lines = [json.loads(line) for line in Path(out).read_text().splitlines()]
    assert [line["seed"] for line in lines] == [0, 1, 2, 3, 4]


def test_statistics_that_share_copies_answer_as_they_do_alone():
    model, ways = UNFAIR_MODELS["continuous: shift, 1 of 3"], ["default", "scan", "kpc"]
    together = replications.replicate_ways(model, ways, 19, 3)
    for way in ways:
        alone = replications.replicate(model, way, 19, 3)
        assert {**together[way], "cpu": 0} == {**alone, "cpu": 0}


@pytest.mark.parametrize("name", FAIR_TWINS)
def test_a_twin_has_the_outcomes_and_levels_of_its_model(name):
    prediction, y, frame, _ = FAIR_TWINS[name].draw(np.random.default_rng(0))
    model = UNFAIR_MODELS[name]
    make, rows = model.draw, model.rows * (1 + DONORS)
    everybody = make.func(rows, np.random.default_rng(0), **make.keywords)
    assert len(prediction) == len(y) == len(frame) == model.rows
    np.testing.assert_array_equal(y, everybody[1][: model.rows])
    pd.testing.assert_frame_equal(frame, everybody[2].iloc[: model.rows])
    ours, theirs = (pd.DataFrame(scores) for scores in (prediction, everybody[0]))
    assert (np.abs(ours.mean() - theirs.mean()) < 5 * theirs.std() / np.sqrt(model.rows)).all()


def test_donors_are_equal_or_near_and_used_once():
    rng = np.random.default_rng(0)
    y, others = rng.normal(size=50), rng.normal(size=5000)
    found = find_donors(y, others, rng)
    assert len(set(found)) == 50
    assert np.median(np.abs(y - others[found])) < 0.001
    letters = np.array(list("abc"))
    classes, more = letters[rng.integers(0, 3, 60)], letters[rng.integers(0, 3, 900)]
    assert (more[find_donors(classes, more, rng)] == classes).all()


def test_a_twin_is_fair_where_its_model_is_not():
    """Eight tables in one of an outcome of classes, as above."""
    drawn = [FAIR_TWINS["interaction"].draw(np.random.default_rng([5, k])) for k in range(8)]
    prediction, y = (np.concatenate([table[part] for table in drawn]) for part in range(2))
    frame = pd.concat(table[2] for table in drawn)
    assert fa.equalized_odds_test(prediction, y_true=y, sensitive=frame).p_value > 0.01


def test_a_peer_is_judged_at_the_size_that_it_has():
    rng = np.random.default_rng(0)
    true = rng.random(4000)
    assert find_threshold(true) == pytest.approx(0.05, abs=0.012)
    assert find_threshold(true**2) == pytest.approx(0.0025, abs=0.0012)  # rejects too often
    assert np.mean(true <= find_threshold(true)) == 0.05
    assert find_threshold(np.ones(100)) == -1.0
    bold = Peer(model=rng.random(500) ** 2, twin=rng.random(500) ** 2)
    assert bold.size > 0.15
    ahead = find_ahead({"bold": bold}, (rng.random(500) < 0.05).astype(float))
    assert not ahead.beyond_noise
    strong = Peer(model=rng.random(500) ** 4, twin=rng.random(500))
    ahead = find_ahead({"bold": bold, "strong": strong}, (rng.random(500) < 0.2).astype(float))
    assert ahead.name == "strong"
    assert ahead.beyond_noise


def test_shares_count_answers_only():
    def line(p, inconclusive=False):
        return {"p": p, "inconclusive": inconclusive, "parts": {"kpc": 0.01}}

    found = [line(0.01), line(0.2), line(0.05), line(0.01, True)]
    size, power, inconclusive = replications.shares(found)
    assert (size, power, inconclusive) == (pytest.approx(2 / 3), 0.5, 0.25)
    assert replications.shares(found, "kpc") == (1.0, 0.75, 0.25)


def test_the_best_single_statistic_is_not_chosen_by_luck():
    """Five statistics of power .5: the largest share is above it, this one is not."""
    rng = np.random.default_rng(0)
    best, largest = [], []
    for _ in range(200):
        found = {f"default: {k}": (rng.random(40) < 0.5).astype(float) for k in range(5)}
        found["default"] = np.ones(40)
        best.append(best_part(found, "default"))
        largest.append(max(found[f"default: {k}"].mean() for k in range(5)))
    assert np.mean(largest) > 0.56
    assert abs(np.mean(best) - 0.5) < 4 * 0.08 / np.sqrt(200)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", FAIR_MODELS)
def test_size_of_what_is_answered(name):
    found = [replications.replicate(FAIR_MODELS[name], "default", 99, seed) for seed in range(1000)]
    size, _, inconclusive = replications.shares(found)
    assert 0.02 <= size <= 0.065
    assert inconclusive < 0.05


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("model", "way"),
    [*((model, "default") for model in EXACT), *((model, "law=monotone") for model in MONOTONE)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_size_of_laws_that_are_exact(model, way):
    found = [replications.replicate(model, way, 19, seed) for seed in range(10_000)]
    alarms = sum(line["p"] <= 0.05 for line in found)
    assert alarms <= binom.ppf(1 - 1e-4, len(found), 0.05)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_power_beside_the_best_single_statistic():
    """Best of the statistics that have a name: the bar. Parts of the default: what is claimed."""
    short, of_parts = {}, {}
    ways = ["default", "kpc", "correlation", "features", "scan"]
    for name, model in UNFAIR_MODELS.items():
        drawn = [replications.replicate_ways(model, ways, 99, seed) for seed in range(100)]
        found = series({way: [table[way] for table in drawn] for way in ways})
        power = found["default"].mean()
        short[name] = best_statistic(found, "default") - power
        of_parts[name] = best_part(found, "default") - power
        if name == "Simulation 1, K = 10":
            assert power >= 0.8
    assert np.mean(list(short.values())) <= 0.05
    assert max(short.values()) <= 0.15, short
    assert np.mean(list(of_parts.values())) <= 0.10
    assert max(of_parts.values()) <= 0.30, of_parts


def test_no_test_of_several_directions_is_as_good_as_the_best_of_each():
    """Four independent ones, each found by .8 alone: .15 must be lost in one of them."""
    assert most_power(1, 0.8, draws=50_000) == pytest.approx(0.8, abs=0.01)
    assert most_power(2, 0.8, draws=50_000) < 0.75
    assert bonferroni_power(4, 0.8) < most_power(4, 0.8, draws=50_000) < 0.8 - 0.14
