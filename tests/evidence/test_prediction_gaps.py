"""Gaps of predictions given a continuous outcome: intervals, curve, certificates, masks."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, stdtrit

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.evidence.intervals.certify import certificates
from fairaudit.evidence.intervals.prediction_gaps import bound_prediction_gap, prediction_gap_table
from fairaudit.metrics._prediction_gap import GapFits, fit_gaps
from fairaudit_cli.main import main

KINDS = {"group": "categorical", "y_true": "continuous"}
COPIES = fa.Permutations(n=39)


def school(rows=2400, seed=0, shift=-1.0, curved=0.0):
    """Outcomes are lower in group b, predictions regress to the mean, and b is shifted."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], rows, p=[0.6, 0.25, 0.15])
    in_b = group == "b"
    y = 14 - 4 * in_b + 3 * rng.normal(size=rows)
    prediction = 8 + 0.4 * y + rng.normal(size=rows) + in_b * (shift + curved * np.sign(y - 10))
    return pd.DataFrame({"prediction": prediction, "group": group, "y": y})


def table_of(frame, **options):
    return fa.AuditTable.of(frame["prediction"], frame[["group"]], frame["y"], **options)


def audit_of(frame, **options):
    return fa.audit(
        frame,
        predictions="prediction",
        sensitive="group",
        outcome="y",
        permutations=COPIES,
        **options,
    )


def test_gaps_point_the_way_that_mean_errors_do_not():
    frame = school()
    result = audit_of(frame)
    sizes = {measure.key: measure.value for measure in result.measures}
    errors = frame["prediction"] - frame["y"]
    assert errors[frame["group"] == "b"].mean() > errors[frame["group"] == "a"].mean() + 0.5
    gap = {gap.levels: gap for gap in result.gaps.gaps}
    assert gap[("b",)].high < -0.5 and gap[("b",)].low < -1 < gap[("b",)].high
    assert gap[("a",)].low > 0
    assert {one.rate for one in result.gaps.gaps} == {"prediction"}
    assert sizes["prediction_gap"] == pytest.approx(1.0, abs=0.2)
    assert sizes["prediction_gap"] == pytest.approx(
        fa.metrics.prediction_gap(frame["prediction"], frame[["group"]], frame["y"]).value
    )


def test_intervals_are_students_at_the_error_of_the_largest_of_all():
    fits = GapFits.of(table_of(school()))
    table = prediction_gap_table(fits, 0.9, seed=1)
    whole = fits.whole
    share = whole.weight / whole.weight.sum()
    rest = np.array([np.delete(share * whole.gap, k).sum() / (1 - share[k]) for k in range(3)])
    value = whole.gap - rest
    scale = 1 / (1 - share)
    se = np.sqrt(np.diag(whole.covariance)) * scale
    np.testing.assert_allclose([gap.value for gap in table.gaps], value)
    width = se * stdtrit(whole.size - 1, ndtr(table.critical))
    np.testing.assert_allclose([gap.high for gap in table.gaps], value + width)
    draws = np.random.default_rng(0).multivariate_normal(
        np.zeros(3), whole.covariance * np.outer(scale, scale), 400_000
    )
    exceeded = (np.abs(draws / se).max(axis=1) > table.critical).mean()
    assert exceeded == pytest.approx(0.1, abs=0.008)
    single = prediction_gap_table(GapFits(whole, ()), 0.9, seed=1)
    assert single.curve == () and np.isnan(single.curve_critical)


def test_two_groups_have_one_gap_and_the_usual_critical_value():
    frame = school()
    frame = frame[frame["group"] != "c"]
    table = fa.gap_intervals(frame["prediction"], frame[["group"]], frame["y"])
    assert table.critical == pytest.approx(1.96, abs=0.04)
    first, second = table.gaps
    assert first.value == pytest.approx(-second.value) and first.low == pytest.approx(-second.high)


def test_the_curve_shows_what_the_mean_hides():
    """A gap that changes its sign along the outcome: 0 on average, seen in ranges."""
    frame = school(6000, shift=0.0, curved=1.5)
    result = audit_of(frame)
    curve = [gap for gap in result.gaps.curve if gap.levels == ("b",)]
    assert curve[0].high < 0 < curve[-1].low
    assert [gap.start for gap in curve] == sorted(gap.start for gap in curve)
    assert all(gap.start <= gap.stop for gap in curve)
    whole, ranges = certificates(
        table_of(frame),
        {"prediction_gap": 1.0, "prediction_gap_in_ranges": 1.0},
        alpha=0.05,
        threshold=None,
    )
    assert whole.holds and not ranges.holds and ranges.upper > 1.5


def test_the_bound_is_the_largest_of_all_pairs():
    fit = fit_gaps(table_of(school()))
    value, upper, why = bound_prediction_gap([fit], 0.05)
    bounds = []
    for a in range(3):
        for b in range(3):
            if a != b:
                contrast = np.eye(3)[a] - np.eye(3)[b]
                se = np.sqrt(contrast @ fit.covariance @ contrast)
                freedom = min(fit.size[a], fit.size[b]) - 1
                bounds.append(contrast @ fit.gap + stdtrit(freedom, 0.95) * se)
    assert value == pytest.approx(np.ptp(fit.gap)) and upper == pytest.approx(max(bounds))
    assert why == "" and upper > value


@pytest.mark.parametrize(("limit", "verdict"), [(2.0, "equivalent within tolerance"), (0.1, None)])
def test_certificates_decide(limit, verdict):
    result = audit_of(school(shift=0.0), certify={"prediction_gap": limit})
    (certificate,) = result.certificates
    assert certificate.holds is (verdict is not None)
    if verdict is not None:
        assert result.verdict.value == verdict
        assert "prediction_gap is at most 2" in result.because


def test_the_command_certifies_in_units_of_the_outcome(tmp_path, capsys):
    path = tmp_path / "data.csv"
    school(shift=0.0).to_csv(path, index=False)
    given = ["--data", str(path), "--predictions", "prediction", "--sensitive", "group"]
    given += ["--outcome", "y", "--permutations", "39", "--json"]
    assert main(["test", *given, "--certify", "prediction_gap=2"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["certificates"][0]["upper"] < 1
    assert {gap["rate"] for gap in record["gaps"]["gaps"]} == {"prediction"}
    assert record["gaps"]["curve"]
    assert main(["test", *given, "--tolerance", "prediction_gap=5"]) == 0


def test_groups_of_few_people_have_no_interval_and_no_certificate():
    frame = school()
    frame.loc[frame.index[:3], "group"] = "rare"
    table = fa.gap_intervals(frame["prediction"], frame[["group"]], frame["y"])
    rare = next(gap for gap in table.gaps if gap.levels == ("rare",))
    assert rare.value is not None and rare.low is None and rare.high is None
    (bound,) = fa.certify(
        frame["prediction"], frame[["group"]], frame["y"], {"prediction_gap": 9.0}
    )
    assert not bound.holds and bound.upper is None and "too few people in rare" in bound.note
    text = audit_of(frame).render("txt")
    assert "too few people for an interval" in text


def test_a_constant_prediction_has_no_gap_anywhere():
    frame = school().assign(prediction=3.0)
    given = (frame["prediction"], frame[["group"]], frame["y"])
    table = fa.gap_intervals(*given)
    assert all(gap.low == gap.value == gap.high == 0 for gap in (*table.gaps, *table.curve))
    (bound,) = fa.certify(*given, {"prediction_gap": 1e-6})
    assert bound.upper == 0 and bound.holds


def test_rows_of_people_count_as_people():
    frame = school(600)
    twice = pd.concat([frame, frame, frame], ignore_index=True)
    ids = np.tile(np.arange(600), 3)
    once = fa.gap_intervals(frame["prediction"], frame[["group"]], frame["y"])
    thrice = fa.gap_intervals(twice["prediction"], twice[["group"]], twice["y"], ids=ids)
    blind = fa.gap_intervals(twice["prediction"], twice[["group"]], twice["y"])

    def width(table):
        return np.array([gap.high - gap.low for gap in table.gaps])

    np.testing.assert_allclose(width(thrice), width(once), rtol=0.15)
    assert (width(blind) < 0.7 * width(once)).all()
    assert thrice.curve_critical > 2.5  # Šidák's, over all gaps of the curve


def test_masked_groups_have_no_gaps_and_the_others_are_rounded():
    frame = school(900)
    frame.loc[frame.index[:7], "group"] = "rare"
    result = audit_of(frame, certify={"prediction_gap": 2.0})
    shown = result.suppressed(10)
    unit = result.gaps.unit
    assert unit == 2.0 or unit == 1.0  # the spread of predictions given the outcome is 1
    masked = {cell.levels for cell in shown.cells.cells if cell.masked}
    assert ("rare",) in masked and len(masked) == 2
    step = unit * 0.05  # 20 of 900 people
    for gap in shown.gaps.gaps:
        if gap.levels in masked:
            assert gap.value is None and gap.low is None and gap.size is None
        else:
            exact = next(own for own in result.gaps.gaps if own.levels == gap.levels)
            assert gap.value == pytest.approx(round(exact.value / step) * step)
            assert gap.low <= exact.low and gap.high >= exact.high
    assert all(gap.value is None for gap in shown.gaps.curve if gap.levels in masked)
    column = shown.cells.columns.index("prediction given outcome")
    means = [c.estimates[column].value for c in shown.cells.cells if not c.masked]
    assert all(mean == pytest.approx(round(mean / step) * step) for mean in means)
    size = next(measure for measure in shown.measures if measure.key == "prediction_gap")
    assert size.value == pytest.approx(max(means) - min(means)) and "masked" in size.note
    upper = shown.certificates[0].upper
    assert upper == pytest.approx(round(upper / step) * step)
    assert shown.suppressed(10).gaps == shown.gaps


@pytest.mark.parametrize("form", ["txt", "md", "html"])
def test_reports_have_gaps_and_curve(form):
    result = audit_of(school())
    text = result.render(form)
    assert "Mean prediction of the group minus that of all others with the same outcome" in text
    assert "Gaps over the outcome" in text
    assert "prediction given outcome" in text.lower()
    back = AuditResult.from_dict(json.loads(result.to_json()))
    assert back.render(form) == text


def test_groups_that_share_no_outcomes_are_told():
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 200)
    y = rng.normal(size=400) + 50 * (group == "b")
    frame = pd.DataFrame({"prediction": rng.normal(size=400), "group": group, "y": y})
    result = audit_of(frame)
    assert result.gaps is None and result.cells.columns == ("mean error", "median error")
    size = next(measure for measure in result.measures if measure.key == "prediction_gap")
    assert size.value is None and "tells the groups apart" in size.note
