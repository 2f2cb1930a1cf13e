"""One model, one table: a measure has the same value under its name wherever it is printed."""

import json
import pickle
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairaudit as fa
from fairaudit.comparison.paired_groups import FEWEST
from fairaudit.data.columns import columns_from
from fairaudit.evidence.measurements import measure
from fairaudit.remedy.rows import table_loss
from fairaudit.remedy.tradeoff import evaluate
from fairaudit_cli.main import main

FEATURES = ["x", "z"]
GROUPS = ["race", "sex"]
DRAWN = fa.Permutations(n=19)
KEYS = {
    "deo",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "kpc",
    "tpr_gap",
    "fpr_gap",
    "loss",
}


def people(rows=900, seed=0):
    """Of race c there are so few that intervals leave it out."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=FEATURES)
    frame["race"] = rng.choice(["a", "b"], rows, p=[0.7, 0.3])
    frame.loc[rng.choice(rows, 2 * FEWEST - 4, replace=False), "race"] = "c"
    frame["sex"] = rng.choice(["f", "m"], rows)
    frame["y"] = (frame["x"] + rng.normal(size=rows) > 0.3).astype(int)
    frame["w"] = rng.choice([1.0, 4.0], rows)
    return frame


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def model(frame):
    tilted = frame["y"] | ((frame["race"] == "b") & (frame["z"] > 0))
    return LogisticRegression().fit(frame[FEATURES], tilted)


def measured(frame, score, weights=None, groups=GROUPS):
    """What `fairaudit.metrics` says, and the loss; KPC has no weights."""
    given = {"sensitive": frame[groups], "y_true": frame["y"]}
    labels = {**given, "threshold": 0.5, "weights": weights}
    odds = fa.metrics.equalized_odds_difference(score, **labels)
    return {
        "deo": fa.metrics.deo(score, **labels).value,
        "equalized_odds_difference": odds.value,
        "equalized_odds_ratio": fa.metrics.equalized_odds_ratio(score, **labels).value,
        "tpr_gap": odds.tpr,
        "fpr_gap": odds.fpr,
        "kpc": float(fa.metrics.kpc(score, **given)),
        "loss": float(np.average((score >= 0.5) != frame["y"], weights=weights)),
    }


def same(found, expected, *needed):
    assert found and set(needed) <= set(found)
    expected = {key: expected[key] for key in found}
    assert found == pytest.approx(expected, abs=1e-9)


def joint(measures, groups=GROUPS):
    """Of records of measures: those of all attributes together."""
    return {
        measure["key"]: measure["value"]
        for measure in measures
        if measure["key"] in KEYS and list(measure["attributes"]) == groups
    }


def test_the_groups_are_small_enough_to_tell(frame):
    counts = frame.groupby([*GROUPS, "y"]).size()
    assert 0 < (counts < FEWEST).sum() < len(counts)


@pytest.mark.parametrize("column", [None, "w"])
def test_in_python(frame, model, column):
    score = model.predict_proba(frame[FEATURES])[:, 1]
    weights = None if column is None else frame[column]
    expected = measured(frame, score, weights)
    result = fa.audit(
        predictions=score,
        outcome=frame["y"],
        sensitive=frame[GROUPS],
        weights=weights,
        permutations=DRAWN,
        power=False,
    )
    same(joint(result.to_dict()["measures"]), expected, "kpc", "deo", "equalized_odds_ratio")
    table = fa.AuditTable.of(score, frame[GROUPS], frame["y"], weights=weights)
    same(joint([asdict(value) for value in measure(table).values]), expected, "kpc", "deo")
    assert result.joint.kpc == pytest.approx(expected["kpc"])
    limits = dict.fromkeys(["deo", "equalized_odds_difference", "tpr_gap", "fpr_gap", "kpc"], 0.1)
    shown = fa.certify(score, frame[GROUPS], frame["y"], limits, weights=weights)
    same({certificate.measure: certificate.value for certificate in shown}, expected, *limits)
    rates = fa.metrics.group_rates(
        score, sensitive=frame[GROUPS], y_true=frame["y"], threshold=0.5, weights=weights
    )
    assert rates.value == pytest.approx(expected["equalized_odds_difference"])


@pytest.mark.parametrize("column", [None, "w"])
def test_in_a_comparison(frame, model, column):
    """DEO of one model was 1.470 in `test` and 0.719 in `compare`: without the small groups."""
    score = model.predict_proba(frame[FEATURES])[:, 1]
    expected = measured(frame, score, None if column is None else frame[column])
    result = fa.compare(
        model, model, frame, sensitive=",".join(GROUPS), outcome="y", weights=column
    )
    both = {
        difference.key: (difference.baseline, difference.candidate)
        for difference in result.differences
    }
    for k in (0, 1):
        named = {key: pair[k] for key, pair in both.items() if key in KEYS}
        same(named, expected, *(KEYS - {"equalized_odds_ratio"}))
    large = both["deo_of_large_groups"][0]
    assert large < expected["deo"] - 0.01
    assert result.measure == "equalized_odds_difference_of_large_groups"
    assert "difference of groups of 10+ goes from" in result.because
    for difference in result.differences:  # an interval never stands beside a number it is not for
        assert (difference.low is None) == (difference.key in KEYS - {"loss"})


def test_names_are_plain_where_no_group_is_small(frame, model):
    result = fa.compare(model, model, frame, sensitive="sex", outcome="y")
    assert {difference.key for difference in result.differences} == KEYS - {"equalized_odds_ratio"}


def test_in_shards_and_as_statistics(frame, model):
    score = model.predict_proba(frame[FEATURES])[:, 1]
    expected = measured(frame, score)
    shards = fa.audit(
        X=frame.assign(score=score),
        predictions="score",
        outcome="y",
        sensitive=",".join(GROUPS),
        engine="local",
        permutations=DRAWN,
    )
    same(joint(shards.to_dict()["measures"]), expected, "deo", "equalized_odds_difference")
    for name in ("deo", "equalized_odds_difference"):
        result = fa.equalized_odds_test(
            (score >= 0.5).astype(int),
            y_true=frame["y"],
            sensitive=frame[GROUPS],
            statistic=name,
            permutations=DRAWN,
        )
        assert result.statistic == pytest.approx(expected[name])


def test_kpc_over_shards_has_another_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=1200), "y": rng.integers(0, 2, 1200)})
    frame["score"] = frame["y"] + rng.normal(size=1200)
    result = fa.audit(
        X=frame,
        predictions="score",
        outcome="y",
        sensitive="a",
        engine="local",
        shards=2,
        statistic="codec",
        permutations=DRAWN,
    )
    assert [measure.name for measure in result.measures if measure.key == "kpc"] == [
        "mean KPC of the shards"
    ]


def test_in_a_remedy(frame, model):
    score = model.predict_proba(frame[FEATURES])[:, 1]
    expected = measured(frame, score)
    (outcome,) = columns_from({"y": frame["y"]}, argument="y_true", outcome=True)
    attributes = columns_from(frame[GROUPS], argument="sensitive")
    found = evaluate(score, outcome, attributes)
    same({key: found[key] for key in ("deo", "kpc", "loss")}, expected)
    table = fa.AuditTable.of(score, frame[GROUPS], frame["y"])
    assert table_loss(table)[0] == pytest.approx(expected["loss"])


def test_where_attributes_are_missing(frame, model):
    score = model.predict_proba(frame[FEATURES])[:, 1]
    race = frame["race"].where(np.arange(len(frame)) % 5 > 0)
    found = fa.audit_incomplete(score, frame["y"], {"race": race}, permutations=DRAWN)
    known = race.notna().to_numpy()
    odds = fa.metrics.equalized_odds_difference(
        score[known], sensitive={"race": race[known]}, y_true=frame["y"][known], threshold=0.5
    )
    assert {bound.rate: bound.known for bound in found.bounds} == pytest.approx(
        {"TPR": odds.tpr, "FPR": odds.fpr}
    )


@pytest.mark.parametrize("column", [None, "w"])
def test_by_command(frame, model, column, tmp_path, monkeypatch, capsys):
    """With groups that no command masks; `test` also with small ones."""
    monkeypatch.chdir(tmp_path)
    frame.to_csv("test.csv", index=False)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    score = model.predict_proba(frame[FEATURES])[:, 1]
    weights = None if column is None else frame[column]

    def record(command, groups, *more):
        given = ["--data", "test.csv", "--outcome", "y", "--sensitive", ",".join(groups)]
        given += [] if column is None else ["--weights", column]
        main([command, *given, *more, "--json"])
        return json.loads(capsys.readouterr().out)

    drawn, alone = ["--permutations", "19"], ["sex"]
    for groups in (GROUPS, alone):
        expected = measured(frame, score, weights, groups)
        audited = record(
            "test",
            groups,
            "--model",
            "model.pkl",
            *drawn,
            "--suppress",
            "0",
            "--certify",
            "deo=0.1,tpr_gap=0.1",
        )
        same(joint(audited["measures"], groups), expected, "deo", "kpc")
        shown = {
            certificate["measure"]: certificate["value"] for certificate in audited["certificates"]
        }
        same(shown, expected, "deo", "tpr_gap")
    found = record("metrics", alone, "--model", "model.pkl")
    same(joint(found["measures"], alone), expected, "deo", "kpc", "equalized_odds_ratio")
    (compared,) = record("compare", alone, "--models", "model.pkl", *drawn)["models"]
    same({key: compared[key] for key in ("kpc", "deo", "loss")}, expected)
    pair = ["--baseline", "model.pkl", "--candidate", "model.pkl"]
    found = record("compare", alone, *pair)["differences"]
    same(
        {difference["key"]: difference["candidate"] for difference in found},
        expected,
        "deo",
        "tpr_gap",
        "kpc",
        "loss",
    )


def test_missing_values_and_weights_do_not_go_together(frame, model, tmp_path, monkeypatch, capsys):
    """They were ignored: the gap of `missing` was not that of `test`."""
    monkeypatch.chdir(tmp_path)
    frame.assign(race=frame["race"].mask(frame["race"] == "b")).to_csv("test.csv", index=False)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    given = ["--model", "model.pkl", "--data", "test.csv", "--outcome", "y", "--sensitive", "race"]
    assert main(["missing", *given, "--weights", "w"]) == 2
    assert "take no weights" in capsys.readouterr().err
