"""E-values, what is bet on, and the evidence: exact by enumeration."""

import json
import shutil
from copy import deepcopy
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import zeta
from test_monitor import FEW, lending, monitor

import fairaudit as fa
from fairaudit.errors import InputError
from fairaudit.monitoring.batch import evidence_of
from fairaudit.monitoring.direction import Frame, bets
from fairaudit.monitoring.evidence import Evidence, find_boost, log_e_values, start_weight
from fairaudit.monitoring.rules import CURRENT, RULES
from fairaudit.monitoring.state import StateFile
from fairaudit.monitoring.strategies import MOST_ALONE, Strategies

TILTS = CURRENT.tilts
STATES = Path(__file__).parents[1] / "golden" / "states"


def as_observed(values, k):
    """The same pool with the k-th in the place of the data."""
    return np.concatenate([[values[k]], np.delete(values, k)])


def table_of(data):
    return fa.AuditTable.of(data["score"], data[["sex", "race", "age"]], data["y"])


# E-values


def test_an_e_value_has_mean_one_whichever_of_the_pool_is_the_data():
    pool = np.random.default_rng(0).gamma(0.5, size=20) ** 3
    each = np.array([as_observed(pool, k) for k in range(20)])
    e = np.exp([log_e_values(values[None, :], TILTS)[:, 0] for values in each])
    np.testing.assert_allclose(e.mean(axis=0), 1.0)
    # the columns are what each member has in the place of the data
    np.testing.assert_allclose(np.exp(log_e_values(pool[None, :], TILTS)), e.T)


def test_leaving_the_data_out_of_the_denominator_is_not_an_e_value():
    pool = np.random.default_rng(0).normal(size=20)
    wrong = []
    for k in range(20):
        values = as_observed(pool, k)
        wrong.append(np.exp(4 * values[0]) / np.exp(4 * values[1:]).mean())
    assert np.mean(wrong) > 1.5


def test_the_learnt_direction_treats_data_and_copies_alike():
    rng = np.random.default_rng(1)
    products, learned = rng.normal(size=(30, 5)) @ rng.normal(size=(5, 5)), rng.normal(size=5)
    e = []
    for k in range(30):
        swapped = np.vstack([products[[k]], np.delete(products, k, axis=0)])
        e.append(np.exp(log_e_values(bets(learned, swapped)[None, :], TILTS)[:, 0]))
    np.testing.assert_allclose(np.mean(e, axis=0), 1.0)


def test_copies_that_do_not_differ_say_nothing():
    assert log_e_values(np.full((1, 11), 2.0), TILTS)[:, 0].tolist() == [0.0] * 4
    pools = np.array([np.full(11, 2.0), np.arange(11.0)])  # one that does, beside it
    assert (log_e_values(pools, [1.0])[:, 0] == 0.0).tolist() == [True, False]
    assert bets(np.ones(3), np.ones((5, 3))).tolist() == [0.0] * 5


# Strategies


def pool_of(seed, *, permutations=FEW, **options):
    table = table_of(lending(seed, 150, 0.5))
    earlier = [evidence_of(table_of(lending(9)), Frame.of(table), [], permutations=FEW).products]
    return evidence_of(table, Frame.of(table), earlier, permutations=permutations, **options)


@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: f"rules {rules.version}")
@pytest.mark.parametrize("statistic", ["kpc", "max", ["features", "correlation"]])
def test_every_strategy_has_mean_one_over_the_pool(rules, statistic):
    found = pool_of(0, statistic=statistic, rules=rules)
    mean = np.exp(found.pool).mean(axis=1)
    rounded = 2e-3 if rules.tilts_alone else 1e-12  # down only: the boost gives it back
    assert mean.max() <= 1 + 1e-8 and mean.min() >= 1 - rounded
    assert found.pool.shape[1] == FEW.n + 1


@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: f"rules {rules.version}")
def test_weights_are_shares(rules):
    frame = Frame.of(table_of(lending(0)))
    for statistics in (1, 4):
        weights = Strategies(frame, statistics, rules).weights
        assert weights.sum() == pytest.approx(1.0) and weights.min() > 0


def three_classes(rng, rows):
    return fa.AuditTable.of(
        rng.normal(size=(rows, 2)), {"a": rng.normal(size=rows)}, rng.integers(0, 3, rows)
    )


def labels(rng, rows):
    names = np.array(["no", "maybe", "yes"])
    attributes = {"a": names[rng.integers(0, 3, rows)], "b": rng.integers(0, 2, rows)}
    return fa.AuditTable.of(names[rng.integers(0, 3, rows)], attributes, rng.integers(0, 2, rows))


def continuous(rng, rows):
    return fa.AuditTable.of(
        rng.normal(size=rows), {"a": rng.normal(size=rows)}, rng.normal(size=rows)
    )


def wide(rng, rows):
    attributes = pd.DataFrame(rng.normal(size=(rows, 60))).add_prefix("a")
    return fa.AuditTable.of(rng.normal(size=(rows, 9)), attributes, rng.integers(0, 9, rows))


@pytest.mark.parametrize("draw", [three_classes, labels, continuous, wide])
def test_the_layout_is_that_of_the_products(draw):
    rng = np.random.default_rng(0)
    table = draw(rng, 300)
    frame = Frame.of(table)
    layouts, products = frame.layouts(), frame.products(table, np.arange(300)[None, :])
    assert [layout.parts * layout.columns * layout.features for layout in layouts] == [
        array.shape[1] for array in products
    ]
    found = evidence_of(table, frame, [], statistic="correlation", permutations=FEW)
    assert len(found.log_e) == len(Strategies(frame).weights)
    assert len(found.log_e) <= (1 + 4) * 4 + MOST_ALONE * 4


def test_a_product_alone_is_bet_on_upward_and_downward():
    """Only women with y = 1 have higher scores: some strategy alone wins, its opposite loses."""
    rng = np.random.default_rng(3)
    sex, y = rng.integers(0, 2, (2, 400))
    table = fa.AuditTable.of(rng.normal(size=400) + 1.0 * sex * y, {"sex": sex}, y)
    found = evidence_of(table, Frame.of(table), [], permutations=fa.Permutations(n=199))
    alone = found.log_e[-32:].reshape(-1, 4)  # products × (1, 3, −1, −3): means, then spreads
    best = alone[np.argmax(alone[:, 1])]
    assert best[1] > 4 and best[3] < -4


# Evidence


def test_the_wealth_is_a_fair_game():
    """Over all paths of a tree whose e-values average 1, the mean wealth stays 1."""
    branches = np.log([[2.0, 0.3], [0.5, 1.0], [0.5, 1.7]])  # columns: strategies, mean 1
    for rules in RULES.values():
        wealth = []
        for path in product(range(3), repeat=5):
            evidence = Evidence(np.array([0.3, 0.7]), rules=rules)
            for step in path:
                evidence.add(branches[step])
            wealth.append(np.exp(evidence.log_wealth))
        assert np.mean(wealth) == pytest.approx(1.0)


def test_capped_evidence_is_a_martingale_that_never_passes_the_alarm():
    """All paths over pools of four: the mean stays 1, the alarm has at most its probability."""
    pools = np.log([[3.4, 0.2, 0.2, 0.2], [1.0, 2.6, 0.3, 0.1], [0.5, 0.5, 1.5, 1.5]])
    alpha = 0.25
    after = {(): Evidence(np.array([0.5, 0.3, 0.2]), alpha)}
    for length in range(1, 7):
        for path in product(range(4), repeat=length):  # which of the pool is the data
            evidence = after[path] = deepcopy(after[path[:-1]])
            if evidence.alarmed:
                continue
            pool = np.array([as_observed(row, path[-1]) for row in pools])
            evidence.add(pool[:, 0], evidence.boost(pool))
            if evidence.alarmed:
                assert np.exp(evidence.log_wealth) == pytest.approx(1 / alpha)
    ends = [evidence for path, evidence in after.items() if len(path) == 6]
    wealth = [np.exp(evidence.log_wealth) for evidence in ends]
    alarms = [evidence.alarmed for evidence in ends]
    assert np.mean(wealth) == pytest.approx(1.0)
    left = np.array(wealth)[~np.array(alarms)].sum() / len(wealth)
    assert np.mean(alarms) == pytest.approx(alpha * (1 - left)) and np.mean(alarms) > 0.03
    plain = []
    for path in product(range(4), repeat=6):
        evidence = Evidence(np.array([0.5, 0.3, 0.2]), alpha)
        for member in path:
            evidence.add(pools[:, member])
        plain.append(evidence.alarmed)
    assert np.mean(plain) < np.mean(alarms)  # what the cap is for


@pytest.mark.parametrize("seed", range(20))
def test_the_boost_keeps_the_mean(seed):
    rng = np.random.default_rng(seed)
    members = np.exp(rng.normal(scale=3.0, size=50))
    before = members.mean() * rng.uniform(0.9, 1.0)
    most = before * rng.uniform(1.01, 30.0)
    boost = find_boost(members, before, most)
    assert np.minimum(boost * members, most).mean() == pytest.approx(before)
    assert find_boost(members, members.mean(), 1e9) == pytest.approx(1.0)


@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: f"rules {rules.version}")
def test_the_stake_is_shared_out_once(rules):
    shares = [start_weight(n, rules) for n in range(1, 20_000)]
    later = (1 - rules.first) * zeta(1.5, 20_000 + rules.offset) / zeta(1.5, 1 + rules.offset)
    assert sum(shares) + later == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)


def test_a_late_violation_has_more_stake_left_than_in_0_1():
    for number in (20, 100, 1000):
        assert start_weight(number) > 1.8 * start_weight(number, RULES[1])


def test_the_start_is_found():
    evidence = Evidence(np.ones(1))
    for e in [0.5] * 10 + [5.0] * 6:
        evidence.add(np.log([e]))
    assert evidence.start() == 11


def test_a_learnt_direction_beats_the_batch_alone():
    """A small violation in every batch: later batches are told by what earlier ones showed."""
    sizes = {True: [], False: []}
    for learn in (True, False):
        evidence, frame, earlier = None, None, []
        for seed in range(12):
            table = table_of(lending(seed, 200, 0.4))
            frame = frame or Frame.of(table)
            found = evidence_of(
                table, frame, earlier, permutations=fa.Permutations(n=99, seed=seed), rules=RULES[1]
            )
            if learn:
                earlier.append(found.products)
            weights = Strategies(frame, rules=RULES[1]).weights
            evidence = evidence or Evidence(weights, rules=RULES[1])
            evidence.add(found.log_e)
            sizes[learn].append(evidence.log_wealth)
    assert sizes[True][-1] > sizes[False][-1] + np.log(10)


def test_the_rules_of_today_find_more_than_those_of_0_1():
    """Batches until the alarm, a violation from the first batch on."""
    until = {version: [] for version in RULES}
    for stream in range(4):
        for version, rules in RULES.items():
            evidence, frame, earlier = None, None, []
            while evidence is None or not evidence.alarmed:
                seed = 100 * stream + len(earlier)
                table = table_of(lending(seed, 200, 0.4))
                frame = frame or Frame.of(table)
                drawn = fa.Permutations(n=99, seed=seed)
                found = evidence_of(table, frame, earlier, permutations=drawn, rules=rules)
                earlier.append(found.products)
                weights = Strategies(frame, rules=rules).weights
                evidence = evidence or Evidence(weights, rules=rules)
                found.add_to(evidence)
            until[version].append(len(earlier))
    assert sum(until[2]) < 0.8 * sum(until[1])


# Rules of a state


def test_a_state_of_0_1_goes_on_by_its_own_rules(tmp_path):
    path = tmp_path / "fairness.state"
    shutil.copy(STATES / "fairness_0_1_0.state", path)
    expected = json.loads((STATES / "fairness_0_1_0.json").read_text())
    assert monitor(path).result.alarm == 3
    for seed in range(3, 6):
        result = monitor(path).add(lending(seed, 200, 0.6))
    np.testing.assert_allclose(
        [batch.log10_evidence for batch in result.batches], expected["log10_evidence"]
    )
    assert (result.alarm, result.since) == (expected["alarm"], expected["since"])


def test_a_new_state_names_its_rules_and_others_are_refused(tmp_path):
    path = tmp_path / "s.state"
    watch = monitor(path)
    watch.add(lending(0))
    assert watch.file.settings["betting"] == CURRENT.version == max(RULES)
    later = tmp_path / "later.state"
    settings = {k: v for k, v in watch.file.settings.items() if k != "schema"}
    StateFile(later).begin({**settings, "betting": 99}, watch.file.batches[0])
    with pytest.raises(InputError, match="later version"):
        monitor(later).add(lending(1))


def test_the_alarm_is_reached_and_not_passed(tmp_path):
    path = tmp_path / "s.state"
    for seed in range(4):
        result = monitor(path).add(lending(seed, 200, shift=1.5))
    reached = result.batches[result.alarm - 1].log10_evidence
    assert reached == pytest.approx(np.log10(20)) and reached >= np.log10(20)
    assert result.batches[-1].log10_evidence > reached + 2  # afterwards nothing is cut off


def test_several_statistics_are_bet_on(tmp_path):
    result = monitor(tmp_path / "s.state", statistic="max").add(lending(0, 200, shift=1.5))
    assert result.batches[0].p_value == 1 / 40
    with pytest.raises(InputError, match="all rows"):
        monitor(tmp_path / "t.state", statistic="hrt").add(lending(0))
