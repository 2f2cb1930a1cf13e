"""`fairaudit compare --baseline … --candidate …`: values, covariance, intervals, the command."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairaudit as fa
from fairaudit.comparison.bands import deo_difference, gap_difference, mean_difference
from fairaudit.comparison.paired_groups import pair_groups
from fairaudit.errors import InputError
from fairaudit_cli.main import main


def people(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "z": rng.normal(size=rows),
            "sex": rng.choice(["f", "m"], rows),
            "race": rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]),
        }
    )
    frame["y"] = (frame["x"] + rng.normal(size=rows) > 0).astype(int)
    return frame


def scorer(of_sex=0.0, of_z=0.0):
    def score(table):
        raw = table["x"] + of_sex * (table["sex"] == "m") + of_z * table["z"]
        return 1 / (1 + np.exp(-raw))

    return score


def find_tied_blocks(frame, baseline, candidate, ids=None, groups=("sex",)):
    tables = [
        fa.AuditTable.of(model(frame), frame[list(groups)], frame["y"], ids=ids)
        for model in (baseline, candidate)
    ]
    return pair_groups(*tables, None)


def test_values_are_those_of_the_metrics():
    frame = people()
    result = fa.compare(scorer(), scorer(0.5), frame, sensitive="sex,race", outcome="y")
    found = {difference.key: difference for difference in result.differences}
    for model, name in ((scorer(), "baseline"), (scorer(0.5), "candidate")):
        given = {"sensitive": frame[["sex", "race"]], "y_true": frame["y"], "threshold": 0.5}
        eod = fa.metrics.equalized_odds_difference(model(frame), **given)
        assert getattr(found["equalized_odds_difference"], name) == pytest.approx(eod.value)
        assert getattr(found["tpr_gap"], name) == pytest.approx(eod.tpr)
        assert getattr(found["fpr_gap"], name) == pytest.approx(eod.fpr)
        deo = fa.metrics.deo(model(frame), **given).value
        assert getattr(found["deo"], name) == pytest.approx(deo)
        wrong = np.mean((model(frame) >= 0.5) != frame["y"])
        assert getattr(found["loss"], name) == pytest.approx(wrong)
    assert result.differences[0].key == result.measure == "equalized_odds_difference"


def test_the_covariance_is_that_of_the_rates():
    rates, covariances = [], []
    for seed in range(300):
        cells = find_tied_blocks(people(400, seed), scorer(), scorer(0.5, 0.7))
        rates.append(cells.raw.ravel())
        covariances.append(cells.covariance)
    seen, told = np.cov(np.array(rates).T), np.mean(covariances, axis=0)
    scale = np.sqrt(np.outer(np.diag(seen), np.diag(seen)))
    np.testing.assert_allclose(told / scale, seen / scale, atol=0.2)
    assert (np.diag(told) > 0.8 * np.diag(seen)).all()


def test_models_that_agree_have_a_tight_interval():
    frame = people()
    same = gap_difference(find_tied_blocks(frame, scorer(), scorer()), (0, 1), 0.05, 0)
    other = gap_difference(find_tied_blocks(frame, scorer(), scorer(of_z=1.0)), (0, 1), 0.05, 0)
    assert same.low <= 0 <= same.high
    assert same.high - same.low < 0.2 * (other.high - other.low)


@pytest.mark.parametrize(
    "bound", [lambda c: gap_difference(c, (0, 1), 0.05, 0), lambda c: deo_difference(c, 0.05, 0)]
)
def test_exchanging_the_models_turns_the_interval_round(bound):
    frame = people()
    there = bound(find_tied_blocks(frame, scorer(), scorer(0.6, 0.3), groups=("sex", "race")))
    back = bound(find_tied_blocks(frame, scorer(0.6, 0.3), scorer(), groups=("sex", "race")))
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=0.02)
    assert there.low < there.at_least < there.at_most < there.high


def test_many_open_signs_are_bounded_not_tried(monkeypatch):
    from fairaudit.comparison import bands

    cells = find_tied_blocks(people(), scorer(), scorer(0.1, 0.3), groups=("sex", "race"))
    exact = deo_difference(cells, 0.05, 0)
    monkeypatch.setattr(bands, "_MOST_SIGNS", 0)
    rough = deo_difference(cells, 0.05, 0)
    assert rough.low <= exact.low + 1e-9 and exact.high <= rough.high + 1e-9
    assert rough.high - rough.low < 3 * (exact.high - exact.low)


def test_rows_of_one_person_do_not_count_as_people():
    frame = people(1000)
    twice = pd.concat([frame, frame])
    ids = np.tile(np.arange(1000), 2)
    spread = [
        np.sqrt(np.diag(cells.covariance))
        for cells in (
            find_tied_blocks(frame, scorer(), scorer(0.5, 0.5)),
            find_tied_blocks(twice, scorer(), scorer(0.5, 0.5), ids=ids),
            find_tied_blocks(twice, scorer(), scorer(0.5, 0.5)),
        )
    ]
    np.testing.assert_allclose(spread[1], spread[0], rtol=0.02)
    np.testing.assert_allclose(spread[2], spread[0] / np.sqrt(2), rtol=0.02)
    values = np.random.default_rng(0).normal(size=500)
    single = mean_difference(values, np.ones(500), np.arange(500), 0.05)
    double = mean_difference(
        np.tile(values, 2), np.full(1000, 3.0), np.tile(np.arange(500), 2), 0.05
    )
    assert (single.low, single.high) == pytest.approx((double.low, double.high))


def test_small_groups_are_left_out():
    frame = people(600)
    frame.loc[:7, "race"] = "rare"
    result = fa.compare(scorer(), scorer(0.2), frame, sensitive="race", outcome="y")
    assert all(cell.levels != ("rare",) and cell.people >= 10 for cell in result.cells)
    assert any("fewer than 10 people are left out" in note for note in result.notes)


def test_verdicts():
    frame = people(6000)
    given = {"sensitive": "sex", "outcome": "y"}
    assert str(fa.compare(scorer(), scorer(1.0), frame, **given).verdict) == "less fair"
    assert str(fa.compare(scorer(1.0), scorer(), frame, **given).verdict) == "not less fair"
    near = fa.compare(scorer(), scorer(of_z=0.5), frame, margin=0.001, **given)
    assert str(near.verdict) == "inconclusive"
    within = fa.compare(scorer(), scorer(1.0), frame, margin={"eod": 0.9}, **given)
    assert str(within.verdict) == "not less fair" and within.at_least > 0


def test_a_continuous_outcome():
    rng = np.random.default_rng(0)
    frame = people(2000)
    frame["y"] = frame["x"] + 0.5 * rng.normal(size=2000)

    def old(table):
        return table["x"]

    def new(table):
        return table["x"] + 0.4 * (table["sex"] == "m") + 0.2 * table["z"]

    result = fa.compare(old, new, frame, sensitive="sex", outcome="y")
    assert result.measure == "prediction_gap"
    assert result.margin == pytest.approx(0.05 * np.std(frame["y"]))
    assert str(result.verdict) == "less fair"
    gap = fa.metrics.prediction_gap(new(frame), sensitive=frame["sex"], y_true=frame["y"])
    assert result.differences[0].candidate == pytest.approx(gap.value)
    assert result.differences[0].low < 0.4 < result.differences[0].high
    errors = fa.metrics.group_errors(new(frame), sensitive=frame["sex"], y_true=frame["y"])
    told = {difference.key: difference for difference in result.differences}[
        "mean_error_difference"
    ]
    assert told.candidate == pytest.approx(errors.value)
    assert told.note == "calibration; not 0 under equalized odds"


def equal_odds(rows=1500, seed=0):
    """A regression in which equalized odds holds although the outcome depends on the group."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    y = 1.4 * (sex == "m") + rng.normal(size=rows)
    return pd.DataFrame({"sex": sex, "y": y, "half": 0.5 * y + 0.5 * rng.normal(size=rows)})


def test_a_constant_prediction_is_not_less_fair():
    """It satisfies equalized odds; by mean errors it was called less fair."""
    frame = equal_odds()
    result = fa.compare(
        lambda table: table["half"],
        lambda table: np.full(len(table), 3.0),
        frame,
        sensitive="sex",
        outcome="y",
    )
    assert str(result.verdict) == "not less fair"
    assert result.differences[0].candidate == 0
    told = {difference.key: difference for difference in result.differences}[
        "mean_error_difference"
    ]
    assert told.low > 0.5  # which is no verdict


@pytest.mark.parametrize("name", ["mean_error_difference", "error_gap"])
def test_mean_errors_cannot_decide(name):
    with pytest.raises(InputError, match=r"not 0 under equalized odds.*Name prediction_gap"):
        fa.compare(
            lambda table: table["half"],
            lambda table: table["half"],
            equal_odds(200),
            sensitive="sex",
            outcome="y",
            margin={name: 0.1},
        )


@pytest.mark.parametrize("rows", [10, 22, 42, 120])
def test_limits_of_discordant_shares_are_exact(rows):
    """By enumeration of both counts: never missed more often than asked, nor wastefully wide."""
    from scipy.stats import multinomial

    from fairaudit.comparison.limits import _of_difference

    new, old = (k.ravel() for k in np.meshgrid(np.arange(rows + 1), np.arange(rows + 1)))
    new, old = new[new + old <= rows], old[new + old <= rows]
    counts = np.column_stack([new, old, rows - new - old])
    size = np.full(len(new), float(rows))
    for error in (0.0125, 0.0375, 0.05):
        up, _ = _of_difference((new / rows, size), (old / rows, size), error)
        bound, largest = (new - old) / rows + up, 0.0
        for p in (0.5 / rows, 1 / rows, 2.3 / rows, 0.1, 3.1 / rows, 0.25, 0.4, 0.6):
            for q in (0.0, 0.3 / rows, 0.02, 0.1, 0.3):
                if p + q > 1:
                    continue
                law = multinomial.pmf(counts, rows, [p, q, 1 - p - q])
                largest = max(largest, law[bound < p - q - 1e-12].sum())
        assert 0.2 * error < largest <= error


def test_no_discordant_row_leaves_a_bound_of_three_in_n():
    frame = people(2000)
    cells = find_tied_blocks(frame, scorer(), scorer())
    bound = gap_difference(cells, (1,), 0.05, 0).at_most
    fewest = cells.people[cells.class_of == 1].min()
    assert 2.9 / fewest < bound < 8 / fewest


def test_weighted_and_repeated_rows_have_effective_counts():
    frame = people(1000)
    twice, ids = pd.concat([frame, frame]), np.tile(np.arange(1000), 2)
    alone = find_tied_blocks(frame, scorer(), scorer(0.2))
    repeated = find_tied_blocks(twice, scorer(), scorer(0.2), ids=ids)
    np.testing.assert_array_equal(alone.effective, np.tile(alone.people, (4, 1)))
    np.testing.assert_allclose(repeated.effective, alone.effective - 1, atol=1)  # Bessel's person
    bounds = [gap_difference(c, (0, 1), 0.05, 0).at_most for c in (alone, repeated)]
    assert bounds[0] == pytest.approx(bounds[1], rel=0.02)
    weights = np.where(np.arange(1000) % 2, 1.0, 4.0)
    tables = [
        fa.AuditTable.of(model(frame), frame[["sex"]], frame["y"], weights=weights)
        for model in (scorer(), scorer(0.2))
    ]
    weighted = pair_groups(*tables, None)
    assert (weighted.effective < 0.8 * weighted.people).all()
    assert gap_difference(weighted, (0, 1), 0.05, 0).at_most > bounds[0]


def test_rows_that_tell_models_apart_count_by_their_own_weight():
    """Dropped positives weigh 10: each share has the rows that its variance says, not Kish's."""
    rng = np.random.default_rng(0)
    y = np.ones(400, dtype=int)
    group = np.repeat(["a", "b"], 200)
    first = (rng.random(400) < 0.3).astype(int)
    second = np.where(np.arange(400) % 20 == 0, 0, first)
    weights = np.where(first == 1, 10.0, 1.0)
    tables = [
        fa.AuditTable.of(labels, {"group": group}, y, weights=weights, positive=1)
        for labels in (first, second)
    ]
    cells = pair_groups(*tables, None)
    for k, name in enumerate("ab"):
        own = group == name
        w, dropped = weights[own], (first > second)[own]
        share = w @ dropped / w.sum()
        exact = (w**2 * (dropped - share) ** 2).sum() / w.sum() ** 2
        assert cells.effective[3, k] == pytest.approx(share * (1 - share) / exact, rel=0.15)
        assert cells.effective[3, k] < 0.85 * w.sum() ** 2 / (w**2).sum()


def test_the_loss_is_weighted():
    frame = people(500)
    frame["w"] = np.where(frame["y"] == 1, 10.0, 1.0)
    result = fa.compare(
        scorer(), scorer(0.5), frame, sensitive="sex", outcome="y", weights="w"
    ).to_frame()
    told = result.set_index("key").loc["loss"]
    for name, model in (("baseline", scorer()), ("candidate", scorer(0.5))):
        wrong = (model(frame) >= 0.5) != (frame["y"] == 1)
        assert told[name] == pytest.approx(np.average(wrong, weights=frame["w"]))
    assert told["low"] < told["difference"] < told["high"]


def test_power_where_the_largest_gap_of_production_can_be_anywhere():
    """A gap of .15 where there was none, in 500 rows of each group: .115 with wider bounds."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(40):
        group, y = np.tile(np.arange(4), 500), np.repeat([0, 1], 1000)
        u = rng.random((2, 2000))
        second = np.where(rng.random(2000) < 0.8, u[0], u[1])
        rates = np.where(y == 1, 0.7, 0.2)
        lower = rates - 0.15 * ((y == 1) & (group == 0))
        tables = [
            fa.AuditTable.of((draw < rate).astype(int), {"group": np.array(list("abcd"))[group]}, y)
            for draw, rate in ((u[0], rates), (second, lower))
        ]
        found.append(gap_difference(pair_groups(*tables, None), (0, 1), 0.05, 0).at_least > 0)
    assert sum(found) >= 8  # at a power of .115 it would be 5 of 40, of .37 15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": {"kpc": 0.1}}, "can be compared by: equalized_odds_difference, tpr_gap"),
        ({"margin": -0.1}, "0 or more"),
        ({"margin": {"eod": 0.1, "deo": 0.1}}, "name one"),
        ({"alpha": 0.7}, "alpha"),
        ({"sensitive": "z"}, "no groups to compare"),
        ({"sensitive": "nobody"}, "The baseline: There is no column"),
    ],
)
def test_bad_input(options, message):
    given = {"sensitive": "sex", "outcome": "y", **options}
    with pytest.raises(InputError, match=message):
        fa.compare(scorer(), scorer(), people(200), **given)


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = people()
    frame["male"] = (frame["sex"] == "m").astype(int)
    frame.to_csv("test.csv", index=False)
    fits = {
        "prod": (["x"], frame["y"]),
        "new": (["x", "z"], frame["y"]),
        "worse": (["x", "male"], frame["y"] | (frame["male"] & (frame["x"] > -1))),
    }
    for name, (columns, target) in fits.items():
        model = LogisticRegression().fit(frame[columns], target)
        (tmp_path / f"{name}.pkl").write_bytes(pickle.dumps(model))


COMMAND = ["compare", "--data", "test.csv", "--outcome", "y", "--sensitive", "sex"]


def test_command(models, capsys, monkeypatch):
    pair = ["--baseline", "prod.pkl", "--candidate"]
    assert main([*COMMAND, *pair, "new.pkl"]) == 0
    assert capsys.readouterr().out.startswith("NOT LESS FAIR")
    assert main([*COMMAND, *pair, "worse.pkl", "--margin", "tpr_gap=0.02"]) == 1
    assert "largest TPR gap" in capsys.readouterr().out
    assert main([*COMMAND, *pair, "new.pkl", "--margin", "0.0001", "--json"]) in (0, 3)
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "fairaudit/comparison/1"
    assert record["models"][0]["sha256"] and record["data"][0]["sha256"]
    assert main([*COMMAND, "--baseline", "prod.pkl"]) == 2
    assert "Pass --baseline and --candidate" in capsys.readouterr().err
    assert main([*COMMAND, "--models", "prod.pkl", "--margin", "0.1"]) == 2
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    assert main([*COMMAND, *pair, "worse.pkl"]) == 1
    assert "::error title=Fairness of the candidate%3A less fair::" in capsys.readouterr().out
    with open("summary.md", encoding="utf-8") as file:
        assert "❌" in file.read()


@pytest.mark.parametrize("form", ["html", "md", "json", "txt"])
def test_reports(models, form):
    command = [*COMMAND, "--baseline", "prod.pkl", "--candidate", "new.pkl"]
    assert main([*command, "--report", f"r.{form}"]) == 0
    with open(f"r.{form}", encoding="utf-8") as file:
        text = file.read()
    assert "equalized" in text
    if form == "html":
        assert "<svg" in text and "<script" not in text


def test_regression_by_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = people(1000)
    frame["y"] = frame["x"] + rng.normal(size=1000)
    frame.to_csv("test.csv", index=False)
    for name, columns in (("prod", ["x"]), ("new", ["x", "z"])):
        model = LinearRegression().fit(frame[columns], frame["y"])
        (tmp_path / f"{name}.pkl").write_bytes(pickle.dumps(model))
    code = main([*COMMAND, "--baseline", "prod.pkl", "--candidate", "new.pkl"])
    shown = capsys.readouterr().out
    assert code == 0 and "largest prediction gap" in shown
    assert "calibration; not 0 under equalized odds" in shown


MEDALS = np.array(["bronze", "gold", "silver"])


def medals(of_sex=0.0, of_z=0.0):
    def predict(table):
        raw = table["x"] + of_sex * (table["sex"] == "m") + of_z * table["z"]
        return MEDALS[[0, 2, 1]][np.digitize(raw, [-0.5, 0.6])]

    return predict


def people_of_three_classes(rows=3000, seed=0):
    frame = people(rows, seed)
    noisy = frame.assign(x=frame["x"] + np.random.default_rng(seed + 1).normal(size=rows))
    return frame.assign(y=medals()(noisy))


def test_every_class_is_compared_where_none_is_named():
    frame = people_of_three_classes()
    given = {"sensitive": "sex,race", "outcome": "y"}
    result = fa.compare(medals(), medals(1.5), frame, **given)
    assert result.measure == "confusion_gap" and result.verdict.value == "less fair"
    assert fa.compare(medals(1.5), medals(), frame, **given).verdict.value == "not less fair"
    for model, name in ((medals(), "baseline"), (medals(1.5), "candidate")):
        confusion = fa.metrics.group_confusion(
            model(frame), sensitive=frame[["sex", "race"]], y_true=frame["y"]
        )
        assert getattr(result.differences[0], name) == pytest.approx(confusion.value)
        shares = {(c.levels, f"{c.outcome} → {c.predicted}"): c.share for c in confusion.cells}
        for cell in result.cells:
            assert getattr(cell, name) == pytest.approx(shares[cell.levels, cell.what].value)
        wrong = np.mean(model(frame) != frame["y"])
        loss = next(d for d in result.differences if d.key == "loss")
        assert getattr(loss, name) == pytest.approx(wrong)
    assert len(result.cells) == 6 * 9
    low, high = result.differences[0].low, result.differences[0].high
    assert low <= result.differences[0].value <= high


def test_the_measure_of_several_classes_is_named_by_margin_or_positive():
    frame = people_of_three_classes()
    given = {"sensitive": "sex", "outcome": "y"}
    named = fa.compare(medals(), medals(0.2), frame, positive="gold", **given)
    assert named.measure == "equalized_odds_difference"
    every = fa.compare(
        medals(), medals(0.2), frame, positive="gold", margin={"confusion_gap": 0.2}, **given
    )
    assert every.measure == "confusion_gap" and every.margin == 0.2
    with pytest.raises(InputError, match="'positive'"):
        fa.compare(medals(), medals(0.2), frame, margin={"eod": 0.1}, **given)
    with pytest.raises(InputError, match="can be compared by: confusion_gap"):
        fa.compare(medals(), medals(0.2), frame, margin={"gap": 0.1}, **given)
    with pytest.raises(InputError, match="can be compared by: equalized_odds"):
        fa.compare(scorer(), scorer(0.2), people(), margin={"confusion_gap": 0.1}, sensitive="sex")


def test_shares_of_several_classes_have_the_covariance_of_their_rows():
    frame = people_of_three_classes(900)
    tables = [
        fa.AuditTable.of(model(frame), frame[["sex"]], frame["y"])
        for model in (medals(), medals(of_z=1.0))
    ]
    groups = pair_groups(*tables, None, every_class=True)
    assert groups.of_classes and len(groups.parts) == 9
    first, second = (model(frame) for model in (medals(), medals(of_z=1.0)))
    women = ((frame["sex"] == "f") & (frame["y"] == "gold")).to_numpy()
    size = women.sum()
    place = {
        (groups.labels[k][0], groups.parts[groups.class_of[k]]): k
        for k in range(len(groups.labels))
    }
    gold, silver = place["f", "gold → gold"], place["f", "gold → silver"] + len(groups.labels)
    both = np.cov(first[women] == "gold", second[women] == "silver", ddof=0)[0, 1] / size
    assert groups.covariance[gold, silver] == pytest.approx(both, rel=0.05)
    assert groups.covariance[gold, place["m", "gold → gold"]] == 0


def test_small_groups_of_several_classes_are_left_out_and_said():
    frame = people_of_three_classes(600)
    frame.loc[:4, "race"] = "d"
    result = fa.compare(medals(), medals(0.9), frame, sensitive="race", outcome="y")
    keys = [difference.key for difference in result.differences]
    assert keys[0] == "confusion_gap_of_large_groups" and "confusion_gap" in keys
    assert any("left out" in note for note in result.notes)
    for form in ("txt", "md", "html", "json"):
        assert "largest gap of all classes" in result.render(form) or form == "json"
