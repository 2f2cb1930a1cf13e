"""Where a violation sits: claims, curves, their words and their place in reports."""

import json
from dataclasses import replace
from itertools import permutations as orders

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.data.columns import columns_from
from fairaudit.data.table import AuditTable
from fairaudit.evidence.localization.beyond import _tree, beyond_others
from fairaudit.evidence.localization.claims import Claim, Curve
from fairaudit.evidence.localization.conditional import conditional_p
from fairaudit.evidence.localization.differences import mean_difference
from fairaudit.evidence.localization.effect_curves import beyond_zero, curves_of
from fairaudit.evidence.localization.flexible_fit import place_rows
from fairaudit.evidence.localization.locate import _claim_attributes
from fairaudit.evidence.localization.scores import score_of
from fairaudit.evidence.localization.subgroups import find_subgroups
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.testing.choice_of_law import ChoiceOfLaw

QUICK = fa.Permutations(n=199)


def people(n=1600, seed=0):
    """Women over 55 who repaid get lower scores; race follows sex and adds nothing."""
    rng = np.random.default_rng(seed)
    female = rng.random(n) < 0.5
    race = np.where(rng.random(n) < np.where(female, 0.7, 0.3), "a", "b")
    age = rng.integers(18, 80, n)
    y = rng.integers(0, 2, n)
    score = 0.4 + 0.2 * y - 0.3 * (female & (age > 55) & (y == 1)) + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame({"race": race, "sex": np.where(female, "f", "m"), "age": age})
    return score, pd.Series(y, name="repaid"), frame


@pytest.fixture(scope="module")
def located():
    score, y, frame = people()
    return fa.audit(predictions=score, outcome=y, sensitive=frame, locate=True, permutations=QUICK)


def test_the_planted_subgroup_is_found_and_said(located):
    found = [claim for claim in located.localisation.found if claim.family == "subgroup"]
    (claim,) = found
    assert claim.outcome == "repaid = 1"
    assert claim.name.startswith("sex = f and age > ")
    assert 50 <= int(claim.name.split()[-1]) <= 62
    assert claim.low < -0.25 < claim.high < 0
    start = f"Among those with repaid = 1, people with {claim.name} get scores"
    assert claim.text.startswith(start)
    assert " lower [0." in claim.text


def test_attributes_that_add_are_told_from_those_that_do_not(located):
    answers = {
        claim.name: claim for claim in located.localisation.claims if claim.family == "attribute"
    }
    assert {name for name, claim in answers.items() if claim.significant} == {"sex", "age"}
    assert "cells" in answers["age"].method  # race and sex are categories
    assert "flexible" in answers["sex"].method  # age is a number


def test_a_curve_belongs_to_the_claims_about_its_number_outcome_and_groups():
    blank = {"name": "", "text": "", "rows": 1, "people": 1, "effect": None, "low": None}
    blank |= {"high": None, "p_value": 0.01, "p_adjusted": 0.01, "significant": True, "method": ""}
    line = {"x": (0.0,), "value": (0.0,), "low": (0.0,), "high": (0.0,)}
    by_sex = Claim(family="curve", attributes=("age", "sex"), outcome="y = 1", **blank)
    of_all = replace(by_sex, attributes=("age",))
    group = Curve(attribute="age", group="sex = f", outcome="y = 1", **line)
    whole = replace(group, group=None)
    assert group.belongs_to(by_sex) and whole.belongs_to(of_all)
    assert not group.belongs_to(of_all) and not whole.belongs_to(by_sex)
    assert not group.belongs_to(replace(by_sex, attributes=("age", "race")))
    assert not group.belongs_to(replace(by_sex, attributes=("income", "sex")))
    assert not group.belongs_to(replace(by_sex, outcome="y = 0"))
    assert not group.belongs_to(replace(by_sex, family="subgroup"))


def test_curves_fall_where_the_effect_is(located):
    (curve,) = [
        curve
        for curve in located.localisation.curves
        if (curve.group, curve.outcome) == ("sex = f", "repaid = 1")
    ]
    x, value = np.array(curve.x), np.array(curve.value)
    assert value[x > 62].max() < 0 < value[x < 45].min()
    assert all(a <= b <= c for a, b, c in zip(curve.low, curve.value, curve.high, strict=True))
    assert not any(
        beyond_zero(curve) for curve in located.localisation.curves if curve.outcome == "repaid = 0"
    )


def test_records_come_back(located):
    again = AuditResult.from_dict(json.loads(located.render("json")))
    assert again.localisation == located.localisation
    assert again.localisation.claims and again.localisation.curves
    record = located.to_dict()
    del record["localisation"]
    assert AuditResult.from_dict(record).localisation is None


def test_reports_show_it(located):
    sentence = located.localisation.found[0].text
    text = " ".join(located.render("txt").split())
    assert "Where it sits" in text and sentence in text
    assert "### Where it sits" in located.render("md")
    page = located.render("html")
    assert "Where it sits" in page and "<polygon" in page


def test_few_people_are_not_spoken_of(located):
    smallest = min(claim.people for claim in located.localisation.claims)
    hidden = located.suppressed(smallest + 1).localisation
    assert len(hidden.claims) < len(located.localisation.claims)


def test_nothing_is_located_behind_a_closed_gate():
    score, y, frame = people(400)
    noise = np.random.default_rng(5).normal(size=len(y))
    result = fa.audit(
        predictions=noise,
        outcome=y,
        sensitive=frame,
        locate=True,
        permutations=fa.Permutations(n=99),
    )
    assert result.p_value > 0.05
    assert result.localisation.claims == () and "Nothing to locate" in result.localisation.notes[0]
    quick = fa.audit(
        predictions=score, outcome=y, sensitive=frame, permutations=fa.Permutations(n=19)
    )
    assert quick.localisation is None


def test_conditional_p_is_that_of_all_permutations():
    """Six rows in two cells: 3! · 3! copies, by hand."""
    a = np.array([0, 0, 1, 0, 1, 1])
    b = np.array([0, 0, 0, 1, 1, 1])
    u = np.array([0.1, 0.4, 2.0, -1.0, 0.8, 0.5])
    table = AuditTable.of(u, {"a": a, "b": b}, np.array(["y", "y", "y", "y", "y", "y"]))
    answer = conditional_p(table, (0,), fa.Permutations(n=3999))

    from fairaudit.evidence.localization import conditional

    fixed = [table.outcome, table.attributes[1]]
    strata = find_tied_blocks(fixed, 6).of_row
    features = conditional._features([table.attributes[0]])
    features = features - conditional._means(features, strata)[strata]
    score = conditional._centered_products(table, fixed, strata)
    scale = conditional._spread(features, score, strata)
    largest = conditional._LargestSum(features, score, scale)
    observed = largest.of(np.arange(6))
    every = [[*x, *z] for x in orders(range(3)) for z in orders(range(3, 6))]
    values = [largest.of(np.array(copy)) for copy in every]
    true = np.mean(np.array(values) >= observed - 1e-12)
    sums = [features[list(copy)].T @ score for copy in every]
    np.testing.assert_allclose(np.std(sums, axis=0), scale)  # the exact spread
    assert answer.exact and abs(answer.value - true) < 5 * np.sqrt(true * (1 - true) / 3999) + 1e-3


def test_copies_of_the_whole_set_need_every_cell():
    """An attribute that the others determine is not judged."""
    score, y, frame = people(400)
    frame["old"] = np.where(frame.age > 50, "yes", "no")
    frame["again"] = frame["old"]
    table = AuditTable.of(score, frame[["old", "again"]], y)
    *single, both = beyond_others(table, 0.001, fa.Permutations(n=19))
    assert [attribute.p_adjusted for attribute in single] == [None, None]
    assert both.names == ("old", "again") and both.p_adjusted == 0.001  # the joint test


def noisy_copies(seed=0, n=800, strength=1.0, noise=0.3):
    """Only `age` matters, in waves; `years` is a noisy copy of it."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    years = age + noise * rng.normal(size=n)
    y = rng.integers(0, 2, n)
    score = y + strength * np.sin(3 * age) + 0.5 * rng.normal(size=n)
    return AuditTable.of(score, {"age": age, "years": years}, y)


def test_a_noisy_copy_is_not_claimed():
    answers = [
        beyond_others(noisy_copies(seed), 0.001, fa.Permutations(n=99, seed=seed))
        for seed in range(15)
    ]
    age, years, _ = zip(*answers, strict=True)
    assert all(answer.p_adjusted == 0.01 for answer in age)
    wrong = sum(answer.p_adjusted <= 0.05 for answer in years)
    assert wrong <= 4  # binomial(15, .05): one right program in 10,000 has more


def test_attributes_that_cannot_be_told_apart_are_claimed_together():
    table = noisy_copies(1, strength=0.25, noise=0.1)
    answers = beyond_others(table, 0.001, fa.Permutations(n=199))
    claims = _claim_attributes(answers, table, families=3, alpha=0.05)
    assert [claim.significant for claim in claims] == [False, False, True]
    claim = claims[-1]
    assert claim.name == "age or years" and claim.attributes == ("age", "years")
    assert claim.text.startswith("age or years; the data cannot tell which: among those")
    # one that adds alone says more than a set around it
    strong = noisy_copies(1)
    answers = beyond_others(strong, 0.001, fa.Permutations(n=199))
    claims = _claim_attributes(answers, strong, families=3, alpha=0.05)
    assert [(claim.name, claim.significant) for claim in claims] == [
        ("age", True),
        ("years", False),
    ]


def test_many_attributes_are_joined_to_a_tree():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 4))
    frame = {f"a{k}": x[:, k] for k in range(4)}
    frame |= {"again": x[:, 0] + 0.2 * rng.normal(size=600), "sex": rng.choice(["f", "m"], 600)}
    table = AuditTable.of(x[:, 0] + x[:, 1] + rng.normal(size=600), frame, rng.integers(0, 2, 600))
    sets = _tree(table)
    assert len(sets) == 2 * 6 - 2 and frozenset([0, 4]) in sets
    assert all(a <= b or b <= a or not a & b for a in sets for b in sets)
    answers = {answer.names: answer for answer in beyond_others(table, 0.001, QUICK)}
    single, pair = answers["a1",], answers["a0", "again"]
    assert single.p_value == 0.005 and single.p_adjusted == pytest.approx(6 * 0.005)
    assert pair.p_adjusted == pytest.approx(3 * 0.005)  # 6 / 2, as no set around it has more
    assert answers["a2",].p_adjusted > 0.05


def test_ranks_have_no_scale():
    rng = np.random.default_rng(4)
    x = rng.normal(size=200)
    columns = columns_from({"x": x, "y": np.exp(3 * x)}, argument="sensitive")
    placed = place_rows(columns)
    np.testing.assert_allclose(placed[:, 0], placed[:, 1])
    assert placed.std(axis=0) == pytest.approx([1, 1])


def test_the_tested_half_is_not_the_searched_one():
    """Changing the scores of the tested half leaves the rule as it was."""
    from fairaudit.evidence.localization.scores import parts_of
    from fairaudit.evidence.localization.subgroups import _halves, _search

    score, y, frame = people(800)
    table = AuditTable.of(score, frame, y)
    searched, tested = _halves(table, 0)
    assert np.array_equal(np.sort(np.r_[searched, tested]), np.arange(800))
    changed = score.copy()
    changed[tested] = 0.5
    rules = [
        _search(scored.take(searched), parts_of(scored.take(searched), 20)[1])
        for scored in (table, AuditTable.of(changed, frame, y))
    ]
    assert rules[0] == rules[1] is not None


def test_people_stay_in_one_half():
    from fairaudit.evidence.localization.subgroups import _halves

    score, y, frame = people(600)
    ids = np.repeat(np.arange(200), 3)
    table = AuditTable.of(score, frame, y, ids=ids)
    a, b = _halves(table, 3)
    assert not set(ids[a]) & set(ids[b])


def test_differences_of_means():
    inside = np.array([True] * 40 + [False] * 60)
    rates = np.r_[np.repeat([1.0, 0.0], [30, 10]), np.repeat([1.0, 0.0], [15, 45])]
    value, low, high = mean_difference(rates, inside, np.arange(100), 0.95)
    # Newcombe from scipy's Wilson intervals
    p, q = (binomtest(k, n).proportion_ci(method="wilson") for k, n in ((30, 40), (15, 60)))
    assert low == pytest.approx(0.5 - np.hypot(0.75 - p.low, q.high - 0.25))
    assert high == pytest.approx(0.5 + np.hypot(p.high - 0.75, 0.25 - q.low))
    assert value == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    value, low, high = mean_difference(x, inside, np.arange(100), 0.95)
    assert low < value < high
    twice = mean_difference(np.tile(x, 2), np.tile(inside, 2), np.tile(np.arange(100), 2), 0.95)
    assert twice == pytest.approx((value, low, high))  # rows of one person count once


@pytest.mark.parametrize(
    ("prediction", "outcome", "words"),
    [
        (["n", "y"] * 50, [0, 1] * 50, "get the prediction y less often, by 0.20"),
        (np.linspace(0, 1, 100), [0, 1] * 50, "get scores 0.20 lower"),
        (np.linspace(0, 1, 100), np.linspace(0, 3, 100), "get predictions 0.20 lower"),
        (["a", "b", "c", "a"] * 25, ["a", "b", "c", "c"] * 25, "are predicted right 0.20 less"),
    ],
)
def test_the_words_fit_the_prediction(prediction, outcome, words):
    table = AuditTable.of(prediction, {"sex": ["f", "m"] * 50}, outcome)
    assert score_of(table).say(-0.2, -0.3, -0.1).startswith(words)


def test_a_continuous_outcome():
    rng = np.random.default_rng(1)
    n = 600
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.uniform(20, 70, n)})
    y = rng.normal(size=n)
    u = y - 1.0 * ((frame.sex == "f") & (frame.age > 50)) + 0.5 * rng.normal(size=n)
    table = AuditTable.of(u, frame, y)
    for choice in (ChoiceOfLaw("icp", "ols", 2), ChoiceOfLaw("local")):
        (group,) = find_subgroups(
            table, confidence=0.95, permutations=fa.Permutations(n=99), choice=choice
        )
        assert "sex = f" in group.name and group.effect < -0.5 and group.p_value == 0.01
    assert {fitted.part.label for fitted in curves_of(table, confidence=0.95, seed=0)} == {None}


def test_hostile_names_stay_text():
    score, y, frame = people(800)
    frame = frame.rename(columns={"sex": "<b>se|x</b> {0} \x1b[31m"})
    frame["race"] = frame["race"].map({"a": "{}<i>", "b": "b"})
    label = np.where(score > 0.5, "{0}<script>", "no")
    result = fa.audit(
        predictions=label, outcome=y, sensitive=frame, locate=True, permutations=QUICK
    )
    assert result.localisation.found
    page = result.render("html")
    assert "<script>" not in page and "<b>se" not in page and "\x1b" not in page
    assert "\x1b" not in result.render("txt") and "<script>" not in result.render("md")


def test_the_command_and_its_record(tmp_path, capsys):
    from fairaudit_cli.main import main

    score, y, frame = people(600)
    path, record = tmp_path / "t.csv", tmp_path / "a.json"
    frame.assign(score=score, repaid=y).to_csv(path, index=False)
    line = [
        "--data",
        str(path),
        "--sensitive",
        "sex,age",
        "--predictions",
        "score",
        "--outcome",
        "repaid",
        "--permutations",
        "199",
    ]
    assert main(["test", *line, "--locate", "--report", str(record)]) == 1
    assert "Where it sits" in capsys.readouterr().out
    assert main(["verify", str(record), "--data", str(path)]) == 0
    assert "reproduced" in capsys.readouterr().out


def test_the_two_sides_of_a_cut_are_a_tie_that_rounding_does_not_decide():
    from fairaudit.evidence.localization.subgroups import _first_largest

    assert _first_largest(np.array([1.0, 3.0, 3.0 * (1 + 1e-15), 2.0])) == 1
    assert _first_largest(np.array([1.0, 3.0, 3.0 * (1 + 1e-6), 2.0])) == 2
    assert _first_largest(np.zeros(3)) == 0
