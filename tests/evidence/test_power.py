"""Planted violations, detectable sizes and plans of rows."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.evidence.power import pilot
from fairaudit.evidence.power.detect import _amount_with_power, _Look
from fairaudit.evidence.power.interval_widths import plan_width
from fairaudit.evidence.power.pilot import null_table, plan_effect
from fairaudit.evidence.power.planning import plan_certificate, plan_rows
from fairaudit.evidence.power.plant import (
    Group,
    amount_for,
    field_of,
    groups_in,
    largest_gap,
    shifted,
    with_gap,
)
from fairaudit.evidence.power.power_curve import fit_curve
from fairaudit.evidence.power.power_result import PowerPoint
from fairaudit.permute.within import WithinOutcome
from fairaudit.testing.statistic import statistic_named
from fairaudit_cli.main import main

RNG = np.random.default_rng(0)


def table(n=2000, seed=0, continuous=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    score = np.where(y == 1, rng.beta(5, 2, n), rng.beta(2, 5, n))
    frame = {"sex": rng.choice(["f", "m"], n, p=[0.7, 0.3]), "age": rng.integers(18, 80, n)}
    return fa.AuditTable.of(score, frame, score + rng.normal(size=n) if continuous else y)


@pytest.mark.parametrize("continuous", [False, True])
def test_planting_exchanges_attributes_between_rows_of_the_same_outcome(continuous):
    given = table(continuous=continuous)
    field = field_of(given, None)
    (group, _) = groups_in(given, 8)
    copy = WithinOutcome(field.strata, 0).block(range(1))[0]
    for planted in (
        shifted(copy, group, field, 0.5, RNG),
        copy if continuous else with_gap(copy, group, field=field, outcome=True, size=0.1, rng=RNG),
    ):
        assert sorted(planted) == list(range(2000))
        assert (field.strata[planted] == field.strata).all()


def test_a_planted_gap_has_its_size():
    given = table(20_000)
    field = field_of(given, None)
    (group, _) = groups_in(given, 8)
    copies = WithinOutcome(field.strata, 0).block(range(20))
    for outcome in (True, False):
        planted = [
            with_gap(copy, group, field=field, outcome=outcome, size=0.08, rng=RNG)
            for copy in copies
        ]
        gaps = [abs(field.gap(copy, group, outcome)) for copy in planted]
        assert np.mean(gaps) == pytest.approx(0.08, abs=0.008)
        other = [field.gap(copy, group, not outcome) for copy in planted]
        assert np.mean(other) == pytest.approx(0, abs=0.008)


def test_the_largest_gap_is_what_exchanges_reach():
    given = table(20_000)
    field = field_of(given, None)
    (group, _) = groups_in(given, 8)
    copies = WithinOutcome(field.strata, 0).block(range(20))
    for outcome in (True, False):
        planted = [
            with_gap(copy, group, field=field, outcome=outcome, size=1.0, rng=RNG)
            for copy in copies
        ]
        reached = np.mean([abs(field.gap(copy, group, outcome)) for copy in planted])
        assert reached == pytest.approx(largest_gap(group, field, outcome), abs=0.01)


def test_a_planted_shift_grows_with_its_amount():
    given = table()
    field = field_of(given, None)
    (group, _) = groups_in(given, 8)
    copies = WithinOutcome(field.strata, 0).block(range(20))
    sizes = [
        np.mean([field.shift(shifted(c, group, field, amount, RNG), group) for c in copies])
        for amount in (0.0, 0.2, 0.6, 1.0, 3.0)
    ]
    assert abs(sizes[0]) < 0.05 and (np.diff(sizes) > 0.05).all()


def test_a_planted_shift_is_like_a_real_one():
    """KPC, on which the rows depend that are needed, is that of a law with the same shift."""
    rng = np.random.default_rng(3)
    y, sex = rng.integers(0, 2, (2, 40_000))
    score = np.where(y == 1, rng.beta(5, 2, 40_000), rng.beta(2, 5, 40_000))
    spread = score[y == 0].std()
    truth = float(fa.metrics.kpc(score + 0.4 * spread * sex, sensitive=sex, y_true=y))
    given = fa.AuditTable.of(score, {"sex": sex}, y)
    field, group = field_of(given, None), Group("sex = 1", sex == 1)
    copies = WithinOutcome(field.strata, 0).block(range(3))
    real = 0.4 / np.hypot(1, 0.2)  # of the spread that includes the shift
    amount = amount_for(
        lambda copy: field.shift(copy, group), copies, group=group, field=field, size=real, seed=0
    )
    planted = [shifted(copy, group, field, amount, RNG) for copy in copies]
    sizes = [float(fa.metrics.kpc(score, sensitive=sex[copy], y_true=y)) for copy in planted]
    assert np.mean(sizes) == pytest.approx(truth, rel=0.05)


def test_shift_is_the_difference_of_means_given_the_outcome():
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 40_000))
    field = field_of(fa.AuditTable.of(3 * y + 0.3 * sex + rng.normal(size=40_000), sex, y), None)
    group = Group("sex = 1", sex == 1)
    assert field.shift(np.arange(40_000), group) == pytest.approx(0.3 / np.hypot(1, 0.15), abs=0.03)


def test_a_shift_is_as_large_on_every_scale_of_the_scores():
    """Tests of ranks do not see the scale, and what they find is said in their units."""
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 2000))
    score = y + 0.3 * sex + rng.normal(size=2000)
    group = Group("sex = 1", sex == 1)
    shifts = [
        field_of(fa.AuditTable.of(scale(score), {"sex": sex}, y), None).shift(
            np.arange(2000), group
        )
        for scale in (np.asarray, np.exp, lambda x: 1 / (1 + np.exp(-4 * x)))
    ]
    assert shifts == pytest.approx([shifts[0]] * 3)


def test_every_audit_states_what_it_could_have_found():
    given = table()
    result = fa.audit(
        predictions=np.asarray(given.prediction.columns[0].numeric),
        outcome=np.asarray(given.outcome.numeric),
        sensitive={c.name: c.levels[c.codes] for c in given.attributes},
        permutations=fa.Permutations(n=199),
    )
    assert [group.group for group in result.power.detectable] == ["sex = m", "age > 49"]
    detectable = result.power.detectable[1]
    assert 0.1 < detectable.shift < 0.8
    assert (
        0 < detectable.kpc < 0.2 and 0 < detectable.tpr_gap < 0.3 and 0 < detectable.fpr_gap < 0.3
    )
    assert AuditResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert "Could have been found" in result.summary()
    for form in ("md", "html"):
        assert "age" in result.render(form) and "found" in result.render(form)


def test_what_could_have_been_found_is_in_units_that_people_can_name():
    """Of numbers a gap in the outcome's units; of several classes the one of interest."""
    rng = np.random.default_rng(1)
    n = 400
    y, sex = 10 * rng.normal(size=n), rng.choice(["f", "m"], n)
    given = {"sensitive": {"sex": sex}, "permutations": fa.Permutations(n=199), "locate": False}
    numbers = fa.audit(predictions=y + 4 * rng.normal(size=n), outcome=y, law="local", **given)
    (found,) = numbers.power.detectable
    assert found.prediction_gap == pytest.approx(4 * found.shift, rel=0.1)
    assert "prediction gap" in numbers.summary() and "TPR gap" not in numbers.summary()
    tier = rng.integers(0, 3, n)
    chances = rng.dirichlet([1, 1, 1], n) + np.eye(3)[tier]
    frame = pd.DataFrame(chances / 2, columns=["0", "1", "2"])
    field = field_of(fa.AuditTable.of(frame, {"sex": sex}, tier, positive=1), None)
    assert (field.score == chances[:, 1] / 2).all()


def test_what_could_have_been_found_is_that_of_theory():
    """`correlation` with two binary attributes is a chi-square test with two degrees of freedom."""
    n, stated = 500, []
    for seed in range(6):
        rng = np.random.default_rng([seed, n])
        y = rng.integers(0, 2, n)
        sex = rng.permutation((np.arange(n) % 5 < 2).astype(int))
        audit = fa.audit(
            predictions=y + rng.normal(size=n),
            outcome=y,
            sensitive={"sex": sex, "race": rng.integers(0, 2, n)},
            statistic="correlation",
            permutations=fa.Permutations(n=499, seed=seed),
        )
        stated += [group.shift for group in audit.power.detectable if group.group == "sex = 1"]
    aim = 0.85  # so that .80 is kept by what a few hundred planted tables say
    noncentrality = brentq(lambda x: ncx2.sf(chi2.isf(0.05, 2), 2, x) - aim, 1, 40)
    assert np.mean(stated) == pytest.approx(np.sqrt(noncentrality / (n * 0.24)), rel=0.08)


def test_the_amount_between_two_looks_is_that_of_a_chi_square_test():
    amounts = np.array([0.1, 0.22, 0.4])
    looks = [
        _Look(amount, 10_000, float(ncx2.sf(chi2.isf(0.05, 3), 3, 150 * amount**2)), np.ones(4))
        for amount in amounts
    ]
    wanted = brentq(lambda x: ncx2.sf(chi2.isf(0.05, 3), 3, 150 * x**2) - 0.85, 0.22, 0.4)
    assert _amount_with_power(looks, 0.05, (0.22, 0.4)) == pytest.approx(wanted, rel=0.002)


def test_power_is_left_out_where_it_cannot_be_had():
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 200))
    given = {"predictions": rng.random(200), "outcome": y, "sensitive": {"sex": sex}}
    few = fa.Permutations(n=19)
    assert fa.audit(**given, permutations=few).power is None
    assert fa.audit(**given, power=False).power is None
    assert fa.audit(**given, ids=np.arange(200) // 2).power is None
    small = fa.audit(**given)
    assert small.power.detectable and small.suppressed(150).power.detectable == ()


def test_the_curve_finds_the_rows_of_a_normal_test():
    """Two-sided z-test: power is known."""

    def truth(n):
        return norm.cdf(0.05 * np.sqrt(n) - 1.96) + norm.cdf(-0.05 * np.sqrt(n) - 1.96)

    points = [PowerPoint(n, truth(n), 200) for n in (200, 450, 1000, 2277, 5000, 11_000)]
    exact = ((norm.ppf(0.8) + norm.ppf(0.975)) / 0.05) ** 2
    assert fit_curve(points, 0.8, 0.05)[1] == pytest.approx(exact, rel=0.02)
    assert fit_curve(points[:2], 0.8, 0.05)[1] is None


def test_plan_for_a_certificate():
    given = table(1000)
    single = fa.AuditTable.of(given.prediction.columns, [given.attributes[0]], given.outcome)
    plan = plan_certificate(single, {"tpr_gap": 0.1}, most_rows=5_000)
    assert 500 < plan.rows < 3000
    assert plan.certifies and not replace(plan, effect="tpr_gap").certifies
    assert plan_certificate(single, {"tpr_gap": 0.01}, most_rows=500).rows is None


def test_null_tables_of_a_plan_keep_how_weights_and_labels_go_together():
    rng = np.random.default_rng(1)
    group, y, label = rng.integers(0, 2, (3, 4000))
    weights = np.where(label == 1, 10.0, 1.0) * np.where(group == 1, 3.0, 1.0)
    pilot = fa.AuditTable.of(
        label, {"group": group}, y, weights=weights, kinds={"group": "categorical"}
    )
    null = null_table(pilot, 4000, seed=0, number=0)
    new, own = null.prediction.columns[0].codes, null.attributes[0].codes
    for g in (0, 1):
        mean = [null.weights[(new == k) & (own == g)].mean() for k in (0, 1)]
        assert mean[1] / mean[0] == pytest.approx(10, rel=0.1)
    ratio = [null.weights[own == g].mean() for g in (0, 1)]
    assert ratio[1] / ratio[0] == pytest.approx(3, rel=0.1)  # as heavy as their group is


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (lambda pilot: plan_rows(pilot, "tpr_gap", 0.3, most_rows=200), "counts every row once"),
        (lambda pilot: plan_width(pilot, "tpr_gap", 0.5, most_rows=200), "Weights enter"),
        (lambda pilot: plan_certificate(pilot, {"tpr_gap": 0.5}, most_rows=200), "Weights enter"),
    ],
)
def test_a_plan_says_whether_weights_enter(plan, said):
    rng = np.random.default_rng(3)
    group, y, label = rng.integers(0, 2, (3, 400))
    weighted = fa.AuditTable.of(
        label, {"group": group}, y, weights=1.0 + label, kinds={"group": "categorical"}
    )
    assert said in " ".join(plan(weighted).render("txt").split())
    assert not plan(replace(weighted, weights=None)).notes


def test_planned_rows_are_those_of_theory():
    """The joint correlation of two binary attributes is a chi-square test with 2 df."""
    rng = np.random.default_rng(0)
    y, sex, race = (rng.random((3, 20_000)) < np.array([[0.5], [0.4], [0.3]])).astype(int)
    like = fa.AuditTable.of(2 * y + rng.normal(size=20_000), {"sex": sex, "race": race}, y)
    wanted = brentq(lambda x: ncx2.sf(chi2.isf(0.05, 2), 2, x) - 0.8, 1, 40)  # noncentrality
    for size in (0.3, 0.5):
        plan = plan_rows(like, "score_shift", size, groups=["sex=1"], statistic="correlation")
        explained = 0.24 * size**2  # of the variance of the score given the outcome
        assert plan.rows == pytest.approx(wanted * (1 + explained) / explained, rel=0.1)


def test_an_effect_grows_in_the_place_of_rows(monkeypatch):
    """Tables of 1,500 rows stand for 4,500: the power is the same, for classes and numbers."""
    rng = np.random.default_rng(4)
    sex, age = rng.choice(["f", "m"], 8_000, p=[0.6, 0.4]), rng.normal(size=8_000)
    y = rng.normal(size=8_000) + 0.5 * (sex == "m")
    numbers = fa.AuditTable.of(y + rng.normal(size=8_000), {"sex": sex, "age": age}, y)
    for given, effect, size in ((table(8_000), "tpr_gap", 0.08), (numbers, "prediction_gap", 0.12)):
        groups = [group for group in groups_in(given, 8) if "sex" in group.name]
        planted = plan_effect(given, groups, effect, size, threshold=None, seed=0)
        found = []
        for most in (4_500, 1_500):
            monkeypatch.setattr(pilot, "MOST_SIMULATED", most)
            statistics = statistic_named("correlation")
            like = pilot.Pilot(given, planted, statistics, alpha=0.05, threshold=None, seed=1)
            assert like.count_simulated(4_500, groups[0]) == most
            found += [point.found for point in like.find_power(4_500, groups, 60).values()]
        assert 0.3 < found[0] < 0.95 and found[1] == pytest.approx(found[0], abs=0.08)


def test_a_planted_prediction_gap_has_its_size_by_the_public_measure():
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], 4_000, p=[0.7, 0.3])
    y = np.exp(0.5 * rng.normal(size=4_000) + 0.3 * (sex == "m"))
    prediction = 3 * y + rng.normal(size=4_000)
    given = fa.AuditTable.of(prediction, {"sex": sex}, y)
    (group,) = groups_in(given, 8)
    effect = plan_effect(given, [group], "prediction_gap", 0.2, threshold=None, seed=0)
    field = field_of(given, None)
    measured = []
    for copy in WithinOutcome(field.strata, 3).block(range(20)):
        planted = effect.plant(copy, group, field, RNG)
        cells = fa.metrics.prediction_gap(prediction, sensitive=sex[planted], y_true=y).cells
        gap = {cell.levels[0]: cell.gap for cell in cells}
        measured.append(gap["m"] - gap["f"])
        assert field.prediction_gap(planted, group) == pytest.approx(measured[-1], abs=1e-6)
    assert np.mean(measured) == pytest.approx(0.2, abs=0.02)


def test_rows_of_a_prediction_gap_are_those_of_theory():
    """One binary attribute: a chi-square test with 1 df, of residuals of variance 1."""
    rng = np.random.default_rng(6)
    sex = (rng.random(8_000) < 0.4).astype(int)
    y = rng.normal(size=8_000)
    like = fa.AuditTable.of(y + rng.normal(size=8_000), {"sex": sex}, y)
    plan = plan_rows(like, "prediction_gap", 0.25, statistic="correlation")
    wanted = ((norm.ppf(0.8) + norm.ppf(0.975)) / 0.25) ** 2 / 0.24
    assert plan.rows == pytest.approx(wanted, rel=0.1)


def test_people_with_several_rows_are_counted_once():
    """Ten copies of every row tell no more than one."""
    once = table(600)
    rows = np.repeat(np.arange(600), 10)
    many = once.take(rows)
    many = fa.AuditTable.of(many.prediction.columns, list(many.attributes), many.outcome, ids=rows)
    for planned in (
        [
            plan_rows(each, "score_shift", 0.6, groups=["sex=m"], statistic="correlation")
            for each in (once, many)
        ],
        [plan_width(each, "tpr_gap", 0.1) for each in (once, many)],
    ):
        assert planned[0].pilot_rows == planned[1].pilot_rows == 600
        assert planned[1].rows == pytest.approx(planned[0].rows, rel=0.1)


def test_width_of_intervals_is_that_of_the_formula():
    """Two groups with one rate: ±z·sqrt(r(1−r)(1/n1 + 1/n0)), z of two groups and two rates."""
    rng = np.random.default_rng(7)
    y, label = rng.integers(0, 2, 40_000), (rng.random(40_000) < 0.6).astype(int)
    sex = (rng.random(40_000) < 0.3).astype(int)
    plan = plan_width(fa.AuditTable.of(label, {"sex": sex}, y), "tpr_gap", 0.04)
    # gaps of two groups to each other are the same number: two different gaps, TPR and FPR
    critical = norm.ppf((1 + 0.95**0.5) / 2)
    expected = critical**2 * 0.24 / 0.04**2 * (1 / 0.3 + 1 / 0.7) / 0.5
    assert plan.rows == pytest.approx(expected, rel=0.05)
    assert plan.narrows and not plan.certifies and len(plan.groups) == 2
    small = fa.AuditTable.of(label[:500], {"sex": sex[:500]}, y[:500])
    assert plan_width(small, "tpr_gap", 0.01, most_rows=800).rows is None


def test_width_of_prediction_gaps_is_that_of_the_formula():
    rng = np.random.default_rng(8)
    sex, y = (rng.random(5_000) < 0.3).astype(int), rng.normal(size=5_000)
    given = fa.AuditTable.of(y + 2 * rng.normal(size=5_000), {"sex": sex}, y)
    plan = plan_width(given, "prediction_gap", 0.2)
    residual = field_of(given, None).score.std()
    wanted = (norm.ppf(1 - 0.05 / 4) * residual / 0.2) ** 2 / (sex.mean() * (1 - sex.mean()))
    # the width varies by 1 / sqrt(2 n): in 80 % of samples it is at most .84 of that beyond
    assert plan.rows == pytest.approx(
        wanted * (1 + norm.ppf(0.8) / np.sqrt(2 * wanted)) ** 2, rel=0.05
    )


def test_fewer_rows_for_a_larger_effect():
    rows = [
        plan_rows(
            table(1000),
            "score_shift",
            size,
            groups=["sex=m"],
            statistic="correlation",
            most_rows=5_000,
        ).rows
        for size in (0.3, 0.6)
    ]
    assert rows[0] > 2 * rows[1]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ([], "Pass --effect"),
        (["--effect", "size=1"], "no effect 'size'"),
        (["--effect", "tpr_gap=0"], "must be above 0"),
        (["--effect", "tpr_gap=2"], "cannot be larger than 1"),
        (["--effect", "tpr_gap=0.99"], "cannot have a tpr_gap of 0.99"),
        (["--effect", "tpr_gap=0.1,kpc=1"], "one effect at a time"),
        (["--effect", "tpr_gap=0.1", "--power", "2"], "must lie between 0 and 1"),
        (["--effect", "tpr_gap=0.1", "--power", "0.01"], "must be larger than alpha"),
        (["--effect", "tpr_gap=0.1", "--group", "sex=x"], "no group 'sex=x'"),
        (["--effect", "score_shift=9"], "cannot be planted"),
        (["--effect", "prediction_gap=1"], "for predicted numbers and an outcome of numbers"),
        (["--effect", "tpr_gap=0.1", "--width", "tpr_gap=0.1"], "Pass --effect"),
        (["--width", "tpr_gap=0.1,fpr_gap=0.1"], "one width at a time"),
        (["--width", "kpc=0.1"], "no interval of 'kpc'"),
        (["--width", "tpr_gap=0"], "must be above 0"),
        (["--effect", "tpr_gap=0.1", "--report", "a.xyz"], "no report format 'xyz'"),
        (["--certify", "deo=0.1"], "No certificate is possible with age"),
    ],
)
def test_bad_plans(extra, message, tmp_path, capsys):
    write(tmp_path)
    assert main([*command(tmp_path), *extra]) == 2
    assert message in capsys.readouterr().err


def write(folder, n=400):
    given = table(n)
    frame = pd.DataFrame({c.name: c.levels[c.codes] for c in given.attributes})
    frame.assign(y=given.outcome.numeric, p=given.prediction.columns[0].numeric).to_csv(
        folder / "pilot.csv", index=False
    )


def command(folder):
    return [
        "plan",
        "--data",
        str(folder / "pilot.csv"),
        "--predictions",
        "p",
        "--outcome",
        "y",
        "--sensitive",
        "sex,age",
    ]


def test_plan_command(tmp_path, capsys):
    write(tmp_path)
    files = [tmp_path / f"plan.{form}" for form in ("html", "md", "json", "svg", "txt")]
    reports = [word for path in files for word in ("--report", str(path))]
    options = ["--effect", "score_shift=0.8", "--statistic", "correlation", "--max-rows", "800"]
    assert main([*command(tmp_path), *options, *reports]) == 0
    out, err = capsys.readouterr()
    told = err.splitlines()  # once; lines of a minute come where the machine is slow
    assert re.fullmatch(r"planning takes up to about [\d,]+ CPU s", told[0])
    assert all(line.startswith("fairaudit: ") and "takes" not in line for line in told[1:])
    assert "rows are needed to find a score shift of 0.8 sd" in out and "sex = m" in out
    record = json.loads(files[2].read_text())
    assert record["rows"] == max(group["rows"] for group in record["groups"])
    assert files[3].read_text().startswith("<svg") and "<svg" in files[0].read_text()
    assert files[4].read_text() in out
    again = [*command(tmp_path), *options, "--json"]
    assert main(again) == 0 and json.loads(capsys.readouterr().out)["groups"] == record["groups"]


def test_plan_of_a_width_by_command(tmp_path, capsys):
    write(tmp_path)
    width = ["--width", "fpr_gap=0.15", "--suppress", "5"]
    assert main([*command(tmp_path), *width, "--report", str(tmp_path / "plan.html")]) == 0
    out = capsys.readouterr().out.replace("\n", " ")
    assert "rows are needed to know the FPR gap of every group to ±0.15 in 80 % of samples" in out
    assert main([*command(tmp_path), *width, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["effect"] == "width fpr_gap" and len(record["groups"]) == 2
