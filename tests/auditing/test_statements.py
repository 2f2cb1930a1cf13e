"""The facts that an audit begins with: whom they name, and when they name nobody."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.findings import StatementKind, Verdict
from fairaudit.auditing.statements import _tell_claim, _tell_clear
from fairaudit.evidence.localization.claims import Claim, Localization
from fairaudit.evidence.portrait.contrast import Contrast
from fairaudit.evidence.portrait.quantities import read_score
from fairaudit_reports.view.cover import Cover, use_cover
from fairaudit_reports.view.statements_view import describe_statements


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "race": rng.choice(["Asian", "Black", "White"], n, p=[0.2, 0.3, 0.5]),
            "sex": rng.choice(["female", "male"], n),
            "age": rng.integers(18, 80, n),
        }
    )
    return rng, frame, rng.integers(0, 2, n)


def audit(score, y, attributes, **options):
    return fa.audit(
        predictions=score,
        outcome=pd.Series(y, name="repaid"),
        sensitive=attributes,
        permutations=fa.Permutations(n=99),
        power=False,
        **options,
    )


def scores(rng, y, shift):
    return 1 / (1 + np.exp(-(2 * y - 1 + shift + rng.normal(size=len(y)))))


@pytest.fixture(scope="module")
def crossed():
    rng, frame, y = people()
    guilty = (frame.race == "Black") & (frame.sex == "female")
    return audit(scores(rng, y, -1.5 * guilty - 0.02 * (frame.age - 49)), y, frame)


def test_the_people_who_share_two_levels_are_named_and_age_beside_them(crossed):
    first, second = sorted(crossed.statements, key=lambda s: -len(s.attributes))
    assert all(statement.accuses for statement in (first, second))
    assert dict(zip(first.attributes, first.contrast.levels, strict=True)) == {
        "race": "Black",
        "sex": "female",
    }
    assert second.attributes == ("age",) and second.contrast.others is not None
    for contrast in (first.contrast, second.contrast):
        assert contrast.value == pytest.approx(contrast.own - contrast.other)
        assert contrast.low < contrast.value < contrast.high and contrast.excludes_zero
    group = describe_statements(crossed)[crossed.statements.index(first)]
    assert group.startswith("Among people with repaid = 1, Black, female are recognized (predicted")
    assert "all others in" in group and "95 % interval" in group


def test_the_rates_are_those_of_the_rows(crossed):
    rng, frame, y = people()
    guilty = (frame.race == "Black") & (frame.sex == "female")
    label = scores(rng, y, -1.5 * guilty - 0.02 * (frame.age - 49)) >= 0.5
    told = next(s.contrast for s in crossed.statements if len(s.attributes) == 2)
    among = y == 1
    assert told.own == pytest.approx(label[among & guilty].mean())
    assert told.other == pytest.approx(label[among & ~guilty].mean())
    assert told.people == (among & guilty).sum()


def test_the_two_groups_that_differ_most_are_told():
    rng, frame, y = people()
    low = (frame.race == "Black") & (frame.sex == "female")
    high = (frame.race == "White") & (frame.sex == "male")
    score = scores(rng, y, -1.2 * low + 1.2 * high)
    result = audit(score, y, frame)
    first, widest, *_ = result.statements
    pair, portrait = widest.contrast, result.portrait
    assert widest.widest and pair.beyond_doubt and pair.others is not None
    assert set(first.attributes) <= set(pair.attributes)
    same = [p for p in portrait.pairs if p.outcome == pair.outcome]
    assert pair.shown == max(other.shown for other in same)
    assert abs(pair.value) > 1.1 * abs(first.contrast.value)
    assert {pair.levels, pair.others} == {("Black", "female"), ("White", "male")}
    among = y == int(pair.outcome)
    for rate, levels in ((pair.own, pair.levels), (pair.other, pair.others)):
        inside = among & (frame.race == levels[0]) & (frame.sex == levels[1])
        assert rate == pytest.approx((score >= 0.5)[inside].mean())
    text = describe_statements(result)[1]
    assert text.startswith("The two groups that differ most: among people with repaid = ")


def test_two_groups_far_apart_are_told_where_neither_is_far_from_all_others():
    contrast = Contrast(
        attributes=("race",),
        levels=("a",),
        others=("b",),
        outcome="1",
        quantity="rate",
        predicted="1",
        own=0.2,
        other=0.6,
        value=-0.4,
        low=-0.6,
        high=-0.2,
        deviations=-6.0,
        people=80,
        beyond_doubt=True,
    )
    shared = {"confidence": 0.95, "tolerated": False}
    alone = replace(contrast, others=None, low=-0.3, high=0.1, value=-0.1, beyond_doubt=False)
    (told,) = _tell_clear([alone], [contrast], shared)
    assert told.contrast is contrast and not told.widest


def test_a_place_is_told_where_no_group_is_and_only_at_the_level_of_naming():
    claim = Claim(
        family="subgroup",
        name="sex = f and age > 55",
        text="Among y = 1, people with sex = f and age > 55 have lower scores than the others.",
        attributes=("sex", "age"),
        outcome="1",
        rows=200,
        people=200,
        effect=-0.2,
        low=-0.3,
        high=-0.1,
        p_value=1e-6,
        p_adjusted=1e-5,
        significant=True,
        method="",
    )
    shared = {"confidence": 0.95, "tolerated": False}
    place = Localization(alpha=0.05, claims=(claim,), curves=(), notes=())
    (told,) = _tell_claim(place, 0.05, shared)
    assert told.accuses and told.claim is claim
    weak = replace(place, claims=(replace(claim, p_adjusted=0.01),))
    assert _tell_claim(weak, 0.05, shared) == ()


def test_nobody_is_named_where_the_gate_did_not_reject(crossed):
    rng, frame, y = people(seed=5)
    fair = audit(scores(rng, y, 0.0), y, frame)
    assert fair.verdict is Verdict.NO_VIOLATION
    (statement,) = fair.statements
    assert statement.kind is StatementKind.AT_MOST and not statement.accuses
    assert 0 < statement.value < 0.5 and "at most" in describe_statements(fair)[0]
    closed = replace(crossed, findings=(replace(crossed.joint, significant=False),))
    assert not any(statement.accuses for statement in closed.statements)
    undecided = replace(crossed, verdict=Verdict.INCONCLUSIVE)
    assert [s.kind for s in undecided.statements] == [StatementKind.NOTHING_SHOWN]
    assert describe_statements(undecided) == ["Nobody can be named: the audit is inconclusive."]


def test_a_pattern_that_no_mean_shows_is_called_one():
    """Scores of women spread more: no rate and no mean differs."""
    rng, frame, y = people(6000)
    wide = np.where(frame.sex == "female", 3.0, 1.0) * rng.normal(size=len(y))
    result = audit(2 * y - 1 + wide * np.where(y == 1, 1, 1), y, frame[["sex"]])
    assert result.verdict is Verdict.VIOLATION
    assert not any(statement.accuses for statement in result.statements)
    assert "No single difference is" in describe_statements(result)[0]


def test_predictions_are_told_in_units_of_the_outcome():
    rng, frame, _ = people()
    y = rng.normal(50, 10, len(frame))
    result = audit(y + 4.0 * (frame.sex == "male") + rng.normal(0, 5, len(y)), y, frame[["sex"]])
    (sentence,) = describe_statements(result)
    assert sentence.startswith("Among people with the same repaid, female get predictions that are")
    assert result.statements[0].contrast.value == pytest.approx(-4.0, abs=0.8)


def test_the_sentences_stand_in_every_format(crossed):
    for sentence in describe_statements(crossed):
        for form in ("html", "md", "txt", "xml", "sarif", "github"):
            text = crossed.render(form).replace("%25", "%").replace("\\", "").replace("\u00a0", " ")
            assert sentence in " ".join(text.split()), form
    record = crossed.to_dict()
    assert record["statements"][0]["contrast"]["levels"]


def test_masked_groups_are_not_named():
    rng, frame, y = people(1200)
    rare = np.arange(len(y)) < 12
    frame.loc[rare, "race"] = "Native"
    result = audit(scores(rng, y, 3.0 * rare - 1.2 * (frame.race == "Black")), y, frame)
    shown = result.suppressed(10)
    assert shown.cells.masked
    contrasts = [*shown.portrait.contrasts, *shown.portrait.pairs]
    assert shown.portrait.pairs
    kept = {
        pair
        for contrast in contrasts
        for levels in (contrast.levels, contrast.others or ())
        for pair in zip(contrast.attributes, levels, strict=False)
    }
    assert ("race", "Native") not in kept
    assert all(contrast.people % 10 == 0 for contrast in contrasts)
    for bins in shown.portrait.scores:
        assert "Native" not in bins.levels
        sums = np.cumsum(np.array(bins.counts), axis=2)
        assert (sums % 10 == 0).all()


def test_a_difference_that_masks_round_to_nothing_is_not_told(crossed):
    shown = crossed.suppressed(400)  # all groups are smaller
    assert shown.masked and not any(s.contrast and not s.contrast.value for s in shown.statements)
    (told,) = describe_statements(shown)
    assert "0.0 points" not in told and "(0.3 higher; 95 % interval 0.0 to 0.3)" in told
    assert "nobody can be named" in describe_statements(crossed.suppressed(1500))[0]
    size = shown.joint
    assert size.kpc_low < crossed.joint.kpc_low and crossed.joint.kpc_high < size.kpc_high


def test_names_that_readers_know(crossed):
    cover = Cover(
        names={"repaid": "loan repaid"}, levels={"sex": {"female": "women"}, "repaid": {"1": "yes"}}
    )
    with use_cover(cover):
        text = " ".join(describe_statements(crossed))
    assert "Among people with loan repaid = yes, Black, women are" in text
    assert "women" not in " ".join(describe_statements(crossed))


def test_shards_tell_what_the_table_in_memory_tells():
    rng, frame, y = people()
    frame = frame.assign(repaid=y, label=(scores(rng, y, -2.0 * (frame.sex == "female")) > 0.5) * 1)
    about = {"outcome": "repaid", "predictions": "label", "sensitive": ["race", "sex", "age"]}
    few = fa.Permutations(n=99)
    memory, shards = (
        fa.audit(X=frame, **about, **more, permutations=few) for more in ({}, {"shards": 3})
    )
    assert describe_statements(shards) == describe_statements(memory)
    assert shards.portrait == memory.portrait and shards.statements[0].accuses


def test_a_class_called_none_is_not_of_interest_where_none_was_named():
    """The probability of the true class is what is looked at, and no class is named None."""
    rng = np.random.default_rng(1)
    chances = rng.dirichlet([1, 1, 1], 90)
    levels = np.array(["None", "few", "many"])
    y = levels[rng.integers(0, 3, 90)]
    table = fa.AuditTable.of(pd.DataFrame(chances, columns=levels), {"g": y == "few"}, y)
    own = chances[np.arange(90), [list(levels).index(name) for name in y]]
    assert read_score(table) == pytest.approx(own)
