"""fa.audit: questions, verdicts, multiplicity, the record."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from verdicts import verdict_of

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.findings import Verdict
from fairaudit.auditing.verdict import check_tolerance
from fairaudit.errors import InputError
from fairaudit.evidence.measured import MeasuredValue
from fairaudit.permute.icp import ICP
from fairaudit.testing.multiplicity import adjust_p_values

QUICK = fa.Permutations(n=99)


def people(n=400, effect=0.0, seed=0, continuous=False):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "race": rng.choice(["a", "b", "c"], n),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
        }
    )
    y = rng.normal(size=n) + (frame.sex == "f") * 0.3
    y = y.to_numpy() if continuous else (y > 0).astype(int).to_numpy()
    u = y + effect * (frame.sex == "f").to_numpy() + rng.normal(size=n)
    return u, y, frame


def test_a_violation_is_found_and_placed():
    u, y, frame = people(effect=1.0)
    result = fa.audit(predictions=u, outcome=y, sensitive=frame, pairs=[("race", "sex")])
    assert result.verdict is fa.Verdict.VIOLATION and result.p_value == 0.001
    by_name = {finding.name: finding for finding in result.findings}
    assert list(by_name) == [
        "race, sex, age",
        "race",
        "sex",
        "age",
        "race, sex",
        "y_true = 0",
        "y_true = 1",
    ]
    assert by_name["sex"].significant and not by_name["race"].significant
    assert by_name["y_true = 1"].rows == int(y.sum())
    assert result.joint.kpc == pytest.approx(float(fa.metrics.kpc(u, sensitive=frame, y_true=y)))


def test_numbers_are_those_of_the_single_tests():
    """Shared copies are the copies of a test of its own with the same seed."""
    u, y, frame = people(effect=0.3)
    result = fa.audit(predictions=u, outcome=y, sensitive=frame, permutations=QUICK)
    for finding in result.findings[:4]:
        alone = fa.equalized_odds_test(
            u, y_true=y, sensitive=frame[list(finding.attributes)], permutations=QUICK
        )
        assert (finding.value, finding.p_value) == (alone.statistic, alone.p_value)
    assert result.null == tuple(
        fa.equalized_odds_test(u, y_true=y, sensitive=frame, permutations=QUICK).null
    )


def test_outcome_classes_use_their_own_rows_only():
    u, y, frame = people(effect=0.0)
    u = np.where((y == 1) & (frame.sex == "f"), u + 2, u)  # the violation is among positives
    result = fa.audit(predictions=u, outcome=y, sensitive=frame[["sex"]], permutations=QUICK)
    negative, positive = result.findings[1:]
    assert positive.p_value == 0.01 and positive.significant
    assert negative.p_value > 0.05


def test_regression_tests_ranges_of_the_outcome():
    u, y, frame = people(300, continuous=True)
    u = np.where((y > np.quantile(y, 2 / 3)) & (frame.sex == "f"), u + 3, u)
    sensitive = frame[["sex", "age"]]
    result = fa.audit(predictions=u, outcome=y, sensitive=sensitive, permutations=QUICK, law="icp")
    ranges = [finding for finding in result.findings if finding.family == "outcome"]
    assert [finding.rows for finding in ranges] == [100, 100, 100]
    assert ranges[2].p_value == 0.01 and min(ranges[0].p_value, ranges[1].p_value) > 0.01
    assert "cross-fitted" in result.quality.copies_by


def test_copies_within_ranges_stay_within():
    _, y, frame = people(300, continuous=True)
    table = fa.AuditTable.of(y, frame, y)
    strata = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    fitted = ICP("ols").prepare(table.outcome, table.attributes, steps=5, seed=0, strata=strata)
    copies = fitted.sampler.block(range(3))
    assert (strata[copies] == strata).all() and (np.sort(copies) == np.arange(300)).all()
    assert (copies != np.arange(300)).mean() > 0.5


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_size_within_ranges():
    """The law of Y given A within a range is q(y|a) up to a factor that cancels."""
    alarms, replications = 0, 1000
    for seed in range(replications):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=150)
        y = a + rng.normal(size=150)
        u = y + y**2 + rng.normal(size=150)
        table = fa.AuditTable.of(u, {"a": a}, y)
        strata = (y > 0.5).astype(int)
        known = lambda y, a: -0.5 * (y - a[:, 0]) ** 2  # noqa: E731
        from fairaudit.testing.core import Scope, run_tests
        from fairaudit.testing.statistic import statistic_named

        fitted = ICP(known).prepare(
            table.outcome, table.attributes, steps=50, seed=seed, strata=strata
        )
        rows = np.flatnonzero(strata == 0)
        asked = [Scope(table.take(rows), rows=rows)]
        drawn = fa.Permutations(n=19, seed=seed)
        alarms += run_tests(asked, fitted, statistic_named("correlation"), drawn)[0].p_value <= 0.05
    assert alarms <= 75  # .05 · 1,000 + 3.6 standard errors


def test_joint_only_violation_gets_a_sentence():
    rng = np.random.default_rng(0)
    y, a, b = rng.integers(0, 2, (3, 600))
    u = y + 1.0 * (a ^ b) + rng.normal(size=600)
    result = fa.audit(predictions=u, outcome=y, sensitive={"a": a, "b": b})
    assert result.verdict == "violation"
    assert not any(f.significant for f in result.findings if f.family == "attribute")
    assert "No attribute shows this alone" in result.notes[0]


@pytest.mark.parametrize("how", ["holm", "fdr_bh"])
def test_adjusted_p_values_are_those_of_statsmodels(how):
    from statsmodels.stats.multitest import multipletests

    for seed in range(20):
        p = list(np.random.default_rng(seed).random(seed % 7 + 1) ** 2)
        assert adjust_p_values(p, how) == pytest.approx(multipletests(p, method=how)[1].tolist())
    assert adjust_p_values([], how) == []


def test_nothing_is_claimed_behind_a_closed_gate():
    u, y, frame = people()
    result = fa.audit(predictions=u, outcome=y, sensitive=frame, permutations=QUICK, alpha=0.02)
    assert result.verdict is Verdict.NO_VIOLATION
    assert not any(finding.significant for finding in result.findings)


def test_family_wise_error_behind_the_gate():
    """Under the global null any claim at all is made with probability alpha at most."""
    claims = 0
    for seed in range(150):
        u, y, frame = people(120, seed=seed)
        result = fa.audit(
            predictions=u,
            outcome=y,
            sensitive=frame[["race", "sex"]],
            permutations=fa.Permutations(n=19, seed=seed),
            statistic="correlation",  # the gate and the adjustment are the same for all
            power=False,
            with_r=False,
        )
        claims += any(finding.significant for finding in result.findings)
    assert claims <= 17  # .05 · 150 + 3.5 standard errors


def test_decide():
    assert verdict_of()[0] is Verdict.VIOLATION
    assert verdict_of(p_value=0.05)[0] is Verdict.VIOLATION  # p ≤ alpha
    assert verdict_of(p_value=0.0501)[0] is Verdict.NO_VIOLATION
    assert verdict_of(inconclusive="why")[0] is Verdict.INCONCLUSIVE
    assert verdict_of(p_value=None)[0] is Verdict.INCONCLUSIVE
    verdict, because = verdict_of(copies=9, p_value=0.1)
    assert verdict is Verdict.INCONCLUSIVE and "draw at least 19" in because
    assert verdict_of(copies=19)[0] is Verdict.VIOLATION


def test_a_tolerance_of_mean_errors_alone_is_refused():
    """They can be equal where equalized odds is violated."""
    measures = [
        MeasuredValue(key="kpc", name="KPC", value=0.1, attributes=("sex",)),
        MeasuredValue(
            key="mean_error_difference", name="mean errors", value=0.0, attributes=("sex",)
        ),
    ]
    with pytest.raises(InputError, match=r"says nothing about equalized odds.*Add kpc"):
        check_tolerance({"mean_error_difference": 0.1}, measures, ["sex"])
    check_tolerance({"mean_error_difference": 0.1, "kpc": 0.1}, measures, ["sex"])


def test_tolerance():
    assert verdict_of(tolerance={"kpc": 0.01})[0] is Verdict.NO_VIOLATION
    assert "within the size" in verdict_of(tolerance={"kpc": 0.01})[1]
    assert verdict_of(tolerance={"kpc": 0.01, "deo": 0.1})[0] is Verdict.VIOLATION
    assert verdict_of(tolerance={"kpc": 0.01}, p_value=0.5)[0] is Verdict.NO_VIOLATION
    assert verdict_of(tolerance={"kpc": 0.01}, inconclusive="why")[0] is Verdict.INCONCLUSIVE
    for name in ("nonsense", "equalized_odds_ratio"):
        with pytest.raises(fa.InputError, match="does not measure"):
            verdict_of(tolerance={name: 0.1})


@pytest.mark.parametrize("continuous", [False, True])
def test_record_round_trip(continuous):
    u, y, frame = people(200, continuous=continuous)
    result = fa.audit(
        predictions=u,
        outcome=y,
        sensitive=frame,
        permutations=QUICK,
        weights=np.ones(200),
        ids=np.arange(200) // 2,
    )
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert AuditResult.from_dict(json.loads(text)) == result
    assert result.table.people == 100 and result.table.weights == "weights"
    frame = result.to_frame()
    assert len(frame) == len(result.findings) and {"p_low", "p_high"} <= set(frame.columns)


@pytest.mark.parametrize("record", [{}, [], {"schema": "fairaudit/audit/1"}, {"schema": "2"}])
def test_no_record(record):
    with pytest.raises(fa.InputError):
        AuditResult.from_dict(record)


def test_same_seed_same_record():
    u, y, frame = people()
    a, b = (
        fa.audit(predictions=u, outcome=y, sensitive=frame, permutations=QUICK, seed=3)
        for _ in range(2)
    )
    from fairaudit_cli.verify import differences

    counted, changed = differences(a.to_dict(), b.to_dict())
    assert counted > 150 and changed == []
    other = fa.audit(predictions=u, outcome=y, sensitive=frame, permutations=QUICK, seed=4)
    assert differences(a.to_dict(), other.to_dict())[1]


def test_few_people_are_inconclusive():
    u, y, frame = people(12)
    result = fa.audit(predictions=u, outcome=y, sensitive=frame[["sex"]], permutations=QUICK)
    assert result.verdict is Verdict.INCONCLUSIVE and "too few" in result.because


def test_attribute_that_is_the_outcome_is_inconclusive():
    u, y, _ = people()
    result = fa.audit(predictions=u, outcome=y, sensitive={"a": y}, permutations=QUICK)
    assert result.verdict is Verdict.INCONCLUSIVE and "nothing can be exchanged" in result.because


def test_model_and_columns_of_x():
    from sklearn.linear_model import LogisticRegression

    u, y, frame = people(300)
    X = frame.assign(u=u, sex=(frame.sex == "f") * 1)
    model = LogisticRegression().fit(X[["u", "sex"]], y)
    result = fa.audit(model, X, y, sensitive=["race", "sex"], permutations=QUICK)
    assert result.table.features == ("u", "sex")
    score = model.predict_proba(X[["u", "sex"]])[:, 1]
    alone = fa.equalized_odds_test(
        score, y_true=y, sensitive=X[["race", "sex"]], permutations=QUICK
    )
    assert result.p_value == alone.p_value
    labels = fa.audit(model, X, y, sensitive="race,sex", permutations=QUICK, on="labels")
    assert labels.table.prediction.startswith("labels")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outcome": None}, "outcome is missing"),
        ({"predictions": None}, "Pass either a model with X or predictions"),
        ({"alpha": 0.0}, "alpha"),
        ({"adjust": "bonferroni"}, "adjust"),
        ({"statistic": "hrt"}, "hrt"),
        ({"pairs": [("race", "sexx")]}, "no column 'sexx'"),
        ({"tolerance": {"kpc": -1}}, "must be 0 or more"),
        ({"sensitive": {"a": np.zeros(400)}}, "single value"),
    ],
)
def test_bad_options(options, message):
    u, y, frame = people()
    given = {"predictions": u, "outcome": y, "sensitive": frame} | options
    with pytest.raises(fa.InputError, match=message):
        fa.audit(permutations=QUICK, **given)


def test_outcomes_with_a_spike_have_ranges_of_one_value():
    rng = np.random.default_rng(0)
    outcome = np.where(rng.random(300) < 0.8, 0.0, np.abs(rng.normal(size=300)))
    result = fa.audit(
        predictions=rng.normal(size=300),
        outcome=outcome,
        sensitive={"a": rng.choice(["x", "y"], 300)},
        permutations=fa.Permutations(n=19),
    )
    assert [finding.family for finding in result.findings] == ["joint", "outcome", "outcome"]


def test_predictions_that_are_constant_within_every_range():
    rng = np.random.default_rng(1)
    outcome = rng.normal(size=300)
    steps = np.searchsorted(np.quantile(outcome, [1 / 3, 2 / 3]), outcome).astype(float)
    result = fa.audit(
        predictions=steps,
        outcome=outcome,
        sensitive={"a": rng.normal(size=300)},
        permutations=fa.Permutations(n=19),
    )
    assert len(result.findings) == 1


def test_too_few_copies_for_claims_are_not_called_a_combination():
    rng = np.random.default_rng(0)
    y, a, b, c = rng.integers(0, 2, (4, 400))
    score = y + 3 * a + rng.normal(size=400)
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive={"a": a, "b": b, "c": c},
        permutations=fa.Permutations(n=19),
    )
    assert result.joint.significant and not any(
        finding.significant for finding in result.findings[1:]
    )
    assert not any("in combination" in note for note in result.notes)
    assert any("draw at least 99" in note for note in result.notes)


def test_scores_as_text_are_refused():
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, (2, 100))
    with pytest.raises(fa.InputError, match="100 different values"):
        fa.audit(predictions=[f"{k / 100:.2f}" for k in range(100)], outcome=y, sensitive={"a": a})


def test_a_pair_counts_once():
    rng = np.random.default_rng(0)
    y, a, b, c = rng.integers(0, 2, (4, 200))
    result = fa.audit(
        predictions=y + rng.normal(size=200),
        outcome=y,
        sensitive={"a": a, "b": b, "c": c},
        pairs=[("a", "b"), ("b", "a")],
        permutations=fa.Permutations(n=19),
    )
    assert [finding.name for finding in result.findings if finding.family == "pair"] == ["a, b"]


def test_a_perfect_prediction_gets_a_verdict():
    _, y, frame = people()
    result = fa.audit(predictions=y, outcome=y, sensitive=frame[["sex"]], permutations=QUICK)
    assert result.verdict is Verdict.NO_VIOLATION and result.p_value == 1.0
    assert any("Not asked: y_true = 0" in note for note in result.notes)


def test_few_missing_values_are_masked():
    u, y, frame = people()
    result = fa.audit(predictions=u, outcome=y, sensitive=frame, permutations=QUICK)
    column = replace(result.table.attributes[0], missing=3)
    table = replace(result.table, attributes=(column, *result.table.attributes[1:]))
    result = replace(result, table=table)
    shown = result.suppressed(10).table.attributes
    assert shown[0].missing is None and "some missing" in shown[0].describe()
    assert shown[1].missing == 0
    assert result.suppressed(0).table.attributes[0].missing == 3


def test_checks_of_all_ranges_share_their_copies(monkeypatch):
    """A copy is drawn once, for the test and for the checks of all questions alike."""
    from fairaudit.permute.chain import ConditionalPermutation
    from fairaudit.testing.diagnostics import CHECKED_COPIES

    drawn, block = [], ConditionalPermutation.block

    def counted(self, copies):
        drawn.extend(copies)
        return block(self, copies)

    monkeypatch.setattr(ConditionalPermutation, "block", counted)
    rng = np.random.default_rng(0)
    age = rng.normal(size=400)
    y = age + rng.normal(size=400)
    result = fa.audit(
        predictions=y + rng.normal(size=400),
        outcome=y,
        sensitive={"age": age},
        permutations=fa.Permutations(n=29),
    )
    assert len(result.findings) == 4  # all rows, and three ranges of the outcome
    assert sorted(drawn) == sorted([*range(CHECKED_COPIES)] * 2)


def test_people_with_several_rows_and_a_continuous_outcome_are_conclusive():
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(150), 4)
    sex = rng.choice(["f", "m"], 150)[who]
    y = (1.2 * rng.normal(size=150) + 0.5 * (sex[::4] == "m"))[who] + rng.normal(size=600)
    fair = 0.7 * y + 0.5 * rng.normal(size=150)[who] + 0.5 * rng.normal(size=600)
    verdicts = [
        fa.audit(
            predictions=fair + gap * (sex == "m"), outcome=y, sensitive={"sex": sex}, ids=who
        ).verdict
        for gap in (0.0, 1.0)
    ]
    assert verdicts == ["no violation found", "violation"]
