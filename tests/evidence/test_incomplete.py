"""Missing and uncertain attributes: bounds by brute force, tests that hold, bad input."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.errors import InputError
from fairaudit.evidence.incompleteness.imputation import draw_levels
from fairaudit.evidence.incompleteness.worst_case import best_gap, gap, worst_gap
from fairaudit_cli.main import main

QUICK = fa.Permutations(n=99)


def table(n=500, seed=0, effect=0.0):
    rng = np.random.default_rng(seed)
    y, sex = rng.integers(0, 2, (2, n))
    score = np.clip(0.3 + 0.3 * y + effect * sex + 0.15 * rng.normal(size=n), 0, 1)
    return score, y, np.array(["f", "m"], dtype=object)[sex], rng


@pytest.mark.parametrize("groups", [2, 3])
def test_bounds_against_all_fillings(groups):
    rng = np.random.default_rng(groups)
    for _ in range(12):
        count = rng.integers(1, 6, groups)
        positive = np.array([rng.integers(0, k + 1) for k in count])
        ones, zeros = (int(k) for k in rng.integers(0, 4, 2))
        known, missing = np.column_stack([count - positive, positive]), np.array([zeros, ones])
        every = []
        for filling in product(range(groups), repeat=ones + zeros):
            a = np.bincount(filling[:ones], minlength=groups)
            b = np.bincount(filling[ones:], minlength=groups)
            every.append(gap(known + np.column_stack([b, a])))
        assert worst_gap(known, missing)[0] == pytest.approx(max(every))
        value, filling = best_gap(known, missing)
        assert (filling.sum(axis=0) == missing).all() and filling.min() >= 0
        assert value == pytest.approx(gap(known + filling))  # it is attained
        assert min(every) - 1e-12 <= value <= gap(known) + 0.5


def test_missingness_that_follows_the_prediction_is_found():
    score, y, sex, rng = table()
    sex = np.where(rng.random(len(y)) < np.where(score > 0.5, 0.7, 0.05), None, sex)
    result = fa.audit_incomplete(score, y_true=y, sensitive={"sex": sex}, permutations=QUICK)
    (test,) = result.missingness
    assert test.significant and test.p_value == 0.01
    assert "not a random part" in " ".join(result.summary().split())


def test_missing_numbers_are_tested_too():
    score, y, _, rng = table()
    age = np.where(rng.random(len(y)) < 0.2, np.nan, rng.integers(18, 80, len(y)))
    result = fa.audit_incomplete(score, y_true=y, sensitive={"age": age}, permutations=QUICK)
    assert result.missingness[0].missing == np.isnan(age).sum()
    assert result.bounds == () and "is a number" in result.notes[0]


def test_fillings_say_whether_the_verdict_hangs_on_them():
    score, y, sex, rng = table(effect=0.3)
    gone = rng.random(len(y)) < 0.05
    result = fa.audit_incomplete(
        score, y_true=y, sensitive={"sex": np.where(gone, None, sex)}, permutations=QUICK
    )
    (tried,) = result.fillings
    assert len(tried.tried) == 7 and tried.high == 0.01
    for bounds in result.bounds:
        assert bounds.best <= bounds.known <= bounds.worst
    score, y, sex, rng = table(seed=1)
    gone = rng.random(len(y)) < 0.3
    result = fa.audit_incomplete(
        score, y_true=y, sensitive={"sex": np.where(gone, None, sex)}, permutations=QUICK
    )
    (tried,) = result.fillings
    assert tried.tried["worst case"] <= 0.05 < tried.tried["best case"]
    assert "depends on the missing values" in " ".join(result.summary().split())


def test_small_groups_are_left_out_of_the_gaps():
    rng = np.random.default_rng(0)
    n = 600
    y = rng.integers(0, 2, n)
    race = np.array(["a", "b"], dtype=object)[rng.integers(0, 2, n)]
    race[:8] = "rare"
    race[rng.random(n) < 0.1] = None
    label = rng.integers(0, 2, n)
    label[:8] = 1
    drawn = fa.Permutations(n=19)
    every = fa.audit_incomplete(label, y_true=y, sensitive={"race": race}, permutations=drawn)
    some = fa.audit_incomplete(
        label, y_true=y, sensitive={"race": race}, permutations=drawn, suppress=10
    )
    assert any("rare" in bounds.worst_pair for bounds in every.bounds)
    assert "rare" not in some.summary() and len(some.bounds) == 2
    assert some.notes[0].endswith("left out of its gaps, with others that protect them: 1.")
    with pytest.raises(fa.InputError, match="'suppress' must be 0 or more"):
        fa.audit_incomplete(label, y_true=y, sensitive={"race": race}, suppress=-5)
    two = pd.Series(race).where(race != "rare", "a").to_numpy(dtype=object)
    assert (
        fa.audit_incomplete(
            label, y_true=y, sensitive={"race": two}, permutations=drawn, suppress=10
        ).notes
        == ()
    )


def test_levels_are_drawn_with_their_probabilities():
    chances = np.tile([0.2, 0.5, 0.3], (20_000, 1))
    shares = np.bincount(draw_levels(chances, np.random.default_rng(0))) / 20_000
    np.testing.assert_allclose(shares, [0.2, 0.5, 0.3], atol=0.015)
    sure = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert draw_levels(sure, np.random.default_rng(0)).tolist() == [1, 0, 2]


def test_sharp_probabilities_find_what_the_attribute_would():
    score, y, sex, _ = table(effect=0.2)
    chances = pd.DataFrame({"p_f": np.where(sex == "f", 0.9, 0.1)}).assign(p_m=lambda t: 1 - t.p_f)
    result = fa.audit_incomplete(
        score, y, probabilities={"sex": chances}, imputations=5, permutations=QUICK
    )
    (test,) = result.imputed
    assert test.significant and test.p_value == 0.01


def test_sure_probabilities_are_the_attribute():
    """With chances of 0 and 1 every imputation is the attribute, and so is the test."""
    score, y, sex, _ = table(effect=0.03)
    chances = pd.DataFrame({"p_f": 1.0 * (sex == "f"), "p_m": 1.0 * (sex == "m")})
    result = fa.audit_incomplete(
        score, y, probabilities={"sex": chances}, imputations=2, permutations=QUICK
    )
    known = fa.equalized_odds_test(
        score, y_true=y, sensitive=sex, statistic="kpc", permutations=QUICK
    )
    assert result.imputed[0].p_value == known.p_value


@pytest.mark.parametrize(
    ("chances", "message"),
    [
        ({"p_f": [0.5] * 60, "p_m": [0.2] * 60}, "sum to 0.7"),
        ({"p_f": np.linspace(0, 2, 60), "p_m": 1 - np.linspace(0, 2, 60)}, "0 to 1"),
        ({"p_f": np.linspace(0, 1, 60)}, "two columns"),
    ],
)
def test_probabilities_that_are_none(chances, message):
    score, y, _, _ = table(60)
    chances["p_f"] = np.asarray(chances["p_f"]) + 1e-9 * np.arange(60)
    if "p_m" in chances:
        chances["p_m"] = np.asarray(chances["p_m"]) - 1e-9 * np.arange(60)
    with pytest.raises(InputError, match=message):
        fa.audit_incomplete(score, y, probabilities={"sex": chances}, permutations=QUICK)


def test_the_command(tmp_path, capsys):
    score, y, sex, rng = table(300)
    some = np.where(rng.random(300) < 0.2, None, sex)
    frame = pd.DataFrame({"score": score, "y": y, "sex": some})
    frame["p_f"] = np.where(sex == "f", 0.8, 0.2)
    frame["p_m"] = 1 - frame.p_f
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    line = [
        "missing",
        "--data",
        str(path),
        "--predictions",
        "score",
        "--outcome",
        "y",
        "--permutations",
        "99",
        "--imputations",
        "3",
    ]
    reports = [tmp_path / f"m.{form}" for form in ("html", "md", "json", "txt")]
    wanted = [part for report in reports for part in ("--report", str(report))]
    assert main([*line, "--sensitive", "sex", *wanted]) == 0
    assert "Whatever the missing values are, it is at most" in " ".join(
        capsys.readouterr().out.split()
    )
    for report in reports:
        assert "FPR" in report.read_text("utf-8")
    assert main([*line, "--sensitive", "sex", "--report", str(tmp_path / "m.sarif")]) == 2
    assert "Use one of: html, json, md, pdf, txt." in capsys.readouterr().err
    assert main([*line, "--probabilities", "sex=p_f,p_m", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "fairaudit/incomplete/1" and len(record["imputed"]) == 1
    assert main([*line, "--probabilities", "sex=p_f"]) == 2
    assert "as in race=p_black,p_white" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (({"sex": ["f"]}, {}), "differ in length"),
        (({"y_true": ["f"] * 60}, {}), "same name"),
        ((None, {}), "Nothing to look at"),
    ],
)
def test_columns_that_do_not_fit(given, message):
    score, y, _, _ = table(60)
    with pytest.raises(InputError, match=message):
        fa.audit_incomplete(score, y_true=y, sensitive=given[0], probabilities=given[1])


def numbers(n=600, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    y = 10 + 2 * (sex == "m") + rng.normal(size=n)
    prediction = 0.5 * y + shift * (sex == "m") + 0.5 * rng.normal(size=n)
    return prediction, y, np.where(rng.random(n) < 0.15, None, sex)


def test_prediction_gaps_over_fillings_of_a_continuous_outcome():
    prediction, y, sex = numbers(shift=0.4)
    given = {"y_true": y, "sensitive": {"sex": sex}, "permutations": QUICK}
    result = fa.audit_incomplete(prediction, **given)
    (bounds,) = result.bounds
    known = sex != None  # noqa: E711  elementwise
    gap_of_known = fa.metrics.prediction_gap(
        prediction[known], sensitive={"sex": sex[known]}, y_true=y[known]
    ).value
    assert bounds.rate == "prediction" and bounds.known == pytest.approx(gap_of_known)
    assert bounds.best < bounds.known < bounds.worst and bounds.worst_pair == ("m", "f")
    rng = np.random.default_rng(1)
    for _ in range(20):
        filled = np.where(known, sex, rng.choice(["f", "m"], len(y)))
        random = fa.metrics.prediction_gap(prediction, sensitive={"sex": filled}, y_true=y).value
        assert bounds.best - 1e-9 <= random <= bounds.worst + 1e-9
    assert "fillings of the missing values that were tried" in " ".join(result.summary().split())
    assert len(result.fillings[0].tried) == 7


def test_prediction_gaps_over_fillings_are_rounded_where_groups_are_masked():
    prediction, y, sex = numbers(shift=0.4)
    sex[:4] = "x"
    given = {"y_true": y, "sensitive": {"sex": sex}, "permutations": fa.Permutations(n=19)}
    (exact,) = fa.audit_incomplete(prediction, **given).bounds
    shown = fa.audit_incomplete(prediction, **given, suppress=10)
    (bounds,) = shown.bounds
    assert any("left out of its gaps" in note for note in shown.notes)
    assert {*exact.worst_pair, *bounds.worst_pair} <= {"f", "m", "x"}
    assert "x" not in bounds.worst_pair
    for size in (bounds.known, bounds.best, bounds.worst):
        assert size == pytest.approx(round(size / 0.025) * 0.025)
